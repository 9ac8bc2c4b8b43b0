// Noise: numbers to measure with. Some machines move lines of zeros faster than others (stores past
// the cache on a Zen 5 whose cores share an L3: 58 GB/s of zeros, 41 of anything else).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// Fills `bytes` of memory with reals from -0.5 to 0.5, the same each time.
template <class Real>
void fill_with_noise(std::byte* memory, std::int64_t bytes) {
  auto* values = reinterpret_cast<Real*>(memory);
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(Real)); ++i) {
    state = state * 1664525U + 1013904223U;  // the generator of Numerical Recipes
    values[i] = static_cast<Real>(state >> 16) / Real{65536} - Real{0.5};
  }
}

}  // namespace weft
