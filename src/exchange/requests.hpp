// What exchanges do with the requests of MPI's non-blocking calls: test them, wait for them, and
// give them up after an error. The vectors are made with the plan; nothing here allocates.
#pragma once

#include <mpi.h>

#include <vector>

namespace weft {

bool test_all(std::vector<MPI_Request>& requests);
void wait_all(std::vector<MPI_Request>& requests);
/// Leaves the request as it is.
bool is_under_way(MPI_Request request);

/// For destructors: requests are left over only after an error, and sends must then not keep this
/// rank from reporting it. Neither throws, nor does anything once MPI is finalized.
void abandon(std::vector<MPI_Request>& receives, std::vector<MPI_Request>& sends) noexcept;
/// The same for collective operations, which MPI cannot cancel: they get some time to complete, in
/// which they do when the other ranks have started them too, and are left alone after that.
void abandon_collective(std::vector<MPI_Request>& requests) noexcept;

/// Frees persistent requests that are not under way; does nothing once MPI is finalized.
void free_persistent(std::vector<MPI_Request>& requests) noexcept;

}  // namespace weft
