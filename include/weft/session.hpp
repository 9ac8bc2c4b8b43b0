// Session: MPI_Init and MPI_Finalize as an object, for programs that do not call them themselves.
#pragma once

#include <mpi.h>

#include "weft/export.hpp"

namespace weft {

/// Initializes MPI unless it already is, and finalizes it at the end of the scope if it did.
/// Collective over MPI_COMM_WORLD.
class WEFT_API Session {
 public:
  Session() : Session(MPI_THREAD_FUNNELED) {}
  /// `thread_level` is asked of MPI_Init_thread. Throws Error(unavailable) when MPI gives less.
  explicit Session(int thread_level);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const noexcept { return rank_; }  ///< in MPI_COMM_WORLD
  int size() const noexcept { return size_; }  ///< of MPI_COMM_WORLD

 private:
  bool owner_ = false;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace weft
