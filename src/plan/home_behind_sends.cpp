// The planes lie at the end of the result, one after another, if that is made slice by slice in
// order; else where their elements will be, or, where it is made of pencils along the slowest axis,
// in the last rows of these.
#include "plan/home_behind_sends.hpp"

#include <algorithm>
#include <numeric>

#include "plan/long_axis.hpp"
#include "plan/overlap.hpp"

namespace weft {
namespace {

// The number of planes that must stay together so that they can be transformed in two passes, before
// the redistribution or after it.
std::int64_t planes_together(const HomeProblem& problem) {
  const auto& [states, actions] = problem.sequence;
  const int axis = problem.order.front();
  if (std::ranges::none_of(actions, [&](const Action& action) { return action.axis == axis; }))
    return 1;
  const State& state = states[problem.hop];
  const std::vector<std::int64_t> rows =
      rows_in_passes(state.layout.shape()[axis], state.element.precision);
  return rows.size() == 1 ? 1 : std::lcm(rows.front(), rows.back());
}

// The planes of `own` that are not before plane `first`.
Box planes_from(std::int64_t first, const Box& own, const HomeProblem& problem) {
  const int axis = problem.order.front();
  const std::int64_t step = planes_together(problem);
  Box planes = own;
  first = (std::max(own.lower[axis], first) + step - 1) / step * step;
  planes.lower[axis] = std::min(first, own.upper[axis]);
  return planes;
}

// In planes of the result from `first` on, each `shift` planes behind the place of its elements.
View in_result(const View& result, const Box& own, std::int64_t first, std::int64_t shift,
               const HomeProblem& problem) {
  const int axis = problem.order.front();
  const Box planes = planes_from(first - shift, own, problem);
  Box place = planes;
  place.lower[axis] += shift;
  place.upper[axis] += shift;
  View view = part_of(result, place, problem.sink.element.bytes());
  view.box = planes;
  return view;
}

// In the last `room` bytes of the result, one after another.
std::optional<View> at_end(const Area& result, const Box& own, std::int64_t room,
                           const HomeProblem& problem) {
  const auto& [states, actions] = problem.sequence;
  const int axis = problem.order.front();
  const std::int64_t bytes = states[problem.hop].element.bytes();
  if (!problem.in_order ||
      axis_of_items(problem.sequence, problem.order, problem.hop + 1, actions.size()) != axis)
    return std::nullopt;
  Extents extents = own.extents();
  extents[axis] = 1;
  const Arrangement slice = arrangement_between(
      states[problem.hop].layout, states[problem.hop + 1].layout, extents, problem.order, bytes);
  const std::int64_t slices = room / (slice.elements * bytes) - 1;
  if (slices < 1) return std::nullopt;
  const Box planes = planes_from(own.upper[axis] - slices, own, problem);
  if (planes.empty()) return std::nullopt;
  return home_at_end(result, planes, problem.order, slice, bytes);
}

}  // namespace

std::optional<View> home_behind_sends(const HomeProblem& problem, const Box& own,
                                      std::int64_t send_bytes) {
  const auto& [states, actions] = problem.sequence;
  const std::size_t next = problem.hop + 1;
  const std::size_t last = actions.size();
  const int axis = problem.order.front();
  if (own.empty() || problem.sink.layout.order() != problem.order ||
      pass_ends(problem.sequence, problem.order, next, last).size() > 1)
    return std::nullopt;
  const Area result{problem.sink.view(problem.rank), problem.sink.element.bytes()};
  const std::int64_t room = result.view.offset_bytes + result.span_bytes() - send_bytes;
  std::optional<View> view = at_end(result, own, room, problem);
  if (!view && problem.sink.element == states[problem.hop].element) {
    const std::int64_t end = result.view.box.upper[axis];
    const std::int64_t first = end - room / (result.view.strides[axis] * result.element_bytes);
    const bool are_pencils = next + 1 == last && actions[next].axis == axis;
    view = in_result(result.view, own, first, are_pencils ? end - own.upper[axis] : 0, problem);
    if (!may_overwrite({*view, result.element_bytes}, result,
                       inside_axes(problem.sequence, problem.order, next, last)))
      return std::nullopt;
  }
  const bool fits = view && !view->box.empty() && view->offset_bytes >= send_bytes;
  return fits ? view : std::nullopt;
}

std::vector<Port> with_last_part_at(const View& last, const std::vector<Port>& ports, int axis,
                                    std::int64_t element_bytes) {
  std::vector<Port> result;
  for (const Port& port : ports) {
    result.push_back(port);
    if (port.view.slot != kSlotOwn) continue;
    Box rest = port.view.box;
    rest.upper[axis] = last.box.lower[axis];
    result.back().view = part_of(port.view, rest, element_bytes);
    if (rest.empty()) result.pop_back();
    result.push_back({last, 0, port.chunk});
  }
  return result;
}

}  // namespace weft
