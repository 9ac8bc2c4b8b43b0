// The part of a plan's assembly that decides which blocks of its exchanges wait in users' arrays,
// the same on all ranks.
#include <algorithm>

#include "plan/home_behind_sends.hpp"
#include "plan/implementation.hpp"
#include "plan/long_axis.hpp"
#include "plan/overlap.hpp"

namespace weft {

std::pair<UserSide, UserSide> AnyPlan::Implementation::sides_at(int rank,
                                                                Direction direction) const {
  auto [source, sink] = sides(direction);
  if (rank == comm.rank()) return {std::move(source), std::move(sink)};
  const std::size_t place = 2 * static_cast<std::size_t>(rank);
  const bool forward = direction == Direction::forward;
  source.field_stride = field_strides[place + (forward ? 0 : 1)];
  sink.field_stride = field_strides[place + (forward ? 1 : 0)];
  const int node_rank = node_rank_of[static_cast<std::size_t>(rank)];
  const bool in_place = source.slot == sink.slot;
  source.slot = slot_of_input_at(node_rank);
  sink.slot = in_place ? source.slot : slot_of_output_at(node_rank);
  return {std::move(source), std::move(sink)};
}

HomeProblem AnyPlan::Implementation::home_problem(const Sequence& sequence, std::size_t hop,
                                                  const UserSide& source, const UserSide& sink,
                                                  int rank) const {
  return {.sequence = sequence,
          .hop = hop,
          .order = resolved.input_layout.order(),
          .source = source,
          .sink = sink,
          .rank = rank,
          .fields = request.options.fields,
          .in_order = takes_slices_in_order(),
          .footprint = {bytes_of_arrays(), shared_cache}};
}

// Of exchange `number`; none when any block of any rank has none.
std::optional<SharedHomes> AnyPlan::Implementation::shared_homes(const OneWay& one,
                                                                 std::size_t number,
                                                                 bool is_before_two_passes) const {
  const std::vector<Hop>& hops = one.hops;
  const Hop& hop = hops[number];
  const std::optional<Host> host = host_of(hops, number);
  if (!host) return std::nullopt;
  const Sequence sequence =
      sequence_of(resolved.path, resolved.transforms, request.input, one.direction);
  const bool sends = *host == Host::sender;
  SharedHomes homes;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto [source, sink] = sides_at(rank, one.direction);
    HomeProblem problem = home_problem(sequence, hop.action, source, sink, rank);
    problem.is_before_two_passes = is_before_two_passes;
    const Redistribution blocks = redistribution_between(hop.from, hop.to, rank);
    for (const Block& block : sends ? blocks.sends : blocks.receives) {
      const std::optional<Home> home = shared_home_of(problem, *host, block.box);
      if (!home) return std::nullopt;
      homes.all.push_back(*home);
      if (rank == comm.rank()) (sends ? homes.sends : homes.receives).push_back(*home);
      if (block.peer == comm.rank()) (sends ? homes.receives : homes.sends).push_back(*home);
    }
  }
  return homes;
}

// True when an axis may take two passes, which only the engine of this library can.
bool AnyPlan::Implementation::may_divide_axes() const {
  return request.options.engine == "auto" || request.options.engine == "weft";
}

// True when what exchange `number` brings is transformed in two passes, if they find a place for
// what is between them.
bool AnyPlan::Implementation::brings_long_axis(const OneWay& one, std::size_t number) const {
  if (!may_divide_axes()) return false;
  const std::vector<Hop>& hops = one.hops;
  const Sequence sequence =
      sequence_of(resolved.path, resolved.transforms, request.input, one.direction);
  const std::vector<int>& order = resolved.input_layout.order();
  const std::size_t first = hops[number].action + 1;
  std::size_t last = first;
  while (last < sequence.actions.size() && !sequence.actions[last].redistributes()) ++last;
  if (first == last || pass_ends(sequence, order, first, last).front() != first + 1) return false;
  const int axis = sequence.actions[first].axis;
  const Element& element = sequence.states[first].element;
  if (axis == order.back() || !element.complex || sequence.states[first + 1].element != element)
    return false;
  const Layout& after = last < sequence.actions.size() ? sequence.states[last + 1].layout
                                                       : sequence.states[last].layout;
  const std::int64_t n = after.shape()[axis];
  return can_be_divided(n, hops[number].from.boxes(), after.boxes(), axis) &&
         is_faster_in_two_passes(n, element.precision);
}

// True when what exchange `number` brings is transformed in two passes, which find homes only as
// may_leave_home() tells. Where the next exchange takes it back, they are in two dimensions, in
// memory that peers do not store results to meanwhile. With chunks rows cannot be stored as two
// passes need them: in windows one pass is taken then, since a home halves them.
bool AnyPlan::Implementation::precedes_two_passes(const OneWay& one, std::size_t number,
                                                  bool in_windows) const {
  if (in_windows && request.options.chunks > 1) return false;
  const std::vector<Hop>& hops = one.hops;
  if (is_returned(hops, number) &&
      (works_in_arrays(one, number) || hops[number].from.shape().size() != 2))
    return false;
  return brings_long_axis(one, number);
}

// True when exchange `number` leaves all in arrays that all ranks reach, and the next one takes it
// back there: two passes have a work array between them.
bool AnyPlan::Implementation::works_in_arrays(const OneWay& one, std::size_t number) const {
  return one.arrays == Arrays::shared && request.options.in_place && is_returned(one.hops, number);
}

// True when the block that stays on its rank in exchange `number` of `sequence` may wait in an
// array of the user's although two passes follow: if a later one takes it back, as settle() tells;
// else, in two dimensions, where the result will be: the rows are stored there as the passes need
// them.
bool AnyPlan::Implementation::may_leave_home(const Sequence& sequence, const std::vector<Hop>& hops,
                                             std::size_t number) const {
  const std::size_t action = hops[number].action;
  if (request.options.chunks > 1) return false;
  return is_returned(hops, number) ||
         (action + 2 == sequence.actions.size() && !request.options.in_place &&
          hops[number].from.shape().size() == 2);
}

// True when two passes along `axis` would go through too many rows of the result that compete.
bool AnyPlan::Implementation::displaces_rows_of(const UserSide& sink, int axis) const {
  const std::int64_t step = sink.layout.strides(comm.rank())[axis] * sink.element.bytes();
  const bool displaces = displaces_rows(sink.layout.shape()[axis], step, sink.element.precision);
  return comm.max(std::int64_t{displaces}) != 0;
}

// True when all ranks may store rows in the order that two passes need them where their results
// will be: in two dimensions, where rows are of complex elements all the way, so that pieces of
// them are whole lines (4096^2 on 2 ranks of a Zen 5, c2c single 14.1 -> 11.9 ms, double 32.6
// -> 31.4 or 23.9 -> 24.7, 8192^2 140.5 -> 137.2, single 61.3 -> 56.4, but r2c 61.3 -> 65.1).
bool AnyPlan::Implementation::may_take_rows_home(const OneWay& one, const Sequence& sequence,
                                                 std::size_t number) const {
  const Hop& hop = one.hops[number];
  return sequence.states.front().element.complex && may_leave_home(sequence, one.hops, number) &&
         !displaces_rows_of(sides(one.direction).second, sequence.actions[hop.action + 1].axis);
}

// Into how many parts what stays on a rank of exchange `hop`, before these passes, is divided so
// that few rows have their home in the result, where they may compete, but the window is smaller by
// what tiles and gaps between rows take: with P ranks others' rows are all but a P-th of those of a
// block, which is a P-th of the array.
int AnyPlan::Implementation::home_parts(const Hop& hop, int axis) const {
  const std::vector<Box> boxes = hop.from.boxes();
  const std::int64_t ranks =
      std::ranges::count_if(boxes, [](const Box& box) { return !box.empty(); });
  const std::int64_t first = rows_in_passes(hop.from.shape()[axis], hop.element.precision).front();
  const std::int64_t array_bytes = hop.from.shape().product() * hop.element.bytes() / ranks;
  int parts = 1;
  const auto can_be_cut = [&](int more) {
    return std::ranges::all_of(
        boxes, [&](const Box& box) { return box.extent(axis) % (more * first) == 0; });
  };
  while (2 * parts * ranks * ranks * bytes_for_gaps(array_bytes) <= array_bytes &&
         can_be_cut(2 * parts))
    parts *= 2;
  return parts;
}

// One exchange stores blocks where an earlier one loaded them, so it has a home for its own if that
// one has. Where two passes go between them, the home holds the rows that the rank stores there
// itself: the window needs room for those of others, or, if only what the call reads or where its
// result will be can be a home, so that just one of the exchanges has one, for all.
void AnyPlan::Implementation::settle(Homes& earlier, bool reads_input, Homes& later,
                                     bool stores_result) const {
  const bool both = earlier.own && later.own;
  if (earlier.precedes_two_passes) {
    const bool divides = both && !request.options.in_place;
    if (!divides && !reads_input) earlier.own.reset();
    if (!divides && !stores_result) later.own.reset();
    earlier.in_window = later.in_window = divides ? OwnInWindow::others_rows : OwnInWindow::all;
  } else if (!both) {
    earlier.own.reset();
    later.own.reset();
  }
}

// Exchange `number`, but for what it means to the one that it returns from. `passed` are the homes
// of those before it.
AnyPlan::Implementation::Homes AnyPlan::Implementation::homes_of(
    const OneWay& one, const Sequence& sequence, const ExchangeMethod& method,
    const std::vector<Homes>& passed) const {
  const std::vector<Hop>& hops = one.hops;
  const std::size_t number = passed.size();
  const Hop& hop = hops[number];
  const bool in_windows = method.leaves_all_home();
  const bool two_passes = comm.min(std::int64_t{precedes_two_passes(one, number, in_windows)}) != 0;
  const bool in_arrays = request.options.chunks == 1 && works_in_arrays(one, number) &&
                         comm.min(std::int64_t{brings_long_axis(one, number)}) != 0;
  Homes mine;
  if (in_windows && one.arrays == Arrays::shared &&
      (!two_passes || is_returned(hops, number) || may_take_rows_home(one, sequence, number)))
    mine.all = shared_homes(one, number, two_passes || in_arrays);
  if (comm.min(std::int64_t{mine.all.has_value()}) == 0) mine.all.reset();
  mine.precedes_two_passes = two_passes && !mine.all;
  mine.returns = method.returns() && !mine.all && hop.returned >= 0 &&
                 !passed[static_cast<std::size_t>(hop.returned)].all;
  if (method.leaves_home(may_send_from_sink()) && !mine.all &&
      (!mine.precedes_two_passes || may_leave_home(sequence, hops, number))) {
    const auto [source, sink] = sides(one.direction);
    HomeProblem problem = home_problem(sequence, hop.action, source, sink, comm.rank());
    problem.is_before_two_passes = mine.precedes_two_passes;
    mine.own = home_of(problem);
  }
  if (comm.min(std::int64_t{mine.own.has_value()}) == 0) mine.own.reset();
  return mine;
}

// Of what stays on a rank of exchange `hop`, before two passes along `axis`, few rows are at home.
void AnyPlan::Implementation::leave_few_rows(Homes& homes, const Hop& hop, int axis) const {
  homes.in_window = OwnInWindow::others_rows;
  homes.parts = home_parts(hop, axis);
}

// For each exchange homes on every rank, or on none.
std::vector<AnyPlan::Implementation::Homes> AnyPlan::Implementation::homes(
    const OneWay& one, const ExchangeMethod& method) const {
  const Sequence sequence =
      sequence_of(resolved.path, resolved.transforms, request.input, one.direction);
  const std::vector<Hop>& hops = one.hops;
  const UserSide sink = sides(one.direction).second;
  const auto axis_after = [&](const Hop& hop) { return sequence.actions[hop.action + 1].axis; };
  std::vector<Homes> homes;
  for (const Hop& hop : hops) {
    Homes mine = homes_of(one, sequence, method, homes);
    if (mine.own && mine.precedes_two_passes && !is_returned(hops, homes.size()) &&
        displaces_rows_of(sink, axis_after(hop))) {
      if (method.leaves_all_home())
        leave_few_rows(mine, hop, axis_after(hop));
      else
        mine.own.reset();
    }
    if (hop.returned >= 0) {
      const Hop& first = hops[static_cast<std::size_t>(hop.returned)];
      Homes& earlier = homes[static_cast<std::size_t>(hop.returned)];
      if (mine.returns)
        settle(earlier, first.action == 0, mine, hop.action + 1 == sequence.actions.size());
      else if (mine.all && earlier.own && earlier.precedes_two_passes)
        leave_few_rows(earlier, first, axis_after(first));
    }
    homes.push_back(std::move(mine));
  }
  return homes;
}

// True when a work array that `one` has between two passes may lie in the window, which it does not
// use: with arrays from anywhere the two passes work there themselves, but with other gaps. No rank
// stores to a window before all have left the call before (Exchange::open).
bool AnyPlan::Implementation::may_work_in_window(const OneWay& one) const {
  if (one.hops.size() != 2 || one.window_bytes > 0 || !works_in_arrays(one, 0)) return false;
  const OneWay& other = ways[static_cast<std::size_t>(one.direction)];
  return comm.min(std::int64_t{other.window_bytes > 0 && precedes_two_passes(other, 0, true)}) != 0;
}

// Asks, for each axis where two passes may be taken, whether they are faster: trying it needs
// memory, and if one rank has none left, all must know.
void AnyPlan::Implementation::try_two_passes() const {
  if (!may_divide_axes()) return;
  const std::vector<int>& order = resolved.input_layout.order();
  comm.agree([&] {
    for (Direction direction : {Direction::forward, Direction::backward}) {
      const auto [states, actions] =
          sequence_of(resolved.path, resolved.transforms, request.input, direction);
      for (std::size_t i = 0; i < actions.size(); ++i)
        if (!actions[i].redistributes() && actions[i].axis != order.back())
          is_faster_in_two_passes(states[i + 1].layout.shape()[actions[i].axis],
                                  states[i + 1].element.precision);
    }
  });
}

// Where a part of what stays on the rank in the last exchange waits, if what is sent waits in the
// array that the call writes.
std::vector<View> AnyPlan::Implementation::behind_sends(const OneWay& one,
                                                        bool is_before_two_passes,
                                                        std::int64_t send_bytes) const {
  const Sequence sequence =
      sequence_of(resolved.path, resolved.transforms, request.input, one.direction);
  const Hop& hop = one.hops.back();
  const auto [source, sink] = sides(one.direction);
  const Box stays = intersect(hop.from.box(comm.rank()), hop.to.box(comm.rank()));
  HomeProblem problem = home_problem(sequence, hop.action, source, sink, comm.rank());
  problem.is_before_two_passes = is_before_two_passes;
  return homes_behind_sends(problem, stays, send_bytes);
}

// True when a way with arrays of all ranks is faster than one with windows. If all blocks come back
// to where they were, it saves a copy. If they are stored in the array that the call writes, and
// taken from there row by row, the last pass works in place and no window competes for the cache:
// real results gain, and complex ones that nearly fit there (2 ranks of a Zen 5, out of place,
// backward: r2c 96^3 0.64 -> 0.60 ms, 128^3 1.34 -> 1.21, 160^3 3.95 -> 3.61, 256^3 13.9 -> 12.65,
// 384^3 56.2 -> 54.1, c2c 96^3 1.48 -> 1.17, 160^3 6.3 -> 5.6, 1024^2 1.64 -> 1.44, but 256^3 29.6
// -> 30.1); so do two passes, which work in place then. Where one takes them from there in lanes,
// windows have their rows at better places of the pages (forward: c2c 96^3 1.23 -> 1.38, 160^3 5.3
// -> 6.2, r2c 200^3 5.5 -> 6.3). In place nothing changes.
bool AnyPlan::Implementation::gains_by_shared_arrays(const OneWay& one) const {
  if (std::ranges::count(one.hosts, Host::sender) > 0) return true;
  if (request.options.in_place || one.hosts.back() != Host::receiver) return false;
  const Sequence sequence =
      sequence_of(resolved.path, resolved.transforms, request.input, one.direction);
  const int contiguous = resolved.input_layout.order().back();
  const auto last = sequence.actions.begin() + static_cast<std::ptrdiff_t>(one.hops.back().action);
  const bool by_rows = std::any_of(last + 1, sequence.actions.end(),
                                   [&](const Action& action) { return action.axis == contiguous; });
  const std::size_t number = one.hops.size() - 1;
  if (comm.min(std::int64_t{precedes_two_passes(one, number, true)}) != 0) return true;
  const bool nearly_fits = sink_bytes(one.direction) <= 2 * shared_cache.part_bytes;
  return by_rows &&
         (!sides(one.direction).second.element.complex || comm.min(std::int64_t{nearly_fits}) != 0);
}

// Arrays are long enough for what waits in them.
void AnyPlan::Implementation::note_room_for(const std::optional<SharedHomes>& homes,
                                            std::int64_t element_bytes, ArrayRoom& room) const {
  if (!homes) return;
  for (const Home& home : homes->all) {
    if (is_slot_of_peer(home.view.slot)) continue;
    std::int64_t& most = home.view.slot == kSlotInput ? room.source : room.sink;
    most = std::max(most, home.view.offset_bytes + Area{home.view, element_bytes}.span_bytes());
  }
  if (request.options.in_place) room.sink = room.source;
}

}  // namespace weft
