// The table of exchange methods, and the choice by name.
#include "exchange/exchange.hpp"

#include <algorithm>
#include <array>

#include "exchange/methods.hpp"
#include "weft/export.hpp"

namespace weft {

WEFT_API std::vector<std::string> exchanges();  // for users in weft/plan.hpp, a layer above

namespace {

Box part_along(Box box, int axis, int parts, int part) {
  const std::int64_t lower = box.lower[axis];
  const std::int64_t n = box.extent(axis);
  box.lower[axis] = lower + n * part / parts;
  box.upper[axis] = lower + n * (part + 1) / parts;
  return box;
}

}  // namespace

Box chunk_of(const Box& block, const Cut& cut, int chunks, int chunk) {
  const int parts = chunks / cut.late_parts;
  return part_along(part_along(block, cut.late_axis, cut.late_parts, chunk / parts), cut.axis,
                    parts, chunk % parts);
}

View view_of_unit(View view, std::int64_t field_bytes, const ExchangeProblem& problem, int unit) {
  view.offset_bytes += unit / problem.chunks * field_bytes;
  return part_of(view, chunk_of(view.box, problem.cut, problem.chunks, unit % problem.chunks),
                 problem.element_bytes);
}

// Rows that follow one another can be joined by a pass whose pencils run along an axis before the
// last two in memory: 256^3 r2c on 2 ranks, rows of 129, forward 15.6 -> 14.5 ms, backward 17.6 ->
// 16.6. Other passes load and store rows faster that begin on cache lines of their own.
Arrangement arrangement_between(const Layout& from, const Layout& to, const Extents& extents,
                                const std::vector<int>& order, std::int64_t element_bytes) {
  const auto joins = [&](int axis) { return from.is_local(axis) != to.is_local(axis); };
  const bool dense = order.size() > 2 && std::any_of(order.begin(), order.end() - 2, joins);
  return (dense ? spread_planes : spread_out)(extents, order, element_bytes);
}

std::span<const ExchangeMethod* const> exchange_table() {
  static const std::array table{&shared_method(),     &mixed_method(),        &pairwise_method(),
                                &alltoallv_method(),  &ialltoallv_method(),   &ring_method(),
                                &persistent_method(), &alltoall_method(),     &alltoallw_method(),
                                &scatter_method(),    &hierarchical_method(), &rma_method()};
  return table;
}

const ExchangeMethod& exchange_named(std::string_view name) {
  std::string known;
  for (const ExchangeMethod* method : exchange_table()) {
    if (method->name() == name) return *method;
    known.append(known.empty() ? "" : ", ").append(method->name());
  }
  throw Error(ErrorCode::unavailable,
              "there is no exchange \"" + std::string(name) + "\"; this build has " + known);
}

std::string ExchangeMethod::refusal(const ExchangeProblem& problem) const {
  const std::string reason = obstacle(problem);
  return reason.empty() ? "" : reason + "; " + others_that_can(problem, name());
}

std::string others_that_can(const ExchangeProblem& problem, std::string_view name) {
  std::string able;
  for (const ExchangeMethod* method : exchange_table())
    if (method->name() != name && method->obstacle(problem).empty())
      able.append(able.empty() ? "" : ", ").append(method->name());
  return able.empty() ? "no other can do this" : "these can do this: " + able;
}

const ExchangeMethod& default_exchange(const ExchangeProblem& problem) {
  if (problem.node->size() == problem.comm->size()) return shared_method();
  const bool neighbours = problem.comm->max(std::int64_t{problem.node->size()}) > 1;
  return neighbours ? mixed_method() : pairwise_method();
}

std::vector<std::string> exchanges() {
  std::vector<std::string> names;
  for (const ExchangeMethod* method : exchange_table()) names.emplace_back(method->name());
  return names;
}

}  // namespace weft
