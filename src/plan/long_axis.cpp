// With j = b j1 + j2 and k = k1 + a k2, the first stage makes sums over j1 for each k1 and j2,
// times exp(-2 pi i j2 k1 / n), and the second one sums over j2 for each k1 and k2.
#include "plan/long_axis.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/cache.hpp"
#include "base/rounding.hpp"
#include "plan/overlap.hpp"

namespace weft {
namespace {

/// A pass of fewer rows would be nothing but memory traffic.
constexpr std::int64_t kFewestRows = 16;

/// The numbers of rows of both passes.
struct Factors {
  std::int64_t a;
  std::int64_t b;
};

using Boxes = std::vector<Box>;

Boxes boxes_of(const std::vector<Port>& ports) {
  Boxes boxes;
  for (const Port& port : ports) boxes.push_back(port.view.box);
  return boxes;
}

bool lies_in(const Port& port, const std::vector<Port>& places) {
  return share_a_slot(std::vector{port}, places);
}

// True when all boxes begin and end at multiples of `step` along `axis`.
bool can_be_cut(const Boxes& boxes, int axis, std::int64_t step) {
  return std::all_of(boxes.begin(), boxes.end(), [&](const Box& box) {
    return box.empty() || (box.lower[axis] % step == 0 && box.upper[axis] % step == 0);
  });
}

// The factors of n that are nearest to each other, the larger one first: the second pass is the one
// that may work in place on rows of users that are far apart (8192^2 c2c, 1 rank with 2 threads of
// a Zen 4, 128 rows and then 64 instead of 64 and then 128: 133 -> 117 ms).
std::optional<Factors> factors_of(std::int64_t n, const Boxes& before, const Boxes& after,
                                  int axis) {
  std::optional<Factors> best;
  for (std::int64_t a = kFewestRows; a * kFewestRows <= n; ++a) {
    if (n % a != 0) continue;
    const std::int64_t b = n / a;
    if (best && std::max(a, b) > std::max(best->a, best->b)) continue;
    if (can_be_cut(before, axis, b) && can_be_cut(after, axis, a)) best = {a, b};
  }
  return best;
}
std::optional<Factors> factors_of(const StageSpec& spec) {
  return factors_of(spec.n, {}, boxes_of(spec.sinks), spec.axis);
}

// Of rows that a stage before reorders: by what all ranks know, if it does so in memory of others.
std::optional<Factors> factors_of(const Predecessor& before, const StageSpec& spec) {
  const std::vector<Port> all = before.all();
  const Boxes places = boxes_of(all);
  Boxes blocks = places;
  for (const Port& source : spec.sources)
    if (!lies_in(source, all)) blocks.push_back(source.view.box);
  return factors_of(spec.n, blocks, places, spec.axis);
}

// The extents with `axis` and another one behind it in its place.
Extents with_two(const Extents& extents, int axis, std::int64_t first, std::int64_t second) {
  Extents result;
  for (int other = 0; other < extents.size(); ++other) {
    result.push_back(other == axis ? first : extents[other]);
    if (other == axis) result.push_back(second);
  }
  return result;
}

// Position p becomes p / step and p % step. All are there that have one p / step, or p % step
// begins and ends with any.
void cut_slow_first(View& view, int axis, std::int64_t step) {
  const std::int64_t stride = view.strides[axis];
  const std::int64_t lower = view.box.lower[axis];
  const std::int64_t upper = view.box.upper[axis];
  const std::int64_t last = upper - 1;
  const bool is_one = lower < upper && lower / step == last / step;
  view.box = {with_two(view.box.lower, axis, lower / step, is_one ? lower % step : 0),
              with_two(view.box.upper, axis, is_one ? last / step + 1 : upper / step,
                       is_one ? last % step + 1 : step)};
  view.strides = with_two(view.strides, axis, stride * step, stride);
}

// Position p becomes p % step and p / step.
void cut_fast_first(View& view, int axis, std::int64_t step) {
  const std::int64_t stride = view.strides[axis];
  view.box = {with_two(view.box.lower, axis, 0, view.box.lower[axis] / step),
              with_two(view.box.upper, axis, step, view.box.upper[axis] / step)};
  view.strides = with_two(view.strides, axis, stride, stride * step);
}

template <class CutView>
std::vector<Port> each_cut(const std::vector<Port>& ports, CutView cut) {
  std::vector<Port> result;
  for (const Port& port : ports) {
    if (port.view.box.empty()) continue;
    result.push_back(port);
    cut(result.back().view);
  }
  return result;
}

bool is_of_user(const Port& port) {
  return port.view.slot == kSlotInput || port.view.slot == kSlotOutput;
}
bool are_of_user(const std::vector<Port>& ports) {
  return std::all_of(ports.begin(), ports.end(), is_of_user);
}
// Nobody wants to keep what these hold, and their rows do not compete for the same few lines of the
// cache.
bool are_of_weft(const std::vector<Port>& ports) {
  return std::none_of(ports.begin(), ports.end(), is_of_user);
}

// True when `stage` stores each element that it loads from the places where it was, if it stores
// it there, and nothing over others that it loads.
bool stays_in_place(const StageSpec& spec, const std::vector<Port>& places) {
  const std::int64_t bytes = spec.source_element.bytes();
  if (spec.sink_element != spec.source_element) return false;
  for (const Port& source : spec.sources)
    for (const Port& sink : spec.sinks) {
      if (source.view.slot != sink.view.slot) continue;
      const Box both = intersect(source.view.box, sink.view.box);
      if (!lies_in(source, places) ||
          (!both.empty() && part_of(source.view, both, bytes) != part_of(sink.view, both, bytes)))
        return false;
    }
  return true;
}

// An array of the work slot for `box`, with axes in the order of `like`, and its bytes.
std::pair<std::vector<Port>, std::int64_t> work_ports(const Box& box, const View& like,
                                                      std::int64_t element_bytes) {
  std::vector<int> order(static_cast<std::size_t>(box.dimensions()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return like.strides[a] > like.strides[b]; });
  const Arrangement arrangement = spread_out(box.extents(), order, element_bytes);
  return {{{View{kSlotWork, 0, box, arrangement.strides}, 0, -1}},
          arrangement.elements * element_bytes};
}

}  // namespace

std::vector<std::int64_t> rows_in_passes(std::int64_t n, Precision precision) {
  const std::optional<Factors> factors = factors_of(n, {}, {}, 0);
  if (!factors || !is_faster_in_two_passes(n, precision)) return {n};
  return {factors->a, factors->b};
}

bool displaces_rows(std::int64_t n, std::int64_t step, Precision precision) {
  constexpr std::int64_t kMostRows = 64;
  if (step % kCompetingDistance != 0) return false;
  const std::vector<std::int64_t> rows = rows_in_passes(n, precision);
  return rows.size() == 2 && rows.back() > kMostRows;
}

bool can_be_divided(std::int64_t n, const std::vector<Box>& before, const std::vector<Box>& after,
                    int axis) {
  return factors_of(n, before, after, axis).has_value();
}

std::vector<Port> Predecessor::all() const {
  std::vector<Port> ports = places;
  ports.insert(ports.end(), homes.begin(), homes.end());
  ports.insert(ports.end(), rooms.begin(), rooms.end());
  return ports;
}

namespace {

// Cuts the axis of n = a b rows: sources into rows b j1 + j2, sinks into rows k1 + a k2.
class Cutter {
 public:
  Cutter(int axis, const Factors& factors, std::int64_t element_bytes)
      : axis_(axis), factors_(factors), element_bytes_(element_bytes) {}

  void cut_box(Box& box) const {
    View view{0, 0, box, Extents::filled(box.dimensions(), 1)};
    cut_slow_first(view, axis_, factors_.b);
    box = view.box;
  }
  std::vector<Port> sources(const std::vector<Port>& ports) const {
    std::vector<Port> parts;
    for (const Port& port : ports)
      for (const Box& part : whole_and_partial_blocks(port.view.box)) {
        parts.push_back(port);
        parts.back().view = part_of(port.view, part, element_bytes_);
      }
    return each_cut(parts, [&](View& view) {
      cut_slow_first(view, axis_, factors_.b);
      std::int64_t& step = view.strides[axis_];  // of one j1 it may be any: that of sinks
      if (view.box.extent(axis_ + 1) < factors_.b && view.strides[axis_ + 1] % factors_.a == 0)
        step = view.strides[axis_ + 1] / factors_.a;
    });
  }
  std::vector<Port> sinks(const std::vector<Port>& ports) const {
    return each_cut(ports, [&](View& view) { cut_fast_first(view, axis_, factors_.a); });
  }
  /// Sources, but that rows of those in `places` are where row j1 + a j2 of the places lies.
  std::vector<Port> reordered(const std::vector<Port>& ports, const Predecessor& places) const {
    std::vector<Port> result;
    std::vector<Port> moved;
    const std::vector<Port> all = places.all();
    for (const Port& port : sources(ports)) (lies_in(port, all) ? moved : result).push_back(port);
    for (const Port& place : each_place(places))
      for (const Port& port : moved) {
        const Box both = intersect(place.view.box, port.view.box);
        if (both.empty()) continue;
        result.push_back(place);
        result.back().view = part_of(place.view, both, element_bytes_);
        result.back().chunk = port.chunk;
      }
    return with_joined_blocks(result, element_bytes_);
  }

 private:
  // Rows of one block of b rows, of whole blocks, and again of one.
  std::vector<Box> whole_and_partial_blocks(const Box& box) const {
    const std::int64_t lower = box.lower[axis_];
    const std::int64_t upper = box.upper[axis_];
    const std::int64_t first = round_up(lower, factors_.b);
    const std::int64_t last = std::max(first, upper / factors_.b * factors_.b);
    std::vector<Box> parts;
    std::int64_t at = lower;
    for (const std::int64_t end : {std::min(first, upper), std::min(last, upper), upper}) {
      if (at == end) continue;
      parts.push_back(box);
      parts.back().lower[axis_] = at;
      parts.back().upper[axis_] = at = end;
    }
    return parts;
  }
  // Sinks in all memory that rows may lie in, each only for rows j1 that lie there.
  std::vector<Port> each_place(const Predecessor& places) const {
    std::vector<Port> result = sinks(places.places);
    for (const Port& home : places.homes)
      if (!home.view.box.empty()) result.push_back(of_own_rows(home, places.home_parts));
    for (const Port& room : places.rooms)
      if (!room.view.box.empty())
        for (const Port& part : of_rows_of_others(room, places.home_parts)) result.push_back(part);
    return result;
  }
  // The first row j1 of a rank, and the one after its last.
  std::pair<std::int64_t, std::int64_t> own_rows(const Box& part, int parts) const {
    const std::int64_t first = part.lower[axis_];
    return {first / factors_.b, (first + parts * part.extent(axis_)) / factors_.b};
  }
  Port of_own_rows(const Port& home, int parts) const {
    Port own = sinks({home}).front();
    Box box = own.view.box;
    std::tie(box.lower[axis_], box.upper[axis_]) = own_rows(home.view.box, parts);
    own.view = part_of(own.view, box, element_bytes_);
    return own;
  }
  // Those before the rank's own and those after them, without a gap.
  std::vector<Port> of_rows_of_others(const Port& room, int parts) const {
    const auto [first, last] = own_rows(room.view.box, parts);
    Port before = sinks({room}).front();
    const std::int64_t row = before.view.strides[axis_];
    before.view.strides[axis_ + 1] = (factors_.a - (last - first)) * row;
    Port after = before;
    before.view.box.upper[axis_] = first;
    after.view.box.lower[axis_] = last;
    after.view.offset_bytes += first * row * element_bytes_;
    return {before, after};
  }

  int axis_;
  Factors factors_;
  std::int64_t element_bytes_;
};

// `stage`, with two axes instead of `axis`: its sources are cut into rows b j1 + j2, and it stores
// to `sinks`.
StageSpec with_cut_rows(const Stage& stage, int axis, const Cutter& cutter,
                        const std::vector<Port>& sinks) {
  StageSpec spec = stage.spec();
  spec.array_axis = stage.axis();
  if (spec.axis > axis) ++spec.axis;
  cutter.cut_box(spec.source_box);
  cutter.cut_box(spec.sink_box);
  spec.sources = cutter.sources(spec.sources);
  spec.sinks = sinks;
  return spec;
}

// True when `rows` is along another axis than `lanes`, whole and not slice by slice, so that it can
// reorder what the latter goes through.
bool is_beside(const StageSpec& rows, const StageSpec& lanes) {
  return rows.axis != lanes.axis && rows.slice_axis < 0 && rows.part == 0 &&
         rows.source_box.dimensions() == lanes.source_box.dimensions();
}

// True when rows of `stage`, which works in place, would change places in pairs.
bool exchanges(const Stage& stage, const StageSpec& exchanging) {
  return stage.takes_pieces() &&
         exchange_of_rows(exchanging.sources, exchanging.source_element.bytes(), exchanging.sinks,
                          exchanging.sink_element.bytes(), exchanging.axis)
             .has_value();
}

// `stage`, with row b j1 + j2 stored where row j1 + a j2 of `places` lies, but for blocks that it
// stores elsewhere.
StageSpec reordered(const Stage& stage, const Predecessor& places, int axis, const Cutter& cutter) {
  return with_cut_rows(stage, axis, cutter, cutter.reordered(stage.spec().sinks, places));
}

// `stage`, with row k1 + a k2 loaded from where row b k1 + k2 lies.
StageSpec loading_reordered(const Stage& stage, int axis, const Cutter& cutter) {
  return with_cut_rows(stage, axis, cutter, cutter.sinks(stage.spec().sinks));
}

// True when `after` can load what `stage` makes in place in another order.
bool can_load_reordered(const Stage* after, const StageSpec& spec, const Factors& factors) {
  if (after == nullptr || factors.a != factors.b || !is_beside(after->spec(), spec) ||
      !same_views(spec.sources, spec.sinks) || !same_views(spec.sinks, after->spec().sources))
    return false;
  const Cutter cutter(spec.axis, factors, spec.sink_element.bytes());
  return exchanges(*after, loading_reordered(*after, spec.axis, cutter));
}

}  // namespace

bool can_reorder(const Predecessor& before, const Stage& stage) {
  const std::vector<Port> places = before.all();
  if (before.stage == nullptr || places.empty()) return false;
  const StageSpec& rows = before.stage->spec();
  const StageSpec& spec = stage.spec();
  const int dimensions = places.front().view.box.dimensions();
  if (dimensions == kMaxDimensions || spec.source_box.dimensions() != dimensions ||
      !is_beside(rows, spec) || !stays_in_place(spec, places))
    return false;
  const std::optional<Factors> factors = factors_of(before, spec);
  if (!factors || !can_be_cut(boxes_of(rows.sources), spec.axis, factors->b)) return false;
  if (!share_a_slot(rows.sources, places)) return true;
  const Cutter cutter(spec.axis, *factors, spec.source_element.bytes());
  return before.homes.empty() && before.rooms.empty() && factors->a == factors->b &&
         exchanges(*before.stage, reordered(*before.stage, before, spec.axis, cutter));
}

namespace {

// True when the second pass stores nothing over rows that it has still to load, if the first one
// leaves its results where the rows were.
bool may_leave_in_sources(const StageSpec& spec, const Cutter& cutter) {
  const std::vector<Port> sources = cutter.sources(spec.sources);
  const std::vector<Port> sinks = cutter.sinks(spec.sinks);
  std::vector<bool> inside(static_cast<std::size_t>(spec.source_box.dimensions()) + 1, false);
  inside[static_cast<std::size_t>(spec.axis) + 1] = true;
  return std::ranges::all_of(
             sources,
             [&](const Port& port) { return !is_of_user(port) || lies_in(port, sinks); }) &&
         may_overwrite(areas_of(sources, spec.source_element), areas_of(sinks, spec.sink_element),
                       inside);
}

// Where the first of two passes can leave what the second one makes the result of, in place: there,
// or, where the rows were stored to all ranks' memory, in that.
std::vector<Port> in_place_of(const StageSpec& spec, const Predecessor& before) {
  if (before.rooms.empty()) return spec.sinks;
  std::vector<Port> ports = before.homes;
  for (const Port& place : before.places) {
    const Box both = intersect(place.view.box, spec.sink_box);
    if (both.empty()) continue;
    ports.push_back(place);
    ports.back().view = part_of(place.view, both, spec.sink_element.bytes());
  }
  return ports;
}

/// Where the first pass leaves its results.
enum class Between { sources, sinks, work };

Between between(const StageSpec& spec, bool reordered, const Cutter& cutter) {
  if (reordered) return Between::sinks;
  if (share_a_slot(spec.sources, spec.sinks))
    return may_leave_in_sources(spec, cutter) ? Between::sources : Between::work;
  return are_of_weft(spec.sources) ? Between::sources : Between::sinks;
}

}  // namespace

bool can_take_two_passes(const Stage& stage, const Predecessor& before, bool much_memory) {
  const StageSpec& spec = stage.spec();
  if (!stage.takes_rows() || spec.slice_axis >= 0 || spec.part > 0 ||
      spec.source_box.dimensions() == kMaxDimensions)
    return false;
  if (stage.needs_no_tile() && can_reorder(before, stage)) return true;
  const std::optional<Factors> factors = factors_of(spec);
  if (!factors) return false;
  if (!share_a_slot(spec.sources, spec.sinks)) return true;
  const bool has_memory = much_memory || (are_of_user(spec.sources) && are_of_user(spec.sinks));
  const bool can_be_between = has_memory && stage.needs_no_tile() &&
                              can_be_cut(boxes_of(spec.sources), spec.axis, factors->b);
  return can_be_between ||
         may_leave_in_sources(spec, Cutter(spec.axis, *factors, spec.source_element.bytes()));
}

TwoPasses in_two_passes(const Stage& stage, const Predecessor& before, Stage* after) {
  StageSpec first = stage.spec();
  first.array_axis = stage.axis();
  first.part = 1;
  const int axis = first.axis;
  const bool reorders = can_reorder(before, stage);
  const std::optional<Factors> factors = reorders ? factors_of(before, first) : factors_of(first);
  const std::int64_t element_bytes = first.source_element.bytes();
  if (reorders && !before.stage->spec().source_box.empty())
    *before.stage =
        Stage(reordered(*before.stage, before, axis, Cutter(axis, *factors, element_bytes)));
  StageSpec second = first;
  second.part = 2;
  if (first.source_box.empty()) return {Stage(first), Stage(second)};
  const Cutter cutter(axis, *factors, element_bytes);
  const bool leaves_order = !reorders && can_load_reordered(after, first, *factors);
  const Between place = leaves_order ? Between::sources : between(first, reorders, cutter);
  const std::vector<Port> sinks = cutter.sinks(reorders ? in_place_of(first, before) : first.sinks);
  second.sinks = cutter.sinks(first.sinks);
  for (StageSpec* spec : {&first, &second}) {
    cutter.cut_box(spec->source_box);
    cutter.cut_box(spec->sink_box);
  }
  first.sources =
      reorders ? cutter.reordered(first.sources, before) : cutter.sources(first.sources);
  first.sinks = without_chunks(place == Between::sources ? first.sources : sinks);
  std::int64_t work_bytes = 0;
  if (place == Between::work)
    std::tie(first.sinks, work_bytes) =
        work_ports(first.sink_box, first.sources.front().view, first.sink_element.bytes());
  second.sources = first.sinks;
  if (leaves_order) {
    second.sinks = second.sources;
    *after = Stage(loading_reordered(*after, axis, cutter));
  }
  first.n = factors->a;
  second.n = factors->b;
  second.axis = first.twiddle_axis = axis + 1;
  first.twiddle_n = factors->a * factors->b;
  first.factor = 1;
  second.keep_source = false;
  return {Stage(std::move(first)), Stage(std::move(second)), work_bytes};
}

}  // namespace weft
