// RowBatch and ShortRows, the parts of the engine "weft" that do rows one by one, against direct
// sums in long double: every kind, lengths in whole squares and others, one of them with a large
// prime factor, odd numbers of rows, any alignment, with a factor, stored past the cache or not, in
// pieces or whole.
#include "engine/weft/row_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/aligned_memory.hpp"
#include "engine/weft/short_rows.hpp"
#include "oracle.hpp"

namespace weft {
namespace {

using test::Value;

struct Case {
  BatchKind kind;
  Direction direction;
  std::int64_t n;
  std::int64_t count;
  std::int64_t misfit;  ///< reals by which rows miss a cache line
  Storing storing;
  std::int64_t pieces = 1;  ///< in which the rows lie on both sides
};

std::string to_string(const Case& c) {
  const char* kinds[] = {"c2c", "r2c", "c2r"};
  return std::string(kinds[static_cast<int>(c.kind)]) +
         (c.direction == Direction::forward ? " forward" : " backward") +
         " n=" + std::to_string(c.n) + " count=" + std::to_string(c.count) +
         " misfit=" + std::to_string(c.misfit) + (c.storing.streaming ? " streaming" : "") +
         " pieces=" + std::to_string(c.pieces);
}

/// Row `t` as the definition takes it: for c2r the whole signal, of which a batch reads a half.
test::Field signal(const Case& c, std::int64_t t) {
  test::Field field(Shape{c.n});
  for (std::int64_t j = 0; j < c.n; ++j) {
    const bool is_mirrored = c.kind == BatchKind::c2r && 2 * j > c.n;
    const std::int64_t from = is_mirrored ? c.n - j : j;
    const bool is_real =
        c.kind == BatchKind::r2c || (c.kind == BatchKind::c2r && (from == 0 || 2 * from == c.n));
    const long double im = is_real ? 0 : test::sample({from, t}, 0, 1);
    field({j}) = {test::sample({from, t}, 0, 0), is_mirrored ? -im : im};
  }
  return field;
}

/// What becomes of it, by the definition. Many cases have the same rows, so it is remembered.
const test::Field& spectrum(const Case& c, std::int64_t t) {
  static std::map<std::tuple<BatchKind, Direction, std::int64_t, std::int64_t>, test::Field> known;
  const auto key = std::tuple(c.kind, c.direction, c.n, t);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const int sign = c.direction == Direction::forward ? -1 : 1;
  const std::int64_t points = c.kind == BatchKind::r2c ? c.n / 2 + 1 : c.n;
  return known.emplace(key, test::direct_sum(signal(c, t), 0, sign, points)).first->second;
}

/// One side of a batch: rows of `points`, with something between them that must stay as it is.
template <class Real>
class Side {
 public:
  Side(const Case& c, BatchKind half, BatchKind real)
      : points_(c.kind == half ? c.n / 2 + 1 : c.n),
        parts_(c.kind == real ? 1 : 2),
        distance_(points_ + 3),
        misfit_(c.misfit),
        memory_(static_cast<std::size_t>(c.count * distance_ * parts_ + 16) * sizeof(Real)) {
    std::fill_n(reals(), size(), kCanary);
  }
  std::int64_t points() const { return points_; }
  int parts() const { return parts_; }
  std::int64_t distance() const { return distance_; }
  Real* at(std::int64_t t, std::int64_t j) {
    return reals() + misfit_ + (t * distance_ + j) * parts_;
  }
  /// All points, in so many pieces.
  std::vector<Piece> pieces(std::int64_t count) {
    std::vector<Piece> all;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = i * points_ / count;
      const std::int64_t end = (i + 1) * points_ / count;
      all.push_back({reinterpret_cast<std::byte*>(at(0, begin)), begin, end - begin, 1, distance_});
    }
    return all;
  }
  std::int64_t untouched() { return std::count(reals(), reals() + size(), kCanary); }
  std::int64_t size() const { return static_cast<std::int64_t>(memory_.bytes() / sizeof(Real)); }

 private:
  static constexpr Real kCanary = -77.5;
  Real* reals() { return reinterpret_cast<Real*>(memory_.data()); }

  std::int64_t points_;
  int parts_;
  std::int64_t distance_;
  std::int64_t misfit_;
  AlignedMemory memory_;
};

template <template <class> class Batch, class Real>
void expect_transformed(const Case& c) {
  SCOPED_TRACE(to_string(c));
  Side<Real> in(c, BatchKind::c2r, BatchKind::r2c);
  Side<Real> out(c, BatchKind::r2c, BatchKind::c2r);
  for (std::int64_t t = 0; t < c.count; ++t) {
    const test::Field from = signal(c, t);
    for (std::int64_t j = 0; j < in.points(); ++j) {
      in.at(t, j)[0] = static_cast<Real>(from({j}).real());
      if (in.parts() == 2) in.at(t, j)[1] = static_cast<Real>(from({j}).imag());
    }
    // They count as zero.
    if (c.kind == BatchKind::c2r)
      in.at(t, 0)[1] = in.at(t, c.n / 2)[1] = std::numeric_limits<Real>::quiet_NaN();
  }
  const Batch<Real> batch({.kind = c.kind,
                           .direction = c.direction,
                           .precision = sizeof(Real) == 4 ? Precision::single : Precision::double_,
                           .n = c.n,
                           .count = c.count,
                           .in_distance = in.distance(),
                           .out_distance = out.distance()});
  const AlignedMemory scratch(static_cast<std::size_t>(batch.scratch_bytes()));
  const std::vector<Piece> from = in.pieces(c.pieces);
  const std::vector<Piece> to = out.pieces(c.pieces);
  // Fewer rows than are transformed, or more, wherever they are, for batches of an odd number.
  std::vector<std::byte*> rows(static_cast<std::size_t>(c.count % 2 == 1 ? c.count / 2 + 3 : 0),
                               scratch.data());
  batch.run(from, to, {rows, 100}, c.storing, scratch.data());
  const auto points = static_cast<long double>(c.n);
  const long double allowed =
      6 * std::sqrt(points) * (4 + std::log2(points)) * std::numeric_limits<Real>::epsilon();
  for (std::int64_t t = 0; t < c.count; ++t) {
    const test::Field& wanted = spectrum(c, t);
    long double worst = 0;
    for (std::int64_t k = 0; k < out.points(); ++k) {
      const Value got(out.at(t, k)[0], out.parts() == 2 ? out.at(t, k)[1] : 0);
      const Value want = static_cast<long double>(c.storing.factor) * wanted({k});
      worst = std::max(worst, std::abs(got - want));
    }
    EXPECT_LE(worst, allowed) << "row " << t;
  }
  EXPECT_EQ(out.untouched(), out.size() - c.count * out.points() * out.parts());
}

constexpr struct {
  BatchKind kind;
  Direction direction;
} kKinds[] = {{BatchKind::c2c, Direction::forward},
              {BatchKind::c2c, Direction::backward},
              {BatchKind::r2c, Direction::forward},
              {BatchKind::c2r, Direction::backward}};

template <class Real>
void expect_all_transformed() {
  constexpr std::int64_t kParts = RowTransform<Real>::kParts;
  for (const auto& [kind, direction] : kKinds)
    for (const std::int64_t columns :
         {kParts, kParts + 1, 2 * kParts, 4 * kParts, 6 * kParts, 8 * kParts, 3 * kParts - 1,
          5 * kParts, 9 * kParts, 67 * kParts}) {
      if (kind == BatchKind::r2c && columns % kParts != 0) continue;
      const std::int64_t n = columns * kParts * (kind == BatchKind::c2c ? 1 : 2);
      for (const std::int64_t count : {1, 2, 3})
        for (const std::int64_t misfit : {0, 1, 2, 6})
          for (const Storing& storing : {Storing{1, false}, Storing{0.375, true}}) {
            if (columns > 5 * kParts && (count < 3 || misfit != 2)) continue;
            expect_transformed<RowBatch, Real>(
                {kind, direction, n, count, misfit, storing, storing.streaming ? 2 : 1});
          }
    }
}

TEST(RowBatch, AgreesWithDirectSumsInDoublePrecision) { expect_all_transformed<double>(); }
TEST(RowBatch, AgreesWithDirectSumsInSinglePrecision) { expect_all_transformed<float>(); }

/// Every length of which there is a butterfly; on many processors there is none.
template <class Real>
void expect_all_short_transformed() {
  for (const auto& [kind, direction] : kKinds)
    for (std::int64_t n = 8; n <= 512; n += 8)
      for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 16})
        for (const std::int64_t misfit : {0, 1, 2})
          for (const Storing& storing :
               {Storing{1, false}, Storing{1, true}, Storing{0.375, false}, Storing{0.375, true}}) {
            if (!ShortRows<Real>::takes({.kind = kind, .n = n})) continue;
            expect_transformed<ShortRows, Real>(
                {kind, direction, n, count, misfit, storing, 1 + count % 3});
          }
}

TEST(ShortRows, AgreeWithDirectSumsInDoublePrecision) { expect_all_short_transformed<double>(); }
TEST(ShortRows, AgreeWithDirectSumsInSinglePrecision) { expect_all_short_transformed<float>(); }

TEST(RowBatch, TakesWhatIsLongEnough) {
  EXPECT_TRUE(RowBatch<double>::takes({.n = 2048}));
  EXPECT_FALSE(RowBatch<double>::takes({.n = 2048, .out_stride = 3}));
  EXPECT_FALSE(RowBatch<double>::takes({.n = 72}));
  EXPECT_FALSE(RowBatch<double>::takes({.n = 2049}));
  EXPECT_TRUE(RowBatch<double>::takes({.n = 2000}));
  EXPECT_FALSE(RowBatch<float>::takes({.kind = BatchKind::r2c, .n = 384}));
  EXPECT_FALSE(RowBatch<float>::takes({.kind = BatchKind::r2c, .n = 30000}));
  EXPECT_TRUE(RowBatch<float>::takes({.kind = BatchKind::c2r, .n = 16384}));
  EXPECT_FALSE(RowBatch<double>::takes({.kind = BatchKind::r2c, .n = 256}));
  EXPECT_TRUE(RowBatch<double>::takes({.kind = BatchKind::r2c, .n = 256, .together = false}));
}

}  // namespace
}  // namespace weft
