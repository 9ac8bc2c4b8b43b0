// Path: the shortest chain of redistributions that makes every transformed axis local once, from an
// input layout to an output layout. Geometry only; nothing here communicates.
#pragma once

#include <optional>
#include <vector>

#include "layout/axis_transform.hpp"
#include "weft/layout.hpp"

namespace weft {

/// What leads from one state of the array to the next: the transform of one axis, or a
/// redistribution.
struct Action {
  static constexpr int kRedistribute = -1;
  int axis = kRedistribute;
  bool redistributes() const noexcept { return axis == kRedistribute; }
};

/// The layouts that the array goes through, forward; actions[i] leads from states[i] to states[i +
/// 1].
struct Path {
  std::vector<Layout> states;
  std::vector<Action> actions;
};

struct PathProblem {
  Shape shape;  ///< of the forward input
  std::vector<AxisTransform> transforms;
  int ranks = 1;
  std::optional<ProcessGrid> input_grid;
  std::optional<std::vector<Box>> input_boxes;
  std::optional<ProcessGrid> output_grid;
  std::optional<std::vector<Box>> output_boxes;
  int whole_axis = -1;  ///< a side that is chosen here does not cut it, and leaves no rank idle
};

/// The same cuts of an array that is `extent` long along `axis`.
Layout with_extent(const Layout& layout, int axis, std::int64_t extent);

/// Finds the path. Where neither grid nor boxes are given for a side, the cheapest is taken: fewest
/// redistributions, then the best balance over the ranks, then the least data moved. Throws
/// Error(invalid_layout) for boxes that do not cover the array.
Path find_path(const PathProblem& problem);

}  // namespace weft
