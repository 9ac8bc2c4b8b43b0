// The part of a plan's assembly that makes the exchanges of its ways, and the memory that they use.
// Every decision is taken by all ranks alike.
#include <algorithm>
#include <string_view>

#include "base/aligned_memory.hpp"
#include "base/cache.hpp"
#include "plan/implementation.hpp"

namespace weft {

namespace {

// Chunks that are cut along two axes are cut into about as many parts along each.
int late_parts_of(const Cut& cut, int chunks) {
  int parts = 1;
  if (cut.axis != cut.late_axis)
    for (int p = 2; p * p <= chunks; ++p)
      if (chunks % p == 0) parts = p;
  return parts;
}

/// What an exchange wants, and the number of the earlier one that it returns from; -1: none.
struct Wanted {
  ExchangeMemory memory;
  int returned = -1;
  bool uses_window_again = false;
};

// In which of two memories the block is that stays on the rank: not where the exchange before has
// it, since a stage reads that while it stores for the next one, but for an exchange that takes
// everything back where the stage between them has loaded it from.
std::size_t memory_of_own(const std::vector<Wanted>& all, const std::vector<std::size_t>& before,
                          bool one_chunk) {
  const std::size_t e = before.size();
  if (e == 0) return 0;
  const bool in_place = one_chunk && all[e].returned == static_cast<int>(e) - 1 &&
                        all[e].memory.own_bytes == all[e - 1].memory.own_bytes;
  return in_place ? before.back() : 1 - before.back();
}

// Gives each exchange of one direction its place, and returns the memory that they need in all.
// Neighbouring exchanges share send and receive memory only when a single unit is under way at a
// time. A window is also read by ranks that are one exchange behind, so there no two exchanges do,
// but for one that stores each block where it was loaded.
ExchangeMemory place(const std::vector<Wanted>& all, const Options& options, int counters,
                     std::vector<ExchangeBuffers>& places) {
  places.clear();
  const bool one_unit = options.fields * options.chunks == 1;
  std::int64_t send[2] = {0, 0};
  std::int64_t receive[2] = {0, 0};
  std::int64_t own[2] = {0, 0};
  std::vector<std::size_t> owns;
  ExchangeMemory total;
  for (std::size_t e = 0; e < all.size(); ++e) {
    const ExchangeMemory& wanted = all[e].memory;
    total.fixed |= wanted.fixed;
    const std::size_t shared = one_unit ? 0 : e % 2;
    send[shared] = std::max(send[shared], whole_lines(wanted.send_bytes));
    receive[shared] = std::max(receive[shared], whole_lines(wanted.receive_bytes));
    owns.push_back(memory_of_own(all, owns, options.chunks == 1));
    own[owns[e]] = std::max(own[owns[e]], whole_lines(wanted.own_bytes));
  }
  for (std::size_t e = 0; e < all.size(); ++e) {
    const ExchangeMemory& wanted = all[e].memory;
    const bool again = all[e].uses_window_again;
    ExchangeBuffers buffers;
    const bool first = e % 2 == 0;
    buffers.send_offset = first || one_unit ? 0 : send[0];
    buffers.receive_offset = first || one_unit ? 0 : receive[0];
    buffers.own_offset = owns[e] == 0 ? 0 : own[0];
    buffers.window_offset = again ? places[static_cast<std::size_t>(all[e].returned)].window_offset
                                  : total.window_bytes;
    buffers.first_counter = counters;
    places.push_back(buffers);
    if (!again) total.window_bytes += whole_lines(wanted.window_bytes);
    counters += wanted.window_counters;
  }
  total.send_bytes = send[0] + send[1];
  total.receive_bytes = receive[0] + receive[1];
  total.own_bytes = own[0] + own[1];
  return total;
}

// What `exchange` needs for what stays on the rank when so many planes along `axis` are elsewhere.
std::int64_t own_bytes_without(std::int64_t planes, const Exchange& exchange, const Hop& hop,
                               int rank, int axis) {
  const std::vector<Block> sends = redistribution_between(hop.from, hop.to, rank).sends;
  for (int block = 0; block < static_cast<int>(sends.size()); ++block) {
    if (sends[static_cast<std::size_t>(block)].peer != rank) continue;
    const View own = exchange.outbox(0, block);
    Box rest = own.box;
    rest.upper[axis] -= planes;
    const std::int64_t bytes = hop.element.bytes();
    return Area{part_of(own, rest, bytes), bytes}.span_bytes();
  }
  return 0;
}

// What stays on the rank in the last exchange, and in one before it that it returns from, is in
// part at `homes` then.
void leave(const std::vector<View>& homes, AnyPlan::Implementation::OneWay& way,
           std::vector<Wanted>& wanted, int rank, int axis) {
  std::int64_t planes = 0;
  for (const View& home : homes) planes += home.box.extent(axis);
  const std::size_t last = wanted.size() - 1;
  const bool are_two = last > 0 && wanted[last].returned == static_cast<int>(last) - 1;
  for (std::size_t e = are_two ? last - 1 : last; e <= last; ++e) {
    way.behind_sends[e] = homes;
    wanted[e].memory.own_bytes =
        own_bytes_without(planes, *way.exchanges[e], way.hops[e], rank, axis);
  }
}

}  // namespace

ExchangeProblem AnyPlan::Implementation::problem_of(const Hop& hop, int number) const {
  ExchangeProblem problem;
  problem.comm = &comm;
  problem.node = &node;
  problem.node_rank_of = node_rank_of;
  problem.from = hop.from;
  problem.to = hop.to;
  problem.order = resolved.input_layout.order();
  problem.element_bytes = hop.element.bytes();
  problem.fields = request.options.fields;
  problem.chunks = request.options.chunks;
  problem.cut = hop.cut;
  problem.cut.late_parts = late_parts_of(hop.cut, problem.chunks);
  problem.tag = number * problem.fields * problem.chunks;
  return problem;
}

// Makes the exchanges that the user names, or those that suit the ranks' places; when the shared
// window that these would need does not fit, messages take over.
void AnyPlan::Implementation::choose_exchanges() {
  std::string& name = request.options.exchange;
  const bool automatic = name == "auto";
  const ExchangeMethod* named = nullptr;
  comm.agree([&] { named = automatic ? nullptr : &exchange_named(name); });
  const Arrays arrays = request.options.shared_arrays ? Arrays::shared : Arrays::any;
  for (Direction direction : {Direction::forward, Direction::backward})
    ways.emplace_back(direction, arrays,
                      hops_of(resolved.path, resolved.transforms, request.input, direction,
                              resolved.input_layout.order()));
  const auto& hops = way(Direction::forward).hops;
  if (hops.empty()) {
    if (automatic) name = "none";
    return;
  }
  try_two_passes();
  const ExchangeMethod& method = named ? *named : default_exchange(problem_of(hops.front(), 0));
  if (request.options.timeout > 0 && method.blocks())
    throw Error(ErrorCode::unavailable, "exchange \"" + std::string(method.name()) +
                                            "\" blocks inside MPI, so it can have no timeout; "
                                            "\"ialltoallv\" can");
  try {
    make_exchanges(method);
    name = method.name();
  } catch (const Error& error) {
    if (!automatic || error.code() != ErrorCode::out_of_memory) throw;
    make_exchanges(exchange_named("pairwise"));
    name = "pairwise";
  }
}

// Of all ways. Where arrays come from anywhere, there are other ways for those that all ranks
// reach, if these are faster.
void AnyPlan::Implementation::make_exchanges(const ExchangeMethod& method) {
  ways.erase(ways.begin() + 2, ways.end());
  Used used;
  for (OneWay& one : ways) make_exchanges_of(one, method, used);
  Options& options = request.options;
  options.shared_arrays = ways[0].shares_arrays() || ways[1].shares_arrays();
  if (ways[0].arrays == Arrays::any && request.whole_arrays && method.leaves_all_home())
    for (std::size_t w = 0; w < 2; ++w) {
      OneWay other(ways[w].direction, Arrays::shared, ways[w].hops);
      Used then = used;
      make_exchanges_of(other, method, then);
      if (!gains_by_shared_arrays(other)) continue;
      used = then;
      ways.push_back(std::move(other));
    }
  if (std::ranges::any_of(ways, [&](const OneWay& one) { return may_work_in_window(one); }))
    used.memory.window_bytes += bytes_for_gaps(used.memory.window_bytes);
  reserve(used.memory, used.counters);
  for (OneWay& one : ways) attach_exchanges(one);
}

void AnyPlan::Implementation::make_exchanges_of(OneWay& one, const ExchangeMethod& method,
                                                Used& used) {
  one.exchanges.clear();
  one.hosts.clear();
  std::vector<Wanted> wanted;
  std::vector<Homes> homes_of_hops = homes(one, method);
  for (const Hop& hop : one.hops) {
    Homes& homes = homes_of_hops[wanted.size()];
    one.hosts.push_back(homes.all ? host_of(one.hops, wanted.size()) : std::nullopt);
    ExchangeProblem problem = problem_of(hop, used.exchanges++);
    problem.returns = homes.returns;
    problem.home = homes.own;
    problem.own_in_window = homes.in_window;
    problem.home_parts = homes.parts;
    note_room_for(homes.all, problem.element_bytes, one.room);
    problem.shared_homes = std::move(homes.all);
    comm.agree([&] {
      const std::string refusal = method.refusal(problem);
      if (!refusal.empty())
        throw Error(ErrorCode::unavailable,
                    "exchange \"" + std::string(method.name()) + "\": " + refusal);
    });
    one.exchanges.push_back(method.make(problem));
    wanted.push_back({one.exchanges.back()->memory(), hop.returned, problem.returns});
    std::int64_t& window_bytes = wanted.back().memory.window_bytes;
    window_bytes = comm.max(window_bytes);
  }
  ExchangeMemory total = place(wanted, request.options, used.counters, one.places);
  one.sends_from_sink = sends_from_sink(one.direction, total);
  one.behind_sends.assign(wanted.size(), {});
  std::vector<View> behind;
  comm.agree([&] {
    if (one.sends_from_sink && wanted.back().memory.own_bytes > 0)
      behind = behind_sends(one, homes_of_hops.back().precedes_two_passes, total.send_bytes);
  });
  if (!behind.empty()) {
    leave(behind, one, wanted, comm.rank(), resolved.input_layout.order().front());
    total = place(wanted, request.options, used.counters, one.places);
  }
  one.window_bytes = total.window_bytes;
  for (const Wanted& each : wanted) used.counters += each.memory.window_counters;
  ExchangeMemory& most = used.memory;
  if (!one.sends_from_sink) most.send_bytes = std::max(most.send_bytes, total.send_bytes);
  most.own_bytes = std::max(most.own_bytes, total.own_bytes);
  most.receive_bytes = std::max(most.receive_bytes, total.receive_bytes);
  most.window_bytes = std::max(most.window_bytes, total.window_bytes);
}

// To the memory that is there now, at its places.
void AnyPlan::Implementation::attach_exchanges(OneWay& one) {
  one.traffic.clear();
  for (std::size_t e = 0; e < one.places.size(); ++e) {
    ExchangeBuffers& place = one.places[e];
    place.window = window.get();
    place.send_memory = send.data();
    place.receive_memory = receive.data();
    one.exchanges[e]->attach(place);
    one.traffic.push_back(one.exchanges[e]->traffic());
  }
}

// What is sent may wait in the array that the call writes in the end: by then it has gone, if
// nothing else is under way. Not in place, where that array is read, nor where a call may be given
// up: it may then leave after the user has freed the array.
bool AnyPlan::Implementation::may_send_from_sink() const {
  const Options& options = request.options;
  return !options.in_place && options.fields * options.chunks == 1 && options.timeout == 0;
}

// True where it does, in calls in that direction. The user's padding is not touched.
bool AnyPlan::Implementation::sends_from_sink(Direction direction,
                                              const ExchangeMemory& memory) const {
  const Layout& sink =
      direction == Direction::forward ? resolved.output_layout : resolved.input_layout;
  const bool padded = sink.allocated_elements(comm.rank()) != sink.box(comm.rank()).volume();
  return may_send_from_sink() && !padded && !memory.fixed &&
         memory.send_bytes <= sink_bytes(direction);
}

// Ways with shared arrays are given up where peers could not map these.
void AnyPlan::Implementation::reserve(const ExchangeMemory& memory, int counters) {
  comm.agree([&] {
    send = AlignedMemory(static_cast<std::size_t>(memory.send_bytes));
    receive = AlignedMemory(static_cast<std::size_t>(memory.receive_bytes));
    own = AlignedMemory(static_cast<std::size_t>(memory.own_bytes));
  });
  window.reset();
  const bool any_shares = std::ranges::any_of(ways, &OneWay::shares_arrays);
  board_offset = memory.window_bytes;
  const std::int64_t bytes = memory.window_bytes + (any_shares ? ArrayGate::kBoardBytes : 0);
  if (bytes == 0) return;
  comm.agree([&] { window = std::make_unique<SharedWindow>(node, bytes, counters); });
  if (!any_shares || std::string_view(window->kind()) == "memfd") return;
  if (request.options.shared_arrays)
    throw Error(ErrorCode::unavailable,
                "shared_arrays needs shared memory by memfd, which does not work here or which "
                "WEFT_WINDOW excludes; plan without it");
  ways.erase(ways.begin() + 2, ways.end());
}

}  // namespace weft
