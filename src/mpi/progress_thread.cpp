// The loop of the progress thread.
#include "mpi/progress_thread.hpp"

#include "mpi/pace.hpp"
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

// Nobody wakes the thread: its sleeps are short.
void ProgressThread::pause() {
  const std::lock_guard turn(turn_);
  active_.store(false, std::memory_order_relaxed);
}

void ProgressThread::resume() {
  {
    const std::lock_guard lock(mutex_);
    active_.store(true, std::memory_order_relaxed);
    ++resumed_;
  }
  changed_.notify_one();
}

// False after an error of MPI's, which shows in the calls of the thread that waits for the
// messages.
bool ProgressThread::ask_mpi() {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn || !active_.load(std::memory_order_relaxed)) return true;
  int found = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_.get(), &found, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

void ProgressThread::work() {
  wake_promptly();
  const auto active = [&] { return active_.load(std::memory_order_relaxed); };
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || active(); });
    if (ends_) return;
    Pace pace(Pace::kLongestSleep);
    const long since = resumed_;
    const auto is_told = [&] { return ends_ || !active() || resumed_ != since; };
    do {
      lock.unlock();
      pace.due();
      if (!ask_mpi()) pause();
      lock.lock();
    } while (!changed_.wait_for(lock, pace.done(), is_told));
  }
}

}  // namespace weft
