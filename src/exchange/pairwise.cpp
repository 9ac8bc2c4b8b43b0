// The exchange by non-blocking messages, and its requests.
#include "exchange/pairwise.hpp"

#include <algorithm>
#include <utility>

#include "exchange/methods.hpp"
#include "exchange/requests.hpp"

namespace weft {
PairwiseExchange::PairwiseExchange(ExchangeProblem problem, Peers peers, std::int64_t most_granules)
    : MessageExchange(std::move(problem), peers, most_granules) {
  for (int chunk = 0; chunk < this->problem().chunks; ++chunk) {
    sends_.push_back(sends_around(chunk));
    receives_.push_back(receives_around(chunk));
  }
  states_.resize(static_cast<std::size_t>(units()));
  queue_.resize(states_.size());
  for (int unit = 0; unit < units(); ++unit) {
    const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
    state(unit).sends.assign(sends_[chunk].size(), MPI_REQUEST_NULL);
    state(unit).receives.assign(receives_[chunk].size(), MPI_REQUEST_NULL);
  }
}

PairwiseExchange::~PairwiseExchange() {
  for (Unit& unit : states_) abandon(unit.receives, unit.sends);
}

void PairwiseExchange::begin(std::int64_t /*call*/, std::span<std::byte* const> bases) {
  finish();
  bind(bases);
  started_ = sending_ = sent_ = released_ = 0;
  for (Unit& unit : states_) unit.arrived = unit.sent = false;
}

// Receives are posted here and not earlier, since a stage may be reading their memory until then.
void PairwiseExchange::start(int unit) {
  Unit& now = state(unit);
  const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
  for (std::size_t i = 0; i < receives_[chunk].size(); ++i) {
    const Message& message = receives_[chunk][i];
    check_mpi(
        MPI_Irecv(receive_unit(unit) + message.offset, message.granules, granule(), message.peer,
                  problem().tag + unit, problem().comm->get(), &now.receives[i]),
        "MPI_Irecv");
  }
  queue_[started_++] = unit;
  send_more();
}

void PairwiseExchange::send(int unit) {
  Unit& now = state(unit);
  const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
  for (std::size_t i = 0; i < sends_[chunk].size(); ++i) {
    const Message& message = sends_[chunk][i];
    check_mpi(MPI_Isend(send_unit(unit) + message.offset, message.granules, granule(), message.peer,
                        problem().tag + unit, problem().comm->get(), &now.sends[i]),
              "MPI_Isend");
  }
}

// Units that were sent all at once would share the network and all arrive late.
void PairwiseExchange::send_more() {
  constexpr std::size_t kUnitsUnderWay = 2;
  for (;;) {
    while (sent_ < sending_ && state(queue_[sent_]).sent) ++sent_;
    if (sending_ == started_ || sending_ - sent_ >= kUnitsUnderWay) return;
    send(queue_[sending_++]);
  }
}

// One test moves all messages of the process on, so the first unit that is not complete is enough.
void PairwiseExchange::progress() {
  if (sent_ < sending_) {
    Unit& now = state(queue_[sent_]);
    now.sent = test_all(now.sends);
    if (now.sent) send_more();
  } else if (started_ > released_) {
    Unit& now = state(queue_[released_]);
    if (!now.arrived) now.arrived = test_all(now.receives);
  }
}

bool PairwiseExchange::ready(int unit) {
  Unit& now = state(unit);
  if (now.arrived && now.sent) return true;
  progress();
  if (!now.arrived) now.arrived = test_all(now.receives);
  return now.arrived && now.sent;
}

// MPI may only be left alone with what has been sent.
void PairwiseExchange::wait(int unit) {
  Unit& now = state(unit);
  while (sending_ < started_ && !(now.sent && ready(unit))) progress();
  if (!now.arrived) wait_all(now.receives);
  if (!now.sent) wait_all(now.sends);
  now.arrived = now.sent = true;
}

std::vector<int> PairwiseExchange::silent_peers(int unit) const {
  const Unit& now = states_[static_cast<std::size_t>(unit)];
  const auto chunk = static_cast<std::size_t>(chunk_of_unit(unit));
  std::vector<int> silent;
  const auto add = [&](const std::vector<MPI_Request>& requests,
                       const std::vector<Message>& messages) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const int peer = messages[i].peer;
      if (is_under_way(requests[i]) && std::count(silent.begin(), silent.end(), peer) == 0)
        silent.push_back(peer);
    }
  };
  add(now.receives, receives_[chunk]);
  add(now.sends, sends_[chunk]);
  return silent;
}

// The user may compute for long after a call, when nobody would move messages on: none is left when
// a call ends.
void PairwiseExchange::release(int /*unit*/) {
  if (++released_ == states_.size()) finish();
}

void PairwiseExchange::finish() {
  while (sending_ < started_) progress();
  for (Unit& unit : states_) {
    wait_all(unit.receives);
    wait_all(unit.sends);
  }
}

namespace {

class PairwiseMethod final : public ExchangeMethod {
 public:
  std::string_view name() const override { return "pairwise"; }
  std::string obstacle(const ExchangeProblem& problem) const override {
    return obstacle_of_messages(problem);
  }
  bool leaves_home(bool sends_from_sink) const override { return !sends_from_sink; }
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
