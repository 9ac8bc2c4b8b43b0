// The shared-window exchange: geometry of the arrays in the windows, and the counters.
#include "exchange/shared.hpp"

#include <utility>

#include "base/cache.hpp"
#include "exchange/methods.hpp"

namespace weft {
namespace {

// The axis of which this exchange brings whole pencils; -1: none that it has to.
int axis_brought(const ExchangeProblem& problem) {
  for (int axis = 0; axis < problem.to.shape().size(); ++axis)
    if (problem.to.is_local(axis) && !problem.from.is_local(axis)) return axis;
  return -1;
}

void append(WindowBlocks& window, const ExchangeProblem& problem, const Block& block,
            const Extents& extents, int room_of_parts = 0) {
  const Arrangement arrangement =
      arrangement_between(problem.from, problem.to, extents, problem.order, problem.element_bytes);
  window.blocks.push_back({block, arrangement.strides, window.field_bytes, room_of_parts});
  window.field_bytes += whole_lines(arrangement.elements * problem.element_bytes);
}

// What stays on its rank, as OwnInWindow::others_rows tells: others store as many of the rows that
// have their places there as they have of all rows.
void append_in_part(WindowBlocks& window, const ExchangeProblem& problem, const Block& block) {
  const int axis = axis_brought(problem);
  Block first = block;
  Block rest = block;
  const std::int64_t rows = block.box.extent(axis);
  rest.box.lower[axis] += rows / problem.home_parts;
  first.box.upper[axis] = rest.box.lower[axis];
  Extents room = first.box.extents();
  room[axis] -= room[axis] * rows / problem.to.shape()[axis];
  append(window, problem, first, room, problem.home_parts);
  if (!rest.box.empty()) append(window, problem, rest, rest.box.extents());
}

}  // namespace

WindowBlocks window_blocks_of(const ExchangeProblem& problem, Peers peers, int rank) {
  WindowBlocks window;
  for (const Block& block : redistribution_between(problem.from, problem.to, rank).sends) {
    if (!serves(peers, problem, block.peer)) continue;
    const bool has_home = problem.home && block.peer == rank;
    if (has_home && problem.own_in_window == OwnInWindow::others_rows)
      append_in_part(window, problem, block);
    else if (!has_home || problem.own_in_window == OwnInWindow::all)
      append(window, problem, block, block.box.extents());
  }
  return window;
}

SharedExchange::SharedExchange(ExchangeProblem problem, Peers peers)
    : problem_(std::move(problem)),
      peers_(peers),
      blocks_(redistribution_between(problem_.from, problem_.to, problem_.comm->rank())) {
  find_places();
  for (const Block& block : blocks_.receives)
    if (block.peer != problem_.comm->rank() && serves(peers_, problem_, block.peer))
      sources_.push_back(node_rank_of(block.peer));
}

void SharedExchange::find_places() {
  if (const auto& homes = problem_.shared_homes) {
    for (const Home& home : homes->sends) sent_at_.push_back({home.view, home.field_bytes});
    for (const Home& home : homes->receives) received_at_.push_back({home.view, home.field_bytes});
    return;
  }
  const int me = problem_.comm->rank();
  field_bytes_ = blocks_in_window_of(me).field_bytes;
  for (const Block& block : blocks_.sends) sent_at_.push_back(place_of(me, block.peer));
  for (const Block& block : blocks_.receives) received_at_.push_back(place_of(block.peer, me));
}

ExchangeMemory SharedExchange::memory() const {
  return {.window_bytes = field_bytes_ * problem_.fields,
          .window_counters = problem_.fields * problem_.chunks};
}

ExchangeTraffic SharedExchange::traffic() const {
  ExchangeTraffic traffic = traffic_to(peers_, problem_, blocks_.sends);
  traffic.messages = 0;  // the bytes are those that cross from rank to rank
  return traffic;
}

WindowBlocks SharedExchange::blocks_in_window_of(int rank) const {
  ExchangeProblem there = problem_;
  if (problem_.returns) std::swap(there.from, there.to);
  return window_blocks_of(there, peers_, rank);
}

SharedExchange::Place SharedExchange::place_in(int host, const WindowBlocks& window,
                                               const WindowBlock& there) const {
  return {{slot_of_window(node_rank_of(host)), there.offset, there.block.box, there.strides},
          window.field_bytes,
          true};
}

SharedExchange::Place SharedExchange::place_of(int from, int to) const {
  if (problem_.home && from == to) return {problem_.home->view, problem_.home->field_bytes};
  const int host = problem_.returns ? to : from;
  const int guest = problem_.returns ? from : to;
  if (!serves(peers_, problem_, from) || !serves(peers_, problem_, to)) return {};
  const WindowBlocks window = blocks_in_window_of(host);
  for (const WindowBlock& there : window.blocks)
    if (there.block.peer == guest) return place_in(host, window, there);
  throw Error(ErrorCode::internal, "a block has no place in a window");
}

View SharedExchange::view_at(const Place& place, int unit) const {
  View view = place.view;
  if (place.in_window) view.offset_bytes += buffers_.window_offset;
  return view_of_unit(view, place.field_bytes, problem_, unit);
}

View SharedExchange::outbox(int unit, int block) const {
  return view_at(sent_at_[static_cast<std::size_t>(block)], unit);
}

View SharedExchange::inbox(int unit, int block) const {
  return view_at(received_at_[static_cast<std::size_t>(block)], unit);
}

// A home of one rank is in an array that others do not reach.
std::vector<BlockPlace> SharedExchange::places(int unit) const {
  if (peers_ != Peers::all || (problem_.home && problem_.own_in_window == OwnInWindow::nothing))
    return {};
  std::vector<BlockPlace> places;
  if (const auto& homes = problem_.shared_homes) {
    for (const Home& home : homes->all)
      places.push_back({view_at({home.view, home.field_bytes}, unit)});
    return places;
  }
  for (int host = 0; host < problem_.comm->size(); ++host) {
    const WindowBlocks window = blocks_in_window_of(host);
    for (const WindowBlock& there : window.blocks)
      places.push_back({view_at(place_in(host, window, there), unit), there.room_of_parts});
  }
  return places;
}

void SharedExchange::begin(std::int64_t call, std::span<std::byte* const> /*bases*/) {
  call_ = call;
}

// Any rank of the node may have read the memory in the call before, which may have been in the
// other direction. There is no window when no rank has anything to put into it.
void SharedExchange::open() {
  if (buffers_.window == nullptr) return;
  for (int rank = 0; rank < buffers_.window->ranks(); ++rank)
    if (rank != problem_.node->rank())
      buffers_.window->wait(rank, kFinishedCounter, call_ - 1, progress_);
}

bool SharedExchange::may_open() {
  if (buffers_.window == nullptr) return true;
  for (int rank = 0; rank < buffers_.window->ranks(); ++rank)
    if (rank != problem_.node->rank() &&
        !buffers_.window->reached(rank, kFinishedCounter, call_ - 1))
      return false;
  return true;
}

std::vector<int> SharedExchange::reading_peers() const {
  std::vector<int> reading;
  for (int rank = 0; buffers_.window != nullptr && rank < problem_.comm->size(); ++rank)
    if (rank != problem_.comm->rank() && node_rank_of(rank) >= 0 &&
        !buffers_.window->reached(node_rank_of(rank), kFinishedCounter, call_ - 1))
      reading.push_back(rank);
  return reading;
}

void SharedExchange::start(int unit) {
  if (buffers_.window != nullptr) buffers_.window->publish(buffers_.first_counter + unit, call_);
}

bool SharedExchange::ready(int unit) {
  if (buffers_.window == nullptr) return true;
  const int counter = buffers_.first_counter + unit;
  if (!buffers_.window->reached(problem_.node->rank(), counter, call_)) return false;
  for (const int source : sources_)
    if (!buffers_.window->reached(source, counter, call_)) return false;
  return true;
}

void SharedExchange::wait(int unit) {
  for (const int source : sources_)
    buffers_.window->wait(source, buffers_.first_counter + unit, call_, progress_);
}

std::vector<int> SharedExchange::silent_peers(int unit) const {
  std::vector<int> silent;
  for (const Block& block : blocks_.receives)
    if (serves(peers_, problem_, block.peer) && block.peer != problem_.comm->rank() &&
        !buffers_.window->reached(node_rank_of(block.peer), buffers_.first_counter + unit, call_))
      silent.push_back(block.peer);
  return silent;
}

namespace {

class SharedMethod final : public ExchangeMethod {
 public:
  std::string_view name() const override { return "shared"; }
  std::string obstacle(const ExchangeProblem& problem) const override {
    if (problem.node->size() == problem.comm->size()) return "";
    return "it needs all ranks on one node; on the node of rank " +
           std::to_string(problem.comm->rank()) + " are " + std::to_string(problem.node->size()) +
           " of " + std::to_string(problem.comm->size());
  }
  bool returns() const override { return true; }
  bool leaves_home(bool /*sends_from_sink*/) const override { return true; }
  bool leaves_all_home() const override { return true; }
  std::unique_ptr<Exchange> make(ExchangeProblem problem) const override {
    return std::make_unique<SharedExchange>(std::move(problem), Peers::all);
  }
};

}  // namespace

const ExchangeMethod& shared_method() {
  static const SharedMethod method;
  return method;
}

}  // namespace weft
