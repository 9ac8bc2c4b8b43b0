// The table of engines, and the measurement by which "auto" chooses between them.
// A new engine is one file and two lines here.
#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_memory.hpp"
#include "base/cache.hpp"
#include "base/noise.hpp"
#include "engine/instructions.hpp"
#include "engine/spec.hpp"
#include "weft/error.hpp"
#include "weft/export.hpp"

namespace weft {

WEFT_API std::vector<std::string> engines();  // for users in weft/plan.hpp, a layer above

#ifdef WEFT_HAVE_MKL
const Engine& mkl_engine();
#endif
#ifdef WEFT_HAVE_FFTW
const Engine& fftw_engine();
#endif

namespace {

/// Data that is measured on is as large as this when it has to come from memory.
constexpr std::int64_t kColdBytes = std::int64_t{32} << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Buffers for the runs of one measurement: inputs in several sets, one after another, when they
/// are to be out of the cache by the time they are used again. Results go to a tile or a slice in
/// the cache: with results past it, 256^3 c2c in single precision took MKL (46 ms) where Weft
/// takes 38.
class Trial {
 public:
  Trial(const BatchSpec& spec, std::int64_t scratch_bytes, bool cold)
      : spec_(spec),
        in_bytes_(whole_lines(span_bytes(spec, Side::in))),
        out_bytes_(spec.in_place ? 0 : whole_lines(span_bytes(spec, Side::out))),
        sets_(cold ? kColdBytes / in_bytes_ + 1 : 1),
        in_(static_cast<std::size_t>(in_bytes_ * sets_)),
        out_(static_cast<std::size_t>(out_bytes_)),
        scratch_(static_cast<std::size_t>(scratch_bytes)) {
    std::fill_n(out_.data(), out_.bytes(), std::byte{0});  // so that no run waits for pages
    refill();
    for (std::int64_t set = 1; set < sets_; ++set)
      std::copy_n(in_.data(), in_bytes_, in_.data() + set * in_bytes_);
  }

  /// Seconds per run, averaged over `runs`, on fresh input where a run transforms what the last one
  /// left. A run before them brings code and tables into the cache.
  double seconds(const Batch& batch, int runs) {
    if (spec_.in_place || spec_.kind == BatchKind::c2r) refill();
    run_next(batch);
    const double begin = now();
    for (int run = 0; run < runs; ++run) run_next(batch);
    return (now() - begin) / runs;
  }

  /// Seconds in which the data of a set is copied.
  double copy_seconds() {
    AlignedMemory copy(static_cast<std::size_t>(in_bytes_));
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 4; ++round) {
      const double begin = now();
      std::copy_n(in_.data(), in_bytes_, copy.data());
      best = std::min(best, now() - begin);
    }
    return best;
  }

  /// Runs before numbers become infinite: each may multiply them by n where the next one transforms
  /// its result.
  double most_runs() const {
    const double digits = spec_.precision == Precision::single ? 30 : 250;
    return std::clamp(digits / std::log10(static_cast<double>(spec_.n) + 1) - 1, 1.0, 1000.0);
  }

 private:
  void run_next(const Batch& batch) {
    std::byte* in = in_.data() + next_ % sets_ * in_bytes_;
    std::byte* out = spec_.in_place ? in : out_.data();
    batch.run(in, out, scratch_.data());
    ++next_;
  }
  void refill() {
    if (spec_.precision == Precision::single)
      fill_with_noise<float>(in_.data(), in_bytes_);
    else
      fill_with_noise<double>(in_.data(), in_bytes_);
  }

  BatchSpec spec_;
  std::int64_t in_bytes_;
  std::int64_t out_bytes_;
  std::int64_t sets_;  ///< of inputs
  AlignedMemory in_;
  AlignedMemory out_;
  AlignedMemory scratch_;
  std::int64_t next_ = 0;
};

/// One engine's part in a measurement.
struct Entry {
  std::unique_ptr<Batch> batch;  ///< null where the engine refuses
  double best = std::numeric_limits<double>::infinity();
  int runs = 1;  ///< in a round, so that it is long enough for the clock
};

/// For each engine the minimum over rounds, for three milliseconds in all; longer where that is
/// fewer than five, since somebody may interrupt them, but a batch that takes long itself runs
/// twice. The engines take turns: a core may change its speed from one moment to the next.
std::vector<double> measure(const BatchSpec& spec, bool cold) {
  constexpr double budget_seconds = 3e-3;
  constexpr double most_seconds = 20e-3;
  constexpr int fewest_rounds = 5;
  constexpr double round_seconds = 2e-5;
  std::vector<Entry> entries;
  std::int64_t scratch_bytes = 0;
  for (const Engine* engine : engine_table()) {
    entries.push_back({engine->refusal(spec).empty() ? engine->make(spec) : nullptr});
    if (const auto& batch = entries.back().batch)
      scratch_bytes = std::max(scratch_bytes, batch->scratch_bytes(true));
  }
  const bool is_lanes = spec.in_distance == 1 && spec.out_distance == 1;
  Trial trial(spec, scratch_bytes, cold && !is_lanes && !spec.in_place);
  const auto count = static_cast<double>(entries.size());
  const double begin = now();
  for (int round = 0;; ++round) {
    const double spent = (now() - begin) / count;
    if (round >= 1 && spent > (round < fewest_rounds ? most_seconds : budget_seconds)) break;
    for (Entry& entry : entries) {
      if (!entry.batch) continue;
      entry.best = std::min(entry.best, trial.seconds(*entry.batch, entry.runs));
      if (round == 0)
        entry.runs = static_cast<int>(
            std::clamp(round_seconds / std::max(entry.best, 1e-9), 1.0, trial.most_runs()));
    }
  }
  std::vector<double> seconds;
  for (const Entry& entry : entries) {
    const bool needs_tile = is_lanes && entry.batch && !entry.batch->takes_rows();
    seconds.push_back(entry.best + (needs_tile ? 2 * trial.copy_seconds() : 0));
  }
  return seconds;
}

}  // namespace

std::span<const Engine* const> engine_table() {
  static const auto table = std::to_array<const Engine*>({
      &chosen_instructions().engine(),
#ifdef WEFT_HAVE_MKL
      &mkl_engine(),
#endif
#ifdef WEFT_HAVE_FFTW
      &fftw_engine(),
#endif
  });
  return table;
}

const Engine& engine_named(std::string_view name) {
  std::string names;
  for (const Engine* engine : engine_table()) {
    if (engine->name() == name) return *engine;
    names += (names.empty() ? "" : ", ") + std::string(engine->name());
  }
  throw Error(ErrorCode::unavailable,
              "no engine is named '" + std::string(name) + "'; this build has " + names);
}

double measure_batch(const Engine& engine, const BatchSpec& spec, bool cold) {
  // The lock is held while measuring: two measurements at once would slow each other.
  static std::mutex mutex;
  static std::map<std::pair<BatchSpec, bool>, std::vector<double>> known;
  const std::lock_guard lock(mutex);
  const auto key = std::make_pair(spec, cold);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, measure(spec, cold)).first;
  const auto place = std::ranges::find(engine_table(), &engine) - engine_table().begin();
  return found->second[static_cast<std::size_t>(place)];
}

// Rows: two lines of neighbours fill the vector registers of any engine, however long the rows are
// (16384 points, engine weft: 67 ms with two lines where one takes 150). Lanes: memory likes pieces
// of 512 bytes, even if the tile outgrows the cache.
std::int64_t fewest_together(const BatchSpec& spec) {
  const std::int64_t real_bytes = spec.precision == Precision::double_ ? 8 : 4;
  const bool is_lanes = spec.kind == BatchKind::c2c && spec.in_stride != 1;
  return is_lanes ? 512 / (2 * real_bytes)
                  : 128 / (spec.kind == BatchKind::c2c ? 2 * real_bytes : real_bytes);
}

std::vector<std::string> engines() {
  std::vector<std::string> names;
  for (const Engine* engine : engine_table()) names.emplace_back(engine->name());
  return names;
}

}  // namespace weft
