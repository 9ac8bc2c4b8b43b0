// A stage's run: a tile is loaded, transformed and stored, or the engine is told where all of it
// lies.
#include <algorithm>
#include <utility>

#include "base/cache.hpp"
#include "plan/stage.hpp"

namespace weft {

std::byte* Stage::address(const Segment& segment, const Tile& tile, std::int64_t element_bytes,
                          const Call& call) const {
  std::int64_t elements = 0;
  for (int axis = 0; axis < tile.origin.size(); ++axis)
    elements += tile.origin[axis] * segment.strides[axis];
  return call.bases[static_cast<std::size_t>(segment.slot)] + segment.offset_bytes +
         call.field * segment.field_bytes + elements * element_bytes;
}

std::span<const Segment> Stage::sources_of(const Cell& cell) const {
  return std::span(tiling_.segments)
      .subspan(cell.first_source, cell.last_source - cell.first_source);
}
std::span<const Segment> Stage::sinks_of(const Cell& cell) const {
  return std::span(tiling_.segments).subspan(cell.first_sink, cell.last_sink - cell.first_sink);
}

void Stage::load(const Tile& tile, const Call& call, std::byte* target) const {
  const Cell& cell = tiling_.cells[tile.cell];
  const std::int64_t bytes = spec_.source_element.bytes();
  const TileShape shape =
      shape_of(tile.lanes, spec_.source_box.extent(spec_.axis), spec_.source_element);
  for (const Segment& segment : sources_of(cell)) {
    load_copy_({.target = target + segment.begin * shape.row * bytes,
                .source = address(segment, tile, bytes, call),
                .target_row = shape.row,
                .target_column = shape.lane,
                .source_row = segment.strides[spec_.axis],
                .source_column = lane_stride(segment),
                .rows = segment.count,
                .columns = tile.lanes},
               1);
  }
}

void Stage::store(const Tile& tile, const Call& call, const std::byte* source) const {
  const Cell& cell = tiling_.cells[tile.cell];
  const std::int64_t bytes = spec_.sink_element.bytes();
  const TileShape shape =
      shape_of(tile.lanes, spec_.sink_box.extent(spec_.axis), spec_.sink_element);
  for (const Segment& segment : sinks_of(cell)) {
    store_copy_({.target = address(segment, tile, bytes, call),
                 .source = source + segment.begin * shape.row * bytes,
                 .target_row = segment.strides[spec_.axis],
                 .target_column = lane_stride(segment),
                 .source_row = shape.row,
                 .source_column = shape.lane,
                 .rows = segment.count,
                 .columns = tile.lanes},
                spec_.factor);
  }
}

// Without a transform there is no need of a tile: each piece goes straight from its source block to
// its sink block.
void Stage::copy_through(const Tile& tile, const Call& call) const {
  const Cell& cell = tiling_.cells[tile.cell];
  const std::int64_t bytes = spec_.sink_element.bytes();
  for (const Segment& from : sources_of(cell))
    for (const Segment& to : sinks_of(cell)) {
      const std::int64_t begin = std::max(from.begin, to.begin);
      const std::int64_t end = std::min(from.begin + from.count, to.begin + to.count);
      if (begin >= end) continue;
      const std::int64_t from_row = from.strides[spec_.axis];
      const std::int64_t to_row = to.strides[spec_.axis];
      std::byte* const target =
          address(to, tile, bytes, call) + (begin - to.begin) * to_row * bytes;
      const std::byte* const source =
          address(from, tile, bytes, call) + (begin - from.begin) * from_row * bytes;
      if (target == source && spec_.factor == 1) continue;  // it is there already
      store_copy_({.target = target,
                   .source = source,
                   .target_row = to_row,
                   .target_column = lane_stride(to),
                   .source_row = from_row,
                   .source_column = lane_stride(from),
                   .rows = end - begin,
                   .columns = tile.lanes},
                  spec_.factor);
    }
}

// For each row of the result, which is at `out`, whether it is in the cache: by what its port says,
// or since one of the tile, at `in`, has been loaded from there; null when none is.
const bool* Stage::rows_in_cache(const Cell& cell, std::byte* const* in, std::byte* const* out,
                                 bool* memory) const {
  bool any = false;
  for (const Segment& to : sinks_of(cell)) {
    std::fill_n(memory + to.begin, to.count, to.in_cache);
    any |= to.in_cache;
    if (!rows_from_source_) continue;
    for (const Segment& from : sources_of(cell)) {
      if (from.slot != to.slot) continue;
      std::int64_t j = from.begin;
      for (std::int64_t k = to.begin; k < to.begin + to.count; ++k) {
        while (j < from.begin + from.count && in[j] < out[k]) ++j;
        if (j < from.begin + from.count && in[j] == out[k]) any = memory[k] = true;
      }
    }
  }
  return any ? memory : nullptr;
}

// Where each row of the tile is on one side.
void Stage::find_rows(std::span<const Segment> segments, const Tile& tile, const Call& call,
                      std::int64_t element_bytes, std::byte** rows) const {
  for (const Segment& segment : segments) {
    std::byte* row = address(segment, tile, element_bytes, call);
    const std::int64_t pitch = segment.strides[spec_.axis] * element_bytes;
    for (std::int64_t j = 0; j < segment.count; ++j, row += pitch) rows[segment.begin + j] = row;
  }
}

// Runs a tile without it, or with one for one side only.
void Stage::run_rows(const Tile& tile, const Batch& batch, const Call& call,
                     std::byte* workspace) const {
  const Cell& cell = tiling_.cells[tile.cell];
  const std::int64_t bytes = spec_.source_element.bytes();
  auto** in = reinterpret_cast<std::byte**>(workspace + 2 * tile_bytes_);
  auto** out = in + spec_.n;
  auto** next = out + spec_.n;
  const auto rows_of_tile = [&](std::byte** rows) {
    const std::int64_t pitch = shape_of(tile.lanes, spec_.n, spec_.source_element).row * bytes;
    for (std::int64_t j = 0; j < spec_.n; ++j) rows[j] = workspace + j * pitch;
  };
  if (rows_from_source_) {
    find_rows(sources_of(cell), tile, call, bytes, in);
  } else {
    load(tile, call, workspace);
    rows_of_tile(in);
  }
  if (rows_to_sink_)
    find_rows(sinks_of(cell), tile, call, bytes, out);
  else
    rows_of_tile(out);
  const auto rows = static_cast<std::size_t>(spec_.n);
  Loading loading{.in_cache = true};  // as a tile is
  if (rows_from_source_) {
    loading.in_cache = sources_of(cell).front().in_cache;
    if (!loading.in_cache && &tile != &tiling_.tiles.back()) {
      const Tile& after = *(&tile + 1);
      find_rows(sources_of(tiling_.cells[after.cell]), after, call, bytes, next);
      loading.next = {next, rows};
    }
  }
  Storing how = rows_to_sink_ ? storing() : Storing{};
  how.absent = how.absent && !loading.in_cache;
  if (how.streaming || how.absent)
    how.in_cache = rows_in_cache(cell, in, out, reinterpret_cast<bool*>(next + spec_.n));
  how.twiddles = twiddles_of(tile);
  batch.run_rows({in, rows}, {out, rows}, loading, how, workspace + 2 * tile_bytes_ + list_bytes());
  if (!rows_to_sink_) store(tile, call, workspace);
}

// Where the rows of the tile are on one side.
Pieces Stage::find_pieces(std::span<const Segment> segments, const Tile& tile, const Call& call,
                          std::int64_t element_bytes, std::byte* memory) const {
  auto* const first = reinterpret_cast<Piece*>(memory);
  Piece* piece = first;
  for (const Segment& segment : segments)
    new (piece++) Piece{address(segment, tile, element_bytes, call), segment.begin, segment.count,
                        1, lane_stride(segment)};
  return {first, piece};
}

// Runs a tile of rows without it, or with one for one side only.
void Stage::run_pieces(const Tile& tile, const Batch& batch, const Call& call, const Ahead& ahead,
                       std::byte* workspace) const {
  const Cell& cell = tiling_.cells[tile.cell];
  std::byte* const out_tile = spec_.kind == BatchKind::c2c ? workspace : workspace + tile_bytes_;
  std::byte* const lists = workspace + 2 * tile_bytes_;
  const auto piece_of_tile = [&](std::byte* base, const Box& box, const Element& element) {
    const std::int64_t points = box.extent(spec_.axis);
    return Piece{base, 0, points, 1, shape_of(tile.lanes, points, element).lane};
  };
  const Piece in_piece = piece_of_tile(workspace, spec_.source_box, spec_.source_element);
  const Piece out_piece = piece_of_tile(out_tile, spec_.sink_box, spec_.sink_element);
  Pieces in(&in_piece, 1);
  Pieces out(&out_piece, 1);
  if (pieces_from_source_)
    in = find_pieces(sources_of(cell), tile, call, spec_.source_element.bytes(), lists);
  else
    load(tile, call, workspace);
  if (pieces_to_sink_)
    out = find_pieces(sinks_of(cell), tile, call, spec_.sink_element.bytes(),
                      lists + in.size_bytes());
  batch.run_pieces(in, out, ahead, pieces_to_sink_ ? storing() : Storing{}, lists + list_bytes());
  if (!pieces_to_sink_) store(tile, call, out_tile);
}

// Row (j, k) and those after it along k, as many as the tile has, are stored where rows (k, j) and
// those after it along j lie, which go to the workspace meanwhile and then to where the former
// were. That does the tiles with j > k as well. Where j = k all rows of a square of tiles change
// places with one another: all go to the workspace first.
void Stage::run_exchanging(const Tile& tile, const Batch& batch, const Call& call,
                           std::byte* workspace) const {
  const Cell& cell = tiling_.cells[tile.cell];
  const Segment& source = sources_of(cell).front();
  const Segment& sink = sinks_of(cell).front();
  const auto [first, second] = *exchange_;
  const std::int64_t source_bytes = spec_.source_element.bytes();
  const std::int64_t sink_bytes = spec_.sink_element.bytes();
  const std::int64_t pitch = shape_of(tile.lanes, sink.count, spec_.sink_element).lane;
  // The rows from that one on along an axis, on one side.
  const auto rows_at = [&](const Segment& side, std::int64_t bytes, const Tile& row, int axis) {
    const std::int64_t distance = axis < 0 ? 1 : side.strides[axis];
    return Piece{address(side, row, bytes, call), 0, side.count, 1, distance};
  };
  const auto rows_kept = [&](std::int64_t number) {
    return Piece{workspace + number * tile.lanes * pitch * sink_bytes, 0, sink.count, 1, pitch};
  };
  const auto transform = [&](const Tile& row, int axis, const Piece& to, const Storing& how) {
    const Piece from = rows_at(source, source_bytes, row, axis);
    batch.run_pieces({&from, 1}, {&to, 1}, {}, how, workspace + 2 * tile_bytes_ + list_bytes());
  };
  const auto put_back = [&](const Piece& from, const Tile& row, int axis) {
    const Piece to = rows_at(sink, sink_bytes, row, axis);
    store_copy_({.target = to.base,
                 .source = from.base,
                 .target_row = 1,
                 .target_column = to.distance,
                 .source_row = 1,
                 .source_column = from.distance,
                 .rows = sink.count,
                 .columns = tile.lanes},
                spec_.factor);
  };

  if (tile.origin[first] > tile.origin[second]) return;
  const Piece target = rows_at(sink, sink_bytes, tile, lane_axis_);
  const std::int64_t square = lane_axis_ == second ? tile.lanes : 1;
  Tile other = tile;
  if (tile.origin[first] < tile.origin[second]) {
    std::swap(other.origin[first], other.origin[second]);
    const int axis = lane_axis_ == second ? first : lane_axis_;
    transform(other, axis, rows_kept(0), {});
    transform(tile, lane_axis_, target, storing());
    put_back(rows_kept(0), other, axis);
  } else if (square == 1) {
    transform(tile, lane_axis_, target, storing());
  } else {
    for (std::int64_t i = 0; i < square; ++i, ++other.origin[first])
      transform(other, lane_axis_, rows_kept(i), {});
    other = tile;
    for (std::int64_t i = 0; i < square; ++i, ++other.origin[first])
      put_back(rows_kept(i), other, lane_axis_);
  }
}

// Of all rows, at the tile's position along the twiddle axis.
const std::byte* Stage::twiddles_of(const Tile& tile) const {
  if (spec_.twiddle_axis < 0) return nullptr;
  const std::int64_t j =
      tiling_.cells[tile.cell].lower[spec_.twiddle_axis] + tile.origin[spec_.twiddle_axis];
  return twiddles_.data() + j * spec_.n * spec_.sink_element.bytes();
}

Storing Stage::storing() const {
  return {.factor = spec_.factor,
          .streaming = store_mode_ == StoreMode::streaming,
          .absent = sink_is_absent_};
}

std::int64_t Stage::rows_ahead() const noexcept {
  return spec_.slice_axis >= 0 && rows_from_source_ ? spec_.n : 0;
}

// Lanes are loaded from all rows, so it is the beginning of each. (The pass that ends with rows,
// r2c backward in place on 2 ranks of a Zen 4: 128^3 1.83 -> 1.50 ms, 240^3 in single 8.5 -> 7.1,
// 256^3 14.1 -> 13.4, 400^3 72 -> 67. Where rows come first, which are fetched well one after
// another, the lanes after them would only be held up: 200^3 forward 6.2 -> 6.7.)
Ahead Stage::ahead_of(std::int64_t slice, const Call& call, std::span<std::byte*> memory) const {
  constexpr std::int64_t kPieceBytes = 512;  // that lanes are loaded in
  const auto number = static_cast<std::size_t>(slice);
  const std::int64_t first = tiling_.first_of_slice[number];
  const std::int64_t room = second_level_cache_bytes() / 2 / spec_.n / kLineBytes * kLineBytes;
  if (rows_ahead() == 0 || first == tiling_.first_of_slice[number + 1] || room < kPieceBytes)
    return {};
  const Tile& tile = tiling_.tiles[static_cast<std::size_t>(first)];
  const std::int64_t element_bytes = spec_.source_element.bytes();
  find_rows(sources_of(tiling_.cells[tile.cell]), tile, call, element_bytes, memory.data());
  return {memory.first(static_cast<std::size_t>(spec_.n)),
          std::min(room, tile.lanes * element_bytes)};
}

void Stage::run(std::int64_t tile_number, const Call& call, std::byte* workspace,
                const Ahead& ahead) const {
  const Tile& tile = tiling_.tiles[static_cast<std::size_t>(tile_number)];
  if (!spec_.transforms) return copy_through(tile, call);
  const Cell& cell = tiling_.cells[tile.cell];
  const Batch& batch = *batches_[batch_of_tile_[static_cast<std::size_t>(tile_number)]];
  if (exchange_) return run_exchanging(tile, batch, call, workspace);
  if (rows_from_source_ || rows_to_sink_) return run_rows(tile, batch, call, workspace);
  if (pieces_from_source_ || pieces_to_sink_)
    return run_pieces(tile, batch, call, ahead, workspace);
  std::byte* in = workspace;
  std::byte* out = spec_.kind == BatchKind::c2c ? workspace : workspace + tile_bytes_;
  if (direct_source_)
    in = address(tiling_.segments[cell.first_source], tile, spec_.source_element.bytes(), call);
  else
    load(tile, call, in);
  if (direct_sink_)
    out = address(tiling_.segments[cell.first_sink], tile, spec_.sink_element.bytes(), call);
  batch.run(in, out, workspace + 2 * tile_bytes_ + list_bytes());
  if (!direct_sink_) store(tile, call, out);
}

}  // namespace weft
