// Tiling: how a stage's local box is cut into tiles, as flat lists made once. A cell is a part of
// the box in which the blocks of both sides that a pencil crosses are the same for all its pencils;
// a tile is some neighbouring pencils of a cell.
#pragma once

#include <span>
#include <vector>

#include "layout/view.hpp"

namespace weft {

/// One block on one side of a stage.
struct Port {
  View view;
  std::int64_t field_bytes = 0;  ///< from the same element of one field to the next
  int chunk = -1;  ///< of the exchange on this side; -1 where there is none to wait for or to start
  bool in_cache = false;  ///< what lies there has just been loaded or stored by the same pass
};

/// True when the blocks of both sides lie in the same places.
bool same_views(std::span<const Port> a, std::span<const Port> b);

/// True when a port of one side and one of the other are in the same memory.
bool share_a_slot(std::span<const Port> a, std::span<const Port> b);

/// The same ports where no exchange waits for them, nor they for it.
std::vector<Port> without_chunks(std::vector<Port> ports);

/// The same blocks, those one that follow one another here and in memory, with elements of so many
/// bytes, and wait for the same chunk or it for them.
std::vector<Port> with_joined_blocks(const std::vector<Port>& ports, std::int64_t element_bytes);

/// The piece of a cell's pencils that lies in one block.
struct Segment {
  int slot = 0;
  std::int64_t offset_bytes = 0;  ///< of the cell's first pencil, at the first element of the piece
  std::int64_t field_bytes = 0;   ///< from one field to the next
  std::int64_t begin = 0;         ///< position along the transformed axis
  std::int64_t count = 0;
  Extents strides;        ///< in elements
  bool in_cache = false;  ///< as for its Port
};

struct Cell {
  Index lower;                                    ///< global
  std::size_t first_source = 0, last_source = 0;  ///< in Tiling::segments
  std::size_t first_sink = 0, last_sink = 0;
  std::vector<int> source_chunks;  ///< sorted; all must have arrived
  std::vector<int> sink_chunks;
};

struct Tile {
  std::size_t cell = 0;
  std::int64_t lanes = 1;  ///< pencils
  Index origin;  ///< of the first pencil, relative to its cell; 0 along the transformed axis
};

struct TilingProblem {
  int axis = 0;        ///< that is transformed
  int lane_axis = -1;  ///< along which neighbouring pencils are taken together; -1: single pencils
  std::int64_t lanes = 1;  ///< pencils in a tile, about
  int slice_axis = -1;     ///< tiles are sorted by their position along it
  Box source_box;          ///< local box before the transform
  Box sink_box;            ///< and after it
  std::span<const Port> sources;
  std::span<const Port> sinks;
  std::int64_t source_bytes = 16;  ///< of an element
  std::int64_t sink_bytes = 16;
};

struct Tiling {
  std::vector<Segment> segments;
  std::vector<Cell> cells;
  std::vector<Tile> tiles;                   ///< sorted by slice
  std::vector<std::int64_t> first_of_slice;  ///< tile index where each slice begins, and the end;
                                             ///< two entries without slices

  std::int64_t slices() const noexcept {
    return static_cast<std::int64_t>(first_of_slice.size()) - 1;
  }
};

Tiling make_tiling(const TilingProblem& problem);

}  // namespace weft
