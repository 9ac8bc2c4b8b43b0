// Where slices lie: by what fits into the second-level cache.
#include "plan/slices.hpp"

#include <algorithm>
#include <iterator>

#include "base/cache.hpp"
#include "engine/instructions.hpp"

namespace weft {

bool stay_in_second_level(std::int64_t bytes) {
  return bytes <= second_level_cache_bytes() * 5 / 8;
}

bool stay_in_cache(std::int64_t bytes, Reader reader, const Footprint& footprint) {
  constexpr std::int64_t kSmall = 4 * 1024 * 1024;
  if (footprint.call_bytes <= footprint.shared_cache_bytes / 16 * 3) return true;
  if (reader == Reader::own) return bytes <= kSmall;
  return bytes <=
         std::max(second_level_cache_bytes(), std::min(footprint.shared_cache_bytes / 4, kSmall));
}

bool are_large_slices(std::int64_t bytes) {
  return bytes > second_level_cache_bytes() / 4 && stay_in_second_level(bytes);
}

bool suit_slices(const std::vector<Port>& ports, std::int64_t element_bytes, std::int64_t bytes) {
  constexpr std::int64_t kSmall = 96 * 1024;
  const auto is_on_lines = [&](const Port& port) {
    bool on_lines = port.view.offset_bytes % kLineBytes == 0;
    for (const std::int64_t stride : port.view.strides)
      on_lines &= stride == 1 || stride * element_bytes % kLineBytes == 0;
    return on_lines;
  };
  if (!stay_in_second_level(bytes)) return false;
  return bytes <= kSmall || are_large_slices(bytes) || std::ranges::all_of(ports, is_on_lines);
}

bool cut_groups(const std::vector<Port>& ports, const Box& box, int row_axis, int slice_axis) {
  constexpr std::int64_t kGroup = 32;
  return std::ranges::any_of(ports, [&](const Port& port) {
    for (int axis = 0; axis < box.dimensions(); ++axis) {
      const std::int64_t end = port.view.box.upper[axis];
      const bool ends_inside = axis != row_axis && axis != slice_axis && end < box.upper[axis];
      if (ends_inside && (end - box.lower[axis]) % kGroup != 0) return true;
    }
    return false;
  });
}

std::int64_t lines_to_next_row(std::int64_t lines, std::int64_t points,
                               std::int64_t first_level_bytes) {
  const std::int64_t column_bytes = points * 2 * chosen_instructions().register_bytes;
  const bool is_displaced =
      2 * column_bytes > first_level_bytes && column_bytes <= first_level_bytes / 6 * 5;
  return is_displaced ? (lines + 7) / 8 * 8 : lines | 1;
}

std::pair<std::vector<Port>, std::int64_t> own_slices(const State& state, int rank,
                                                      const std::vector<int>& order,
                                                      int slice_axis) {
  const Box& box = state.layout.box(rank);
  const std::int64_t bytes = state.element.bytes();
  Extents strides = Extents::filled(box.dimensions(), 0);
  std::int64_t stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (*axis == slice_axis) continue;
    strides[*axis] = stride;
    stride *= std::max<std::int64_t>(1, box.extent(*axis));
    if (axis != order.rbegin()) continue;
    const std::int64_t lines = (stride * bytes + kLineBytes - 1) / kLineBytes;
    const std::int64_t rows = box.extent(*std::next(axis));
    stride = lines_to_next_row(lines, rows, first_level_cache_bytes()) * kLineBytes / bytes;
  }
  if (box.empty()) stride = 0;
  const std::int64_t slice_bytes = stride * bytes;
  const View view{kSlotSlice, 0, box, strides};
  return {{{view, 0, -1, stay_in_second_level(slice_bytes)}}, slice_bytes};
}

std::vector<Port> with_what_is_in_cache(std::vector<Port> sinks, std::int64_t sink_bytes,
                                        const std::vector<Area>& sources, int slice_axis,
                                        std::int64_t slice_bytes) {
  std::int64_t all = 0;
  for (const Area& source : sources) all += source.view.box.volume();
  const bool is_one = !sources.empty() && 10 * sources.front().view.box.volume() >= 9 * all;
  const bool stays = is_one && stay_in_second_level(2 * slice_bytes);
  const auto step = [&](const View& view, std::int64_t bytes) {
    return view.strides[slice_axis] * bytes;
  };
  for (Port& port : sinks)
    port.in_cache =
        stays && port.view.slot == sources.front().view.slot &&
        step(port.view, sink_bytes) == step(sources.front().view, sources.front().element_bytes);
  return sinks;
}

std::vector<Port> in_cache(std::vector<Port> ports) {
  for (Port& port : ports) port.in_cache = true;
  return ports;
}

}  // namespace weft
