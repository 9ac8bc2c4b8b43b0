// The ways in which MPI exchanges data between all ranks without blocking: what `weft overlap`
// compares. Adding one is a class and a line of the table in nonblocking.cpp.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace weft::command {

/// One way, ready to send the same number of bytes from each rank to each, again and again.
class Nonblocking {
 public:
  /// Collective over `comm`, as is the destructor.
  Nonblocking(MPI_Comm comm, int bytes);
  virtual ~Nonblocking() = default;
  Nonblocking(const Nonblocking&) = delete;
  Nonblocking& operator=(const Nonblocking&) = delete;

  virtual void start() = 0;
  /// Gives MPI an opportunity; true when all has arrived.
  bool test();
  void wait();

  /// Whether every byte is where it belongs, after a wait(); forgets what has been received.
  bool received_rightly();

 protected:
  MPI_Comm comm_;
  int ranks_ = 1;
  int rank_ = 0;
  int bytes_;
  std::vector<unsigned char> send_;  ///< for each rank, in their order
  std::vector<unsigned char> receive_;
  std::vector<int> counts_;
  std::vector<int> offsets_;
  std::vector<MPI_Request> requests_;  ///< MPI_REQUEST_NULL, or inactive, when nothing is under way
};

struct NonblockingMethod {
  const char* name;
  const char* refusal;  ///< why this MPI cannot; empty when it can
  std::unique_ptr<Nonblocking> (*make)(MPI_Comm comm, int bytes);
};

const std::vector<NonblockingMethod>& nonblocking_methods();

}  // namespace weft::command
