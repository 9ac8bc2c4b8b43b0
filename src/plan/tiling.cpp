// Cuts a local box at the borders of all blocks into cells, and the cells into tiles.
#include "plan/tiling.hpp"

#include <algorithm>
#include <set>

#include "base/cache.hpp"

namespace weft {

namespace {

// Borders of the blocks along each axis but the transformed one. Example: blocks [0,5) and [5,9)
// give {0, 5, 9}.
std::vector<std::vector<std::int64_t>> cuts_of(const TilingProblem& problem) {
  std::vector<std::vector<std::int64_t>> cuts;
  for (int axis = 0; axis < problem.source_box.dimensions(); ++axis) {
    const std::int64_t lower = problem.source_box.lower[axis];
    const std::int64_t upper = problem.source_box.upper[axis];
    std::set<std::int64_t> borders{lower, upper};
    if (axis != problem.axis)
      for (const auto& ports : {problem.sources, problem.sinks})
        for (const Port& port : ports)
          for (std::int64_t border : {port.view.box.lower[axis], port.view.box.upper[axis]})
            if (border > lower && border < upper) borders.insert(border);
    cuts.emplace_back(borders.begin(), borders.end());
  }
  return cuts;
}

// Appends the pieces of the cell's pencils that lie in the blocks of one side, in the order of the
// axis.
void append_segments(const TilingProblem& problem, const Box& cell_box, std::span<const Port> ports,
                     std::int64_t element_bytes, std::vector<Segment>& segments,
                     std::vector<int>& chunks) {
  const std::size_t first = segments.size();
  for (const Port& port : ports) {
    const Box common = intersect(cell_box, port.view.box);
    if (common.empty()) continue;
    const View part = part_of(port.view, common, element_bytes);
    segments.push_back({part.slot, part.offset_bytes, port.field_bytes,
                        common.lower[problem.axis] - cell_box.lower[problem.axis],
                        common.extent(problem.axis), part.strides, port.in_cache});
    if (port.chunk >= 0) chunks.push_back(port.chunk);
  }
  std::sort(segments.begin() + static_cast<std::ptrdiff_t>(first), segments.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
}

Box with_axis(Box box, int axis, const Box& from) {
  box.lower[axis] = from.lower[axis];
  box.upper[axis] = from.upper[axis];
  return box;
}

// Lanes of a tile, of about `lanes`: engines like full lines, and most of all four packs of lanes.
std::int64_t width_of_tiles(std::int64_t lanes) {
  for (const std::int64_t multiple : {32, 8})
    if (lanes >= multiple) return lanes / multiple * multiple;
  return lanes;
}

// How many lanes lie before the one at `origin` in the line that it is stored into; 0 where that
// differs from row to row, and for real lanes, which are transformed two by two.
std::int64_t lanes_into_line(const TilingProblem& problem, const Segment& sink,
                             const Index& origin) {
  const std::int64_t pitch = sink.strides[problem.axis] * problem.sink_bytes;
  const bool is_complex = problem.source_bytes == problem.sink_bytes;
  if (problem.lane_axis < 0 || sink.strides[problem.lane_axis] != 1 || pitch % kLineBytes != 0 ||
      !is_complex)
    return 0;
  std::int64_t elements = 0;
  for (int axis = 0; axis < origin.size(); ++axis) elements += origin[axis] * sink.strides[axis];
  const std::int64_t bytes = sink.offset_bytes + elements * problem.sink_bytes;
  return bytes % kLineBytes / problem.sink_bytes;
}

// Appends the tiles of one cell. The last one takes some more rather than leave a short one: 129
// lanes with 64 in a tile give 64 and 65. Where the first lane lies within a line, the first tile
// has less, so that the others begin with lines: what crosses them takes longer (250^3 r2c in place
// on 2 ranks, axis 0: 10.3 -> 7.8 ms).
void append_tiles(const TilingProblem& problem, const Box& cell_box, std::size_t cell,
                  const Segment& sink, std::vector<Tile>& tiles) {
  Box origins = cell_box;
  for (int axis = 0; axis < origins.dimensions(); ++axis) {
    origins.upper[axis] -= origins.lower[axis];
    origins.lower[axis] = 0;
  }
  origins.upper[problem.axis] = 1;
  std::int64_t lane_extent = 1;
  if (problem.lane_axis >= 0) {
    lane_extent = origins.upper[problem.lane_axis];
    origins.upper[problem.lane_axis] = 1;
  }
  const std::int64_t width = width_of_tiles(problem.lanes);
  for_each_index(origins, [&](const Index& origin) {
    const std::int64_t lead =
        width * problem.sink_bytes % kLineBytes == 0 ? lanes_into_line(problem, sink, origin) : 0;
    const std::int64_t rest = (lead + lane_extent) % width;
    const std::int64_t pieces =
        std::max<std::int64_t>((lead + lane_extent) / width + (rest > width / 8 ? 1 : 0), 1);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t lane = std::max<std::int64_t>(piece * width - lead, 0);
      const std::int64_t next = piece + 1 < pieces ? (piece + 1) * width - lead : lane_extent;
      Tile tile{cell, next - lane, origin};
      if (problem.lane_axis >= 0) tile.origin[problem.lane_axis] = lane;
      tiles.push_back(tile);
    }
  });
}

void sort_by_slice(const TilingProblem& problem, const std::vector<std::int64_t>& slice_of_cell,
                   Tiling& tiling) {
  const auto end = static_cast<std::int64_t>(tiling.tiles.size());
  if (problem.slice_axis < 0) {
    tiling.first_of_slice = {0, end};
    return;
  }
  const auto slice_of = [&](const Tile& tile) {
    return slice_of_cell[tile.cell] + tile.origin[problem.slice_axis];
  };
  std::stable_sort(tiling.tiles.begin(), tiling.tiles.end(),
                   [&](const Tile& a, const Tile& b) { return slice_of(a) < slice_of(b); });
  const std::int64_t slices = problem.source_box.extent(problem.slice_axis);
  tiling.first_of_slice.assign(static_cast<std::size_t>(slices) + 1, end);
  for (std::int64_t t = end - 1; t >= 0; --t)
    tiling.first_of_slice[static_cast<std::size_t>(
        slice_of(tiling.tiles[static_cast<std::size_t>(t)]))] = t;
}

// The axis along which `after` follows where `before` ends, if they are alike along all others; -1:
// none.
int axis_between(const Box& before, const Box& after) {
  int between = -1;
  for (int axis = 0; axis < before.dimensions(); ++axis) {
    if (before.lower[axis] == after.lower[axis] && before.upper[axis] == after.upper[axis])
      continue;
    if (between >= 0 || before.upper[axis] != after.lower[axis]) return -1;
    between = axis;
  }
  return between;
}

}  // namespace

bool same_views(std::span<const Port> a, std::span<const Port> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Port& x, const Port& y) { return x.view == y.view; });
}

bool share_a_slot(std::span<const Port> a, std::span<const Port> b) {
  for (const Port& x : a)
    for (const Port& y : b)
      if (x.view.slot == y.view.slot) return true;
  return false;
}

std::vector<Port> without_chunks(std::vector<Port> ports) {
  for (Port& port : ports) port.chunk = -1;
  return ports;
}

std::vector<Port> with_joined_blocks(const std::vector<Port>& ports, std::int64_t element_bytes) {
  std::vector<Port> joined;
  for (const Port& port : ports) {
    const int axis = joined.empty() ? -1 : axis_between(joined.back().view.box, port.view.box);
    if (axis >= 0) {
      Port& before = joined.back();
      Port both = before;
      both.view.box.upper[axis] = port.view.box.upper[axis];
      if (part_of(both.view, port.view.box, element_bytes) == port.view &&
          port.field_bytes == before.field_bytes && port.chunk == before.chunk &&
          port.in_cache == before.in_cache) {
        before = both;
        continue;
      }
    }
    joined.push_back(port);
  }
  return joined;
}

Tiling make_tiling(const TilingProblem& problem) {
  Tiling tiling;
  if (problem.source_box.empty() || problem.sink_box.empty()) {
    tiling.first_of_slice = {0, 0};
    return tiling;
  }
  const auto cuts = cuts_of(problem);
  Box cells{Extents::filled(problem.source_box.dimensions(), 0), {}};
  for (const auto& borders : cuts)
    cells.upper.push_back(static_cast<std::int64_t>(borders.size()) - 1);

  std::vector<std::int64_t> slice_of_cell;
  for_each_index(cells, [&](const Index& which) {
    Box box = problem.source_box;
    for (int axis = 0; axis < box.dimensions(); ++axis) {
      const auto& borders = cuts[static_cast<std::size_t>(axis)];
      box.lower[axis] = borders[static_cast<std::size_t>(which[axis])];
      box.upper[axis] = borders[static_cast<std::size_t>(which[axis]) + 1];
    }
    Cell cell;
    cell.lower = box.lower;
    cell.first_source = tiling.segments.size();
    append_segments(problem, box, problem.sources, problem.source_bytes, tiling.segments,
                    cell.source_chunks);
    cell.last_source = cell.first_sink = tiling.segments.size();
    append_segments(problem, with_axis(box, problem.axis, problem.sink_box), problem.sinks,
                    problem.sink_bytes, tiling.segments, cell.sink_chunks);
    cell.last_sink = tiling.segments.size();
    if (problem.slice_axis >= 0)
      slice_of_cell.push_back(box.lower[problem.slice_axis] -
                              problem.source_box.lower[problem.slice_axis]);
    append_tiles(problem, box, tiling.cells.size(), tiling.segments[cell.first_sink], tiling.tiles);
    tiling.cells.push_back(std::move(cell));
  });
  sort_by_slice(problem, slice_of_cell, tiling);
  return tiling;
}

}  // namespace weft
