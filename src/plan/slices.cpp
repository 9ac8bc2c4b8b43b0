// Where slices lie: by what fits into the second-level cache.
#include "plan/slices.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "base/cache.hpp"
#include "base/rounding.hpp"
#include "engine/instructions.hpp"

namespace weft {
namespace {

// Where a slice begins and ends.
struct Span {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Span span_of_slice(const std::vector<Area>& areas, std::int64_t slice, int slice_axis) {
  Span all{std::numeric_limits<std::int64_t>::max(), 0};
  for (const Area& area : areas) {
    std::vector<bool> inside(static_cast<std::size_t>(area.view.box.dimensions()), true);
    inside[static_cast<std::size_t>(slice_axis)] = false;
    const std::int64_t first =
        area.view.offset_bytes + slice * area.view.strides[slice_axis] * area.element_bytes;
    all.first = std::min(all.first, first);
    all.last = std::max(all.last, first + area.span_bytes(inside));
  }
  return all;
}

// How far what is loaded for a slice lies from what is stored for it, at most.
std::int64_t drift(const std::vector<Area>& loaded, const std::vector<Area>& stored,
                   int slice_axis) {
  std::int64_t most = 0;
  const std::int64_t slices = loaded.front().view.box.extent(slice_axis);
  for (const std::int64_t slice : {std::int64_t{0}, slices - 1}) {
    const Span from = span_of_slice(loaded, slice, slice_axis);
    const Span to = span_of_slice(stored, slice, slice_axis);
    most = std::max({most, std::abs(from.first - to.first), std::abs(from.last - to.last)});
  }
  return most;
}

}  // namespace

bool stay_in_second_level(std::int64_t bytes) {
  return bytes <= second_level_cache_bytes() * 5 / 8;
}

bool stay_in_cache(std::int64_t bytes, Reader reader, const Footprint& footprint) {
  constexpr std::int64_t kSmall = 4 * 1024 * 1024;
  const SharedCache& shared = footprint.shared_cache;
  if (footprint.call_bytes <= shared.part_bytes / 16 * 3) return true;
  if (reader == Reader::own) return bytes <= kSmall;
  if (!shared.is_near) return bytes <= first_level_cache_bytes();
  return bytes <= std::max(second_level_cache_bytes(), std::min(shared.part_bytes / 4, kSmall));
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
    const std::int64_t lines = ceil_div(stride * bytes, kLineBytes);
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
  for (Port& port : sinks) {
    const auto is_there = [&](const Area& area) { return area.view.slot == port.view.slot; };
    std::vector<Area> loaded;
    std::vector<Area> stored;
    std::int64_t loaded_there = 0;
    std::ranges::copy_if(sources, std::back_inserter(loaded), is_there);
    for (const Area& source : loaded) loaded_there += source.view.box.volume();
    for (const Port& other : sinks)
      if (const Area sink{other.view, sink_bytes}; is_there(sink)) stored.push_back(sink);
    port.in_cache = !loaded.empty() && 10 * loaded_there >= 9 * all &&
                    stay_in_second_level(2 * slice_bytes + drift(loaded, stored, slice_axis));
  }
  return sinks;
}

std::vector<Port> in_cache(std::vector<Port> ports) {
  for (Port& port : ports) port.in_cache = true;
  return ports;
}

}  // namespace weft
