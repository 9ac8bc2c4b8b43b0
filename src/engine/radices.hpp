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

/// The factors of n whose passes cost least, largest first. Primes too long to be unrolled are
/// factors too.
std::vector<int> cheapest_radices(std::int64_t n);

}  // namespace weft
