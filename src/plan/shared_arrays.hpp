// Shared arrays: users' arrays of this process that its peers on the node can reach, known by their
// address, whichever plan made them.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/memory_file.hpp"

namespace weft {

/// What a peer must know of an array to reach it.
struct SharedArray {
  /// Of an array that peers cannot reach, and of one that has nothing for them.
  static constexpr std::int64_t kUnknown = 0;
  static constexpr std::int64_t kEmpty = -1;

  std::int64_t number = kUnknown;  ///< from 1, never two the same in this process
  MemoryFileName file;
  std::int64_t offset_bytes = 0;  ///< of the array in the file
};

/// What a call needs of an array.
struct ArrayNeeds {
  std::int64_t bytes = 0;       ///< that the user sees
  std::int64_t room_bytes = 0;  ///< from its beginning, for what waits in it
};

/// An array in zeroed memory, `displacement_bytes` behind the beginning of its pages, that lives as
/// long as any copy of the result. Throws Error(out_of_memory, unavailable).
std::shared_ptr<void> make_shared_array(const ArrayNeeds& needs, std::int64_t displacement_bytes);

/// The array that begins at `memory` and has so much room; else one that is unknown.
SharedArray shared_array_at(const void* memory, const ArrayNeeds& needs);

}  // namespace weft
