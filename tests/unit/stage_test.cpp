// Stages on one process against the direct sum: rows, columns and transpositions, all kinds and
// both precisions, every engine, sources and sinks in random blocks, two stages fused slice by
// slice.
#include "plan/stage.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_memory.hpp"
#include "oracle.hpp"
#include "random_geometry.hpp"
#include "stage_case.hpp"
#include "weft/error.hpp"
#include "weft/plan.hpp"

namespace weft {
namespace {

using test::Expectation;
using test::Field;
using test::kFields;
using test::largest_error;
using test::Memory;
using test::Random;
using test::random_blocks;
using test::run_all;
using test::StageCase;
using test::Value;

void check_stage(Random& random, const StageCase& c, const Engine& engine) {
  SCOPED_TRACE(text_of(c, std::string(engine.name())));
  const Expectation* const expected[kFields] = {&expectation_of(c, 0), &expectation_of(c, 1)};
  const Box source_box = Box::whole(expected[0]->source.shape);
  const Box sink_box = Box::whole(expected[0]->sink.shape);
  StageSpec spec = spec_of(c, source_box, sink_box);
  Memory source(0, spec.source_element, random_blocks(random, source_box, c.source_blocks),
                c.source_order);
  Memory sink(1, spec.sink_element, random_blocks(random, sink_box, c.sink_blocks), c.sink_order);
  for (int field = 0; field < kFields; ++field) source.fill(field, expected[field]->source);
  const std::vector<std::byte> before = source.bytes();
  spec.sources = source.ports();
  spec.sinks = sink.ports();
  for (Port& port : spec.sinks) port.in_cache = c.some_in_cache && random.one_in(2);

  Stage stage(spec);
  stage.use_engine(engine, 1);
  std::byte* const bases[] = {source.base(), sink.base()};
  run_all(stage, bases, kFields);
  finish_streaming();

  for (int field = 0; field < kFields; ++field)
    sink.expect(field, expected[field]->sink, c.factor, largest_error(c, expected[field]->sink));
  EXPECT_TRUE(source.bytes() == before) << "the source was overwritten";
  sink.expect_untouched_beside_elements();
}

class StageOf : public testing::TestWithParam<std::string> {
 protected:
  const Engine& engine() const { return engine_named(GetParam()); }
};

TEST_P(StageOf, TransformsAnyAxisInAnyOrderOfMemory) {
  Random random(31);
  const std::vector<std::vector<int>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
  for (const auto kind : {BatchKind::c2c, BatchKind::r2c, BatchKind::c2r})
    for (int axis = 0; axis < 3; ++axis)
      for (const auto& source_order : orders)
        for (const auto& sink_order : orders)
          check_stage(
              random,
              {.shape = {6, 9, 20},
               .axis = axis,
               .kind = kind,
               .direction = kind == BatchKind::c2r ? Direction::backward : Direction::forward,
               .source_order = source_order,
               .sink_order = sink_order},
              engine());
}

TEST_P(StageOf, TransformsRandomBlocks) {
  Random random(32);
  for (int round = 0; round < 250; ++round) {
    StageCase c;
    c.shape = test::random_shape(random, random.between(1, 4), 12);
    c.axis = random.between(0, c.shape.size() - 1);
    c.kind = random.among(std::vector{BatchKind::c2c, BatchKind::r2c, BatchKind::c2r});
    c.direction = c.kind == BatchKind::c2r || (c.kind == BatchKind::c2c && random.one_in(2))
                      ? Direction::backward
                      : Direction::forward;
    c.precision = random.one_in(2) ? Precision::double_ : Precision::single;
    c.source_order = test::random_order(random, c.shape.size());
    c.sink_order = test::random_order(random, c.shape.size());
    c.source_blocks = random.between(1, 5);
    c.sink_blocks = random.between(1, 5);
    c.factor = random.one_in(2) ? 1 : 0.375;
    c.store_mode = random.one_in(2) ? StoreMode::cached : StoreMode::streaming;
    check_stage(random, c, engine());
  }
}

TEST_P(StageOf, TransformsManyTilesOfLongAndPrimeLengths) {
  Random random(33);
  for (const std::int64_t n : {1, 2, 97, 256})
    for (int axis = 0; axis < 2; ++axis)
      for (const auto precision : {Precision::single, Precision::double_}) {
        const Shape shape = axis == 0 ? Shape{n, 67} : Shape{67, n};
        for (const auto kind : {BatchKind::c2c, BatchKind::r2c})
          check_stage(random,
                      {.shape = shape,
                       .axis = axis,
                       .kind = kind,
                       .precision = precision,
                       .source_order = {0, 1},
                       .sink_order = {0, 1},
                       .sink_blocks = 3,
                       .factor = 0.5},
                      engine());
      }
}

// Rows of 9001 lanes begin and end anywhere in a cache line, and so do the tiles that they are cut
// into, wide ones where the engine needs no tile. Some of them may be in the cache.
TEST_P(StageOf, TransformsRowsThatAreCutInsideLines) {
  Random random(36);
  for (const auto precision : {Precision::single, Precision::double_})
    for (const int blocks : {1, 3})
      check_stage(random,
                  {.shape = {12, 9001},
                   .axis = 0,
                   .precision = precision,
                   .source_order = {0, 1},
                   .sink_order = {0, 1},
                   .source_blocks = blocks,
                   .sink_blocks = 2 * blocks - 1,
                   .factor = 0.5,
                   .store_mode = StoreMode::streaming,
                   .some_in_cache = blocks > 1},
                  engine());
}

TEST(StageWithoutTile, TakesManyLanesButLeavesSomeForEachThread) {
  const StageCase c{.shape = {12, 9001}, .axis = 0};
  const Box box = Box::whole(c.shape);
  for (const auto& [threads, lanes] : {std::pair{1, 256}, std::pair{2, 128}, std::pair{16, 64}}) {
    StageSpec spec = spec_of(c, box, box);
    Random random(37);
    Memory memory(0, spec.source_element, random_blocks(random, box, 1), {0, 1});
    spec.sources = spec.sinks = memory.ports();
    spec.keep_source = false;
    Stage stage(spec);
    stage.use_engine(engine_named("weft"), threads);
    EXPECT_EQ(stage.tiling().tiles.front().lanes, lanes) << threads << " threads";
  }
}

// Source and sink are the same blocks: what the executor does within a link.
TEST_P(StageOf, WorksInPlaceOnItsOwnBlocks) {
  Random random(34);
  for (int axis = 0; axis < 3; ++axis)
    for (const int blocks : {1, 4})
      for (const double factor : {1.0, 0.25}) {
        const StageCase c{.shape = {5, 12, 10}, .axis = axis, .factor = factor};
        const Box box = Box::whole(c.shape);
        StageSpec spec = spec_of(c, box, box);
        Memory memory(0, spec.source_element, random_blocks(random, box, blocks), {0, 1, 2});
        const Expectation& expected = expectation_of(c, 0);
        memory.fill(0, expected.source);
        spec.sources = spec.sinks = memory.ports();
        spec.keep_source = false;
        Stage stage(spec);
        stage.use_engine(engine(), 1);
        std::byte* const bases[] = {memory.base()};
        run_all(stage, bases, 1);
        memory.expect(0, expected.sink, factor, largest_error(c, expected.sink));
      }
}

/// A slice across axis 0 that both stages of a fused pass use, dense over axes 1 and 2.
Port slice_port(const Box& box) { return {View{2, 0, box, {0, box.extent(2), 1}}, 0, -1}; }

TEST_P(StageOf, TwoStagesShareASlice) {
  Random random(35);
  for (const int blocks : {1, 5}) {
    const StageCase r2c{.shape = {4, 10, 12}, .axis = 2, .kind = BatchKind::r2c};
    const StageCase c2c{.shape = {4, 10, 7}, .axis = 1};
    const Field signal = test::sampled(r2c.shape, 0, false);
    const Field half = test::direct_sum(signal, 2, -1, 7);
    const Field result = test::direct_sum(half, 1, -1, 10);
    const Box before = Box::whole(r2c.shape);
    const Box after = Box::whole(c2c.shape);
    StageSpec first = spec_of(r2c, before, after);
    StageSpec second = spec_of(c2c, after, after);
    Memory source(0, first.source_element, random_blocks(random, before, blocks), {0, 1, 2});
    Memory sink(1, second.sink_element, random_blocks(random, after, blocks), {0, 1, 2});
    source.fill(0, signal);
    first.sources = source.ports();
    first.sinks = second.sources = {slice_port(after)};
    second.sinks = sink.ports();
    first.slice_axis = second.slice_axis = 0;
    Stage stages[] = {Stage(first), Stage(second)};
    for (Stage& stage : stages) stage.use_engine(engine(), 1);

    std::vector<std::complex<double>> slice(70);
    const AlignedMemory workspace(1 << 19);
    std::byte* const bases[] = {source.base(), sink.base(),
                                reinterpret_cast<std::byte*>(slice.data())};
    ASSERT_EQ(stages[0].tiling().slices(), 4);
    for (std::size_t s = 0; s < 4; ++s)
      for (const Stage& stage : stages) {
        ASSERT_LE(static_cast<std::size_t>(stage.workspace_bytes()), workspace.bytes());
        const auto& first_of_slice = stage.tiling().first_of_slice;
        for (std::int64_t tile = first_of_slice[s]; tile < first_of_slice[s + 1]; ++tile)
          stage.run(tile, {bases, 0}, workspace.data());
      }
    sink.expect(0, result, 1, test::tolerance(Precision::double_, 120) * result.rms());
  }
}

// 64 rows of 60 reals go where 61 rows of 31 complex numbers are, slice by slice; the last three
// rows are elsewhere.
TEST_P(StageOf, StoresRowsWhereLongerOnesWereLoaded) {
  const StageCase c{.shape = {3, 64, 60},
                    .axis = 2,
                    .kind = BatchKind::c2r,
                    .direction = Direction::backward,
                    .factor = 0.5};
  const Expectation& expected = expectation_of(c, 0);
  StageSpec spec = spec_of(c, Box::whole({3, 64, 31}), Box::whole(c.shape));
  Memory real(0, spec.sink_element, {spec.sink_box}, {0, 1, 2});
  Memory rest(1, spec.source_element, {{{0, 61, 0}, {3, 64, 31}}}, {0, 1, 2});
  spec.sinks = real.ports();
  const Box rows{{0, 0, 0}, {3, 61, 31}};
  const View room{0, spec.sinks.front().view.offset_bytes, rows, {64 * 60 / 2, 31, 1}};
  spec.sources = {{room, 0, -1}, rest.ports().front()};
  spec.slice_axis = 0;
  spec.keep_source = false;
  rest.fill(0, expected.source);
  for_each_index(rows, [&](const Index& index) {
    test::put(real.base() + part_of(room, {index, index}, 16).offset_bytes, spec.source_element,
              expected.source(index));
  });
  Stage stage(spec);
  stage.use_engine(engine(), 1);
  std::byte* const bases[] = {real.base(), rest.base()};
  run_all(stage, bases, 1);
  real.expect(0, expected.sink, c.factor, largest_error(c, expected.sink));
  EXPECT_GT(stage.tiling().tiles.size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(All, StageOf, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

// Without a transform a stage copies, and every element keeps its bits.
TEST(CopyStage, MovesEveryElementBetweenRandomBlocks) {
  Random random(36);
  for (int round = 0; round < 200; ++round) {
    StageCase c;
    c.shape = test::random_shape(random, random.between(1, 4), 9);
    c.precision = random.one_in(2) ? Precision::double_ : Precision::single;
    c.source_order = test::random_order(random, c.shape.size());
    c.axis = c.source_order.back();
    SCOPED_TRACE(text_of(c, "copy"));
    const Box box = Box::whole(c.shape);
    StageSpec spec = spec_of(c, box, box);
    spec.transforms = false;
    Memory source(0, spec.source_element, random_blocks(random, box, random.between(1, 6)),
                  c.source_order);
    Memory sink(1, spec.sink_element, random_blocks(random, box, random.between(1, 6)),
                test::random_order(random, c.shape.size()));
    const Field signal = test::sampled(c.shape, round, true);
    source.fill(0, signal);
    spec.sources = source.ports();
    spec.sinks = sink.ports();
    std::byte* const bases[] = {source.base(), sink.base()};
    run_all(Stage(spec), bases, 1);
    sink.expect(0, signal, 1, 0);
  }
}

TEST(EmptyStage, HasNothingToDo) {
  StageSpec spec;
  spec.source_box = spec.sink_box = Box{{0, 3}, {4, 3}};
  spec.n = 4;
  const Stage stage(spec);
  EXPECT_TRUE(stage.tiling().tiles.empty());
  EXPECT_TRUE(stage.typical_batch().empty());
  EXPECT_EQ(stage.workspace_bytes(), 0);
  EXPECT_EQ(stage.traffic_bytes(), 0);
}

}  // namespace
}  // namespace weft
