// Which rows: Areas tell whether the pass on the other side may store there, or load from there.
#include "plan/home_in_pencils.hpp"

#include <algorithm>

#include "plan/long_axis.hpp"
#include "plan/overlap.hpp"

namespace weft {
namespace {

/// The pass over pencils on one side of the only redistribution, and the first one on its other
/// side that goes through the array.
struct PencilPass {
  const UserSide& pencils;  ///< holds them whole
  int axis = 0;
  const UserSide& others;
  Element element;     ///< of the others
  std::size_t at = 0;  ///< to next: actions of the pass on the other side
  std::size_t next = 0;
};

std::optional<PencilPass> pencil_pass(const HomeProblem& problem) {
  const auto& [states, actions] = problem.sequence;
  const std::size_t hop = problem.hop;
  const std::size_t last = actions.size();
  if (std::ranges::count_if(actions, &Action::redistributes) != 1) return std::nullopt;
  const auto first_end = [&](std::size_t from, std::size_t to) {
    return pass_ends(problem.sequence, problem.order, from, to).front();
  };
  if (hop > 0 && hop + 2 == last)
    return PencilPass{
        problem.sink,     actions.back().axis, problem.source, states.front().element, 0,
        first_end(0, hop)};
  if (hop == 1 && hop + 1 < last)
    return PencilPass{problem.source, actions.front().axis,    problem.sink, states.back().element,
                      hop + 1,        first_end(hop + 1, last)};
  return std::nullopt;
}

// True when pencils can be rows of their array for elements of the redistribution, in one pass.
bool are_suitable(const HomeProblem& problem, const PencilPass& pass) {
  const Element& element = problem.sequence.states[problem.hop].element;
  const Layout& layout = pass.pencils.layout;
  return pass.pencils.element == element && layout.order() == problem.order &&
         pass.others.layout.order() == problem.order && layout.is_local(pass.axis) &&
         rows_in_passes(layout.shape()[pass.axis], element.precision).size() == 1;
}

// The block `own` in every `rows`-th row of the pencils `whole`.
View in_rows(const View& whole, const Box& own, int axis, std::int64_t rows,
             std::int64_t element_bytes) {
  Box first = own;
  first.lower[axis] = whole.box.lower[axis];
  first.upper[axis] = first.lower[axis] + 1;
  View view = part_of(whole, first, element_bytes);
  view.box = own;
  view.strides[axis] *= rows;
  return view;
}

}  // namespace

std::optional<View> home_in_pencils(const HomeProblem& problem, const Box& own) {
  const std::optional<PencilPass> pass = pencil_pass(problem);
  if (!pass || !are_suitable(problem, *pass)) return std::nullopt;
  const View whole = pass->pencils.view(problem.rank);
  if (own.empty()) return View{whole.slot, 0, own, whole.strides};
  const int axis = pass->axis;
  const std::int64_t bytes = pass->pencils.element.bytes();
  const Area others{pass->others.view(problem.rank), pass->element.bytes()};
  const std::vector<bool> inside =
      inside_axes(problem.sequence, problem.order, pass->at, pass->next);
  const auto may = [&](const View& home, const std::vector<int>& ordered) {
    const Area area{home, bytes};
    return pass->at == 0 ? may_overwrite_in_order(others, area, inside, ordered)
                         : may_overwrite_in_order(area, others, inside, ordered);
  };
  const std::int64_t step = whole.strides[axis] * bytes;
  const int items = axis_of_items(problem.sequence, problem.order, pass->at, pass->next);
  if (problem.in_order && items >= 0) {
    View home = in_rows(whole, own, axis, 1, bytes);
    if (pass->at != 0) home.offset_bytes += (whole.box.extent(axis) - own.extent(axis)) * step;
    if (may(home, {items})) return home;
  }
  const std::int64_t rows = std::max<std::int64_t>(
      1, (others.view.strides[axis] * others.element_bytes + step / 2) / step);
  View home = in_rows(whole, own, axis, rows, bytes);
  const std::int64_t firsts = whole.box.extent(axis) - (own.extent(axis) - 1) * rows;
  for (std::int64_t row = 0; row < firsts; ++row, home.offset_bytes += step)
    if (may(home, {})) return home;
  return std::nullopt;
}

}  // namespace weft
