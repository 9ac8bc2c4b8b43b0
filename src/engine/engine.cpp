// The table of engines, and the measurement by which "auto" chooses between them.
// A new engine is one file and two lines here.
#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/aligned_memory.hpp"
#include "engine/spec.hpp"
#include "weft/error.hpp"
#include "weft/export.hpp"

namespace weft {

WEFT_API std::vector<std::string> engines();  // for users in weft/plan.hpp, a layer above

const Engine& weft_engine();
#ifdef WEFT_HAVE_MKL
const Engine& mkl_engine();
#endif
#ifdef WEFT_HAVE_FFTW
const Engine& fftw_engine();
#endif

namespace {

/// Fills `memory` with reals between -1/2 and 1/2 that differ from one to the next.
template <class Real>
void fill(const AlignedMemory& memory) {
  auto* values = reinterpret_cast<Real*>(memory.data());
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < memory.bytes() / sizeof(Real); ++i) {
    state = state * 1664525U + 1013904223U;  // the generator of Numerical Recipes
    values[i] = static_cast<Real>(state >> 16) / Real{65536} - Real{0.5};
  }
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Buffers for the runs of one measurement.
class Trial {
 public:
  explicit Trial(const BatchSpec& spec)
      : spec_(spec),
        in_(static_cast<std::size_t>(span_bytes(spec, Side::in))),
        out_(spec.in_place ? 0 : static_cast<std::size_t>(span_bytes(spec, Side::out))) {
    std::fill_n(out_.data(), out_.bytes(), std::byte{0});  // so that no run waits for pages
  }

  /// Seconds per run, averaged over `runs` on fresh input.
  double seconds(const Batch& batch, int runs) {
    if (spec_.precision == Precision::single) {
      fill<float>(in_);
    } else {
      fill<double>(in_);
    }
    void* out = spec_.in_place ? in_.data() : out_.data();
    const AlignedMemory scratch(static_cast<std::size_t>(batch.scratch_bytes()));
    const double begin = now();
    for (int run = 0; run < runs; ++run) batch.run(in_.data(), out, scratch.data());
    return (now() - begin) / runs;
  }

  /// Runs before numbers become infinite: each may multiply them by n where the next one transforms
  /// its result.
  double most_runs() const {
    const double digits = spec_.precision == Precision::single ? 30 : 250;
    return std::clamp(digits / std::log10(static_cast<double>(spec_.n) + 1), 1.0, 1000.0);
  }

 private:
  BatchSpec spec_;
  AlignedMemory in_;
  AlignedMemory out_;
};

/// The minimum over rounds that are long enough for the clock, for a millisecond in all; a batch
/// that takes longer runs twice.
double measure(const Batch& batch, const BatchSpec& spec) {
  constexpr double budget_seconds = 1e-3;
  constexpr double round_seconds = 2e-5;
  const double begin = now();
  Trial trial(spec);
  const double first = trial.seconds(batch, 1);  // brings code and data into the cache
  double best = std::min(first, trial.seconds(batch, 1));
  const double runs = std::clamp(round_seconds / std::max(best, 1e-9), 1.0, trial.most_runs());
  while (now() - begin < budget_seconds)
    best = std::min(best, trial.seconds(batch, static_cast<int>(runs)));
  return best;
}

}  // namespace

std::span<const Engine* const> engine_table() {
  static const auto table = std::to_array<const Engine*>({
      &weft_engine(),
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

double measure_batch(const Engine& engine, const BatchSpec& spec) {
  // The lock is held while measuring: two measurements at once would slow each other.
  static std::mutex mutex;
  static std::map<std::pair<const Engine*, BatchSpec>, double> known;
  const std::lock_guard lock(mutex);
  const auto key = std::make_pair(&engine, spec);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const double seconds = measure(*engine.make(spec), spec);
  known.emplace(key, seconds);
  return seconds;
}

std::vector<std::string> engines() {
  std::vector<std::string> names;
  for (const Engine* engine : engine_table()) names.emplace_back(engine->name());
  return names;
}

}  // namespace weft
