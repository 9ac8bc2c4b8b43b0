// Finds which chunks each item of a pass needs and completes, and groups the items by that.
#include "plan/tasks.hpp"

#include <algorithm>
#include <limits>

namespace weft {

namespace {

class TaskMaker {
 public:
  explicit TaskMaker(const Pass& pass) : pass_(pass) {}

  std::vector<Task> make() {
    const bool fused = pass_.stages.size() == 2;
    const Tiling& first = pass_.stages.front().tiling();
    const Tiling& last = pass_.stages.back().tiling();
    const std::int64_t items =
        fused ? first.slices() : static_cast<std::int64_t>(first.tiles.size());
    for (std::int64_t item = 0; item < items; ++item) {
      Need need;
      const auto tiles_of = [&](const Tiling& tiling) {
        return fused ? std::pair{tiling.first_of_slice[static_cast<std::size_t>(item)],
                                 tiling.first_of_slice[static_cast<std::size_t>(item) + 1]}
                     : std::pair{item, item + 1};
      };
      for (auto [t, end] = tiles_of(first); t < end; ++t) {
        const auto& chunks =
            first.cells[first.tiles[static_cast<std::size_t>(t)].cell].source_chunks;
        if (!chunks.empty()) need.last_source = std::max(need.last_source, chunks.back());
      }
      for (auto [t, end] = tiles_of(last); t < end; ++t) {
        const auto& chunks = last.cells[last.tiles[static_cast<std::size_t>(t)].cell].sink_chunks;
        if (chunks.empty()) continue;
        need.first_sink =
            need.first_sink < 0 ? chunks.front() : std::min(need.first_sink, chunks.front());
      }
      add(need, item);
    }
    return finish();
  }

 private:
  struct Need {
    int last_source = -1;
    int first_sink = -1;  // of the chunks that the item stores into
    auto operator<=>(const Need&) const = default;
  };

  void add(const Need& need, std::int64_t item) {
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const auto& g) { return g.first == need; });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), {need, {}});
    auto& ranges = group->second;
    if (!ranges.empty() && ranges.back().last == item)
      ++ranges.back().last;
    else
      ranges.push_back({item, item + 1});
  }

  std::vector<Task> finish() {
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Task> tasks;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      // Chunks before the first one that a later task still stores into are complete.
      int complete = std::numeric_limits<int>::max();
      for (std::size_t later = g + 1; later < groups_.size(); ++later)
        if (groups_[later].first.first_sink >= 0)
          complete = std::min(complete, groups_[later].first.first_sink);
      tasks.push_back(
          {groups_[g].first.last_source, complete, groups_[g].second, groups_[g].first.first_sink});
    }
    return tasks;
  }

  const Pass& pass_;
  std::vector<std::pair<Need, std::vector<ItemRange>>> groups_;
};

}  // namespace

std::vector<Task> tasks_of(const Pass& pass) { return TaskMaker(pass).make(); }

}  // namespace weft
