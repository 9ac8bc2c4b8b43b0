// Overlap: when a pass may store where it loads. Integer arithmetic on views.
#pragma once

#include "layout/view.hpp"

namespace weft {

/// A view of elements of that size.
struct Area {
  View view;
  std::int64_t element_bytes = 16;

  /// From the first byte of the first element to the last one of the last; 0 for an empty box.
  std::int64_t span_bytes() const;
  /// Likewise of its part at one index of the axes that are not `inside`.
  std::int64_t span_bytes(const std::vector<bool>& inside) const;
};

/// True when a pass overwrites nothing that it has still to load. It goes through the indices of
/// the axes that are not `inside` in any order, and loads all of `from` at one of them before it
/// stores any of `to` there.
bool may_overwrite(const Area& from, const Area& to, const std::vector<bool>& inside);
/// Likewise for a pass that loads from and stores to several.
bool may_overwrite(const std::vector<Area>& from, const std::vector<Area>& to,
                   const std::vector<bool>& inside);

/// Likewise for a pass that goes through the indices of the axes `ordered`, slowest first, in
/// ascending order; none: as above.
bool may_overwrite_in_order(const Area& from, const Area& to, const std::vector<bool>& inside,
                            std::vector<int> ordered);
bool may_overwrite_in_order(const std::vector<Area>& from, const std::vector<Area>& to,
                            const std::vector<bool>& inside, const std::vector<int>& ordered);

}  // namespace weft
