// Arrays in shared memory, and the meeting of the ranks before each call.
#include "plan/shared_arrays.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace weft {
namespace {

// A counter holds the number of the call and that of an array, and grows from call to call.
constexpr std::int64_t kNumbers = std::int64_t{1} << 24;

}  // namespace

// An MPI window would have to be freed by all ranks together, so that nobody could drop an array.
std::shared_ptr<void> SharedArrays::make(std::int64_t bytes, std::int64_t room_bytes) {
  auto window = std::make_shared<SharedWindow>(*node_, std::max(bytes, room_bytes), 0);
  if (std::string_view(window->kind()) != "memfd")
    throw Error(ErrorCode::unavailable,
                "shared_arrays needs shared memory by memfd, which does not work here or which "
                "WEFT_WINDOW excludes; plan without it");
  std::erase_if(entries_, [](const Entry& entry) { return entry.window.expired(); });
  if (++made_ == kNumbers)
    throw Error(ErrorCode::out_of_memory,
                "a plan makes at most " + std::to_string(kNumbers - 1) + " shared arrays");
  entries_.push_back({made_, bytes, window});
  std::byte* const memory = window->base(node_->rank());
  return {std::move(window), memory};
}

std::int64_t SharedArrays::number_of(const void* memory, std::int64_t bytes) const noexcept {
  for (const Entry& entry : entries_)
    if (const auto window = entry.window.lock();
        window && window->base(node_->rank()) == memory && bytes <= entry.bytes)
      return entry.number;
  return kUnknown;
}

std::byte* SharedArrays::base(std::int64_t number, int node_rank) const noexcept {
  for (const Entry& entry : entries_)
    if (entry.number == number)
      if (const auto window = entry.window.lock()) return window->base(node_rank);
  return nullptr;
}

// Who is here has read what all passed to the call before, but one that has not yet passed the gate
// may still read what they passed to this one: so a call and the next have counters of their own.
void ArrayGate::arrive(std::int64_t read, std::int64_t written) {
  ++calls_;
  refused_ = false;
  window_->publish(counter_now(kReadArrayCounter), calls_ * kNumbers + read);
  window_->publish(counter_now(kWrittenArrayCounter), calls_ * kNumbers + written);
}

bool ArrayGate::is_here(int node_rank) const {
  return window_->reached(node_rank, counter_now(kWrittenArrayCounter), calls_ * kNumbers);
}

bool ArrayGate::ready() {
  for (int rank = 0; rank < window_->ranks(); ++rank)
    if (!is_here(rank)) return false;
  return true;
}

void ArrayGate::wait() {
  for (int rank = 0; rank < window_->ranks(); ++rank)
    window_->wait(rank, counter_now(kWrittenArrayCounter), calls_ * kNumbers);
}

std::vector<int> ArrayGate::absent() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < node_rank_of_->size(); ++rank)
    if (!is_here((*node_rank_of_)[rank])) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::int64_t ArrayGate::number_at(int node_rank, int counter) const {
  return window_->value(node_rank, counter_now(counter)) - calls_ * kNumbers;
}

void ArrayGate::require_same(int counter, const char* what) {
  const std::int64_t expected = number_at(node_rank_of_->front(), counter);
  for (std::size_t rank = 0; rank < node_rank_of_->size(); ++rank) {
    const std::int64_t number = number_at((*node_rank_of_)[rank], counter);
    if (number != SharedArrays::kUnknown && number == expected) continue;
    refused_ = true;
    const std::string who = "rank " + std::to_string(rank);
    throw Error(ErrorCode::invalid_argument,
                number == SharedArrays::kUnknown
                    ? "the " + std::string(what) + " of " + who +
                          " was not made by make_input() or make_output() of this plan, or is too "
                          "small; options.shared_arrays promises that it is"
                    : "rank 0 and " + who + " have passed different arrays as " + what +
                          ": the plan's number " + std::to_string(expected) + " and number " +
                          std::to_string(number) +
                          "; with options.shared_arrays all pass the same");
  }
}

void ArrayGate::pass() {
  require_same(kReadArrayCounter, "input");
  require_same(kWrittenArrayCounter, "output");
  for (int rank = 0; rank < window_->ranks(); ++rank) {
    executor_->bind(slot_of_input_at(rank),
                    arrays_->base(number_at(node_rank_, kReadArrayCounter), rank));
    executor_->bind(slot_of_output_at(rank),
                    arrays_->base(number_at(node_rank_, kWrittenArrayCounter), rank));
  }
}

}  // namespace weft
