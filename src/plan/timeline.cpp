// The timeline of a plan: what the recorder noted in the last call, with the names of the program's
// steps.
#include "weft/timeline.hpp"

#include <algorithm>
#include <new>

#include "plan/implementation.hpp"

namespace weft {
namespace {

/// Which step of AnyPlan::program() each pass and exchange is.
class StepNumbers {
 public:
  explicit StepNumbers(const Program& program) {
    int next = 0;
    for (const Link& link : program.links) {
      first_.push_back(next);
      next += static_cast<int>(link.passes.size());
      exchange_.push_back(next);
      next += link.exchange ? 1 : 0;
    }
  }
  int of(const Recorder::Mark& mark) const {
    const auto link = static_cast<std::size_t>(mark.link);
    return mark.pass < 0 ? exchange_[link] : first_[link] + mark.pass;
  }

 private:
  std::vector<int> first_;
  std::vector<int> exchange_;
};

TimelineEvent event_of(TimelineEvent::Type type, const Recorder::Span& span) {
  TimelineEvent event;
  event.type = type;
  event.field = span.mark.field;
  event.chunk = span.mark.chunk;
  event.task = span.mark.task;
  event.begin = span.begin;
  event.end = span.end;
  return event;
}

}  // namespace

Recorder::Room AnyPlan::Implementation::room_of_recorder() const {
  const auto fields = static_cast<std::size_t>(request.options.fields);
  Recorder::Room room;
  room.threads = request.options.threads;
  room.units = request.options.fields * request.options.chunks;
  for (const OneWay& one : ways) {
    std::size_t tasks = 0;
    for (const Link& link : one.program.links)
      for (const Pass& pass : link.passes) tasks += pass.tasks.size();
    room.tasks = std::max(room.tasks, tasks * fields);
    room.links = std::max(room.links, static_cast<int>(one.program.links.size()));
  }
  return room;
}

void AnyPlan::Implementation::record(bool on) {
  check_idle();
  if (!on) {
    recorder.reset();
  } else if (!recorder) {
    try {
      recorder = std::make_unique<Recorder>(room_of_recorder());
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::out_of_memory,
                  "no memory for the timeline of a plan on rank " + std::to_string(comm.rank()));
    }
  }
}

Timeline AnyPlan::Implementation::timeline() const {
  check_idle();
  if (recorder) return timeline_of(*recorder, recorded_direction);
  Timeline nothing;
  nothing.direction = recorded_direction;
  return nothing;
}

Timeline AnyPlan::Implementation::timeline_of(const Recorder& call, Direction direction) const {
  Timeline result;
  result.direction = direction;
  result.seconds = call.seconds();
  const StepNumbers numbers(last_way(direction).program);
  const std::vector<Step> program = steps(direction, true);
  const auto add = [&](TimelineEvent event, const Recorder::Mark& mark) {
    event.step = numbers.of(mark);
    event.name = program[static_cast<std::size_t>(event.step)].name;
    result.events.push_back(std::move(event));
  };
  for (int thread = 0; thread < request.options.threads; ++thread)
    for (const Recorder::Span& span : call.tasks(thread)) {
      TimelineEvent event = event_of(TimelineEvent::Type::compute, span);
      event.thread = thread;
      add(std::move(event), span.mark);
    }
  for (const Recorder::Span& span : call.exchanges())
    add(event_of(TimelineEvent::Type::exchange, span), span.mark);
  for (const Recorder::Span& span : call.wire()) {
    TimelineEvent event = event_of(TimelineEvent::Type::wire, span);
    event.field = span.mark.chunk / request.options.chunks;
    event.chunk = span.mark.chunk % request.options.chunks;
    add(std::move(event), span.mark);
  }
  std::stable_sort(result.events.begin(), result.events.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return result;
}

}  // namespace weft
