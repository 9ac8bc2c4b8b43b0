// STREAM's copy kernel, by all ranks at once. See memory_bandwidth.hpp.
#include "memory_bandwidth.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace weft::command {
namespace {

constexpr std::size_t kAlignment = 64;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte[], Free>;

Buffer allocate(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return Buffer(memory);
}

/// `bytes` is a multiple of kAlignment.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  for (std::size_t at = 0; at < bytes; at += kAlignment) {
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
    auto* target = reinterpret_cast<__m128i*>(to + at);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(target + i, _mm_load_si128(source + i));
  }
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

void copy_plain(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

using Copy = void (*)(std::byte*, const std::byte*, std::size_t);

/// Each thread does its own contiguous part, also the first time, so that pages lie near the thread
/// that uses them.
template <class Body>
void for_each_part(std::size_t bytes, int threads, Body body) {
  const std::size_t lines = bytes / kAlignment;
  const auto count = static_cast<std::size_t>(threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (std::size_t thread = 0; thread < count; ++thread) {
    const std::size_t first = lines * thread / count * kAlignment;
    const std::size_t last = lines * (thread + 1) / count * kAlignment;
    body(first, last - first);
  }
}

/// One copy, from when the first rank begins until the last has ended: ranks that share a core take
/// turns, and each by itself would look as fast as with a core of its own. Several copies in a row
/// where one is so short that the barriers would count.
double copy_seconds(const World& world, Copy copy, std::byte* to, const std::byte* from,
                    std::size_t bytes, int threads) {
  constexpr std::size_t kLongEnoughBytes = std::size_t{64} << 20;
  const std::size_t copies = std::max<std::size_t>(1, kLongEnoughBytes / bytes);
  double best = 1e30;
  for (int repetition = 0; repetition < 6; ++repetition) {
    MPI_Barrier(world.comm());
    const double start = MPI_Wtime();
    for (std::size_t i = 0; i < copies; ++i)
      for_each_part(bytes, threads,
                    [&](std::size_t at, std::size_t part) { copy(to + at, from + at, part); });
    MPI_Barrier(world.comm());
    best = std::min(best, world.max(MPI_Wtime() - start));
  }
  return best / static_cast<double>(copies);
}

}  // namespace

double measure_memory_bandwidth(const World& world, std::int64_t bytes_per_rank, int threads) {
  constexpr std::int64_t kSmallest = std::int64_t{1} << 20;
  constexpr std::int64_t kLargest = std::int64_t{1} << 28;
  const auto bytes = static_cast<std::size_t>(std::clamp(bytes_per_rank, kSmallest, kLargest)) /
                     kAlignment * kAlignment;
  const Buffer from = allocate(bytes);
  const Buffer to = allocate(bytes);
  for_each_part(bytes, threads, [&](std::size_t at, std::size_t part) {
    std::memset(from.get() + at, 1, part);
    std::memset(to.get() + at, 2, part);
  });
  const double seconds =
      std::min(copy_seconds(world, copy_plain, to.get(), from.get(), bytes, threads),
               copy_seconds(world, copy_streaming, to.get(), from.get(), bytes, threads));
  return 2.0 * static_cast<double>(bytes) * world.size() / seconds;
}

}  // namespace weft::command
