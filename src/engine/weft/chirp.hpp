// Chirp: transforms of lengths with long prime factors. x convolved with a chirp, on a length that
// is easy to transform (Bluestein, IEEE Trans. Audio Electroacoust. 18, 1970, equation 5).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/weft/butterfly.hpp"

namespace weft {

template <class Real>
class ColumnTransform;

template <class Real>
class Chirp {
 public:
  /// Of length n, with sign -1.
  explicit Chirp(std::int64_t n);
  ~Chirp();
  Chirp(const Chirp&) = delete;
  Chirp& operator=(const Chirp&) = delete;

  /// Columns behind the n of the signal that run() needs.
  std::int64_t spare_columns() const noexcept;
  /// Transforms work[0], ..., work[n - 1].
  void run(Column<Real>* work) const;

 private:
  std::int64_t n_;
  std::unique_ptr<ColumnTransform<Real>> transform_;
  std::vector<Twiddle<Real>> factors_;  // exp(-pi i j^2 / n)
  std::vector<Twiddle<Real>> filter_;   // transform of the inverse factors, divided by its length
};

}  // namespace weft
