// AlignedMemory: a buffer that frees itself, aligned to cache lines and on huge pages when it is
// large. Weft's buffers, tiles and user arrays are made of it; memory shared between processes is
// SharedWindow's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// Bytes of a page of memory that is not huge.
inline constexpr std::int64_t kPageBytes = 4096;

/// `bytes` of memory with unspecified contents; 0 bytes have the address null.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  /// Throws Error(out_of_memory).
  explicit AlignedMemory(std::size_t bytes);
  ~AlignedMemory();
  AlignedMemory(AlignedMemory&& other) noexcept;
  AlignedMemory& operator=(AlignedMemory&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// True when the memory came zeroed from the system, untouched: pages then go to the NUMA node
  /// that first writes them.
  bool fresh() const noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft
