// Communicator: an MPI communicator that frees itself, with checked calls and collective agreement
// on errors.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "weft/error.hpp"

namespace weft {

/// Throws Error(mpi_failure) with MPI's own text unless `code` is MPI_SUCCESS. `call` names the MPI
/// function.
void check_mpi(int code, const char* call);

/// Owns a communicator whose errors return instead of abort.
class Communicator {
 public:
  Communicator() = default;
  /// A duplicate of `comm`. Collective.
  static Communicator duplicate(MPI_Comm comm);
  /// The ranks with the same colour, in the order of their ranks. Collective.
  Communicator split(int color) const;
  /// The ranks that can share memory with this one. Collective.
  Communicator split_node() const;
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;

  MPI_Comm get() const noexcept { return comm_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  double max(double value) const;
  std::vector<double> max(std::vector<double> values) const;
  std::int64_t max(std::int64_t value) const;
  std::int64_t min(std::int64_t value) const;
  std::int64_t sum(std::int64_t value) const;
  /// The values of all ranks, in the order of the ranks; every rank gives the same number of them.
  std::vector<std::int64_t> gather(const std::vector<std::int64_t>& values) const;
  void barrier() const;

  /// Runs `body` on every rank. If it throws on any, all ranks throw the error of the lowest rank
  /// that failed, with "rank R: " before the message unless all failed alike. `body` must not
  /// communicate unless it fails on all ranks alike.
  void agree(const std::function<void()>& body) const;

  /// Throws Error(rank_mismatch) on all ranks when `text` differs among them:
  /// "`what` differ among the ranks: rank 0 has "...", rank 2 has "..."", with the first lines that
  /// do.
  void require_same(const std::string& text, const std::string& what) const;

 private:
  explicit Communicator(MPI_Comm comm);
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace weft
