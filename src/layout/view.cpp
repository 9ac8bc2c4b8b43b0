// Arithmetic on views.
#include "layout/view.hpp"

#include <algorithm>

namespace weft {

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

}  // namespace weft
