// The convolution, forward and back on the longer length.
#include "engine/weft/chirp.hpp"

#include <algorithm>

#include "engine/weft/column_transform.hpp"
#include "engine/weft/radices.hpp"

namespace weft {
namespace {

template <class Real>
[[gnu::always_inline]] inline Column<Real> exchanged(const Column<Real>& value) {
  return {value.im, value.re};
}

}  // namespace

template <class Real>
Chirp<Real>::Chirp(std::int64_t n) : n_(n) {
  std::int64_t m = 2 * n_ - 1;
  while (largest_prime_factor(m) > 7) ++m;
  transform_ = std::make_unique<ColumnTransform<Real>>(m, Direction::forward);
  std::vector<Column<Real>> inverse(static_cast<std::size_t>(transform_->work_columns()));
  for (std::int64_t j = 0; j < n_; ++j) {
    const Twiddle<Real> factor = root<Real>(j * j, 2 * n_);
    factors_.push_back(factor);
    for (const std::int64_t at : {j, (m - j) % m}) {
      inverse[static_cast<std::size_t>(at)].re[0] = factor.re;
      inverse[static_cast<std::size_t>(at)].im[0] = -factor.im;
    }
  }
  transform_->run(inverse.data());
  for (std::int64_t k = 0; k < m; ++k) {
    const auto at = static_cast<std::size_t>(transform_->position(k));
    filter_.push_back(
        {inverse[at].re[0] / static_cast<Real>(m), inverse[at].im[0] / static_cast<Real>(m)});
  }
}

template <class Real>
Chirp<Real>::~Chirp() = default;

template <class Real>
std::int64_t Chirp<Real>::spare_columns() const noexcept {
  return 2 * transform_->work_columns();
}

template <class Real>
void Chirp<Real>::run(Column<Real>* work) const {
  Column<Real>* const first = work + n_;
  Column<Real>* const second = first + transform_->work_columns();
  for (std::int64_t j = 0; j < n_; ++j) first[j] = work[j] * factors_[static_cast<std::size_t>(j)];
  std::fill(first + n_, first + transform_->n(), Column<Real>{});
  transform_->run(first);
  // Parts change places, so that the next transform is the inverse one.
  for (std::int64_t k = 0; k < transform_->n(); ++k)
    second[k] = exchanged(first[transform_->position(k)] * filter_[static_cast<std::size_t>(k)]);
  transform_->run(second);
  for (std::int64_t k = 0; k < n_; ++k)
    work[k] = exchanged(second[transform_->position(k)]) * factors_[static_cast<std::size_t>(k)];
}

template class Chirp<double>;
template class Chirp<float>;

}  // namespace weft
