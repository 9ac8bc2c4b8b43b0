// Request: what the user asked for, checked and resolved into layouts and transforms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/axis_transform.hpp"
#include "mpi/communicator.hpp"
#include "plan/path.hpp"
#include "weft/plan.hpp"

namespace weft {

struct Request {
  Shape shape;
  Element input;
  Element output;
  Options options;
  // For the plans that another plan is made of.
  std::optional<Path> path{};   ///< found already
  double points_elsewhere = 1;  ///< are transformed by others, and this one scales for them too
  bool whole_arrays = true;     ///< calls are made with these, not with parts of arrays
};

/// Everything that must be the same on all ranks, a line for each thing.
std::string describe(const Request& request);

/// Throws Error(invalid_argument) when the arguments of one rank cannot work.
void validate(const Request& request, int ranks);

/// The request with nothing left open, and the path that follows from it.
struct ResolvedRequest {
  std::vector<AxisTransform> transforms;
  Path path;
  Layout input_layout;
  Layout output_layout;
  std::int64_t input_field_stride = 0;  ///< elements, on this rank
  std::int64_t output_field_stride = 0;
  double forward_factor = 1;
  double backward_factor = 1;
};

/// Collective. Throws the same Error on all ranks. Fills in request.options.
ResolvedRequest resolve(Request& request, const Communicator& comm);

}  // namespace weft
