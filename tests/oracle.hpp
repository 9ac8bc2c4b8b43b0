// What transforms are compared with: direct sums in long double, axis by axis, over a whole array
// on one process; O(N * sum of the extents). Nothing here comes from an FFT library or from Weft's
// own transforms.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "weft/extents.hpp"
#include "weft/kinds.hpp"

namespace weft::test {

using Value = std::complex<long double>;

/// A whole array, the last axis fastest.
struct Field {
  Shape shape;
  std::vector<Value> values;

  explicit Field(const Shape& size)
      : shape(size), values(static_cast<std::size_t>(size.product())) {}

  std::size_t position(const Index& index) const {
    std::int64_t result = 0;
    for (int axis = 0; axis < shape.size(); ++axis) result = result * shape[axis] + index[axis];
    return static_cast<std::size_t>(result);
  }
  const Value& operator()(const Index& index) const { return values[position(index)]; }
  Value& operator()(const Index& index) { return values[position(index)]; }

  long double rms() const {
    long double sum = 0;
    for (const Value& value : values) sum += std::norm(value);
    return std::sqrt(sum / static_cast<long double>(values.size()));
  }
};

/// Scrambles the bits of a number (the finalizer of splitmix64).
inline std::uint64_t scrambled(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

/// Between -2 and 2, with few bits: the same in both precisions. Differs with index, field and
/// part.
inline long double sample(const Index& index, int field, int part) {
  auto state = static_cast<std::uint64_t>(2 * field + part);
  for (std::int64_t i : index) state = scrambled(state ^ static_cast<std::uint64_t>(i));
  return (static_cast<long double>(scrambled(state) % 257) - 128) / 64;
}

/// A field of samples; real ones have no imaginary part.
inline Field sampled(const Shape& shape, int field, bool complex) {
  Field result(shape);
  for_each_index(Box::whole(shape), [&](const Index& index) {
    result(index) = {sample(index, field, 0), complex ? sample(index, field, 1) : 0};
  });
  return result;
}

/// exp(sign * 2 pi i p / n) for p = 0 ... n-1.
inline std::vector<Value> roots_of_unity(std::int64_t n, int sign) {
  std::vector<Value> roots;
  for (std::int64_t p = 0; p < n; ++p) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(p) /
                              static_cast<long double>(n);
    roots.emplace_back(std::cos(angle), static_cast<long double>(sign) * std::sin(angle));
  }
  return roots;
}

/// X_k = sum_j x_j exp(sign * 2 pi i j k / n) along one axis, for k < `outputs`. Not scaled.
inline Field direct_sum(const Field& in, int axis, int sign, std::int64_t outputs) {
  const std::int64_t n = in.shape[axis];
  const std::vector<Value> roots = roots_of_unity(n, sign);
  Shape shape = in.shape;
  shape[axis] = outputs;
  Field out(shape);
  std::size_t stride = 1;
  for (int inner = axis + 1; inner < shape.size(); ++inner)
    stride *= static_cast<std::size_t>(shape[inner]);
  for_each_index(Box::whole(shape), [&](const Index& index) {
    const std::int64_t k = index[axis];
    Index first = index;
    first[axis] = 0;
    std::size_t at = in.position(first);
    std::int64_t power = 0;  // j k modulo n
    Value sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const Value& root = roots[static_cast<std::size_t>(power)];
      const Value& x = in.values[at];
      sum += Value(x.real() * root.real() - x.imag() * root.imag(),
                   x.real() * root.imag() + x.imag() * root.real());
      at += stride;
      power += k;
      if (power >= n) power -= n;
    }
    out(index) = sum;
  });
  return out;
}

inline std::int64_t output_extent(Kind kind, std::int64_t n) {
  return kind == Kind::r2c ? n / 2 + 1 : n;
}

inline Shape output_shape(const Shape& shape, const std::vector<Kind>& kinds) {
  Shape result = shape;
  for (int axis = 0; axis < shape.size(); ++axis)
    result[axis] = output_extent(kinds[static_cast<std::size_t>(axis)], shape[axis]);
  return result;
}

/// The forward transform of a whole array, not scaled.
inline Field direct_transform(Field field, const std::vector<Kind>& kinds) {
  for (int axis = 0; axis < field.shape.size(); ++axis) {
    const Kind kind = kinds[static_cast<std::size_t>(axis)];
    if (kind == Kind::none) continue;
    field = direct_sum(field, axis, -1, output_extent(kind, field.shape[axis]));
  }
  return field;
}

/// The product of the transformed extents: the N of Normalization.
inline long double transformed_points(const Shape& shape, const std::vector<Kind>& kinds) {
  long double points = 1;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (kinds[static_cast<std::size_t>(axis)] != Kind::none)
      points *= static_cast<long double>(shape[axis]);
  return points;
}

inline long double scale_of(Normalization normalization, Direction direction, long double points) {
  const bool forward = direction == Direction::forward;
  switch (normalization) {
    case Normalization::backward:
      return forward ? 1 : 1 / points;
    case Normalization::forward:
      return forward ? 1 / points : 1;
    case Normalization::ortho:
      return 1 / std::sqrt(points);
    case Normalization::none:
      break;
  }
  return 1;
}

/// The largest error that a correct transform of `points` points makes, relative to the rms of its
/// result. Rounding grows as sqrt(log N) in the rms; the factor leaves room for the maximum over
/// all points and for prime lengths.
inline long double tolerance(Precision precision, long double points) {
  const long double epsilon = precision == Precision::double_
                                  ? std::numeric_limits<double>::epsilon()
                                  : std::numeric_limits<float>::epsilon();
  return 8 * epsilon * (2 + std::log2(points));
}

}  // namespace weft::test
