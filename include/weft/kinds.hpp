// What is transformed and how: kinds of transforms, normalisations, precisions and element types.
#pragma once

#include <complex>
#include <cstdint>

namespace weft {

/// What happens along one axis in the forward direction. Backward is its inverse.
enum class Kind : int {
  c2c = 0,  ///< complex to complex: X_k = sum_j x_j exp(-2 pi i j k / n)
  r2c =
      1,  ///< the same of real input; only k = 0 ... n/2 are kept, so an axis of n becomes n/2 + 1
  none = 2,  ///< left alone
};

/// Where the factor 1/N goes, N being the product of the transformed extents (names are NumPy's).
enum class Normalization : int {
  backward = 0,  ///< forward is not scaled, backward by 1/N
  forward = 1,   ///< forward by 1/N, backward not
  ortho = 2,     ///< both by 1/sqrt(N)
  none = 3,      ///< neither: backward(forward(x)) = N x
};

/// "c2c", "r2c" or "none".
constexpr const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::c2c:
      return "c2c";
    case Kind::r2c:
      return "r2c";
    case Kind::none:
      return "none";
  }
  return "unknown";
}

/// "backward", "forward", "ortho" or "none".
constexpr const char* name_of(Normalization normalization) noexcept {
  switch (normalization) {
    case Normalization::backward:
      return "backward";
    case Normalization::forward:
      return "forward";
    case Normalization::ortho:
      return "ortho";
    case Normalization::none:
      return "none";
  }
  return "unknown";
}

enum class Precision : int { single = 0, double_ = 1 };
enum class Direction : int { forward = 0, backward = 1 };

/// What an array holds.
struct Element {
  Precision precision = Precision::double_;
  bool complex = true;

  std::int64_t bytes() const noexcept {
    return (precision == Precision::double_ ? 8 : 4) * (complex ? 2 : 1);
  }
  friend bool operator==(const Element&, const Element&) = default;
};

template <class T>
struct ElementOf;
template <>
struct ElementOf<float> {
  static constexpr Element value{Precision::single, false};
};
template <>
struct ElementOf<double> {
  static constexpr Element value{Precision::double_, false};
};
template <>
struct ElementOf<std::complex<float>> {
  static constexpr Element value{Precision::single, true};
};
template <>
struct ElementOf<std::complex<double>> {
  static constexpr Element value{Precision::double_, true};
};

/// The output element that belongs to an input element: complex of the same precision.
template <class T>
struct ComplexOf {
  using type = std::complex<T>;
};
template <class T>
struct ComplexOf<std::complex<T>> {
  using type = std::complex<T>;
};

}  // namespace weft
