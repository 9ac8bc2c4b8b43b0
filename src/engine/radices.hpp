// Radices: how the length of a transform is cut into factors, each of which is a pass.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/butterfly.hpp"

namespace weft {

/// What a pass costs per point by its radix (measured; in ns on one machine, but only the ratios
/// matter). 0: it is not offered.
inline constexpr double kCostOfRadix[kLongestButterfly + 1] = {
    0, 0, 0.62, 0.72, 0.68, 1.08, 0.98, 1.27, 0.90, 1.45, 1.65, 2.35, 0, 2.76};

std::int64_t largest_prime_factor(std::int64_t n);

/// The factors of n whose passes cost least, largest first. But where the points of a butterfly of
/// the first pass would then compete for the same lines of the first-level cache, the smallest
/// first, which has the fewest. (Lanes from the L2 to the L2 on a Zen 4, ns for 8 points: 256 8.6
/// -> 7.9, 1024 12.5 -> 11.1, 2048 14.6 -> 12.9; 256^3 r2c, 1 rank with 2 threads, backward 25.4
/// -> 24.6 ms, 2 ranks 24.6 -> 22.2, single 13.2 -> 12.0.) Primes too long to be unrolled are
/// factors too, and come first.
std::vector<int> cheapest_radices(std::int64_t n);

}  // namespace weft
