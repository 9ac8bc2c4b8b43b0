// The engine FFTW, in double and single precision. FFTW finds good plans by timing them, on scratch
// of its own here and for a bounded time. Plans are shared by all batches of one spec, and executed
// by FFTW's new-array functions, which are the only ones that are thread-safe. FFTW's own threads
// and wisdom files are not used.
#include <fftw3.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/aligned_memory.hpp"
#include "base/cache.hpp"
#include "engine/engine.hpp"
#include "engine/spec.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

static_assert(sizeof(std::ptrdiff_t) == sizeof(std::int64_t), "strides of FFTW must have 64 bits");

/// Seconds that FFTW may search for one plan before it falls back to its estimate. The search takes
/// some 0.1 s for a few hundred points; transforms of lanes in place by an estimated plan are up to
/// three times slower than by a searched one.
constexpr double kPlanningSeconds = 0.2;
/// Batches that span more than this are planned by FFTW's estimate, without scratch: such spans
/// come from strides through a whole array, and the array may take all memory.
constexpr std::int64_t kLargestScratchBytes = std::int64_t{64} << 20;

/// FFTW's functions by precision.
template <class Real>
struct Fftw;
template <>
struct Fftw<double> {
  using Plan = fftw_plan;
  using Complex = fftw_complex;
  static constexpr auto plan_c2c = fftw_plan_guru64_dft;
  static constexpr auto plan_r2c = fftw_plan_guru64_dft_r2c;
  static constexpr auto plan_c2r = fftw_plan_guru64_dft_c2r;
  static constexpr auto execute_c2c = fftw_execute_dft;
  static constexpr auto execute_r2c = fftw_execute_dft_r2c;
  static constexpr auto execute_c2r = fftw_execute_dft_c2r;
  static constexpr auto alignment_of = fftw_alignment_of;
  static constexpr auto set_timelimit = fftw_set_timelimit;
  static constexpr auto destroy = fftw_destroy_plan;
};
template <>
struct Fftw<float> {
  using Plan = fftwf_plan;
  using Complex = fftwf_complex;
  static constexpr auto plan_c2c = fftwf_plan_guru64_dft;
  static constexpr auto plan_r2c = fftwf_plan_guru64_dft_r2c;
  static constexpr auto plan_c2r = fftwf_plan_guru64_dft_c2r;
  static constexpr auto execute_c2c = fftwf_execute_dft;
  static constexpr auto execute_r2c = fftwf_execute_dft_r2c;
  static constexpr auto execute_c2r = fftwf_execute_dft_c2r;
  static constexpr auto alignment_of = fftwf_alignment_of;
  static constexpr auto set_timelimit = fftwf_set_timelimit;
  static constexpr auto destroy = fftwf_destroy_plan;
};

/// FFTW's planner, the destruction of plans included, is one global state. Never destroyed, since
/// batches may outlive it.
std::mutex& planner_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// The plans of one spec by the alignment of the bases: FFTW's vector code needs bases aligned like
/// those it was planned with. Cache lines, where tiles begin, get a search. Odd multiples of 8
/// bytes, as in arrays of single-precision complex numbers, and any other address get an estimate.
template <class Real>
class PlanSet {
 public:
  /// The planner's mutex is held.
  explicit PlanSet(const BatchSpec& spec) : spec_(spec) {
    const bool is_large =
        std::max(span_bytes(spec, Side::in), span_bytes(spec, Side::out)) > kLargestScratchBytes;
    const auto scratch = [&](Side side) {
      return AlignedMemory(is_large ? kLineBytes
                                    : static_cast<std::size_t>(span_bytes(spec, side)));
    };
    const AlignedMemory in = scratch(Side::in);
    const AlignedMemory out = spec.in_place ? AlignedMemory() : scratch(Side::out);
    Fftw<Real>::set_timelimit(kPlanningSeconds);
    make_plans(in.data(), spec.in_place ? in.data() : out.data(),
               is_large ? FFTW_ESTIMATE : FFTW_MEASURE);
    Fftw<Real>::set_timelimit(FFTW_NO_TIMELIMIT);
    if (plans_[0][0] != nullptr && any_ != nullptr) return;
    destroy();
    throw Error(ErrorCode::engine_failure, "fftw has no plan for " + to_string(spec));
  }
  ~PlanSet() {
    const std::lock_guard lock(planner_mutex());
    destroy();
  }
  PlanSet(const PlanSet&) = delete;
  PlanSet& operator=(const PlanSet&) = delete;

  void execute(void* in, void* out) const {
    using F = Fftw<Real>;
    const Plan plan = plan_for(in, out);
    switch (spec_.kind) {
      case BatchKind::c2c:
        F::execute_c2c(plan, complex(in), complex(out));
        break;
      case BatchKind::r2c:
        F::execute_r2c(plan, static_cast<Real*>(in), complex(out));
        break;
      case BatchKind::c2r:
        F::execute_c2r(plan, complex(in), static_cast<Real*>(out));
        break;
    }
  }

 private:
  using Plan = typename Fftw<Real>::Plan;

  /// An estimate does not touch the arrays, so their bases may be shifted beyond the scratch.
  void make_plans(std::byte* in, std::byte* out, unsigned effort) {
    plans_[0][0] = plan(in, out, effort);
    plans_[1][1] = plan(in + kShiftBytes, out + kShiftBytes, FFTW_ESTIMATE);
    any_ = plan(in, out, FFTW_UNALIGNED | FFTW_ESTIMATE);
    if (spec_.in_place) return;
    plans_[0][1] = plan(in, out + kShiftBytes, FFTW_ESTIMATE);
    plans_[1][0] = plan(in + kShiftBytes, out, FFTW_ESTIMATE);
  }

  Plan plan_for(void* in, void* out) const {
    const int in_shift = Fftw<Real>::alignment_of(static_cast<Real*>(in));
    const int out_shift = Fftw<Real>::alignment_of(static_cast<Real*>(out));
    const auto is_known = [](int shift) { return shift == 0 || shift == kShiftBytes; };
    if (!is_known(in_shift) || !is_known(out_shift)) return any_;
    const Plan fitting = plans_[in_shift != 0][out_shift != 0];
    return fitting != nullptr ? fitting : any_;
  }

  static auto* complex(void* data) { return static_cast<typename Fftw<Real>::Complex*>(data); }

  Plan plan(void* in, void* out, unsigned flags) const {
    using F = Fftw<Real>;
    const fftw_iodim64 along{spec_.n, spec_.in_stride, spec_.out_stride};
    const fftw_iodim64 across{spec_.count, spec_.in_distance, spec_.out_distance};
    const unsigned keep = FFTW_PRESERVE_INPUT | flags;
    switch (spec_.kind) {
      case BatchKind::c2c: {
        const int sign = spec_.direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD;
        return F::plan_c2c(1, &along, 1, &across, complex(in), complex(out), sign,
                           spec_.in_place ? flags : keep);
      }
      case BatchKind::r2c:
        return F::plan_r2c(1, &along, 1, &across, static_cast<Real*>(in), complex(out), keep);
      case BatchKind::c2r:
        return F::plan_c2r(1, &along, 1, &across, complex(in), static_cast<Real*>(out),
                           flags | FFTW_DESTROY_INPUT);
    }
    return nullptr;
  }

  void destroy() noexcept {
    for (Plan plan : {plans_[0][0], plans_[0][1], plans_[1][0], plans_[1][1], any_})
      if (plan != nullptr) Fftw<Real>::destroy(plan);
  }

  static constexpr int kShiftBytes = 8;  ///< FFTW tells apart addresses modulo 16

  BatchSpec spec_;
  Plan plans_[2][2] = {};  ///< by (address modulo 16) / 8 of in and of out
  Plan any_ = nullptr;
};

/// The plans of `spec`, made unless a batch still has them.
template <class Real>
std::shared_ptr<const PlanSet<Real>> shared_plans(const BatchSpec& spec) {
  static auto* known = new std::map<BatchSpec, std::weak_ptr<const PlanSet<Real>>>;
  // Released after the lock, since the last owner of plans takes the lock to destroy them.
  std::shared_ptr<const PlanSet<Real>> plans;
  const std::lock_guard lock(planner_mutex());
  auto& entry = (*known)[spec];
  plans = entry.lock();
  if (plans == nullptr) {
    plans = std::make_shared<const PlanSet<Real>>(spec);
    entry = plans;
  }
  return plans;
}

template <class Real>
class FftwBatch : public Batch {
 public:
  explicit FftwBatch(const BatchSpec& spec) : plans_(shared_plans<Real>(spec)) {}
  void run(void* in, void* out, void* /*scratch*/) const override { plans_->execute(in, out); }

 private:
  std::shared_ptr<const PlanSet<Real>> plans_;
};

class FftwEngine : public Engine {
 public:
  std::string_view name() const override { return "fftw"; }
  std::string refusal(const BatchSpec& spec) const override { return flaw_of(spec); }
  std::unique_ptr<Batch> make(const BatchSpec& spec) const override {
    const std::string flaw = flaw_of(spec);
    if (!flaw.empty())
      throw Error(ErrorCode::engine_failure, "fftw cannot do " + to_string(spec) + ": " + flaw);
    if (spec.precision == Precision::single) return std::make_unique<FftwBatch<float>>(spec);
    return std::make_unique<FftwBatch<double>>(spec);
  }
};

}  // namespace

const Engine& fftw_engine() {
  static const FftwEngine engine;
  return engine;
}

}  // namespace weft
