// The passes of a ColumnTransform.
#include "engine/weft/column_transform.hpp"

#include <algorithm>

#include "base/cache.hpp"
#include "engine/weft/radices.hpp"

namespace weft {
namespace {

/// Blocks up to this size are transformed pass by pass, larger ones part by part: a core's L1.
constexpr std::int64_t kBlockBytes = 32 * 1024;

/// Stores past the cache are slow where too many follow one another, so smaller blocks of one pack
/// are stored before the next ones are computed (Xeon, lanes from the L2 to memory, for 8 points: n
/// = 128 8.3 -> 7.7 ns, 256 10.2 -> 9.6, 400 11.3 -> 10.6; the fused pass of 256^3 c2c on 2 ranks
/// 24.2 / 25.0 -> 23.3 / 23.9 ms). Those of several packs are many anyway (r2c there, axis 0: 11.0
/// -> 11.4 ms).
constexpr std::int64_t kStreamedBlockBytes = 8 * 1024;

/// Packs of lanes that lie side by side are counted by so many as take two lines of a row, which is
/// one pack where a register has a line. (Zen 3, where four times one pack took a line of each row:
/// c2c, 1 rank with 2 threads, axis 0: 256^3 74 -> 47 ms, 2 ranks 55 -> 50, 128^3 6.0 -> 5.0.)
constexpr int kPair = kPacksOfLine;

/// Memory likes long pieces, so up to four of these go through the last pass together, and what the
/// next call will load is fetched meanwhile, if all that takes no more than this: a core's L2.
/// Longer signals go in twos. (A pass over memory, 2 ranks: n = 256 17 -> 8.5 ms, 4096 19 -> 11.)
constexpr std::int64_t kFetchedBytes = 1024 * 1024;

/// But rows that compete for the same few lines of the cache do so for each line of a piece: if
/// they take more than this, two packs are better than four (256^3 c2c in place, a pass: one pack
/// 23 ms, two 13, three 16, four 16).
constexpr std::int64_t kCompetingBytes = 32 * 1024;

/// Or so many at once, if their columns take no more than half of the second-level cache: whether
/// that is faster depends on the machine. (2 ranks of a Granite Rapids Xeon, axis 0, past the
/// cache: 256^3 c2c backward single 11.0 -> 9.4 ms, r2c forward 11.1 -> 10.2, but in place nothing,
/// and into a slice 7 % slower. A Cascade Lake Xeon: 256^3 c2c 42.4 / 50.8 -> 36.1 / 46.5 ms, in
/// place on 1 rank with 2 threads 40 -> 34, 128^3 4.8 / 5.9 -> 3.9 / 4.9, but the fused pass 56.5
/// -> 59.9.)
constexpr int kWidePacks = 8 * kPair;

/// More rows than this that compete would displace one another if they were fetched during the call
/// before (a pass on 1 rank with 2 threads: 512 x 256^2 45 -> 27 ms, 512^3 132 -> 101, but 256^3 11
/// -> 13).
constexpr std::int64_t kMostCompeting = 256;

/// What is not fetched during the call before is fetched so many packs before it is loaded, row by
/// row. What was fetched but competes has left the second-level cache again, for the third: it is
/// fetched once more, a butterfly before it is loaded (c2c in place, 1 rank with 2 threads,
/// medians: 256^3 55 -> 50 ms, 128^3 5.4 -> 4.9; rows that do not compete would take 2 % longer).
constexpr std::int64_t kPacksAhead = 4 * kPair;
constexpr std::int64_t kButterfliesAgain = 1;

/// A prime factor up to this is a pass of its own.
constexpr std::int64_t kLargestPass = 61;

constexpr LaneOrder kAnyOrder = kShufflesWithinParts ? LaneOrder::any : LaneOrder::natural;

// What lies `first` reals behind the beginning of the row, the second half `high` behind that.
template <LaneOrder kOrder, class Real>
[[gnu::always_inline]] inline Column<Real> load_lanes(const Real* const* row, std::int64_t first,
                                                      std::int64_t high) {
  const Pack<Real> low = load_pack(*row + first);
  const Pack<Real> second = load_pack(*row + first + high);
  return kOrder == LaneOrder::any ? split_within<Real>(low, second) : split<Real>(low, second);
}

// The same of rows that are loaded soon.
template <int kRows, int kReals, class Real>
[[gnu::always_inline]] inline void fetch_rows(const Real* const* rows, std::int64_t first) {
  unrolled<kRows>([&](auto row) WEFT_INLINE {
    for (int real = 0; real < kReals; real += kLine<Real>)
      __builtin_prefetch(rows[row] + first + real);
  });
}

// The results of a butterfly go `step` apart, all but the first times a twiddle, if there are any.
template <int kRadix, class Real>
[[gnu::always_inline]] inline void store_turned(const Column<Real>* x,
                                                const Twiddle<Real>* twiddles, Column<Real>* to,
                                                std::int64_t step) {
  to[0] = x[0];
  if (twiddles == nullptr)
    unrolled<kRadix - 1>([&](auto q) WEFT_INLINE { to[(q + 1) * step] = x[q + 1]; });
  else
    unrolled<kRadix - 1>([&](auto q) WEFT_INLINE { to[(q + 1) * step] = x[q + 1] * twiddles[q]; });
}

// The lanes of the column at `position`, in any order.
template <class Real, LaneStore kStore>
[[gnu::always_inline]] inline void store_lanes(const LanesOut<Real>& out, std::int64_t position,
                                               const Column<Real>& value) {
  Real* to = out.rows[position] + out.first;
  const Column<Real> column = multiplied(value, out, position);
  const auto [low, high] = joined_within<Real>(column);
  if (kStore == LaneStore::cached || (out.in_cache != nullptr && out.in_cache[position])) {
    store_pack(to, low);
    store_pack(to + kWidth<Real>, high);
    return;
  }
  if constexpr (kStore == LaneStore::seamed) {
    if constexpr (kPacksOfLine == 1) stream_seamed(to, column, out.seam, position);
    if constexpr (kPacksOfLine == 2) stream_seamed(to, Line<Real>{low, {high}}, out.seam, position);
  }
  if constexpr (kStore == LaneStore::streamed) {
    stream_pack(to, low);
    stream_pack(to + kWidth<Real>, high);
  }
}

}  // namespace

template <class Real>
ColumnTransform<Real>::ColumnTransform(std::int64_t n, Direction direction) : n_(n) {
  if (largest_prime_factor(n) > kLargestPass) {
    chirp_ = std::make_unique<Chirp<Real>>(n);
    spare_columns_ = chirp_->spare_columns();
    find_order(direction);
    return;
  }
  std::int64_t length = n;
  for (const int radix : cheapest_radices(n)) {
    passes_.push_back(make_pass(radix, length));
    length /= radix;
    if (radix > kLongestButterfly)
      spare_columns_ = std::max<std::int64_t>(spare_columns_, 2 * radix);
  }
  find_order(direction);
  for (const Pass& pass : passes_) points_of_passes_ += pass.load[0] != nullptr ? n : 0;
  for (Pass& pass : passes_) pass.spare = n_;
  if (loads_and_stores() && 2 * kWidePacks * pack_bytes() <= second_level_cache_bytes())
    wide_packs_ = kWidePacks;
}

template <class Real>
auto ColumnTransform<Real>::make_pass(int radix, std::int64_t length) -> Pass {
  Pass pass;
  pass.radix = radix;
  pass.length = length;
  pass.run = &ColumnTransform::run_any;
  for (std::int64_t j = 1; j < length / radix; ++j)
    for (int q = 1; q < radix; ++q) pass.twiddles.push_back(root<Real>(j * q, length));
  choose_unrolled<2>(pass);
  if (radix > kLongestButterfly)
    for (int k = 0; k < radix; ++k) pass.roots.push_back(root<Real>(k, radix));
  return pass;
}

template <class Real>
template <int kRadix>
void ColumnTransform<Real>::choose_unrolled(Pass& pass) {
  if constexpr (kCostOfRadix[kRadix].is_offered())
    if (pass.radix == kRadix) {
      pass.run = &ColumnTransform::run_unrolled<kRadix>;
      pass.load = {&ColumnTransform::load_unrolled<kRadix, LaneOrder::natural>,
                   &ColumnTransform::load_unrolled<kRadix, kAnyOrder>};
      pass.store = {&ColumnTransform::store_unrolled<kRadix, LaneStore::cached>,
                    &ColumnTransform::store_unrolled<kRadix, LaneStore::streamed>,
                    &ColumnTransform::store_unrolled<kRadix, LaneStore::seamed>};
    }
  if constexpr (kRadix < kLongestButterfly) choose_unrolled<kRadix + 1>(pass);
}

// A pass sends frequency k = q + radix * k' to block q, as its frequency k'. With sign +1,
// frequency k is where -k is with sign -1. Points are loaded butterfly after butterfly.
template <class Real>
void ColumnTransform<Real>::find_order(Direction direction) {
  positions_.resize(static_cast<std::size_t>(n_));
  frequencies_.resize(static_cast<std::size_t>(n_));
  for (std::int64_t k = 0; k < n_; ++k) {
    std::int64_t rest = k;
    std::int64_t position = chirp_ ? k : 0;
    for (const Pass& pass : passes_) {
      position += rest % pass.radix * (pass.length / pass.radix);
      rest /= pass.radix;
    }
    const std::int64_t frequency = direction == Direction::forward ? k : (n_ - k) % n_;
    positions_[static_cast<std::size_t>(frequency)] = position;
    frequencies_[static_cast<std::size_t>(position)] = frequency;
  }
  const std::int64_t radix = loads_and_stores() ? passes_.front().radix : 1;
  for (std::int64_t j = 0; j < n_ / radix; ++j)
    for (std::int64_t q = 0; q < radix; ++q) points_.push_back(j + q * (n_ / radix));
}

template <class Real>
bool ColumnTransform<Real>::fit(int packs) const noexcept {
  return packs * pack_bytes() <= kFetchedBytes;
}

template <class Real>
int ColumnTransform<Real>::most_packs() const noexcept {
  return std::max(usual_packs(), wide_packs_);
}

template <class Real>
int ColumnTransform<Real>::usual_packs() const noexcept {
  if (!loads_and_stores()) return 1;
  return fit(4 * kPair) ? 4 * kPair : 2 * kPair;
}

template <class Real>
bool ColumnTransform<Real>::would_displace(bool in_competes) const {
  return in_competes && n_ > kMostCompeting;
}

template <class Real>
int ColumnTransform<Real>::packs_for(const LanesIn<Real>& in,
                                     const LanesOut<Real>& out) const noexcept {
  const bool two = (in.compete || out.compete) && 4 * kPair * pack_bytes() > kCompetingBytes &&
                   !would_displace(in.compete) && !(in.compete && in.displaced);
  return two ? std::min(usual_packs(), 2 * kPair) : usual_packs();
}

// A line with each point that a pass loads from `work`, but a third, or what these leave, while a
// first pass loads lanes: only that if it waits for lanes that are fetched once more (Zen 4, 2
// ranks, axis 0, without such a third: 256^3 r2c 7.1 -> 8.0 ms; 1 rank with 2 threads, c2c in
// place, with it: 14.2 -> 16.1).
template <class Real>
void ColumnTransform<Real>::spread(Fetch<Real>& fetch, const LanesIn<Real>& in, int packs) const {
  const bool loads_lanes = in.rows != nullptr && loads();
  const std::int64_t early_calls = loads_lanes ? n_ / passes_.front().radix : 0;
  const std::int64_t calls = packs * (points_of_passes_ - (loads_lanes ? n_ : 0));
  fetch.spread(early_calls, calls, loads_lanes && !in.compete);
}

template <class Real>
void ColumnTransform<Real>::run(Column<Real>* work, const LanesIn<Real>& in,
                                const LanesOut<Real>& out, int packs) const {
  const bool early = fit(packs) && !would_displace(in.compete) && !in.displaced;
  Fetch<Real> fetch = early && in.rows != nullptr && in.next_reals > 0
                          ? Fetch<Real>(in.next_rows, n_, in.next, in.next + in.next_reals)
                          : Fetch<Real>();
  fetch.add_stores(out.absent, out.absent_rows, out.first, out.first + 2 * kWidth<Real> * packs);
  spread(fetch, in, packs);
  const std::int64_t again = in.compete && in.next_reals > 0 ? kButterfliesAgain : 0;
  run({work, in, out, packs, work_columns(), &fetch,
       early ? again : std::max<std::int64_t>(kPacksAhead / packs, 1)});
}

template <class Real>
void ColumnTransform<Real>::run(const Call& call) const {
  const LanesIn<Real>& in = call.in;
  const bool to_lanes = call.out.rows != nullptr;
  for (std::int64_t j = 0; in.rows != nullptr && !loads() && j < n_; ++j)
    call.work[j] = to_lanes ? load_lanes<LaneOrder::any>(in.rows + j, in.first, in.high)
                            : load_lanes<LaneOrder::natural>(in.rows + j, in.first, in.high);
  if (kShufflesWithinParts && in.rows == nullptr && to_lanes)
    std::transform(call.work, call.work + n_, call.work, ordered_within<Real>);
  if (chirp_) chirp_->run(call.work);
  if (!passes_.empty()) descend(0, call.work, call);
  if (call.out.rows != nullptr && !loads_and_stores()) store_all(call.work, call.out);
}

template <class Real>
void ColumnTransform<Real>::store_all(const Column<Real>* work, const LanesOut<Real>& out) const {
  const auto store = [&](auto how) {
    for (std::int64_t at = 0; at < n_; ++at) store_lanes<Real, how>(out, at, work[at]);
  };
  switch (out.store) {
    case LaneStore::cached:
      return store(std::integral_constant<LaneStore, LaneStore::cached>{});
    case LaneStore::streamed:
      return store(std::integral_constant<LaneStore, LaneStore::streamed>{});
    case LaneStore::seamed:
      return store(std::integral_constant<LaneStore, LaneStore::seamed>{});
  }
}

template <class Real>
auto ColumnTransform<Real>::run_of(std::size_t number, const Call& call) const -> Run {
  const Pass& pass = passes_[number];
  if (number == 0 && call.in.rows != nullptr && loads())
    return pass.load[call.out.rows != nullptr ? 1 : 0];
  if (!loads_and_stores()) return pass.run;
  if (number + 1 == passes_.size() && call.out.rows != nullptr)
    return pass.store[static_cast<std::size_t>(call.out.store)];
  return pass.run;
}

// Passes `first` to `last` (past the end), over `blocks` blocks of the first one. For one pack this
// is called for each few columns, where copying a Call would cost (lanes of 256 points from the L2
// to memory 9.4 -> 9.0 ns for 8 points, of 128 8.9 -> 8.2).
template <class Real>
void ColumnTransform<Real>::run_passes(std::size_t first, std::size_t last, Column<Real>* data,
                                       std::int64_t blocks, const Call& call) const {
  for (std::size_t p = first; p < last; ++p) {
    run_of(p, call)(passes_[p], data, blocks, call);
    blocks *= passes_[p].radix;
  }
}

// Passes `first` to `last` (past the end), over one block of the first one, for each pack. A pass
// that loads lanes from memory, or stores them, goes through the packs by itself, since memory is
// read and written faster in longer pieces.
template <class Real>
void ColumnTransform<Real>::run_passes_of_packs(std::size_t first, std::size_t last,
                                                Column<Real>* data, const Call& call) const {
  const bool loads = first == 0 && call.ahead != 0 && call.in.rows != nullptr && this->loads();
  const bool stores = last == passes_.size() && call.out.rows != nullptr && loads_and_stores();
  const std::int64_t length = passes_[first].length;
  std::int64_t blocks = 1;
  if (loads) {
    run_passes(first, first + 1, data, blocks, call);
    blocks = passes_[first++].radix;
  }
  if (stores) --last;
  Call of_pack = call;
  of_pack.packs = 1;
  for (int pack = 0; pack < call.packs; ++pack, of_pack.in.first += 2 * kWidth<Real>)
    run_passes(first, last, data + pack * call.pack_columns, blocks, of_pack);
  if (stores) run_passes(last, last + 1, data, length / passes_[last].length, call);
}

// Passes from `first` on, over one block of that pass.
template <class Real>
void ColumnTransform<Real>::descend(std::size_t first, Column<Real>* data, const Call& call) const {
  const Pass& pass = passes_[first];
  const bool is_streamed =
      call.out.rows != nullptr && call.out.store == LaneStore::streamed && call.packs == 1;
  const bool is_small = pass.length * static_cast<std::int64_t>(sizeof(Column<Real>)) <=
                        (is_streamed ? kStreamedBlockBytes : kBlockBytes);
  const bool is_last = is_small || first + 1 == passes_.size();
  const std::size_t last = is_last ? passes_.size() : first + 1;
  call.packs == 1 ? run_passes(first, last, data, 1, call)
                  : run_passes_of_packs(first, last, data, call);
  if (is_last) return;
  for (int q = 0; q < pass.radix; ++q)
    descend(first + 1, data + q * (pass.length / pass.radix), call);
}

template <class Real>
template <int kRadix>
void ColumnTransform<Real>::run_unrolled(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                                         const Call& call) {
  const std::int64_t step = pass.length / kRadix;
  for (std::int64_t block = 0; block < blocks; ++block, data += pass.length) {
    const Twiddle<Real>* twiddles = nullptr;  // of the first butterfly: they are 1
    for (std::int64_t j = 0; j < step; ++j) {
      Column<Real> x[kRadix];
      unrolled<kRadix>([&](auto q) WEFT_INLINE {
        x[q] = data[j + q * step];
        call.fetch->go_on();
      });
      butterfly<kRadix>(x);
      store_turned<kRadix>(x, twiddles, data + j, step);
      twiddles = twiddles == nullptr ? pass.twiddles.data() : twiddles + kRadix - 1;
    }
  }
}

// The first pass, a single block, from lanes, for all packs.
template <class Real>
template <int kRadix, LaneOrder kOrder>
void ColumnTransform<Real>::load_unrolled(const Pass& pass, Column<Real>* data,
                                          std::int64_t /*blocks*/, const Call& call) {
  const std::int64_t step = pass.length / kRadix;
  const Twiddle<Real>* twiddles = nullptr;
  const Real* const* rows = call.in.rows;
  for (std::int64_t j = 0; j < step; ++j, rows += kRadix) {
    const std::int64_t ahead = j + call.ahead < step ? kRadix * call.ahead : 0;
    std::int64_t first = call.in.first;
    call.fetch->go_early();
    for (int pack = 0; pack < call.packs; ++pack, first += 2 * kWidth<Real>) {
      if (ahead != 0) fetch_rows<kRadix, 2 * kWidth<Real>>(rows + ahead, first);
      Column<Real> x[kRadix];
      unrolled<kRadix>(
          [&](auto q) WEFT_INLINE { x[q] = load_lanes<kOrder>(rows + q, first, call.in.high); });
      butterfly<kRadix>(x);
      store_turned<kRadix>(x, twiddles, data + pack * call.pack_columns + j, step);
    }
    if (ahead != 0 && call.in.ends_inside_lines) fetch_rows<kRadix, 1>(rows + ahead, first - 1);
    twiddles = twiddles == nullptr ? pass.twiddles.data() : twiddles + kRadix - 1;
  }
}

// The last pass, whose blocks are butterflies, for all packs.
template <class Real>
template <int kRadix, LaneStore kStore>
void ColumnTransform<Real>::store_unrolled(const Pass& /*pass*/, Column<Real>* data,
                                           std::int64_t blocks, const Call& call) {
  LanesOut<Real> out = call.out;
  out.rows += data - call.work;
  if (out.twiddles != nullptr) out.twiddles += data - call.work;
  if (out.in_cache != nullptr) out.in_cache += data - call.work;
  if constexpr (kStore == LaneStore::seamed) out.seam.skip(data - call.work);
  for (std::int64_t block = 0; block < blocks; ++block, data += kRadix) {
    out.first = call.out.first;
    out.seam.opens = call.out.seam.opens;
    for (int pack = 0; pack < call.packs; ++pack) {
      const Column<Real>* from = data + pack * call.pack_columns;
      Column<Real> x[kRadix];
      unrolled<kRadix>([&](auto q) WEFT_INLINE {
        x[q] = from[q];
        call.fetch->go_on();
      });
      butterfly<kRadix>(x);
      unrolled<kRadix>([&](auto q) WEFT_INLINE { store_lanes<Real, kStore>(out, q, x[q]); });
      out.first += 2 * kWidth<Real>;
      out.seam.opens = false;
    }
    out.rows += kRadix;
    if (out.twiddles != nullptr) out.twiddles += kRadix;
    if (out.in_cache != nullptr) out.in_cache += kRadix;
    if constexpr (kStore == LaneStore::seamed) out.seam.skip(kRadix);
  }
}

// By the definition; for primes that are too long to be unrolled.
template <class Real>
void ColumnTransform<Real>::run_any(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                                    const Call& call) {
  const int radix = pass.radix;
  const int pairs = radix / 2;
  const std::int64_t step = pass.length / radix;
  Column<Real>* sums = call.work + pass.spare;
  Column<Real>* differences = sums + pairs;
  for (std::int64_t at = 0; at < blocks * step; ++at) {
    const std::int64_t j = at % step;
    Column<Real>* x = data + at / step * pass.length + j;
    const Twiddle<Real>* twiddles = pass.twiddles.data() + (j - 1) * (radix - 1);
    const auto put = [&](int k, const Column<Real>& value) {
      x[k * step] = j == 0 || k == 0 ? value : value * twiddles[k - 1];
    };
    const Column<Real> first = x[0];
    Column<Real> total = first;
    for (int p = 0; p < pairs; ++p) {
      sums[p] = x[(p + 1) * step] + x[(radix - 1 - p) * step];
      differences[p] = x[(p + 1) * step] - x[(radix - 1 - p) * step];
      total = total + sums[p];
    }
    put(0, total);
    for (int k = 1; k <= pairs; ++k) {
      Column<Real> even = first;
      Column<Real> odd{};
      int angle = 0;
      for (int p = 0; p < pairs; ++p) {
        angle = (angle + k) % radix;
        const Twiddle<Real> w = pass.roots[static_cast<std::size_t>(angle)];
        even = {even.re + w.re * sums[p].re, even.im + w.re * sums[p].im};
        odd = {odd.re + w.im * differences[p].re, odd.im + w.im * differences[p].im};
      }
      put(k, {even.re - odd.im, even.im + odd.re});
      put(radix - k, {even.re + odd.im, even.im - odd.re});
    }
  }
}

template class ColumnTransform<double>;
template class ColumnTransform<float>;

}  // namespace weft
