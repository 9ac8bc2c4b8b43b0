// Random boxes, grids and layouts for property tests: the same on every machine and on every rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "oracle.hpp"
#include "weft/layout.hpp"

namespace weft::test {

/// A small generator whose numbers do not depend on the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(scrambled(seed)) {}

  /// Between `least` and `most`, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    state_ = scrambled(state_);
    return least +
           static_cast<std::int64_t>((state_ >> 8) % static_cast<std::uint64_t>(most - least + 1));
  }
  int between(int least, int most) {
    return static_cast<int>(between(std::int64_t{least}, std::int64_t{most}));
  }
  bool one_in(int times) { return between(1, times) == 1; }
  template <class Container>
  const auto& among(const Container& choices) {
    return choices[static_cast<std::size_t>(between(0, static_cast<int>(std::size(choices)) - 1))];
  }

 private:
  std::uint64_t state_;
};

inline Shape random_shape(Random& random, int dimensions, std::int64_t most) {
  Shape shape;
  for (int axis = 0; axis < dimensions; ++axis)
    shape.push_back(random.one_in(5) ? 1 : random.between(std::int64_t{1}, most));
  return shape;
}

/// Cuts `whole` into `count` disjoint boxes by repeated halving at random places; some may be
/// empty.
inline std::vector<Box> random_cuts(Random& random, const Box& whole, int count) {
  if (count == 1) return {whole};
  const int first_count = random.between(1, count - 1);
  const int axis = random.between(0, whole.dimensions() - 1);
  const std::int64_t cut = random.between(whole.lower[axis], whole.upper[axis]);
  Box first = whole;
  Box second = whole;
  first.upper[axis] = second.lower[axis] = cut;
  std::vector<Box> boxes = random_cuts(random, first, first_count);
  const std::vector<Box> others = random_cuts(random, second, count - first_count);
  boxes.insert(boxes.end(), others.begin(), others.end());
  return boxes;
}

template <class T>
std::vector<T> shuffled(Random& random, std::vector<T> values) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1],
              values[static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1))]);
  return values;
}

/// Boxes of all ranks, in random order.
inline std::vector<Box> random_boxes(Random& random, const Shape& shape, int count) {
  return shuffled(random, random_cuts(random, Box::whole(shape), count));
}

inline std::vector<int> random_order(Random& random, int dimensions) {
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  return shuffled(random, order);
}

/// A grid of `ranks` ranks: random factors on random axes, sometimes idle, sometimes two on one
/// axis.
inline ProcessGrid random_grid(Random& random, int dimensions, int ranks) {
  ProcessGrid grid;
  while (ranks > 1) {
    std::vector<int> factors;
    for (int factor = 2; factor <= ranks; ++factor)
      if (ranks % factor == 0) factors.push_back(factor);
    grid.sizes.push_back(random.among(factors));
    grid.axes.push_back(random.one_in(8) ? ProcessGrid::kIdle : random.between(0, dimensions - 1));
    ranks /= grid.sizes.back();
  }
  return grid;
}

inline Layout random_layout(Random& random, const Shape& shape, int ranks) {
  Layout layout = random.one_in(2)
                      ? Layout::from_boxes(shape, random_boxes(random, shape, ranks))
                      : Layout::from_grid(shape, random_grid(random, shape.size(), ranks));
  return layout.with_order(random_order(random, shape.size()));
}

inline std::vector<Padding> random_padding(Random& random, int dimensions) {
  std::vector<Padding> padding(static_cast<std::size_t>(dimensions));
  for (Padding& p : padding)
    p = {random.between(std::int64_t{0}, std::int64_t{2}),
         random.between(std::int64_t{0}, std::int64_t{3})};
  return padding;
}

}  // namespace weft::test
