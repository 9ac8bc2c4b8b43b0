// Names of the error codes, as they appear in messages and in the bindings.
#include "weft/error.hpp"

namespace weft {

const char* name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::invalid_layout:
      return "invalid_layout";
    case ErrorCode::rank_mismatch:
      return "rank_mismatch";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::mpi_failure:
      return "mpi_failure";
    case ErrorCode::engine_failure:
      return "engine_failure";
    case ErrorCode::io_failure:
      return "io_failure";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";  // a number from C or Fortran that is no code
}

}  // namespace weft
