// `weft bench`: times a transform and checks its values. Every time is the slowest rank's, from a
// barrier on.
#include "bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "direct_sum.hpp"
#include "memory_bandwidth.hpp"
#include "subcommand.hpp"
#include "timeline.hpp"

namespace weft::command {
namespace {

struct BenchArguments {
  TransformArguments transform;
  int repeat = 0;  ///< 0: as many as take about two seconds
  std::string json;
  std::string timeline;  ///< a file for the trace of one more call
};

/// What one field's values depend on besides the index.
std::uint64_t seed_of(int field) { return 1000 + static_cast<std::uint64_t>(field); }

template <class T>
void fill_fields(Array<T>& array, const Shape& shape) {
  const int last = shape.size() - 1;
  for (int field = 0; field < array.fields(); ++field) {
    const RandomField values(shape, seed_of(field));
    for_each_row(array.box(), [&](const Index& first) {
      T* row = &array(first, field);
      const std::int64_t linear = values.linear(first);
      for (std::int64_t j = 0; j < array.box().extent(last); ++j)
        row[j * array.strides()[last]] = values.at<T>(linear + j);
    });
  }
}

/// max |array - what fill_fields() put there| / max |what it put there|, over all ranks. Values are
/// at most 1, or sqrt 2.
template <class T>
double roundtrip_error(const World& world, const Array<T>& array, const Shape& shape) {
  const int last = shape.size() - 1;
  double error = 0;
  double largest = 0;
  for (int field = 0; field < array.fields(); ++field) {
    const RandomField values(shape, seed_of(field));
    for_each_row(array.box(), [&](const Index& first) {
      const T* row = &array(first, field);
      const std::int64_t linear = values.linear(first);
      for (std::int64_t j = 0; j < array.box().extent(last); ++j) {
        const T expected = values.at<T>(linear + j);
        const double difference = std::abs(row[j * array.strides()[last]] - expected);
        error = difference <= error ? error : difference;  // keeps a NaN
        largest = std::max(largest, static_cast<double>(std::abs(expected)));
      }
    });
  }
  return world.max(std::isnan(error) ? HUGE_VAL : error) / world.max(largest);
}

bool contains(const Box& box, const Index& index) {
  for (int axis = 0; axis < box.dimensions(); ++axis)
    if (index[axis] < box.lower[axis] || index[axis] >= box.upper[axis]) return false;
  return true;
}

/// Compares the last field's spectrum at sampled modes with direct sums.
template <class In, class Out>
void check_reference(const World& world, const Plan<In, Out>& plan, const Array<Out>& spectrum,
                     BenchResult& result) {
  const SampledModes modes =
      sample_modes(result.shape, plan.output_layout().shape(), world.size(), 7);
  const int field = plan.options().fields - 1;
  const RandomField values(result.shape, seed_of(field));
  const ReferenceSpectrum reference =
      direct_sum<In>(world, result.shape, plan.input_layout().box(world.rank()), values, modes);
  const std::vector<Index> indices = modes.indices();
  double error = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!contains(spectrum.box(), indices[i])) continue;
    const auto difference = static_cast<double>(
        std::abs(LongComplex(spectrum(indices[i], field)) - reference.values[i]));
    error = std::max(error, std::isnan(difference) ? HUGE_VAL : difference);
  }
  result.sampled_modes = modes.count();
  result.reference_error = world.max(error) / static_cast<double>(reference.rms);
}

/// Times of one direction, gathered call by call.
class Clock {
 public:
  Clock(const World& world, const AnyPlan& plan, Direction direction)
      : world_(world),
        plan_(plan),
        direction_(direction),
        steps_(plan.program(direction)),
        seconds_(steps_.size()) {}

  template <class Call>
  double time(Call&& call) {
    check_mpi(MPI_Barrier(world_.comm()), "MPI_Barrier");
    const double start = MPI_Wtime();
    call();
    const double slowest = world_.max(MPI_Wtime() - start);
    timing_.seconds.push_back(slowest);
    const std::vector<Step> profile = plan_.profile(direction_);
    for (std::size_t i = 0; i < seconds_.size(); ++i)
      seconds_[i].seconds.push_back(profile.at(i).seconds);
    return slowest;
  }

  /// Collective. Each step's seconds are the median over the calls of the slowest rank's.
  DirectionResult result() const {
    DirectionResult result{timing_, {}};
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Timing slowest = seconds_[i];
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, slowest.seconds.data(),
                              static_cast<int>(slowest.seconds.size()), MPI_DOUBLE, MPI_MAX,
                              world_.comm()),
                "MPI_Allreduce");
      result.steps.push_back({steps_[i], slowest.median(), world_.sum(steps_[i].bytes)});
    }
    return result;
  }

 private:
  const World& world_;
  const AnyPlan& plan_;
  Direction direction_;
  std::vector<Step> steps_;
  Timing timing_;
  std::vector<Timing> seconds_;  ///< [step], of this rank
};

int repetitions(int asked, double seconds_of_one) {
  if (asked > 0) return asked;
  return static_cast<int>(std::clamp(2.0 / std::max(seconds_of_one, 1e-6), 5.0, 100.0));
}

std::vector<int> parts_of(const Layout& layout) {
  std::vector<int> parts;
  if (layout.grid())
    for (int axis = 0; axis < layout.shape().size(); ++axis)
      parts.push_back(layout.grid()->parts(axis));
  return parts;
}

void describe_plan(const World& world, const AnyPlan& plan, BenchResult& result) {
  result.ranks = world.size();
  result.options = plan.options();
  result.input_parts = parts_of(plan.input_layout());
  result.output_parts = parts_of(plan.output_layout());
  result.workspace_bytes = world.sum(plan.memory().total());
  const std::int64_t points_in = plan.input_layout().shape().product();
  const std::int64_t points_out = plan.output_layout().shape().product();
  result.sweep_bytes = result.options.fields * (points_in * plan.input_element().bytes() +
                                                points_out * plan.output_element().bytes());
  for (const Step& step : plan.program(Direction::forward))
    result.sweeps += step.type == Step::Type::compute ? 1 : 0;
}

/// The first forward and backward call warm up and are checked; the rest are timed.
template <class In>
BenchResult measure(const World& world, const BenchArguments& arguments,
                    const LaunchArguments& launch) {
  using Out = typename ComplexOf<In>::type;
  BenchResult result;
  result.arguments = arguments.transform;
  result.shape = arguments.transform.global_shape();
  Plan<In> plan(world.comm(), result.shape, arguments.transform.options(launch, world.size()));
  describe_plan(world, plan, result);

  Array<In> input = plan.make_input();
  Array<Out> output = plan.options().in_place ? plan.output_in(input) : plan.make_output();
  fill_fields(input, result.shape);
  plan.forward(input, output);
  check_reference(world, plan, output, result);
  plan.backward(output, input);
  result.roundtrip_error = roundtrip_error(world, input, result.shape);

  Clock forward(world, plan, Direction::forward);
  Clock backward(world, plan, Direction::backward);
  const auto once = [&] {
    return forward.time([&] { plan.forward(input, output); }) +
           backward.time([&] { plan.backward(output, input); });
  };
  const int count = repetitions(arguments.repeat, once());
  for (int repetition = 1; repetition < count; ++repetition) once();
  result.forward = forward.result();
  result.backward = backward.result();
  result.stream_bytes_per_second = measure_memory_bandwidth(
      world, result.sweep_bytes / world.size() / 2, result.options.threads);
  if (!arguments.timeline.empty())
    result.trace = trace_of(world, plan, [&] { plan.forward(input, output); });
  return result;
}

BenchResult measure_any(const World& world, const BenchArguments& arguments,
                        const LaunchArguments& launch) {
  if (arguments.transform.is_single())
    return arguments.transform.is_real() ? measure<float>(world, arguments, launch)
                                         : measure<std::complex<float>>(world, arguments, launch);
  return arguments.transform.is_real() ? measure<double>(world, arguments, launch)
                                       : measure<std::complex<double>>(world, arguments, launch);
}

void show(const BenchResult& result, const std::string& json) {
  if (json != "-") fmt::print("{}", bench_table(result));
  if (json.empty()) return;
  const std::string text = bench_json(result).dump(2) + "\n";
  if (json == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(json);
  file << text;
  file.close();
  if (!file) throw Error(ErrorCode::io_failure, fmt::format("cannot write the file '{}'", json));
}

/// Far above all rounding, far below what a mistake makes: a fast wrong transform is no result.
bool values_are_right(const BenchResult& result) {
  const double tolerance = result.arguments.is_single() ? 1e-3 : 1e-10;
  return result.roundtrip_error <= tolerance && result.reference_error <= tolerance;
}

int run_bench(const World& world, const BenchArguments& arguments, const LaunchArguments& launch) {
  check_timeline_name(arguments.timeline);
  const BenchResult result = measure_any(world, arguments, launch);
  std::string error;
  try {
    if (world.is_first()) show(result, arguments.json);
  } catch (const Error& failure) {
    error = failure.what();
  }
  error = world.broadcast(error);
  if (error.empty() && !arguments.timeline.empty())
    publish_timeline(world, arguments.timeline, result.trace);
  if (error.empty() && !values_are_right(result))
    error = fmt::format("the values are wrong: round trip {:.2g}, against the direct sum {:.2g}",
                        result.roundtrip_error, result.reference_error);
  return error.empty() ? kSuccess : world.fail(error, kFailure);
}

}  // namespace

Subcommand make_bench(CLI::App& parent) {
  auto arguments = std::make_shared<BenchArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "bench", "time forward and backward transforms, and check their values");
  arguments->transform.add_to(*app, *launch);
  launch->add_to(*app);
  app->add_option("--repeat", arguments->repeat,
                  "timed repetitions (without it: what takes about two seconds, 5 to 100)")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--json", arguments->json,
                  "write the result as JSON to this file, or instead of the table to - (stdout)");
  app->add_option("--timeline", arguments->timeline,
                  "write what one more forward call does when, as a trace for Perfetto, to this\n"
                  ".json, and draw it beside as .png and .svg");
  return {app, launch, [=](World& world) { return run_bench(world, *arguments, *launch); }};
}

}  // namespace weft::command
