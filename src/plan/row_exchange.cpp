// Which rows change places, and how many at a time.
#include "plan/row_exchange.hpp"

#include "base/cache.hpp"

namespace weft {

std::optional<RowExchange> exchange_of_rows(const std::vector<Port>& sources,
                                            std::int64_t source_bytes,
                                            const std::vector<Port>& sinks, std::int64_t sink_bytes,
                                            int axis) {
  if (sources.size() != 1 || sinks.size() != 1) return std::nullopt;
  const View& from = sources.front().view;
  const View& to = sinks.front().view;
  if (from.slot != to.slot || from.offset_bytes != to.offset_bytes ||
      sources.front().field_bytes != sinks.front().field_bytes || from.strides[axis] != 1 ||
      to.strides[axis] != 1)
    return std::nullopt;
  std::vector<int> moved;
  for (int other = 0; other < from.box.dimensions(); ++other) {
    if (other == axis) continue;
    if (from.box.extent(other) != to.box.extent(other)) return std::nullopt;
    if (from.strides[other] * source_bytes != to.strides[other] * sink_bytes)
      moved.push_back(other);
  }
  if (moved.size() != 2) return std::nullopt;
  const bool descend = from.strides[moved[0]] > from.strides[moved[1]];
  const RowExchange axes{moved[descend ? 0 : 1], moved[descend ? 1 : 0]};
  const bool change_places =
      from.box.extent(axes.first) == from.box.extent(axes.second) &&
      from.strides[axes.first] * source_bytes == to.strides[axes.second] * sink_bytes &&
      from.strides[axes.second] * source_bytes == to.strides[axes.first] * sink_bytes;
  return change_places ? std::optional(axes) : std::nullopt;
}

bool stay_exchanged(std::int64_t row_bytes, std::int64_t rows) {
  return 4 * rows * row_bytes <= second_level_cache_bytes();
}

std::int64_t rows_exchanged(std::int64_t row_bytes, std::int64_t fewest, std::int64_t most) {
  return stay_exchanged(row_bytes, 2 * most) ? most : fewest;
}

}  // namespace weft
