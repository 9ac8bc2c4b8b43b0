// AlignedMemory and allocate_zeroed. Large buffers are mapped by themselves at a multiple of the
// huge page, since malloc would start them 16 bytes into a page; small ones come from the heap.
#include "base/aligned_memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/cache.hpp"
#include "base/rounding.hpp"
#include "weft/error.hpp"
#include "weft/export.hpp"

namespace weft {

// For users in weft/array.hpp, a layer above.
WEFT_API std::shared_ptr<void> allocate_zeroed(std::size_t bytes);

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kMappedFromBytes = 2 * kHugePageBytes;

/// Maps one huge page more than needed and gives back what lies before and after the aligned part.
/// Null when it fails.
std::byte* map_huge(std::size_t bytes) noexcept {
  const std::size_t length = round_up(bytes, kPageBytes);
  const std::size_t mapped = length + kHugePageBytes;
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(address);
  const std::size_t misfit = reinterpret_cast<std::uintptr_t>(first) % kHugePageBytes;
  const std::size_t head = misfit == 0 ? 0 : kHugePageBytes - misfit;
  const std::size_t tail = mapped - head - length;
  if (head != 0) munmap(first, head);
  if (tail != 0) munmap(first + head + length, tail);
  madvise(first + head, length, MADV_HUGEPAGE);  // a wish: where it is refused, small pages serve
  return first + head;
}

}  // namespace

AlignedMemory::AlignedMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes <= std::numeric_limits<std::size_t>::max() - 2 * kHugePageBytes) {
    data_ =
        fresh()
            ? map_huge(bytes)
            : static_cast<std::byte*>(std::aligned_alloc(kLineBytes, round_up(bytes, kLineBytes)));
  }
  if (data_ == nullptr)
    throw Error(ErrorCode::out_of_memory,
                "cannot allocate " + std::to_string(bytes) + " bytes of memory");
}

AlignedMemory::~AlignedMemory() {
  if (data_ == nullptr) return;
  if (fresh()) {
    munmap(data_, round_up(bytes_, kPageBytes));
  } else {
    std::free(data_);
  }
}

AlignedMemory::AlignedMemory(AlignedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AlignedMemory& AlignedMemory::operator=(AlignedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

bool AlignedMemory::fresh() const noexcept { return bytes_ >= kMappedFromBytes; }

std::shared_ptr<void> allocate_zeroed(std::size_t bytes) {
  // Arrays without elements have distinct addresses too, so that one is never taken for another.
  auto memory = std::make_shared<AlignedMemory>(bytes == 0 ? kLineBytes : bytes);
  if (!memory->fresh()) std::memset(memory->data(), 0, memory->bytes());
  void* data = memory->data();
  return {std::move(memory), data};
}

}  // namespace weft
