// A shortest-path search (A*) over the ways of assigning the dimensions of a process grid to the
// axes of the array. In each assignment all axes that are local and may be transformed are; one
// redistribution leads to another assignment.
#include "plan/path.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace weft {

namespace {

constexpr int kIdle = ProcessGrid::kIdle;

using Assignment = std::vector<int>;  // the axis of each grid dimension
using Done = unsigned;                // a bit per axis that needs no further transform

struct Node {
  Assignment axes;
  Done done = 0;
  friend bool operator<(const Node& a, const Node& b) {
    return std::tie(a.axes, a.done) < std::tie(b.axes, b.done);
  }
};

int dimensions_of(const PathProblem& problem) { return problem.shape.size(); }

Done all_done(const PathProblem& problem) { return (1U << dimensions_of(problem)) - 1; }

Done initially_done(const PathProblem& problem) {
  Done done = 0;
  for (int axis = 0; axis < dimensions_of(problem); ++axis)
    if (!problem.transforms[static_cast<std::size_t>(axis)].transforms()) done |= 1U << axis;
  return done;
}

Shape shape_after(const PathProblem& problem, Done done) {
  Shape shape = problem.shape;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (done >> axis & 1U)
      shape[axis] = problem.transforms[static_cast<std::size_t>(axis)].output_extent();
  return shape;
}

// The axes among `local` that can be transformed now, in order: real input first, then the fastest
// in memory first.
std::vector<int> transformable(const PathProblem& problem, const std::vector<bool>& local,
                               Done done) {
  std::vector<int> axes;
  bool real_left = false;
  for (int axis = dimensions_of(problem) - 1; axis >= 0; --axis) {
    if (done >> axis & 1U) continue;
    const bool real = problem.transforms[static_cast<std::size_t>(axis)].input_is_real();
    const bool here = local[static_cast<std::size_t>(axis)];
    if (real && !here) real_left = true;
    if (here) axes.insert(real ? axes.begin() : axes.end(), axis);
  }
  return real_left ? std::vector<int>{} : axes;
}

Done with_done(Done done, const std::vector<int>& axes) {
  for (int axis : axes) done |= 1U << axis;
  return done;
}

// Steps through all assignments, from all idle on; false after the last.
bool next_assignment(Assignment& axes, int dimensions) {
  std::size_t d = 0;
  while (d < axes.size() && ++axes[d] == dimensions) axes[d++] = kIdle;
  return d < axes.size();
}

/// As if so much of the ranks' time were lost by unevenness (243^3 r2c on 2 ranks: 122 columns are
/// even halves, 243 rows are not, yet cut between rows axis 0 takes 7.0 ms instead of 9.5).
constexpr double kCutRows = 0.05;

class Search {
 public:
  Search(const PathProblem& problem, std::vector<int> sizes)
      : problem_(problem), sizes_(std::move(sizes)) {}

  struct Result {
    double cost = std::numeric_limits<double>::infinity();
    std::vector<Assignment> assignments;
  };

  // From the cheapest of `starts`, each with the cost of being there, to `goal`, or to wherever all
  // is done when there is none.
  Result run(const std::vector<std::pair<Node, double>>& starts,
             const std::optional<Assignment>& goal) {
    struct Entry {
      double least;  // cost of any whole path through the node, at least
      double cost;   // up to the node
      Node node;
    };
    const auto later = [](const Entry& a, const Entry& b) {
      return b.least != a.least ? b.least < a.least : b.node < a.node;
    };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
    std::map<Node, std::pair<double, Node>> best;
    const double cheapest_hop = least_hop_cost();
    const auto visit = [&](const Node& node, double cost, const Node* before) {
      if (const auto seen = best.find(node); seen != best.end() && seen->second.first <= cost)
        return;
      best[node] = {cost, before ? *before : node};
      queue.push({cost + least_hops(node, goal) * cheapest_hop, cost, node});
    };
    for (const auto& [start, cost] : starts) visit(settle(start), cost, nullptr);
    while (!queue.empty()) {
      const auto [least, cost, node] = queue.top();
      queue.pop();
      if (cost > best[node].first) continue;
      if (node.done == all_done(problem_) && (goal ? node.axes == *goal : may_end(node.axes)))
        return {cost, trace(best, node)};
      for (const Assignment& next : neighbours(node.axes))
        visit(settle({next, node.done}), cost + hop_cost(node, next), &node);
    }
    return {};
  }

  // What is lost while the array is cut so: by uneven shares, and by rows that are cut, where
  // pencils next to each other are few, and their ends lie inside lines of the cache.
  double drawback(const Assignment& axes, Done done) const {
    const bool cuts_rows = std::ranges::find(axes, dimensions_of(problem_) - 1) != axes.end();
    return imbalance(axes, done) - 1 + (cuts_rows ? kCutRows : 0);
  }

  std::vector<bool> local_axes(const Assignment& axes) const {
    std::vector<bool> local(static_cast<std::size_t>(dimensions_of(problem_)), true);
    for (int axis : axes)
      if (axis != kIdle) local[static_cast<std::size_t>(axis)] = false;
    return local;
  }

 private:
  // How uneven the ranks' shares are: 1 when all are alike, P when one rank holds all.
  double imbalance(const Assignment& axes, Done done) const {
    const ProcessGrid grid{sizes_, axes};
    const Shape shape = shape_after(problem_, done);
    double largest = 1;
    double even = 1;
    for (int axis = 0; axis < shape.size(); ++axis) {
      const int parts = grid.parts(axis);
      largest *= static_cast<double>((shape[axis] + parts - 1) / parts);
      even *= static_cast<double>(shape[axis]);
    }
    return largest * grid.ranks() / even;
  }

  bool may_end(const Assignment& axes) const {
    return problem_.whole_axis < 0 || std::none_of(axes.begin(), axes.end(), [&](int axis) {
             return axis == problem_.whole_axis || axis == kIdle;
           });
  }

  // Transforms whatever is local there.
  Node settle(Node node) const {
    node.done = with_done(node.done, transformable(problem_, local_axes(node.axes), node.done));
    return node;
  }

  double hop_cost(const Node& from, const Assignment& to) const {
    double group = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (from.axes[d] != to[d]) group *= sizes_[d];
    return 1 + 0.2 * (1 - 1 / group) + drawback(to, from.done);
  }

  // Dimensions that one hop may reassign: one or two (all, when there are few).
  std::size_t most_moves() const { return sizes_.size() <= 3 ? sizes_.size() : 2; }

  // Hops that are still to come, at least: a dimension must leave an axis that is to be
  // transformed, and end at its goal.
  double least_hops(const Node& node, const std::optional<Assignment>& goal) const {
    std::size_t moves = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const int axis = node.axes[d];
      const bool leaves = axis != kIdle && (node.done >> axis & 1U) == 0;
      const bool at_goal = !goal || (*goal)[d] == axis;
      if (leaves) ++moves;
      if (goal && leaves == at_goal) ++moves;  // comes back to it, or has yet to go there
    }
    return sizes_.empty() ? 0 : static_cast<double>((moves + most_moves() - 1) / most_moves());
  }

  // No hop to any assignment costs less.
  double least_hop_cost() const {
    double least = std::numeric_limits<double>::infinity();
    Assignment axes(sizes_.size(), kIdle);
    do {
      for (const Done done : {Done{0}, all_done(problem_)})
        least = std::min(least, drawback(axes, done));
    } while (next_assignment(axes, dimensions_of(problem_)));
    const int smallest = sizes_.empty() ? 1 : *std::min_element(sizes_.begin(), sizes_.end());
    return 1 + 0.2 * (1 - 1.0 / smallest) + least;
  }

  std::vector<Assignment> neighbours(const Assignment& axes) const {
    std::vector<Assignment> result;
    extend(axes, 0, most_moves(), result);
    std::erase(result, axes);
    return result;
  }

  void extend(const Assignment& axes, std::size_t first, std::size_t most,
              std::vector<Assignment>& result) const {
    result.push_back(axes);
    if (most == 0) return;
    for (std::size_t d = first; d < sizes_.size(); ++d)
      for (int axis = dimensions_of(problem_) - 1; axis >= kIdle; --axis) {
        if (axis == axes[d]) continue;
        Assignment next = axes;
        next[d] = axis;
        extend(next, d + 1, most - 1, result);
      }
  }

  static std::vector<Assignment> trace(const std::map<Node, std::pair<double, Node>>& best,
                                       Node node) {
    std::vector<Assignment> chain{node.axes};
    for (auto at = best.at(node); at.second < node || node < at.second; at = best.at(node)) {
      node = at.second;
      chain.insert(chain.begin(), node.axes);
    }
    return chain;
  }

  const PathProblem& problem_;
  std::vector<int> sizes_;
};

// All ways of writing `ranks` as an ordered product of at most `factors` numbers above 1.
std::vector<std::vector<int>> factorizations(int ranks, int factors) {
  if (ranks == 1) return {{}};
  std::vector<std::vector<int>> result;
  if (factors == 0) return result;
  for (int first = 2; first <= ranks; ++first) {
    if (ranks % first != 0) continue;
    for (auto rest : factorizations(ranks / first, factors - 1)) {
      rest.insert(rest.begin(), first);
      result.push_back(rest);
    }
  }
  return result;
}

// All increasing choices of `count` of the axes.
void choose_axes(int dimensions, std::size_t count, int first, Assignment& chosen,
                 std::vector<Assignment>& result) {
  if (chosen.size() == count) {
    result.push_back(chosen);
    return;
  }
  for (int axis = first; axis < dimensions; ++axis) {
    chosen.push_back(axis);
    choose_axes(dimensions, count, axis + 1, chosen, result);
    chosen.pop_back();
  }
}

struct GridPath {
  double cost = std::numeric_limits<double>::infinity();
  std::vector<int> sizes;
  std::vector<Assignment> assignments;
};

// The assignment of `sizes` that gives exactly these boxes, if boxes are wanted and there is one.
std::optional<Assignment> as_assignment(const PathProblem& problem, const std::vector<int>& sizes,
                                        const std::optional<Layout>& wanted) {
  if (!wanted) return std::nullopt;
  const Shape& shape = wanted->shape();
  Assignment axes(sizes.size(), kIdle);
  do {
    const ProcessGrid grid{sizes, axes};
    bool likely = true;  // rank 0 has part 0 of every axis
    for (int axis = 0; axis < shape.size(); ++axis)
      likely = likely && shape[axis] / grid.parts(axis) == wanted->box(0).upper[axis];
    if (likely && Layout::from_grid(shape, grid).boxes() == wanted->boxes()) return axes;
  } while (next_assignment(axes, dimensions_of(problem)));
  return std::nullopt;
}

// The best path over the grids of at most two dimensions, starting from any assignment of each,
// towards `wanted` if given.
GridPath best_default(const PathProblem& problem, Done done, double first_hop,
                      const std::optional<Layout>& wanted) {
  GridPath best;
  auto grids = factorizations(problem.ranks, 2);
  std::stable_sort(grids.begin(), grids.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const auto& sizes : grids) {
    Search search(problem, sizes);
    const std::optional<Assignment> goal = as_assignment(problem, sizes, wanted);
    const double last_hop = wanted && !goal ? 1 : 0;
    std::vector<Assignment> starts;
    Assignment chosen;
    choose_axes(dimensions_of(problem), sizes.size(), 0, chosen, starts);
    for (const Assignment& start : starts) {
      if (std::count(start.begin(), start.end(), problem.whole_axis) > 0) continue;
      // The drawbacks of a start cost little by themselves: a tie-break among grids that are
      // equally good later on.
      const double cost = first_hop + search.drawback(start, done) + last_hop;
      auto found = search.run({{{start, done}, cost}}, goal);
      if (found.cost + 1e-9 < best.cost) best = {found.cost, sizes, found.assignments};
    }
  }
  return best;
}

// Writes states and actions as it goes along.
class PathBuilder {
 public:
  PathBuilder(const PathProblem& problem, Layout first)
      : problem_(problem), done_(initially_done(problem)) {
    path_.states.push_back(std::move(first));
    transform_local();
  }

  void go_to(const Layout& layout) {
    if (layout.boxes() != path_.states.back().boxes()) {
      path_.actions.push_back({});
      path_.states.push_back(layout);
    }
    transform_local();
  }
  void go_to_grid(const ProcessGrid& grid) {
    go_to(Layout::from_grid(shape_after(problem_, done_), grid));
  }

  Done done() const noexcept { return done_; }
  const Layout& here() const { return path_.states.back(); }
  Path take() { return std::move(path_); }

 private:
  void transform_local() {
    std::vector<bool> local;
    for (int axis = 0; axis < dimensions_of(problem_); ++axis)
      local.push_back(here().is_local(axis));
    for (int axis : transformable(problem_, local, done_)) {
      const std::int64_t extent =
          problem_.transforms[static_cast<std::size_t>(axis)].output_extent();
      path_.states.push_back(with_extent(here(), axis, extent));
      path_.actions.push_back({axis});
      done_ |= 1U << axis;
    }
  }

  const PathProblem& problem_;
  Done done_;
  Path path_;
};

std::optional<Layout> wanted_output(const PathProblem& problem) {
  const Shape shape = shape_after(problem, all_done(problem));
  if (problem.output_boxes) return Layout::from_boxes(shape, *problem.output_boxes);
  if (problem.output_grid) return Layout::from_grid(shape, *problem.output_grid);
  return std::nullopt;
}

// The grids to pass through from `start`, towards `wanted` if given.
GridPath grids_from(const PathProblem& problem, const ProcessGrid& start, Done done,
                    const std::optional<Layout>& wanted) {
  Search search(problem, start.sizes);
  auto found = search.run({{{start.axes, done}, 0.0}}, as_assignment(problem, start.sizes, wanted));
  return {found.cost, start.sizes, found.assignments};
}

}  // namespace

Layout with_extent(const Layout& layout, int axis, std::int64_t extent) {
  Shape shape = layout.shape();
  shape[axis] = extent;
  if (layout.grid()) return Layout::from_grid(shape, *layout.grid());
  std::vector<Box> boxes = layout.boxes();
  for (Box& box : boxes) {
    if (box.empty())
      box.lower = box.upper = Extents::filled(shape.size(), 0);
    else
      box.upper[axis] = extent;
  }
  return Layout::from_boxes(shape, std::move(boxes));
}

Path find_path(const PathProblem& problem) {
  const std::optional<Layout> wanted = wanted_output(problem);
  const Done nothing = initially_done(problem);
  GridPath grids;
  std::optional<PathBuilder> builder;
  if (problem.input_boxes) {
    builder.emplace(problem, Layout::from_boxes(problem.shape, *problem.input_boxes));
    if (builder->done() != all_done(problem))
      grids = best_default(problem, builder->done(), 1, wanted);
  } else if (problem.input_grid) {
    grids = grids_from(problem, *problem.input_grid, nothing, wanted);
    builder.emplace(problem, Layout::from_grid(problem.shape, *problem.input_grid));
  } else {
    grids = best_default(problem, nothing, 0, wanted);
    builder.emplace(problem,
                    Layout::from_grid(problem.shape, {grids.sizes, grids.assignments.front()}));
  }
  for (const Assignment& axes : grids.assignments) builder->go_to_grid({grids.sizes, axes});
  if (wanted) builder->go_to(*wanted);
  return builder->take();
}

}  // namespace weft
