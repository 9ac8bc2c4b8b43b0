// Direct sums, one axis after the other. See oracle.hpp.
#include "oracle.hpp"

namespace weft::command {
namespace {

/// `values` as [before][n][after] -> [before][kept][after].
std::vector<LongComplex> transform_axis(const std::vector<LongComplex>& values, std::int64_t n,
                                        std::int64_t kept, std::int64_t after) {
  std::vector<LongComplex> roots;
  for (std::int64_t j = 0; j < n; ++j) roots.push_back(root_of_unity(j, 1, n));
  const std::int64_t before = static_cast<std::int64_t>(values.size()) / (n * after);
  std::vector<LongComplex> result(static_cast<std::size_t>(before * kept * after));
  for (std::int64_t b = 0; b < before; ++b)
    for (std::int64_t k = 0; k < kept; ++k)
      for (std::int64_t j = 0; j < n; ++j) {
        const LongComplex root = roots[static_cast<std::size_t>(j * k % n)];
        for (std::int64_t a = 0; a < after; ++a)
          result[static_cast<std::size_t>((b * kept + k) * after + a)] +=
              root * values[static_cast<std::size_t>((b * n + j) * after + a)];
      }
  return result;
}

}  // namespace

Shape transformed_shape(const Shape& shape, const std::vector<Kind>& kinds) {
  Shape result = shape;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (kinds[static_cast<std::size_t>(axis)] == Kind::r2c) result[axis] = shape[axis] / 2 + 1;
  return result;
}

std::vector<LongComplex> direct_transform(const Shape& shape, const std::vector<Kind>& kinds,
                                          std::vector<LongComplex> values) {
  const Shape kept = transformed_shape(shape, kinds);
  std::int64_t after = 1;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    if (kinds[static_cast<std::size_t>(axis)] != Kind::none)
      values = transform_axis(values, shape[axis], kept[axis], after);
    after *= kept[axis];
  }
  return values;
}

std::int64_t transformed_points(const Shape& shape, const std::vector<Kind>& kinds) {
  std::int64_t points = 1;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (kinds[static_cast<std::size_t>(axis)] != Kind::none) points *= shape[axis];
  return points;
}

}  // namespace weft::command
