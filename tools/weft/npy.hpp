// The .npy format without I/O: its header (numpy.lib.format, versions 1 to 3) and its element
// types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/extents.hpp"

namespace weft::command {

/// Converts `scalars` numbers at `from` to double; `swap`: their bytes stand in the other order
/// than this machine's.
using ToDouble = void (*)(const std::byte* from, std::int64_t scalars, bool swap, double* to);

struct NpyHeader {
  Shape shape;
  bool fortran_order = false;  ///< the first axis is the contiguous one
  bool complex = false;
  bool swap = false;
  std::int64_t element_bytes = 0;
  std::int64_t data_offset = 0;  ///< bytes before the first element
  ToDouble to_double = nullptr;
  std::string type;  ///< "uint8", "big-endian float32"
};

/// Bytes of the header that follows the first twelve bytes of a file, and where it starts: as they
/// tell.
struct NpyPreamble {
  std::int64_t header_offset = 0;
  std::int64_t header_bytes = 0;
};
inline constexpr std::int64_t kNpyPreambleBytes = 12;

/// Throws Error(io_failure) for a format version that is not known.
NpyPreamble parse_npy_preamble(const std::string& bytes);

/// `text`: the Python dictionary of the header. Throws Error(io_failure) for damaged ones and for
/// element types that are no numbers.
NpyHeader parse_npy_header(const std::string& text, std::int64_t data_offset);

/// The whole header of a C-ordered file in this machine's byte order; `type` is NumPy's, such as
/// "c16".
std::string format_npy_header(const Shape& shape, const std::string& type);

}  // namespace weft::command
