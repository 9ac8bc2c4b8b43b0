// Text and intersection of Extents and Box.
#include "weft/extents.hpp"

namespace weft {

std::string to_string(const Extents& extents) {
  std::string text;
  for (int axis = 0; axis < extents.size(); ++axis) {
    if (axis > 0) text += 'x';
    text += std::to_string(extents[axis]);
  }
  return text;
}

Box intersect(const Box& a, const Box& b) {
  if (a.dimensions() != b.dimensions())
    throw Error(ErrorCode::invalid_argument, "cannot intersect the boxes " + to_string(a) +
                                                 " and " + to_string(b) +
                                                 " of different dimensions");
  Box result;
  for (int axis = 0; axis < a.dimensions(); ++axis) {
    const std::int64_t lower = std::max(a.lower[axis], b.lower[axis]);
    result.lower.push_back(lower);
    result.upper.push_back(std::max(lower, std::min(a.upper[axis], b.upper[axis])));
  }
  return result;
}

std::string to_string(const Box& box) {
  std::string text;
  for (int axis = 0; axis < box.dimensions(); ++axis) {
    if (axis > 0) text += 'x';
    text += '[' + std::to_string(box.lower[axis]) + ',' + std::to_string(box.upper[axis]) + ')';
  }
  return text;
}

}  // namespace weft
