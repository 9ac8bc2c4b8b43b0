// Radices: how the length of a transform is cut into factors, each of which is a pass.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/weft/butterfly.hpp"

namespace weft {

/// What a pass costs per point by its radix, where it is the first one, which loads lanes, the last
/// one, which stores them, or between the two.
struct RadixCost {
  double first = 0;
  double inner = 0;
  double last = 0;

  constexpr bool is_offered() const { return inner > 0; }
};

/// Fitted to the times of all orders of the factors of 105 lengths, in one pass more than the
/// fewest at most, in ns for a pack of points on a core of a Zen 4 (only the ratios matter): lanes
/// from the L2 to the L2, and, while the other core did the same, from there to memory and from
/// memory to memory. What they choose is 2 % slower than the best, in the mean. (10 costs 0.13 more
/// at both ends than it did: 240^3 c2c, 1 rank with 2 threads, in 8 6 5 29.6 ms, in 4 6 10 31.7.)
inline constexpr RadixCost kCostOfRadix[kLongestButterfly + 1] = {{},
                                                                  {},
                                                                  {1.50, 1.55, 2.00},
                                                                  {1.61, 1.71, 1.75},
                                                                  {1.72, 1.78, 1.75},
                                                                  {2.31, 2.17, 2.14},
                                                                  {2.42, 2.28, 2.28},
                                                                  {2.52, 2.58, 2.44},
                                                                  {2.41, 2.83, 2.32},
                                                                  {2.56, 3.05, 2.52},
                                                                  {2.98, 3.02, 2.85},
                                                                  {2.96, 3.25, 3.01},
                                                                  {},
                                                                  {3.19, 3.60, 3.06}};

/// What is added where the points of a butterfly compete for the same lines of the first-level
/// cache, and are as many as it has lines for them, or more.
inline constexpr double kCostOfCompeting = 0.76;

std::int64_t largest_prime_factor(std::int64_t n);

/// The factors of n whose passes cost least, in the order of the passes. (243^3 c2c on 2 ranks in 9
/// 3 9 instead of 3 3 3 3 3 39.5 -> 34.7 ms, 400^3 on 1 rank with 2 threads in 8 5 10 instead of 5
/// 5 4 4 179 -> 166, 128^3 in place in 4 4 8 instead of 8 4 4 4.0 -> 3.7.) Primes too long to be
/// unrolled are factors too, and come first.
std::vector<int> cheapest_radices(std::int64_t n);

}  // namespace weft
