// Which axes of a stage are one axis in memory, and the stage without the faster of them.
#include "plan/joined_rows.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

// True when rows of `row` elements along `fast` are contiguous in the block, and neighbours along
// `next` begin where such a row ends.
bool follows(const View& view, int fast, int next, std::int64_t row) {
  return view.box.empty() ||
         (view.box.extent(fast) == row && (row == 1 || view.strides[fast] == 1) &&
          (view.box.extent(next) == 1 || view.strides[next] == row));
}

// True for an axis that stays one of its own.
bool is_apart(const StageSpec& spec, int axis) {
  return axis == spec.axis || axis == spec.slice_axis || axis == spec.twiddle_axis;
}

// The axis whose neighbours follow one another from row to row of `fast` in all blocks; -1: none.
int next_after(const StageSpec& spec, int fast) {
  const std::int64_t row = spec.source_box.extent(fast);
  for (int next = 0; next < spec.source_box.dimensions(); ++next) {
    if (next == fast || is_apart(spec, next)) continue;
    const auto join = [&](const Port& port) { return follows(port.view, fast, next, row); };
    if (std::all_of(spec.sources.begin(), spec.sources.end(), join) &&
        std::all_of(spec.sinks.begin(), spec.sinks.end(), join))
      return next;
  }
  return -1;
}

Extents without(const Extents& extents, int axis) {
  Extents result;
  for (int other = 0; other < extents.size(); ++other)
    if (other != axis) result.push_back(extents[other]);
  return result;
}

Box joined(Box box, int fast, int next, std::int64_t row) {
  box.lower[next] *= row;
  box.upper[next] *= row;
  return {without(box.lower, fast), without(box.upper, fast)};
}

StageSpec joined(StageSpec spec, int fast, int next) {
  const std::int64_t row = spec.source_box.extent(fast);
  spec.source_box = joined(spec.source_box, fast, next, row);
  spec.sink_box = joined(spec.sink_box, fast, next, row);
  for (auto* ports : {&spec.sources, &spec.sinks})
    for (Port& port : *ports) {
      port.view.box = joined(port.view.box, fast, next, row);
      port.view.strides[next] = 1;
      port.view.strides = without(port.view.strides, fast);
    }
  if (spec.axis > fast) --spec.axis;
  if (spec.slice_axis > fast) --spec.slice_axis;
  if (spec.twiddle_axis > fast) --spec.twiddle_axis;
  return spec;
}

}  // namespace

StageSpec with_joined_rows(StageSpec spec) {
  if (spec.source_box.empty()) return spec;
  for (int fast = 0; fast < spec.source_box.dimensions(); ++fast) {
    if (is_apart(spec, fast)) continue;
    const int next = next_after(spec, fast);
    if (next >= 0) return with_joined_rows(joined(std::move(spec), fast, next));
  }
  return spec;
}

}  // namespace weft
