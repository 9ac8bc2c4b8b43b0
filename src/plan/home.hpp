// Home: what a redistribution leaves on its rank waits in the user's arrays, so that the exchange
// needs memory only for what goes to others: where it is in the array that the call reads, if
// nothing is transformed before, else where the result will be in the array that it writes. With
// arrays that all ranks of the node reach, all blocks can have one.
#pragma once

#include <algorithm>
#include <optional>

#include "plan/overlap.hpp"
#include "plan/program.hpp"

namespace weft {

/// About so many bytes of a local array of so many make up for tiles and gaps between rows, if
/// their home is in an array of the user's.
inline std::int64_t bytes_for_gaps(std::int64_t array_bytes) {
  constexpr std::int64_t kPart = 64;
  constexpr std::int64_t kTiles = 1024 * 1024;
  return std::max(array_bytes / kPart, kTiles);
}

/// The redistribution that is action `hop` of `sequence`, as one rank sees it.
struct HomeProblem {
  const Sequence& sequence;
  std::size_t hop = 0;
  std::vector<int> order;  ///< of data in flight; arrays that lie in another one have no homes
  UserSide source;         ///< of `rank`
  UserSide sink;           ///< likewise
  int rank = 0;
  int fields = 1;
  bool in_order = false;              ///< see ProgramProblem
  bool is_before_two_passes = false;  ///< which transform what is brought
  Footprint footprint;                ///< of the user's arrays
};

/// The home of the block that stays on the rank; none where storing it there would spoil what is
/// still to be loaded.
std::optional<Home> home_of(const HomeProblem& problem);

/// The block `own`, whose slices are `slice`, at the end of the array `result`: slices of the
/// result that are stored one after another reach none that has still to be loaded.
std::optional<View> home_at_end(const Area& result, const Box& own, const std::vector<int>& order,
                                const Arrangement& slice, std::int64_t element_bytes);

/// The host of redistribution `hop`, number `number` of `hops`; none when its blocks need memory of
/// their own. Where a later one takes all back, it is who sends, first and then who receives: the
/// blocks are transformed where they are. Else what comes last is stored where the result will be.
std::optional<Host> host_of(const std::vector<Hop>& hops, std::size_t number);

/// The home of block `box` in the arrays of the rank, which is its host; none as for home_of. It
/// may end behind the array of a real result, which must then be made longer.
std::optional<Home> shared_home_of(const HomeProblem& problem, Host host, const Box& box);

}  // namespace weft
