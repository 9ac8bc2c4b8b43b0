// Pseudo-random numbers by hashing: the value of a point depends on its global index alone, so any
// rank can make any part of the same field, and a problem can be repeated from two small numbers.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "weft/extents.hpp"

namespace weft::command {

/// SplitMix64's output function (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, OOPSLA 2014).
inline std::uint64_t hash(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, typename RealOf<T>::type>;

/// A field of numbers (real and imaginary parts) uniform in [-1, 1).
class RandomField {
 public:
  RandomField(const Shape& shape, std::uint64_t seed) : shape_(shape), key_(hash(seed)) {}

  /// The value number `linear` (row-major) of the field, rounded to T.
  template <class T>
  T at(std::int64_t linear) const noexcept {
    using Real = typename RealOf<T>::type;
    const std::uint64_t bits = hash(key_ + static_cast<std::uint64_t>(linear));
    const auto real = static_cast<Real>(symmetric(bits));
    if constexpr (kIsComplex<T>)
      return T(real, static_cast<Real>(symmetric(bits << 32)));
    else
      return real;
  }

  template <class T>
  T at(const Index& index) const noexcept {
    return at<T>(linear(index));
  }

  std::int64_t linear(const Index& index) const noexcept {
    std::int64_t result = 0;
    for (int axis = 0; axis < shape_.size(); ++axis) result = result * shape_[axis] + index[axis];
    return result;
  }

 private:
  /// The upper 32 bits as a number in [-1, 1), cut to 24 bits so that a float holds it exactly.
  static double symmetric(std::uint64_t bits) noexcept {
    return static_cast<double>(static_cast<std::int64_t>(bits >> 40) - (1 << 23)) / (1 << 23);
  }

  Shape shape_;
  std::uint64_t key_;
};

/// A stream of choices for making random problems: the same on every rank and every machine.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(hash(seed)) {}

  std::uint64_t next() noexcept { return hash(state_++); }
  /// Uniform in [lower, upper].
  std::int64_t between(std::int64_t lower, std::int64_t upper) noexcept {
    return lower +
           static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(upper - lower + 1));
  }
  bool chance(int percent) noexcept { return between(1, 100) <= percent; }
  template <class Container>
  const typename Container::value_type& pick(const Container& from) noexcept {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

 private:
  std::uint64_t state_;
};

/// Calls `body(first_index)` for each row of a box along its last axis.
template <class Body>
void for_each_row(const Box& box, Body&& body) {
  if (box.empty()) return;
  Box starts = box;
  const int last = box.dimensions() - 1;
  starts.upper[last] = starts.lower[last] + 1;
  for_each_index(starts, body);
}

}  // namespace weft::command
