// The memory bandwidth that all ranks of a job get together: the limit beside which `weft bench`
// puts its times.
#pragma once

#include <cstdint>

#include "world.hpp"

namespace weft::command {

/// Bytes read plus bytes written per second, summed over the ranks, while all threads of all ranks
/// copy at once.
///
/// Each rank copies `bytes_per_rank`, so that data that a cache would hold in the transform is held
/// here too. The better of an ordinary copy and one with streaming stores (which skip reading the
/// destination) counts, the best of several. Collective over `world`.
double measure_memory_bandwidth(const World& world, std::int64_t bytes_per_rank, int threads);

}  // namespace weft::command
