// Making, opening and reserving files in memory.
#include "mpi/memory_file.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "mpi/memory_room.hpp"

namespace weft {
namespace {

constexpr std::int64_t kHugePageBytes = std::int64_t{2} << 20;
constexpr int kAdviceCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which older headers lack

Error unavailable(const std::string& what, int system_error) {
  return {ErrorCode::unavailable,
          "shared memory by memfd is not available: " + what + ": " + std::strerror(system_error)};
}

void reserve(int descriptor, std::int64_t offset, std::int64_t bytes, std::int64_t wanted) {
  int reason = 0;
  do {
    reason = fallocate(descriptor, 0, offset, bytes) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason == ENOMEM || reason == ENOSPC)
    throw Error(ErrorCode::out_of_memory,
                "shared memory does not fit into memory: this rank wants " + bytes_text(wanted) +
                    ": " + std::strerror(reason));
  if (reason != 0) throw unavailable("fallocate", reason);
}

/// Reserves every page. Collapsing needs one small page of each huge page to exist, and reserving
/// only those before it saves copying all the others.
void reserve_all(int descriptor, const Mapping& mapping) {
  const std::int64_t wanted = mapping.bytes();
  if (wanted >= kHugePageBytes) {
    for (std::int64_t offset = 0; offset < wanted; offset += kHugePageBytes)
      reserve(descriptor, offset, kPageBytes, wanted);
    mapping.collapse();
  }
  reserve(descriptor, 0, wanted, wanted);
}

std::int64_t random_token() {
  std::int64_t token = 0;
  if (getrandom(&token, sizeof token, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof token))
    return token;
  return std::chrono::steady_clock::now().time_since_epoch().count() * 1000003 + getpid();
}

/// The file's name in the system, by which peers make sure that they open the right one.
std::string name_of(std::int64_t token) {
  char name[40];
  std::snprintf(name, sizeof name, "weft-%016llx", static_cast<unsigned long long>(token));
  return name;
}

}  // namespace

void FileDescriptor::close_now() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Mapping::Mapping(const FileDescriptor& file, std::int64_t bytes)
    : bytes_(static_cast<std::size_t>(bytes)) {
  const auto huge = static_cast<std::size_t>(kHugePageBytes);
  const std::size_t slack = bytes_ >= huge ? huge : 0;
  void* range =
      mmap(nullptr, bytes_ + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw unavailable("mmap of " + bytes_text(bytes), errno);
  auto* first = static_cast<std::byte*>(range);
  const std::size_t head =
      slack == 0 ? 0 : (huge - reinterpret_cast<std::uintptr_t>(first) % huge) % huge;
  if (head != 0) munmap(first, head);
  if (slack != head) munmap(first + head + bytes_, slack - head);
  data_ = first + head;
  if (mmap(data_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) ==
      MAP_FAILED) {
    const int reason = errno;
    munmap(std::exchange(data_, nullptr), bytes_);
    throw unavailable("mmap of " + bytes_text(bytes), reason);
  }
  madvise(data_, bytes_, MADV_HUGEPAGE);
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void Mapping::collapse() const noexcept { madvise(data_, bytes_, kAdviceCollapse); }

MemoryFile::MemoryFile(std::int64_t bytes) : token_(random_token()) {
  descriptor_ = FileDescriptor(memfd_create(name_of(token_).c_str(), MFD_CLOEXEC));
  if (descriptor_.get() < 0) throw unavailable("memfd_create", errno);
  if (ftruncate(descriptor_.get(), bytes) != 0)
    throw unavailable("ftruncate to " + bytes_text(bytes), errno);
  mapping_ = Mapping(descriptor_, bytes);
  reserve_all(descriptor_.get(), mapping_);
}

MemoryFileName MemoryFile::name() const noexcept {
  return {getpid(), descriptor_.get(), token_, bytes()};
}

void MemoryFile::discard() noexcept {
  fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes());
}

// The file's name is compared first, since with another process namespace the number could mean any
// file of any process, and opening that might have effects.
Mapping map_file_of_peer(const MemoryFileName& name) {
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  char target[PATH_MAX] = "";
  if (readlink(path.c_str(), target, sizeof target - 1) < 0)
    throw unavailable("reading " + path, errno);
  if (std::string(target).find("memfd:" + name_of(name.token)) == std::string::npos)
    throw Error(ErrorCode::unavailable,
                "shared memory by memfd is not available: " + path + " is " + target +
                    ", so ranks of one node do not see each other's processes");
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) throw unavailable("opening " + path, errno);
  return Mapping(file, name.bytes);
}

}  // namespace weft
