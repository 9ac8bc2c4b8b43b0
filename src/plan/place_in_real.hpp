// PlaceInReal: complex elements wait in the real array that they become in the next pass, so that
// they need no memory of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/tiling.hpp"

namespace weft {

/// Where they lie there, and what finds no room.
struct PlaceInReal {
  Port room;
  std::vector<Box> rest;
};

/// Of `box`, with complex elements of so many bytes, to become what `real` holds. In two dimensions
/// each row waits where it will be, but for its last columns, if no row begins inside a complex
/// element (backward on 1 rank with 2 threads of a Zen 4: 4096^2 22.8 -> 21.6 ms).
///
/// In more dimensions each slice does, but for its last rows, if slices have no gaps: one that
/// stays in the cache until its result is stored (256^3 29.7 -> 27.8 ms, 128^3 3.4 -> 3.0, with
/// slices as large as half the cache 32.0 -> 29.9, as three fifths of it 384^3 113 -> 96). Else
/// that is slower (131 -> 147), so only the last eighth of them lies there, for the plan to need
/// less than a local array.
std::optional<PlaceInReal> place_in_real(const Box& box, std::int64_t element_bytes,
                                         const std::vector<Port>& real,
                                         const std::vector<int>& order);

}  // namespace weft
