// Sheet: as many signals as a pack has lanes, lying anywhere in memory, read into and written from
// columns. Signals next to each other (lanes) are read a pack at a time; signals that are
// contiguous (rows) in squares turned in registers; all others, and what is left over, one by one.
#pragma once

#include <algorithm>

#include "engine/pack.hpp"
#include "engine/weft/seam.hpp"

namespace weft {

/// Element j of signal i is at base[(j * stride + i * distance) * kParts], with kParts reals.
template <class Value>
struct Sheet {
  Value* base;  ///< a real type, const where it is only read
  std::int64_t stride;
  std::int64_t distance;
  std::int64_t signals;  ///< at most the width of a pack
};

template <class Real>
inline bool is_lanes(const Sheet<Real>& sheet, int width) {
  return sheet.distance == 1 && sheet.signals == width;
}
template <class Real>
inline bool is_rows(const Sheet<Real>& sheet, int width) {
  return sheet.stride == 1 && sheet.signals == width;
}

/// Stores of rows, a line of each at a time, past the cache and wherever they lie.
template <class Real>
class RowStream {
 public:
  /// Row i begins at base + i * pitch.
  RowStream(Real* base, std::int64_t pitch) : base_(base), to_(base), pitch_(pitch) {}

  [[gnu::always_inline]] void put(const Pack<Real>* packs) {
    const Seam<Real> seam{waits_[0], kept_[0], to_ == base_};
#pragma GCC unroll 16
    for (int i = 0; i < kWidth<Real>; ++i)
      stream_seamed(to_ + i * pitch_, Line<Real>{packs[i]}, seam, i);
    to_ += kLine<Real>;
  }

  void close() {
    if (to_ == base_) return;
    const bool follow = to_ == base_ + pitch_;  // the rows one another
    for (int i = 0; i < kWidth<Real>; ++i) {
      if (i == 0 || !follow) store_begin(base_ + i * pitch_, kept_[i]);
      const bool is_followed = follow && i + 1 < kWidth<Real>;
      store_end(to_ + i * pitch_, load_line(waits_[i]), is_followed ? kept_[i + 1] : nullptr);
    }
  }

 private:
  Real* base_;
  Real* to_;
  std::int64_t pitch_;
  Real waits_[kWidth<Real>][kLine<Real>];
  Real kept_[kWidth<Real>][kLine<Real>];
};

/// Calls put(j, column) for each of `points` complex elements of the signals.
template <class Real, class Put>
void read_complex(const Sheet<const Real>& sheet, std::int64_t points, Put put) {
  constexpr int kLanes = kWidth<Real>;
  std::int64_t j = 0;
  if (is_lanes(sheet, kLanes)) {
    for (; j < points; ++j) {
      const Real* from = sheet.base + 2 * j * sheet.stride;
      put(j, split<Real>(load_pack(from), load_pack(from + kLanes)));
    }
  } else if (is_rows(sheet, kLanes)) {
    for (; j + kLanes / 2 <= points; j += kLanes / 2) {
      Pack<Real> square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        square[i] = load_pack(sheet.base + 2 * (j + i * sheet.distance));
      transpose<Real>(square);
#pragma GCC unroll 16
      for (int p = 0; p < kLanes / 2; ++p)
        put(j + p, Column<Real>{square[2 * p], square[2 * p + 1]});
    }
  }
  for (; j < points; ++j) {
    Column<Real> column{};
    for (int i = 0; i < sheet.signals; ++i) {
      const Real* from = sheet.base + 2 * (j * sheet.stride + i * sheet.distance);
      column.re[i] = from[0];
      column.im[i] = from[1];
    }
    put(j, column);
  }
}

/// Runs `squares` with what stores a pack of each row, at element j; `parts` are reals per element.
/// Where that is a half of a line, rows do not go past the cache (256^3 r2c backward on 2 ranks of
/// a Zen 3, the pass that ends with rows: 45 -> 53 ms).
template <class Real, class Squares>
[[gnu::always_inline]] inline void store_squares(const Sheet<Real>& sheet, std::int64_t parts,
                                                 bool streaming, const std::int64_t& j,
                                                 Squares squares) {
  if constexpr (kHasSeams && kPacksOfLine == 1) {
    if (streaming) {
      RowStream<Real> stream(sheet.base, parts * sheet.distance);
      squares([&](const Pack<Real>* square) WEFT_INLINE { stream.put(square); });
      return stream.close();
    }
  }
  squares([&](const Pack<Real>* square) WEFT_INLINE {
#pragma GCC unroll 16
    for (int i = 0; i < kWidth<Real>; ++i)
      store_pack(sheet.base + parts * (j + i * sheet.distance), square[i]);
  });
}

/// Stores get(j) as element j of the signals, for each of `points` complex elements.
/// `streaming`: rows go past the cache, where the processor can.
template <class Real, class Get>
void write_complex(const Sheet<Real>& sheet, std::int64_t points, Get get, bool streaming = false) {
  constexpr int kLanes = kWidth<Real>;
  std::int64_t j = 0;
  if (is_lanes(sheet, kLanes)) {
    for (; j < points; ++j) {
      Real* to = sheet.base + 2 * j * sheet.stride;
      const auto [low, high] = joined<Real>(get(j));
      store_pack(to, low);
      store_pack(to + kLanes, high);
    }
  } else if (is_rows(sheet, kLanes)) {
    const auto squares = [&](auto store) WEFT_INLINE {
      for (; j + kLanes / 2 <= points; j += kLanes / 2) {
        Pack<Real> square[kLanes];
#pragma GCC unroll 16
        for (int p = 0; p < kLanes / 2; ++p) {
          const Column<Real> column = get(j + p);
          square[2 * p] = column.re;
          square[2 * p + 1] = column.im;
        }
        transpose<Real>(square);
        store(square);
      }
    };
    store_squares(sheet, 2, streaming, j, squares);
  }
  for (; j < points; ++j) {
    const Column<Real> column = get(j);
    for (int i = 0; i < sheet.signals; ++i) {
      Real* to = sheet.base + 2 * (j * sheet.stride + i * sheet.distance);
      to[0] = column.re[i];
      to[1] = column.im[i];
    }
  }
}

/// Calls put(j, pack) for each of `points` real elements of the signals.
template <class Real, class Put>
void read_real(const Sheet<const Real>& sheet, std::int64_t points, Put put) {
  constexpr int kLanes = kWidth<Real>;
  std::int64_t j = 0;
  if (is_lanes(sheet, kLanes)) {
    for (; j < points; ++j) put(j, load_pack(sheet.base + j * sheet.stride));
  } else if (is_rows(sheet, kLanes)) {
    for (; j + kLanes <= points; j += kLanes) {
      Pack<Real> square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) square[i] = load_pack(sheet.base + j + i * sheet.distance);
      transpose<Real>(square);
#pragma GCC unroll 16
      for (int p = 0; p < kLanes; ++p) put(j + p, square[p]);
    }
  }
  for (; j < points; ++j) {
    Pack<Real> pack{};
    for (int i = 0; i < sheet.signals; ++i)
      pack[i] = sheet.base[j * sheet.stride + i * sheet.distance];
    put(j, pack);
  }
}

/// Stores get(j) as element j of the signals, for each of `points` real elements.
template <class Real, class Get>
void write_real(const Sheet<Real>& sheet, std::int64_t points, Get get, bool streaming = false) {
  constexpr int kLanes = kWidth<Real>;
  std::int64_t j = 0;
  if (is_lanes(sheet, kLanes)) {
    for (; j < points; ++j) store_pack(sheet.base + j * sheet.stride, get(j));
  } else if (is_rows(sheet, kLanes)) {
    const auto squares = [&](auto store) WEFT_INLINE {
      for (; j + kLanes <= points; j += kLanes) {
        Pack<Real> square[kLanes];
#pragma GCC unroll 16
        for (int p = 0; p < kLanes; ++p) square[p] = get(j + p);
        transpose<Real>(square);
        store(square);
      }
    };
    store_squares(sheet, 1, streaming, j, squares);
  }
  for (; j < points; ++j) {
    const Pack<Real> pack = get(j);
    for (int i = 0; i < sheet.signals; ++i)
      sheet.base[j * sheet.stride + i * sheet.distance] = pack[i];
  }
}

}  // namespace weft
