// Draws random problems, with the awkward ones (extent 1, primes, empty boxes, more ranks than
// points) made common.
#include "problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "arguments.hpp"
#include "oracle.hpp"
#include "pseudo_random.hpp"
#include "units.hpp"

namespace weft::command {
namespace {

/// Points of an array, and long-double products that the oracle may spend on one field.
constexpr double kMostPoints = 4000;
constexpr double kMostProducts = 6e5;

std::int64_t random_extent(Choices& choices, double typical) {
  constexpr std::array<std::int64_t, 10> kPrimes = {2, 3, 5, 7, 11, 13, 17, 31, 67, 127};
  if (choices.chance(12)) return 1;
  if (choices.chance(25)) {
    const std::int64_t prime = choices.pick(kPrimes);
    if (static_cast<double>(prime) <= 2 * typical) return prime;
  }
  return choices.between(1, std::max<std::int64_t>(2, static_cast<std::int64_t>(1.6 * typical)));
}

Shape random_shape(Choices& choices) {
  constexpr std::array<int, 12> kDimensions = {1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 5, 6};
  const int dimensions = choices.pick(kDimensions);
  const double typical = dimensions == 1 ? 400 : std::pow(kMostPoints, 1.0 / dimensions);
  for (;;) {
    Shape shape;
    double sum = 0;
    for (int axis = 0; axis < dimensions; ++axis) {
      shape.push_back(random_extent(choices, typical));
      sum += static_cast<double>(shape[axis]);
    }
    const auto points = static_cast<double>(shape.product());
    if (points <= kMostPoints && points * sum <= kMostProducts) return shape;
  }
}

/// Kinds and the element types that belong to them.
void choose_kinds(Choices& choices, Problem& problem) {
  const auto dimensions = static_cast<std::size_t>(problem.shape.size());
  problem.kinds.assign(dimensions, Kind::none);
  if (choices.chance(12)) {  // nothing is transformed: a pure redistribution
    problem.real_input = problem.real_output = choices.chance(50);
    return;
  }
  for (Kind& kind : problem.kinds) kind = choices.chance(80) ? Kind::c2c : Kind::none;
  const auto chosen =
      static_cast<std::size_t>(choices.between(0, static_cast<std::int64_t>(dimensions) - 1));
  problem.real_input = choices.chance(50);
  problem.kinds[chosen] = problem.real_input ? Kind::r2c : Kind::c2c;
}

/// Each prime factor of `ranks` goes to a random axis.
std::vector<int> random_grid(Choices& choices, int dimensions, int ranks) {
  std::vector<int> parts(static_cast<std::size_t>(dimensions), 1);
  for (int factor = 2; ranks > 1; ++factor)
    for (; ranks % factor == 0; ranks /= factor)
      parts[static_cast<std::size_t>(choices.between(0, dimensions - 1))] *= factor;
  return parts;
}

/// Cuts `box` into `count` boxes, of which some may be empty.
void bisect(Choices& choices, const Box& box, int count, std::vector<Box>& boxes) {
  if (count == 1) {
    boxes.push_back(box);
    return;
  }
  const int first = static_cast<int>(choices.between(1, count - 1));
  const int axis = static_cast<int>(choices.between(0, box.dimensions() - 1));
  const std::int64_t cut = choices.between(box.lower[axis], box.upper[axis]);
  Box low = box;
  Box high = box;
  low.upper[axis] = high.lower[axis] = cut;
  bisect(choices, low, first, boxes);
  bisect(choices, high, count - first, boxes);
}

template <class T>
void shuffle(Choices& choices, std::vector<T>& values) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(
        values[i - 1],
        values[static_cast<std::size_t>(choices.between(0, static_cast<std::int64_t>(i) - 1))]);
}

std::vector<int> random_order(Choices& choices, int dimensions) {
  std::vector<int> order;
  for (int axis = 0; axis < dimensions; ++axis) order.push_back(axis);
  shuffle(choices, order);
  return order;
}

SideLayout random_side(Choices& choices, const Shape& shape, int ranks) {
  SideLayout side;
  const std::int64_t choice = choices.between(1, 100);
  if (choice <= 45) {
    side.grid = random_grid(choices, shape.size(), ranks);
  } else if (choice <= 70) {
    bisect(choices, Box::whole(shape), ranks, side.boxes);
    shuffle(choices, side.boxes);
  }
  if (choices.chance(30)) side.order = random_order(choices, shape.size());
  if (choices.chance(30))
    for (int axis = 0; axis < shape.size(); ++axis)
      side.padding.push_back({choices.between(0, 2), choices.between(0, 2)});
  return side;
}

/// The output is cut as the input is, and in the same order.
void make_natural(Problem& problem) {
  problem.output.grid = problem.input.grid;
  problem.output.boxes.clear();
  problem.output.order = problem.input.order;
}

/// Moves `axis` to the fast end.
std::vector<int> with_fastest(std::vector<int> order, int axis, int dimensions) {
  for (int other = static_cast<int>(order.size()); other < dimensions; ++other)
    order.push_back(other);
  order.erase(std::find(order.begin(), order.end(), axis));
  order.push_back(axis);
  return order;
}

bool cuts(const SideLayout& side, int axis, std::int64_t extent) {
  if (!side.grid.empty()) return side.grid[static_cast<std::size_t>(axis)] > 1;
  return std::any_of(side.boxes.begin(), side.boxes.end(),
                     [&](const Box& box) { return !box.empty() && box.extent(axis) != extent; });
}

/// Turns the problem into one that low memory can do: the contiguous axis is the same on both
/// sides, the real one if there is one, is not cut, and its rows take as much memory on both sides.
void require_low_memory(Problem& problem) {
  const int dimensions = problem.shape.size();
  const Shape output_shape = transformed_shape(problem.shape, problem.kinds);
  int axis = problem.input.order.empty() ? dimensions - 1 : problem.input.order.back();
  for (int other = 0; other < dimensions; ++other)
    if (problem.kinds[static_cast<std::size_t>(other)] == Kind::r2c) axis = other;
  const auto at = static_cast<std::size_t>(axis);
  for (SideLayout* side : {&problem.input, &problem.output}) {
    side->order = with_fastest(side->order, axis, dimensions);
    const Shape& shape = side == &problem.input ? problem.shape : output_shape;
    if (cuts(*side, axis, shape[axis])) side->grid = {}, side->boxes = {};
    if (side->padding.empty()) side->padding.resize(static_cast<std::size_t>(dimensions));
  }
  const std::int64_t unit = problem.real_input && !problem.real_output ? 2 : 1;
  const Padding& wanted = problem.output.padding[at];
  const std::int64_t row = unit * (wanted.before + output_shape[axis] + wanted.after);
  problem.input.padding[at] = {unit * wanted.before,
                               row - unit * wanted.before - problem.shape[axis]};
  problem.in_place = problem.low_memory = true;
}

std::string describe_side(const SideLayout& side) {
  std::string text = "default layout";
  if (!side.grid.empty()) text = fmt::format("grid {}", fmt::join(side.grid, "x"));
  if (!side.boxes.empty()) {
    text = "boxes";
    for (const Box& box : side.boxes) text += " " + to_string(box);
  }
  if (!side.order.empty()) text += fmt::format(" order {}", fmt::join(side.order, ","));
  if (!side.padding.empty()) {
    text += " padding";
    for (const Padding& each : side.padding) text += fmt::format(" {}+{}", each.before, each.after);
  }
  return text;
}

}  // namespace

LayoutRequest SideLayout::request(int rank) const {
  LayoutRequest result;
  result.grid = grid;
  if (!boxes.empty()) result.box = boxes[static_cast<std::size_t>(rank)];
  result.order = order;
  result.padding = padding;
  return result;
}

Options Problem::options(int rank) const {
  Options result;
  result.kinds = kinds;
  result.input = input.request(rank);
  result.output = output.request(rank);
  result.fields = fields;
  result.chunks = chunks;
  result.progress = progress;
  result.normalization = normalization;
  result.in_place = in_place;
  result.low_memory = low_memory;
  result.exchange = exchange;
  result.engine = engine;
  result.threads = threads;
  return result;
}

std::string Problem::description() const {
  std::string names;
  for (Kind kind : kinds) names += std::string(names.empty() ? "" : ",") + name_of(kind);
  return fmt::format(
      "{} kinds {} {} {} -> {}; {} -> {}; {}, normalization {}, {}, exchange {} in {}, progress "
      "{}, "
      "engine {}, {}{}{}",
      to_string(shape), names, precision == Precision::double_ ? "double" : "single",
      real_input ? "real" : "complex", real_output ? "real" : "complex", describe_side(input),
      describe_side(output), counted(fields, "field"), name_of(normalization),
      low_memory ? "in place with low memory"
      : in_place ? "in place"
                 : "out of place",
      exchange, counted(chunks, "chunk"), name_of_progress(progress), engine,
      counted(threads, "thread"), reversed_ranks ? ", ranks reversed" : "",
      misalignment > 0 ? fmt::format(", arrays misaligned by {}", counted(misalignment, "element"))
                       : "");
}

Problem random_problem(std::uint64_t seed, std::int64_t number, int ranks,
                       const Choosable& choosable) {
  Choices choices(hash(seed) + static_cast<std::uint64_t>(number));
  Problem problem;
  problem.shape = random_shape(choices);
  choose_kinds(choices, problem);
  problem.input = random_side(choices, problem.shape, ranks);
  problem.output = random_side(choices, transformed_shape(problem.shape, problem.kinds), ranks);
  if (!problem.input.grid.empty() && choices.chance(50)) make_natural(problem);
  problem.precision = choices.chance(60) ? Precision::double_ : Precision::single;
  problem.fields = choices.pick(choosable.fields);
  problem.normalization = static_cast<Normalization>(choices.between(0, 3));
  problem.in_place = choices.chance(30);
  problem.exchange = choices.pick(choosable.exchanges);
  problem.engine = choices.pick(choosable.engines);
  problem.threads = choices.chance(15) ? 2 : 1;
  problem.reversed_ranks = choices.chance(15);
  problem.misalignment = choices.chance(20) ? 1 : 0;
  problem.chunks = choices.pick(choosable.chunks);
  problem.progress = choices.pick(choosable.progress);
  const bool low_memory = choosable.only_low_memory || (problem.in_place && choices.chance(40));
  if (low_memory && problem.shape.size() > 1) require_low_memory(problem);
  return problem;
}

}  // namespace weft::command
