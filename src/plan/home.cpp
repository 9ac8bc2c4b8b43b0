// Homes: in the elements of the result, or in the slices of a real one.
#include "plan/home.hpp"

#include <algorithm>

#include "base/cache.hpp"
#include "base/rounding.hpp"
#include "plan/home_in_pencils.hpp"
#include "plan/overlap.hpp"
#include "plan/slices.hpp"

namespace weft {
namespace {

bool contains(const Box& box, const Box& part) { return intersect(box, part) == part; }

// Pencils that are too long for the engines to fetch the next ones while these are transformed;
// unless they are rows, they are loaded faster from where Weft places them (16384^2 c2c on 2 ranks:
// 410 ms from the user's array, 330 from the window), if a transform stores them there.
bool loads_long_pencils(const Sequence& sequence, std::size_t hop, const std::vector<int>& order) {
  constexpr std::int64_t kPieceBytes = 128;
  if (hop + 1 == sequence.actions.size() || sequence.actions[hop + 1].redistributes()) return false;
  const int axis = sequence.actions[hop + 1].axis;
  const std::int64_t n = sequence.states[hop].layout.shape()[axis];
  return axis != order.back() && n * kPieceBytes > second_level_cache_bytes();
}

bool is_last(const Sequence& sequence, std::size_t hop) {
  return std::none_of(sequence.actions.begin() + static_cast<std::ptrdiff_t>(hop) + 1,
                      sequence.actions.end(),
                      [](const Action& action) { return action.redistributes(); });
}

// With one array for both sides, storing a row of the result spoils no other row of the input.
bool rows_coincide(const UserSide& source, const UserSide& sink, int row_axis, int rank) {
  const View from = source.view(rank);
  const View to = sink.view(rank);
  if (from.offset_bytes != to.offset_bytes || !source.layout.is_local(row_axis) ||
      !sink.layout.is_local(row_axis))
    return false;
  for (int axis = 0; axis < from.box.dimensions(); ++axis)
    if (axis != row_axis &&
        (from.box.lower[axis] != to.box.lower[axis] || from.box.upper[axis] != to.box.upper[axis] ||
         from.strides[axis] * source.element.bytes() != to.strides[axis] * sink.element.bytes()))
      return false;
  return true;
}

// How the block `own` best lies where the passes on both sides of the redistribution meet.
Arrangement arranged(const HomeProblem& problem, const Extents& extents) {
  const State& state = problem.sequence.states[problem.hop];
  return arrangement_between(state.layout, problem.sequence.states[problem.hop + 1].layout, extents,
                             problem.order, state.element.bytes());
}

// True where one pass makes the result of what this redistribution brings.
bool is_before_last_pass(const HomeProblem& problem) {
  const Sequence& sequence = problem.sequence;
  const std::size_t last = sequence.actions.size();
  return is_last(sequence, problem.hop) &&
         pass_ends(sequence, problem.order, problem.hop + 1, last).size() <= 1;
}

// True where that pass goes through slices, one after another.
bool is_before_slices_in_order(const HomeProblem& problem) {
  return problem.in_order && is_before_last_pass(problem) &&
         problem.sequence.actions.size() == problem.hop + 3;
}

// True where that pass takes whatever it goes through one after another.
bool is_before_items_in_order(const HomeProblem& problem) {
  return problem.in_order && is_before_last_pass(problem) &&
         axis_of_items(problem.sequence, problem.order, problem.hop + 1,
                       problem.sequence.actions.size()) >= 0;
}

bool is_padded(const UserSide& side, int rank) {
  return side.layout.allocated_elements(rank) != side.layout.box(rank).volume();
}

// True where parts along `axis`, `step` bytes apart, would meet in few places of the cache.
bool compete(const HomeProblem& problem, int axis, std::int64_t step) {
  constexpr std::int64_t kLongPencil = 256;
  const State& state = problem.sequence.states[problem.hop];
  return step % kCompetingDistance == 0 && state.layout.shape()[axis] > kLongPencil;
}

// The complex block `own` in the array of a real result: its part at each index of the axes that
// the pass after it does not need as a whole lies where the result's part there will be, which is
// stored when that has been loaded; each a little nearer to the beginning of its part of the result
// than the one before it, so that it begins where a complex element does, and parts of long pencils
// that would compete by so many bytes (2 ranks of a Zen 4, r2c backward: 384^3 97 -> 83 ms, 288^3
// 40 -> 35; up to 256^3 it only costs, 2 %).
std::optional<View> home_in_parts(const HomeProblem& problem, const Box& own,
                                  std::int64_t nearer_if_competing) {
  const Area result{problem.sink.view(problem.rank), problem.sink.element.bytes()};
  const std::int64_t element_bytes = problem.sequence.states[problem.hop].element.bytes();
  const std::vector<bool> inside = inside_axes(problem.sequence, problem.order, problem.hop + 1,
                                               problem.sequence.actions.size());
  Extents part = own.extents();
  Extents steps = Extents::filled(part.size(), 0);
  std::int64_t drift = 0;
  View home{result.view.slot, result.view.offset_bytes, own, steps};
  for (int axis = 0; axis < part.size(); ++axis) {
    if (inside[static_cast<std::size_t>(axis)]) continue;
    const std::int64_t step = result.view.strides[axis] * result.element_bytes;
    const std::int64_t nearer =
        compete(problem, axis, step) ? nearer_if_competing : step % element_bytes;
    home.offset_bytes += (own.lower[axis] - result.view.box.lower[axis]) * step;
    drift += (own.extent(axis) - 1) * nearer;
    steps[axis] = (step - nearer) / element_bytes;
    part[axis] = 1;
  }
  home.offset_bytes += round_up(drift, element_bytes);
  for (const Extents& strides :
       {arranged(problem, part).strides, dense_strides(part, problem.order)}) {
    for (int axis = 0; axis < part.size(); ++axis)
      home.strides[axis] = inside[static_cast<std::size_t>(axis)] ? strides[axis] : steps[axis];
    const Area area{home, element_bytes};
    const std::int64_t end = home.offset_bytes + area.span_bytes();
    if (end <= result.view.offset_bytes + result.span_bytes() &&
        may_overwrite(area, result, inside))
      return home;
  }
  return std::nullopt;
}

// True where the result, whose box is `whole`, is not stored past the cache, if what peers send has
// memory of its own.
bool stays_in_cache(const HomeProblem& problem, const Box& own, const Box& whole) {
  const std::int64_t element_bytes = problem.sink.element.bytes();
  Footprint footprint = problem.footprint;
  footprint.call_bytes += (whole.volume() - own.volume()) * element_bytes;
  return stay_in_cache(whole.volume() * element_bytes, Reader::own, footprint);
}

// The home of `own` in the array of the result, but not in its elements: in parts of a real result,
// or at the end of one whose last pass goes through slices in order and stores past the cache,
// which takes longer where lines are there still since they were loaded (c2c backward out of place
// on 2 ranks of a Zen 4, 128^3: 5.7 ms with a home in the elements, 4.7 with one at the end).
std::optional<View> home_beside_elements(const HomeProblem& problem, const Box& own) {
  if (own.empty() || !is_before_last_pass(problem)) return std::nullopt;
  const Element& element = problem.sequence.states[problem.hop].element;
  const Area array{problem.sink.view(problem.rank), problem.sink.element.bytes()};
  const Box& whole = array.view.box;
  std::optional<View> at_end;
  if (is_before_items_in_order(problem) && own != whole && !stays_in_cache(problem, own, whole)) {
    Extents slice = own.extents();
    slice[problem.order.front()] = 1;
    at_end = home_at_end(array, own, problem.order, arranged(problem, slice), element.bytes());
  }
  if (at_end || problem.sink.element == element) return at_end;
  constexpr std::int64_t kFewLines = 3 * 64;
  const std::optional<View> spread = home_in_parts(problem, own, kFewLines);
  return spread ? spread : home_in_parts(problem, own, 0);
}

// All that a rank receives, as it lies in the array of a real result, dense: slices of the result
// that are stored one after another reach none that has still to be loaded. It is a little longer
// than the result.
std::optional<View> all_in_real(const HomeProblem& problem) {
  const UserSide& sink = problem.sink;
  if (problem.fields > 1 || is_padded(sink, problem.rank) || !is_before_slices_in_order(problem))
    return std::nullopt;
  const State& state = problem.sequence.states[problem.hop + 1];
  const Area result{sink.view(problem.rank), sink.element.bytes()};
  const Box& box = state.layout.box(problem.rank);
  const View all{sink.slot, result.view.offset_bytes, box,
                 dense_strides(box.extents(), problem.order)};
  const std::vector<bool> inside = inside_axes(problem.sequence, problem.order, problem.hop + 1,
                                               problem.sequence.actions.size());
  if (!may_overwrite_in_order({all, state.element.bytes()}, result, inside,
                              {problem.order.front()}))
    return std::nullopt;
  return all;
}

// The array of the rank in which blocks may have homes: the call's input where they
// `wait_in_input`, or where only that has their elements in place; else the output. Null where
// storing them there would spoil what is still to be loaded, or would slow down what loads them.
const UserSide* side_of_homes(const HomeProblem& problem, bool wait_in_input) {
  const UserSide& source = problem.source;
  const UserSide& sink = problem.sink;
  const bool in_place = source.slot == sink.slot;
  const bool in_source =
      wait_in_input || (in_place && sink.element != problem.sequence.states[problem.hop].element);
  const UserSide& side = in_source ? source : sink;
  const bool is_stored = in_place || !wait_in_input;
  const bool is_slow = is_stored && !problem.is_before_two_passes &&
                       loads_long_pencils(problem.sequence, problem.hop, problem.order);
  if (side.layout.order() != problem.order || is_slow) return nullptr;
  if (in_place && !rows_coincide(source, sink, problem.order.back(), problem.rank)) return nullptr;
  return &side;
}

// The home of `box` in the elements of `side`, whose layout holds it on `rank`.
std::optional<Home> home_in_elements(const UserSide& side, int rank, const Box& box) {
  const View whole = side.view(rank);
  const std::int64_t field_bytes = side.field_stride * side.element.bytes();
  if (box.empty()) return Home{{side.slot, 0, box, whole.strides}, field_bytes};
  if (!contains(whole.box, box)) return std::nullopt;
  return Home{part_of(whole, box, side.element.bytes()), field_bytes};
}

}  // namespace

std::optional<View> home_at_end(const Area& result, const Box& own, const std::vector<int>& order,
                                const Arrangement& slice, std::int64_t element_bytes) {
  const int axis = order.front();
  Area home{{result.view.slot, 0, own, slice.strides}, element_bytes};
  home.view.strides[axis] = slice.elements;
  const std::int64_t before = result.span_bytes() - home.span_bytes();
  home.view.offset_bytes = result.view.offset_bytes + before / kLineBytes * kLineBytes;
  std::vector<bool> inside(order.size(), true);
  inside[static_cast<std::size_t>(axis)] = false;
  if (before < 0 || !may_overwrite_in_order(home, result, inside, {axis})) return std::nullopt;
  return home.view;
}

std::optional<Host> host_of(const std::vector<Hop>& hops, std::size_t number) {
  if (is_returned(hops, number)) return Host::sender;
  return number + 1 == hops.size() ? std::optional(Host::receiver) : std::nullopt;
}

std::optional<Home> shared_home_of(const HomeProblem& problem, Host host, const Box& box) {
  const UserSide* side = side_of_homes(problem, problem.hop == 0 && host == Host::sender);
  if (!side) return std::nullopt;
  const Element& element = problem.sequence.states[problem.hop].element;
  if (side->element == element) return home_in_elements(*side, problem.rank, box);
  const std::optional<View> all = all_in_real(problem);
  if (!all || side != &problem.sink) return std::nullopt;
  return Home{part_of(*all, box, element.bytes()), 0};
}

std::optional<Home> home_of(const HomeProblem& problem) {
  const State& state = problem.sequence.states[problem.hop];
  const Box own = intersect(state.layout.box(problem.rank),
                            problem.sequence.states[problem.hop + 1].layout.box(problem.rank));
  const UserSide& sink = problem.sink;
  if (problem.source.slot == sink.slot)
    if (const std::optional<View> view = home_in_pencils(problem, own))
      return Home{*view, sink.field_stride * sink.element.bytes()};
  const UserSide* side = side_of_homes(problem, problem.hop == 0);
  if (!side) return std::nullopt;
  if (side->slot == sink.slot && problem.source.slot != sink.slot &&
      !is_padded(*side, problem.rank))
    if (const std::optional<View> view = home_beside_elements(problem, own))
      return Home{*view, sink.field_stride * sink.element.bytes()};
  return own.empty() || side->element == state.element ? home_in_elements(*side, problem.rank, own)
                                                       : std::nullopt;
}

}  // namespace weft
