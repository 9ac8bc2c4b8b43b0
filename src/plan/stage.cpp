// A stage's choices: which pencils form a tile, how it lies in cache, what the engine may touch
// directly.
#include "plan/stage.hpp"

#include <algorithm>

#include "base/cache.hpp"
#include "base/rounding.hpp"
#include "engine/root.hpp"
#include "plan/joined_rows.hpp"

namespace weft {

namespace {

constexpr std::int64_t kTileBytes = 256 * 1024;  // some of a core's L2 (best of 64 to 512)
constexpr std::int64_t kMostLanes = 64;

/// Where nothing has to fit into a cache: lanes and points (of about a millisecond) at most, and
/// tiles that each thread should find at least.
constexpr std::int64_t kMostLanesUntiled = 256;
constexpr std::int64_t kMostPointsUntiled = 1024 * 1024;
constexpr std::int64_t kTilesPerThread = 32;

/// More than so many second-level caches hold is not in them from one stage to the next: what is
/// stored by way of the cache is fetched before (2 ranks of a Granite Rapids Xeon, axis 0: 128^3
/// c2c in place backward 2.3 -> 1.6 ms, forward 1.9 -> 1.75, r2c in place 1.07 -> 0.86; but single
/// r2c 0.41 -> 0.43).
constexpr std::int64_t kLargeCaches = 3;

// The stride of `axis` in the blocks of one side; all have the same order. 0 when there are none.
std::int64_t stride_of(const std::vector<Port>& ports, int axis) {
  for (const Port& port : ports)
    if (!port.view.box.empty()) return port.view.strides[axis];
  return 0;
}

// True when each pencil lies in a single block, contiguously.
bool whole_and_contiguous(const std::vector<Port>& ports, const Box& box, int axis) {
  return std::all_of(ports.begin(), ports.end(), [&](const Port& port) {
    return port.view.box.empty() ||
           (port.view.strides[axis] == 1 && port.view.box.lower[axis] == box.lower[axis] &&
            port.view.box.upper[axis] == box.upper[axis]);
  });
}

bool stores_slices(const StageSpec& spec) {
  return std::ranges::any_of(spec.sinks,
                             [](const Port& port) { return port.view.slot == kSlotSlice; });
}

// exp(-2 pi i j k / n) for j < last and k < rows, or its inverse.
template <class Real>
std::vector<std::byte> twiddles(std::int64_t last, std::int64_t rows, std::int64_t n,
                                Direction direction) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(last * rows) * sizeof(Twiddle<Real>));
  auto* twiddle = reinterpret_cast<Twiddle<Real>*>(bytes.data());
  for (std::int64_t j = 0; j < last; ++j)
    for (std::int64_t k = 0; k < rows; ++k, ++twiddle) {
      *twiddle = root<Real>(j * k, n);
      if (direction == Direction::backward) twiddle->im = -twiddle->im;
    }
  return bytes;
}

}  // namespace

std::vector<Area> areas_of(const std::vector<Port>& ports, const Element& element) {
  std::vector<Area> areas;
  for (const Port& port : ports) areas.push_back({port.view, element.bytes()});
  return areas;
}

Stage::Stage(StageSpec spec)
    : axis_(spec.array_axis >= 0 ? spec.array_axis : spec.axis),
      spec_(with_joined_rows(std::move(spec))) {
  // What has just been loaded is still in cache: to go past it would only throw those lines out.
  const bool in_cache =
      same_views(spec_.sources, spec_.sinks) ||
      std::ranges::all_of(spec_.sinks, [](const Port& port) { return port.in_cache; });
  store_mode_ = in_cache ? StoreMode::cached : spec_.store_mode;
  leaves_cache_ = 2 * sink_bytes() > second_level_cache_bytes();
  sink_is_absent_ = sink_bytes() > kLargeCaches * second_level_cache_bytes() && !in_cache &&
                    store_mode_ == StoreMode::cached && !stores_slices(spec_);
  choose_lanes();
  choose_direct();
  tiling_ = tiling_of(lanes_);
  load_copy_ = copy_function(spec_.source_element, false, StoreMode::cached);
  store_copy_ = copy_function(spec_.sink_element, spec_.factor != 1, store_mode_);
  if (!spec_.transforms || tiling_.tiles.empty()) return;
  std::int64_t most_lanes = 1;
  for (const Tile& tile : tiling_.tiles) most_lanes = std::max(most_lanes, tile.lanes);
  for (const auto& [box, element] : {std::pair{&spec_.source_box, &spec_.source_element},
                                     std::pair{&spec_.sink_box, &spec_.sink_element}}) {
    const std::int64_t points = box->extent(spec_.axis);
    const TileShape shape = shape_of(most_lanes, points, *element);
    const std::int64_t elements = std::max(shape.lane * most_lanes, shape.row * points);
    tile_bytes_ = std::max(tile_bytes_, elements * element->bytes());
  }
  tile_bytes_ = whole_lines(tile_bytes_);
}

Tiling Stage::tiling_of(std::int64_t lanes) const {
  return make_tiling({.axis = spec_.axis,
                      .lane_axis = lane_axis_,
                      .lanes = lanes,
                      .slice_axis = spec_.slice_axis,
                      .source_box = spec_.source_box,
                      .sink_box = spec_.sink_box,
                      .sources = spec_.sources,
                      .sinks = spec_.sinks,
                      .source_bytes = spec_.source_element.bytes(),
                      .sink_bytes = spec_.sink_element.bytes()});
}

// Lanes are taken along the axis that is contiguous in memory, so that a line of memory is used
// whole.
void Stage::choose_lanes() {
  const Box& box = spec_.source_box;
  if (box.empty()) return;
  std::int64_t best = 0;
  for (int axis = 0; axis < box.dimensions(); ++axis) {
    if (axis == spec_.axis || axis == spec_.slice_axis || axis == spec_.twiddle_axis) continue;
    if (box.extent(axis) == 1) continue;
    const std::int64_t source = std::max<std::int64_t>(1, stride_of(spec_.sources, axis));
    const std::int64_t sink = std::max<std::int64_t>(1, stride_of(spec_.sinks, axis));
    const std::int64_t distance = source == 1 || sink == 1 ? 1 : source;
    if (lane_axis_ >= 0 && distance >= best) continue;
    lane_axis_ = axis;
    best = distance;
  }
  rows_ = best != 1;
  const std::int64_t bytes = std::max(spec_.source_element.bytes(), spec_.sink_element.bytes());
  const std::int64_t fewest = fewest_together({.kind = spec_.kind,
                                               .precision = spec_.source_element.precision,
                                               .n = spec_.n,
                                               .in_stride = rows_ ? 1 : 2,
                                               .out_stride = rows_ ? 1 : 2});
  lanes_ = kTileBytes / (bytes * std::max<std::int64_t>(1, spec_.n));
  lanes_ = std::clamp(lanes_ / fewest * fewest, fewest, kMostLanes);
}

void Stage::choose_direct() {
  if (!spec_.transforms || !rows_) return;
  direct_source_ = whole_and_contiguous(spec_.sources, spec_.source_box, spec_.axis) &&
                   !(spec_.kind == BatchKind::c2r && spec_.keep_source);
  // Engines that do not take pieces do not write past the cache; for c2c they are still faster than
  // with a tile in between, for c2r not.
  const bool worthwhile = spec_.kind == BatchKind::c2c || store_mode_ == StoreMode::cached;
  direct_sink_ = worthwhile && whole_and_contiguous(spec_.sinks, spec_.sink_box, spec_.axis) &&
                 spec_.factor == 1;
  const bool same = same_views(spec_.sources, spec_.sinks) && spec_.kind == BatchKind::c2c;
  if (direct_source_ && direct_sink_ && share_a_slot(spec_.sources, spec_.sinks) && !same)
    direct_sink_ = false;
}

// Neighbours along the axis an even number of cache lines apart would fall into few cache sets;
// engines are up to 1.4 times as fast when it is odd (measured with MKL, n from 128 to 512, 32
// lanes).
Stage::TileShape Stage::shape_of(std::int64_t lanes, std::int64_t points,
                                 const Element& element) const {
  const std::int64_t lines = ceil_div((rows_ ? points : lanes) * element.bytes(), kLineBytes);
  const std::int64_t pitch = (lines | 1) * kLineBytes / element.bytes();
  return rows_ ? TileShape{.row = 1, .lane = pitch} : TileShape{.row = pitch, .lane = 1};
}

std::int64_t Stage::lane_stride(const Segment& segment) const {
  return lane_axis_ < 0 ? 1 : segment.strides[lane_axis_];
}

BatchSpec Stage::batch_for(const Tile& tile) const {
  const Cell& cell = tiling_.cells[tile.cell];
  const TileShape in =
      shape_of(tile.lanes, spec_.source_box.extent(spec_.axis), spec_.source_element);
  const TileShape out = shape_of(tile.lanes, spec_.sink_box.extent(spec_.axis), spec_.sink_element);
  BatchSpec batch{.kind = spec_.kind,
                  .direction = spec_.direction,
                  .precision = spec_.source_element.precision,
                  .n = spec_.n,
                  .count = tile.lanes,
                  .in_stride = in.row,
                  .in_distance = in.lane,
                  .out_stride = out.row,
                  .out_distance = out.lane};
  if (direct_source_) batch.in_distance = lane_stride(tiling_.segments[cell.first_source]);
  if (direct_sink_) batch.out_distance = lane_stride(tiling_.segments[cell.first_sink]);
  const bool between_tiles = !direct_source_ && !direct_sink_;
  const bool on_the_spot = direct_source_ && direct_sink_ && same_views(spec_.sources, spec_.sinks);
  batch.in_place = spec_.kind == BatchKind::c2c && (between_tiles || on_the_spot);
  batch.together = !one_by_one_;
  const bool in_cache =
      std::ranges::all_of(spec_.sources, [](const Port& port) { return port.in_cache; });
  batch.amount = in_cache ? Amount::in_cache : leaves_cache_ ? Amount::large : Amount::small;
  return batch;
}

std::vector<BatchSpec> Stage::typical_batch() const {
  if (!spec_.transforms || tiling_.tiles.empty()) return {};
  return {batch_for(tiling_.tiles.front())};
}

void Stage::use_engine(const Engine& engine, int threads) {
  engine_ = &engine;
  choose_pieces();
  one_by_one_ = false;
  make_batches();
  if (exchange_) choose_exchange();
  choose_rows();
  if (!rows_from_source_ || !rows_to_sink_) return;
  tile_bytes_ = 0;
  tiling_ = tiling_of(lanes_untiled(threads));
  make_batches();
  if (spec_.twiddle_axis < 0) return;
  const std::int64_t last = spec_.source_box.upper[spec_.twiddle_axis];
  twiddles_ = spec_.sink_element.precision == Precision::double_
                  ? twiddles<double>(last, spec_.n, spec_.twiddle_n, spec_.direction)
                  : twiddles<float>(last, spec_.n, spec_.twiddle_n, spec_.direction);
}

void Stage::make_batches() {
  batches_.clear();
  batch_of_tile_.clear();
  scratch_bytes_ = 0;
  const bool streams = store_mode_ == StoreMode::streaming;
  std::vector<BatchSpec> specs;
  for (const Tile& tile : tiling_.tiles) {
    const BatchSpec spec = batch_for(tile);
    auto found = std::find(specs.begin(), specs.end(), spec);
    batch_of_tile_.push_back(static_cast<std::size_t>(found - specs.begin()));
    if (found != specs.end()) continue;
    specs.push_back(spec);
    batches_.push_back(engine_->make(spec));
    scratch_bytes_ = std::max(scratch_bytes_, batches_.back()->scratch_bytes(streams));
  }
}

// Where a tile's lanes begin or end within a cache line, that line is read first and stored twice:
// wide tiles have fewer ends (r2c on 2 ranks, axis 0: 256^3 4.75 -> 4.4 ms, 16384^2 170 -> 162).
std::int64_t Stage::lanes_untiled(int threads) const {
  const std::int64_t all = spec_.source_box.volume() / spec_.n;
  const std::int64_t shared = spec_.slice_axis >= 0 ? all : all / (threads * kTilesPerThread);
  return std::max(lanes_, std::min({shared, kMostLanesUntiled, kMostPointsUntiled / spec_.n}));
}

// True when pencils of a tile may be stored before those that follow are loaded, in tiles that are
// taken in the order of the axes `ordered`.
bool Stage::may_store_early(const std::vector<int>& ordered) const {
  std::vector<bool> inside(static_cast<std::size_t>(spec_.source_box.dimensions()), false);
  inside[static_cast<std::size_t>(spec_.axis)] = true;
  return may_overwrite_in_order(areas_of(spec_.sources, spec_.source_element),
                                areas_of(spec_.sinks, spec_.sink_element), inside, ordered);
}

// Tiles of a slice follow one another along their lanes: one thread takes all. So do those of two
// dimensions, where it takes slices in their order.
std::vector<int> Stage::ordered_axes() const {
  const bool has_slices = spec_.slice_axis >= 0;
  const bool is_one_slice = spec_.slices_in_order && spec_.source_box.dimensions() == 2;
  if (lane_axis_ < 0 || (!has_slices && !is_one_slice)) return {};
  if (has_slices && spec_.slices_in_order) return {spec_.slice_axis, lane_axis_};
  return {lane_axis_};
}

// Rows that are contiguous on a side need no tile there, if the engine takes them in pieces.
void Stage::choose_pieces() {
  if (!rows_ || !spec_.transforms || !engine_->takes_pieces()) return;
  const auto are_rows = [&](const std::vector<Port>& ports) {
    return std::all_of(ports.begin(), ports.end(), [&](const Port& port) {
      return port.view.box.empty() || port.view.strides[spec_.axis] == 1;
    });
  };
  pieces_from_source_ = are_rows(spec_.sources);
  pieces_to_sink_ = are_rows(spec_.sinks);
  direct_source_ = direct_sink_ = false;
  if (takes_pieces() && !tiling_.tiles.empty())
    exchange_ = exchange_of_rows(spec_.sources, spec_.source_element.bytes(), spec_.sinks,
                                 spec_.sink_element.bytes(), spec_.axis);
  if (takes_pieces() && !exchange_ && !may_store_early(ordered_axes())) pieces_to_sink_ = false;
  if (takes_pieces()) tile_bytes_ = 0;
}

// Rows that change places go in squares, so that those which are stored are all loaded. A tile has
// room for one of them.
void Stage::choose_exchange() {
  const Element& element = spec_.sink_element;
  const std::int64_t points = spec_.sink_box.extent(spec_.axis);
  const std::int64_t row_bytes = points * element.bytes();
  const std::int64_t together = batches_.front()->at_once();
  one_by_one_ = rows_exchanged(row_bytes, 1, together) < together;
  if (one_by_one_) make_batches();
  lanes_ = rows_exchanged(row_bytes, batches_.front()->at_once(), lanes_);
  tiling_ = tiling_of(lanes_);
  make_batches();
  if (stay_exchanged(row_bytes, lanes_)) store_mode_ = StoreMode::cached;
  store_copy_ = copy_function(element, spec_.factor != 1, store_mode_);
  std::int64_t rows = 1;
  for (const Tile& tile : tiling_.tiles) rows = std::max(rows, tile.lanes * tile.lanes);
  tile_bytes_ = whole_lines(shape_of(lanes_, points, element).lane * rows * element.bytes());
}

// Lanes that are next to each other on a side need no tile there, if the engine can take its rows
// from anywhere.
void Stage::choose_rows() {
  const bool able = !rows_ && !batches_.empty() &&
                    std::ranges::all_of(batches_, [](const auto& b) { return b->takes_rows(); });
  if (!able) return;
  const auto neighbours = [&](const std::vector<Port>& ports) {
    return std::all_of(ports.begin(), ports.end(), [&](const Port& port) {
      return lane_axis_ < 0 || port.view.box.empty() || port.view.box.extent(lane_axis_) == 1 ||
             port.view.strides[lane_axis_] == 1;
    });
  };
  rows_from_source_ = neighbours(spec_.sources);
  rows_to_sink_ = neighbours(spec_.sinks);
  takes_rows_ = rows_from_source_ && rows_to_sink_;
  if (takes_rows_ && !may_store_early({})) rows_to_sink_ = false;
}

// The addresses of the rows of both sides and of those to load next, or their pieces.
std::int64_t Stage::list_bytes() const {
  std::size_t bytes = 0;
  if (rows_from_source_ || rows_to_sink_)
    bytes = static_cast<std::size_t>(spec_.n) * (3 * sizeof(std::byte*) + sizeof(bool));
  if (pieces_from_source_ || pieces_to_sink_)
    for (const Cell& cell : tiling_.cells)
      bytes = std::max(bytes, sizeof(Piece) * (sources_of(cell).size() + sinks_of(cell).size()));
  return whole_lines(static_cast<std::int64_t>(bytes));
}

std::int64_t Stage::traffic_bytes() const {
  std::int64_t all = source_bytes() + sink_bytes();
  if (spec_.transforms || spec_.factor != 1) return all;
  const std::int64_t bytes = spec_.sink_element.bytes();
  for (const Port& from : spec_.sources)
    for (const Port& to : spec_.sinks) {
      const Box both = intersect(from.view.box, to.view.box);
      if (!both.empty() && part_of(from.view, both, bytes) == part_of(to.view, both, bytes))
        all -= 2 * both.volume() * bytes;
    }
  return all;
}

}  // namespace weft
