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
#include "weft/error.hpp"
#include "weft/plan.hpp"

namespace weft {
namespace {

using test::Field;
using test::Random;
using test::Value;

constexpr std::byte kCanary{0x7b};
constexpr int kFields = 2;

template <class T>
void put_as(std::byte* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}
template <class T>
T get_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void put(std::byte* at, const Element& element, const Value& value) {
  const bool is_double = element.precision == Precision::double_;
  if (element.complex)
    is_double ? put_as(at, std::complex<double>(value)) : put_as(at, std::complex<float>(value));
  else
    is_double ? put_as(at, static_cast<double>(value.real()))
              : put_as(at, static_cast<float>(value.real()));
}

Value get(const std::byte* at, const Element& element) {
  const bool is_double = element.precision == Precision::double_;
  if (element.complex)
    return is_double ? Value(get_as<std::complex<double>>(at))
                     : Value(get_as<std::complex<float>>(at));
  return is_double ? Value(get_as<double>(at)) : Value(get_as<float>(at));
}

/// Memory for the blocks of one side of a stage, for kFields fields.
class Memory {
 public:
  /// `parts` share out the box; each lies in the order given, at an odd multiple of the real's
  /// size.
  Memory(int slot, const Element& element, const std::vector<Box>& parts,
         const std::vector<int>& order)
      : element_(element) {
    std::int64_t end = element.bytes() / (element.complex ? 2 : 1);
    for (const Box& part : parts) {
      if (part.empty()) continue;
      ports_.push_back({View{slot, end, part, dense_strides(part.extents(), order)}, 0, -1});
      end += part.volume() * element.bytes() + 3 * element.bytes();
    }
    for (Port& port : ports_) port.field_bytes = end;
    bytes_.assign(static_cast<std::size_t>(end) * kFields + 64, kCanary);
  }

  const std::vector<Port>& ports() const { return ports_; }
  std::byte* base() { return bytes_.data(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  /// Calls `body(global_index, address)` for all elements of a field.
  template <class Body>
  void for_each(int field, Body&& body) {
    for (const Port& port : ports_)
      for_each_index(port.view.box, [&](const Index& index) {
        std::int64_t at = port.view.offset_bytes + field * port.field_bytes;
        for (int axis = 0; axis < index.size(); ++axis)
          at += (index[axis] - port.view.box.lower[axis]) * port.view.strides[axis] *
                element_.bytes();
        body(index, bytes_.data() + at);
      });
  }

  void fill(int field, const Field& values) {
    for_each(field, [&](const Index& index, std::byte* at) { put(at, element_, values(index)); });
  }

  void expect(int field, const Field& values, long double factor, long double largest_error) {
    long double worst = 0;
    for_each(field, [&](const Index& index, std::byte* at) {
      worst = std::max(worst, std::abs(get(at, element_) - factor * values(index)));
    });
    EXPECT_LE(worst, largest_error) << "field " << field;
  }

  /// Bytes that belong to no element still hold what they were made with.
  void expect_untouched_beside_elements() {
    std::vector<std::byte> beside = bytes_;
    for (int field = 0; field < kFields; ++field)
      for_each(field, [&](const Index&, std::byte* at) {
        std::fill_n(beside.data() + (at - bytes_.data()), element_.bytes(), kCanary);
      });
    EXPECT_EQ(beside, std::vector<std::byte>(beside.size(), kCanary));
  }

 private:
  Element element_;
  std::vector<Port> ports_;
  std::vector<std::byte> bytes_;
};

/// `count` blocks that share out a box, in any order in memory.
std::vector<Box> random_blocks(Random& random, const Box& box, int count) {
  return test::shuffled(random, test::random_cuts(random, box, count));
}

struct StageCase {
  Shape shape;  ///< of the real side for r2c and c2r
  int axis = 0;
  BatchKind kind = BatchKind::c2c;
  Direction direction = Direction::forward;
  Precision precision = Precision::double_;
  std::vector<int> source_order{};
  std::vector<int> sink_order{};
  int source_blocks = 1;
  int sink_blocks = 1;
  double factor = 1;
  StoreMode store_mode = StoreMode::cached;
};

std::string text_of(const StageCase& c, const std::string& engine) {
  std::string text = to_string(c.shape) + " axis " + std::to_string(c.axis) + " kind " +
                     std::to_string(static_cast<int>(c.kind)) + " direction " +
                     std::to_string(static_cast<int>(c.direction)) + " precision " +
                     std::to_string(static_cast<int>(c.precision)) + " orders ";
  for (int axis : c.source_order) text += std::to_string(axis);
  text += "->";
  for (int axis : c.sink_order) text += std::to_string(axis);
  return text + " blocks " + std::to_string(c.source_blocks) + "->" +
         std::to_string(c.sink_blocks) + " factor " + std::to_string(c.factor) +
         (c.store_mode == StoreMode::streaming ? " streaming " : " ") + engine;
}

/// What a stage reads, and what it has to give without the factor.
struct Expectation {
  Field source;
  Field sink;
};

Expectation expectation_of(const StageCase& c, int field) {
  const std::int64_t n = c.shape[c.axis];
  const Field signal = test::sampled(c.shape, field, c.kind == BatchKind::c2c);
  if (c.kind == BatchKind::c2c)
    return {signal,
            test::direct_sum(signal, c.axis, c.direction == Direction::forward ? -1 : 1, n)};
  Field half = test::direct_sum(signal, c.axis, -1, n / 2 + 1);
  if (c.kind == BatchKind::r2c) return {signal, half};
  Field scaled = signal;
  for (Value& value : scaled.values) value *= static_cast<long double>(n);
  return {half, scaled};
}

void run_all(const Stage& stage, std::span<std::byte* const> bases, int fields) {
  std::vector<std::byte> workspace(static_cast<std::size_t>(stage.workspace_bytes()) + 64);
  void* aligned = workspace.data();
  std::size_t space = workspace.size();
  std::align(64, space - 64, aligned, space);
  for (int field = 0; field < fields; ++field)
    for (std::size_t tile = 0; tile < stage.tiling().tiles.size(); ++tile)
      stage.run(static_cast<std::int64_t>(tile), {bases, field}, static_cast<std::byte*>(aligned));
}

StageSpec spec_of(const StageCase& c, const Box& source_box, const Box& sink_box) {
  StageSpec spec;
  spec.axis = c.axis;
  spec.kind = c.kind;
  spec.direction = c.direction;
  spec.n = c.shape[c.axis];
  spec.source_element = {c.precision, c.kind != BatchKind::r2c};
  spec.sink_element = {c.precision, c.kind != BatchKind::c2r};
  spec.source_box = source_box;
  spec.sink_box = sink_box;
  spec.factor = c.factor;
  spec.store_mode = c.store_mode;
  return spec;
}

long double largest_error(const StageCase& c, const Field& expected) {
  const auto n = static_cast<long double>(c.shape[c.axis]);
  return test::tolerance(c.precision, n) * std::abs(static_cast<long double>(c.factor)) *
         expected.rms();
}

void check_stage(Random& random, const StageCase& c, const Engine& engine) {
  SCOPED_TRACE(text_of(c, std::string(engine.name())));
  const Expectation expected[kFields] = {expectation_of(c, 0), expectation_of(c, 1)};
  const Box source_box = Box::whole(expected[0].source.shape);
  const Box sink_box = Box::whole(expected[0].sink.shape);
  StageSpec spec = spec_of(c, source_box, sink_box);
  Memory source(0, spec.source_element, random_blocks(random, source_box, c.source_blocks),
                c.source_order);
  Memory sink(1, spec.sink_element, random_blocks(random, sink_box, c.sink_blocks), c.sink_order);
  for (int field = 0; field < kFields; ++field) source.fill(field, expected[field].source);
  const std::vector<std::byte> before = source.bytes();
  spec.sources = source.ports();
  spec.sinks = sink.ports();

  Stage stage(spec);
  stage.use_engine(engine, 1);
  std::byte* const bases[] = {source.base(), sink.base()};
  run_all(stage, bases, kFields);
  finish_streaming();

  for (int field = 0; field < kFields; ++field)
    sink.expect(field, expected[field].sink, c.factor, largest_error(c, expected[field].sink));
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
// into, wide ones where the engine needs no tile.
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
                   .factor = 0.5,
                   .store_mode = StoreMode::streaming},
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
        const Expectation expected = expectation_of(c, 0);
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
