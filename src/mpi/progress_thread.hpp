// ProgressThread: a thread that lets MPI move messages on while others compute. It only asks MPI
// for a message that nobody sends; any call does, since MPI progresses all that is under way.
// Between two calls it sleeps (Pace), so that it takes little of the time of those who compute.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "mpi/communicator.hpp"

namespace weft {

class ProgressThread {
 public:
  /// Collective over `comm`. Throws Error(unavailable) unless MPI provides MPI_THREAD_MULTIPLE.
  explicit ProgressThread(const Communicator& comm);
  /// Collective over `comm`.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Between the two the thread calls MPI every now and then, first at short intervals.
  void resume();
  void pause() { active_.store(false, std::memory_order_relaxed); }
  /// Ends the thread.
  void stop();

 private:
  void work();

  Communicator comm_;
  std::atomic<bool> active_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  long resumed_ = 0;  ///< how often
  std::thread thread_;
};

}  // namespace weft
