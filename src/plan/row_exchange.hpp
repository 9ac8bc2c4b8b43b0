// RowExchange: rows that are transformed in place and change places in pairs, so that what needs
// them in another order needs no second array. An axis of n = a a rows is two axes then, and row a
// j + k goes to where row a k + j lies.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/tiling.hpp"

namespace weft {

/// Row (j, k) along two axes of a box is stored where row (k, j) is loaded from; rows lie further
/// apart along the first of them.
struct RowExchange {
  int first = 0;
  int second = 0;
};

/// How rows along `axis` change places between a stage's sources and sinks, with elements of so
/// many bytes; none where they do not.
std::optional<RowExchange> exchange_of_rows(const std::vector<Port>& sources,
                                            std::int64_t source_bytes,
                                            const std::vector<Port>& sinks, std::int64_t sink_bytes,
                                            int axis);

/// True where so many rows of so many bytes stay in the second-level cache, with those whose places
/// they take, the results of these, and what an engine needs.
bool stay_exchanged(std::int64_t row_bytes, std::int64_t rows);
/// How many rows are best transformed together: `most` if they leave half of that cache free, else
/// `fewest` (4096^2 c2c in place, axis 1, 2 threads of a Cascade Lake Xeon, 8 rows 45 ms, 4 40, 2
/// 38).
std::int64_t rows_exchanged(std::int64_t row_bytes, std::int64_t fewest, std::int64_t most);

}  // namespace weft
