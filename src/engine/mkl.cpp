// The engine MKL: one committed DFTI descriptor per batch. MKL plans by its own tables, quickly and
// without touching data. A committed descriptor is only read by the compute functions, so threads
// share it; MKL's own threads are not used.
#include <mkl_dfti.h>
#include <mkl_version.h>

#include <array>
#include <utility>

#include "engine/engine.hpp"
#include "engine/spec.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

static_assert(sizeof(MKL_LONG) == sizeof(std::int64_t), "strides of MKL must have 64 bits");

void check(MKL_LONG status, const char* call, const BatchSpec& spec) {
  if (status == DFTI_NO_ERROR) return;
  throw Error(ErrorCode::engine_failure, std::string("mkl: ") + call + " failed for " +
                                             to_string(spec) + ": " + DftiErrorMessage(status));
}

/// The parameters that describe one side of a batch.
struct SideKeys {
  DFTI_CONFIG_PARAM strides;
  DFTI_CONFIG_PARAM distance;
};

// New versions of MKL name the sides by domain (that of the forward input is "forward"), old ones
// by role.
#if INTEL_MKL_VERSION >= 20260000
constexpr SideKeys kForwardDomain{DFTI_FWD_STRIDES, DFTI_FWD_DISTANCE};
constexpr SideKeys kBackwardDomain{DFTI_BWD_STRIDES, DFTI_BWD_DISTANCE};
SideKeys in_keys(Direction direction) {
  return direction == Direction::forward ? kForwardDomain : kBackwardDomain;
}
SideKeys out_keys(Direction direction) {
  return direction == Direction::forward ? kBackwardDomain : kForwardDomain;
}
#else
SideKeys in_keys(Direction) { return {DFTI_INPUT_STRIDES, DFTI_INPUT_DISTANCE}; }
SideKeys out_keys(Direction) { return {DFTI_OUTPUT_STRIDES, DFTI_OUTPUT_DISTANCE}; }
#endif

/// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(const BatchSpec& spec) {
    const DFTI_CONFIG_VALUE precision =
        spec.precision == Precision::double_ ? DFTI_DOUBLE : DFTI_SINGLE;
    const DFTI_CONFIG_VALUE domain = spec.kind == BatchKind::c2c ? DFTI_COMPLEX : DFTI_REAL;
    check(DftiCreateDescriptor(&handle_, precision, domain, 1, static_cast<MKL_LONG>(spec.n)),
          "DftiCreateDescriptor", spec);
  }
  ~Descriptor() { DftiFreeDescriptor(&handle_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  DFTI_DESCRIPTOR_HANDLE get() const noexcept { return handle_; }

 private:
  DFTI_DESCRIPTOR_HANDLE handle_ = nullptr;
};

class MklBatch : public Batch {
 public:
  explicit MklBatch(const BatchSpec& spec) : spec_(spec), descriptor_(spec) {
    set("DFTI_PLACEMENT", DFTI_PLACEMENT, spec.in_place ? DFTI_INPLACE : DFTI_NOT_INPLACE);
    if (spec.kind != BatchKind::c2c)
      set("DFTI_CONJUGATE_EVEN_STORAGE", DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX);
    set("DFTI_NUMBER_OF_TRANSFORMS", DFTI_NUMBER_OF_TRANSFORMS, static_cast<MKL_LONG>(spec.count));
    set("DFTI_THREAD_LIMIT", DFTI_THREAD_LIMIT, static_cast<MKL_LONG>(1));
    set_side(in_keys(spec.direction), spec.in_stride, spec.in_distance);
    set_side(out_keys(spec.direction), spec.out_stride, spec.out_distance);
    check(DftiCommitDescriptor(descriptor_.get()), "DftiCommitDescriptor", spec_);
  }

  void run(void* in, void* out, void* /*scratch*/) const override {
    const bool is_forward = spec_.direction == Direction::forward;
    const auto compute = is_forward ? &DftiComputeForward : &DftiComputeBackward;
    const MKL_LONG status =
        spec_.in_place ? compute(descriptor_.get(), in) : compute(descriptor_.get(), in, out);
    if (status != DFTI_NO_ERROR)
      check(status, is_forward ? "DftiComputeForward" : "DftiComputeBackward", spec_);
  }

 private:
  template <class Value>
  void set(const char* name, DFTI_CONFIG_PARAM parameter, Value value) {
    const MKL_LONG status = DftiSetValue(descriptor_.get(), parameter, value);
    if (status != DFTI_NO_ERROR) check(status, name, spec_);
  }

  void set_side(const SideKeys& keys, MKL_LONG stride, MKL_LONG distance) {
    const std::array<MKL_LONG, 2> strides{0, stride};  // the first is an offset
    set("strides", keys.strides, strides.data());
    set("distance", keys.distance, distance);
  }

  BatchSpec spec_;
  Descriptor descriptor_;
};

class MklEngine : public Engine {
 public:
  std::string_view name() const override { return "mkl"; }
  std::string refusal(const BatchSpec& spec) const override { return flaw_of(spec); }
  std::unique_ptr<Batch> make(const BatchSpec& spec) const override {
    const std::string flaw = flaw_of(spec);
    if (!flaw.empty())
      throw Error(ErrorCode::engine_failure, "mkl cannot do " + to_string(spec) + ": " + flaw);
    return std::make_unique<MklBatch>(spec);
  }
};

}  // namespace

const Engine& mkl_engine() {
  static const MklEngine engine;
  return engine;
}

}  // namespace weft
