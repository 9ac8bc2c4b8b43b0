// Program: a path made executable in one direction: passes over local memory and the exchanges
// between them. Backward is the path reversed, or the same path where both ends are alike; there is
// no other difference.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/long_axis.hpp"
#include "plan/sequence.hpp"
#include "plan/shares.hpp"
#include "plan/slices.hpp"
#include "plan/stage.hpp"

namespace weft {

/// Items (slices of a fused pass, else tiles) that need the same chunks to have arrived.
struct Task {
  int last_source_chunk = -1;  ///< all chunks up to it must have arrived
  int sinks_complete = 0;  ///< after this task, this many chunks, from the first, can be started
  std::vector<ItemRange> items;
  int first_sink_chunk = -1;  ///< that is stored into

  std::int64_t count() const;  ///< of items
  /// Calls run(item) for those at `places` among all items of the task.
  template <class Run>
  void for_each_item(ItemRange places, Run run) const {
    for (const ItemRange& range : items) {
      for (std::int64_t at = std::max<std::int64_t>(places.first, 0);
           at < std::min(places.last, range.count()); ++at)
        run(range.first + at);
      places = {places.first - range.count(), places.last - range.count()};
    }
  }
};

/// One sweep over the local array: a stage, or two that are fused: done slice by slice, with only a
/// slice between them.
struct Pass {
  std::vector<Stage> stages;
  std::vector<Task> tasks;
  std::int64_t slice_bytes = 0;  ///< of the slice between two stages, for each thread; whole lines
  Layout layout;                 ///< of the result
  bool transforms() const { return stages.front().spec().transforms; }
  /// Bytes read and written, in one field; not those of the slice.
  std::int64_t traffic_bytes() const;
  std::string name() const;
};

/// Passes between two exchanges.
struct Link {
  std::vector<Pass> passes;
  std::unique_ptr<Exchange> exchange;  ///< that follows; null in the last link
  std::string exchange_name;
  Layout exchanged;  ///< layout after it
};

/// What each thread needs to run a program.
struct ThreadMemory {
  std::int64_t bytes = 0;       ///< of a slice and of what stages need behind it
  std::int64_t rows_ahead = 0;  ///< see Stage::rows_ahead()
};

struct Program {
  std::vector<Link> links;
  std::int64_t work_bytes = 0;
  bool in_place = false;
  int fields = 1;
  int chunks = 1;

  ThreadMemory thread_memory() const;
  std::vector<Stage*> transform_stages();
  /// Plans all batches with `engine`.
  void use_engine(const Engine& engine, int threads);
  /// For each pass that transforms two numbers: 0 where it is better done in two, else 1; first if
  /// the pass on the other side of the exchange reorders its rows, then if that does not.
  std::vector<std::int64_t> undivided_passes();
  /// Does those in two that are 0 here, and finds the tasks; the last step before it can be
  /// executed.
  void finish(const std::vector<std::int64_t>& undivided, int threads);

 private:
  /// The last pass before the exchange before link `link`, if that has one pass, whose results go
  /// back to where the exchange has brought them from, all ranks' rows being in windows then; or to
  /// the array in which what stays on the rank has waited.
  Predecessor before_exchange(std::size_t link);
};

/// One side of the whole transform as the user sees it.
struct UserSide {
  Layout layout;
  Element element;
  std::int64_t field_stride = 0;  ///< elements
  int slot = kSlotInput;

  View view(int rank) const;
};

/// Whose arrays keep the blocks of a redistribution, with Options::shared_arrays.
enum class Host { sender, receiver };

struct ProgramProblem {
  const Path* path = nullptr;
  const std::vector<AxisTransform>* transforms = nullptr;
  Direction direction = Direction::forward;
  UserSide source;
  UserSide sink;
  double factor = 1;
  int rank = 0;
  Footprint footprint;
  int fields = 1;
  int chunks = 1;
  bool in_order = false;  ///< the slices of a pass are taken one after another, the first one first
  std::vector<std::unique_ptr<Exchange>> exchanges;  ///< in program order, attached
  std::vector<std::string> exchange_names;
  std::vector<std::optional<Host>> hosts;  ///< likewise; none: blocks are not in users' arrays
  /// Likewise: where the last part of what stays on the rank is instead of in its outbox.
  std::vector<std::vector<View>> behind_sends;
};

Program make_program(ProgramProblem problem);

}  // namespace weft
