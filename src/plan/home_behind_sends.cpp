// The last planes lie at the end of the result, one after another, if that is made slice by slice
// in order; else where their elements will be, or, where it is made of pencils along the slowest
// axis, in the last rows of these. Where that takes two passes, a few planes lie where the second
// one makes its results of them.
#include "plan/home_behind_sends.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/rounding.hpp"
#include "plan/long_axis.hpp"
#include "plan/overlap.hpp"

namespace weft {
namespace {

// The number of planes that must stay together so that they can be transformed in two passes,
// before the redistribution or after it.
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
  first = round_up(std::max(own.lower[axis], first), step);
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

// Of n = a b rows the second of two passes makes rows k1 + a k2 of rows b k1 + j2 and stores no
// others there: so rows b k1 + j2 may wait in rows k1 + a j2 of the result. So many do that tiles
// and gaps between rows are made up for.
std::vector<View> for_two_passes(const Area& result, const Box& own, std::int64_t free_row,
                                 const HomeProblem& problem) {
  const int axis = problem.order.front();
  const std::int64_t n = result.view.box.extent(axis);
  const std::vector<std::int64_t> factors = rows_in_passes(n, problem.sink.element.precision);
  const std::int64_t a = factors.front();
  const std::int64_t b = factors.back();
  const std::int64_t row_bytes = result.view.strides[axis] * result.element_bytes;
  const std::int64_t wanted = bytes_for_gaps(n * row_bytes);
  std::vector<View> homes;
  std::int64_t rows = 0;
  for (std::int64_t k1 = own.upper[axis] / b - 1;
       k1 * b >= own.lower[axis] && rows * row_bytes < wanted; --k1) {
    const std::int64_t first = std::max<std::int64_t>(0, (free_row - k1 + a - 1) / a);
    if (first >= b) break;
    Box row = own;
    row.lower[axis] = k1 + a * first;
    row.upper[axis] = row.lower[axis] + 1;
    View view = part_of(result.view, row, result.element_bytes);
    view.box.lower[axis] = k1 * b + first;
    view.box.upper[axis] = k1 * b + b;
    view.strides[axis] *= a;
    homes.insert(homes.begin(), view);
    rows += b - first;
  }
  return homes;
}

}  // namespace

std::vector<View> homes_behind_sends(const HomeProblem& problem, const Box& own,
                                     std::int64_t send_bytes) {
  const auto& [states, actions] = problem.sequence;
  const std::size_t next = problem.hop + 1;
  const std::size_t last = actions.size();
  const int axis = problem.order.front();
  const bool are_alike = problem.sink.element == states[problem.hop].element;
  if (own.empty() || problem.sink.layout.order() != problem.order ||
      pass_ends(problem.sequence, problem.order, next, last).size() > 1)
    return {};
  const Area result{problem.sink.view(problem.rank), problem.sink.element.bytes()};
  const std::int64_t row_bytes = result.view.strides[axis] * result.element_bytes;
  const bool are_pencils = next + 1 == last && actions[next].axis == axis;
  if (problem.is_before_two_passes) {
    if (!are_alike || !are_pencils) return {};
    const std::int64_t taken = std::max<std::int64_t>(0, send_bytes - result.view.offset_bytes);
    return for_two_passes(result, own, ceil_div(taken, row_bytes), problem);
  }
  const std::int64_t room = result.view.offset_bytes + result.span_bytes() - send_bytes;
  std::optional<View> view = at_end(result, own, room, problem);
  if (!view && are_alike) {
    const std::int64_t end = result.view.box.upper[axis];
    view = in_result(result.view, own, end - room / row_bytes,
                     are_pencils ? end - own.upper[axis] : 0, problem);
    if (!may_overwrite({*view, result.element_bytes}, result,
                       inside_axes(problem.sequence, problem.order, next, last)))
      return {};
  }
  const bool fits = view && !view->box.empty() && view->offset_bytes >= send_bytes;
  return fits ? std::vector{*view} : std::vector<View>{};
}

std::vector<Port> with_homes(const std::vector<View>& homes, const std::vector<Port>& ports,
                             int axis, std::int64_t element_bytes) {
  std::vector<Port> result;
  for (const Port& port : ports) {
    if (port.view.slot != kSlotOwn) {
      result.push_back(port);
      continue;
    }
    Box rest = port.view.box;
    const std::int64_t end = rest.upper[axis];
    std::int64_t elsewhere = 0;
    const auto append_rest_up_to = [&](std::int64_t plane) {
      rest.upper[axis] = plane;
      if (rest.empty()) return;
      result.push_back(port);
      result.back().view = part_of(port.view, rest, element_bytes);
      result.back().view.offset_bytes -= elsewhere * port.view.strides[axis] * element_bytes;
    };
    for (const View& home : homes) {
      append_rest_up_to(home.box.lower[axis]);
      result.push_back({home, 0, port.chunk});
      elsewhere += home.box.extent(axis);
      rest.lower[axis] = home.box.upper[axis];
    }
    append_rest_up_to(end);
  }
  return result;
}

}  // namespace weft
