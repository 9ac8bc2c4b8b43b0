// Checks and sizes of a BatchSpec; see spec.hpp. All sizes are checked once here, so that engines
// need not.
#include "engine/spec.hpp"

#include <limits>

#include "base/checked.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

struct SideGeometry {
  std::int64_t points;  ///< per transform
  std::int64_t stride;
  std::int64_t distance;
  std::int64_t element_bytes;
};

SideGeometry geometry(const BatchSpec& spec, Side side) {
  const bool is_in = side == Side::in;
  const bool is_real = spec.kind == (is_in ? BatchKind::r2c : BatchKind::c2r);
  const bool is_half = spec.kind == (is_in ? BatchKind::c2r : BatchKind::r2c);
  const std::int64_t real_bytes = spec.precision == Precision::double_ ? 8 : 4;
  return {is_half ? spec.n / 2 + 1 : spec.n, is_in ? spec.in_stride : spec.out_stride,
          is_in ? spec.in_distance : spec.out_distance, is_real ? real_bytes : 2 * real_bytes};
}

const char* name_of(BatchKind kind) {
  switch (kind) {
    case BatchKind::c2c:
      return "c2c";
    case BatchKind::r2c:
      return "r2c";
    case BatchKind::c2r:
      return "c2r";
  }
  throw Error(ErrorCode::internal,
              "no batch kind has the number " + std::to_string(static_cast<int>(kind)));
}

std::string flaw_of_strides(const BatchSpec& spec) {
  for (Side side : {Side::in, Side::out}) {
    const SideGeometry g = geometry(spec, side);
    if ((g.points > 1 && g.stride < 1) || (spec.count > 1 && g.distance < 1))
      return "strides and distances must be positive";
    try {
      span_bytes(spec, side);
    } catch (const Error& error) {
      return error.what();
    }
  }
  if (spec.in_place && (spec.in_stride != spec.out_stride || spec.in_distance != spec.out_distance))
    return "a transform in place needs the same strides on both sides";
  return {};
}

}  // namespace

std::string flaw_of(const BatchSpec& spec) {
  // Half of the range, so that n + 1 and 2 n need no checks anywhere.
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max() / 2;
  if (spec.n < 1 || spec.n > largest)
    return "the length is " + std::to_string(spec.n) + ", expected 1 or more";
  if (spec.count < 1 || spec.count > largest)
    return "the number of transforms is " + std::to_string(spec.count) + ", expected 1 or more";
  if (spec.kind == BatchKind::r2c && spec.direction != Direction::forward)
    return "r2c is a forward transform";
  if (spec.kind == BatchKind::c2r && spec.direction != Direction::backward)
    return "c2r is a backward transform";
  if (spec.kind != BatchKind::c2c && spec.in_place) return "only c2c transforms work in place";
  return flaw_of_strides(spec);
}

std::int64_t span_bytes(const BatchSpec& spec, Side side) {
  constexpr const char* what = "the span of a batch";
  const SideGeometry g = geometry(spec, side);
  const std::int64_t along = checked_product(g.points - 1, g.stride, what);
  const std::int64_t across = checked_product(spec.count - 1, g.distance, what);
  return checked_product(checked_sum(checked_sum(along, across, what), 1, what), g.element_bytes,
                         what);
}

std::string to_string(const BatchSpec& spec) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  return std::string(spec.precision == Precision::double_ ? "double " : "float ") +
         name_of(spec.kind) + (spec.direction == Direction::forward ? " forward" : " backward") +
         " n=" + number(spec.n) + " count=" + number(spec.count) + " strides " +
         number(spec.in_stride) + ',' + number(spec.in_distance) + " -> " +
         number(spec.out_stride) + ',' + number(spec.out_distance) +
         (spec.in_place ? " in place" : "") + (spec.together ? "" : " one by one");
}

}  // namespace weft
