// Recorder: notes when the parts of a call begin and end. All its memory is reserved when it is
// made, so that a call that is recorded allocates nothing either. It knows numbers only; the plan
// gives them names (plan/timeline.cpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class Recorder {
 public:
  /// The most that a call may have.
  struct Room {
    int threads = 1;
    std::size_t tasks = 0;  ///< that one thread takes part in, all fields
    int links = 1;
    int units = 1;  ///< of one exchange: fields * chunks
  };

  /// Of which part of a program.
  struct Mark {
    int link = 0;
    int pass = -1;  ///< -1: the exchange that follows the link
    int field = 0;
    int chunk = -1;
    int task = -1;
  };
  struct Span {
    Mark mark;
    double begin = 0;  ///< seconds since the call began
    double end = 0;
  };

  explicit Recorder(const Room& room);

  /// Forgets the call before.
  void begin();
  void end() { seconds_ = now(); }
  /// Seconds since the call began.
  double now() const { return since_epoch() - start_; }

  /// Thread `thread` has worked on this since `begin`. Threads may call at once.
  void task(int thread, const Mark& mark, double begin);
  /// The rank has been busy with an exchange since `begin`.
  void exchange(const Mark& mark, double begin);
  /// Units of the exchange after `link` start, and arrive, in order.
  void start(int link);
  void arrive(int link);
  /// The first unit of that exchange that is on the wire, -1 when none is.
  int next_on_wire(int link) const;

  double seconds() const noexcept { return seconds_; }
  std::vector<Span> tasks(int thread) const;
  std::vector<Span> exchanges() const;
  /// Of units that have arrived; Mark::chunk is the unit.
  std::vector<Span> wire() const;
  std::int64_t bytes() const noexcept;

 private:
  /// Spans in memory of a fixed size; what does not fit is dropped.
  struct Track {
    std::vector<Span> spans;
    std::size_t count = 0;
    void add(const Span& span) {
      if (count < spans.size()) spans[count++] = span;
    }
    std::vector<Span> recorded() const {
      return {spans.begin(), spans.begin() + std::ptrdiff_t(count)};
    }
  };
  /// What one exchange has on the wire.
  struct Wire {
    std::vector<Span> units;
    std::size_t started = 0;
    std::size_t arrived = 0;
  };

  static double since_epoch() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  double start_ = 0;
  double seconds_ = 0;
  std::vector<Track> tasks_;  ///< by thread
  Track exchanges_;
  std::vector<Wire> wires_;  ///< by link
};

}  // namespace weft
