// Sweeps: the combinations, and their measurement. sweep_report.cpp shows it.
#include "sweep.hpp"

#include <fmt/format.h>

#include <memory>

#include "bench_run.hpp"

namespace weft::command {
namespace {

/// What a plan can be asked for; shape and element type stay.
const std::vector<std::string>& names() {
  static const std::vector<std::string> names{"chunks",   "fields",     "exchange",      "engine",
                                              "progress", "grid",       "output-grid",   "threads",
                                              "in-place", "low-memory", "shared-arrays", "timeout"};
  return names;
}
constexpr std::size_t kMostCombinations = 1000;

struct Sweep {
  std::string name;
  std::vector<std::string> values;
};

Sweep parse_sweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (std::find(names().begin(), names().end(), name) == names().end())
    throw UsageError(fmt::format("--sweep {}: there is no '{}' to be swept; it may be {}", text,
                                 name, join_choices(names())));
  Sweep sweep{name, {}};
  if (equals != std::string::npos) sweep.values = split_list(text.substr(equals + 1));
  std::vector<std::string> distinct;
  for (const std::string& value : sweep.values)
    if (std::find(distinct.begin(), distinct.end(), value) == distinct.end())
      distinct.push_back(value);
  sweep.values = distinct;
  if (sweep.values.empty())
    throw UsageError(fmt::format("--sweep {} has no values; give some, as in {}=A,B", text, name));
  return sweep;
}

/// `base` with settings, which are read as if they stood on the command line.
Combination with_settings(const SweepArguments& base, std::vector<Setting> settings) {
  Combination result{std::move(settings), base.transform, base.launch};
  CLI::App app;
  result.transform.add_to(app, result.launch);
  result.launch.add_to(app);
  std::vector<std::string> words = {result.transform.shape};
  for (const auto& [name, value] : result.settings)
    words.insert(words.begin(), fmt::format("--{}={}", name, value));
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("--sweep: {}", error.what()));
  }
  return result;
}

/// A combination with its plan. Arrays are views of memory that all have in common, but for those
/// of a plan that is promised its own.
template <class In>
class Candidate {
 public:
  using Out = typename ComplexOf<In>::type;

  /// Without a plan where there can be none; row().reason says why. Collective.
  Candidate(const World& world, const Combination& asked, const Shape& shape) {
    row_.settings = asked.settings;
    try {
      plan_ = std::make_unique<Plan<In>>(world.comm(), shape,
                                         asked.transform.options(asked.launch, world.size()));
    } catch (const UsageError& error) {
      row_.reason = error.what();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::mpi_failure || error.code() == ErrorCode::internal) throw;
      row_.reason = error.what();
    }
    row_.reason = row_.reason.substr(0, row_.reason.find('\n'));
    if (!plan_) return;
    row_.options = plan_->options();
    row_.input_parts = parts_of(plan_->input_layout());
    row_.output_parts = parts_of(plan_->output_layout());
    row_.workspace_bytes = world.sum(plan_->memory().total());
  }

  Sample sample(const World& world) const { return sample_of(world, *plan_, 0); }

  explicit operator bool() const { return plan_ != nullptr; }
  SweepRow& row() { return row_; }

  std::size_t input_bytes() const {
    const std::size_t bytes = bytes_of(plan_->input_field_stride(), sizeof(In));
    return row_.options.in_place ? std::max(bytes, output_bytes()) : bytes;
  }
  std::size_t output_bytes() const { return bytes_of(plan_->output_field_stride(), sizeof(Out)); }
  /// Of at least input_bytes(), and of output_bytes(). Ranks may reach each other's where their
  /// exchange is "shared".
  std::shared_ptr<void> make_input() const {
    const bool suffices = bytes_of(plan_->input_field_stride(), sizeof(In)) >= input_bytes();
    return suffices ? plan_->allocate_input() : allocate_zeroed(input_bytes());
  }
  std::shared_ptr<void> make_output() const { return plan_->allocate_output(); }
  bool may_share() const { return row_.options.exchange == "shared"; }

  /// Makes arrays, in that memory if they may be, and calls once in both directions, whose values
  /// are checked.
  void warm_up(const World& world, std::shared_ptr<void> input, std::shared_ptr<void> output,
               const Shape& shape, const Sample& sample) {
    if (row_.options.shared_arrays) {
      input = plan_->allocate_input();
      output = row_.options.in_place ? input : plan_->allocate_output();
    }
    input_ = std::make_unique<Array<In>>(plan_->input_layout(), world.rank(), row_.options.fields,
                                         plan_->input_field_stride(), input);
    output_ = std::make_unique<Array<Out>>(plan_->output_layout(), world.rank(),
                                           row_.options.fields, plan_->output_field_stride(),
                                           row_.options.in_place ? input : output);
    fill_fields(*input_, shape);
    plan_->forward(*input_, *output_);
    row_.reference_error = reference_error(world, sample, *output_, 0);
    plan_->backward(*output_, *input_);
    row_.roundtrip_error = roundtrip_error(world, *input_, shape);
  }

  /// Both directions once. Collective; returns their seconds.
  double measure(const World& world) {
    row_.forward.seconds.push_back(
        slowest_seconds(world, [&] { plan_->forward(*input_, *output_); }));
    row_.backward.seconds.push_back(
        slowest_seconds(world, [&] { plan_->backward(*output_, *input_); }));
    return row_.forward.seconds.back() + row_.backward.seconds.back();
  }

 private:
  std::size_t bytes_of(std::int64_t field_stride, std::size_t element_bytes) const {
    return static_cast<std::size_t>(field_stride * row_.options.fields) * element_bytes;
  }

  SweepRow row_;
  std::unique_ptr<Plan<In>> plan_;
  std::unique_ptr<Array<In>> input_;
  std::unique_ptr<Array<Out>> output_;
};

/// In rounds, of which each begins with another candidate.
template <class In>
void measure_in_turns(const World& world, std::vector<Candidate<In>*> candidates, int asked) {
  double seconds = 0;
  for (Candidate<In>* candidate : candidates) seconds += candidate->measure(world);
  const int rounds = repetitions(asked, seconds / static_cast<double>(candidates.size()));
  for (int round = 1; round < rounds; ++round) {
    std::rotate(candidates.begin(), candidates.begin() + 1, candidates.end());
    for (Candidate<In>* candidate : candidates) candidate->measure(world);
  }
}

/// Of those that want most of what `bytes_of` tells, one whose ranks may reach each other's arrays,
/// if there is one.
template <class In>
const Candidate<In>& maker_for_all(const std::vector<Candidate<In>*>& planned,
                                   std::size_t (Candidate<In>::*bytes_of)() const) {
  return **std::ranges::max_element(planned, {}, [&](const Candidate<In>* candidate) {
    return std::pair((candidate->*bytes_of)(), candidate->may_share());
  });
}

template <class In>
std::vector<SweepRow> measure(const World& world, const std::vector<Combination>& combinations,
                              const Shape& shape, int repeat) {
  std::vector<std::unique_ptr<Candidate<In>>> all;
  std::vector<Candidate<In>*> planned;
  for (const Combination& combination : combinations) {
    all.push_back(std::make_unique<Candidate<In>>(world, combination, shape));
    if (*all.back()) planned.push_back(all.back().get());
  }
  if (!planned.empty()) {
    const auto input = maker_for_all(planned, &Candidate<In>::input_bytes).make_input();
    const auto output = maker_for_all(planned, &Candidate<In>::output_bytes).make_output();
    const Sample sample = planned.front()->sample(world);
    for (Candidate<In>* candidate : planned)
      candidate->warm_up(world, input, output, shape, sample);
    measure_in_turns(world, planned, repeat);
  }
  std::vector<SweepRow> rows;
  for (auto& candidate : all) rows.push_back(std::move(candidate->row()));
  return rows;
}

/// Throws Error(internal) when a combination gives wrong values.
void check_values(const SweepResult& result) {
  const double largest = largest_error(result.arguments);
  for (const SweepRow& row : result.rows) {
    if (row.roundtrip_error <= largest && row.reference_error <= largest) continue;
    std::string text;
    for (const auto& [name, value] : row.settings) text += fmt::format(" {}={}", name, value);
    throw Error(ErrorCode::internal,
                fmt::format("the values are wrong with{}: round trip {:.2g}, against the direct "
                            "sum {:.2g}",
                            text, row.roundtrip_error, row.reference_error));
  }
}

}  // namespace

std::vector<Combination> combinations_of(const SweepArguments& arguments) {
  std::vector<std::vector<Setting>> all = {{}};
  std::vector<std::string> swept;
  for (const std::string& text : arguments.sweeps) {
    const Sweep sweep = parse_sweep(text);
    if (std::find(swept.begin(), swept.end(), sweep.name) != swept.end())
      throw UsageError(
          fmt::format("--sweep {}: {} is swept twice; give all values at once", text, sweep.name));
    swept.push_back(sweep.name);
    std::vector<std::vector<Setting>> longer;
    for (const auto& settings : all)
      for (const std::string& value : sweep.values) {
        longer.push_back(settings);
        longer.back().emplace_back(sweep.name, value);
      }
    all = std::move(longer);
    if (all.size() > kMostCombinations)
      throw UsageError(
          fmt::format("--sweep: more than {} combinations; sweep less at once", kMostCombinations));
  }
  std::vector<Combination> result;
  for (auto& settings : all) result.push_back(with_settings(arguments, std::move(settings)));
  return result;
}

bool sweeps_to_thread(const std::string& sweep) {
  if (!sweep.starts_with("progress=")) return false;
  const std::vector<std::string> values = split_list(sweep.substr(sweep.find('=') + 1));
  return std::find(values.begin(), values.end(), "thread") != values.end();
}

int run_sweep(const World& world, const SweepArguments& arguments,
              const PublishArguments& publish_arguments) {
  const std::vector<Combination> combinations = combinations_of(arguments);
  SweepResult result;
  result.arguments = arguments.transform;
  result.shape = arguments.transform.global_shape();
  result.ranks = world.size();
  const bool single = result.arguments.is_single();
  const bool real = result.arguments.is_real();
  const auto run = [&]<class In>(In) {
    result.rows = measure<In>(world, combinations, result.shape, arguments.repeat);
  };
  if (single)
    real ? run(float{}) : run(std::complex<float>{});
  else
    real ? run(double{}) : run(std::complex<double>{});
  const bool any = result.best(Direction::forward) >= 0;
  publish(world, {publish_arguments.json, any ? publish_arguments.plot : ""}, sweep_table(result),
          sweep_json(result), "sweep.py");
  if (!any) return world.fail("--sweep: none of the combinations can be planned", kFailure);
  check_values(result);
  return kSuccess;
}

}  // namespace weft::command
