// `weft bench`: times a transform and checks its values. Sweeps over options are sweep.cpp's.
#include "bench.hpp"

#include <fmt/format.h>

#include <utility>

#include "bench_run.hpp"
#include "memory_bandwidth.hpp"
#include "publish.hpp"
#include "subcommand.hpp"
#include "sweep.hpp"
#include "timeline.hpp"

namespace weft::command {
namespace {

struct BenchArguments {
  TransformArguments transform;
  int repeat = 0;                   ///< 0: as many as take about two seconds
  std::vector<std::string> sweeps;  ///< "chunks=1,2,4"
  PublishArguments publish;
  std::string timeline;    ///< a file for the trace of one more call
  bool elsewhere = false;  ///< arrays are not those that the plan makes
};

/// Times of one direction, which has been called before, gathered call by call.
class Clock {
 public:
  Clock(const World& world, const AnyPlan& plan, Direction direction)
      : world_(world),
        plan_(plan),
        direction_(direction),
        steps_(plan.profile(direction)),
        seconds_(steps_.size()) {}

  template <class Call>
  double time(Call&& call) {
    const double slowest = slowest_seconds(world_, call);
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

/// Of input and output together: all fields, all ranks.
std::int64_t bytes_of_arrays(const AnyPlan& plan) {
  return plan.options().fields *
         (plan.input_layout().shape().product() * plan.input_element().bytes() +
          plan.output_layout().shape().product() * plan.output_element().bytes());
}

void describe_plan(const World& world, const AnyPlan& plan, BenchResult& result) {
  result.ranks = world.size();
  result.options = plan.options();
  result.input_parts = parts_of(plan.input_layout());
  result.output_parts = parts_of(plan.output_layout());
  result.workspace_bytes = world.sum(plan.memory().total());
}

/// What the last forward call went through.
void count_passes(const World& world, const AnyPlan& plan, BenchResult& result) {
  for (const Step& step : plan.profile(Direction::forward)) {
    if (step.type != Step::Type::compute) continue;
    ++result.passes;
    result.pass_bytes += world.sum(step.bytes);
  }
}

/// Input and output.
template <class In>
using Arrays = std::pair<Array<In>, Array<typename ComplexOf<In>::type>>;

template <class In>
Arrays<In> arrays_of(const Plan<In>& plan) {
  Array<In> input = plan.make_input();
  return {input, plan.options().in_place ? plan.output_in(input) : plan.make_output()};
}

template <class In>
Arrays<In> arrays_from_elsewhere(const World& world, const Plan<In>& plan) {
  const auto array = [&]<class T>(const Layout& layout, std::int64_t stride, T /*element*/) {
    const int fields = plan.options().fields;
    const auto bytes = static_cast<std::size_t>(fields * stride) * sizeof(T);
    return Array<T>(layout, world.rank(), fields, stride, allocate_zeroed(bytes));
  };
  using Out = typename ComplexOf<In>::type;
  Array<In> input = array(plan.input_layout(), plan.input_field_stride(), In{});
  return {input, plan.options().in_place
                     ? plan.output_in(input)
                     : array(plan.output_layout(), plan.output_field_stride(), Out{})};
}

/// The first forward and backward call warm up and are checked; the rest are timed.
template <class In>
BenchResult measure(const World& world, const BenchArguments& arguments,
                    const LaunchArguments& launch) {
  BenchResult result;
  result.arguments = arguments.transform;
  result.shape = arguments.transform.global_shape();
  Plan<In> plan(world.comm(), result.shape, arguments.transform.options(launch, world.size()));
  describe_plan(world, plan, result);

  result.elsewhere = arguments.elsewhere;
  Arrays<In> arrays = arguments.elsewhere ? arrays_from_elsewhere(world, plan) : arrays_of(plan);
  auto& input = arrays.first;
  auto& output = arrays.second;
  fill_fields(input, result.shape);
  plan.forward(input, output);
  count_passes(world, plan, result);
  const int last_field = plan.options().fields - 1;
  const Sample sample = sample_of(world, plan, last_field);
  result.sampled_modes = sample.modes;
  result.reference_error = reference_error(world, sample, output, last_field);
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
      world, bytes_of_arrays(plan) / world.size() / 2, result.options.threads);
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

bool values_are_right(const BenchResult& result) {
  const double largest = largest_error(result.arguments);
  return result.roundtrip_error <= largest && result.reference_error <= largest;
}

void check_arguments(const BenchArguments& arguments) {
  check_timeline_name(arguments.timeline);
  if (arguments.sweeps.empty() && !arguments.publish.plot.empty())
    throw UsageError("--plot draws what --sweep measures; give one, such as --sweep chunks=1,2,4");
  if (!arguments.sweeps.empty() && !arguments.timeline.empty())
    throw UsageError("--timeline is of one plan; leave --sweep away for it");
  if (!arguments.sweeps.empty() && arguments.elsewhere)
    throw UsageError("--sweep measures with the plans' arrays; leave --arrays-elsewhere away");
  if (arguments.transform.shared_arrays && arguments.elsewhere)
    throw UsageError("--shared-arrays promises the plan's arrays; leave --arrays-elsewhere away");
}

int run_bench(const World& world, const BenchArguments& arguments, const LaunchArguments& launch) {
  check_arguments(arguments);
  if (!arguments.sweeps.empty())
    return run_sweep(world, {arguments.transform, launch, arguments.sweeps, arguments.repeat},
                     arguments.publish);
  const BenchResult result = measure_any(world, arguments, launch);
  publish(world, arguments.publish, world.is_first() ? bench_table(result) : "", bench_json(result),
          "");
  if (!arguments.timeline.empty()) publish_timeline(world, arguments.timeline, result.trace);
  if (values_are_right(result)) return kSuccess;
  return world.fail(
      fmt::format("the values are wrong: round trip {:.2g}, against the direct sum {:.2g}",
                  result.roundtrip_error, result.reference_error),
      kFailure);
}

}  // namespace

Subcommand make_bench(CLI::App& parent) {
  auto arguments = std::make_shared<BenchArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "bench", "time forward and backward transforms, and check their values");
  arguments->transform.add_to(*app, *launch);
  launch->add_to(*app);
  app->add_flag("--arrays-elsewhere", arguments->elsewhere,
                "with arrays that the plan has not made, which other ranks do not reach");
  app->add_option("--repeat", arguments->repeat,
                  "timed repetitions (without it: what takes about two seconds, 5 to 100)")
      ->check(CLI::Range(1, 1000000));
  arguments->publish.add_to(*app);
  app->add_option("--sweep", arguments->sweeps,
                  "NAME=V1,V2,...: measure with each of these values of an option, such as\n"
                  "chunks=1,2,4; more than one --sweep: with all combinations")
      ->allow_extra_args(false)
      ->each([launch](const std::string& text) {
        if (sweeps_to_thread(text)) launch->threads_call_mpi = true;
      });
  app->add_option("--timeline", arguments->timeline,
                  "write what one more forward call does when, as a trace for Perfetto, to this\n"
                  ".json, and draw it beside as .png and .svg");
  return {app, launch, [=](World& world) { return run_bench(world, *arguments, *launch); }};
}

}  // namespace weft::command
