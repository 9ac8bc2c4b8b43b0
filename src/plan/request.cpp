// Checks arguments with messages that say what would be right, and fills in what was left open.
#include "plan/request.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/rounding.hpp"

namespace weft {

namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

template <class Container>
std::string joined(const Container& values, const char* separator) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

std::string name_of(const Element& element) {
  return std::string(element.complex ? "complex " : "real ") +
         (element.precision == Precision::double_ ? "double" : "single");
}

std::string describe(const LayoutRequest& side) {
  std::string text = side.box            ? "own boxes"
                     : side.grid.empty() ? "default grid"
                                         : "grid " + joined(side.grid, "x");
  if (!side.order.empty()) text += ", order " + joined(side.order, ",");
  for (const Padding& p : side.padding)
    text += ", padding " + std::to_string(p.before) + "+" + std::to_string(p.after);
  return text;
}

std::vector<Kind> default_kinds(const Request& request) {
  const auto dimensions = static_cast<std::size_t>(request.shape.size());
  if (!request.input.complex && !request.output.complex)
    return std::vector<Kind>(dimensions, Kind::none);
  std::vector<Kind> kinds(dimensions, Kind::c2c);
  if (!request.input.complex && !kinds.empty()) kinds.back() = Kind::r2c;
  return kinds;
}

constexpr std::int64_t kMostElements = std::int64_t{1}
                                       << 57;  // their bytes can be counted without overflow

void validate_shape(const Shape& shape) {
  if (shape.size() == 0) reject("an array has 1 to 6 dimensions, got none");
  std::int64_t points = 1;
  for (std::int64_t extent : shape) {
    if (extent < 1) reject("every extent must be at least 1, got " + to_string(shape));
    if (extent > kMostElements / points)
      reject("the array " + to_string(shape) + " has more than 2^57 points");
    points *= extent;
  }
}

// What a rank allocates on one side is at most the padded array, `fields` times. Negative numbers
// are refused elsewhere.
void validate_elements(const LayoutRequest& side, const char* name, const Request& request) {
  const std::string who = std::string("options.") + name;
  std::int64_t elements = 1;
  for (int axis = 0; axis < request.shape.size(); ++axis) {
    std::int64_t extent = request.shape[axis];
    if (static_cast<std::size_t>(axis) < side.padding.size()) {
      const Padding& padding = side.padding[static_cast<std::size_t>(axis)];
      for (const std::int64_t more : {padding.before, padding.after}) {
        if (more > kMostElements - extent)
          reject(who + ".padding of " + std::to_string(more) + " elements is too large");
        extent += std::max<std::int64_t>(0, more);
      }
    }
    if (extent > kMostElements / elements)
      reject("the array " + to_string(request.shape) + " with " + who +
             ".padding has more than 2^57 elements");
    elements *= extent;
  }
  if (request.options.fields > kMostElements / elements)
    reject(std::to_string(request.options.fields) + " fields of " + std::to_string(elements) +
           " elements are more than 2^57 elements");
}

void validate_kinds(const Request& request) {
  const auto& kinds = request.options.kinds;
  if (!kinds.empty() && kinds.size() != static_cast<std::size_t>(request.shape.size()))
    reject("kinds are given for " + std::to_string(kinds.size()) + " axes, the array has " +
           std::to_string(request.shape.size()));
  for (Kind kind : kinds)
    if (kind != Kind::c2c && kind != Kind::r2c && kind != Kind::none)
      reject("unknown transform kind " + std::to_string(static_cast<int>(kind)));
  if (request.input.precision != request.output.precision)
    reject("input and output must have the same precision, got " + name_of(request.input) +
           " and " + name_of(request.output));
  const auto count = [&](Kind kind) { return std::count(kinds.begin(), kinds.end(), kind); };
  if (request.input.complex && !request.output.complex)
    reject(
        "a complex input has a complex output; for complex to real use backward() of a "
        "real-to-complex plan");
  if (request.input.complex && count(Kind::r2c) > 0)
    reject("r2c needs real input, got " + name_of(request.input));
  if (!request.input.complex && request.output.complex && !kinds.empty() && count(Kind::r2c) != 1)
    reject("a real input with complex output needs r2c on exactly one axis, got it on " +
           std::to_string(count(Kind::r2c)));
  if (!request.input.complex && !request.output.complex &&
      count(Kind::none) != static_cast<std::ptrdiff_t>(kinds.size()))
    reject("a real output takes kind none on every axis; for a spectrum use a complex output");
}

void validate_side(const LayoutRequest& side, const char* name, int dimensions, int ranks) {
  const std::string who = std::string("options.") + name;
  if (side.box && !side.grid.empty()) reject(who + " has both a grid and a box; give one of them");
  if (side.box && (side.box->lower.size() != dimensions || side.box->upper.size() != dimensions))
    throw Error(ErrorCode::invalid_layout,
                who + ".box has " + std::to_string(side.box->lower.size()) + " lower and " +
                    std::to_string(side.box->upper.size()) + " upper bounds, the array has " +
                    std::to_string(dimensions) + " dimensions");
  if (side.grid.empty()) return;
  if (static_cast<int>(side.grid.size()) != dimensions)
    reject(who + ".grid has " + std::to_string(side.grid.size()) + " numbers, the array has " +
           std::to_string(dimensions) + " dimensions");
  std::int64_t product = 1;
  for (int parts : side.grid) {
    if (parts < 1) reject(who + ".grid must be positive, got " + joined(side.grid, "x"));
    product *= parts;
    if (product > std::numeric_limits<int>::max()) break;
  }
  if (product != ranks)
    reject(who + ".grid " + joined(side.grid, "x") + " has " + std::to_string(product) +
           " parts, the communicator has " + std::to_string(ranks) + " ranks");
}

std::optional<std::vector<Box>> gather_boxes(const LayoutRequest& side, int dimensions,
                                             const Communicator& comm) {
  if (!side.box) return std::nullopt;
  std::vector<std::int64_t> mine;
  for (int axis = 0; axis < dimensions; ++axis) {
    mine.push_back(side.box->lower[axis]);
    mine.push_back(side.box->upper[axis]);
  }
  const std::vector<std::int64_t> all = comm.gather(mine);
  std::vector<Box> boxes(static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < all.size(); i += 2) {
    Box& box = boxes[i / mine.size()];
    box.lower.push_back(all[i]);
    box.upper.push_back(all[i + 1]);
  }
  return boxes;
}

std::optional<ProcessGrid> grid_of(const LayoutRequest& side) {
  if (side.grid.empty()) return std::nullopt;
  return ProcessGrid::from_parts(side.grid);
}

// The axis that is contiguous in memory.
int fastest_axis(const LayoutRequest& side, int dimensions) {
  return side.order.empty() ? dimensions - 1 : side.order.back();
}

// Room for the spectrum in the memory of an in-place real input, as every FFT library lays it out.
void pad_for_in_place(Request& request, const Layout& input) {
  LayoutRequest& side = request.options.input;
  if (!request.options.in_place || request.input == request.output || !side.padding.empty()) return;
  const int fastest = fastest_axis(side, request.shape.size());
  if (request.options.kinds[static_cast<std::size_t>(fastest)] != Kind::r2c ||
      !input.is_local(fastest))
    return;
  const AxisTransform transform{Kind::r2c, request.shape[fastest]};
  side.padding.resize(static_cast<std::size_t>(request.shape.size()));
  side.padding[static_cast<std::size_t>(fastest)].after =
      2 * transform.output_extent() - transform.n;
}

void choose_field_strides(const Request& request, int rank, ResolvedRequest& resolved) {
  resolved.input_field_stride = resolved.input_layout.allocated_elements(rank);
  resolved.output_field_stride = resolved.output_layout.allocated_elements(rank);
  if (!request.options.in_place) return;
  const std::int64_t bytes = std::max(resolved.input_field_stride * request.input.bytes(),
                                      resolved.output_field_stride * request.output.bytes());
  const std::int64_t unit = std::max(request.input.bytes(), request.output.bytes());
  const std::int64_t rounded = round_up(bytes, unit);
  resolved.input_field_stride = rounded / request.input.bytes();
  resolved.output_field_stride = rounded / request.output.bytes();
}

void choose_factors(const Request& request, ResolvedRequest& resolved) {
  double points = request.points_elsewhere;
  for (const AxisTransform& transform : resolved.transforms)
    points *= transform.unscaled_round_trip();
  switch (request.options.normalization) {
    case Normalization::backward:
      resolved.backward_factor = 1 / points;
      return;
    case Normalization::forward:
      resolved.forward_factor = 1 / points;
      return;
    case Normalization::ortho:
      resolved.forward_factor = resolved.backward_factor = 1 / std::sqrt(points);
      return;
    case Normalization::none:
      return;
  }
  reject("unknown normalization " +
         std::to_string(static_cast<int>(request.options.normalization)));
}

// What must be so before there are layouts; LowMemoryPlan checks the rest.
void validate_low_memory(const Request& request) {
  if (!request.options.in_place)
    throw Error(ErrorCode::unavailable,
                "low_memory is for plans that work in place; set options.in_place too");
  if (request.shape.size() < 2)
    throw Error(ErrorCode::unavailable, "low_memory needs at least 2 axes, the array has 1");
  if (request.options.shared_arrays)
    throw Error(ErrorCode::unavailable,
                "low_memory and shared_arrays exclude each other; set one of them");
}

}  // namespace

std::string describe(const Request& request) {
  const Options& options = request.options;
  std::string kinds;
  for (Kind kind : options.kinds) kinds += std::string(kinds.empty() ? "" : ",") + name_of(kind);
  return "shape " + to_string(request.shape) + "\ninput " + name_of(request.input) + "\noutput " +
         name_of(request.output) + "\nkinds " + (kinds.empty() ? "default" : kinds) +
         "\ninput layout " + describe(options.input) + "\noutput layout " +
         describe(options.output) + "\nfields " + std::to_string(options.fields) +
         "\nnormalization " + std::to_string(static_cast<int>(options.normalization)) +
         "\nin_place " + (options.in_place ? "yes" : "no") + "\nlow_memory " +
         (options.low_memory ? "yes" : "no") + "\nshared_arrays " +
         (options.shared_arrays ? "yes" : "no") + "\nexchange " + options.exchange + "\nchunks " +
         std::to_string(options.chunks) + "\nprogress " +
         std::to_string(static_cast<int>(options.progress)) + "\ntimeout " +
         (options.timeout > 0 ? "some" : "none") + "\nengine " + options.engine;
}

void validate(const Request& request, int ranks) {
  validate_shape(request.shape);
  validate_kinds(request);
  validate_side(request.options.input, "input", request.shape.size(), ranks);
  validate_side(request.options.output, "output", request.shape.size(), ranks);
  if (request.options.fields < 1)
    reject("fields must be at least 1, got " + std::to_string(request.options.fields));
  validate_elements(request.options.input, "input", request);
  validate_elements(request.options.output, "output", request);
  if (request.options.chunks < 1)
    reject("chunks must be at least 1, got " + std::to_string(request.options.chunks));
  if (const Progress progress = request.options.progress;
      progress != Progress::none && progress != Progress::poll && progress != Progress::thread)
    reject("progress is " + std::to_string(static_cast<int>(progress)) +
           ", which is none of none (0), poll (1) and thread (2)");
  if (!(request.options.timeout >= 0))
    reject("timeout must not be negative, got " + std::to_string(request.options.timeout) + " s");
  if (request.options.threads < 0)
    reject("threads must not be negative, got " + std::to_string(request.options.threads));
  if (request.options.low_memory) validate_low_memory(request);
}

ResolvedRequest resolve(Request& request, const Communicator& comm) {
  Options& options = request.options;
  const int dimensions = request.shape.size();
  if (options.kinds.empty()) options.kinds = default_kinds(request);
  const auto input_boxes = gather_boxes(options.input, dimensions, comm);
  const auto output_boxes = gather_boxes(options.output, dimensions, comm);
  ResolvedRequest resolved;
  for (int axis = 0; axis < dimensions; ++axis)
    resolved.transforms.push_back(
        {options.kinds[static_cast<std::size_t>(axis)], request.shape[axis]});
  comm.agree([&] {
    const int whole_axis = options.low_memory ? fastest_axis(options.input, dimensions) : -1;
    resolved.path = request.path ? *request.path
                                 : find_path({.shape = request.shape,
                                              .transforms = resolved.transforms,
                                              .ranks = comm.size(),
                                              .input_grid = grid_of(options.input),
                                              .input_boxes = input_boxes,
                                              .output_grid = grid_of(options.output),
                                              .output_boxes = output_boxes,
                                              .whole_axis = whole_axis});
    pad_for_in_place(request, resolved.path.states.front());
    resolved.input_layout = resolved.path.states.front()
                                .with_order(options.input.order)
                                .with_padding(options.input.padding);
    resolved.output_layout = resolved.path.states.back()
                                 .with_order(options.output.order)
                                 .with_padding(options.output.padding);
    choose_field_strides(request, comm.rank(), resolved);
    choose_factors(request, resolved);
  });
  return resolved;
}

}  // namespace weft
