// Rows that change places in pairs: which do, and two passes along a long axis in place after such
// rows or before them, against the direct sum.
#include "plan/row_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/long_axis.hpp"
#include "stage_case.hpp"

namespace weft {
namespace {

using test::Field;
using test::Memory;

constexpr int kSlot = kSlotOutput;

std::vector<Port> port(const Box& box, const Extents& strides) {
  return {{View{kSlot, 64, box, strides}, 1024, -1}};
}

TEST(RowExchange, IsOfRowsThatLieWhereTheOthersGo) {
  const Box box{{0, 0, 0}, {4, 4, 6}};
  const auto exchange = exchange_of_rows(port(box, {24, 6, 1}), 16, port(box, {6, 24, 1}), 16, 2);
  ASSERT_TRUE(exchange);
  EXPECT_EQ(exchange->first, 0);
  EXPECT_EQ(exchange->second, 1);
  const Box reals{{0, 0, 0}, {4, 4, 10}};
  EXPECT_TRUE(exchange_of_rows(port(reals, {48, 12, 1}), 8, port(box, {6, 24, 1}), 16, 2));
  EXPECT_FALSE(exchange_of_rows(port(reals, {40, 10, 1}), 8, port(box, {6, 24, 1}), 16, 2));
  EXPECT_FALSE(exchange_of_rows(port(box, {24, 6, 1}), 16, port(box, {24, 6, 1}), 16, 2));
  const Box uneven{{0, 0, 0}, {4, 2, 6}};
  EXPECT_FALSE(exchange_of_rows(port(uneven, {12, 6, 1}), 16, port(uneven, {6, 24, 1}), 16, 2));
  std::vector<Port> elsewhere = port(box, {6, 24, 1});
  elsewhere.front().view.offset_bytes += 16;
  EXPECT_FALSE(exchange_of_rows(port(box, {24, 6, 1}), 16, elsewhere, 16, 2));
}

TEST(RowExchange, GoesBySmallSquaresWhereRowsAreLong) {
  EXPECT_EQ(rows_exchanged(1024, 2, 8), 8);
  EXPECT_EQ(rows_exchanged(16 * 1024 * 1024, 2, 8), 2);
  EXPECT_TRUE(stay_exchanged(1024, 8));
  EXPECT_FALSE(stay_exchanged(16 * 1024 * 1024, 2));
}

/// Transforms along the last axis and along the first, in place, in this order or the other.
struct Both {
  Shape shape;  ///< of the real side
  BatchKind kind = BatchKind::c2c;
  Direction direction = Direction::forward;
  Precision precision = Precision::double_;
  bool rows_first = true;
  std::int64_t gap = 0;  ///< elements between rows
};

class InPlace {
 public:
  explicit InPlace(const Both& both)
      : both_(both),
        row_axis_(both.shape.size() - 1),
        whole_(Box::whole(spectrum_shape())),
        memory_(kSlot, {both.precision, true}, {with_gaps()}, order()) {
    for (int field = 0; field < test::kFields; ++field) {
      signal_.push_back(test::sampled(both.shape, field, !is_real()));
      const int sign = both.direction == Direction::forward || is_real() ? -1 : 1;
      const Field half = test::direct_sum(signal_.back(), row_axis_, sign, whole_.upper[row_axis_]);
      spectrum_.push_back(test::direct_sum(half, 0, sign, both.shape[0]));
      const Field& source = both.kind == BatchKind::c2r ? spectrum_.back() : signal_.back();
      for_each(field, both.kind == BatchKind::r2c, [&](const Index& index, std::byte* at) {
        test::put(at, element(both.kind == BatchKind::r2c), source(index));
      });
    }
  }

  void run() {
    Stage rows(spec_of_rows());
    Stage lanes(spec_of_lanes());
    for (Stage* stage : {&rows, &lanes}) stage->use_engine(engine_named("weft"), 1);
    const Predecessor before{both_.rows_first ? &rows : nullptr,
                             both_.rows_first ? ports() : std::vector<Port>{}};
    ASSERT_TRUE(can_take_two_passes(lanes, before, true));
    auto [first, second, work_bytes] =
        in_two_passes(lanes, before, both_.rows_first ? nullptr : &rows);
    EXPECT_EQ(work_bytes, 0);
    EXPECT_EQ(rows.axis(), row_axis_);
    const std::vector<Stage*> stages = both_.rows_first
                                           ? std::vector<Stage*>{&rows, &first, &second}
                                           : std::vector<Stage*>{&first, &second, &rows};
    std::byte* const bases[] = {nullptr, memory_.base()};
    for (Stage* stage : stages) {
      stage->use_engine(engine_named("weft"), 1);
      test::run_all(*stage, bases, test::kFields);
      finish_streaming();
    }
  }

  void expect() {
    const bool real = both_.kind == BatchKind::c2r;
    const auto points = static_cast<long double>(both_.shape[0] * both_.shape[row_axis_]);
    const long double scale = kFactor * (real ? points : 1);
    for (std::size_t i = 0; i < test::kFields; ++i) {
      const Field& expected = real ? signal_[i] : spectrum_[i];
      long double worst = 0;
      for_each(static_cast<int>(i), real, [&](const Index& index, const std::byte* at) {
        worst = std::max(worst, std::abs(test::get(at, element(real)) - scale * expected(index)));
      });
      EXPECT_LE(worst, scale * expected.rms() * test::tolerance(both_.precision, points));
    }
    memory_.expect_untouched_beside_elements();
  }

 private:
  static constexpr double kFactor = 0.375;

  bool is_real() const { return both_.kind != BatchKind::c2c; }
  Shape spectrum_shape() const {
    Shape shape = both_.shape;
    if (is_real()) shape[row_axis_] = shape[row_axis_] / 2 + 1;
    return shape;
  }
  std::vector<int> order() const {
    return both_.shape.size() == 2 ? std::vector{0, 1} : std::vector{0, 1, 2};
  }
  Direction direction() const {
    if (!is_real()) return both_.direction;
    return both_.kind == BatchKind::r2c ? Direction::forward : Direction::backward;
  }
  Element element(bool real) const { return {both_.precision, !real}; }
  Box with_gaps() const {
    Box box = whole_;
    box.upper[row_axis_] += both_.gap;
    return box;
  }
  /// Of the spectrum, or of the real signal in the same memory.
  std::vector<Port> ports(bool real = false) const {
    std::vector<Port> ports = memory_.ports();
    View& view = ports.front().view;
    view.box = real ? Box::whole(both_.shape) : whole_;
    for (int axis = 0; real && axis < row_axis_; ++axis) view.strides[axis] *= 2;
    return ports;
  }
  template <class Body>
  void for_each(int field, bool real, Body body) {
    const Port port = ports(real).front();
    for_each_index(port.view.box, [&](const Index& index) {
      std::int64_t at = 0;
      for (int axis = 0; axis < index.size(); ++axis) at += index[axis] * port.view.strides[axis];
      body(index, memory_.base() + port.view.offset_bytes + field * port.field_bytes +
                      at * element(real).bytes());
    });
  }

  StageSpec spec_of_rows() const {
    const Box reals = Box::whole(both_.shape);
    StageSpec spec = test::spec_of({.shape = both_.shape,
                                    .axis = row_axis_,
                                    .kind = both_.kind,
                                    .direction = direction(),
                                    .precision = both_.precision,
                                    .factor = both_.rows_first ? 1 : kFactor,
                                    .store_mode = StoreMode::streaming},
                                   both_.kind == BatchKind::r2c ? reals : whole_,
                                   both_.kind == BatchKind::c2r ? reals : whole_);
    spec.sources = ports(both_.kind == BatchKind::r2c);
    spec.sinks = ports(both_.kind == BatchKind::c2r);
    spec.keep_source = false;
    return spec;
  }
  StageSpec spec_of_lanes() const {
    StageSpec spec = test::spec_of({.shape = spectrum_shape(),
                                    .axis = 0,
                                    .direction = direction(),
                                    .precision = both_.precision,
                                    .factor = both_.rows_first ? kFactor : 1},
                                   whole_, whole_);
    spec.sources = spec.sinks = ports();
    spec.keep_source = false;
    return spec;
  }

  Both both_;
  int row_axis_;
  Box whole_;
  Memory memory_;
  std::vector<Field> signal_;
  std::vector<Field> spectrum_;
};

// Squares of rows that fill no tile, rows of an odd length, and rows of several planes.
TEST(RowExchange, ServesTwoPassesInPlace) {
  for (const Shape& shape : {Shape{256, 40}, Shape{289, 30}, Shape{400, 17}, Shape{256, 5, 20}})
    for (const auto kind : {BatchKind::c2c, BatchKind::r2c, BatchKind::c2r})
      for (const auto precision : {Precision::double_, Precision::single})
        for (const bool rows_first : {true, false}) {
          if (kind == (rows_first ? BatchKind::c2r : BatchKind::r2c)) continue;
          SCOPED_TRACE(to_string(shape) + (rows_first ? " rows first " : " rows last ") +
                       std::to_string(static_cast<int>(kind)));
          InPlace both({.shape = shape,
                        .kind = kind,
                        .direction = rows_first ? Direction::forward : Direction::backward,
                        .precision = precision,
                        .rows_first = rows_first,
                        .gap = shape.size() == 2 ? 0 : 3});
          both.run();
          both.expect();
        }
}

}  // namespace
}  // namespace weft
