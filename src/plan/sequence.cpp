// Puts a path into program order, and finds what can be done together in it.
#include "plan/sequence.hpp"

#include <algorithm>

#include "base/cache.hpp"

namespace weft {

namespace {

// Complex transforms of one link may be done in any order, and the axis that is contiguous in
// memory is best done first in both directions: the engine then reads whole rows from the source.
// So what the reversal turned round is turned back, unless a transform to real is among them, which
// has to stay last.
void restore_order_within_links(Sequence& sequence) {
  auto& actions = sequence.actions;
  for (std::size_t first = 0; first < actions.size(); ++first) {
    std::size_t last = first;
    while (last < actions.size() && !actions[last].redistributes()) ++last;
    if (sequence.states[first].element == sequence.states[last].element)
      std::reverse(actions.begin() + static_cast<std::ptrdiff_t>(first),
                   actions.begin() + static_cast<std::ptrdiff_t>(last));
    first = last;
  }
}

// Two transforms are fused when slices across the slowest axis are small enough for the cache, on
// every rank.
bool can_fuse(const Sequence& sequence, const std::vector<int>& order, std::size_t at) {
  const int slice = order.front();
  if (sequence.actions[at].axis == slice || sequence.actions[at + 1].axis == slice ||
      slice == order.back())
    return false;
  const State& middle = sequence.states[at + 1];
  std::int64_t largest = 0;
  for (const Box& box : middle.layout.boxes())
    if (!box.empty())
      largest = std::max(largest, box.volume() / box.extent(slice) * middle.element.bytes());
  return largest <= 4 * second_level_cache_bytes();
}

// Transforms of the pass over actions [at, next) that can be done for one part of `axis` after
// another.
int transforms_along(const Sequence& sequence, const std::vector<int>& order, std::size_t at,
                     std::size_t next, int axis) {
  const bool fused = next == at + 2;
  for (std::size_t a = at; a < next; ++a)
    if (sequence.actions[a].axis == axis) return 0;
  return fused && axis != order.front() ? 0 : static_cast<int>(next - at);
}

// The axes along which the exchange at action `at` is best cut into chunks: the ones along which
// most transforms before and after it can overlap with it. One axis where both agree; among equals
// the longest.
Cut cut_of(const Sequence& sequence, const std::vector<int>& order, std::size_t at) {
  std::size_t first = at;
  while (first > 0 && !sequence.actions[first - 1].redistributes()) --first;
  std::size_t last = at + 1;
  while (last < sequence.actions.size() && !sequence.actions[last].redistributes()) ++last;
  const auto before = pass_ends(sequence, order, first, at);
  const auto after = pass_ends(sequence, order, at + 1, last);
  const std::size_t last_pass = before.size() > 1 ? before[before.size() - 2] : first;
  const Shape& shape = sequence.states[at].layout.shape();
  const auto best = [&](auto transforms) {
    int axis = order.front();
    for (const int other : order)
      if (std::pair(transforms(other), shape[other]) > std::pair(transforms(axis), shape[axis]))
        axis = other;
    return axis;
  };
  const auto early = [&](int axis) {
    return transforms_along(sequence, order, last_pass, at, axis);
  };
  const auto late = [&](int axis) {
    return transforms_along(sequence, order, at + 1, after.front(), axis);
  };
  const auto both = [&](int axis) { return early(axis) + late(axis); };
  Cut cut{.axis = best(early), .late_axis = best(late)};
  const int one = best(both);
  if (both(one) >= early(cut.axis) + late(cut.late_axis)) cut.axis = cut.late_axis = one;
  return cut;
}

bool undoes(const Hop& hop, const Hop& earlier) {
  return hop.from.boxes() == earlier.to.boxes() && hop.to.boxes() == earlier.from.boxes() &&
         hop.element == earlier.element;
}

// True when the end is like the beginning, so that backward can go the same way as forward.
bool leads_back(const Sequence& sequence) {
  const State& first = sequence.states.front();
  const State& last = sequence.states.back();
  return first.layout.boxes() == last.layout.boxes() && first.element == last.element;
}

}  // namespace

Sequence sequence_of(const Path& path, const std::vector<AxisTransform>& transforms, Element input,
                     Direction direction) {
  Sequence sequence;
  Element element = input;
  for (std::size_t i = 0; i < path.states.size(); ++i) {
    sequence.states.push_back({path.states[i], element});
    if (i == path.actions.size()) break;
    const Action action = path.actions[i];
    if (!action.redistributes() &&
        transforms[static_cast<std::size_t>(action.axis)].input_is_real())
      element.complex = true;
    sequence.actions.push_back(action);
  }
  if (direction == Direction::backward && !leads_back(sequence)) {
    std::reverse(sequence.states.begin(), sequence.states.end());
    std::reverse(sequence.actions.begin(), sequence.actions.end());
    restore_order_within_links(sequence);
  }
  return sequence;
}

std::vector<std::size_t> pass_ends(const Sequence& sequence, const std::vector<int>& order,
                                   std::size_t first, std::size_t last) {
  if (first == last) return {last};
  std::vector<std::size_t> ends;
  const bool to_real =
      sequence.states[first].element.complex && !sequence.states[last].element.complex;
  if (!to_real) {
    for (std::size_t at = first; at < last; ends.push_back(at))
      at += at + 2 <= last && can_fuse(sequence, order, at) ? 2 : 1;
  } else {
    for (std::size_t end = last; end > first;
         end -= end >= first + 2 && can_fuse(sequence, order, end - 2) ? 2 : 1)
      ends.insert(ends.begin(), end);
  }
  return ends;
}

std::vector<bool> inside_axes(const Sequence& sequence, const std::vector<int>& order,
                              std::size_t at, std::size_t next) {
  std::vector<bool> inside(order.size(), next == at + 2);
  if (next == at + 2) inside[static_cast<std::size_t>(order.front())] = false;
  if (next == at + 1) inside[static_cast<std::size_t>(sequence.actions[at].axis)] = true;
  return inside;
}

int axis_of_items(const Sequence& sequence, const std::vector<int>& order, std::size_t at,
                  std::size_t next) {
  const bool are_rows =
      next == at + 1 && order.size() == 2 && sequence.actions[at].axis == order.back();
  return next == at + 2 || are_rows ? order.front() : -1;
}

bool is_returned(const std::vector<Hop>& hops, std::size_t number) {
  return std::ranges::any_of(
      hops, [&](const Hop& later) { return later.returned == static_cast<int>(number); });
}

std::vector<Hop> hops_of(const Path& path, const std::vector<AxisTransform>& transforms,
                         Element input, Direction direction, const std::vector<int>& order) {
  const Sequence sequence = sequence_of(path, transforms, input, direction);
  std::vector<Hop> hops;
  std::vector<std::size_t> open;  // hops that no later one has undone
  for (std::size_t i = 0; i < sequence.actions.size(); ++i) {
    if (!sequence.actions[i].redistributes()) continue;
    Hop hop{sequence.states[i].layout, sequence.states[i + 1].layout, sequence.states[i].element,
            cut_of(sequence, order, i), i};
    if (!open.empty() && undoes(hop, hops[open.back()])) {
      hop.returned = static_cast<int>(open.back());
      open.pop_back();
    } else {
      open.push_back(hops.size());
    }
    hops.push_back(std::move(hop));
  }
  return hops;
}

}  // namespace weft
