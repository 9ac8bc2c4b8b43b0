// Extents and Box: up to six 64-bit numbers, one per axis, and half-open index ranges made of two
// of them. Pure integer arithmetic on values; nothing here knows about processes or memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "weft/error.hpp"
#include "weft/export.hpp"

namespace weft {

/// The largest number of dimensions of an array.
inline constexpr int kMaxDimensions = 6;

/// One 64-bit number per axis: a shape, an index, strides. Axis 0 comes first.
/// Throws Error(invalid_argument) when made with more than kMaxDimensions numbers.
class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values) : Extents(values.begin(), values.end()) {}

  template <class Iterator>
  Extents(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(static_cast<std::int64_t>(*first));
  }

  /// `dimensions` numbers, all equal to `value`.
  static Extents filled(int dimensions, std::int64_t value) {
    Extents result;
    for (int axis = 0; axis < dimensions; ++axis) result.push_back(value);
    return result;
  }

  void push_back(std::int64_t value) {
    if (size_ == kMaxDimensions)
      throw Error(ErrorCode::invalid_argument,
                  "an array has 1 to 6 dimensions, got more than 6 extents");
    values_[static_cast<std::size_t>(size_++)] = value;
  }

  int size() const noexcept { return size_; }
  std::int64_t& operator[](int axis) noexcept { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t operator[](int axis) const noexcept {
    return values_[static_cast<std::size_t>(axis)];
  }
  const std::int64_t* begin() const noexcept { return values_.data(); }
  const std::int64_t* end() const noexcept { return values_.data() + size_; }
  std::int64_t* begin() noexcept { return values_.data(); }
  std::int64_t* end() noexcept { return values_.data() + size_; }

  /// The product of all numbers; 1 when there are none.
  std::int64_t product() const noexcept {
    std::int64_t result = 1;
    for (std::int64_t value : *this) result *= value;
    return result;
  }

  friend bool operator==(const Extents& a, const Extents& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<std::int64_t, kMaxDimensions> values_{};
  int size_ = 0;
};

/// The global size of an array, axis by axis.
using Shape = Extents;
/// A global or local index, axis by axis.
using Index = Extents;

/// "197x233x189".
WEFT_API std::string to_string(const Extents& extents);

/// A half-open range of global indices per axis: lower[a] <= i < upper[a].
struct Box {
  Index lower;
  Index upper;

  int dimensions() const noexcept { return lower.size(); }
  std::int64_t extent(int axis) const noexcept {
    return std::max<std::int64_t>(0, upper[axis] - lower[axis]);
  }
  Extents extents() const {
    Extents result;
    for (int axis = 0; axis < dimensions(); ++axis) result.push_back(extent(axis));
    return result;
  }
  /// The number of points; 0 for an empty box.
  std::int64_t volume() const { return extents().product(); }
  bool empty() const { return volume() == 0; }

  /// The box of the whole array.
  static Box whole(const Shape& shape) { return {Extents::filled(shape.size(), 0), shape}; }

  friend bool operator==(const Box& a, const Box& b) noexcept {
    return a.lower == b.lower && a.upper == b.upper;
  }
};

/// The points in both boxes; empty where they do not meet.
WEFT_API Box intersect(const Box& a, const Box& b);

/// "[0,64)x[0,128)x[64,128)".
WEFT_API std::string to_string(const Box& box);

/// Calls `body(index)` for each global index of the box, the last axis fastest.
template <class Body>
void for_each_index(const Box& box, Body&& body) {
  if (box.empty()) return;
  Index index = box.lower;
  for (;;) {
    body(static_cast<const Index&>(index));
    int axis = box.dimensions() - 1;
    for (; axis >= 0; --axis) {
      if (++index[axis] < box.upper[axis]) break;
      index[axis] = box.lower[axis];
    }
    if (axis < 0) return;
  }
}

}  // namespace weft
