// The arrays of a process that its peers can reach.
#include "plan/shared_arrays.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "mpi/memory_room.hpp"

namespace weft {
namespace {

struct Entry {
  SharedArray array;
  ArrayNeeds has;
};

/// By address.
struct Registry {
  std::mutex mutex;
  std::map<const void*, Entry> entries;
  std::int64_t made = 0;
};

// For ever, since the last array may be dropped after the destructors of static objects have run.
Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

/// The memory of one array. No peer touches it outside of a call, so that it goes when its owner
/// drops it, although peers still map it.
class Holder {
 public:
  Holder(MemoryFile file, const void* array) : file_(std::move(file)), array_(array) {}
  ~Holder() {
    {
      const std::lock_guard lock(registry().mutex);
      registry().entries.erase(array_);
    }
    file_.discard();
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  MemoryFile file_;
  const void* array_;
};

// Each array takes an open file, and users need some for their own.
void check_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return;
  const std::lock_guard lock(registry().mutex);
  const std::size_t arrays = registry().entries.size();
  if (2 * arrays >= files.rlim_cur)
    throw Error(ErrorCode::unavailable,
                "arrays that all ranks of a node reach take at most half of the files that a "
                "process may open, which are " +
                    std::to_string(files.rlim_cur) + " (ulimit -n); there are " +
                    std::to_string(arrays) + " such arrays already");
}

}  // namespace

std::shared_ptr<void> make_shared_array(const ArrayNeeds& needs, std::int64_t displacement_bytes) {
  check_open_files();
  const std::int64_t room = std::max({std::int64_t{1}, needs.bytes, needs.room_bytes});
  // Reserving more than there is could end with a process killed instead of an error.
  if (room > available_memory_bytes())
    throw Error(ErrorCode::out_of_memory, "an array of " + bytes_text(room) +
                                              " does not fit into memory: available are " +
                                              bytes_text(available_memory_bytes()));
  MemoryFile file(whole_pages(displacement_bytes + room));
  const MemoryFileName name = file.name();
  std::byte* const memory = file.data() + displacement_bytes;
  auto holder = std::make_shared<Holder>(std::move(file), memory);
  const std::lock_guard lock(registry().mutex);
  registry().entries[memory] = {{++registry().made, name, displacement_bytes}, {needs.bytes, room}};
  return {std::move(holder), memory};
}

SharedArray shared_array_at(const void* memory, const ArrayNeeds& needs) {
  SharedArray array;
  if (needs.bytes == 0 && needs.room_bytes == 0) {
    array.number = SharedArray::kEmpty;
    return array;
  }
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().entries.find(memory);
  if (found == registry().entries.end()) return array;
  const auto& [known, has] = found->second;
  if (needs.bytes <= has.bytes && needs.room_bytes <= has.room_bytes) array = known;
  return array;
}

}  // namespace weft
