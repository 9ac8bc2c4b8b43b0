// Geometry of process grids and layouts: which rank holds what, and at which distance in memory.
#include "weft/layout.hpp"

#include <numeric>
#include <utility>

namespace weft {

int ProcessGrid::ranks() const noexcept {
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
}

int ProcessGrid::parts(int axis) const noexcept {
  int result = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (axes[d] == axis) result *= sizes[d];
  return result;
}

int ProcessGrid::part_of(int rank, int axis) const noexcept {
  int part = 0;
  int ranks_below = ranks();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    ranks_below /= sizes[d];
    const int coordinate = rank / ranks_below;
    rank %= ranks_below;
    if (axes[d] == axis) part = part * sizes[d] + coordinate;
  }
  return part;
}

ProcessGrid ProcessGrid::from_parts(const std::vector<int>& parts) {
  ProcessGrid grid;
  for (std::size_t axis = 0; axis < parts.size(); ++axis) {
    if (parts[axis] == 1) continue;
    grid.sizes.push_back(parts[axis]);
    grid.axes.push_back(static_cast<int>(axis));
  }
  return grid;
}

namespace {

std::vector<int> identity_order(int dimensions) {
  std::vector<int> order(static_cast<std::size_t>(dimensions));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void require_inside(const Shape& shape, const Box& box, int rank) {
  const std::string who = "the box of rank " + std::to_string(rank);
  if (box.lower.size() != shape.size() || box.upper.size() != shape.size())
    throw Error(ErrorCode::invalid_layout, who + " has " + std::to_string(box.lower.size()) +
                                               " and " + std::to_string(box.upper.size()) +
                                               " bounds, the array has " +
                                               std::to_string(shape.size()) + " dimensions");
  for (int axis = 0; axis < shape.size(); ++axis)
    if (box.lower[axis] < 0 || box.upper[axis] > shape[axis] || box.lower[axis] > box.upper[axis])
      throw Error(ErrorCode::invalid_layout,
                  who + ", " + to_string(box) + ", does not lie in the array " + to_string(shape));
}

void require_disjoint(const std::vector<Box>& boxes) {
  // Sorted along axis 0, only boxes whose ranges meet there need to be compared.
  std::vector<std::size_t> sorted(boxes.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::erase_if(sorted, [&](std::size_t r) { return boxes[r].empty(); });
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t a, std::size_t b) { return boxes[a].lower[0] < boxes[b].lower[0]; });
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const Box& a = boxes[sorted[i]];
      const Box& b = boxes[sorted[j]];
      if (b.lower[0] >= a.upper[0]) break;
      if (!intersect(a, b).empty())
        throw Error(ErrorCode::invalid_layout,
                    "the boxes of ranks " + std::to_string(sorted[i]) + ", " + to_string(a) +
                        ", and " + std::to_string(sorted[j]) + ", " + to_string(b) + ", overlap");
    }
}

}  // namespace

Layout Layout::from_grid(const Shape& shape, const ProcessGrid& grid) {
  Layout layout;
  layout.shape_ = shape;
  layout.grid_ = grid;
  layout.order_ = identity_order(shape.size());
  layout.padding_.resize(static_cast<std::size_t>(shape.size()));
  const int ranks = grid.ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    Box box;
    for (int axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t parts = grid.parts(axis);
      const std::int64_t part = grid.part_of(rank, axis);
      box.lower.push_back(shape[axis] * part / parts);
      box.upper.push_back(shape[axis] * (part + 1) / parts);
    }
    if (grid.part_of(rank, ProcessGrid::kIdle) != 0)
      box.lower = box.upper = Extents::filled(shape.size(), 0);
    layout.boxes_.push_back(box);
  }
  return layout;
}

Layout Layout::from_boxes(const Shape& shape, std::vector<Box> boxes) {
  std::int64_t covered = 0;
  for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
    require_inside(shape, boxes[rank], static_cast<int>(rank));
    covered += boxes[rank].volume();
  }
  require_disjoint(boxes);
  if (covered != shape.product())
    throw Error(ErrorCode::invalid_layout, "the boxes hold " + std::to_string(covered) +
                                               " points, the array " + to_string(shape) + " has " +
                                               std::to_string(shape.product()));
  Layout layout;
  layout.shape_ = shape;
  layout.boxes_ = std::move(boxes);
  layout.order_ = identity_order(shape.size());
  layout.padding_.resize(static_cast<std::size_t>(shape.size()));
  return layout;
}

Layout Layout::with_order(const std::vector<int>& order) const {
  Layout layout = *this;
  layout.order_ = order.empty() ? identity_order(shape_.size()) : order;
  std::vector<int> sorted = layout.order_;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity_order(shape_.size())) {
    std::string text;
    for (int axis : order) text += (text.empty() ? "" : ",") + std::to_string(axis);
    throw Error(ErrorCode::invalid_argument, "a memory order names each of the axes 0 to " +
                                                 std::to_string(shape_.size() - 1) +
                                                 " once, got {" + text + "}");
  }
  return layout;
}

Layout Layout::with_padding(const std::vector<Padding>& padding) const {
  Layout layout = *this;
  layout.padding_ = padding;
  layout.padding_.resize(static_cast<std::size_t>(shape_.size()));
  if (padding.size() > layout.padding_.size())
    throw Error(ErrorCode::invalid_argument,
                "padding is given for " + std::to_string(padding.size()) + " axes, the array has " +
                    std::to_string(shape_.size()));
  for (const Padding& p : padding)
    if (p.before < 0 || p.after < 0)
      throw Error(ErrorCode::invalid_argument, "padding must not be negative, got " +
                                                   std::to_string(p.before) + " and " +
                                                   std::to_string(p.after));
  return layout;
}

bool Layout::is_local(int axis) const {
  return std::all_of(boxes_.begin(), boxes_.end(), [&](const Box& box) {
    return box.empty() || (box.lower[axis] == 0 && box.upper[axis] == shape_[axis]);
  });
}

Extents Layout::strides(int rank) const {
  Extents allocated = box(rank).extents();
  for (int axis = 0; axis < allocated.size(); ++axis) {
    const Padding& padding = padding_[static_cast<std::size_t>(axis)];
    allocated[axis] += padding.before + padding.after;
  }
  Extents strides = Extents::filled(allocated.size(), 1);
  std::int64_t stride = 1;
  for (auto axis = order_.rbegin(); axis != order_.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= std::max<std::int64_t>(1, allocated[*axis]);
  }
  return strides;
}

std::int64_t Layout::offset(int rank) const {
  const Extents distance = strides(rank);
  std::int64_t result = 0;
  for (int axis = 0; axis < distance.size(); ++axis)
    result += distance[axis] * padding_[static_cast<std::size_t>(axis)].before;
  return result;
}

std::int64_t Layout::allocated_elements(int rank) const {
  const Box& mine = box(rank);
  if (mine.empty()) return 0;
  std::int64_t result = 1;
  for (int axis = 0; axis < shape_.size(); ++axis) {
    const Padding& padding = padding_[static_cast<std::size_t>(axis)];
    result *= mine.extent(axis) + padding.before + padding.after;
  }
  return result;
}

}  // namespace weft
