// The loop of the progress thread.
#include "mpi/progress_thread.hpp"

#include "weft/error.hpp"

namespace weft {

ProgressThread::ProgressThread(const Communicator& comm)
    : comm_(Communicator::duplicate(comm.get())) {
  comm.agree([] {
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
    if (provided < MPI_THREAD_MULTIPLE)
      throw Error(ErrorCode::unavailable,
                  "progress by a thread needs MPI_THREAD_MULTIPLE: ask MPI_Init_thread (or "
                  "weft::Session) for it; progress \"poll\" needs nothing");
  });
  thread_ = std::thread([this] { work(); });
}

ProgressThread::~ProgressThread() { stop(); }

void ProgressThread::stop() {
  if (!thread_.joinable()) return;
  pause();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProgressThread::resume() {
  {
    const std::lock_guard lock(mutex_);
    active_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

// An error of MPI's shows in the calls of the thread that waits for the messages.
void ProgressThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || active_.load(std::memory_order_relaxed); });
    if (ends_) return;
    lock.unlock();
    int found = 0;
    while (active_.load(std::memory_order_relaxed) &&
           MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_.get(), &found, MPI_STATUS_IGNORE) == MPI_SUCCESS)
      std::this_thread::yield();
    lock.lock();
    active_.store(false, std::memory_order_relaxed);
  }
}

}  // namespace weft
