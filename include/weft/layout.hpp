// ProcessGrid and Layout: which box of a global array each rank holds, and how it lies in that
// rank's memory. Values that know the geometry of every rank; no communication happens here.
#pragma once

#include <optional>
#include <vector>

#include "weft/extents.hpp"

namespace weft {

/// Ranks arranged in a grid whose dimensions are each assigned to one axis of an array.
///
/// Rank r has the row-major coordinates of r in `sizes`. Several dimensions may be assigned to one
/// axis: the axis is then cut into the product of their sizes, the earlier dimension being the
/// slower one. A redistribution that reassigns one dimension moves data only among the ranks that
/// differ in that coordinate. A dimension assigned to kIdle cuts nothing: only the ranks at its
/// coordinate 0 hold data. Example: sizes {2, 3}, axes {0, 2}: axis 0 in 2 parts, axis 1 whole,
/// axis 2 in 3 parts; rank 4 is (1, 1).
struct ProcessGrid {
  static constexpr int kIdle = -1;
  std::vector<int> sizes;
  std::vector<int> axes;

  int ranks() const noexcept;
  /// The number of parts that `axis` is cut into; 1 when it is local.
  int parts(int axis) const noexcept;
  /// Which of these parts `rank` holds.
  int part_of(int rank, int axis) const noexcept;

  /// A grid from the number of parts of every axis, e.g. {4, 2, 1}.
  static ProcessGrid from_parts(const std::vector<int>& parts);

  friend bool operator==(const ProcessGrid&, const ProcessGrid&) = default;
};

/// Elements left free in memory before and after the local box along one axis: halos, or room for
/// an in-place transform.
struct Padding {
  std::int64_t before = 0;
  std::int64_t after = 0;
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// The box of every rank and its order and padding in memory.
class WEFT_API Layout {
 public:
  Layout() = default;

  /// Cuts every axis evenly: part i of p of an axis of n points is [n*i/p, n*(i+1)/p).
  static Layout from_grid(const Shape& shape, const ProcessGrid& grid);

  /// One explicit box per rank. Throws Error(invalid_layout) unless they cover the array exactly
  /// once.
  static Layout from_boxes(const Shape& shape, std::vector<Box> boxes);

  /// The same boxes with the axes in another memory order, from slowest to fastest; {} means 0, 1,
  /// ..., d-1.
  Layout with_order(const std::vector<int>& order) const;
  /// The same boxes with padding along each axis, in elements; {} means none.
  Layout with_padding(const std::vector<Padding>& padding) const;

  const Shape& shape() const noexcept { return shape_; }
  int ranks() const noexcept { return static_cast<int>(boxes_.size()); }
  const Box& box(int rank) const { return boxes_[static_cast<std::size_t>(rank)]; }
  const std::vector<Box>& boxes() const noexcept { return boxes_; }
  /// The grid that the layout was made from; none for explicit boxes.
  const std::optional<ProcessGrid>& grid() const noexcept { return grid_; }
  const std::vector<int>& order() const noexcept { return order_; }
  const std::vector<Padding>& padding() const noexcept { return padding_; }

  /// True when no rank's box cuts `axis`, so that it can be transformed without communication.
  bool is_local(int axis) const;

  /// Distance in elements between neighbours along each axis in the memory of `rank`.
  Extents strides(int rank) const;
  /// Elements from the start of the array to the first point of the box of `rank` (not 0 with
  /// padding before it).
  std::int64_t offset(int rank) const;
  /// Elements of the array of `rank`, padding included; 0 for an empty box.
  std::int64_t allocated_elements(int rank) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Shape shape_;
  std::vector<Box> boxes_;
  std::optional<ProcessGrid> grid_;
  std::vector<int> order_;
  std::vector<Padding> padding_;
};

}  // namespace weft
