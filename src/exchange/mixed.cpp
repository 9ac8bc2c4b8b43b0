// The mixed exchange: shared memory for the peers of this node and messages for all others, by the
// two exchanges that do so; every block belongs to exactly one of them.
#include <utility>

#include "exchange/methods.hpp"
#include "exchange/pairwise.hpp"
#include "exchange/shared.hpp"

namespace weft {
namespace {

class MixedExchange final : public Exchange {
 public:
  explicit MixedExchange(const ExchangeProblem& problem)
      : blocks_(redistribution_between(problem.from, problem.to, problem.comm->rank())),
        shared_(problem, Peers::on_node),
        messages_(problem, Peers::off_node) {
    for (const Block& block : blocks_.sends) sent_by_.push_back(carrier(problem, block));
    for (const Block& block : blocks_.receives) received_by_.push_back(carrier(problem, block));
    shared_.while_waiting(
        {[](void* messages) { static_cast<PairwiseExchange*>(messages)->progress(); }, &messages_});
  }

  ExchangeMemory memory() const override {
    ExchangeMemory memory = messages_.memory();
    memory.window_bytes = shared_.memory().window_bytes;
    memory.window_counters = shared_.memory().window_counters;
    return memory;
  }
  ExchangeTraffic traffic() const override {
    ExchangeTraffic traffic = messages_.traffic();
    traffic.bytes += shared_.traffic().bytes;  // the windows need no messages
    return traffic;
  }
  void attach(const ExchangeBuffers& buffers) override {
    shared_.attach(buffers);
    messages_.attach(buffers);
  }
  View outbox(int unit, int block) const override {
    return sent_by_[static_cast<std::size_t>(block)]->outbox(unit, block);
  }
  View inbox(int unit, int block) const override {
    return received_by_[static_cast<std::size_t>(block)]->inbox(unit, block);
  }
  void begin(std::int64_t call, std::span<std::byte* const> bases) override {
    shared_.begin(call, bases);
    messages_.begin(call, bases);
  }
  void open() override {
    shared_.open();
    messages_.open();
  }
  bool may_open() override { return shared_.may_open() && messages_.may_open(); }
  std::vector<int> reading_peers() const override { return shared_.reading_peers(); }
  void start(int unit) override {
    shared_.start(unit);
    messages_.start(unit);
  }
  void progress() override { messages_.progress(); }
  bool ready(int unit) override { return messages_.ready(unit) && shared_.ready(unit); }
  void wait(int unit) override {
    shared_.wait(unit);
    messages_.wait(unit);
  }
  std::vector<int> silent_peers(int unit) const override {
    std::vector<int> silent = shared_.silent_peers(unit);
    for (const int peer : messages_.silent_peers(unit)) silent.push_back(peer);
    return silent;
  }
  void release(int unit) override {
    shared_.release(unit);
    messages_.release(unit);
  }

 private:
  const Exchange* carrier(const ExchangeProblem& problem, const Block& block) const {
    if (serves(Peers::on_node, problem, block.peer)) return &shared_;
    return &messages_;
  }

  Redistribution blocks_;
  SharedExchange shared_;
  PairwiseExchange messages_;
  std::vector<const Exchange*> sent_by_;      // of each block
  std::vector<const Exchange*> received_by_;  // of each block
};

class MixedMethod final : public ExchangeMethod {
 public:
  std::string_view name() const override { return "mixed"; }
  std::string obstacle(const ExchangeProblem& problem) const override {
    return obstacle_of_messages(problem);
  }
  bool returns() const override { return true; }
  std::unique_ptr<Exchange> make(ExchangeProblem problem) const override {
    return std::make_unique<MixedExchange>(problem);
  }
};

}  // namespace

const ExchangeMethod& mixed_method() {
  static const MixedMethod method;
  return method;
}

}  // namespace weft
