// Groups, counts and the life of units of exchanges by collective operations.
#include "exchange/collective_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "exchange/requests.hpp"

namespace weft {

std::vector<int> members_of_group(const ExchangeProblem& problem) {
  const std::vector<int> group_of = exchange_groups(problem.from, problem.to);
  const int mine = group_of[static_cast<std::size_t>(problem.comm->rank())];
  std::vector<int> members;
  for (int rank = 0; rank < static_cast<int>(group_of.size()); ++rank)
    if (group_of[static_cast<std::size_t>(rank)] == mine) members.push_back(rank);
  return members;
}

CollectiveExchange::CollectiveExchange(ExchangeProblem problem)
    : MessageExchange(std::move(problem), Peers::all, kMostGranules),
      states_(static_cast<std::size_t>(units())) {
  members_ = members_of_group(this->problem());
  const Communicator& all = *this->problem().comm;
  // Every rank sees alike whether there are several groups, so that all or none make them.
  if (static_cast<int>(members_.size()) < all.size()) group_ = all.split(members_.front());
  for (int chunk = 0; chunk < this->problem().chunks; ++chunk) {
    sends_.push_back(counts_of(blocks().sends, send_area(), chunk));
    receives_.push_back(counts_of(blocks().receives, receive_area(), chunk));
  }
  use_requests(1);
}

CollectiveExchange::~CollectiveExchange() {
  for (int unit = 0; unit < units(); ++unit)
    if (in_flight(unit)) abandon_collective(requests(unit));
}

std::size_t CollectiveExchange::member_of(int rank) const {
  return static_cast<std::size_t>(std::lower_bound(members_.begin(), members_.end(), rank) -
                                  members_.begin());
}

CollectiveExchange::Counts CollectiveExchange::counts_of(const std::vector<Block>& blocks,
                                                         const BlockArea& area, int chunk) const {
  Counts counts{std::vector<int>(members_.size()), std::vector<int>(members_.size())};
  for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
    const std::size_t member = member_of(blocks[static_cast<std::size_t>(block)].peer);
    counts.granules[member] =
        to_int(area.granules(chunk, block), "the size of a message", ErrorCode::internal);
    counts.displacements[member] = to_int(area.block_offset(chunk, block) / granule_bytes(),
                                          "the place of a message", ErrorCode::internal);
  }
  return counts;
}

const CollectiveExchange::Counts& CollectiveExchange::sends(int unit) const {
  return sends_[static_cast<std::size_t>(chunk_of_unit(unit))];
}

const CollectiveExchange::Counts& CollectiveExchange::receives(int unit) const {
  return receives_[static_cast<std::size_t>(chunk_of_unit(unit))];
}

void CollectiveExchange::use_requests(std::size_t per_unit) {
  for (Unit& unit : states_) unit.requests.assign(per_unit, MPI_REQUEST_NULL);
}

void CollectiveExchange::begin(std::int64_t /*call*/, std::span<std::byte* const> bases) {
  bind(bases);
  for (Unit& unit : states_) unit.started = unit.complete = false;
}

void CollectiveExchange::start(int unit) {
  if (!alone()) post(unit, state(unit).requests);
  state(unit).started = true;
}

// One test moves all messages of the process on, so the first unit that is not complete is enough.
void CollectiveExchange::progress() {
  for (Unit& unit : states_) {
    if (!unit.started || unit.complete) continue;
    unit.complete = test_all(unit.requests);
    return;
  }
}

bool CollectiveExchange::ready(int unit) {
  Unit& now = state(unit);
  if (now.started && !now.complete) now.complete = test_all(now.requests);
  return now.complete;
}

void CollectiveExchange::wait(int unit) {
  Unit& now = state(unit);
  if (!now.complete) wait_all(now.requests);
  now.complete = true;
}

}  // namespace weft
