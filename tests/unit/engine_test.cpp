// Every engine of this build against a direct sum in long double: lengths, batch shapes, placement,
// alignment, precision. Also that one batch serves several threads, that memory beside the batch is
// left alone, and that bad specs are refused.
#include "engine/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <ostream>
#include <thread>
#include <tuple>
#include <vector>

#include "base/aligned_memory.hpp"
#include "weft/error.hpp"
#include "weft/plan.hpp"

namespace weft {
namespace {

constexpr int kMostTransforms = 35;  ///< more than fit into two vector registers
constexpr double kCanary = -77.5;    ///< in all memory that belongs to no element of the batch

struct Complex {
  long double re = 0;
  long double im = 0;
};
using Signal = std::vector<Complex>;

/// Values with few bits, the same in both precisions, that tell their place in the batch.
long double sample(std::int64_t transform, std::int64_t j, int part) {
  const std::int64_t state = (transform * 131 + j * 37 + part * 17 + j * j * 11) % 251;
  return static_cast<long double>(state - 125) / 64;
}

/// What transform `t` reads; for c2r the half that belongs to a real signal (its first and, for
/// even n, last point real).
Signal input_of(BatchKind kind, std::int64_t n, int t) {
  const std::int64_t points = kind == BatchKind::c2r ? n / 2 + 1 : n;
  Signal signal(static_cast<std::size_t>(points));
  for (std::int64_t j = 0; j < points; ++j) {
    const bool is_real =
        kind == BatchKind::r2c || (kind == BatchKind::c2r && (j == 0 || 2 * j == n));
    signal[static_cast<std::size_t>(j)] = {sample(t, j, 0), is_real ? 0 : sample(t, j, 1)};
  }
  return signal;
}

/// The transform by its definition, sign -1 forward and +1 backward, without scaling.
Signal direct_sum(const Signal& in, Direction direction, std::int64_t points_out) {
  const auto n = static_cast<std::int64_t>(in.size());
  const long double sign = direction == Direction::forward ? -1 : 1;
  Signal roots(in.size());
  for (std::size_t j = 0; j < in.size(); ++j) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(j) /
                              static_cast<long double>(n);
    roots[j] = {std::cos(angle), sign * std::sin(angle)};
  }
  Signal out(static_cast<std::size_t>(points_out));
  for (std::int64_t k = 0; k < points_out; ++k) {
    Complex sum;
    for (std::int64_t j = 0; j < n; ++j) {
      const Complex x = in[static_cast<std::size_t>(j)];
      const Complex w = roots[static_cast<std::size_t>(j * k % n)];
      sum.re += x.re * w.re - x.im * w.im;
      sum.im += x.re * w.im + x.im * w.re;
    }
    out[static_cast<std::size_t>(k)] = sum;
  }
  return out;
}

/// What transform `t` has to give; computed once per process.
const Signal& expected(BatchKind kind, Direction direction, std::int64_t n, int t) {
  static std::map<std::tuple<BatchKind, Direction, std::int64_t, int>, Signal> known;
  Signal& result = known[{kind, direction, n, t}];
  if (!result.empty()) return result;
  Signal in = input_of(kind, n, t);
  if (kind == BatchKind::c2r) {
    for (std::int64_t j = n / 2 + 1; j < n; ++j) {
      const Complex mirrored = in[static_cast<std::size_t>(n - j)];
      in.push_back({mirrored.re, -mirrored.im});
    }
  }
  result = direct_sum(in, direction, kind == BatchKind::r2c ? n / 2 + 1 : n);
  return result;
}

enum class Arrangement { lanes, rows, rows_to_lanes, lanes_to_rows };

/// One side of a batch in memory: scalars of type Real from `base` on, with canaries around and
/// between.
template <class Real>
class Buffer {
 public:
  Buffer(std::int64_t points, int scalars_per_point, std::int64_t stride, std::int64_t distance,
         std::int64_t count, std::int64_t shift_bytes)
      : points_(points),
        scalars_(scalars_per_point),
        stride_(stride),
        distance_(distance),
        count_(count),
        memory_(
            static_cast<std::size_t>((points * stride + count * distance) * scalars_per_point + 64),
            static_cast<Real>(kCanary)) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const auto to_line = static_cast<std::int64_t>((64 - address % 64) % 64);
    base_ = memory_.data() + (to_line + shift_bytes) / static_cast<std::int64_t>(sizeof(Real));
  }

  Buffer(const Buffer&) = delete;  // a copy would lie at another alignment
  Buffer(Buffer&&) = default;

  Real* base() { return base_; }
  Complex get(std::int64_t t, std::int64_t j) const {
    const Real* scalar = base_ + (j * stride_ + t * distance_) * scalars_;
    return {static_cast<long double>(scalar[0]),
            scalars_ == 2 ? static_cast<long double>(scalar[1]) : 0};
  }
  void set(std::int64_t t, std::int64_t j, Complex value) {
    Real* scalar = base_ + (j * stride_ + t * distance_) * scalars_;
    scalar[0] = static_cast<Real>(value.re);
    if (scalars_ == 2) scalar[1] = static_cast<Real>(value.im);
  }

  /// True when every scalar outside the batch still has its first value.
  bool canaries_live() const {
    std::vector<bool> used(memory_.size(), false);
    for (std::int64_t t = 0; t < count_; ++t) {
      for (std::int64_t j = 0; j < points_; ++j) {
        const auto first = (base_ - memory_.data()) + (j * stride_ + t * distance_) * scalars_;
        std::fill_n(used.begin() + first, scalars_, true);
      }
    }
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (!used[i] && memory_[i] != static_cast<Real>(kCanary)) return false;
    return true;
  }

 private:
  std::int64_t points_, scalars_, stride_, distance_, count_;
  std::vector<Real> memory_;
  Real* base_ = nullptr;
};

struct Case {
  std::string engine;
  Precision precision;
  BatchKind kind;
  Direction direction;
  bool in_place;
  Arrangement arrangement;
};

std::string name_of(const Case& c) {
  const char* kinds[] = {"c2c", "r2c", "c2r"};
  const char* arrangements[] = {"_lanes", "_rows", "_rows_to_lanes", "_lanes_to_rows"};
  return c.engine + "_" + (c.precision == Precision::double_ ? "double_" : "float_") +
         kinds[static_cast<int>(c.kind)] +
         (c.direction == Direction::forward ? "_forward" : "_backward") +
         (c.in_place ? "_in_place" : "_out_of_place") +
         arrangements[static_cast<int>(c.arrangement)];
}
void PrintTo(const Case& c, std::ostream* stream) { *stream << name_of(c); }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& engine : engines())
    for (Precision precision : {Precision::single, Precision::double_})
      for (Arrangement arrangement : {Arrangement::lanes, Arrangement::rows,
                                      Arrangement::rows_to_lanes, Arrangement::lanes_to_rows}) {
        const bool same = arrangement == Arrangement::lanes || arrangement == Arrangement::rows;
        for (Direction direction : {Direction::forward, Direction::backward})
          for (bool in_place : same ? std::vector<bool>{false, true} : std::vector<bool>{false})
            cases.push_back({engine, precision, BatchKind::c2c, direction, in_place, arrangement});
        cases.push_back(
            {engine, precision, BatchKind::r2c, Direction::forward, false, arrangement});
        cases.push_back(
            {engine, precision, BatchKind::c2r, Direction::backward, false, arrangement});
      }
  return cases;
}

/// Lanes: transforms side by side. Rows: one after another, `pad` elements apart, of another length
/// on each side. Or one on one side and the other on the other.
BatchSpec spec_of(const Case& c, std::int64_t n, std::int64_t count) {
  constexpr std::int64_t pad = 3;
  BatchSpec spec{c.kind, c.direction, c.precision, n, count, count, 1, count, 1, c.in_place};
  const bool lanes_in =
      c.arrangement == Arrangement::lanes || c.arrangement == Arrangement::lanes_to_rows;
  const bool lanes_out =
      c.arrangement == Arrangement::lanes || c.arrangement == Arrangement::rows_to_lanes;
  if (!lanes_in) {
    spec.in_stride = 1;
    spec.in_distance = n + pad;
  }
  if (!lanes_out) {
    spec.out_stride = 1;
    spec.out_distance = c.in_place ? n + pad : n + 2 * pad;
  }
  return spec;
}

template <class Real>
class Trial {
 public:
  Trial(const BatchSpec& spec, std::int64_t shift_bytes)
      : spec_(spec),
        in_(spec.kind == BatchKind::c2r ? spec.n / 2 + 1 : spec.n,
            spec.kind == BatchKind::r2c ? 1 : 2, spec.in_stride, spec.in_distance, spec.count,
            shift_bytes),
        out_(points_out(), spec.kind == BatchKind::c2r ? 1 : 2, spec.out_stride, spec.out_distance,
             spec.count, shift_bytes) {
    for (int t = 0; t < static_cast<int>(spec.count); ++t) {
      const Signal signal = input_of(spec.kind, spec.n, t);
      for (std::size_t j = 0; j < signal.size(); ++j)
        in_.set(t, static_cast<std::int64_t>(j), signal[j]);
    }
  }

  void execute(const Batch& batch) {
    const AlignedMemory scratch(static_cast<std::size_t>(batch.scratch_bytes(true)));
    batch.run(in_.base(), spec_.in_place ? in_.base() : out_.base(), scratch.data());
  }

  void check_result() {
    const Buffer<Real>& result = spec_.in_place ? in_ : out_;
    // Values are below 4 and sums below 4 n; a loss of 64 roundings of the sum's root mean square
    // is far from any engine's.
    const long double tolerance = static_cast<long double>(std::numeric_limits<Real>::epsilon()) *
                                  64 * std::sqrt(static_cast<long double>(spec_.n));
    for (int t = 0; t < static_cast<int>(spec_.count); ++t) {
      const Signal& wanted = expected(spec_.kind, spec_.direction, spec_.n, t);
      for (std::int64_t k = 0; k < points_out(); ++k) {
        const Complex got = result.get(t, k);
        const Complex want = wanted[static_cast<std::size_t>(k)];
        ASSERT_NEAR(static_cast<double>(got.re), static_cast<double>(want.re),
                    static_cast<double>(tolerance))
            << "transform " << t << ", real part of point " << k;
        if (spec_.kind == BatchKind::c2r) continue;
        ASSERT_NEAR(static_cast<double>(got.im), static_cast<double>(want.im),
                    static_cast<double>(tolerance))
            << "transform " << t << ", imaginary part of point " << k;
      }
    }
    EXPECT_TRUE(in_.canaries_live());
    EXPECT_TRUE(out_.canaries_live());
  }

  void check_input_unchanged() {
    const Trial fresh(spec_, shift_from(in_));
    for (std::int64_t t = 0; t < spec_.count; ++t) {
      for (std::int64_t j = 0; j < spec_.n; ++j) {
        ASSERT_EQ(in_.get(t, j).re, fresh.in_.get(t, j).re) << "transform " << t << ", point " << j;
        ASSERT_EQ(in_.get(t, j).im, fresh.in_.get(t, j).im) << "transform " << t << ", point " << j;
      }
    }
  }

  bool same_result_as(const Trial& other) const {
    const Buffer<Real>& mine = spec_.in_place ? in_ : out_;
    const Buffer<Real>& theirs = spec_.in_place ? other.in_ : other.out_;
    for (std::int64_t t = 0; t < spec_.count; ++t)
      for (std::int64_t k = 0; k < points_out(); ++k)
        if (mine.get(t, k).re != theirs.get(t, k).re || mine.get(t, k).im != theirs.get(t, k).im)
          return false;
    return true;
  }

 private:
  static std::int64_t shift_from(Buffer<Real>& buffer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(buffer.base()) % 64);
  }
  std::int64_t points_out() const {
    return spec_.kind == BatchKind::r2c ? spec_.n / 2 + 1 : spec_.n;
  }

  BatchSpec spec_;
  Buffer<Real> in_;
  Buffer<Real> out_;
};

class EngineBatch : public testing::TestWithParam<Case> {
 protected:
  template <class Body>
  void for_each_batch(Body&& body) {
    const Case& c = GetParam();
    for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 16, 17, 30, 31, 64, 97, 128, 197, 233, 243, 256}) {
      for (std::int64_t count : {1, 3, 16, kMostTransforms}) {
        if (count > 3 && n > 64 && n != 243) continue;
        SCOPED_TRACE("n=" + std::to_string(n) + " count=" + std::to_string(count));
        const BatchSpec spec = spec_of(c, n, count);
        const Engine& engine = engine_named(c.engine);
        ASSERT_EQ(engine.refusal(spec), "");
        const std::unique_ptr<Batch> batch = engine.make(spec);
        if (c.precision == Precision::single) {
          body(spec, *batch, float{});
        } else {
          body(spec, *batch, double{});
        }
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_P(EngineBatch, AgreesWithDirectSumAtAnyAlignment) {
  for_each_batch([](const BatchSpec& spec, const Batch& batch, auto zero) {
    using Real = decltype(zero);
    for (std::size_t shift : {std::size_t{0}, sizeof(Real), 2 * sizeof(Real), 3 * sizeof(Real)}) {
      SCOPED_TRACE("base misaligned by " + std::to_string(shift) + " bytes");
      Trial<Real> run(spec, static_cast<std::int64_t>(shift));
      run.execute(batch);
      run.check_result();
      if (!spec.in_place && spec.kind != BatchKind::c2r) run.check_input_unchanged();
      if (HasFatalFailure()) return;
    }
  });
}

TEST_P(EngineBatch, ServesSeveralThreadsAtOnce) {
  if (GetParam().arrangement > Arrangement::rows) GTEST_SKIP() << "as lanes and rows";
  for_each_batch([](const BatchSpec& spec, const Batch& batch, auto zero) {
    using Real = decltype(zero);
    Trial<Real> alone(spec, 0);
    alone.execute(batch);
    std::vector<Trial<Real>> runs;
    for (int i = 0; i < 4 * 5; ++i) runs.emplace_back(spec, 0);
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&runs, &batch, thread] {
        for (std::size_t i = 0; i < 5; ++i) runs[thread * 5 + i].execute(batch);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Trial<Real>& run : runs) ASSERT_TRUE(run.same_result_as(alone));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineBatch, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return name_of(test.param); });

class EngineByName : public testing::TestWithParam<std::string> {
 protected:
  const Engine& engine() const { return engine_named(GetParam()); }
};

TEST_P(EngineByName, RefusesSpecsThatMakeNoSense) {
  const std::vector<std::pair<BatchSpec, const char*>> bad = {
      {{.n = 0}, "the length is 0"},
      {{.n = -4}, "the length is -4"},
      {{.n = 8, .count = 0}, "the number of transforms is 0"},
      {{.n = 8, .in_stride = 0}, "must be positive"},
      {{.n = 8, .count = 2, .out_distance = -8}, "must be positive"},
      {{.kind = BatchKind::r2c, .direction = Direction::backward, .n = 8}, "r2c is a forward"},
      {{.kind = BatchKind::c2r, .direction = Direction::forward, .n = 8}, "c2r is a backward"},
      {{.kind = BatchKind::r2c, .n = 8, .in_place = true}, "only c2c"},
      {{.n = 8, .count = 2, .in_distance = 8, .out_distance = 9, .in_place = true}, "same strides"},
      {{.n = 8, .in_stride = std::int64_t{1} << 62}, "does not fit into 64 bits"},
  };
  for (const auto& [spec, reason] : bad) {
    EXPECT_NE(engine().refusal(spec).find(reason), std::string::npos) << engine().refusal(spec);
    try {
      engine().make(spec);
      ADD_FAILURE() << "made a batch that should have been refused: " << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::engine_failure);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
}

TEST_P(EngineByName, PlansBatchesThatSpanMoreThanMemory) {
  // Eight columns through an array of 2^40 elements: planning must not allocate what the strides
  // span.
  const BatchSpec spec{.n = 1024,
                       .count = 8,
                       .in_stride = std::int64_t{1} << 30,
                       .in_distance = 1,
                       .out_stride = 8,
                       .out_distance = 1};
  EXPECT_NE(engine().make(spec), nullptr);
}

TEST_P(EngineByName, MeasuresOnceAndRemembers) {
  // In place, where numbers grow from run to run, and one batch longer than the time that a
  // measurement should take.
  for (const BatchSpec& spec :
       {BatchSpec{.n = 64, .count = 8, .in_stride = 8, .out_stride = 8, .in_place = true},
        BatchSpec{.precision = Precision::single, .n = 128, .in_place = true},
        BatchSpec{.kind = BatchKind::c2r, .direction = Direction::backward, .n = 1 << 18}}) {
    if (!engine().refusal(spec).empty()) continue;
    const double seconds = measure_batch(engine(), spec);
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, 10);
    EXPECT_EQ(measure_batch(engine(), spec), seconds);
  }
}

TEST_P(EngineByName, OutlivesOtherBatchesOfItsSpec) {
  const BatchSpec spec{.n = 4, .in_place = true};
  std::unique_ptr<Batch> first = engine().make(spec);
  const std::unique_ptr<Batch> second = engine().make(spec);
  first.reset();
  std::vector<std::complex<double>> impulse{1, 0, 0, 0};
  const AlignedMemory scratch(static_cast<std::size_t>(second->scratch_bytes(true)));
  second->run(impulse.data(), impulse.data(), scratch.data());
  EXPECT_EQ(impulse, std::vector<std::complex<double>>(4, 1));
}

INSTANTIATE_TEST_SUITE_P(All, EngineByName, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

TEST(EngineTable, NamesEveryEngineOnce) {
  const std::vector<std::string> names = engines();
  ASSERT_EQ(names.size(), engine_table().size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(&engine_named(names[i]), engine_table()[i]);
}

TEST(EngineTable, UnknownNameIsUnavailableAndListsTheNames) {
  try {
    engine_named("abacus");
    FAIL() << "found an engine named abacus";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_NE(std::string(error.what()).find("'abacus'"), std::string::npos) << error.what();
    for (const std::string& name : engines())
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
  }
}

TEST(Ahead, IsDividedAmongAllPartsOfTheWork) {
  std::vector<std::byte> memory(16);
  for (const std::size_t count : {0U, 1U, 3U, 16U})
    for (const std::int64_t parts : {1, 2, 5, 16, 40}) {
      std::vector<std::byte*> rows;
      for (std::size_t i = 0; i < count; ++i) rows.push_back(memory.data() + i);
      const Ahead all{rows, 8};
      std::vector<std::byte*> found;
      constexpr std::int64_t kTogether = 3;  // the last ones may be fewer
      for (std::int64_t part = 0; part < parts; part += kTogether) {
        const Ahead some = all.during(part, part + kTogether, parts);
        EXPECT_EQ(some.bytes, all.bytes);
        found.insert(found.end(), some.rows.begin(), some.rows.end());
      }
      EXPECT_EQ(found, rows) << parts << " parts";
    }
}

}  // namespace
}  // namespace weft
