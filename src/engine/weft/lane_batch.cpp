// Lanes are loaded and stored as fits what is known of their rows: past the cache, by way of it, in
// how many packs at once.
#include "engine/weft/lane_batch.hpp"

#include <algorithm>
#include <chrono>

#include "base/cache.hpp"
#include "engine/weft/seam.hpp"

namespace weft {
namespace {

/// So far ahead of a row that is stored in part its lines are brought.
constexpr std::int64_t kRowsAhead = 8;

template <class Real>
Real* row(const RowsOfLanes& rows, std::int64_t number) {
  return reinterpret_cast<Real*>(rows[static_cast<std::size_t>(number)]);
}

// True where an eighth of the rows compete with the one before for the same few lines of a cache.
bool compete(const RowsOfLanes& rows) {
  std::size_t apart = 0;
  for (std::size_t j = 1; j < rows.size(); ++j)
    apart += (rows[j] - rows[j - 1]) % kCompetingDistance == 0;
  return apart > rows.size() / 8;
}

// To lines.
bool are_aligned(const RowsOfLanes& rows) {
  std::uintptr_t bits = 0;
  for (const std::byte* row : rows) bits |= reinterpret_cast<std::uintptr_t>(row);
  return bits % kLineBytes == 0;
}

LaneStore store_for(const RowsOfLanes& rows, bool streaming) {
  if (!streaming) return LaneStore::cached;
  if (are_aligned(rows)) return LaneStore::streamed;
  return kHasSeams ? LaneStore::seamed : LaneStore::cached;
}

// Of a pack; fewer than it has.
template <class Real>
Column<Real> first_lanes(const Real* from, std::int64_t lanes) {
  constexpr std::int64_t kPack = kWidth<Real>;
  const std::int64_t low = std::min(2 * lanes, kPack);
  return split<Real>(load_part(from, 0, low), load_part(from + kPack, 0, 2 * lanes - low));
}
template <class Real>
void store_first_lanes(const Column<Real>& column, Real* to, std::int64_t lanes) {
  constexpr std::int64_t kPack = kWidth<Real>;
  const std::int64_t reals = std::min(2 * lanes, kPack);
  const auto [low, high] = joined<Real>(column);
  store_part(to, low, 0, reals);
  store_part(to + kPack, high, 0, 2 * lanes - reals);
}

}  // namespace

/// In the order in which the transform takes them, and what LanesOut wants for each.
template <class Real>
struct LaneBatch<Real>::Rows {
  Real** in;
  Real** out;
  Twiddle<Real>* twiddles;
  bool* in_cache;
  Real** absent;
  std::int64_t absent_rows;
  bool on_the_spot;  // each is stored where it was loaded
};

template <class Real>
std::int64_t LaneBatch<Real>::scratch_bytes(bool streaming) const {
  return work_columns() * static_cast<std::int64_t>(sizeof(Column<Real>)) +
         seam_reals(streaming) * static_cast<std::int64_t>(sizeof(Real)) +
         n_ * static_cast<std::int64_t>(3 * sizeof(Real*) + sizeof(Twiddle<Real>) + sizeof(bool));
}

template <class Real>
auto LaneBatch<Real>::arranged(const RowsOfLanes& in, const RowsOfLanes& out,
                               const Storing& storing, void* memory) const -> Rows {
  Rows rows{};
  rows.in = static_cast<Real**>(memory);
  rows.out = rows.in + n_;
  rows.absent = rows.out + n_;
  auto* const twiddles = reinterpret_cast<Twiddle<Real>*>(rows.absent + n_);
  auto* const in_cache = reinterpret_cast<bool*>(twiddles + n_);
  const auto* const by = reinterpret_cast<const Twiddle<Real>*>(storing.twiddles);
  const auto factor = static_cast<Real>(storing.factor);
  const bool keeps_rows = transform_->keeps_rows();
  bool any_in_cache = false;
  rows.on_the_spot = true;
  for (std::int64_t i = 0; i < n_; ++i) {
    const std::int64_t k = transform_->frequency_stored(i);
    rows.in[i] = row<Real>(in, transform_->point_loaded(i));
    rows.out[i] = row<Real>(out, k);
    if (by != nullptr) twiddles[i] = {factor * by[k].re, factor * by[k].im};
    in_cache[i] = keeps_rows && storing.in_cache != nullptr && storing.in_cache[k];
    any_in_cache |= in_cache[i];
    rows.on_the_spot &= row<Real>(in, k) == rows.out[i];
    if (storing.absent && !in_cache[i]) rows.absent[rows.absent_rows++] = rows.out[i];
  }
  if (by != nullptr) rows.twiddles = twiddles;
  if (any_in_cache) rows.in_cache = in_cache;
  return rows;
}

// What the call before fetches of rows in memory is there when they are loaded, or has been
// displaced, or fetching it has held up that call: then it is fetched shortly before it is loaded.
// Rows in place that compete are likewise kept in the cache until they are stored, or have left it
// long before, by where the system has put their pages. Which it is shows only in how long they
// take, and so does how many packs are best at once. (256^3 c2c in place, 1 rank with 2 threads of
// a Granite Rapids Xeon, a pass: 15 to 29 ms as if they were kept, 23 as if they were displaced. 2
// ranks, r2c, fetched before and shortly before: axis 0 10.9 and 9.3 ms, backward 11.7 and 9.7;
// 384^3 42 and 35, the pass of axes 1 and 2 69 and 59; but 1 rank with 2 threads 9.8 and 11.2.
// Small arrays too: 2 ranks of a Cascade Lake Xeon, axis 0 of 64^3, the usual packs fetched before
// and more of them fetched shortly before: c2c 0.39 -> 0.31, r2c 0.17 -> 0.15.)
template <class Real>
void LaneBatch<Real>::run(const RowsOfLanes& in, const RowsOfLanes& out, const Loading& loading,
                          const Storing& storing, void* scratch) const {
  auto* const work = static_cast<Column<Real>*>(scratch);
  auto* const seams = reinterpret_cast<Real*>(work + work_columns());
  const Rows rows = arranged(in, out, storing, seams + seam_reals(storing.streaming));
  LanesIn<Real> from{
      .rows = rows.in, .compete = compete(in), .ends_inside_lines = !are_aligned(in)};
  LanesOut<Real> to{.rows = rows.out,
                    .factor = static_cast<Real>(storing.factor),
                    .twiddles = rows.twiddles,
                    .store = store_for(out, storing.streaming),
                    .compete = compete(out),
                    .in_cache = rows.in_cache,
                    .absent = rows.absent,
                    .absent_rows = rows.absent_rows,
                    .seam = {.waits = seams, .kept = seams + n_ * kLine<Real>, .opens = true}};
  if (amount_ != Amount::large || loading.in_cache)
    return run_packs(in, loading, packs_for(from, to, loading, Packs::usual), from, to, work);
  const int number = ways_.next();
  const Way way = this->way(number);
  const auto begin = std::chrono::steady_clock::now();
  from.displaced = way.displaced;
  if (way.displaced && from.compete && rows.on_the_spot && kHasSeams && !from.ends_inside_lines) {
    to.store = LaneStore::streamed;
    to.in_cache = nullptr;
  }
  run_packs(in, loading, packs_for(from, to, loading, way.packs), from, to, work);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  ways_.note(number, taken.count());
}

template <class Real>
int LaneBatch<Real>::packs_for(const LanesIn<Real>& from, const LanesOut<Real>& to,
                               const Loading& loading, Packs packs) const {
  // Long pieces are for memory, also where all is stored by way of the cache.
  const bool are_short = (loading.in_cache && kHasSeams) || packs == Packs::fewest;
  if (are_short) return few_packs();
  return std::min(packs == Packs::wide ? transform_->wide_packs() : transform_->packs_for(from, to),
                  most_packs());
}

// From `from` to `to`, which are at the first lanes of their rows, so many packs at once.
template <class Real>
void LaneBatch<Real>::run_packs(const RowsOfLanes& in, const Loading& loading, int packs,
                                LanesIn<Real> from, LanesOut<Real> to, Column<Real>* work) const {
  constexpr std::int64_t kPack = kWidth<Real>;
  const std::int64_t together = kPack * packs;
  const auto* const rows_of_next = reinterpret_cast<const Real* const*>(loading.next.data());
  const std::int64_t lanes_of_next = loading.next.empty() ? 0 : together;
  const auto lanes_from = [&](std::int64_t begin) {
    return std::min(together, (count_ - begin) / kPack * kPack);
  };
  std::int64_t first = 0;
  while (first + kPack <= count_) {
    const std::int64_t lanes = lanes_from(first);
    const std::int64_t after = first + lanes;
    const bool is_last = after + kPack > count_;
    from.next_rows = is_last ? rows_of_next : reinterpret_cast<const Real* const*>(in.data());
    from.next = is_last ? 0 : 2 * after;
    from.next_reals = loading.in_cache ? 0 : 2 * (is_last ? lanes_of_next : lanes_from(after));
    transform_->run(work, from, to, static_cast<int>(lanes / kPack));
    first = after;
    from.first = to.first = 2 * first;
    to.seam.opens = false;
  }
  const bool fetches = first == 0 && lanes_of_next > 0;
  if (first < count_)
    run_last(in, first,
             fetches ? Fetch<Real>(rows_of_next, n_, 0, 2 * lanes_of_next) : Fetch<Real>(), work);
  if (to.store == LaneStore::seamed && first > 0) return close_seams(to, work);
  for (std::int64_t i = 0; first < count_ && i < n_; ++i) store_last(to, work, i);
}

// Lanes `first` and following, fewer than a pack has.
template <class Real>
void LaneBatch<Real>::run_last(const RowsOfLanes& in, std::int64_t first, const Fetch<Real>& fetch,
                               Column<Real>* work) const {
  for (std::int64_t j = 0; j < n_; ++j)
    work[j] = first_lanes(row<Real>(in, j) + 2 * first, count_ - first);
  transform_->run(work, fetch);
}

// They are stored at `to.first`, in the row at position `i`.
template <class Real>
void LaneBatch<Real>::store_last(const LanesOut<Real>& to, const Column<Real>* work,
                                 std::int64_t i) const {
  store_first_lanes(multiplied(work[i], to, i), to.rows[i] + to.first, count_ - to.first / 2);
}

// Likewise in all rows, with what waits before them, and was kept of the rows that follow.
template <class Real>
void LaneBatch<Real>::close_seams(const LanesOut<Real>& to, const Column<Real>* work) const {
  const std::int64_t left = 2 * count_ - to.first;
  const auto is_seamed = [&](std::int64_t i) { return to.in_cache == nullptr || !to.in_cache[i]; };
  const auto kept_of = [&](std::int64_t i) { return to.seam.kept + i * kLine<Real>; };
  const auto end_of = [&](std::int64_t i) { return to.rows[i] + 2 * count_; };
  bool follows = false;  // row k the one before it
  for (std::int64_t k = 0; k < n_; ++k) {
    const std::int64_t i = transform_->position(k);
    const std::int64_t next = transform_->position(std::min(k + 1, n_ - 1));
    if (!follows && k + kRowsAhead < n_) {
      const std::int64_t ahead = transform_->position(k + kRowsAhead);
      bring_part(to.rows[ahead]);
      bring_part(end_of(ahead));
    }
    if (!is_seamed(i)) {
      if (left > 0) store_last(to, work, i);
      follows = false;
      continue;
    }
    if (!follows) store_begin(to.rows[i], kept_of(i));
    Line<Real> waits = load_line(to.seam.waits + i * kLine<Real>);
    if (left > 0)
      waits = stream_last(to.rows[i] + to.first, multiplied(work[i], to, i), left, waits);
    follows = to.rows[next] == end_of(i) && is_seamed(next);
    store_end(end_of(i), waits, follows ? kept_of(next) : nullptr);
  }
}

template class LaneBatch<double>;
template class LaneBatch<float>;

}  // namespace weft
