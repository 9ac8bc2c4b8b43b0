// Pace: how often somebody who computes meanwhile, or a thread beside, lets MPI move messages on.
// Asking all the time takes the core from those who compute, and moves little each time; asking too
// seldom leaves the link idle, once what the kernel buffers is sent or full. So the time between
// two calls grows while they find little to do, and shrinks while they find much.
#pragma once

#include <chrono>

namespace weft {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::microseconds;

  /// For a thread: waking up costs it, and those whose core it takes, some microseconds.
  static constexpr Duration kLongestSleep{1000};
  /// For polls by the thread that computes, which cost a call of MPI's only.
  static constexpr Duration kLongestGap{200};

  explicit Pace(Duration longest) : longest_(longest) {}

  /// Begins a call of MPI's, if it is time for one.
  bool due() {
    begin_ = Clock::now();
    return begin_ >= next_;
  }
  /// The call is over; how long to wait until the next.
  Duration done() {
    const Clock::time_point end = Clock::now();
    const Clock::duration took = end - begin_;
    if (took < kLittle)
      rest_ = rest_ * 3 / 2 < longest_ ? rest_ * 3 / 2 : longest_;
    else if (took > kMuch)
      rest_ = rest_ * 2 / 3 > kShortest ? rest_ * 2 / 3 : kShortest;
    next_ = end + rest_;
    return rest_;
  }
  /// Something has been started: its first steps are short messages, to be answered at once.
  void restart() { *this = Pace(longest_); }

 private:
  static constexpr Duration kShortest{20};
  // A call moves some kB in each microsecond: between these, about what sockets hold at the least.
  static constexpr Duration kLittle{10};
  static constexpr Duration kMuch{25};

  Duration longest_;
  Duration rest_{kShortest};
  Clock::time_point begin_;
  Clock::time_point next_;
};

/// From here on the calling thread wakes up from short sleeps in time, as far as the system lets
/// it: Linux makes sleeps 50 us longer else, and lets a thread that computes finish its
/// milliseconds.
void wake_promptly() noexcept;

}  // namespace weft
