// The hierarchical exchange: what one node sends to another goes in one message per unit, so that
// the messages between nodes are as many as pairs of nodes, not as pairs of ranks. It pays where
// blocks are so short that the number of messages, not their bytes, is what the network is slow at.
//
// The blocks are gathered without copying: a rank stores those for another node straight into the
// window of the rank that carries the message, and the ranks of the other node load theirs straight
// from the window that it was received into. Pairs of nodes are spread over the ranks of the nodes.
// Peers on the same node use the shared exchange.
//
// Counters in the windows tell the carrier when all of its node have stored a unit (the shared
// exchange publishes that anyway), and its node when what a rank carries of a unit has arrived. A
// carrier cannot leave a call before it has served the others.
#include <algorithm>

#include "base/checked.hpp"
#include "exchange/method_of.hpp"
#include "exchange/methods.hpp"
#include "exchange/node_messages.hpp"
#include "exchange/requests.hpp"
#include "exchange/shared.hpp"

namespace weft {
namespace {

class HierarchicalExchange final : public Exchange {
 public:
  explicit HierarchicalExchange(ExchangeProblem problem);
  ~HierarchicalExchange() override {
    for (Unit& unit : states_) abandon(unit.receives, unit.sends);
  }

  ExchangeMemory memory() const override {
    return {.window_bytes = messages_.window_bytes(), .window_counters = 2 * units()};
  }
  ExchangeTraffic traffic() const override;
  void attach(const ExchangeBuffers& buffers) override {
    buffers_ = buffers;
    shared_.attach(buffers);
  }
  View outbox(int unit, int block) const override;
  View inbox(int unit, int block) const override;
  void begin(std::int64_t call, std::span<std::byte* const> bases) override;
  void open() override { shared_.open(); }
  bool may_open() override { return shared_.may_open(); }
  std::vector<int> reading_peers() const override { return shared_.reading_peers(); }
  void start(int unit) override;
  void progress() override;
  bool ready(int unit) override;
  void wait(int unit) override;
  std::vector<int> silent_peers(int unit) const override;
  bool may_release() override;
  void release(int unit) override;

 private:
  /// Where a block lies: in a message, or in the shared exchange's memory.
  struct Place {
    const NodeMessage* message = nullptr;  // null: in shared memory
    int block = 0;                         // in the message
  };
  struct Unit {
    std::vector<MPI_Request> sends;     // of carried_out_
    std::vector<MPI_Request> receives;  // of carried_in_
    std::size_t sent = 0;               // messages of carried_out_ that have been begun
    bool started = false;
    bool arrived = false;
    bool served = false;
  };

  int units() const { return problem_.fields * problem_.chunks; }
  int chunk_of_unit(int unit) const { return unit % problem_.chunks; }
  int stored_counter(int unit) const { return buffers_.first_counter + unit; }
  int arrived_counter(int unit) const { return buffers_.first_counter + units() + unit; }
  Place place_of(const std::vector<NodeMessage>& messages, int from, int to) const;
  View view_in(const Place& place, const Box& block, int unit) const;
  std::byte* memory_of(const NodeMessage& message, int unit) const;
  int granules_of(const NodeMessage& message, int unit) const;
  bool is_stored(const NodeMessage& message, int unit) const;
  void send_what_is_stored(int unit);
  void serve(int unit);
  void finish();
  Unit& state(int unit) { return states_[static_cast<std::size_t>(unit)]; }

  ExchangeProblem problem_;
  Redistribution blocks_;
  SharedExchange shared_;
  NodeMessages messages_;
  OwnedType granule_;
  std::vector<Place> sent_at_;                   // of each block
  std::vector<Place> received_at_;               // of each block
  std::vector<int> carriers_;                    // ranks in the node that receive for this one
  std::vector<const NodeMessage*> carried_out_;  // by this rank
  std::vector<const NodeMessage*> carried_in_;   // by this rank
  std::vector<Unit> states_;
  ExchangeBuffers buffers_;
  WhileWaiting progress_;
  std::int64_t call_ = 0;
  int released_ = 0;
};

/// Bytes of each rank's window on this node that the shared exchange takes.
std::vector<std::int64_t> shared_bytes(const ExchangeProblem& problem) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(problem.node->size()), 0);
  for (int rank = 0; rank < problem.comm->size(); ++rank)
    if (const int on_node = problem.node_rank_of[static_cast<std::size_t>(rank)]; on_node >= 0)
      bytes[static_cast<std::size_t>(on_node)] =
          window_blocks_of(problem, Peers::on_node, rank).field_bytes * problem.fields;
  return bytes;
}

HierarchicalExchange::HierarchicalExchange(ExchangeProblem problem)
    : problem_(std::move(problem)),
      blocks_(redistribution_between(problem_.from, problem_.to, problem_.comm->rank())),
      shared_(problem_, Peers::on_node),
      messages_(problem_, shared_bytes(problem_)),
      granule_(OwnedType::bytes(messages_.granule_bytes())),
      states_(static_cast<std::size_t>(units())) {
  const int rank = problem_.comm->rank();
  for (const Block& block : blocks_.sends)
    sent_at_.push_back(place_of(messages_.outgoing(), rank, block.peer));
  for (const Block& block : blocks_.receives) {
    received_at_.push_back(place_of(messages_.incoming(), block.peer, rank));
    if (received_at_.back().message != nullptr)
      carriers_.push_back(received_at_.back().message->carrier);
  }
  for (const NodeMessage& message : messages_.outgoing())
    if (message.carrier == problem_.node->rank()) carried_out_.push_back(&message);
  for (const NodeMessage& message : messages_.incoming())
    if (message.carrier == problem_.node->rank()) carried_in_.push_back(&message);
  for (Unit& unit : states_) {
    unit.sends.assign(carried_out_.size(), MPI_REQUEST_NULL);
    unit.receives.assign(carried_in_.size(), MPI_REQUEST_NULL);
  }
  progress_ = {[](void* self) { static_cast<HierarchicalExchange*>(self)->progress(); }, this};
  shared_.while_waiting(progress_);
}

HierarchicalExchange::Place HierarchicalExchange::place_of(const std::vector<NodeMessage>& messages,
                                                           int from, int to) const {
  for (const NodeMessage& message : messages)
    for (int block = 0; block < static_cast<int>(message.blocks.size()); ++block) {
      const NodeMessage::Route& route = message.blocks[static_cast<std::size_t>(block)];
      if (route.from == from && route.to == to) return {&message, block};
    }
  return {};
}

// The bytes are those that leave this rank, by a window or a message; between nodes, they and the
// messages are counted where they are sent from, which is the carrier.
ExchangeTraffic HierarchicalExchange::traffic() const {
  ExchangeTraffic traffic;
  traffic.bytes = traffic_to(Peers::all, problem_, blocks_.sends).bytes;
  for (const NodeMessage* message : carried_out_) {
    for (int chunk = 0; chunk < problem_.chunks; ++chunk)
      if (granules_of(*message, chunk) > 0) traffic.messages += problem_.fields;
    for (const NodeMessage::Route& route : message->blocks)
      traffic.bytes_off_node += route.elements * problem_.element_bytes * problem_.fields;
  }
  traffic.messages_off_node = traffic.messages;
  return traffic;
}

View HierarchicalExchange::view_in(const Place& place, const Box& block, int unit) const {
  const Box part = chunk_of(block, problem_.cut, problem_.chunks, chunk_of_unit(unit));
  const NodeMessage& message = *place.message;
  const std::int64_t offset = buffers_.window_offset + message.offset +
                              message.area.unit_offset(unit) +
                              message.area.block_offset(chunk_of_unit(unit), place.block);
  return {slot_of_window(message.carrier), offset, part,
          dense_strides(part.extents(), problem_.order)};
}

View HierarchicalExchange::outbox(int unit, int block) const {
  const auto at = static_cast<std::size_t>(block);
  if (sent_at_[at].message == nullptr) return shared_.outbox(unit, block);
  return view_in(sent_at_[at], blocks_.sends[at].box, unit);
}

View HierarchicalExchange::inbox(int unit, int block) const {
  const auto at = static_cast<std::size_t>(block);
  if (received_at_[at].message == nullptr) return shared_.inbox(unit, block);
  return view_in(received_at_[at], blocks_.receives[at].box, unit);
}

std::byte* HierarchicalExchange::memory_of(const NodeMessage& message, int unit) const {
  return buffers_.window->base(message.carrier) + buffers_.window_offset + message.offset +
         message.area.unit_offset(unit);
}

int HierarchicalExchange::granules_of(const NodeMessage& message, int unit) const {
  return to_int(message.area.unit_granules(chunk_of_unit(unit)), "the size of a message",
                ErrorCode::internal);
}

void HierarchicalExchange::begin(std::int64_t call, std::span<std::byte* const> bases) {
  shared_.begin(call, bases);
  call_ = call;
  released_ = 0;
  for (Unit& unit : states_) {
    unit.sent = 0;
    unit.started = unit.arrived = unit.served = false;
  }
}

// Nobody reads any more what an earlier call has left in the window: open() has seen to that.
void HierarchicalExchange::start(int unit) {
  shared_.start(unit);
  Unit& now = state(unit);
  for (std::size_t i = 0; i < carried_in_.size(); ++i)
    if (const int granules = granules_of(*carried_in_[i], unit); granules > 0)
      check_mpi(MPI_Irecv(memory_of(*carried_in_[i], unit), granules, granule_.get(),
                          carried_in_[i]->peer, problem_.tag + unit, problem_.comm->get(),
                          &now.receives[i]),
                "MPI_Irecv");
  now.started = true;
  serve(unit);
}

bool HierarchicalExchange::is_stored(const NodeMessage& message, int unit) const {
  for (const int rank : message.from_node)
    if (!buffers_.window->reached(rank, stored_counter(unit), call_)) return false;
  return true;
}

// In order, so that one number tells which are on their way.
void HierarchicalExchange::send_what_is_stored(int unit) {
  Unit& now = state(unit);
  for (; now.sent < carried_out_.size(); ++now.sent) {
    const NodeMessage& message = *carried_out_[now.sent];
    if (!is_stored(message, unit)) return;
    if (const int granules = granules_of(message, unit); granules > 0)
      check_mpi(MPI_Isend(memory_of(message, unit), granules, granule_.get(), message.peer,
                          problem_.tag + unit, problem_.comm->get(), &now.sends[now.sent]),
                "MPI_Isend");
  }
}

/// What this rank carries of a unit, as far as it can be done at once.
void HierarchicalExchange::serve(int unit) {
  Unit& now = state(unit);
  if (!now.started || now.served) return;
  send_what_is_stored(unit);
  if (!now.arrived && test_all(now.receives)) {
    now.arrived = true;
    if (!carried_in_.empty()) buffers_.window->publish(arrived_counter(unit), call_);
  }
  now.served = now.arrived && now.sent == carried_out_.size() && test_all(now.sends);
}

void HierarchicalExchange::progress() {
  for (int unit = 0; unit < units(); ++unit) serve(unit);
}

bool HierarchicalExchange::ready(int unit) {
  progress();
  if (!shared_.ready(unit) || !state(unit).arrived) return false;
  for (const int carrier : carriers_)
    if (!buffers_.window->reached(carrier, arrived_counter(unit), call_)) return false;
  return true;
}

void HierarchicalExchange::wait(int unit) {
  shared_.wait(unit);
  while (!state(unit).arrived) progress();  // by MPI, so there is no counter to sleep on
  for (const int carrier : carriers_)
    buffers_.window->wait(carrier, arrived_counter(unit), call_, progress_);
}

std::vector<int> HierarchicalExchange::silent_peers(int unit) const {
  std::vector<int> silent = shared_.silent_peers(unit);
  for (std::size_t block = 0; block < received_at_.size(); ++block)
    if (const NodeMessage* message = received_at_[block].message;
        message != nullptr &&
        !buffers_.window->reached(message->carrier, arrived_counter(unit), call_))
      silent.push_back(blocks_.receives[block].peer);
  return silent;
}

bool HierarchicalExchange::may_release() {
  if (released_ + 1 < units()) return true;
  progress();
  return std::all_of(states_.begin(), states_.end(), [](const Unit& unit) { return unit.served; });
}

void HierarchicalExchange::release(int /*unit*/) {
  if (++released_ == units()) finish();
}

void HierarchicalExchange::finish() {
  for (int unit = 0; unit < units(); ++unit)
    for (const NodeMessage* message : carried_out_)
      for (const int rank : message->from_node)
        buffers_.window->wait(rank, stored_counter(unit), call_, progress_);
  for (int unit = 0; unit < units(); ++unit)
    while (!state(unit).served) progress();
}

}  // namespace

const ExchangeMethod& hierarchical_method() {
  static const MethodOf<HierarchicalExchange> method("hierarchical", obstacle_of_messages);
  return method;
}

}  // namespace weft
