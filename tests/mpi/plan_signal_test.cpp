// Plans on signals whose transforms are known in closed form, and laws that every Fourier transform
// obeys, at sizes that are too large for direct sums: single modes, impulses, shifts, linearity.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using test::Value;
using Complex = std::complex<double>;

/// exp(sign * 2 pi i sum_a k_a j_a / n_a), the phases reduced exactly.
class Wave {
 public:
  Wave(const Shape& shape, const Index& mode, int sign) : shape_(shape), mode_(mode) {
    for (std::int64_t n : shape) roots_.push_back(test::roots_of_unity(n, sign));
  }
  Value operator()(const Index& index) const {
    Value value = 1;
    for (int axis = 0; axis < shape_.size(); ++axis) {
      const std::int64_t phase = index[axis] * mode_[axis] % shape_[axis];
      value *= roots_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(phase)];
    }
    return value;
  }

 private:
  Shape shape_;
  Index mode_;
  std::vector<std::vector<Value>> roots_;
};

/// The index whose sum with `index` is a multiple of the shape along every axis.
Index mirrored(const Index& index, const Shape& shape) {
  Index result = index;
  for (int axis = 0; axis < shape.size(); ++axis)
    result[axis] = (shape[axis] - index[axis]) % shape[axis];
  return result;
}

using Case = std::tuple<Shape, std::string>;

class Signals : public ::testing::TestWithParam<Case> {
 protected:
  const Shape& shape() const { return std::get<0>(GetParam()); }
  long double points() const { return static_cast<long double>(shape().product()); }
  Options options() const {
    Options options;
    options.exchange = std::get<1>(GetParam());
    options.input.grid = test::even_grid(shape().size(), 2, testing::world().size());
    return options;
  }
  /// The largest error allowed for results of the rms `scale`.
  long double allowed(long double scale) const {
    return scale * test::tolerance(Precision::double_, points());
  }

  template <class T>
  static long double worst_error(const Array<T>& array,
                                 const std::function<Value(const Index&)>& expected) {
    long double worst = 0;
    array.for_each([&](const Index& index, const T& element) {
      worst = std::max(worst, std::abs(Value(element) - expected(index)));
    });
    return worst;
  }

  std::vector<Index> some_modes() const {
    Index nothing = Extents::filled(shape().size(), 0);
    Index last = shape();
    Index middle = shape();
    for (std::int64_t& k : last) --k;
    for (std::int64_t& k : middle) k /= 2;
    Index mixed = nothing;
    for (int axis = 0; axis < mixed.size(); ++axis) mixed[axis] = (3 * axis + 2) % shape()[axis];
    return {nothing, last, middle, mixed};
  }
};

TEST_P(Signals, AComplexModeBecomesOnePeak) {
  Plan<Complex> plan(MPI_COMM_WORLD, shape(), options());
  auto input = plan.make_input();
  auto output = plan.make_output();
  for (const Index& mode : some_modes()) {
    const Wave wave(shape(), mode, +1);
    input.fill([&](const Index& index) { return Complex(wave(index)); });
    plan.forward(input, output);
    const auto peak = [&](const Index& k) { return k == mode ? Value(points()) : Value(0); };
    // All the energy is in one point, so the rms is sqrt(N); that point has N itself, rounded.
    const long double rounding = 4 * std::numeric_limits<double>::epsilon() * points();
    EXPECT_LE(worst_error(output, peak), std::max(rounding, allowed(std::sqrt(points()))))
        << to_string(mode);
  }
}

TEST_P(Signals, ACosineBecomesTwoHalfPeaks) {
  Plan<double> plan(MPI_COMM_WORLD, shape(), options());
  auto input = plan.make_input();
  auto output = plan.make_output();
  for (const Index& mode : some_modes()) {
    const Wave wave(shape(), mode, +1);
    const Index mirror = mirrored(mode, shape());
    input.fill([&](const Index& index) { return static_cast<double>(wave(index).real()); });
    plan.forward(input, output);
    const auto peaks = [&](const Index& k) {
      return Value((k == mode ? points() / 2 : 0) + (k == mirror ? points() / 2 : 0));
    };
    EXPECT_LE(worst_error(output, peaks), allowed(std::sqrt(points()))) << to_string(mode);
  }
}

TEST_P(Signals, AnImpulseBecomesAWave) {
  Plan<Complex> plan(MPI_COMM_WORLD, shape(), options());
  Plan<double> real_plan(MPI_COMM_WORLD, shape(), options());
  auto input = plan.make_input();
  auto output = plan.make_output();
  auto real_input = real_plan.make_input();
  auto real_output = real_plan.make_output();
  for (const Index& place : some_modes()) {
    const Wave wave(shape(), place, -1);
    const auto impulse = [&](const Index& index) { return index == place ? 1.0 : 0.0; };
    input.fill(impulse);
    real_input.fill(impulse);
    plan.forward(input, output);
    real_plan.forward(real_input, real_output);
    EXPECT_LE(worst_error(output, wave), allowed(1)) << to_string(place);
    EXPECT_LE(worst_error(real_output, wave), allowed(1)) << to_string(place);
  }
}

TEST_P(Signals, AShiftBecomesAPhase) {
  Plan<Complex> plan(MPI_COMM_WORLD, shape(), options());
  auto input = plan.make_input();
  auto output = plan.make_output();
  auto shifted_output = plan.make_output();
  const Index shift = some_modes().back();
  const auto signal = [](const Index& index) {
    return Complex(static_cast<double>(test::sample(index, 0, 0)),
                   static_cast<double>(test::sample(index, 0, 1)));
  };
  input.fill(signal);
  plan.forward(input, output);
  input.fill([&](const Index& index) {
    Index from = index;
    for (int axis = 0; axis < from.size(); ++axis)
      from[axis] = (index[axis] - shift[axis] + shape()[axis]) % shape()[axis];
    return signal(from);
  });
  plan.forward(input, shifted_output);
  const Wave phase(shape(), shift, -1);
  const auto expected = [&](const Index& k) { return phase(k) * Value(output(k)); };
  EXPECT_LE(worst_error(shifted_output, expected), 2 * allowed(2 * std::sqrt(points())));
}

TEST_P(Signals, TheTransformOfASumIsTheSumOfTheTransforms) {
  Plan<double> plan(MPI_COMM_WORLD, shape(), options());
  auto input = plan.make_input();
  auto first = plan.make_output();
  auto second = plan.make_output();
  auto both = plan.make_output();
  const auto signal = [](int field) {
    return
        [field](const Index& index) { return static_cast<double>(test::sample(index, field, 0)); };
  };
  input.fill(signal(0));
  plan.forward(input, first);
  input.fill(signal(1));
  plan.forward(input, second);
  input.fill([&](const Index& index) { return 0.75 * signal(0)(index) - 3 * signal(1)(index); });
  plan.forward(input, both);
  const auto expected = [&](const Index& k) {
    return Value(0.75) * Value(first(k)) - Value(3) * Value(second(k));
  };
  EXPECT_LE(worst_error(both, expected), allowed(8 * std::sqrt(points())));
}

/// exp(2 pi i j k / n) for all j < n.
std::vector<Complex> wave_along(std::int64_t n, std::int64_t k) {
  const std::vector<Value> roots = test::roots_of_unity(n, +1);
  std::vector<Complex> wave;
  for (std::int64_t j = 0; j < n; ++j)
    wave.emplace_back(roots[static_cast<std::size_t>(j * k % n)]);
  return wave;
}

/// The mode, or with reals the real part of it, forward and backward, in and out of place.
template <class Input>
void expect_mode_to_become_a_peak(const Shape& shape, const Index& mode, Options options = {}) {
  constexpr bool kIsReal = std::is_same_v<Input, double>;
  const auto peak = static_cast<double>(shape.product()) / (kIsReal ? 2 : 1);
  std::vector<std::vector<Complex>> waves;
  for (int axis = 0; axis < shape.size(); ++axis)
    waves.push_back(wave_along(shape[axis], mode[axis]));
  const auto wave = [&](const Index& index) {
    Complex value = 1;
    for (int axis = 0; axis < shape.size(); ++axis)
      value *= waves[static_cast<std::size_t>(axis)][static_cast<std::size_t>(index[axis])];
    if constexpr (kIsReal)
      return value.real();
    else
      return value;
  };
  for (const bool in_place : {false, true}) {
    options.in_place = in_place;
    options.engine = engines().front();
    Plan<Input> plan(MPI_COMM_WORLD, shape, options);
    auto input = plan.make_input();
    auto output = in_place ? plan.output_in(input) : plan.make_output();
    input.fill(wave);
    plan.forward(input, output);
    double worst = 0;
    output.for_each([&](const Index& k, const Complex& element) {
      worst = std::max(worst, std::abs(element - (k == mode ? peak : 0)));
    });
    EXPECT_LE(worst, 2e-13 * peak) << (in_place ? "in place" : "out of place");
    plan.backward(output, input);
    worst = 0;
    input.for_each([&](const Index& index, const Input& element) {
      worst = std::max(worst, std::abs(element - wave(index)));
    });
    EXPECT_LE(worst, 1e-13) << (in_place ? "in place" : "out of place");
  }
}

// Arrays larger than the cache take other ways: stores past the cache, stages one after another.
TEST(LargeSignals, AModeBecomesAPeakAndAModeAgain) {
  expect_mode_to_become_a_peak<Complex>({4, 1024, 640}, {3, 300, 77});
}

// So do pencils that are longer than it: their axis is transformed in two passes.
template <class Input>
void expect_long_modes_to_become_peaks() {
  expect_mode_to_become_a_peak<Input>({32768, 150}, {12345, 70});
  expect_mode_to_become_a_peak<Input>({8192, 40, 6}, {4321, 39, 2});
  const auto expect_in_two_dimensions = [](Options options) {
    expect_mode_to_become_a_peak<Input>({2048, 66}, {1000, 31}, options);
    // With more ranks than that some have no result.
    expect_mode_to_become_a_peak<Input>({4096, 5}, {1234, 1}, options);
    options.input.grid = options.output.grid = {testing::world().size(), 1};
    expect_mode_to_become_a_peak<Input>({2048, 66}, {1000, 31}, options);
  };
  for (const std::string& exchange : test::auto_and_exchanges_for_any_shape()) {
    SCOPED_TRACE(exchange);
    Options options;
    options.exchange = exchange;
    expect_in_two_dimensions(options);
  }
  Options options;
  options.shared_arrays = true;
  expect_in_two_dimensions(options);
}
TEST(LargeSignals, AModeOfALongAxisBecomesAPeakAndAModeAgain) {
  expect_long_modes_to_become_peaks<Complex>();
}
// On two ranks the rows of the result compete in the cache: few of them have their home there.
TEST(LargeSignals, AModeAlongRowsThatCompeteBecomesAPeakAndAModeAgain) {
  Options options;
  expect_mode_to_become_a_peak<Complex>({16384, 512}, {12345, 300}, options);
  options.input.grid = options.output.grid = {testing::world().size(), 1};
  expect_mode_to_become_a_peak<Complex>({16384, 512}, {12345, 300}, options);
  options.shared_arrays = true;
  expect_mode_to_become_a_peak<Complex>({16384, 512}, {12345, 300}, options);
  expect_mode_to_become_a_peak<double>({16384, 512}, {12345, 200}, options);
}
TEST(LargeSignals, ARealModeOfALongAxisBecomesAPeakAndAModeAgain) {
  expect_long_modes_to_become_peaks<double>();
}

// What stays on its rank waits at the end of the array that the last pass writes slice after slice.
TEST(LargeSignals, SlicesAreWrittenBehindThoseThatWaitInTheirArray) {
  const int ranks = testing::world().size();
  const Shape shape{48 * ranks + 1, 100, 72};
  for (const int threads : {1, 2})
    for (const int fields : {1, 2}) {
      Options options;
      options.threads = threads;
      options.fields = fields;
      options.engine = engines().front();
      options.input.grid = test::even_grid(3, 1, ranks);
      Plan<Complex> plan(MPI_COMM_WORLD, shape, options);
      auto input = plan.make_input();
      auto output = plan.make_output();
      const auto signal = [](int field) {
        return [field](const Index& index) {
          return Complex(Value(test::sample(index, field, 0), test::sample(index, field, 1)));
        };
      };
      for (int field = 0; field < fields; ++field) input.fill(signal(field), field);
      plan.forward(input, output);
      for (int field = 0; field < fields; ++field)
        input.fill([](const Index&) { return Complex(0); }, field);
      plan.backward(output, input);
      for (int field = 0; field < fields; ++field) {
        double worst = 0;
        const auto compare = [&](const Index& index, const Complex& element) {
          worst = std::max(worst, std::abs(element - signal(field)(index)));
        };
        input.for_each(compare, field);
        EXPECT_LE(worst, 1e-13) << threads << " threads, field " << field << " of " << fields;
      }
    }
}

void expect_cosine_to_become_a_peak(const Shape& shape, const Index& mode,
                                    const std::string& engine) {
  SCOPED_TRACE(to_string(shape) + " " + engine);
  const auto points = static_cast<double>(shape.product());
  std::vector<std::vector<Complex>> waves;
  for (int axis = 0; axis < 3; ++axis) waves.push_back(wave_along(shape[axis], mode[axis]));
  const auto cosine = [&](const Index& index) {
    Complex value = 1;
    for (int axis = 0; axis < 3; ++axis)
      value *= waves[static_cast<std::size_t>(axis)][static_cast<std::size_t>(index[axis])];
    return value.real();
  };
  Options options;
  options.engine = engine;
  Plan<double> plan(MPI_COMM_WORLD, shape, options);
  auto input = plan.make_input();
  auto output = plan.make_output();
  input.fill(cosine);
  plan.forward(input, output);
  double worst = 0;
  output.for_each([&](const Index& k, const Complex& element) {
    worst = std::max(worst, std::abs(element - (k == mode ? points / 2 : 0)));
  });
  EXPECT_LE(worst, 1e-13 * points);
  plan.backward(output, input);
  worst = 0;
  input.for_each([&](const Index& index, double element) {
    worst = std::max(worst, std::abs(element - cosine(index)));
  });
  EXPECT_LE(worst, 1e-13);
}

TEST(LargeSignals, ACosineBecomesAPeakAndACosineAgain) {
  expect_cosine_to_become_a_peak({3, 1030, 1200}, {1, 500, 333}, engines().front());
}

// Slices that wait in the real array, and are transformed there, if they take about half of the
// cache: those of 256 rows for one of 1 MiB, of 362 for one of 2.
TEST(LargeSignals, ACosineOfAnyLengthBecomesAPeakAndACosineAgain) {
  for (const std::string& engine : engines()) {
    for (const std::int64_t n : {128, 180, 256, 362})
      expect_cosine_to_become_a_peak({5, n + 1, n}, {2, 111, 37}, engine);
    expect_cosine_to_become_a_peak({5, 243, 241}, {2, 111, 37}, engine);
  }
}

// What stays on its rank waits in the real array, a little nearer to each slice than to the one
// before it.
TEST(LargeSignals, ACosineAlongALongAxisBecomesAPeakAndACosineAgain) {
  expect_cosine_to_become_a_peak({258, 64, 64}, {111, 11, 7}, engines().front());
}

INSTANTIATE_TEST_SUITE_P(
    , Signals,
    ::testing::Combine(::testing::Values(Shape{32, 24, 20}, Shape{17, 30, 23}, Shape{128, 60},
                                         Shape{3000}),
                       ::testing::ValuesIn(test::auto_and_exchanges_for_any_shape())),
    [](const auto& test) {
      return to_string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
    });

}  // namespace
}  // namespace weft
