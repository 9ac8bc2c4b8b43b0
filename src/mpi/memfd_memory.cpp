// Shared memory from files in memory: every rank makes one, and its peers map it.
#include <cstring>
#include <vector>

#include "mpi/memory_file.hpp"
#include "mpi/memory_room.hpp"
#include "mpi/shared_memory.hpp"

namespace weft {
namespace {

class MemfdMemory final : public SharedMemory {
 public:
  MemfdMemory(const Communicator& node, std::int64_t bytes) : rank_(node.rank()) {
    check_room(node, bytes);
    node.agree([&] { mine_ = MemoryFile(bytes); });
    const MemoryFileName name = mine_.name();
    std::memcpy(mine_.data(), &name.token, sizeof name.token);
    const std::vector<std::int64_t> all =
        node.gather({name.process, name.descriptor, name.token, name.bytes});
    node.agree([&] { map_peers(all, node.size()); });
    node.barrier();  // all have compared the tokens
    mine_.close();
    std::memset(mine_.data(), 0, sizeof name.token);
    node.barrier();
  }

  std::byte* base(int node_rank) const noexcept override {
    return node_rank == rank_ ? mine_.data() : peers_[static_cast<std::size_t>(node_rank)].data();
  }
  std::int64_t bytes() const noexcept override { return mine_.bytes(); }
  const char* kind() const noexcept override { return "memfd"; }

 private:
  /// Reserving more than there is could end with a process killed instead of an error.
  static void check_room(const Communicator& node, std::int64_t bytes) {
    const std::int64_t room = node.min(available_memory_bytes());
    const std::int64_t wanted = total_bytes(node, bytes);
    if (wanted > room)
      throw Error(ErrorCode::out_of_memory,
                  "the shared window does not fit into memory: the ranks of a node want " +
                      bytes_text(wanted) + ", available are " + bytes_text(room));
  }

  void map_peers(const std::vector<std::int64_t>& all, int ranks) {
    for (int peer = 0; peer < ranks; ++peer) {
      const std::int64_t* entry = &all[4 * static_cast<std::size_t>(peer)];
      const MemoryFileName name{entry[0], entry[1], entry[2], entry[3]};
      peers_.push_back(peer == rank_ ? Mapping() : map_file_of_peer(name));
      if (peer != rank_ && std::memcmp(peers_.back().data(), &name.token, sizeof name.token) != 0)
        throw Error(ErrorCode::unavailable,
                    "shared memory by memfd is not available: the memory of another rank holds "
                    "something else");
    }
  }

  int rank_;
  MemoryFile mine_;
  std::vector<Mapping> peers_;  // of this rank empty
};

}  // namespace

std::unique_ptr<SharedMemory> make_memfd_memory(const Communicator& node, std::int64_t bytes) {
  return std::make_unique<MemfdMemory>(node, bytes);
}

}  // namespace weft
