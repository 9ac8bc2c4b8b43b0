// Two passes along a long axis against the direct sum: sources and sinks of Weft and of the user,
// in blocks that can be cut, lanes that fill no pack, and what cannot be done in two passes.
#include "plan/long_axis.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/aligned_memory.hpp"
#include "stage_case.hpp"

namespace weft {
namespace {

using test::Memory;
using test::StageCase;

constexpr int kSinkSlot = 1;
constexpr int kWindowSlot = kSlotPeers;
constexpr std::size_t kSlots = kSlotPeers + 1;

/// Blocks of the box, cut at that row and at a third of the lanes; no row: the box.
std::vector<Box> blocks_of(const Box& whole, std::int64_t row) {
  if (row == 0) return {whole};
  std::vector<Box> blocks;
  const std::int64_t lane = whole.upper[1] / 3;
  for (const auto& [first, last] : {std::pair{std::int64_t{0}, row}, {row, whole.upper[0]}})
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, lane}, {lane, whole.upper[1]}})
      blocks.push_back({{first, begin}, {last, end}});
  return blocks;
}

/// The stage of a case, from a slot to the user's array.
Stage stage_of(const StageCase& c, const Memory& source, const Memory& sink) {
  const Box box = Box::whole(c.shape);
  StageSpec spec = spec_of(c, box, box);
  spec.sources = source.ports();
  spec.sinks = sink.ports();
  spec.keep_source = source.ports().front().view.slot == kSlotInput;
  Stage stage(spec);
  stage.use_engine(engine_named("weft"), 1);
  return stage;
}

// With sources that are cut at that row, and sinks at the middle.
void check_two_passes(const StageCase& c, int source_slot, std::int64_t source_row) {
  SCOPED_TRACE(text_of(c, "slot " + std::to_string(source_slot)));
  SCOPED_TRACE(source_row);
  const Box box = Box::whole(c.shape);
  const Element element{c.precision, true};
  Memory source(source_slot, element, blocks_of(box, source_row), {0, 1});
  Memory sink(kSinkSlot, element, blocks_of(box, source_row == 0 ? 0 : box.upper[0] / 2), {0, 1});
  const test::Expectation* const expected[] = {&expectation_of(c, 0), &expectation_of(c, 1)};
  for (int field = 0; field < test::kFields; ++field) source.fill(field, expected[field]->source);
  const std::vector<std::byte> before = source.bytes();

  auto [first, second, work_bytes] = in_two_passes(stage_of(c, source, sink), {});
  std::vector<std::byte*> bases(kSlots, nullptr);
  bases[static_cast<std::size_t>(source_slot)] = source.base();
  bases[kSinkSlot] = sink.base();
  for (Stage* stage : {&first, &second}) {
    EXPECT_EQ(stage->axis(), 0);
    stage->use_engine(engine_named("weft"), 1);
    ASSERT_TRUE(stage->needs_no_tile());
    EXPECT_EQ(work_bytes, 0);
    test::run_all(*stage, bases, test::kFields);
    finish_streaming();
  }
  for (int field = 0; field < test::kFields; ++field)
    sink.expect(field, expected[field]->sink, c.factor, largest_error(c, expected[field]->sink));
  sink.expect_untouched_beside_elements();
  if (source_slot == kSlotInput) {
    EXPECT_TRUE(source.bytes() == before) << "the source was overwritten";
  }
  source.expect_untouched_beside_elements();
}

TEST(TwoPasses, GiveWhatOneGives) {
  for (const std::int64_t n : {256, 320, 512, 1024})
    for (const auto direction : {Direction::forward, Direction::backward})
      for (const auto precision : {Precision::single, Precision::double_})
        for (const int slot : {int{kSlotInput}, kWindowSlot})
          for (const std::int64_t row : {std::int64_t{0}, n / 2, n / 2 - 5, n - 1})
            check_two_passes({.shape = {n, n == 512 ? 67 : 32},
                              .axis = 0,
                              .direction = direction,
                              .precision = precision,
                              .factor = n == 320 ? 0.375 : 1,
                              .store_mode = row > 0 ? StoreMode::streaming : StoreMode::cached},
                             slot, row);
}

// Few rows wait where the second pass makes its results of them.
TEST(TwoPasses, TakeRowsFromWhereTheyStoreThem) {
  for (const std::int64_t k1 : {0, 7, 15})
    for (const std::int64_t j2 : {0, 5}) {
      const StageCase c{.shape = {256, 40}, .axis = 0};
      const std::int64_t a = 16;
      const Box box = Box::whole(c.shape);
      const Element element{Precision::double_, true};
      Memory source(kWindowSlot, element, {box}, {0, 1});
      Memory sink(kSinkSlot, element, {box}, {0, 1});
      const test::Expectation* const expected[] = {&expectation_of(c, 0), &expectation_of(c, 1)};
      for (int field = 0; field < test::kFields; ++field)
        source.fill(field, expected[field]->source);

      const Port& all = source.ports().front();
      const Port& result = sink.ports().front();
      const Box few{{k1 * a + j2, 0}, {k1 * a + a, 40}};
      Port home = result;
      home.view = part_of(result.view, {{k1 + a * j2, 0}, {k1 + a * j2 + 1, 40}}, element.bytes());
      home.view.box = few;
      home.view.strides[0] *= a;
      for (int field = 0; field < test::kFields; ++field)
        for (std::int64_t row = few.lower[0]; row < few.upper[0]; ++row)
          std::memcpy(sink.base() + home.view.offset_bytes + field * home.field_bytes +
                          (row - few.lower[0]) * home.view.strides[0] * element.bytes(),
                      source.base() + all.view.offset_bytes + field * all.field_bytes +
                          row * all.view.strides[0] * element.bytes(),
                      40 * element.bytes());
      StageSpec spec = spec_of(c, box, box);
      Port before = all;
      Port after = all;
      before.view = part_of(all.view, {{0, 0}, {few.lower[0], 40}}, element.bytes());
      after.view = part_of(all.view, {{few.upper[0], 0}, {256, 40}}, element.bytes());
      spec.sources = {before, home, after};
      spec.sinks = sink.ports();
      spec.keep_source = false;
      Stage stage(spec);
      stage.use_engine(engine_named("weft"), 1);
      ASSERT_TRUE(can_take_two_passes(stage, {}, false));
      auto [first, second, work_bytes] = in_two_passes(stage, {});
      EXPECT_EQ(work_bytes, 0);
      std::vector<std::byte*> bases(kSlots, nullptr);
      bases[kWindowSlot] = source.base();
      bases[kSinkSlot] = sink.base();
      for (Stage* part : {&first, &second}) {
        part->use_engine(engine_named("weft"), 1);
        EXPECT_TRUE(part->needs_no_tile());
        test::run_all(*part, bases, test::kFields);
        finish_streaming();
      }
      for (int field = 0; field < test::kFields; ++field)
        sink.expect(field, expected[field]->sink, 1, largest_error(c, expected[field]->sink));
      sink.expect_untouched_beside_elements();
    }
}

// In place in a user's array they need another one between them.
TEST(TwoPasses, WorkInPlace) {
  for (const std::int64_t lanes : {40, 67}) {
    const StageCase c{.shape = {320, lanes}, .axis = 0, .factor = 0.25};
    const Box box = Box::whole(c.shape);
    const Element element{Precision::double_, true};
    Memory memory(kSlotInput, element, {box}, {0, 1});
    const test::Expectation* const expected[] = {&expectation_of(c, 0), &expectation_of(c, 1)};
    for (int field = 0; field < test::kFields; ++field) memory.fill(field, expected[field]->source);
    StageSpec spec = spec_of(c, box, box);
    spec.sources = spec.sinks = memory.ports();
    spec.keep_source = false;
    Stage stage(spec);
    stage.use_engine(engine_named("weft"), 1);
    ASSERT_TRUE(can_take_two_passes(stage, {}, false));
    auto [first, second, work_bytes] = in_two_passes(stage, {});
    EXPECT_GE(work_bytes, box.volume() * element.bytes());
    EXPECT_LE(work_bytes, box.volume() * element.bytes() * 5 / 4);
    const AlignedMemory work(static_cast<std::size_t>(work_bytes));
    std::byte* const bases[] = {memory.base(), nullptr, work.data()};
    for (Stage* part : {&first, &second}) part->use_engine(engine_named("weft"), 1);
    for (int field = 0; field < test::kFields; ++field) {
      for (const Stage* part : {&first, &second}) {
        test::run_field(*part, bases, field);
        finish_streaming();
      }
      memory.expect(field, expected[field]->sink, c.factor,
                    largest_error(c, expected[field]->sink));
    }
    memory.expect_untouched_beside_elements();
  }
}

// In place, after the rows have been transformed: these are stored in another order then.
TEST(TwoPasses, FollowRowsInPlace) {
  for (const std::int64_t n : {256, 320})
    for (const auto direction : {Direction::forward, Direction::backward}) {
      const StageCase rows{.shape = {n, 40}, .axis = 1, .direction = direction};
      StageCase lanes = rows;
      lanes.axis = 0;
      const Box box = Box::whole(rows.shape);
      const Element element{Precision::double_, true};
      const std::vector<Box> halves{{{0, 0}, {n / 2, 40}}, {{n / 2, 0}, {n, 40}}};
      Memory source(kSlotInput, element, halves, {0, 1});
      Memory sink(kSinkSlot, element, {box}, {0, 1});
      const int sign = direction == Direction::forward ? -1 : 1;
      std::vector<test::Field> signal;
      for (int field = 0; field < test::kFields; ++field) {
        signal.push_back(test::sampled(rows.shape, field, true));
        source.fill(field, signal.back());
      }

      StageSpec along_rows = spec_of(rows, box, box);
      along_rows.sources = source.ports();
      along_rows.sinks = sink.ports();
      Stage before(along_rows);
      auto [first, second, work_bytes] =
          in_two_passes(stage_of(lanes, sink, sink), {&before, sink.ports()});
      std::byte* const bases[] = {source.base(), sink.base()};
      EXPECT_EQ(before.axis(), 1);
      for (Stage* stage : {&before, &first, &second}) {
        stage->use_engine(engine_named("weft"), 1);
        test::run_all(*stage, bases, test::kFields);
        finish_streaming();
      }
      for (int field = 0; field < test::kFields; ++field) {
        const test::Field half =
            test::direct_sum(signal[static_cast<std::size_t>(field)], 1, sign, 40);
        const test::Field expected = test::direct_sum(half, 0, sign, n);
        sink.expect(field, expected, 1, largest_error(lanes, expected));
      }
      sink.expect_untouched_beside_elements();
    }
}

/// Where the block that stays on its rank waits for the two passes, and where it is after them.
enum class Stays {
  in_window,
  in_window_then_result,
  in_input_then_window,
  in_result,
  in_result_in_part,  ///< as at home
  at_home,  ///< in its result, but for the peer's rows before the passes: these are in a room
  in_input_then_home,
};

// Two ranks, each with half of the rows first and `cut` of the lanes, or those after them, then.
// Each stores its rows in another order, into the windows of both, if they go back to where they
// come from, even if it has no lanes then; else, or if it has a home, what stays on it into its
// result.
class TwoRanks {
 public:
  TwoRanks(std::int64_t cut, Stays stays) : stays_(stays) {
    for (int field = 0; field < test::kFields; ++field)
      signal_.push_back(test::sampled(kShape, field, true));
    for (const int rank : {0, 1}) {
      const Box rows{{rank * kRows / 2, 0}, {(rank + 1) * kRows / 2, kLanes}};
      const Box lanes = rank == 0 ? Box{{0, 0}, {kRows, cut}} : Box{{0, cut}, {kRows, kLanes}};
      const Box peers = rank == 0 ? Box{{0, cut}, {kRows, kLanes}} : Box{{0, 0}, {kRows, cut}};
      const Box own = intersect(rows, lanes);
      Box kept = own;
      if (has_home()) kept.upper[0] -= kept.extent(0) / 2;
      ranks_.push_back({.lanes = lanes,
                        .input = memory(kSlotInput, rows),
                        .sent = memory(kWindowSlot + rank, intersect(rows, peers)),
                        .kept = memory(kWindowSlot + 2 + rank, kept),
                        .result = memory(kSinkSlot, makes_result() ? lanes : own)});
      for (int field = 0; field < test::kFields; ++field)
        ranks_.back().input.fill(field, signal_[static_cast<std::size_t>(field)]);
    }
  }

  void run() {
    std::vector<Stage> before;
    for (Rank& rank : ranks_) before.emplace_back(stage_before(rank));
    std::vector<std::vector<Stage>> after;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      Stage stage(stage_after(rank));
      stage.use_engine(engine_named("weft"), 1);
      const Predecessor predecessor = predecessor_of(rank, before[rank]);
      ASSERT_EQ(can_reorder(predecessor, stage), !predecessor.places.empty());
      auto [first, second, work_bytes] = in_two_passes(stage, predecessor);
      EXPECT_EQ(work_bytes, 0);
      after.emplace_back();
      after.back().push_back(std::move(first));
      after.back().push_back(std::move(second));
    }
    for (std::size_t rank = 0; rank < 2; ++rank) run(before[rank], rank);
    for (std::size_t rank = 0; rank < 2; ++rank)
      for (Stage& stage : after[rank]) run(stage, rank);
  }

  void expect() {
    const StageCase columns{.shape = kShape, .axis = 0, .factor = kFactor};
    for (int field = 0; field < test::kFields; ++field) {
      const test::Field& signal = signal_[static_cast<std::size_t>(field)];
      const test::Field rows = copies() ? signal : test::direct_sum(signal, 1, -1, kLanes);
      const test::Field expected = test::direct_sum(rows, 0, -1, kRows);
      const long double error = largest_error(columns, expected);
      for (Rank& rank : ranks_) {
        if (!makes_result()) rank.sent.expect(field, expected, kFactor, error);
        (ends_in_result() ? rank.result : rank.kept).expect(field, expected, kFactor, error);
        rank.input.expect(field, signal, 1, 0);
      }
    }
    for (Rank& rank : ranks_)
      for (Memory* memory : {&rank.sent, &rank.kept, &rank.result})
        memory->expect_untouched_beside_elements();
  }

 private:
  static constexpr std::int64_t kRows = 512;
  static constexpr std::int64_t kLanes = 40;
  static constexpr double kFactor = 0.5;
  inline static const Shape kShape{kRows, kLanes};

  struct Rank {
    Box lanes;
    Memory input;
    Memory sent;    ///< to the peer
    Memory kept;    ///< the window's place for what stays, or the room for the peer's rows of it
    Memory result;  ///< of what stays, or of all lanes
  };

  static Memory memory(int slot, const Box& box) {
    return Memory(slot, {Precision::double_, true}, {box}, {0, 1});
  }
  static std::vector<Port> part(const Memory& memory, const Box& box) {
    std::vector<Port> ports = memory.ports();
    for (Port& port : ports) port.view = part_of(port.view, box, 16);
    return ports;
  }
  bool copies() const {
    return stays_ == Stays::in_input_then_window || stays_ == Stays::in_input_then_home;
  }
  bool has_home() const {
    return stays_ == Stays::at_home || stays_ == Stays::in_input_then_home ||
           stays_ == Stays::in_result_in_part;
  }
  // Rather than what goes back to the peer.
  bool makes_result() const {
    return stays_ == Stays::in_result || stays_ == Stays::in_result_in_part;
  }
  bool ends_in_result() const {
    return stays_ != Stays::in_window && stays_ != Stays::in_input_then_window;
  }

  Box own(const Rank& rank) const {
    return intersect(rank.input.ports().front().view.box, rank.lanes);
  }
  // What stays on the rank, as it waits.
  std::vector<Port> waiting(const Rank& rank) const {
    if (own(rank).empty()) return {};
    if (copies()) return part(rank.input, own(rank));
    const bool in_result = makes_result() || stays_ == Stays::at_home;
    return in_result ? part(rank.result, own(rank)) : rank.kept.ports();
  }

  Predecessor predecessor_of(std::size_t rank, Stage& stage) const {
    Predecessor before{&stage};
    if (stays_ == Stays::in_result) before.places = ranks_[rank].result.ports();
    if (has_home() && !own(ranks_[rank]).empty())
      before.homes = part(ranks_[rank].result, own(ranks_[rank]));
    for (const Rank& host : ranks_) {
      if (stays_ == Stays::in_result) continue;
      for (const Port& port : host.sent.ports()) before.places.push_back(port);
      for (Port port : host.kept.ports()) {
        port.view.box = own(host);
        (has_home() ? before.rooms : before.places).push_back(port);
      }
    }
    return before;
  }

  StageSpec stage_before(const Rank& rank) const {
    const Box mine = rank.input.ports().front().view.box;
    StageSpec spec = test::spec_of({.shape = kShape, .axis = 1}, mine, mine);
    spec.transforms = !copies();
    spec.sources = rank.input.ports();
    spec.sinks = waiting(rank);
    for (const Port& port : rank.sent.ports()) spec.sinks.push_back(port);
    return spec;
  }

  StageSpec stage_after(std::size_t number) const {
    const Rank& rank = ranks_[number];
    StageSpec spec =
        test::spec_of({.shape = kShape, .axis = 0, .factor = kFactor}, rank.lanes, rank.lanes);
    spec.sources = waiting(rank);
    spec.sinks = ends_in_result() ? rank.result.ports() : rank.kept.ports();
    for (const Port& port : ranks_[1 - number].sent.ports()) {
      spec.sources.push_back(port);
      if (!makes_result()) spec.sinks.push_back(port);
    }
    spec.keep_source = copies();
    return spec;
  }

  void run(Stage& stage, std::size_t rank) {
    std::vector<std::byte*> bases(kSlots + 4, nullptr);
    bases[kSlotInput] = ranks_[rank].input.base();
    bases[kSinkSlot] = ranks_[rank].result.base();
    for (std::size_t host = 0; host < 2; ++host) {
      bases[kWindowSlot + host] = ranks_[host].sent.base();
      bases[kWindowSlot + 2 + host] = ranks_[host].kept.base();
    }
    if (stage.spec().transforms) stage.use_engine(engine_named("weft"), 1);
    test::run_all(stage, bases, test::kFields);
    finish_streaming();
  }

  Stays stays_;
  std::vector<test::Field> signal_;
  std::vector<Rank> ranks_;
};

TEST(TwoPasses, FollowRowsOfAllRanks) {
  for (const std::int64_t cut : {16, 40})
    for (const Stays stays :
         {Stays::in_window, Stays::in_window_then_result, Stays::in_input_then_window,
          Stays::in_result, Stays::in_result_in_part, Stays::at_home, Stays::in_input_then_home}) {
      SCOPED_TRACE(::testing::Message() << cut << " lanes, " << static_cast<int>(stays));
      TwoRanks ranks(cut, stays);
      ranks.run();
      ranks.expect();
    }
}

TEST(TwoPasses, NeedBlocksThatCanBeCut) {
  const auto can = [](std::int64_t rows, std::vector<Box> blocks, int source_slot) {
    const Element element{Precision::double_, true};
    const StageCase c{.shape = {rows, 16}, .axis = 0};
    const Memory source(source_slot, element, blocks, {0, 1});
    const Memory sink(kSinkSlot, element, {Box::whole(c.shape)}, {0, 1});
    return can_take_two_passes(stage_of(c, source, sink), {}, false);
  };
  const auto cut_at = [](std::int64_t rows, std::int64_t row) {
    return std::vector<Box>{{{0, 0}, {row, 16}}, {{row, 0}, {rows, 16}}};
  };
  EXPECT_TRUE(can(1024, cut_at(1024, 512), kWindowSlot));
  EXPECT_TRUE(can(1024, cut_at(1024, 512), kSlotInput));
  EXPECT_TRUE(can(1024, cut_at(1024, 513), kWindowSlot)) << "rows may begin anywhere";
  EXPECT_FALSE(can(1024, cut_at(1024, 512), kSinkSlot)) << "stores where others load";
  EXPECT_FALSE(can(1021, cut_at(1021, 0), kWindowSlot)) << "prime";
  const StageCase c{.shape = {1024, 16}, .axis = 0};
  const Element element{Precision::double_, true};
  const Memory source(kWindowSlot, element, {Box::whole(c.shape)}, {0, 1});
  const Memory sink(kSinkSlot, element, cut_at(1024, 513), {0, 1});
  EXPECT_FALSE(can_take_two_passes(stage_of(c, source, sink), {}, false)) << "results cut between";
  EXPECT_TRUE(can_be_divided(4096, {{{0, 0}, {2048, 9}}}, {{{0, 0}, {4096, 5}}}, 0));
  EXPECT_FALSE(can_be_divided(4096, {{{0, 0}, {1366, 9}}}, {{{0, 0}, {4096, 5}}}, 0));
}

TEST(TwoPasses, AreNotTriedForShortAxes) {
  EXPECT_FALSE(is_faster_in_two_passes(512, Precision::double_));
  EXPECT_EQ(rows_in_passes(512, Precision::double_), std::vector<std::int64_t>{512});
}

// Whatever the trial says, it says it again.
TEST(TwoPasses, AreTriedOnce) {
  const bool gains = is_faster_in_two_passes(2048, Precision::double_);
  EXPECT_EQ(is_faster_in_two_passes(2048, Precision::double_), gains);
  const auto rows = gains ? std::vector<std::int64_t>{64, 32} : std::vector<std::int64_t>{2048};
  EXPECT_EQ(rows_in_passes(2048, Precision::double_), rows);
  EXPECT_EQ(rows_in_passes(16384, Precision::double_), (std::vector<std::int64_t>{128, 128}));
  EXPECT_FALSE(is_faster_in_two_passes(4099, Precision::double_)) << "prime";
}

}  // namespace
}  // namespace weft
