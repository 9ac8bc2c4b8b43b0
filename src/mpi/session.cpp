// Session: starts MPI when nobody has yet, and stops it again in that case only.
#include "weft/session.hpp"

#include <string>

#include "mpi/communicator.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

const char* name_of_level(int thread_level) {
  if (thread_level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (thread_level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  if (thread_level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  return "MPI_THREAD_MULTIPLE";
}

}  // namespace

Session::Session(int thread_level) {
  int initialized = 0;
  int finalized = 0;
  check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
  check_mpi(MPI_Finalized(&finalized), "MPI_Finalized");
  if (finalized)
    throw Error(ErrorCode::unavailable,
                "MPI has been finalized and cannot be initialized a second time");
  int provided = MPI_THREAD_SINGLE;
  if (initialized) {
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    check_mpi(MPI_Init_thread(nullptr, nullptr, thread_level, &provided), "MPI_Init_thread");
  }
  if (provided < thread_level) {
    if (!initialized) MPI_Finalize();
    throw Error(ErrorCode::unavailable, std::string("MPI gives ") + name_of_level(provided) +
                                            ", asked for was " + name_of_level(thread_level));
  }
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  owner_ = !initialized;
}

Session::~Session() {
  int finalized = 0;
  if (owner_ && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) MPI_Finalize();
}

}  // namespace weft
