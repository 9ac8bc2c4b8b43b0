// ArrayGate: where the ranks of a node tell each other, before a call begins, which arrays they
// have passed. If every one of them can be reached by all, each rank maps those of its peers, the
// first time that it meets them; else the call is done without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/shared_window.hpp"
#include "plan/executor.hpp"
#include "plan/shared_arrays.hpp"

namespace weft {

/// What is done where an array cannot be reached.
enum class Unreachable { takes_another_way, is_an_error };

class ArrayGate final : public Gate {
 public:
  /// What a rank has passed to a call: what it reads and what it writes.
  struct Card {
    SharedArray arrays[2];
  };
  /// Bytes of each rank's part of the window for its cards, from a multiple of 64 on.
  static constexpr std::int64_t kBoardBytes = 256;

  /// All outlive this. `node_rank_of` as in ExchangeProblem; every rank is on this node.
  ArrayGate(SharedWindow& window, std::int64_t board_offset, int node_rank,
            const std::vector<int>& node_rank_of, Executor& executor, Unreachable unreachable)
      : window_(&window),
        board_offset_(board_offset),
        node_rank_(node_rank),
        node_rank_of_(&node_rank_of),
        executor_(&executor),
        unreachable_(unreachable) {}

  /// Begins a call with these arrays, which this rank itself has at `read` and `written`.
  void arrive(const Card& card, std::byte* read, std::byte* written);
  /// True when all ranks throw, so that the call has touched nothing on any.
  bool refused() const noexcept { return refused_; }

  bool ready() override;
  void wait() override;
  std::vector<int> absent() const override;
  bool pass() override;

 private:
  enum class Stage { before, here, voting, decided };
  struct Awaited {
    int counter = 0;
    std::int64_t value = 0;
  };
  /// What all ranks have passed for one side of a call.
  struct Arrays {
    std::vector<std::int64_t> numbers;  // of each rank of the node
    std::vector<std::byte*> bases;      // likewise, in this process
    std::vector<Mapping> mappings;
    bool reached = false;  // by all ranks
  };

  Awaited awaited() const;
  bool has_come(int node_rank) const;
  void go_on();
  void publish_card();
  void compare_cards();
  void count_votes();
  void decide(bool reached);
  const Card& card_of(int node_rank) const;
  const Arrays* find(int side) const;
  Arrays map(int side) const;
  std::optional<std::pair<int, int>> rank_with_unknown() const;
  [[noreturn]] void refuse() const;

  SharedWindow* window_;
  std::int64_t board_offset_;
  int node_rank_;
  const std::vector<int>* node_rank_of_;
  Executor* executor_;
  Unreachable unreachable_;
  std::int64_t calls_ = 0;
  Stage stage_ = Stage::decided;
  bool reached_ = false;  // all arrays of the call are
  bool refused_ = false;
  Card mine_;
  std::byte* own_[2] = {nullptr, nullptr};
  std::vector<Arrays> met_;  // so far; alike on all ranks
  std::ptrdiff_t new_ = 0;   // of them, in this call
};

}  // namespace weft
