// The strided 2-D copy. Runs that are contiguous on both sides are moved by vector stores, past the
// cache if asked; when the two sides are contiguous along different axes, small squares are
// transposed; anything else goes one by one.
#include "plan/kernels.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <utility>

#include "engine/line.hpp"

namespace weft {

namespace {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};

// Contiguous runs are handled as reals, so that the factor multiplies a plain vector.
template <class Real, bool kScaled>
inline void copy_cached(Real* target, const Real* source, std::int64_t count, Real factor) {
  if constexpr (kScaled) {
    for (std::int64_t i = 0; i < count; ++i) target[i] = factor * source[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) target[i] = source[i];
  }
}

template <class Real, bool kScaled>
inline void copy_streaming(Real* target, const Real* source, std::int64_t count, Real factor) {
  const std::int64_t head = std::min(count, (kLine<Real> - past_line(target)) % kLine<Real>);
  copy_cached<Real, kScaled>(target, source, head, factor);
  std::int64_t i = head;
  for (; i + kLine<Real> <= count; i += kLine<Real>)
    for (std::int64_t lane = i; lane < i + kLine<Real>; lane += kWidth<Real>) {
      const Pack<Real> pack = load_pack(source + lane);
      stream_pack<Real>(target + lane, kScaled ? pack * factor : pack);
    }
  copy_cached<Real, kScaled>(target + i, source + i, count - i, factor);
}

template <class T, bool kScaled, StoreMode kMode>
void copy_runs(T* target, const T* source, const CopyJob& job, typename RealOf<T>::type factor) {
  using Real = typename RealOf<T>::type;
  constexpr std::int64_t kReals = sizeof(T) / sizeof(Real);
  for (std::int64_t row = 0; row < job.rows; ++row) {
    auto* to = reinterpret_cast<Real*>(target + row * job.target_row);
    const auto* from = reinterpret_cast<const Real*>(source + row * job.source_row);
    if constexpr (kMode == StoreMode::streaming)
      copy_streaming<Real, kScaled>(to, from, job.columns * kReals, factor);
    else
      copy_cached<Real, kScaled>(to, from, job.columns * kReals, factor);
  }
}

template <class T, bool kScaled>
inline T scaled(const T& value, typename RealOf<T>::type factor) {
  if constexpr (kScaled)
    return value * factor;
  else
    return value;
}

// Squares of one or two cache lines a side, so that both sides are touched a line at a time.
template <class T, bool kScaled>
void copy_squares(T* target, const T* source, const CopyJob& job, typename RealOf<T>::type factor) {
  constexpr std::int64_t kSide =
      std::max<std::int64_t>(8, 64 / static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t row = 0; row < job.rows; row += kSide) {
    const std::int64_t row_end = std::min(row + kSide, job.rows);
    for (std::int64_t column = 0; column < job.columns; column += kSide) {
      const std::int64_t column_end = std::min(column + kSide, job.columns);
      for (std::int64_t r = row; r < row_end; ++r)
        for (std::int64_t c = column; c < column_end; ++c)
          target[r * job.target_row + c * job.target_column] =
              scaled<T, kScaled>(source[r * job.source_row + c * job.source_column], factor);
    }
  }
}

template <class T, bool kScaled, StoreMode kMode>
void copy(const CopyJob& given, double factor) {
  CopyJob job = given;
  if (job.target_row == 1 &&
      job.target_column != 1) {  // rows and columns are only names: let the target's be contiguous
    std::swap(job.rows, job.columns);
    std::swap(job.target_row, job.target_column);
    std::swap(job.source_row, job.source_column);
  }
  auto* target = reinterpret_cast<T*>(job.target);
  const auto* source = reinterpret_cast<const T*>(job.source);
  const auto real_factor = static_cast<typename RealOf<T>::type>(factor);
  if (job.target_column == 1 && job.source_column == 1)
    copy_runs<T, kScaled, kMode>(target, source, job, real_factor);
  else
    copy_squares<T, kScaled>(target, source, job, real_factor);
}

template <class T>
CopyFunction select(bool scaled, StoreMode mode) {
  if (mode == StoreMode::streaming)
    return scaled ? copy<T, true, StoreMode::streaming> : copy<T, false, StoreMode::streaming>;
  return scaled ? copy<T, true, StoreMode::cached> : copy<T, false, StoreMode::cached>;
}

}  // namespace

CopyFunction copy_function(Element element, bool scaled, StoreMode mode) {
  if (element.precision == Precision::double_)
    return element.complex ? select<std::complex<double>>(scaled, mode)
                           : select<double>(scaled, mode);
  return element.complex ? select<std::complex<float>>(scaled, mode) : select<float>(scaled, mode);
}

void finish_streaming() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace weft
