// Traces of a call: each rank makes the events of its own, the first one puts them together.
#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "arguments.hpp"
#include "plot.hpp"
#include "publish.hpp"
#include "transport.hpp"

namespace weft::command {
namespace {

using Json = nlohmann::ordered_json;

/// Tracks of a rank: threads from 0 on, and for each step that is an exchange some from here on,
/// since what overlaps cannot stand on one.
constexpr int kFirstWireTrack = 1000;
constexpr int kTracksOfStep = 1000;
constexpr int kPings = 30;

/// Whether all ranks read one clock.
bool is_one_node(const World& world) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(world.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  int ranks = 0;
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  return world.max(static_cast<double>(world.size() - ranks)) == 0;
}

/// Seconds by which this rank's MPI_Wtime is ahead of the first rank's: by the fastest of some
/// messages to and fro, whose halves are taken to last equally long. Collective.
double clock_offset(const World& world) {
  double offset = 0;
  if (is_one_node(world)) return offset;
  double best = std::numeric_limits<double>::max();
  for (int peer = 1; peer < world.size(); ++peer) {
    for (int ping = 0; ping < kPings; ++ping) {
      double theirs = 0;
      if (world.is_first()) {
        check_mpi(MPI_Recv(nullptr, 0, MPI_CHAR, peer, 0, world.comm(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
        theirs = MPI_Wtime();
        check_mpi(MPI_Send(&theirs, 1, MPI_DOUBLE, peer, 0, world.comm()), "MPI_Send");
      } else if (world.rank() == peer) {
        const double sent = MPI_Wtime();
        check_mpi(MPI_Send(nullptr, 0, MPI_CHAR, 0, 0, world.comm()), "MPI_Send");
        check_mpi(MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, 0, world.comm(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
        const double seconds = MPI_Wtime() - sent;
        if (seconds < best) offset = sent + seconds / 2 - theirs;
        best = std::min(best, seconds);
      }
    }
  }
  return offset;
}

/// The texts of all ranks on the first one, none elsewhere. Collective.
std::vector<std::string> gather(const World& world, const std::string& text) {
  int length = static_cast<int>(text.size());
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<int> lengths(ranks);
  check_mpi(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, world.comm()),
            "MPI_Gather");
  std::vector<std::string> texts;
  if (!world.is_first()) {
    check_mpi(MPI_Send(text.data(), length, MPI_CHAR, 0, 1, world.comm()), "MPI_Send");
    return texts;
  }
  texts.push_back(text);
  for (int rank = 1; rank < world.size(); ++rank) {
    texts.emplace_back(static_cast<std::size_t>(lengths[static_cast<std::size_t>(rank)]), ' ');
    check_mpi(MPI_Recv(texts.back().data(), static_cast<int>(texts.back().size()), MPI_CHAR, rank,
                       1, world.comm(), MPI_STATUS_IGNORE),
              "MPI_Recv");
  }
  return texts;
}

/// Events of one rank, in microseconds, with the names of its tracks.
class RankTrace {
 public:
  RankTrace(int rank, double shift) : rank_(rank), shift_(shift) {
    name("process_name", 0, fmt::format("rank {}", rank));
  }

  void add(const Timeline& timeline) {
    const char* call = timeline.direction == Direction::forward ? "forward" : "backward";
    events_.push_back(span(call, "call", 0, 0, timeline.seconds));
    for (const TimelineEvent& event : timeline.events) {
      Json line = span(event.name, category(event.type), track_of(event), event.begin, event.end);
      line["args"] = {{"field", event.field}, {"chunk", event.chunk}, {"step", event.step}};
      if (event.type == TimelineEvent::Type::compute) line["args"]["task"] = event.task;
      events_.push_back(std::move(line));
    }
  }

  const Json& events() const { return events_; }

 private:
  static const char* category(TimelineEvent::Type type) {
    switch (type) {
      case TimelineEvent::Type::compute:
        return "compute";
      case TimelineEvent::Type::wire:
        return "wire";
      case TimelineEvent::Type::exchange:
        return "exchange";
    }
    return "?";
  }

  Json span(const std::string& name, const char* category, int track, double begin,
            double end) const {
    return {{"name", name},
            {"cat", category},
            {"ph", "X"},
            {"pid", rank_},
            {"tid", track},
            {"ts", 1e6 * (begin + shift_)},
            {"dur", 1e6 * (end - begin)}};
  }

  void name(const char* what, int track, const std::string& text) {
    events_.push_back(
        {{"name", what}, {"ph", "M"}, {"pid", rank_}, {"tid", track}, {"args", {{"name", text}}}});
  }

  /// Units that are on the wire at once stand on tracks of their own.
  int track_of(const TimelineEvent& event) {
    if (event.type == TimelineEvent::Type::exchange) return 0;
    if (event.type == TimelineEvent::Type::compute) {
      for (; threads_ <= event.thread; ++threads_)
        name("thread_name", threads_, fmt::format("thread {}", threads_));
      return event.thread;
    }
    const auto step = static_cast<std::size_t>(event.step);
    if (busy_until_.size() <= step) busy_until_.resize(step + 1);
    std::vector<double>& tracks = busy_until_[step];
    const auto free = std::find_if(tracks.begin(), tracks.end(),
                                   [&](double until) { return until <= event.begin; });
    const auto number = static_cast<int>(free - tracks.begin());
    const int track = kFirstWireTrack + kTracksOfStep * event.step + number;
    if (free == tracks.end()) {
      tracks.push_back(event.end);
      name("thread_name", track, fmt::format("wire of {}", event.name));
    } else {
      *free = event.end;
    }
    return track;
  }

  int rank_;
  double shift_;  ///< of the call's begin, from the trace's
  int threads_ = 0;
  std::vector<std::vector<double>> busy_until_;  ///< [step][track]
  Json events_ = Json::array();
};

Json about(const World& world, const AnyPlan& plan, double seconds) {
  const Options& options = plan.options();
  return {{"shape", to_string(plan.input_layout().shape())},
          {"ranks", world.size()},
          {"threads", options.threads},
          {"exchange", options.exchange},
          {"chunks", options.chunks},
          {"fields", options.fields},
          {"progress", name_of_progress(options.progress)},
          {"transport", transport()},
          {"seconds", seconds}};
}

}  // namespace

void check_timeline_name(const std::string& file) {
  if (!file.empty() && (!file.ends_with(".json") || file.size() == 5))
    throw UsageError(fmt::format(
        "--timeline {}: the trace is JSON; give a name that ends in .json, such as weave.json",
        file));
}

Json trace_of(const World& world, AnyPlan& plan, const std::function<void()>& call) {
  const double offset = clock_offset(world);
  plan.record(true);
  check_mpi(MPI_Barrier(world.comm()), "MPI_Barrier");
  const double begin = MPI_Wtime() - offset;
  call();
  const double first = -world.max(-begin);
  const Timeline timeline = plan.timeline();
  plan.record(false);

  RankTrace mine(world.rank(), begin - first);
  mine.add(timeline);
  Json description = about(world, plan, world.max(timeline.seconds));
  Json events = Json::array();
  for (const std::string& text : gather(world, mine.events().dump()))
    for (Json& event : Json::parse(text)) events.push_back(std::move(event));
  if (!world.is_first()) return nullptr;
  return {{"displayTimeUnit", "ms"},
          {"otherData", std::move(description)},
          {"traceEvents", std::move(events)}};
}

void publish_timeline(const World& world, const std::string& file, const Json& trace) {
  const std::string name = file.substr(0, file.size() - std::string(".json").size());
  write_and_draw(world, file, {name + ".png", name + ".svg"}, trace, "timeline.py");
}

}  // namespace weft::command
