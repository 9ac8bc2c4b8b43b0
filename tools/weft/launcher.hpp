// Starts the ranks of the command when the user gave -n P and nobody else has started them.
#pragma once

#include <optional>

namespace weft::command {

/// The rank that an MPI launcher (mpiexec, srun) gave this process; none when there was no
/// launcher. Known before MPI_Init, so that a usage error is printed once and no rank is started
/// for it.
std::optional<int> launched_rank();

/// Replaces this process by `mpiexec -n ranks weft ...` with the same arguments. `threads` of each
/// rank decide how ranks are bound to cores. Returns only by throwing Error(unavailable), when no
/// launcher is found.
[[noreturn]] void start_ranks(int ranks, int threads, char** arguments);

}  // namespace weft::command
