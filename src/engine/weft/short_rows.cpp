// Rows are loaded and stored where they lie; those in pieces, or past the cache, by way of
// WholeRows.
#include "engine/weft/short_rows.hpp"

namespace weft {

template <class Real>
bool ShortRows<Real>::takes(const BatchSpec& spec) {
  if (spec.in_stride != 1 || spec.out_stride != 1 || spec.n % kParts != 0) return false;
  const std::int64_t columns = spec.n / kParts;
  return (spec.kind == BatchKind::c2c || columns % kParts == 0) &&
         with_columns(columns, [](auto) {});
}

template <class Real>
ShortRows<Real>::ShortRows(const BatchSpec& spec)
    : kind_(spec.kind),
      direction_(spec.direction),
      count_(spec.count),
      in_(reals_in(spec)),
      out_(reals_out(spec)),
      transform_(spec.n, spec.direction, true) {}

template <class Real>
std::int64_t ShortRows<Real>::scratch_bytes() const {
  return kTogether * (WholeRows<Real>::pitch(in_.row) + 2 * WholeRows<Real>::pitch(out_.row)) *
         static_cast<std::int64_t>(sizeof(Real));
}

// Rows are seldom scaled, and then by way of memory of their own, so that no butterfly has to.
// Stores past the cache hold up what is loaded meanwhile, if many follow one another. So results of
// c2r go there as they are computed, or else while the next ones are (2 ranks of a Granite Rapids
// Xeon, 256^3 r2c backward, the pass that ends with rows: 17.9 -> 16.5 ms; in place, where rows
// begin within lines, 19.4 -> 15.4; single 9.9 -> 8.0).
template <class Real>
void ShortRows<Real>::run(Pieces in, Pieces out, const Ahead& ahead, const Storing& storing,
                          void* scratch) const {
  const auto factor = static_cast<Real>(storing.factor);
  const Piece& sink = out.front();
  const bool joins = in.size() > 1;
  if (!joins && out.size() == 1 && factor == 1 && (!storing.streaming || streams_to(sink)))
    return run_job({in.front(),
                    sink,
                    count_,
                    storing.streaming ? RowStore::streamed : RowStore::cached,
                    {},
                    ahead});
  const WholeRows<Real> from(static_cast<Real*>(scratch), in_.row, in_.element);
  WholeRows<Real> to(from.row(kTogether), out_.row, out_.element);
  WholeRows<Real> before(to.row(kTogether), out_.row, out_.element);
  const bool lags = storing.streaming && kHasSeams && out.size() == 1 && kind_ == BatchKind::c2r;
  const std::int64_t pitch = sink.distance * out_.element;
  RowsBehind<Real> behind;
  for (std::int64_t first = 0; first < count_; first += kTogether) {
    const std::int64_t count = std::min(kTogether, count_ - first);
    Piece rows = in.front();
    rows.base += first * rows.distance * in_.element * static_cast<std::int64_t>(sizeof(Real));
    if (joins) from.join(in, first, count);
    const bool stores_later = lags && first + kTogether < count_;
    const RowsBehind<Real> later(to.row(0), to.pitch(),
                                 reinterpret_cast<Real*>(sink.base) + first * pitch, pitch);
    if (stores_later) later.bring_ends(kTogether, out_.row);
    run_job({joins ? from.piece() : rows, to.piece(), count,
             lags ? RowStore::behind : RowStore::cached, behind,
             ahead.during(first, first + count, count_)});
    if (factor != 1) to.scale(count, factor);
    if (stores_later) {
      behind = later;
      std::swap(to, before);
    } else {
      to.store(out, first, count, storing.streaming);
    }
  }
}

// What is stored of two real rows at once is too short for that.
template <class Real>
bool ShortRows<Real>::streams_to(const Piece& piece) const {
  const auto* const base = reinterpret_cast<const Real*>(piece.base);
  return kHasSeams && kind_ == BatchKind::c2r && kRows == 1 && past_line(base) == 0 &&
         piece.distance * out_.element % kWidth<Real> == 0;
}

template class ShortRows<double>;
template class ShortRows<float>;

}  // namespace weft
