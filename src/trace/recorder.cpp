// Recorder: spans of time in memory that is reserved beforehand. See recorder.hpp.
#include "trace/recorder.hpp"

namespace weft {

// The rank is busy with an exchange to open it, to start each unit and to await it.
Recorder::Recorder(const Room& room)
    : tasks_(static_cast<std::size_t>(room.threads)), wires_(static_cast<std::size_t>(room.links)) {
  const auto units = static_cast<std::size_t>(room.units);
  for (Track& track : tasks_) track.spans.resize(room.tasks);
  exchanges_.spans.resize(wires_.size() * (2 * units + 1));
  for (Wire& wire : wires_) wire.units.resize(units);
}

void Recorder::begin() {
  for (Track& track : tasks_) track.count = 0;
  exchanges_.count = 0;
  for (Wire& wire : wires_) wire.started = wire.arrived = 0;
  seconds_ = 0;
  start_ = since_epoch();
}

void Recorder::task(int thread, const Mark& mark, double begin) {
  tasks_[static_cast<std::size_t>(thread)].add({mark, begin, now()});
}

void Recorder::exchange(const Mark& mark, double begin) { exchanges_.add({mark, begin, now()}); }

void Recorder::start(int link) {
  Wire& wire = wires_[static_cast<std::size_t>(link)];
  if (wire.started == wire.units.size()) return;
  Span& span = wire.units[wire.started];
  span.mark = {.link = link, .chunk = static_cast<int>(wire.started)};
  span.begin = now();
  ++wire.started;
}

void Recorder::arrive(int link) {
  Wire& wire = wires_[static_cast<std::size_t>(link)];
  if (wire.arrived < wire.started) wire.units[wire.arrived++].end = now();
}

int Recorder::next_on_wire(int link) const {
  const Wire& wire = wires_[static_cast<std::size_t>(link)];
  return wire.arrived < wire.started ? static_cast<int>(wire.arrived) : -1;
}

std::vector<Recorder::Span> Recorder::tasks(int thread) const {
  return tasks_[static_cast<std::size_t>(thread)].recorded();
}

std::vector<Recorder::Span> Recorder::exchanges() const { return exchanges_.recorded(); }

std::vector<Recorder::Span> Recorder::wire() const {
  std::vector<Span> spans;
  for (const Wire& wire : wires_)
    for (std::size_t unit = 0; unit < wire.arrived; ++unit) spans.push_back(wire.units[unit]);
  return spans;
}

std::int64_t Recorder::bytes() const noexcept {
  std::size_t spans = exchanges_.spans.size();
  for (const Track& track : tasks_) spans += track.spans.size();
  for (const Wire& wire : wires_) spans += wire.units.size();
  return static_cast<std::int64_t>(spans * sizeof(Span));
}

}  // namespace weft
