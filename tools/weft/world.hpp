// World: the ranks that run one subcommand, and the few collective calls that the subcommands
// share. It also decides how a failure is told: once, whoever noticed it, and without leaving other
// ranks waiting.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "weft/error.hpp"
#include "weft/session.hpp"

namespace weft::command {

/// Exit statuses of the command.
enum ExitStatus : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

/// The user asked for something that cannot be; the message says what would be right.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error(mpi_failure) naming `call` unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

class World {
 public:
  /// Asks MPI for `thread_level`, and takes less: MPI_Query_thread tells.
  explicit World(int thread_level = MPI_THREAD_FUNNELED);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const noexcept { return session_.rank(); }
  int size() const noexcept { return session_.size(); }
  bool is_first() const noexcept { return rank() == 0; }
  MPI_Comm comm() const noexcept { return MPI_COMM_WORLD; }

  // Collective over all ranks; the result is the same everywhere.
  double max(double value) const;
  std::int64_t max(std::int64_t value) const;
  double sum(double value) const;
  std::int64_t sum(std::int64_t value) const;
  /// `text` of rank `root`.
  std::string broadcast(std::string text, int root = 0) const;
  /// The first text that is not empty, by rank: the way in which an error of one rank becomes an
  /// error of all.
  std::string first_text(const std::string& text) const;

  /// Waits for all ranks without keeping a core busy, for when one rank does something long.
  void wait_politely() const;

  /// Prints `message` once and returns `status`, when all ranks come here. A rank that comes alone
  /// ends the job, since the others wait for it somewhere else.
  int fail(const std::string& message, int status) const;

 private:
  /// MPI itself, so that a level that it does not give is no error here.
  struct Library {
    explicit Library(int thread_level);
    ~Library();
  };

  Library library_;
  Session session_;
  MPI_Comm failures_ =
      MPI_COMM_NULL;  ///< of its own, so that it matches no collective call of the work itself
};

}  // namespace weft::command
