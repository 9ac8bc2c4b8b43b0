// SharedMemory: one piece of memory per rank of a node, mapped by all its ranks. The two ways to
// get it, behind one interface; what the memory means, counters included, is SharedWindow's.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"
#include "mpi/memory_file.hpp"

namespace weft {

class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  /// Where the piece of `node_rank` lies in this process; a multiple of kPageBytes.
  virtual std::byte* base(int node_rank) const noexcept = 0;
  /// Memory that this rank's piece takes.
  virtual std::int64_t bytes() const noexcept = 0;
  virtual const char* kind() const noexcept = 0;
};

/// Zeroed pieces of `bytes` each (a multiple of kPageBytes, different on different ranks), every
/// page of them reserved. Collective over `node`; all ranks throw the same Error: out_of_memory, or
/// unavailable where this way does not work.
std::unique_ptr<SharedMemory> make_memfd_memory(const Communicator& node, std::int64_t bytes);

/// The same from MPI. Destroying it is collective too.
std::unique_ptr<SharedMemory> make_mpi_window_memory(const Communicator& node, std::int64_t bytes);

}  // namespace weft
