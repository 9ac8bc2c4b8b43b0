// Stage: the transforms along one axis for the whole local array, tile by tile: load, transform in
// cache, scale, store. It knows views and an engine; it does not know how data got into its sources
// or goes on from its sinks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "plan/kernels.hpp"
#include "plan/overlap.hpp"
#include "plan/row_exchange.hpp"
#include "plan/tiling.hpp"

namespace weft {

/// What changes from call to call: the memory of each slot, and which field is transformed.
struct Call {
  std::span<std::byte* const> bases;
  std::int64_t field = 0;
};

/// What a stage does. `source_box` and `sink_box` are the local box before and after, differing
/// along `axis` only.
struct StageSpec {
  bool transforms = true;  ///< false: only copies, with `axis` the fastest axis in memory
  int axis = 0;
  BatchKind kind = BatchKind::c2c;
  Direction direction = Direction::forward;
  std::int64_t n = 1;  ///< length of the transform
  Element source_element;
  Element sink_element;
  Box source_box;
  Box sink_box;
  std::vector<Port> sources;
  std::vector<Port> sinks;
  bool keep_source = true;  ///< the source may not be overwritten (a user's input)
  int slice_axis = -1;
  bool slices_in_order = false;  ///< see ProgramProblem
  double factor = 1;             ///< multiplies every element stored
  int array_axis = -1;           ///< the axis of the array, where that is not `axis`
  int part = 0;                  ///< 1 or 2: of two passes along the axis of the array
  int twiddle_axis = -1;  ///< if there is one, results k at its position j are also multiplied by
                          ///< exp(-2 pi i j k / twiddle_n), or its inverse for backward
  std::int64_t twiddle_n = 1;
  StoreMode store_mode = StoreMode::cached;
};

std::vector<Area> areas_of(const std::vector<Port>& ports, const Element& element);

class Stage {
 public:
  explicit Stage(StageSpec spec);

  /// The axis of the array that is transformed.
  int axis() const noexcept { return axis_; }
  /// What was asked for, with joined rows: its axes may be fewer than the array's.
  const StageSpec& spec() const noexcept { return spec_; }
  const Tiling& tiling() const noexcept { return tiling_; }
  /// The batch that most tiles need; empty when this rank has nothing to transform.
  std::vector<BatchSpec> typical_batch() const;
  /// Plans all batches with `engine`, for `threads` to share, in wider tiles if it can do without
  /// their memory; the last step before run().
  void use_engine(const Engine& engine, int threads);
  const Engine* engine() const noexcept { return engine_; }
  /// True when the engine takes all rows from the source and stores them to the sink itself. Else
  /// there is no twiddle axis.
  bool needs_no_tile() const noexcept { return rows_from_source_ && rows_to_sink_; }
  /// Likewise, but that a tile may be needed lest it stores over what it has still to load.
  bool takes_rows() const noexcept { return takes_rows_; }
  /// True when the engine takes all rows, which are contiguous, from where they lie, and stores
  /// them likewise.
  bool takes_pieces() const noexcept { return pieces_from_source_ && pieces_to_sink_; }

  /// Cache memory that run() needs, for each thread.
  std::int64_t workspace_bytes() const noexcept {
    return 2 * tile_bytes_ + list_bytes() + scratch_bytes_;
  }
  std::int64_t source_bytes() const noexcept {
    return spec_.source_box.volume() * spec_.source_element.bytes();
  }
  std::int64_t sink_bytes() const noexcept {
    return spec_.sink_box.volume() * spec_.sink_element.bytes();
  }
  /// Bytes read and written by a run over all tiles: what a copy finds at its place already is left
  /// alone.
  std::int64_t traffic_bytes() const;

  /// Runs one tile; `workspace` is this thread's, aligned to cache lines. Where the engine takes
  /// the tile's rows in pieces, what is `ahead` is fetched meanwhile.
  void run(std::int64_t tile, const Call& call, std::byte* workspace,
           const Ahead& ahead = {}) const;

  /// Rows of lanes that ahead_of() finds; 0 where it finds nothing.
  std::int64_t rows_ahead() const noexcept;
  /// What is loaded first of a slice, as much as the cache holds beside the slice before it.
  Ahead ahead_of(std::int64_t slice, const Call& call, std::span<std::byte*> memory) const;

 private:
  struct TileShape {  // where the elements of a tile of some lanes lie: j along the axis, w lanes
    std::int64_t row = 1;
    std::int64_t lane = 1;
  };

  void choose_lanes();
  Tiling tiling_of(std::int64_t lanes) const;
  std::int64_t lanes_untiled(int threads) const;
  void make_batches();
  void choose_direct();
  void choose_pieces();
  void choose_exchange();
  TileShape shape_of(std::int64_t lanes, std::int64_t points, const Element& element) const;
  BatchSpec batch_for(const Tile& tile) const;
  std::byte* address(const Segment& segment, const Tile& tile, std::int64_t element_bytes,
                     const Call& call) const;
  std::int64_t lane_stride(const Segment& segment) const;
  std::span<const Segment> sources_of(const Cell& cell) const;
  std::span<const Segment> sinks_of(const Cell& cell) const;
  void load(const Tile& tile, const Call& call, std::byte* target) const;
  void store(const Tile& tile, const Call& call, const std::byte* source) const;
  void copy_through(const Tile& tile, const Call& call) const;
  void choose_rows();
  bool may_store_early(const std::vector<int>& ordered) const;
  std::vector<int> ordered_axes() const;
  std::int64_t list_bytes() const;
  void run_rows(const Tile& tile, const Batch& batch, const Call& call, std::byte* workspace) const;
  const bool* rows_in_cache(const Cell& cell, std::byte* const* in, std::byte* const* out,
                            bool* memory) const;
  void find_rows(std::span<const Segment> segments, const Tile& tile, const Call& call,
                 std::int64_t element_bytes, std::byte** rows) const;
  Pieces find_pieces(std::span<const Segment> segments, const Tile& tile, const Call& call,
                     std::int64_t element_bytes, std::byte* memory) const;
  void run_pieces(const Tile& tile, const Batch& batch, const Call& call, const Ahead& ahead,
                  std::byte* workspace) const;
  void run_exchanging(const Tile& tile, const Batch& batch, const Call& call,
                      std::byte* workspace) const;
  Storing storing() const;
  const std::byte* twiddles_of(const Tile& tile) const;

  int axis_;
  StageSpec spec_;
  int lane_axis_ = -1;
  std::int64_t lanes_ = 1;
  StoreMode store_mode_ = StoreMode::cached;
  bool leaves_cache_ = false;            // no core's own cache holds source and sink
  bool sink_is_absent_ = false;          // stored by way of the cache, but not in it before
  bool rows_ = false;                    // tiles hold whole rows; else lanes are next to each other
  bool direct_source_ = false;           // the engine reads the source itself
  bool direct_sink_ = false;             // the engine writes the sink itself
  bool pieces_from_source_ = false;      // the engine takes rows from the source, in pieces
  bool pieces_to_sink_ = false;          // the engine stores rows to the sink, in pieces
  std::optional<RowExchange> exchange_;  // such rows change places; the engine takes them
  bool one_by_one_ = false;              // as few of them at once as it can
  bool takes_rows_ = false;              // the engine can, from the source and to the sink
  bool rows_from_source_ = false;        // the engine gathers its rows from the source itself
  bool rows_to_sink_ = false;            // the engine scatters its rows to the sink itself
  Tiling tiling_;
  std::int64_t tile_bytes_ = 0;
  std::int64_t scratch_bytes_ = 0;  // of the engine
  CopyFunction load_copy_ = nullptr;
  CopyFunction store_copy_ = nullptr;
  const Engine* engine_ = nullptr;
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<std::size_t> batch_of_tile_;
  std::vector<std::byte> twiddles_;  // for each position along the twiddle axis
};

}  // namespace weft
