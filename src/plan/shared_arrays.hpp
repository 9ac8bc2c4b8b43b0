// SharedArrays: arrays of a plan's users that all ranks of its node reach, and what lets peers use
// them: before a call begins, each rank knows which of them the others have passed.
#pragma once

#include <memory>
#include <vector>

#include "exchange/exchange.hpp"
#include "plan/executor.hpp"

namespace weft {

/// Makes arrays and knows them by address.
class SharedArrays {
 public:
  /// What a rank has passed that is no array of the plan, or a part of one, or too small.
  static constexpr std::int64_t kUnknown = 0;

  /// `node` must outlive this.
  explicit SharedArrays(const Communicator& node) : node_(&node) {}

  /// An array of `bytes` on this rank, in zeroed memory of at least `room_bytes`, that lives as
  /// long as any copy of the result; the other ranks may go on with theirs. Collective over the
  /// node. Throws Error(out_of_memory, unavailable) on all its ranks.
  std::shared_ptr<void> make(std::int64_t bytes, std::int64_t room_bytes);
  /// The number, from 1 and the same on all ranks, of the array that begins at `memory` and has
  /// `bytes`; else kUnknown.
  std::int64_t number_of(const void* memory, std::int64_t bytes) const noexcept;
  /// Where the part of `node_rank` of that array lies in this process; null when this rank has
  /// given its own part back.
  std::byte* base(std::int64_t number, int node_rank) const noexcept;

 private:
  struct Entry {
    std::int64_t number = 0;
    std::int64_t bytes = 0;
    std::weak_ptr<SharedWindow> window;
  };

  const Communicator* node_;
  std::int64_t made_ = 0;
  std::vector<Entry> entries_;
};

/// Lets a call begin when all ranks of the node have passed the same arrays.
class ArrayGate final : public Gate {
 public:
  /// All outlive this. `node_rank_of` as in ExchangeProblem.
  ArrayGate(const SharedArrays& arrays, SharedWindow& window, int node_rank,
            const std::vector<int>& node_rank_of, Executor& executor)
      : arrays_(&arrays),
        window_(&window),
        node_rank_(node_rank),
        node_rank_of_(&node_rank_of),
        executor_(&executor) {}

  /// Begins a call: tells the peers what this rank has passed, the numbers of its arrays.
  void arrive(std::int64_t read, std::int64_t written);
  bool refused() const noexcept { return refused_; }

  bool ready() override;
  void wait() override;
  std::vector<int> absent() const override;
  /// Throws the same Error(invalid_argument) on all ranks unless they have passed the same arrays.
  void pass() override;

 private:
  bool is_here(int node_rank) const;
  int counter_now(int counter) const { return counter + static_cast<int>(calls_ % 2); }
  std::int64_t number_at(int node_rank, int counter) const;
  void require_same(int counter, const char* what);

  const SharedArrays* arrays_;
  SharedWindow* window_;
  int node_rank_;
  const std::vector<int>* node_rank_of_;
  Executor* executor_;
  std::int64_t calls_ = 0;
  bool refused_ = false;
};

}  // namespace weft
