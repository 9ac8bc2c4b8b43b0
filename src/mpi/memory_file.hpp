// MemoryFile: an anonymous file in memory that one process makes and the others of its node open
// through /proc/<pid>/fd. Unlike files in /dev/shm, these are limited only by the memory of the
// machine. It needs processes of one user that see each other; where that is not so it is
// unavailable, and nothing is left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/aligned_memory.hpp"
#include "base/rounding.hpp"

namespace weft {

/// `bytes` and what makes whole pages of them.
constexpr std::int64_t whole_pages(std::int64_t bytes) { return round_up(bytes, kPageBytes); }

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~FileDescriptor() { close_now(); }
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const noexcept { return descriptor_; }
  void close_now() noexcept;

 private:
  int descriptor_;
};

/// A shared mapping of a whole file, at a multiple of the huge page if it is as large as one.
class Mapping {
 public:
  Mapping() = default;
  /// Throws Error(unavailable).
  Mapping(const FileDescriptor& file, std::int64_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::byte* data() const noexcept { return data_; }
  std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(bytes_); }

  /// Puts the memory on huge pages, also where /sys/kernel/mm/transparent_hugepage/shmem_enabled
  /// says never. Failure is no error: small pages do. Peers then see huge pages without asking.
  void collapse() const noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// By which a peer finds a file.
struct MemoryFileName {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::int64_t token = 0;  ///< part of its name in the system: no two files have the same
  std::int64_t bytes = 0;
};

/// Of this process, mapped, zeroed, with every page reserved.
class MemoryFile {
 public:
  MemoryFile() = default;
  /// `bytes` are a multiple of kPageBytes. Throws Error(out_of_memory, unavailable).
  explicit MemoryFile(std::int64_t bytes);

  MemoryFileName name() const noexcept;
  std::byte* data() const noexcept { return mapping_.data(); }
  std::int64_t bytes() const noexcept { return mapping_.bytes(); }
  /// No peer can open it any more.
  void close() noexcept { descriptor_.close_now(); }
  /// Gives the memory back, whoever maps it; what is read there later is zero.
  void discard() noexcept;

 private:
  FileDescriptor descriptor_;
  std::int64_t token_ = 0;
  Mapping mapping_;
};

/// The file of a peer. Throws Error(unavailable).
Mapping map_file_of_peer(const MemoryFileName& name);

}  // namespace weft
