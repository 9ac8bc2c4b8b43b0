// Home: what a redistribution leaves on its rank waits in the user's arrays, so that the exchange
// needs memory only for what goes to others: where it is in the array that the call reads, if
// nothing is transformed before, else where the result will be in the array that it writes.
#pragma once

#include <optional>

#include "plan/program.hpp"

namespace weft {

/// The home of the block that stays on `rank` in the redistribution that is action `hop` of
/// `sequence`; none where storing it there would spoil what is still to be loaded, or where that
/// array lies in another order than `order`, the one of data in flight.
std::optional<Home> home_of(const Sequence& sequence, std::size_t hop,
                            const std::vector<int>& order, const UserSide& source,
                            const UserSide& sink, int rank);

}  // namespace weft
