// For tests of what the others do when one rank is late: it comes when they have all told that they
// are done with what they are tested for, whatever the speed of the machine. Should they wait for
// it there, nobody would ever go on; so it comes after a minute in any case, and its test fails.
#pragma once

#include <chrono>
#include <thread>
#include <vector>

#include "support.hpp"

namespace weft::testing {

class LateRank {
 public:
  /// On all ranks, before a barrier.
  explicit LateRank(int rank) : rank_(rank) {
    if (!is_me()) return;
    for (int other = 0; other < world().size(); ++other)
      if (other != rank)
        MPI_Irecv(nullptr, 0, MPI_BYTE, other, kTag, world().get(), &told_.emplace_back());
  }
  ~LateRank() { MPI_Waitall(static_cast<int>(told_.size()), told_.data(), MPI_STATUSES_IGNORE); }
  LateRank(const LateRank&) = delete;
  LateRank& operator=(const LateRank&) = delete;

  bool is_me() const { return world().rank() == rank_; }

  /// On the late rank: returns when the others are done; false when they were not for a minute. On
  /// the others nothing happens, and it is true.
  bool comes_in_time() {
    if (!is_me()) return true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    int all = 0;
    while (all == 0 && std::chrono::steady_clock::now() < end) {
      MPI_Testall(static_cast<int>(told_.size()), told_.data(), &all, MPI_STATUSES_IGNORE);
      std::this_thread::yield();
    }
    return all != 0;
  }
  /// On the other ranks: they are done. Nothing happens on the late rank.
  void others_are_done() const {
    if (!is_me()) MPI_Send(nullptr, 0, MPI_BYTE, rank_, kTag, world().get());
  }

 private:
  static constexpr int kTag = 4711;
  int rank_;
  std::vector<MPI_Request> told_;
};

}  // namespace weft::testing
