// The parts of the engine "weft": packs and their shuffles, sheets, and ColumnTransform at every
// length up to 130 and some with large prime factors, against direct sums in long double. A
// transform is linear, so random signals show what it does at each length; which lanes they are in
// must not matter.
#include "engine/weft/column_transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "base/aligned_memory.hpp"
#include "engine/engine.hpp"
#include "engine/weft/radices.hpp"
#include "engine/weft/sheet.hpp"
#include "oracle.hpp"

namespace weft {
namespace {

using test::Value;

template <class Real>
class EngineParts : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
struct RealNames {
  template <class Real>
  static std::string GetName(int) {
    return sizeof(Real) == 4 ? "float" : "double";
  }
};
TYPED_TEST_SUITE(EngineParts, Reals, RealNames);

// ---- packs

template <class Real>
Pack<Real> counting_from(int first) {
  Pack<Real> pack;
  for (int lane = 0; lane < kWidth<Real>; ++lane) pack[lane] = static_cast<Real>(first + lane);
  return pack;
}

TYPED_TEST(EngineParts, PacksAreLoadedAndStoredAnywhere) {
  constexpr int kLanes = kWidth<TypeParam>;
  std::vector<TypeParam> from(3 * kLanes);
  std::iota(from.begin(), from.end(), TypeParam{1});
  for (std::size_t at = 0; at < kLanes; ++at) {
    std::vector<TypeParam> to(3 * kLanes, TypeParam{-1});
    store_pack(to.data() + at + 1, load_pack(from.data() + at));
    for (std::size_t i = 0; i < to.size(); ++i)
      EXPECT_EQ(to[i], i > at && i <= at + kLanes ? from[i - 1] : -1) << at << ' ' << i;
  }
}

TYPED_TEST(EngineParts, StreamedPacksArrive) {
  AlignedMemory memory(2 * kPackBytes);
  auto* to = reinterpret_cast<TypeParam*>(memory.data());
  stream_pack(to, counting_from<TypeParam>(5));
  stream_pack(to + kWidth<TypeParam>, counting_from<TypeParam>(70));
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
  for (int lane = 0; lane < kWidth<TypeParam>; ++lane) {
    EXPECT_EQ(to[lane], 5 + lane);
    EXPECT_EQ(to[kWidth<TypeParam> + lane], 70 + lane);
  }
}

TYPED_TEST(EngineParts, SplitTakesComplexNumbersApartAndJoinedPutsThemTogether) {
  constexpr int kLanes = kWidth<TypeParam>;
  const Pack<TypeParam> low = counting_from<TypeParam>(0);
  const Pack<TypeParam> high = counting_from<TypeParam>(kLanes);
  const Column<TypeParam> column = split<TypeParam>(low, high);
  const auto [low_again, high_again] = joined<TypeParam>(column);
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(column.re[lane], 2 * lane);
    EXPECT_EQ(column.im[lane], 2 * lane + 1);
    EXPECT_EQ(low_again[lane], low[lane]);
    EXPECT_EQ(high_again[lane], high[lane]);
  }
}

TYPED_TEST(EngineParts, TransposeTurnsASquare) {
  constexpr int kLanes = kWidth<TypeParam>;
  Pack<TypeParam> square[kLanes];
  for (int i = 0; i < kLanes; ++i) square[i] = counting_from<TypeParam>(100 * i);
  transpose<TypeParam>(square);
  for (int i = 0; i < kLanes; ++i)
    for (int lane = 0; lane < kLanes; ++lane) EXPECT_EQ(square[i][lane], 100 * lane + i);
}

// ---- sheets

/// Elements of `parts` reals through read and write, by way of columns; memory between is left
/// alone.
template <class Real, class Copy>
void expect_copied(int parts, std::int64_t points, std::int64_t signals, bool lanes, Copy copy) {
  const std::int64_t pitch = 3 + (lanes ? kWidth<Real> : points);
  const std::int64_t stride = lanes ? pitch : 1;
  const std::int64_t distance = lanes ? 1 : pitch;
  const auto size =
      static_cast<std::size_t>(parts * pitch * (std::max<std::int64_t>(points, kWidth<Real>) + 1));
  std::vector<Real> from(size + 1);
  std::vector<Real> to(size + 1, Real{-1});
  std::iota(from.begin(), from.end(), Real{1});
  std::vector<Real> expected = to;
  for (std::int64_t i = 0; i < signals; ++i)
    for (std::int64_t j = 0; j < points; ++j)
      for (int part = 0; part < parts; ++part) {
        const auto at = static_cast<std::size_t>(1 + (j * stride + i * distance) * parts + part);
        expected[at] = from[at];
      }
  copy(Sheet<const Real>{from.data() + 1, stride, distance, signals},
       Sheet<Real>{to.data() + 1, stride, distance, signals});
  EXPECT_EQ(to, expected) << parts << " parts, " << points << " points, " << signals
                          << (lanes ? " lanes" : " rows");
}

TYPED_TEST(EngineParts, SheetsAreReadAndWrittenAsTheyAre) {
  using Real = TypeParam;
  for (const bool lanes : {false, true})
    for (std::int64_t points = 1; points <= 2 * kWidth<Real> + 1; ++points)
      for (std::int64_t signals = 0; signals <= kWidth<Real>; ++signals) {
        expect_copied<Real>(2, points, signals, lanes, [&](auto in, auto out) {
          std::vector<Column<Real>> columns(static_cast<std::size_t>(points));
          read_complex<Real>(in, points, [&](std::int64_t j, const Column<Real>& column) {
            columns[static_cast<std::size_t>(j)] = column;
          });
          write_complex<Real>(out, points,
                              [&](std::int64_t j) { return columns[static_cast<std::size_t>(j)]; });
        });
        expect_copied<Real>(1, points, signals, lanes, [&](auto in, auto out) {
          std::vector<Column<Real>> columns(static_cast<std::size_t>(points));
          read_real<Real>(in, points, [&](std::int64_t j, const Pack<Real>& pack) {
            columns[static_cast<std::size_t>(j)].re = pack;
          });
          write_real<Real>(out, points,
                           [&](std::int64_t j) { return columns[static_cast<std::size_t>(j)].re; });
        });
      }
}

// ---- transforms

int sign_of(Direction direction) { return direction == Direction::forward ? -1 : 1; }

Value signal(std::int64_t j, std::int64_t lane) {
  return {test::sample({j}, static_cast<int>(lane), 0),
          test::sample({j}, static_cast<int>(lane), 1)};
}

/// The frequencies of a lane's signal. Many cases have the same ones, so they are remembered.
const std::vector<Value>& spectrum(std::int64_t n, Direction direction, std::int64_t lane) {
  static std::map<std::tuple<std::int64_t, Direction, std::int64_t>, std::vector<Value>> known;
  std::vector<Value>& result = known[{n, direction, lane}];
  if (!result.empty()) return result;
  test::Field field(Shape{n});
  for (std::int64_t j = 0; j < n; ++j) field({j}) = signal(j, lane);
  return result = test::direct_sum(field, 0, sign_of(direction), n).values;
}

/// The largest error allowed, for signals of the rms 1.6 or less.
template <class Real>
long double allowed(std::int64_t n) {
  const auto points = static_cast<long double>(n);
  return 4 * std::sqrt(points) * (4 + std::log2(points)) * std::numeric_limits<Real>::epsilon();
}

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all(130);
  std::iota(all.begin(), all.end(), 1);
  // Products of all unrolled radices, powers, primes that are passes (61) and that are not.
  for (const std::int64_t n :
       {143, 169,  187,  210,  256,  262,  331,  343,  366,  488,  512,  625, 720,
        729, 1000, 1021, 1024, 1331, 1586, 2022, 2048, 2187, 3721, 4096, 4099})
    all.push_back(n);
  return all;
}

TEST(Radices, AreOrderedFactors) {
  EXPECT_EQ(cheapest_radices(1), std::vector<int>{});
  EXPECT_EQ(cheapest_radices(13), std::vector<int>{13});
  EXPECT_EQ(cheapest_radices(243), (std::vector<int>{9, 3, 9}));
  EXPECT_EQ(cheapest_radices(2 * 17 * 61), (std::vector<int>{61, 17, 2})) << "long primes first";
  for (std::int64_t n = 1; n <= 32768; n = n * 5 / 4 + 1) {
    const std::vector<int> radices = cheapest_radices(n);
    EXPECT_EQ(std::accumulate(radices.begin(), radices.end(), std::int64_t{1}, std::multiplies<>{}),
              n);
  }
}

TYPED_TEST(EngineParts, ColumnsOfAllLengthsAreTransformed) {
  using Real = TypeParam;
  constexpr std::int64_t kSignals = 3;
  for (const std::int64_t n : lengths())
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const ColumnTransform<Real> transform(n, direction);
      ASSERT_EQ(transform.n(), n);
      std::vector<Column<Real>> work(static_cast<std::size_t>(transform.work_columns()));
      for (std::int64_t j = 0; j < n; ++j)
        for (int lane = 0; lane < kWidth<Real>; ++lane) {
          const Value value = signal(j, lane % kSignals);
          work[static_cast<std::size_t>(j)].re[lane] = static_cast<Real>(value.real());
          work[static_cast<std::size_t>(j)].im[lane] = static_cast<Real>(value.imag());
        }
      transform.run(work.data());
      const std::vector<Value>* expected[kSignals];
      for (std::int64_t i = 0; i < kSignals; ++i) expected[i] = &spectrum(n, direction, i);
      long double worst = 0;
      std::vector<bool> taken(static_cast<std::size_t>(n), false);
      for (std::int64_t k = 0; k < n; ++k) {
        const auto at = static_cast<std::size_t>(transform.position(k));
        ASSERT_LT(at, taken.size());
        EXPECT_FALSE(taken[at]) << "two frequencies in place " << at;
        taken[at] = true;
        for (int lane = 0; lane < kWidth<Real>; ++lane)
          worst =
              std::max(worst, std::abs(Value(work[at].re[lane], work[at].im[lane]) -
                                       (*expected[lane % kSignals])[static_cast<std::size_t>(k)]));
      }
      EXPECT_LE(worst, allowed<Real>(n)) << "n = " << n << ", sign " << sign_of(direction);
    }
}

/// A batch of lanes by Batch::run_rows, its rows at places of their own in memory.
template <class Real>
class Rows {
 public:
  Rows(std::int64_t n, std::int64_t count, std::int64_t misfit)
      : n_(n), count_(count), pitch_(pitch_of(count)), misfit_(misfit), memory_(bytes()) {
    std::fill_n(reinterpret_cast<Real*>(memory_.data()), memory_.bytes() / sizeof(Real), kCanary);
    // Neither in order nor one after another.
    for (std::int64_t j = 0; j < n; ++j)
      rows_.push_back(memory_.data() +
                      ((n - 1 - j) * pitch_ + misfit_) * static_cast<std::int64_t>(sizeof(Real)));
  }
  RowsOfLanes rows() const { return rows_; }
  Real* row(std::int64_t j) { return reinterpret_cast<Real*>(rows_[static_cast<std::size_t>(j)]); }
  /// Whether what lies beside the rows is as it was.
  bool is_clean() {
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 2 * count_; i < pitch_ - misfit_; ++i)
        if (row(j)[i] != kCanary) return false;
    return true;
  }

 private:
  static constexpr Real kCanary = -77;
  /// Reals from row to row: cache lines, and one to spare.
  static std::int64_t pitch_of(std::int64_t count) { return (2 * count + 15) / 16 * 16 + 16; }
  std::size_t bytes() const { return static_cast<std::size_t>(n_ * pitch_) * sizeof(Real); }

  std::int64_t n_;
  std::int64_t count_;
  std::int64_t pitch_;
  std::int64_t misfit_;
  AlignedMemory memory_;
  std::vector<std::byte*> rows_;
};

/// Which rows are stored where they were loaded.
enum class InPlace { none, some, all };

struct RowsCase {
  std::int64_t n;
  std::int64_t count;
  std::int64_t misfit;  ///< reals by which rows miss a cache line
  bool streaming;
  InPlace in_place;
  bool in_cache = false;  ///< what is loaded

  bool stays(std::int64_t row) const {
    return in_place == InPlace::all || (in_place == InPlace::some && row % 3 != 0);
  }
};

template <class Real>
void expect_rows_transformed(const RowsCase& c, Direction direction, double factor) {
  SCOPED_TRACE("n " + std::to_string(c.n) + ", count " + std::to_string(c.count) + ", misfit " +
               std::to_string(c.misfit) + (c.streaming ? ", streaming" : "") +
               (c.in_cache ? ", from the cache" : "") +
               (c.in_place == InPlace::none  ? ""
                : c.in_place == InPlace::all ? ", in place"
                                             : ", partly in place"));
  BatchSpec spec{.direction = direction,
                 .precision = sizeof(Real) == 4 ? Precision::single : Precision::double_,
                 .n = c.n,
                 .count = c.count,
                 .in_stride = c.count,
                 .out_stride = c.count};
  const auto batch = engine_named("weft").make(spec);
  ASSERT_TRUE(batch->takes_rows());
  Rows<Real> in(c.n, c.count, c.misfit);
  Rows<Real> other(c.n, c.count, c.misfit);
  const auto out = [&](std::int64_t k) { return c.stays(k) ? in.row(k) : other.row(k); };
  std::vector<std::byte*> out_rows;
  for (std::int64_t k = 0; k < c.n; ++k) out_rows.push_back(reinterpret_cast<std::byte*>(out(k)));
  for (std::int64_t j = 0; j < c.n; ++j)
    for (std::int64_t i = 0; i < c.count; ++i) {
      in.row(j)[2 * i] = static_cast<Real>(signal(j, i).real());
      in.row(j)[2 * i + 1] = static_cast<Real>(signal(j, i).imag());
    }
  const AlignedMemory scratch(static_cast<std::size_t>(batch->scratch_bytes(true)));
  batch->run_rows(in.rows(), out_rows, {.in_cache = c.in_cache}, {factor, c.streaming},
                  scratch.data());
  long double worst = 0;
  for (std::int64_t i = 0; i < c.count; ++i) {
    const std::vector<Value>& expected = spectrum(c.n, direction, i);
    for (std::int64_t k = 0; k < c.n; ++k)
      worst = std::max(worst, std::abs(Value(out(k)[2 * i], out(k)[2 * i + 1]) -
                                       static_cast<long double>(factor) *
                                           expected[static_cast<std::size_t>(k)]));
  }
  EXPECT_LE(worst, static_cast<long double>(factor) * allowed<Real>(c.n));
  EXPECT_TRUE(in.is_clean() && other.is_clean());
  for (std::int64_t j = 0; j < c.n; ++j)
    if (!c.stays(j)) {
      EXPECT_EQ(in.row(j)[0], static_cast<Real>(signal(j, 0).real())) << "the input was changed";
    }
}

TYPED_TEST(EngineParts, RowsAreTransformedWhereverTheyLie) {
  constexpr std::int64_t kLanes = kWidth<TypeParam>;
  // One pass; several; a long prime as a pass; by convolution; larger than a core's first cache.
  for (const std::int64_t n : {1, 8, 13, 60, 96, 122, 134, 900})
    for (const std::int64_t count : {std::int64_t{1}, kLanes - 1, kLanes, 2 * kLanes + 1})
      for (const std::int64_t misfit : {0, 2, 3})
        for (const InPlace in_place : {InPlace::none, InPlace::some, InPlace::all}) {
          RowsCase c{n, count, misfit, false, in_place};
          expect_rows_transformed<TypeParam>(c, Direction::forward, 1);
          c.in_cache = true;
          if (misfit == 2) expect_rows_transformed<TypeParam>(c, Direction::backward, 0.37);
        }
}

TYPED_TEST(EngineParts, RowsAreStreamed) {
  constexpr std::int64_t kLanes = kWidth<TypeParam>;
  for (const std::int64_t n : {1, 8, 60, 61, 134, 900})
    for (const std::int64_t count : {kLanes, 3 * kLanes, 2 * kLanes + 1, 5 * kLanes})
      for (const std::int64_t misfit : {0, 2, 3, 6})
        for (const InPlace in_place : {InPlace::none, InPlace::some, InPlace::all}) {
          RowsCase c{n, count, misfit, true, in_place};
          expect_rows_transformed<TypeParam>(c, Direction::forward, 0.25);
          c.in_cache = true;
          expect_rows_transformed<TypeParam>(c, Direction::backward, 1);
        }
}

TYPED_TEST(EngineParts, MoreRowsAreStreamedThanGoTogether) {
  for (const std::int64_t misfit : {0, 3})
    for (const InPlace in_place : {InPlace::none, InPlace::some}) {
      const RowsCase c{60, 17 * kWidth<TypeParam> + 1, misfit, true, in_place};
      expect_rows_transformed<TypeParam>(c, Direction::forward, 0.25);
    }
}

// They have left the cache before they are stored where they were loaded.
TYPED_TEST(EngineParts, LongRowsAreStreamed) {
  for (const std::int64_t misfit : {0, 3}) {
    const RowsCase c{4480, kWidth<TypeParam>, misfit, true, InPlace::some};
    expect_rows_transformed<TypeParam>(c, Direction::forward, 0.25);
  }
}

}  // namespace
}  // namespace weft
