// The kernels that move elements between user arrays, buffers and tiles: one strided 2-D copy with
// a factor, in a few shapes. They hold no geometry; all addresses come from the tiling.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kinds.hpp"

namespace weft {

/// Copies rows x columns elements: target[r * target_row + c * target_column] = factor *
/// source[...]. Strides in elements.
struct CopyJob {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  std::int64_t target_row = 0;
  std::int64_t target_column = 1;
  std::int64_t source_row = 0;
  std::int64_t source_column = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// How the target is written. Streaming stores go past the cache: right when the target is much
/// larger than it.
enum class StoreMode : int { cached = 0, streaming = 1 };

using CopyFunction = void (*)(const CopyJob& job, double factor);

/// The copy for elements of this type; with `scaled` false the factor is ignored.
CopyFunction copy_function(Element element, bool scaled, StoreMode mode);

/// Makes streaming stores visible before what follows; called once by a thread that has used them.
void finish_streaming();

}  // namespace weft
