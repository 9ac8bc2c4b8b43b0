// Batches whose rows lie in pieces (Batch::run_pieces), against the same batch in one piece: every
// kind, cuts anywhere, any alignment, stored past the cache or not, with a factor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/aligned_memory.hpp"
#include "engine/engine.hpp"

namespace weft {
namespace {

constexpr double kCanary = -77.5;

/// How far apart rows lie in pieces: equally in all, by whole lines of the cache; by whole lines,
/// but not equally; or anyhow, with another alignment in each row.
enum class Apart { alike, by_lines, anyhow };

struct Case {
  BatchKind kind;
  std::int64_t n;
  std::int64_t count;
  std::int64_t pieces_in;
  std::int64_t pieces_out;
  std::int64_t misfit;  ///< reals by which rows miss a cache line
  Storing storing;
  Apart apart;
};

std::string to_string(const Case& c) {
  const char* kinds[] = {"c2c", "r2c", "c2r"};
  return std::string(kinds[static_cast<int>(c.kind)]) + " n=" + std::to_string(c.n) +
         " count=" + std::to_string(c.count) + " pieces=" + std::to_string(c.pieces_in) + "->" +
         std::to_string(c.pieces_out) + " misfit=" + std::to_string(c.misfit) +
         (c.storing.streaming ? " streaming" : "") +
         (c.apart == Apart::alike      ? " alike"
          : c.apart == Apart::by_lines ? " by lines"
                                       : " anyhow");
}

/// One side of a batch of rows, each cut into pieces that lie in memory of their own.
template <class Real>
class Side {
 public:
  Side(std::int64_t points, int parts, std::int64_t pieces, const Case& c)
      : points_(points), parts_(parts), count_(c.count) {
    const std::int64_t longest = (points + pieces - 1) / pieces;
    for (std::int64_t p = 0; p < pieces; ++p) {
      const std::int64_t begin = points * p / pieces;
      const std::int64_t length = points * (p + 1) / pieces - begin;
      const std::int64_t distance =
          c.apart == Apart::anyhow
              ? length + 5 + p
              : longest / 16 * 16 + 32 + (c.apart == Apart::alike ? 0 : 16 * p);
      memory_.emplace_back(static_cast<std::size_t>((count_ * distance + 16) * parts) *
                           sizeof(Real));
      auto* reals = reinterpret_cast<Real*>(memory_.back().data());
      std::fill_n(reals, memory_.back().bytes() / sizeof(Real), static_cast<Real>(kCanary));
      pieces_.push_back(
          {reinterpret_cast<std::byte*>(reals + c.misfit), begin, length, 1, distance});
    }
  }

  Pieces pieces() const { return pieces_; }
  std::int64_t points() const { return points_; }

  Real* at(std::int64_t i, std::int64_t j) {
    for (const Piece& piece : pieces_)
      if (j >= piece.begin && j < piece.begin + piece.count)
        return reinterpret_cast<Real*>(piece.base) +
               (i * piece.distance + j - piece.begin) * parts_;
    return nullptr;
  }

  /// Whether all memory but that of the elements is as it was.
  bool canaries_live() {
    std::size_t untouched = 0;
    std::size_t all = 0;
    for (const AlignedMemory& memory : memory_) {
      const auto* reals = reinterpret_cast<const Real*>(memory.data());
      const std::size_t size = memory.bytes() / sizeof(Real);
      all += size;
      untouched +=
          static_cast<std::size_t>(std::count(reals, reals + size, static_cast<Real>(kCanary)));
    }
    return untouched + static_cast<std::size_t>(count_ * points_ * parts_) == all;
  }

 private:
  std::int64_t points_;
  int parts_;
  std::int64_t count_;
  std::vector<AlignedMemory> memory_;
  std::vector<Piece> pieces_;
};

template <class Real>
void expect_same_as_in_one_piece(const Case& c) {
  SCOPED_TRACE(to_string(c));
  const bool real_in = c.kind == BatchKind::r2c;
  const bool real_out = c.kind == BatchKind::c2r;
  const std::int64_t half = c.n / 2 + 1;
  const std::int64_t points_in = real_out ? half : c.n;
  const std::int64_t points_out = real_in ? half : c.n;
  const BatchSpec spec{.kind = c.kind,
                       .direction = real_out ? Direction::backward : Direction::forward,
                       .precision = sizeof(Real) == 4 ? Precision::single : Precision::double_,
                       .n = c.n,
                       .count = c.count,
                       .in_distance = points_in + 1,
                       .out_distance = points_out + 1};
  Side<Real> in(points_in, real_in ? 1 : 2, c.pieces_in, c);
  Side<Real> out(points_out, real_out ? 1 : 2, c.pieces_out, c);
  std::vector<Real> whole_in(static_cast<std::size_t>(2 * c.count * (points_in + 1)));
  std::vector<Real> whole_out(static_cast<std::size_t>(2 * c.count * (points_out + 1)));
  const int parts_in = real_in ? 1 : 2;
  const int parts_out = real_out ? 1 : 2;
  for (std::int64_t i = 0; i < c.count; ++i)
    for (std::int64_t j = 0; j < points_in; ++j)
      for (int part = 0; part < parts_in; ++part) {
        const auto value =
            static_cast<Real>((i * 131 + j * 37 + part * 17 + j * j * 11) % 251) / 64;
        in.at(i, j)[part] = value;
        whole_in[static_cast<std::size_t>((i * (points_in + 1) + j) * parts_in + part)] = value;
      }
  const Engine& engine = engine_named("weft");
  ASSERT_TRUE(engine.takes_pieces());
  const auto batch = engine.make(spec);
  const AlignedMemory scratch(static_cast<std::size_t>(batch->scratch_bytes(true)));
  batch->run(whole_in.data(), whole_out.data(), scratch.data());
  const double tolerance = 8 * std::numeric_limits<Real>::epsilon() * static_cast<double>(c.n);
  // How long rows are stored is tried: another way in the second call.
  for (int call = 0; call < (c.storing.streaming && c.n > 300 ? 2 : 1); ++call) {
    batch->run_pieces(in.pieces(), out.pieces(), {}, c.storing, scratch.data());
    EXPECT_TRUE(in.canaries_live() && out.canaries_live());
    for (std::int64_t i = 0; i < c.count; ++i)
      for (std::int64_t j = 0; j < points_out; ++j)
        for (int part = 0; part < parts_out; ++part) {
          ASSERT_NEAR(static_cast<double>(out.at(i, j)[part]),
                      c.storing.factor * static_cast<double>(whole_out[static_cast<std::size_t>(
                                             (i * (points_out + 1) + j) * parts_out + part)]),
                      tolerance)
              << "call " << call << ", transform " << i << ", point " << j << ", part " << part;
          out.at(i, j)[part] = 0;
        }
  }
}

constexpr struct {
  std::int64_t in;
  std::int64_t out;
} kPieces[] = {{1, 1}, {2, 2}, {3, 1}, {1, 3}, {3, 3}, {9, 9}};  // some of them empty

TEST(Pieces, GiveWhatOnePieceGives) {
  for (const BatchKind kind : {BatchKind::c2c, BatchKind::r2c, BatchKind::c2r})
    for (const std::int64_t n : {1, 2, 7, 16, 30, 64, 97, 300, 512, 8192})
      for (const std::int64_t count : {1, 7, 16, 35}) {
        if (n > 300 && count > 7) continue;
        for (const auto& [pieces_in, pieces_out] : kPieces)
          for (const std::int64_t misfit : {0, 1, 2, 6})
            for (const Storing& storing : {Storing{1, false}, Storing{0.375, true}})
              for (const Apart apart : {Apart::alike, Apart::by_lines, Apart::anyhow}) {
                const Case c{kind, n, count, pieces_in, pieces_out, misfit, storing, apart};
                expect_same_as_in_one_piece<double>(c);
                expect_same_as_in_one_piece<float>(c);
                if (HasFatalFailure()) return;
              }
      }
}

}  // namespace
}  // namespace weft
