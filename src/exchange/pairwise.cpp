// The exchange by non-blocking messages, and its requests.
#include "exchange/pairwise.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

void wait_all(std::vector<MPI_Request>& requests) {
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
}

bool test_all(std::vector<MPI_Request>& requests) {
  int all = 0;
  check_mpi(
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  return all != 0;
}

}  // namespace

PairwiseExchange::PairwiseExchange(ExchangeProblem problem, Peers peers, std::int64_t most_granules)
    : MessageExchange(std::move(problem), peers, most_granules) {
  for (int chunk = 0; chunk < this->problem().chunks; ++chunk) {
    sends_.push_back(messages(blocks().sends, send_area(), chunk, 1));
    receives_.push_back(messages(blocks().receives, receive_area(), chunk, -1));
  }
  states_.resize(static_cast<std::size_t>(units()));
  for (int unit = 0; unit < units(); ++unit) {
    const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
    state(unit).sends.assign(sends_[chunk].size(), MPI_REQUEST_NULL);
    state(unit).receives.assign(receives_[chunk].size(), MPI_REQUEST_NULL);
  }
}

/// The messages that are not empty, in the order of the peers rank + step, rank + 2 * step, ...
/// around the circle.
std::vector<PairwiseExchange::Message> PairwiseExchange::messages(const std::vector<Block>& blocks,
                                                                  const BlockArea& area, int chunk,
                                                                  int step) const {
  std::vector<Message> result;
  for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
    const Block& it = blocks[static_cast<std::size_t>(block)];
    const int granules =
        to_int(area.granules(chunk, block), "the size of a message", ErrorCode::internal);
    if (granules > 0) result.push_back({it.peer, granules, area.block_offset(chunk, block)});
  }
  const int size = problem().comm->size();
  const auto distance = [&](const Message& m) {
    return ((m.peer - problem().comm->rank()) * step + size) % size;
  };
  std::sort(result.begin(), result.end(),
            [&](const Message& a, const Message& b) { return distance(a) < distance(b); });
  return result;
}

// Requests are left over only after an error. Sends must then not keep this rank from reporting it.
PairwiseExchange::~PairwiseExchange() {
  int finalized = 0;
  if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
  for (Unit& unit : states_) {
    for (MPI_Request& request : unit.receives) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (MPI_Request& request : unit.sends)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

void PairwiseExchange::begin(std::int64_t /*call*/, std::span<std::byte* const> bases) {
  finish();
  bind(bases);
  released_ = 0;
  for (Unit& unit : states_) unit.started = unit.arrived = unit.sent = false;
}

// Receives are posted here and not earlier, since a stage may be reading their memory until then.
void PairwiseExchange::start(int unit) {
  Unit& now = state(unit);
  const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
  const int tag = problem().tag + unit;
  for (std::size_t i = 0; i < receives_[chunk].size(); ++i) {
    const Message& message = receives_[chunk][i];
    check_mpi(MPI_Irecv(receive_unit(unit) + message.offset, message.granules, granule(),
                        message.peer, tag, problem().comm->get(), &now.receives[i]),
              "MPI_Irecv");
  }
  for (std::size_t i = 0; i < sends_[chunk].size(); ++i) {
    const Message& message = sends_[chunk][i];
    check_mpi(MPI_Isend(send_unit(unit) + message.offset, message.granules, granule(), message.peer,
                        tag, problem().comm->get(), &now.sends[i]),
              "MPI_Isend");
  }
  now.started = true;
}

// One test moves all messages of the process on, so the first unit that is not complete is enough.
void PairwiseExchange::progress() {
  for (int unit = 0; unit < units(); ++unit) {
    Unit& now = state(unit);
    if (!now.started || (now.arrived && now.sent)) continue;
    if (now.arrived) {
      now.sent = test_all(now.sends);
    } else {
      now.arrived = test_all(now.receives);
    }
    return;
  }
}

bool PairwiseExchange::ready(int unit) {
  Unit& now = state(unit);
  if (now.started && !now.arrived) now.arrived = test_all(now.receives);
  return now.arrived;
}

void PairwiseExchange::wait(int unit) {
  Unit& now = state(unit);
  if (!now.arrived) wait_all(now.receives);
  if (!now.sent) wait_all(now.sends);
  now.arrived = now.sent = true;
}

// The user may compute for long after a call, when nobody would move messages on: none is left when
// a call ends.
void PairwiseExchange::release(int /*unit*/) {
  if (++released_ == units()) finish();
}

void PairwiseExchange::finish() {
  for (Unit& unit : states_) {
    wait_all(unit.receives);
    wait_all(unit.sends);
  }
}

std::string refusal_of_messages(const ExchangeProblem& problem) {
  int* most = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(problem.comm->get(), MPI_TAG_UB, &most, &found), "MPI_Comm_get_attr");
  const std::int64_t last =
      std::int64_t{problem.tag} + std::int64_t{problem.fields} * problem.chunks - 1;
  if (!found || last <= *most) return "";
  return "messages would need tags up to " + std::to_string(last) + ", this MPI has them up to " +
         std::to_string(*most) + "; fewer fields or chunks need fewer";
}

namespace {

class PairwiseMethod final : public ExchangeMethod {
 public:
  std::string_view name() const override { return "pairwise"; }
  std::string refusal(const ExchangeProblem& problem) const override {
    return refusal_of_messages(problem);
  }
  std::unique_ptr<Exchange> make(ExchangeProblem problem) const override {
    return std::make_unique<PairwiseExchange>(std::move(problem), Peers::all);
  }
};

}  // namespace

const ExchangeMethod& pairwise_method() {
  static const PairwiseMethod method;
  return method;
}

}  // namespace weft
