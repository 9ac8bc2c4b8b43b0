// Joined rows: which axes of a stage become one, and that every element stays where it was.
#include "plan/joined_rows.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {
namespace {

Port port_of(int slot, const Box& box, const Extents& strides) {
  return {.view = {.slot = slot, .offset_bytes = 64 * slot, .box = box, .strides = strides}};
}

/// A transform of `axis` of a box from `lower` to `upper`, dense on both sides.
StageSpec dense_stage(int axis, const Extents& lower, const Extents& upper) {
  StageSpec spec;
  spec.axis = axis;
  spec.source_box = spec.sink_box = {lower, upper};
  std::vector<int> order;
  for (int at = 0; at < lower.size(); ++at) order.push_back(at);
  const Extents strides = dense_strides(spec.source_box.extents(), order);
  spec.sources = {port_of(0, spec.source_box, strides)};
  spec.sinks = {port_of(1, spec.sink_box, strides)};
  return spec;
}

/// What a pencil is found by: how many elements lie before its first one, and from one of its
/// elements to the next.
using Pencil = std::pair<std::int64_t, std::int64_t>;

/// How often each pencil of the stage occurs.
std::map<Pencil, int> pencils_of(const StageSpec& spec) {
  std::map<Pencil, int> pencils;
  const View& view = spec.sources.front().view;
  Box firsts = view.box;
  firsts.upper[spec.axis] = firsts.lower[spec.axis] + 1;
  for_each_index(firsts, [&](const Index& index) {
    std::int64_t at = 0;
    for (int axis = 0; axis < index.size(); ++axis)
      at += (index[axis] - view.box.lower[axis]) * view.strides[axis];
    ++pencils[{at, view.strides[spec.axis]}];
  });
  return pencils;
}

TEST(JoinedRows, AreOneAxisWhereNoGapIsBetweenThem) {
  const StageSpec spec = dense_stage(0, {0, 4, 0}, {6, 7, 5});
  const StageSpec joined = with_joined_rows(spec);
  EXPECT_EQ(joined.axis, 0);
  EXPECT_EQ(joined.source_box, (Box{{0, 20}, {6, 35}}));
  EXPECT_EQ(joined.sink_box, (Box{{0, 20}, {6, 35}}));
  EXPECT_EQ(joined.sources.front().view.strides, (Extents{15, 1}));
  EXPECT_EQ(joined.sinks.front().view.offset_bytes, 64);
  EXPECT_EQ(pencils_of(joined), pencils_of(spec));
}

TEST(JoinedRows, ManyAxesBecomeOne) {
  const StageSpec spec = dense_stage(1, {0, 0, 2, 1, 0}, {2, 3, 4, 6, 7});
  const StageSpec joined = with_joined_rows(spec);
  EXPECT_EQ(joined.source_box.dimensions(), 3);
  EXPECT_EQ(joined.axis, 1);
  EXPECT_EQ(pencils_of(joined), pencils_of(spec));
}

TEST(JoinedRows, AxesAfterTheJoinedOneMoveUp) {
  StageSpec spec = dense_stage(2, {0, 0, 0, 0}, {2, 3, 4, 5});
  // Axis 1 is the fastest, axis 0 follows.
  spec.sources = {port_of(0, spec.source_box, {3, 1, 6, 24})};
  spec.sinks = spec.sources;
  const StageSpec joined = with_joined_rows(spec);
  EXPECT_EQ(joined.axis, 1);
  EXPECT_EQ(joined.source_box, (Box{{0, 0, 0}, {6, 4, 5}}));
  EXPECT_EQ(pencils_of(joined), pencils_of(spec));
}

TEST(JoinedRows, StayApart) {
  const auto dimensions = [](const StageSpec& spec) {
    return with_joined_rows(spec).source_box.dimensions();
  };
  const StageSpec whole = dense_stage(0, {0, 0, 0}, {6, 7, 5});
  EXPECT_EQ(dimensions(whole), 2);

  EXPECT_EQ(dimensions(dense_stage(1, {0, 0, 0}, {6, 7, 5})), 3) << "the axis is between them";
  EXPECT_EQ(dimensions(dense_stage(2, {0, 0, 0}, {6, 7, 5})), 3) << "the axis is the fastest";

  StageSpec padded = whole;
  padded.sinks.front().view.strides = {56, 8, 1};
  EXPECT_EQ(dimensions(padded), 3) << "rows of one side are padded";

  StageSpec sliced = whole;
  sliced.slice_axis = 1;
  EXPECT_EQ(dimensions(sliced), 3) << "slices are cut between them";

  StageSpec cut = whole;
  cut.sources = {port_of(0, {{0, 0, 0}, {6, 7, 2}}, {14, 2, 1}),
                 port_of(2, {{0, 0, 2}, {6, 7, 5}}, {21, 3, 1})};
  EXPECT_EQ(dimensions(cut), 3) << "rows come from two blocks";

  StageSpec shared = whole;
  shared.sources = {port_of(0, {{0, 0, 0}, {6, 3, 5}}, {15, 5, 1}),
                    port_of(2, {{0, 3, 0}, {6, 7, 5}}, {20, 5, 1})};
  EXPECT_EQ(dimensions(shared), 2) << "each block has whole rows";
}

TEST(JoinedRows, NothingIsDoneWithNothing) {
  const StageSpec empty = dense_stage(0, {0, 3, 0}, {6, 3, 5});
  EXPECT_EQ(with_joined_rows(empty).source_box.dimensions(), 3);
}

}  // namespace
}  // namespace weft
