// Checked calls for vectors of requests.
#include "exchange/requests.hpp"

#include <chrono>

#include "mpi/communicator.hpp"

namespace weft {
namespace {

constexpr std::chrono::milliseconds kTimeToComplete{500};

bool is_over() noexcept {
  int finalized = 0;
  return MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0;
}

}  // namespace

bool test_all(std::vector<MPI_Request>& requests) {
  int all = 0;
  check_mpi(
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  return all != 0;
}

void wait_all(std::vector<MPI_Request>& requests) {
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
}

bool is_under_way(MPI_Request request) {
  int complete = 1;
  if (request != MPI_REQUEST_NULL)
    check_mpi(MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE),
              "MPI_Request_get_status");
  return complete == 0;
}

void abandon(std::vector<MPI_Request>& receives, std::vector<MPI_Request>& sends) noexcept {
  if (is_over()) return;
  for (MPI_Request& request : receives) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (MPI_Request& request : sends)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

void abandon_collective(std::vector<MPI_Request>& requests) noexcept {
  if (is_over()) return;
  const auto end = std::chrono::steady_clock::now() + kTimeToComplete;
  int all = 0;
  do {
    const int count = static_cast<int>(requests.size());
    if (MPI_Testall(count, requests.data(), &all, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return;
  } while (!all && std::chrono::steady_clock::now() < end);
}

void free_persistent(std::vector<MPI_Request>& requests) noexcept {
  if (is_over()) return;
  for (MPI_Request& request : requests)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

}  // namespace weft
