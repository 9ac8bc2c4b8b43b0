// HomeInPencils: with one array for both sides and one exchange between them, what stays on the
// rank waits in rows of the pencils that it is part of, on the side where the array holds them
// whole. A pass over pencils loads all rows of one before it stores any, so that it may load or
// store others than the array will have there; only the pass on the other side sets limits.
#pragma once

#include <optional>

#include "plan/home.hpp"

namespace weft {

/// The home of the block `own`. Where the other pass goes through its slices in order, it is in
/// neighbouring rows: the first ones if that pass stores it, behind what is loaded next, the last
/// ones if it loads it, before what is stored next, so that stores past the cache go to no lines
/// that have just been loaded (2 ranks of a Zen 4, 256^3 c2c backward, the pass of two axes: in
/// rows P x + r of P ranks 27.8 ms, in the last ones 26.4). Else it is in those rows that lie, if
/// all ranks have equal parts, where the array has the very elements on the other side. None where
/// that would spoil what is still to be loaded, or two passes go over the pencils.
std::optional<View> home_in_pencils(const HomeProblem& problem, const Box& own);

}  // namespace weft
