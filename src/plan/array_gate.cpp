// The meeting of the ranks before a call, by cards and counters in their windows.
#include "plan/array_gate.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "exchange/exchange.hpp"

namespace weft {
namespace {

constexpr int kRead = 0;
constexpr int kWritten = 1;
/// Sides of calls that are remembered; then all are forgotten, on all ranks in the same call.
constexpr std::size_t kMostMet = 64;

static_assert(2 * sizeof(ArrayGate::Card) <= ArrayGate::kBoardBytes);

}  // namespace

void ArrayGate::arrive(const Card& card, std::byte* read, std::byte* written) {
  ++calls_;
  mine_ = card;
  own_[kRead] = read;
  own_[kWritten] = written;
  stage_ = Stage::before;
  reached_ = refused_ = false;
}

// A call and the next have cards of their own. Who has come to the call before has read the cards
// of the one before that. Votes are counted before anybody votes again, since who does has waited
// for all to come.
ArrayGate::Awaited ArrayGate::awaited() const {
  switch (stage_) {
    case Stage::before:
      return {kArrivedCounter, calls_ - 1};
    case Stage::here:
    case Stage::decided:
      return {kArrivedCounter, calls_};
    case Stage::voting:
      return {kVotedCounter, 2 * calls_};
  }
  throw Error(ErrorCode::internal, "a gate is in no stage");
}

bool ArrayGate::has_come(int node_rank) const {
  const Awaited next = awaited();
  return window_->reached(node_rank, next.counter, next.value);
}

bool ArrayGate::ready() {
  while (stage_ != Stage::decided) {
    for (int rank = 0; rank < window_->ranks(); ++rank)
      if (!has_come(rank)) return false;
    go_on();
  }
  return true;
}

void ArrayGate::wait() {
  while (stage_ != Stage::decided) {
    const Awaited next = awaited();
    for (int rank = 0; rank < window_->ranks(); ++rank)
      window_->wait(rank, next.counter, next.value);
    go_on();
  }
}

std::vector<int> ArrayGate::absent() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < node_rank_of_->size(); ++rank)
    if (!has_come((*node_rank_of_)[rank])) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

// All have come to where this rank is.
void ArrayGate::go_on() {
  switch (stage_) {
    case Stage::before:
      return publish_card();
    case Stage::here:
      return compare_cards();
    case Stage::voting:
      return count_votes();
    case Stage::decided:
      return;
  }
}

// Who has an array that nobody can reach knows what all will do, and need not wait for them.
void ArrayGate::publish_card() {
  std::byte* const board = window_->base(node_rank_) + board_offset_;
  std::memcpy(board + calls_ % 2 * static_cast<std::int64_t>(sizeof(Card)), &mine_, sizeof(Card));
  window_->publish(kArrivedCounter, calls_);
  const bool unknown = std::ranges::any_of(
      mine_.arrays, [](const SharedArray& array) { return array.number == SharedArray::kUnknown; });
  stage_ = unknown && unreachable_ == Unreachable::takes_another_way ? Stage::decided : Stage::here;
}

const ArrayGate::Card& ArrayGate::card_of(int node_rank) const {
  const std::byte* const board = window_->base(node_rank) + board_offset_;
  return reinterpret_cast<const Card*>(board)[calls_ % 2];
}

const ArrayGate::Arrays* ArrayGate::find(int side) const {
  for (const Arrays& arrays : met_) {
    bool same = true;
    for (int rank = 0; same && rank < window_->ranks(); ++rank)
      same = arrays.numbers[static_cast<std::size_t>(rank)] == card_of(rank).arrays[side].number;
    if (same) return &arrays;
  }
  return nullptr;
}

void ArrayGate::compare_cards() {
  if (rank_with_unknown()) return decide(false);
  if (met_.size() + 2 > kMostMet && !(find(kRead) && find(kWritten))) met_.clear();
  const std::size_t before = met_.size();
  for (const int side : {kRead, kWritten})
    if (!find(side)) met_.push_back(map(side));
  new_ = static_cast<std::ptrdiff_t>(met_.size() - before);
  if (new_ == 0) return decide(find(kRead)->reached && find(kWritten)->reached);
  const bool yes = std::all_of(met_.end() - new_, met_.end(),
                               [](const Arrays& arrays) { return arrays.reached; });
  window_->publish(kVotedCounter, 2 * calls_ + (yes ? 1 : 0));
  stage_ = Stage::voting;
}

// What one rank cannot map counts as out of reach for all.
void ArrayGate::count_votes() {
  bool all = true;
  for (int rank = 0; rank < window_->ranks(); ++rank)
    all &= window_->value(rank, kVotedCounter) == 2 * calls_ + 1;
  std::for_each(met_.end() - new_, met_.end(), [&](Arrays& arrays) { arrays.reached = all; });
  decide(find(kRead)->reached && find(kWritten)->reached);
}

void ArrayGate::decide(bool reached) {
  stage_ = Stage::decided;
  reached_ = reached;
  refused_ = !reached && unreachable_ == Unreachable::is_an_error;
}

// The first one, and on which side; none when there is none.
std::optional<std::pair<int, int>> ArrayGate::rank_with_unknown() const {
  for (int side : {kRead, kWritten})
    for (std::size_t rank = 0; rank < node_rank_of_->size(); ++rank)
      if (card_of((*node_rank_of_)[rank]).arrays[side].number == SharedArray::kUnknown)
        return std::pair(static_cast<int>(rank), side);
  return std::nullopt;
}

// Of all ranks' arrays on that side.
ArrayGate::Arrays ArrayGate::map(int side) const {
  Arrays arrays;
  arrays.reached = true;
  for (int rank = 0; rank < window_->ranks(); ++rank) {
    const SharedArray& array = card_of(rank).arrays[side];
    arrays.numbers.push_back(array.number);
    arrays.bases.push_back(rank == node_rank_ ? own_[side] : nullptr);
    if (rank == node_rank_ || array.number == SharedArray::kEmpty) continue;
    try {
      arrays.mappings.push_back(map_file_of_peer(array.file));
      arrays.bases.back() = arrays.mappings.back().data() + array.offset_bytes;
    } catch (const Error&) {
      arrays.reached = false;
    }
  }
  return arrays;
}

void ArrayGate::refuse() const {
  const auto unknown = rank_with_unknown();
  if (!unknown)
    throw Error(ErrorCode::unavailable,
                "a rank cannot map the arrays of another: too many files are open, or memory is "
                "short; plan without options.shared_arrays");
  const auto [rank, side] = *unknown;
  throw Error(ErrorCode::invalid_argument,
              std::string("the ") + (side == kRead ? "input" : "output") + " of rank " +
                  std::to_string(rank) +
                  " was not made by make_input() or make_output() of a plan like this, or is too "
                  "small; options.shared_arrays promises that it is");
}

bool ArrayGate::pass() {
  if (refused_) refuse();
  if (!reached_) return false;
  const Arrays& read = *find(kRead);
  const Arrays& written = *find(kWritten);
  for (int rank = 0; rank < window_->ranks(); ++rank) {
    executor_->bind(slot_of_input_at(rank), read.bases[static_cast<std::size_t>(rank)]);
    executor_->bind(slot_of_output_at(rank), written.bases[static_cast<std::size_t>(rank)]);
  }
  return true;
}

}  // namespace weft
