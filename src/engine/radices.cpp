// The cheapest factors, found by trying all.
#include "engine/radices.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/cache.hpp"

namespace weft {
namespace {

/// Columns that lie a multiple of so many apart compete.
constexpr std::int64_t kColumnsAlike = kCompetingDistance / (2 * kPackBytes);

double cost_of(int radix) {
  return radix <= kLongestButterfly ? kCostOfRadix[radix] : 0.25 * static_cast<double>(radix);
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
  std::vector<int> best;
  double best_cost = std::numeric_limits<double>::infinity();
  std::vector<int> now;
  const auto search = [&](auto& self, std::int64_t rest, int most, double cost) -> void {
    if (cost >= best_cost) return;
    if (rest == 1) {
      best = now;
      best_cost = cost;
      return;
    }
    const auto deeper = [&](int radix) {
      now.push_back(radix);
      self(self, rest / radix, radix, cost + cost_of(radix));
      now.pop_back();
    };
    for (int radix = std::min(most, kLongestButterfly); radix > 1; --radix)
      if (rest % radix == 0 && kCostOfRadix[radix] > 0) deeper(radix);
    const std::int64_t prime = smallest_prime_factor(rest);
    if (prime > kLongestButterfly) deeper(static_cast<int>(prime));
  };
  search(search, n, std::numeric_limits<int>::max(), 0);
  std::sort(best.begin(), best.end(), std::greater<>{});
  const int longest = best.empty() ? 1 : best.front();
  if (longest <= kLongestButterfly && n / longest % kColumnsAlike == 0)
    std::reverse(best.begin(), best.end());
  return best;
}

}  // namespace weft
