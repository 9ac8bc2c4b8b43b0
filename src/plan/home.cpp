// Homes: in the elements of the result, or in the slices of a real one.
#include "plan/home.hpp"

#include <algorithm>

#include "base/cache.hpp"
#include "plan/overlap.hpp"
#include "plan/slices.hpp"

namespace weft {
namespace {

bool contains(const Box& box, const Box& part) { return intersect(box, part) == part; }

// Pencils that are too long for the engines to fetch the next ones while these are transformed;
// they are loaded faster from where Weft places them (16384^2 c2c on 2 ranks: 410 ms from the
// user's array, 330 from the window).
bool loads_long_pencils(const Sequence& sequence, std::size_t hop) {
  constexpr std::int64_t kPieceBytes = 128;
  if (hop + 1 == sequence.actions.size() || sequence.actions[hop + 1].redistributes()) return false;
  const std::int64_t n = sequence.states[hop].layout.shape()[sequence.actions[hop + 1].axis];
  return n * kPieceBytes > second_level_cache_bytes();
}

bool is_last(const Sequence& sequence, std::size_t hop) {
  return std::none_of(sequence.actions.begin() + static_cast<std::ptrdiff_t>(hop) + 1,
                      sequence.actions.end(),
                      [](const Action& action) { return action.redistributes(); });
}

// The last pass would store past the cache what it has just loaded from `home`, a part of `sink`,
// and what it stores beside that, which is not in the cache.
bool stores_over_home(const Sequence& sequence, std::size_t hop, const std::vector<int>& order,
                      const Box& home, const Box& sink, std::int64_t element_bytes) {
  const std::size_t last = sequence.actions.size();
  const bool is_fused = is_last(sequence, hop) && last == hop + 3 &&
                        pass_ends(sequence, order, hop + 1, last).front() == last;
  if (!is_fused || home.empty() || home == sink) return false;
  const std::int64_t bytes = sink.volume() * element_bytes;
  return stores_over_loaded(bytes / sink.extent(order.front()), bytes);
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

// The complex block `own` in the real array `result`: its part at each index of the axes that are
// not `inside` lies where the result's part there will be, which is stored when that has been
// loaded. Where a step between parts is no multiple of a complex element, each lies a little nearer
// to the beginning of the result's part than the one before it.
// `arranged` gives the strides of such a part.
template <class Arranged>
std::optional<View> home_in_parts(const Area& result, const Box& own, std::int64_t element_bytes,
                                  const std::vector<int>& order, const std::vector<bool>& inside,
                                  Arranged arranged) {
  Extents part = own.extents();
  Extents steps = Extents::filled(part.size(), 0);
  std::int64_t drift = 0;
  View home{result.view.slot, result.view.offset_bytes, own, steps};
  for (int axis = 0; axis < part.size(); ++axis) {
    if (inside[static_cast<std::size_t>(axis)]) continue;
    const std::int64_t step = result.view.strides[axis] * result.element_bytes;
    home.offset_bytes += (own.lower[axis] - result.view.box.lower[axis]) * step;
    drift += (own.extent(axis) - 1) * (step % element_bytes);
    steps[axis] = step / element_bytes;
    part[axis] = 1;
  }
  home.offset_bytes += (drift + element_bytes - 1) / element_bytes * element_bytes;
  for (const Extents& strides : {arranged(part).strides, dense_strides(part, order)}) {
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

// The array of `rank` in which blocks of action `hop` may have homes: the call's input where they
// `wait_in_input`, or where only that has their elements in place; else the output. Null where
// storing them there would spoil what is still to be loaded, or would slow down what loads them.
const UserSide* side_of_homes(const Sequence& sequence, std::size_t hop, bool wait_in_input,
                              const std::vector<int>& order, const UserSide& source,
                              const UserSide& sink, int rank) {
  const bool in_place = source.slot == sink.slot;
  const bool in_source =
      wait_in_input || (in_place && sink.element != sequence.states[hop].element);
  const UserSide& side = in_source ? source : sink;
  if (side.layout.order() != order || loads_long_pencils(sequence, hop)) return nullptr;
  if (in_place && !rows_coincide(source, sink, order.back(), rank)) return nullptr;
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

std::optional<Host> host_of(const std::vector<Hop>& hops, std::size_t number) {
  for (const Hop& later : hops)
    if (later.returned == static_cast<int>(number)) return Host::sender;
  return number + 1 == hops.size() ? std::optional(Host::receiver) : std::nullopt;
}

std::optional<Home> shared_home_of(const Sequence& sequence, std::size_t hop, Host host,
                                   const std::vector<int>& order, const UserSide& source,
                                   const UserSide& sink, int rank, const Box& box) {
  const UserSide* side =
      side_of_homes(sequence, hop, hop == 0 && host == Host::sender, order, source, sink, rank);
  if (!side || side->element != sequence.states[hop].element) return std::nullopt;
  return home_in_elements(*side, rank, box);
}

std::optional<Home> home_of(const Sequence& sequence, std::size_t hop,
                            const std::vector<int>& order, const UserSide& source,
                            const UserSide& sink, int rank) {
  const State& state = sequence.states[hop];
  const Box own = intersect(state.layout.box(rank), sequence.states[hop + 1].layout.box(rank));
  const UserSide* found = side_of_homes(sequence, hop, hop == 0, order, source, sink, rank);
  if (!found) return std::nullopt;
  const UserSide& side = *found;
  const View whole = side.view(rank);
  if (own.empty() || side.element == state.element)
    return source.slot != sink.slot && side.slot == sink.slot &&
                   stores_over_home(sequence, hop, order, own, whole.box, state.element.bytes())
               ? std::nullopt
               : home_in_elements(side, rank, own);
  const std::size_t last = sequence.actions.size();
  const bool padded = side.layout.allocated_elements(rank) != whole.box.volume();
  if (source.slot == sink.slot || padded || !is_last(sequence, hop) ||
      pass_ends(sequence, order, hop + 1, last).size() > 1)
    return std::nullopt;
  const auto arranged = [&](const Extents& part) {
    return arrangement_between(state.layout, sequence.states[hop + 1].layout, part, order,
                               state.element.bytes());
  };
  const std::optional<View> view =
      home_in_parts({whole, side.element.bytes()}, own, state.element.bytes(), order,
                    inside_axes(sequence, order, hop + 1, last), arranged);
  if (!view) return std::nullopt;
  return Home{*view, side.field_stride * side.element.bytes()};
}

}  // namespace weft
