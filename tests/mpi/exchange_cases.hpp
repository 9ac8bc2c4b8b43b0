// What is tried with every exchange: pairs of layouts, and what else can vary.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "exchange_rig.hpp"
#include "weft/plan.hpp"

namespace weft::testing {

/// Two layouts of one shape, for any number of ranks.
struct Pair {
  const char* name;
  Shape shape;
  std::function<Layout(const Shape&, int)> from;
  std::function<Layout(const Shape&, int)> to;
};

inline std::function<Layout(const Shape&, int)> grid(const std::vector<int>& axes) {
  return [axes](const Shape& shape, int ranks) { return grid_layout(shape, axes, ranks); };
}

inline std::function<Layout(const Shape&, int)> boxes(unsigned seed) {
  return [seed](const Shape& shape, int ranks) { return uneven_layout(shape, ranks, seed); };
}

inline const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all{
      {"slabs_0_to_1", {12, 16, 10}, grid({0}), grid({1})},
      {"slabs_2_to_0_uneven", {13, 5, 11}, grid({2}), grid({0})},
      {"slabs_2d", {17, 9}, grid({0}), grid({1})},
      {"pencils_01_to_02", {12, 10, 9}, grid({0, 1}), grid({0, 2})},
      {"pencils_02_to_12", {7, 8, 12}, grid({0, 2}), grid({1, 2})},
      {"pencils_to_slabs", {10, 12, 7}, grid({1, 2}), grid({0})},
      {"bricks_to_pencils", {9, 10, 11}, grid({0, 1, 2}), grid({0, 1})},
      {"slabs_to_bricks", {8, 9, 10}, grid({1}), grid({0, 1, 2})},
      {"more_ranks_than_points", {3, 2, 5}, grid({0}), grid({1})},
      {"boxes_to_bricks", {11, 13, 6}, boxes(1), grid({0, 1, 2})},
      {"boxes_to_other_boxes", {14, 7, 9}, boxes(2), boxes(3)},
      {"the_same_slabs", {12, 8, 6}, grid({0}), grid({0})},
      {"one_axis", {101}, boxes(4), grid({0})},
      {"four_axes", {5, 6, 4, 7}, grid({0, 2}), grid({1, 3})},
      {"six_axes", {3, 4, 2, 3, 5, 2}, grid({0, 1, 4}), grid({3, 4, 5})},
      {"extents_of_one", {1, 24, 1}, grid({1}), boxes(5)},
      {"long_rows", {6, 8, 67}, grid({1}), grid({0})},
  };
  return all;
}

/// What is varied along with the layouts. The order is a rotation of the axes by `rotate`, then
/// reversed if it is odd.
struct Variant {
  std::int64_t element_bytes;
  int fields;
  int chunks;
  int cut_axis;
  int rotate;
  int late_parts = 1;
};

inline constexpr Variant kVariants[] = {
    {16, 1, 1, 0, 0}, {8, 3, 2, 1, 1}, {4, 1, 7, 2, 2}, {16, 3, 6, 0, 3, 2}};

struct Case {
  const char* exchange;
  Nodes nodes;
  const Pair* pair;
  Variant variant;
};

inline std::string name_of_case(const ::testing::TestParamInfo<Case>& tested) {
  const Case& c = tested.param;
  const char* nodes[] = {"", "_halves", "_alternating", "_three", "_real_nodes"};
  std::string name = c.exchange;
  name.append(nodes[static_cast<int>(c.nodes)]).append("_").append(c.pair->name);
  name += "_bytes" + std::to_string(c.variant.element_bytes) + "_fields" +
          std::to_string(c.variant.fields);
  name +=
      "_chunks" + std::to_string(c.variant.chunks) + "_cut" + std::to_string(c.variant.cut_axis);
  return name + "_order" + std::to_string(c.variant.rotate);
}

inline std::vector<Case> all_cases() {
  const std::pair<const char*, Nodes> ways[] = {{"shared", Nodes::one},
                                                {"pairwise", Nodes::one},
                                                {"alltoallv", Nodes::one},
                                                {"mixed", Nodes::one},
                                                {"mixed", Nodes::halves},
                                                {"mixed", Nodes::alternating},
                                                {"ialltoallv", Nodes::one},
                                                {"ring", Nodes::one},
                                                {"persistent", Nodes::one},
                                                {"alltoall", Nodes::one},
                                                {"alltoallw", Nodes::one},
                                                {"scatter", Nodes::one},
                                                {"rma", Nodes::one},
                                                {"hierarchical", Nodes::one},
                                                {"hierarchical", Nodes::halves},
                                                {"hierarchical", Nodes::alternating},
                                                {"hierarchical", Nodes::three}};
  std::vector<Case> cases;
  for (const auto& [exchange, nodes] : ways)
    for (const Pair& pair : pairs())
      for (const Variant& variant : kVariants) cases.push_back({exchange, nodes, &pair, variant});
  static const std::vector<std::string> all = exchanges();
  for (const std::string& exchange : all)
    for (const Pair& pair : pairs())
      for (const Variant& variant : kVariants)
        cases.push_back({exchange.c_str(), Nodes::real, &pair, variant});
  return cases;
}

inline ExchangeProblem problem_of(const NodeMap& nodes, const Pair& pair, const Variant& variant) {
  const int dimensions = pair.shape.size();
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + variant.rotate % dimensions, order.end());
  if (variant.rotate % 2 == 1) std::reverse(order.begin(), order.end());
  return {.comm = &world(),
          .node = &nodes.comm,
          .node_rank_of = nodes.rank_of,
          .from = pair.from(pair.shape, world().size()),
          .to = pair.to(pair.shape, world().size()),
          .order = order,
          .element_bytes = variant.element_bytes,
          .fields = variant.fields,
          .chunks = variant.chunks,
          .cut = {.axis = variant.cut_axis % dimensions,
                  .late_axis = (variant.cut_axis + 1) % dimensions,
                  .late_parts = variant.late_parts},
          .tag = 5};
}

/// The problem of the way back.
inline ExchangeProblem reversed(ExchangeProblem problem) {
  std::swap(problem.from, problem.to);
  problem.tag += problem.fields * problem.chunks;
  return problem;
}

}  // namespace weft::testing
