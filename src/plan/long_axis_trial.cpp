// Whether two passes are faster than one depends on the machine: on how fast its cache is, and on
// what it costs to visit a row in memory. So both are tried, on an array that no second-level cache
// holds, with gaps between its rows, as Weft's own has them, and without, as users' have, where
// rows compete for the same lines of the cache (4096 rows on a Zen 4: with gaps one pass 2.7 ms,
// two 2.8; without 3.4 and 2.5).
#include <algorithm>
#include <chrono>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "base/aligned_memory.hpp"
#include "base/cache.hpp"
#include "base/noise.hpp"
#include "plan/long_axis.hpp"

namespace weft {
namespace {

/// Shorter axes were never found to gain.
constexpr std::int64_t kFewestRows = 1024;

/// So many gained on all machines tried whose second-level cache holds no more than four pairs of
/// lines of each: a trial there is wrong now and then (4096^2 c2c on 2 ranks of a Cascade Lake
/// Xeon, axis 0: one pass 98 ms, two 73), and takes 0.2 s.
constexpr std::int64_t kSurelyGaining = 4096;
constexpr std::int64_t kMostPairsHeld = 4;

/// Points of the array that is tried on.
constexpr std::int64_t kPoints = 1024 * 1024;

constexpr int kRounds = 5;

/// Where the system puts the pages of an array can make two passes half as slow again. So if rows
/// with gaps and without do not agree, both are tried again, elsewhere in memory (4096^2 r2c
/// single, 1 rank with 2 threads of a Granite Rapids Xeon: one pass, which takes 18 ms where two
/// take 13, was chosen in 4 of 20 plans).
constexpr int kPlacements = 4;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all rounds, wherever the arrays lay.
struct LeastSeconds {
  double one = std::numeric_limits<double>::infinity();
  double two = one;
  /// So much less did two passes take.
  double gain() const { return one - two; }
};

/// A stage along axis 0, from an array with so many lanes between its rows, and the memory of both
/// sides.
class Trial {
 public:
  Trial(std::int64_t rows, Precision precision, std::int64_t gap)
      : element_{precision, true},
        lanes_(std::max<std::int64_t>(kPoints / rows, kFewestLanes)),
        pitch_(lanes_ + gap),
        bytes_(static_cast<std::size_t>(rows * pitch_ * element_.bytes())),
        source_(bytes_),
        sink_(bytes_) {
    std::fill_n(sink_.data(), bytes_, std::byte{0});
    if (precision == Precision::single)
      fill_with_noise<float>(source_.data(), static_cast<std::int64_t>(bytes_));
    else
      fill_with_noise<double>(source_.data(), static_cast<std::int64_t>(bytes_));
    bases_[kSlotWork] = source_.data();
    bases_[kSlotOutput] = sink_.data();
    StageSpec spec;
    spec.n = rows;
    spec.source_element = spec.sink_element = element_;
    spec.source_box = spec.sink_box = Box{{0, 0}, {rows, lanes_}};
    spec.sources = {{View{kSlotWork, 0, spec.source_box, {pitch_, 1}}, 0, -1}};
    spec.sinks = {{View{kSlotOutput, 0, spec.sink_box, {pitch_, 1}}, 0, -1}};
    spec.keep_source = false;
    spec.store_mode = StoreMode::streaming;
    one_.emplace_back(spec);
    one_.back().use_engine(engine_named("weft"), 1);
    if (!can_take_two_passes(one_.back(), {}, false)) return;
    auto [first, second, work_bytes] = in_two_passes(one_.back(), {});
    for (Stage* stage : {&first, &second}) {
      stage->use_engine(engine_named("weft"), 1);
      two_.push_back(std::move(*stage));
    }
  }

  bool has_two_passes() const { return !two_.empty(); }
  /// Goes once through one pass and through two, and notes what takes less than `least`.
  void run(LeastSeconds& least) {
    least.one = std::min(least.one, seconds(one_));
    least.two = std::min(least.two, seconds(two_));
  }

 private:
  static constexpr std::int64_t kFewestLanes = 256;  // a tile of a pass of few rows

  double seconds(const std::vector<Stage>& stages) {
    double seconds = 0;
    for (const Stage& stage : stages) {
      AlignedMemory workspace(static_cast<std::size_t>(stage.workspace_bytes()));
      const double begin = now();
      for (std::size_t tile = 0; tile < stage.tiling().tiles.size(); ++tile)
        stage.run(static_cast<std::int64_t>(tile), {bases_, 0}, workspace.data());
      finish_streaming();
      seconds += now() - begin;
    }
    return seconds;
  }

  Element element_;
  std::int64_t lanes_;
  std::int64_t pitch_;
  std::size_t bytes_;
  AlignedMemory source_;
  AlignedMemory sink_;
  std::byte* bases_[kSlotPeers] = {};
  std::vector<Stage> one_;
  std::vector<Stage> two_;
};

bool gains(std::int64_t rows, Precision precision) {
  constexpr std::int64_t kGap = 8;  // so that rows do not compete
  LeastSeconds with_gaps;
  LeastSeconds without;
  std::list<Trial> trials;  // all keep their memory, so that the next one gets other pages
  for (int placement = 0; placement < kPlacements; ++placement) {
    Trial& apart = trials.emplace_back(rows, precision, kGap);
    Trial& close = trials.emplace_back(rows, precision, 0);
    if (!apart.has_two_passes() || !close.has_two_passes()) return false;
    for (int round = 0; round < kRounds; ++round) {  // in turns: what disturbs them lasts a while
      apart.run(with_gaps);
      close.run(without);
    }
    if ((with_gaps.gain() > 0) == (without.gain() > 0)) break;
  }
  return with_gaps.gain() + without.gain() > 0;
}

}  // namespace

bool is_faster_in_two_passes(std::int64_t rows, Precision precision) {
  if (rows < kFewestRows || !can_be_divided(rows, {}, {}, 0)) return false;
  const std::int64_t pairs_held = second_level_cache_bytes() / (2 * kLineBytes * rows);
  if (rows >= kSurelyGaining && pairs_held <= kMostPairsHeld) return true;
  static std::mutex mutex;
  static std::map<std::pair<std::int64_t, Precision>, bool> known;
  const std::lock_guard lock(mutex);
  const auto key = std::pair(rows, precision);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = gains(rows, precision);
}

}  // namespace weft
