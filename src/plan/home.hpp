// Home: what a redistribution leaves on its rank waits in the user's arrays, so that the exchange
// needs memory only for what goes to others: where it is in the array that the call reads, if
// nothing is transformed before, else where the result will be in the array that it writes. With
// arrays that all ranks of the node reach, all blocks can have one.
#pragma once

#include <optional>

#include "plan/program.hpp"

namespace weft {

/// The home of the block that stays on `rank` in the redistribution that is action `hop` of
/// `sequence`; none where storing it there would spoil what is still to be loaded, or where that
/// array lies in another order than `order`, the one of data in flight. `in_order`: see
/// ProgramProblem.
std::optional<Home> home_of(const Sequence& sequence, std::size_t hop,
                            const std::vector<int>& order, const UserSide& source,
                            const UserSide& sink, int rank, bool in_order);

/// The host of redistribution `hop`, number `number` of `hops`; none when its blocks need memory of
/// their own. Where a later one takes all back, it is who sends, first and then who receives: the
/// blocks are transformed where they are. Else what comes last is stored where the result will be.
std::optional<Host> host_of(const std::vector<Hop>& hops, std::size_t number);

/// The home of block `box` of action `hop` in the arrays `source` and `sink` of `rank`, which is
/// its host; none as for home_of, or where its elements are not the array's.
std::optional<Home> shared_home_of(const Sequence& sequence, std::size_t hop, Host host,
                                   const std::vector<int>& order, const UserSide& source,
                                   const UserSide& sink, int rank, const Box& box);

}  // namespace weft
