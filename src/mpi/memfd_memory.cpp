// Shared memory from memfd_create: every rank makes an anonymous file in memory, and its peers open
// it through /proc/<pid>/fd. Unlike files in /dev/shm, these are limited only by the memory of the
// machine. It needs ranks of one user that see each other's processes; where that is not so it is
// unavailable, and nothing is left behind.
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "mpi/memory_room.hpp"
#include "mpi/shared_memory.hpp"

namespace weft {
namespace {

constexpr std::int64_t kHugePageBytes = std::int64_t{2} << 20;
constexpr int kAdviceCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which older headers lack

Error unavailable(const std::string& what, int system_error) {
  return {ErrorCode::unavailable,
          "shared memory by memfd is not available: " + what + ": " + std::strerror(system_error)};
}

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
  void close_now() noexcept {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_;
};

/// A shared mapping of a whole file, at a multiple of the huge page if it is as large as one.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int descriptor, std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    const auto huge = static_cast<std::size_t>(kHugePageBytes);
    const std::size_t slack = bytes_ >= huge ? huge : 0;
    void* range = mmap(nullptr, bytes_ + slack, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw unavailable("mmap of " + bytes_text(bytes), errno);
    auto* first = static_cast<std::byte*>(range);
    const std::size_t head =
        slack == 0 ? 0 : (huge - reinterpret_cast<std::uintptr_t>(first) % huge) % huge;
    if (head != 0) munmap(first, head);
    if (slack != head) munmap(first + head + bytes_, slack - head);
    data_ = first + head;
    if (mmap(data_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) ==
        MAP_FAILED) {
      const int reason = errno;
      munmap(std::exchange(data_, nullptr), bytes_);
      throw unavailable("mmap of " + bytes_text(bytes), reason);
    }
    madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  ~Mapping() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
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
  void collapse() const noexcept { madvise(data_, bytes_, kAdviceCollapse); }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

void reserve(int descriptor, std::int64_t offset, std::int64_t bytes, std::int64_t wanted) {
  int reason = 0;
  do {
    reason = fallocate(descriptor, 0, offset, bytes) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason == ENOMEM || reason == ENOSPC)
    throw Error(ErrorCode::out_of_memory,
                "the shared window does not fit into memory: this rank wants " +
                    bytes_text(wanted) + ": " + std::strerror(reason));
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

/// Opens the file of a peer. Its name is compared first, since with another process namespace the
/// number could mean any file of any process, and opening that might have effects.
FileDescriptor open_peer(std::int64_t pid, std::int64_t descriptor, std::int64_t token) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptor);
  char target[PATH_MAX] = "";
  if (readlink(path.c_str(), target, sizeof target - 1) < 0)
    throw unavailable("reading " + path, errno);
  if (std::string(target).find("memfd:" + name_of(token)) == std::string::npos)
    throw Error(ErrorCode::unavailable,
                "shared memory by memfd is not available: " + path + " is " + target +
                    ", so ranks of one node do not see each other's processes");
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) throw unavailable("opening " + path, errno);
  return file;
}

/// This rank's file, needed until the peers have opened it.
struct File {
  FileDescriptor descriptor;
  std::int64_t token = 0;
};

class MemfdMemory final : public SharedMemory {
 public:
  MemfdMemory(const Communicator& node, std::int64_t bytes) : rank_(node.rank()) {
    pieces_.resize(static_cast<std::size_t>(node.size()));
    check_room(node, bytes);
    File mine;
    node.agree([&] { mine = create(bytes); });
    const std::vector<std::int64_t> all =
        node.gather({getpid(), mine.descriptor.get(), mine.token, bytes});
    node.agree([&] { map_peers(all); });
    node.barrier();  // all have compared the tokens
    std::memset(piece(rank_).data(), 0, sizeof mine.token);
    node.barrier();
  }

  std::byte* base(int node_rank) const noexcept override {
    return pieces_[static_cast<std::size_t>(node_rank)].data();
  }
  std::int64_t bytes() const noexcept override {
    return pieces_[static_cast<std::size_t>(rank_)].bytes();
  }
  const char* kind() const noexcept override { return "memfd"; }

 private:
  Mapping& piece(int node_rank) { return pieces_[static_cast<std::size_t>(node_rank)]; }

  /// Reserving more than there is could end with a process killed instead of an error.
  static void check_room(const Communicator& node, std::int64_t bytes) {
    const std::int64_t room = node.min(available_memory_bytes());
    const std::int64_t wanted = total_bytes(node, bytes);
    if (wanted > room)
      throw Error(ErrorCode::out_of_memory,
                  "the shared window does not fit into memory: the ranks of a node want " +
                      bytes_text(wanted) + ", available are " + bytes_text(room));
  }

  File create(std::int64_t bytes) {
    File file;
    file.token = random_token();
    file.descriptor = FileDescriptor(memfd_create(name_of(file.token).c_str(), MFD_CLOEXEC));
    const int descriptor = file.descriptor.get();
    if (descriptor < 0) throw unavailable("memfd_create", errno);
    if (ftruncate(descriptor, bytes) != 0)
      throw unavailable("ftruncate to " + bytes_text(bytes), errno);
    piece(rank_) = Mapping(descriptor, bytes);
    reserve_all(descriptor, piece(rank_));
    std::memcpy(piece(rank_).data(), &file.token, sizeof file.token);
    return file;
  }

  void map_peers(const std::vector<std::int64_t>& all) {
    for (int peer = 0; peer < static_cast<int>(pieces_.size()); ++peer) {
      if (peer == rank_) continue;
      const std::int64_t* entry = &all[4 * static_cast<std::size_t>(peer)];
      const std::int64_t token = entry[2];
      const FileDescriptor file = open_peer(entry[0], entry[1], token);
      Mapping mapping(file.get(), entry[3]);
      if (std::memcmp(mapping.data(), &token, sizeof token) != 0)
        throw Error(ErrorCode::unavailable,
                    "shared memory by memfd is not available: the memory of another rank holds "
                    "something else");
      piece(peer) = std::move(mapping);
    }
  }

  int rank_;
  std::vector<Mapping> pieces_;
};

}  // namespace

std::unique_ptr<SharedMemory> make_memfd_memory(const Communicator& node, std::int64_t bytes) {
  return std::make_unique<MemfdMemory>(node, bytes);
}

}  // namespace weft
