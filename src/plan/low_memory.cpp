// A plan made of plans: which ones, and how they are executed in turns. See low_memory.hpp.
#include "plan/low_memory.hpp"

#include <algorithm>
#include <chrono>

#include "base/cache.hpp"
#include "base/rounding.hpp"

namespace weft {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Padding padding_of(const Layout& layout, int axis) {
  const auto at = static_cast<std::size_t>(axis);
  return at < layout.padding().size() ? layout.padding()[at] : Padding{};
}

// Elements from row to row, when `axis` is whole and contiguous.
std::int64_t row_of(const Layout& layout, int axis) {
  const Padding padding = padding_of(layout, axis);
  return padding.before + layout.shape()[axis] + padding.after;
}

// The padding of `layout`, with another one along `axis`.
std::vector<Padding> padding_with(const Layout& layout, int axis, const Padding& padding) {
  std::vector<Padding> result;
  for (int other = 0; other < layout.shape().size(); ++other)
    result.push_back(other == axis ? padding : padding_of(layout, other));
  return result;
}

// The path without the transform of `axis`, for `width` of its elements.
Path without_axis(const Path& path, int axis, std::int64_t width) {
  Path result;
  result.states.push_back(with_extent(path.states.front(), axis, width));
  for (std::size_t i = 0; i < path.actions.size(); ++i) {
    if (path.actions[i].axis == axis) continue;
    result.actions.push_back(path.actions[i]);
    result.states.push_back(with_extent(path.states[i + 1], axis, width));
  }
  return result;
}

void add_times(const AnyPlan::Implementation::OneWay& one, std::vector<double>& seconds) {
  auto at = seconds.begin();
  for (std::size_t l = 0; l < one.program.links.size(); ++l) {
    for (const double pass : one.times[l].passes) *at++ += pass;
    if (one.program.links[l].exchange) *at++ += one.times[l].exchange;
  }
}

}  // namespace

Parts parts_of(std::int64_t extent, std::int64_t element_bytes) {
  constexpr std::int64_t kFewest = 8;
  constexpr std::int64_t kMost = 16;
  constexpr std::int64_t kEnough = 7;
  const std::int64_t line = kLineBytes / element_bytes;
  // Columns that memory is needed for.
  const auto needed = [&](std::int64_t width) { return width + extent % width; };
  const std::int64_t widest = ceil_div(extent, kFewest * line) * line;
  std::int64_t best = widest;
  for (std::int64_t width = widest; width > 0 && width * kMost >= extent; width -= line) {
    if (needed(best) * kEnough <= extent) break;
    if (needed(width) < needed(best)) best = width;
  }
  best = std::min(best, extent);
  return {best, extent / best, extent % best};
}

LowMemoryPlan::LowMemoryPlan(MPI_Comm user, Request asked)
    : Implementation(user, std::move(asked), ResolveOnly{}),
      axis_(resolved.input_layout.order().back()) {
  comm.agree([&] { check_rows(); });
  const Layout& output = resolved.output_layout;
  before_ = padding_of(output, axis_).before;
  row_ = row_of(output, axis_);
  parts_ = parts_of(output.shape()[axis_], request.output.bytes());
  if (transform_of_rows().transforms()) {
    add_member(rows_request(), request.options.fields);
    if (!parts_transform()) request.options.engine = members_.back().plan->request.options.engine;
  }
  add_member(part_request(parts_.width), request.options.fields * parts_.count);
  const Options& chosen = members_.back().plan->request.options;
  request.options.exchange = chosen.exchange;
  request.options.engine = chosen.engine;
  request.options.threads = chosen.threads;
  if (parts_.rest > 0) add_member(part_request(parts_.rest), request.options.fields);
  add_turns();
  flight->plan = this;
}

// What makes the columns of all parts lie apart, and the rows complete, real ones too.
void LowMemoryPlan::check_rows() const {
  const Layout& input = resolved.input_layout;
  const Layout& output = resolved.output_layout;
  const std::string axis = std::to_string(axis_);
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::unavailable, "low_memory " + why);
  };
  if (output.order().back() != axis_)
    refuse("needs one axis that is contiguous in memory on both sides; here it is axis " + axis +
           " of the input and axis " + std::to_string(output.order().back()) + " of the output");
  for (const Layout* side : {&input, &output})
    if (!side->is_local(axis_))
      refuse("needs axis " + axis + ", which is contiguous in memory, whole on every rank; the " +
             (side == &input ? "input" : "output") + " is cut along it");
  for (std::size_t other = 0; other < resolved.transforms.size(); ++other)
    if (resolved.transforms[other].input_is_real() && static_cast<int>(other) != axis_)
      refuse("needs r2c on axis " + axis + ", which is contiguous in memory; it is on axis " +
             std::to_string(other));
  const auto row_text = [&](const Layout& layout, std::int64_t bytes) {
    return std::to_string(row_of(layout, axis_) * bytes) + " bytes that begin with " +
           std::to_string(padding_of(layout, axis_).before * bytes) + " of padding";
  };
  const std::string before = row_text(input, request.input.bytes());
  const std::string after = row_text(output, request.output.bytes());
  if (before != after)
    refuse("needs rows along axis " + axis +
           " that take as much memory on both sides; the input's take " + before +
           ", the output's " + after);
}

const AxisTransform& LowMemoryPlan::transform_of_rows() const {
  return resolved.transforms[static_cast<std::size_t>(axis_)];
}

std::size_t LowMemoryPlan::first_of_parts() const {
  return transform_of_rows().transforms() ? 1 : 0;
}

bool LowMemoryPlan::parts_transform() const {
  return std::any_of(resolved.transforms.begin(), resolved.transforms.end(),
                     [&](const AxisTransform& transform) {
                       return transform.transforms() && &transform != &transform_of_rows();
                     });
}

// What all members have in common. They transform one field, so that memory is needed for one only.
Request LowMemoryPlan::member_request() const {
  Request member = request;
  member.whole_arrays = false;
  member.options.low_memory = false;
  member.options.fields = 1;
  for (LayoutRequest* side : {&member.options.input, &member.options.output}) {
    side->grid.clear();
    side->box.reset();
  }
  return member;
}

// The result lies as the input does. It is scaled later, in the parts, where that is free.
Request LowMemoryPlan::rows_request() const {
  Request rows = member_request();
  Options& options = rows.options;
  for (std::size_t axis = 0; axis < options.kinds.size(); ++axis)
    if (static_cast<int>(axis) != axis_) options.kinds[axis] = Kind::none;
  if (parts_transform()) options.normalization = Normalization::none;
  const std::int64_t extent = transform_of_rows().output_extent();
  const Layout& input = resolved.path.states.front();
  rows.path = Path{{input, with_extent(input, axis_, extent)}, {{axis_}}};
  options.output.order = options.input.order;
  options.output.padding =
      padding_with(resolved.input_layout, axis_, {before_, row_ - before_ - extent});
  options.exchange = "auto";
  options.progress = Progress::none;
  return rows;
}

Request LowMemoryPlan::part_request(std::int64_t width) const {
  Request part = member_request();
  Options& options = part.options;
  part.input = part.output;
  part.shape[axis_] = width;
  part.path = without_axis(resolved.path, axis_, width);
  part.points_elsewhere = transform_of_rows().unscaled_round_trip();
  options.kinds[static_cast<std::size_t>(axis_)] = Kind::none;
  const Padding padding{before_, row_ - before_ - width};
  options.input.padding = padding_with(resolved.input_layout, axis_, padding);
  options.output.padding = padding_with(resolved.output_layout, axis_, padding);
  if (options.exchange == "none") options.exchange = "auto";  // as the parts before have found
  return part;
}

void LowMemoryPlan::add_member(Request member, std::int64_t turns) {
  Member made;
  made.plan = std::make_unique<Implementation>(comm.get(), std::move(member));
  made.turns = turns;
  for (const Direction direction : {Direction::forward, Direction::backward})
    made.seconds[static_cast<std::size_t>(direction)].resize(
        made.plan->steps(direction, false).size());
  members_.push_back(std::move(made));
}

void LowMemoryPlan::add_turns() {
  const std::int64_t element_bytes = request.output.bytes();
  const std::int64_t field_bytes = resolved.output_field_stride * element_bytes;
  for (int field = 0; field < request.options.fields; ++field) {
    const auto add = [&](std::size_t member, std::int64_t column) {
      Turn turn;
      turn.member = member;
      turn.field = field;
      turn.offset_bytes = field * field_bytes + column * element_bytes;
      turns_.push_back(std::move(turn));
    };
    const std::size_t parts = first_of_parts();
    if (parts > 0) add(0, 0);
    for (std::int64_t part = 0; part < parts_.count; ++part) add(parts, part * parts_.width);
    if (parts_.rest > 0) add(parts + 1, parts_.count * parts_.width);
  }
}

LowMemoryPlan::Turn& LowMemoryPlan::turn() {
  const bool forward = recorded_direction == Direction::forward;
  return turns_[forward ? turn_ : turns_.size() - 1 - turn_];
}

void LowMemoryPlan::start(Direction direction, const void* source, void* sink) {
  check_idle();
  check_arrays(direction, source, sink);
  array_ = static_cast<std::byte*>(sink);
  for (Member& member : members_) {
    std::vector<double>& seconds = member.seconds[static_cast<std::size_t>(direction)];
    std::fill(seconds.begin(), seconds.end(), 0.0);
  }
  ++flight->call;
  flight->under_way = true;
  recorded_direction = direction;
  begin_ = now();
  turn_ = 0;
  begin_turn();
}

void LowMemoryPlan::begin_turn() {
  Implementation& plan = *members_[turn().member].plan;
  turn().begin = now() - begin_;
  plan.recorder = std::move(turn().recorder);
  std::byte* memory = array_ ? array_ + turn().offset_bytes : nullptr;
  plan.start(recorded_direction, memory, memory);
}

void LowMemoryPlan::end_turn() {
  Member& member = members_[turn().member];
  turn().recorder = std::move(member.plan->recorder);
  add_times(member.plan->last_way(recorded_direction),
            member.seconds[static_cast<std::size_t>(recorded_direction)]);
}

void LowMemoryPlan::give_up() {
  failed = true;
  flight->under_way = false;
}

bool LowMemoryPlan::advance(bool wait) {
  try {
    while (turn_ < turns_.size()) {
      if (!members_[turn().member].plan->advance(wait)) return false;
      end_turn();
      if (++turn_ < turns_.size()) begin_turn();
    }
  } catch (const Error& error) {
    give_up();
    throw Error(error.code(), "low_memory, field " + std::to_string(turn().field) + ", turn " +
                                  std::to_string(turn_ + 1) + " of " +
                                  std::to_string(turns_.size()) + ": " + error.what());
  } catch (...) {
    give_up();
    throw;
  }
  flight->under_way = false;
  return true;
}

bool LowMemoryPlan::retire() noexcept {
  bool clean = Implementation::retire();
  for (Member& member : members_) clean = member.plan->retire() && clean;
  return clean;
}

std::vector<std::size_t> LowMemoryPlan::order_of(Direction direction) const {
  std::vector<std::size_t> order;
  for (std::size_t member = 0; member < members_.size(); ++member) order.push_back(member);
  if (direction == Direction::backward) std::reverse(order.begin(), order.end());
  return order;
}

// A step stands for all turns of its member.
std::vector<Step> LowMemoryPlan::steps(Direction direction, bool timed) const {
  std::vector<Step> result;
  for (const std::size_t m : order_of(direction)) {
    const Member& member = members_[m];
    const std::int64_t parts = member.turns / request.options.fields;
    const std::vector<double>& seconds = member.seconds[static_cast<std::size_t>(direction)];
    std::vector<Step> steps = member.plan->steps(direction, false);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      Step& step = steps[s];
      if (m >= first_of_parts()) {
        step.name += parts > 1 ? ", " + std::to_string(parts) + " parts" : ", 1 part";
        step.layout = with_extent(step.layout, axis_, transform_of_rows().output_extent());
      }
      step.bytes *= member.turns;
      step.messages *= member.turns;
      step.bytes_off_node *= member.turns;
      step.messages_off_node *= member.turns;
      step.seconds = timed ? seconds[s] : 0;
      result.push_back(std::move(step));
    }
  }
  return result;
}

PlanMemory LowMemoryPlan::memory() const noexcept {
  PlanMemory total;
  for (const Member& member : members_) {
    const PlanMemory memory = member.plan->memory();
    total.buffers += memory.buffers;
    total.window += memory.window;
    total.tiles += memory.tiles;
    total.timeline += memory.timeline;
  }
  for (const Turn& turn : turns_) total.timeline += turn.recorder ? turn.recorder->bytes() : 0;
  return total;
}

// A recorder keeps one call, so each turn has its own.
void LowMemoryPlan::record(bool on) {
  check_idle();
  for (Turn& turn : turns_) {
    if (!on) turn.recorder.reset();
    if (!on || turn.recorder) continue;
    Implementation& plan = *members_[turn.member].plan;
    plan.record(true);
    turn.recorder = std::move(plan.recorder);
    turn.begin = 0;
  }
}

Timeline LowMemoryPlan::timeline() const {
  check_idle();
  Timeline result;
  result.direction = recorded_direction;
  std::vector<int> first_step(members_.size());
  int next = 0;
  for (const std::size_t member : order_of(recorded_direction)) {
    first_step[member] = next;
    next += static_cast<int>(members_[member].plan->steps(recorded_direction, false).size());
  }
  const std::vector<Step> program = steps(recorded_direction, false);
  for (const Turn& turn : turns_) {
    if (!turn.recorder) continue;
    const Timeline part =
        members_[turn.member].plan->timeline_of(*turn.recorder, recorded_direction);
    result.seconds = std::max(result.seconds, turn.begin + part.seconds);
    for (TimelineEvent event : part.events) {
      event.step += first_step[turn.member];
      event.name = program[static_cast<std::size_t>(event.step)].name;
      event.field = turn.field;
      event.begin += turn.begin;
      event.end += turn.begin;
      result.events.push_back(std::move(event));
    }
  }
  std::stable_sort(result.events.begin(), result.events.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return result;
}

}  // namespace weft
