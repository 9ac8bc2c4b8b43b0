// A thread that asks MPI every now and then how an exchange is getting on while another thread
// computes. It sleeps as the library's own does (mpi/pace.hpp).
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "mpi/pace.hpp"
#include "nonblocking.hpp"

namespace weft::command {

class ProgressThread {
 public:
  explicit ProgressThread(Nonblocking& exchange)
      : exchange_(exchange), thread_([this] { run(); }) {}
  ~ProgressThread() {
    become(State::end);
    thread_.join();
  }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// The exchange has been started: from here to finish() it is the thread's.
  void begin() { become(State::busy); }
  /// Returns when all has arrived; throws what the thread has met. Nothing is left to compute, so
  /// the caller waits for what is missing itself.
  void finish() {
    const std::lock_guard lock(mutex_);  // the thread is asleep, and finds nothing to do then
    if (failure_) std::rethrow_exception(failure_);
    if (state_ == State::busy) exchange_.wait();
    state_ = State::idle;
  }

 private:
  enum class State { idle, busy, end };

  void become(State state) {
    {
      const std::lock_guard lock(mutex_);
      state_ = state;
      pace_.restart();
    }
    changed_.notify_one();
  }

  void run() {
    wake_promptly();
    std::unique_lock lock(mutex_);
    while (state_ != State::end) {
      changed_.wait(lock, [&] { return state_ != State::idle; });
      while (state_ == State::busy) {
        pace_.due();
        if (finished())
          state_ = State::idle;
        else
          changed_.wait_for(lock, pace_.done());
      }
    }
  }

  bool finished() {
    try {
      return exchange_.test();
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
  }

  Nonblocking& exchange_;
  std::mutex mutex_;  ///< of all that follows, and of the exchange
  std::condition_variable changed_;
  std::exception_ptr failure_;
  State state_ = State::idle;
  Pace pace_{Pace::kLongestSleep};
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace weft::command
