// The one exception type of Weft and its stable codes.
#pragma once

#include <stdexcept>
#include <string>

#include "weft/export.hpp"

namespace weft {

/// What kind of thing went wrong. The numbers are stable across releases: C and Fortran return
/// them.
enum class ErrorCode : int {
  invalid_argument = 1,  ///< a value that can never work (a negative extent, an unknown name)
  invalid_layout = 2,    ///< a layout that does not cover the array exactly once
  rank_mismatch = 3,     ///< ranks of one communicator passed different arguments
  unavailable = 4,       ///< a named engine or exchange cannot do this problem here
  out_of_memory = 5,     ///< a buffer or shared window does not fit
  mpi_failure = 6,       ///< an MPI call returned an error
  engine_failure = 7,    ///< FFTW or MKL returned an error
  io_failure = 8,        ///< a file could not be read or written
  timeout = 9,           ///< an exchange made no progress for too long
  internal = 10,         ///< a broken invariant: a bug in Weft
};

/// The name of a code as it appears in messages, e.g. "invalid_argument".
WEFT_API const char* name_of(ErrorCode code) noexcept;

/// Thrown by every Weft function that fails; the message says what was wrong, what was got and what
/// was expected.
class WEFT_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace weft
