// PairwiseExchange: a message of its own to each peer, with non-blocking calls, so that units
// travel while others are transformed. Peers are addressed starting after the own rank, to spread
// the load. Serves all peers, or for a mixed exchange those on other nodes.
#pragma once

#include "exchange/message_exchange.hpp"

namespace weft {

class PairwiseExchange final : public MessageExchange {
 public:
  /// Collective over problem.comm.
  PairwiseExchange(ExchangeProblem problem, Peers peers,
                   std::int64_t most_granules = kMostGranules);
  ~PairwiseExchange() override;

  void begin(std::int64_t call, std::span<std::byte* const> bases) override;
  void open() override {}  // all sends were completed when the last unit was released
  void start(int unit) override;
  void progress() override;
  bool ready(int unit) override;
  void wait(int unit) override;
  std::vector<int> silent_peers(int unit) const override;
  void release(int unit) override;

 private:
  struct Unit {
    std::vector<MPI_Request> receives;
    std::vector<MPI_Request> sends;
    bool arrived = false;
    bool sent = false;
  };

  void send(int unit);
  void send_more();
  void finish();
  Unit& state(int unit) { return states_[static_cast<std::size_t>(unit)]; }

  std::vector<std::vector<Message>> sends_;     // of each chunk
  std::vector<std::vector<Message>> receives_;  // of each chunk
  std::vector<Unit> states_;                    // of each unit
  std::vector<int> queue_;                      // units in the order in which they were started
  std::size_t started_ = 0;                     // in the queue: this many have been started,
  std::size_t sending_ = 0;                     // of these so many are or were on their way,
  std::size_t sent_ = 0;                        // of these so many have left, from the first on
  std::size_t released_ = 0;                    // so many are released
};

}  // namespace weft
