// ShortRows, of complex numbers.
#include "engine/weft/rows_ahead.hpp"
#include "engine/weft/short_rows.hpp"

namespace weft {

template <class Real>
template <int kColumns, Direction kDirection>
void ShortRows<Real>::run_c2c(const Job& job) const {
  for (std::int64_t row = 0; row < job.count; row += kRows) {
    const Rows from = rows_of(job.in, job.count, row, 2);
    const Rows to = rows_of(job.out, job.count, row, 2);
    const RowsAhead<Real, kRows, 2 * kParts * kColumns, 2 * kColumns> ahead(
        from.first, 2 * job.in.distance, job.ahead, row, job.count);
    transform_.template run_short<kColumns, kDirection>(
        [&](auto j) WEFT_INLINE {
          ahead.template step<j>();
          return load_complex(from, kParts * j);
        },
        [&](auto k, const Column<Real>& x) WEFT_INLINE {
          ahead.template step<kColumns + k / kParts>();
          store_complex(to, k, x);
        });
  }
}

template <class Real>
void ShortRows<Real>::run_complex(const Job& job) const {
  with_columns(transform_.columns(), [&](auto columns) {
    direction_ == Direction::forward ? run_c2c<columns, Direction::forward>(job)
                                     : run_c2c<columns, Direction::backward>(job);
  });
}

template void ShortRows<double>::run_complex(const Job& job) const;
template void ShortRows<float>::run_complex(const Job& job) const;

}  // namespace weft
