// The cheapest factors, found by trying all: what follows a pass depends only on the length of its
// blocks.
#include "engine/weft/radices.hpp"

#include <limits>
#include <map>

#include "base/cache.hpp"

namespace weft {
namespace {

/// Columns that lie a multiple of so many apart compete.
constexpr std::int64_t kColumnsAlike = kCompetingDistance / (2 * kPackBytes);

// Of a pass that makes blocks of `length` points of `radix` times as many.
double cost_of(int radix, std::int64_t length, bool is_first, bool is_last) {
  const RadixCost& cost = kCostOfRadix[radix];
  const std::int64_t lines = first_level_cache_bytes() / kCompetingDistance;
  const bool competes = radix >= lines && length % kColumnsAlike == 0;
  const double usual = is_first == is_last ? cost.inner : is_first ? cost.first : cost.last;
  return usual + (competes ? kCostOfCompeting : 0);
}

std::int64_t smallest_prime_factor(std::int64_t n) {
  for (std::int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

}  // namespace

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t prime = 1;
  for (; n > 1; n /= prime) prime = smallest_prime_factor(n);
  return prime;
}

std::vector<int> cheapest_radices(std::int64_t n) {
  std::vector<int> radices;
  for (std::int64_t prime = largest_prime_factor(n); prime > kLongestButterfly;
       prime = largest_prime_factor(n /= prime))
    radices.push_back(static_cast<int>(prime));
  const bool with_lanes = radices.empty();  // long primes neither load nor store them
  const std::int64_t whole = n;
  struct Choice {
    double cost = std::numeric_limits<double>::infinity();
    int radix = 1;
  };
  std::map<std::int64_t, Choice> best{{1, {0, 1}}};  // for blocks of so many points
  const auto search = [&](auto& self, std::int64_t points) -> Choice {
    if (const auto found = best.find(points); found != best.end()) return found->second;
    Choice choice;
    for (int radix = kLongestButterfly; radix > 1; --radix) {
      if (points % radix != 0 || !kCostOfRadix[radix].is_offered()) continue;
      const std::int64_t length = points / radix;
      const double cost =
          cost_of(radix, length, with_lanes && points == whole, with_lanes && length == 1) +
          self(self, length).cost;
      if (cost < choice.cost) choice = {cost, radix};
    }
    return best[points] = choice;
  };
  for (; n > 1; n /= radices.back()) radices.push_back(search(search, n).radix);
  return radices;
}

}  // namespace weft
