// Shared memory from MPI_Win_allocate_shared: works wherever MPI does, but its files mostly lie in
// /dev/shm, which may be small, and are not reserved, so that the room is checked before and every
// page is written once.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi/memory_room.hpp"
#include "mpi/shared_memory.hpp"

namespace weft {
namespace {

/// Where the MPI in use puts the files of its shared windows: /dev/shm unless Open MPI was told
/// something else.
std::string backing_directory() {
  const char* told = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return told != nullptr && *told != '\0' ? told : "/dev/shm";
}

class MpiWindowMemory final : public SharedMemory {
 public:
  MpiWindowMemory(const Communicator& node, std::int64_t bytes) : bytes_(bytes + kPageBytes) {
    check_room(node);
    std::byte* mine = allocate(node);
    try {
      require_unified();
      find_bases(node, mine);
    } catch (...) {
      MPI_Win_free(&window_);
      throw;
    }
  }

  ~MpiWindowMemory() override {
    int finalized = 0;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  MpiWindowMemory(const MpiWindowMemory&) = delete;
  MpiWindowMemory& operator=(const MpiWindowMemory&) = delete;

  std::byte* base(int node_rank) const noexcept override {
    return bases_[static_cast<std::size_t>(node_rank)];
  }
  std::int64_t bytes() const noexcept override { return bytes_; }
  const char* kind() const noexcept override { return "MPI window"; }

 private:
  void check_room(const Communicator& node) const {
    const std::string directory = backing_directory();
    const std::int64_t room =
        node.min(std::min(free_bytes_in(directory), available_memory_bytes()));
    const std::int64_t wanted = total_bytes(node, bytes_);
    if (wanted > room) throw too_small(wanted, "free in " + directory + " are " + bytes_text(room));
  }

  static Error too_small(std::int64_t wanted, const std::string& reason) {
    return {ErrorCode::out_of_memory,
            "the MPI shared window does not fit: the ranks of a node want " + bytes_text(wanted) +
                ", " + reason + "; the exchanges pairwise and alltoallv need no window"};
  }

  std::byte* allocate(const Communicator& node) {
    MPI_Info info = MPI_INFO_NULL;
    check_mpi(MPI_Info_create(&info), "MPI_Info_create");
    MPI_Info_set(info, "alloc_shared_noncontig",
                 "true");  // each piece starts on a page, near its rank
    void* mine = nullptr;
    const int code = MPI_Win_allocate_shared(bytes_, 1, info, node.get(), &mine, &window_);
    MPI_Info_free(&info);
    node.agree([&] {
      try {
        check_mpi(code, "MPI_Win_allocate_shared");
      } catch (const Error& error) {
        throw too_small(bytes_, error.what());
      }
    });
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    return static_cast<std::byte*>(mine);
  }

  /// Plain loads and stores see each other's data only in this memory model.
  void require_unified() const {
    int* model = nullptr;
    int found = 0;
    check_mpi(MPI_Win_get_attr(window_, MPI_WIN_MODEL, &model, &found), "MPI_Win_get_attr");
    if (!found || *model != MPI_WIN_UNIFIED)
      throw Error(ErrorCode::unavailable,
                  "this MPI's shared windows do not have the unified memory model");
  }

  void find_bases(const Communicator& node, std::byte* mine) {
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    // Each process maps whole pages, so the bytes that its owner skips to reach one are the same
    // everywhere.
    const auto misfit =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(mine) % kPageBytes);
    const std::int64_t skipped = misfit == 0 ? 0 : kPageBytes - misfit;
    const std::vector<std::int64_t> skips = node.gather({skipped});
    for (int rank = 0; rank < node.size(); ++rank) {
      MPI_Aint size = 0;
      int unit = 1;
      void* base = nullptr;
      check_mpi(MPI_Win_shared_query(window_, rank, &size, &unit, &base), "MPI_Win_shared_query");
      bases_.push_back(static_cast<std::byte*>(base) + skips[static_cast<std::size_t>(rank)]);
    }
    std::memset(mine, 0, static_cast<std::size_t>(bytes_));
    node.barrier();
  }

  std::int64_t bytes_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> bases_;
};

}  // namespace

std::unique_ptr<SharedMemory> make_mpi_window_memory(const Communicator& node, std::int64_t bytes) {
  return std::make_unique<MpiWindowMemory>(node, bytes);
}

}  // namespace weft
