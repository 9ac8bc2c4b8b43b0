// A thread that keeps asking MPI how an exchange is getting on while another thread computes.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

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
  /// Returns when all has arrived; throws what the thread has met.
  void finish() {
    while (state_.load() == State::busy) std::this_thread::yield();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  enum class State { idle, busy, end };

  void become(State state) {
    state_.store(state);
    state_.notify_one();
  }

  /// Asleep while there is nothing to ask for, so that it takes no time from others.
  void run() {
    for (State state = state_.load(); state != State::end; state = state_.load()) {
      if (state == State::idle) {
        state_.wait(State::idle);
      } else if (finished()) {
        state_.compare_exchange_strong(state, State::idle);  // unless it is to end
      } else {
        std::this_thread::yield();
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
  std::exception_ptr failure_;
  std::atomic<State> state_{State::idle};
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace weft::command
