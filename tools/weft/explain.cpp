// `weft explain`: what a plan would do, without doing it: layouts, steps, messages, bytes and
// memory.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "subcommand.hpp"
#include "units.hpp"
#include "weft/plan.hpp"

namespace weft::command {
namespace {

/// More ranks than this are shown as the first few and the last.
constexpr int kRanksShown = 16;

std::string element_text(Element element) {
  return fmt::format("{}{}", element.precision == Precision::double_ ? "double " : "single ",
                     element.complex ? "complex" : "real");
}

/// "2x1x1 slab", or "explicit boxes".
std::string grid_text(const Layout& layout) {
  if (!layout.grid()) return "explicit boxes";
  std::vector<int> parts;
  int distributed = 0;
  for (int axis = 0; axis < layout.shape().size(); ++axis) {
    parts.push_back(layout.grid()->parts(axis));
    distributed += parts.back() > 1 ? 1 : 0;
  }
  constexpr const char* kNames[] = {"whole", "slabs", "pencils", "bricks"};
  const std::string name =
      distributed <= 3 ? kNames[distributed] : fmt::format("{} axes distributed", distributed);
  return fmt::format("grid {} ({})", fmt::join(parts, "x"), name);
}

std::string layout_line(const char* side, const Layout& layout, Element element) {
  std::int64_t smallest = layout.box(0).volume();
  std::int64_t largest = smallest;
  for (const Box& box : layout.boxes()) {
    smallest = std::min(smallest, box.volume());
    largest = std::max(largest, box.volume());
  }
  return fmt::format("{:<9}{:<16}{:<18}{:<24}memory order {}; {} to {} points per rank\n", side,
                     to_string(layout.shape()), element_text(element), grid_text(layout),
                     fmt::join(layout.order(), ","), smallest, largest);
}

/// What all ranks together do in one step.
struct StepTotals {
  std::int64_t bytes = 0;
  std::int64_t messages = 0;
  std::int64_t off_node = 0;
  std::int64_t messages_off_node = 0;
};

std::string step_line(int number, const Step& step, const StepTotals& totals) {
  std::string what = human_bytes(totals.bytes) + " read and written";
  if (!step.engine.empty()) what += " by " + step.engine;
  if (step.type == Step::Type::exchange) {
    what = fmt::format("{} to other ranks, {}", human_bytes(totals.bytes),
                       counted(totals.messages, "message"));
    if (totals.off_node > 0)
      what += fmt::format(", {} in {} to other nodes", human_bytes(totals.off_node),
                          counted(totals.messages_off_node, "message"));
  }
  return fmt::format("  {:>2}  {:<26}{:<46} -> {}\n", number, step.name, what,
                     grid_text(step.layout));
}

/// Collective.
std::string program_text(const World& world, const AnyPlan& plan, Direction direction) {
  std::string text =
      direction == Direction::forward ? "\nforward, all ranks together\n" : "backward\n";
  int number = 0;
  for (const Step& step : plan.program(direction)) {
    const StepTotals totals{world.sum(step.bytes), world.sum(step.messages),
                            world.sum(step.bytes_off_node), world.sum(step.messages_off_node)};
    text += step_line(++number, step, totals);
  }
  return text;
}

std::string boxes_text(const AnyPlan& plan) {
  std::string text = "\nboxes: rank, input -> output\n";
  const int ranks = plan.input_layout().ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    if (ranks > kRanksShown && rank == kRanksShown - 2) {
      text += fmt::format("  ...   {} more\n", ranks - kRanksShown + 1);
      rank = ranks - 1;
    }
    text += fmt::format("  {:>4}  {} -> {}\n", rank, to_string(plan.input_layout().box(rank)),
                        to_string(plan.output_layout().box(rank)));
  }
  return text;
}

/// Collective.
std::string memory_text(const World& world, const AnyPlan& plan) {
  const PlanMemory memory = plan.memory();
  const std::int64_t fields = plan.options().fields;
  const std::int64_t input = fields * plan.input_field_stride() * plan.input_element().bytes();
  const std::int64_t output = fields * plan.output_field_stride() * plan.output_element().bytes();
  return fmt::format(
      "\nmemory of the largest rank: {} of the plan's own (buffers {}, window {}, tiles {}), input "
      "array {}, output "
      "array {}{}\nmemory of the plan on all ranks: {}\n",
      human_bytes(world.max(memory.total())), human_bytes(world.max(memory.buffers)),
      human_bytes(world.max(memory.window)), human_bytes(world.max(memory.tiles)),
      human_bytes(world.max(input)), human_bytes(world.max(output)),
      plan.options().in_place ? " (one array for both)" : "",
      human_bytes(world.sum(memory.total())));
}

int run_explain(const World& world, const TransformArguments& transform,
                const LaunchArguments& launch) {
  const Precision precision = transform.is_single() ? Precision::single : Precision::double_;
  const Element input{precision, !transform.is_real()};
  const AnyPlan plan(world.comm(), transform.global_shape(), input, Element{precision, true},
                     transform.options(launch, world.size()));
  const Options& options = plan.options();
  std::string text = fmt::format("{} {} {} on {} x {}: exchange {}, engine {}, {}, {}{}\n\n",
                                 transform.shape, transform.kind, transform.precision,
                                 counted(world.size(), "rank"), counted(options.threads, "thread"),
                                 options.exchange, options.engine, counted(options.fields, "field"),
                                 options.low_memory ? "in place, low memory"
                                 : options.in_place ? "in place"
                                                    : "out of place",
                                 options.shared_arrays ? ", shared arrays" : "");
  text += layout_line("input", plan.input_layout(), plan.input_element());
  text += layout_line("output", plan.output_layout(), plan.output_element());
  text += program_text(world, plan, Direction::forward);
  text += program_text(world, plan, Direction::backward);
  text += boxes_text(plan);
  text += memory_text(world, plan);
  if (world.is_first()) fmt::print("{}", text);
  return kSuccess;
}

}  // namespace

Subcommand make_explain(CLI::App& parent) {
  auto transform = std::make_shared<TransformArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "explain", "say what a plan would do: layouts, steps, messages, bytes, memory");
  transform->add_to(*app, *launch);
  launch->add_to(*app);
  return {app, launch, [=](World& world) { return run_explain(world, *transform, *launch); }};
}

}  // namespace weft::command
