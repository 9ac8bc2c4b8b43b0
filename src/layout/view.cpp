// Arithmetic on views.
#include "layout/view.hpp"

#include <algorithm>
#include <numeric>

namespace weft {

namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kAliasBytes =
    4096;  // addresses so far apart compete for the same few lines of a cache
constexpr std::int64_t kShortBytes = 256;

std::int64_t spread_stride(std::int64_t elements, std::int64_t element_bytes) {
  if (elements * element_bytes < kShortBytes) return elements;
  const std::int64_t line = kLineBytes / std::gcd(kLineBytes, element_bytes);
  const std::int64_t whole = (elements + line - 1) / line * line;
  return whole * element_bytes % kAliasBytes == 0 ? whole + line : whole;
}

}  // namespace

View part_of(const View& view, const Box& box, std::int64_t element_bytes) {
  View part = view;
  part.box = box;
  for (int axis = 0; axis < box.dimensions(); ++axis)
    part.offset_bytes +=
        (box.lower[axis] - view.box.lower[axis]) * view.strides[axis] * element_bytes;
  return part;
}

Extents dense_strides(const Extents& extents, const std::vector<int>& order) {
  Extents strides = Extents::filled(extents.size(), 1);
  std::int64_t stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= std::max<std::int64_t>(1, extents[*axis]);
  }
  return strides;
}

Arrangement spread_out(const Extents& extents, const std::vector<int>& order,
                       std::int64_t element_bytes) {
  Arrangement arrangement{Extents::filled(extents.size(), 1), 1};
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    arrangement.strides[*axis] = arrangement.elements;
    arrangement.elements = spread_stride(
        arrangement.elements * std::max<std::int64_t>(1, extents[*axis]), element_bytes);
  }
  return arrangement;
}

}  // namespace weft
