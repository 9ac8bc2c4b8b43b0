// Builds a plan: checks and resolves the request, makes the exchanges and their memory, the
// programs of both directions, and chooses the engine by measuring. Every decision is taken by all
// ranks alike, or by the maximum over the ranks.
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/aligned_memory.hpp"
#include "engine/instructions.hpp"
#include "mpi/shared_cache.hpp"
#include "plan/implementation.hpp"
#include "plan/long_axis.hpp"

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

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void fill_in_grid(LayoutRequest& side, const Layout& layout) {
  if (side.box || !layout.grid()) return;
  side.grid.clear();
  for (int axis = 0; axis < layout.shape().size(); ++axis)
    side.grid.push_back(layout.grid()->parts(axis));
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
    send[shared] = std::max(send[shared], aligned(wanted.send_bytes));
    receive[shared] = std::max(receive[shared], aligned(wanted.receive_bytes));
    owns.push_back(memory_of_own(all, owns, options.chunks == 1));
    own[owns[e]] = std::max(own[owns[e]], aligned(wanted.own_bytes));
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
    if (!again) total.window_bytes += aligned(wanted.window_bytes);
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

AnyPlan::Implementation::Implementation(MPI_Comm user, Request asked, ResolveOnly)
    : user_comm(user),
      comm(Communicator::duplicate(user)),
      node(comm.split_node()),
      request(std::move(asked)) {
  comm.require_same(describe(request), "the arguments of the plan");
  comm.agree([&] {
    check_instructions();
    validate(request, comm.size());
  });
  resolved = resolve(request, comm);
  fill_in_grid(request.options.input, resolved.input_layout);
  fill_in_grid(request.options.output, resolved.output_layout);
}

AnyPlan::Implementation::Implementation(MPI_Comm user, Request asked)
    : Implementation(user, std::move(asked), ResolveOnly{}) {
  find_node();
  field_strides = comm.gather({resolved.input_field_stride, resolved.output_field_stride});
  choose_threads();
  choose_exchanges();
  comm.agree([&] { make_programs(); });
  choose_engine();
  comm.agree([&] { make_executor(); });
  make_gate();
  make_progress_thread();
}

void AnyPlan::Implementation::find_node() {
  const std::int64_t leader = node.min(static_cast<std::int64_t>(comm.rank()));
  const std::vector<std::int64_t> all = comm.gather({leader, node.rank()});
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank)
    node_rank_of.push_back(all[2 * rank] == leader ? static_cast<int>(all[2 * rank + 1]) : -1);
  shared_cache = shared_cache_of(node);
}

void AnyPlan::Implementation::choose_threads() {
  int& threads = request.options.threads;
  if (threads == 0)
    threads = std::getenv("OMP_NUM_THREADS") != nullptr ? std::max(1, omp_get_max_threads()) : 1;
}

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
  for (Direction direction : {Direction::forward, Direction::backward})
    way(direction).hops = hops_of(resolved.path, resolved.transforms, request.input, direction,
                                  resolved.input_layout.order());
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

std::pair<UserSide, UserSide> AnyPlan::Implementation::sides(Direction direction) const {
  UserSide input{resolved.input_layout, request.input, resolved.input_field_stride, kSlotInput};
  UserSide output{resolved.output_layout, request.output, resolved.output_field_stride, kSlotInput};
  if (direction == Direction::backward) std::swap(input, output);
  if (!request.options.in_place) output.slot = kSlotOutput;
  return {std::move(input), std::move(output)};
}

void AnyPlan::Implementation::make_exchanges(const ExchangeMethod& method) {
  ExchangeMemory most;
  int number = 0;
  int counters = kCountersOfPlan;
  std::vector<ExchangeBuffers> places[2];
  for (std::size_t w = 0; w < 2; ++w) {
    const auto direction = static_cast<Direction>(w);
    ways[w].exchanges.clear();
    std::vector<Wanted> wanted;
    std::vector<Homes> homes_of_hops = homes(direction, method);
    ways[w].hosts.clear();
    for (const Hop& hop : ways[w].hops) {
      Homes& homes = homes_of_hops[wanted.size()];
      ways[w].hosts.push_back(homes.all ? host_of(ways[w].hops, wanted.size()) : std::nullopt);
      ExchangeProblem problem = problem_of(hop, number++);
      problem.returns = homes.returns;
      problem.home = homes.own;
      problem.own_in_window = homes.in_window;
      problem.home_parts = homes.parts;
      note_room_for(homes.all, problem.element_bytes);
      problem.shared_homes = std::move(homes.all);
      comm.agree([&] {
        const std::string refusal = method.refusal(problem);
        if (!refusal.empty())
          throw Error(ErrorCode::unavailable,
                      "exchange \"" + std::string(method.name()) + "\": " + refusal);
      });
      ways[w].exchanges.push_back(method.make(problem));
      wanted.push_back({ways[w].exchanges.back()->memory(), hop.returned, problem.returns});
      std::int64_t& window_bytes = wanted.back().memory.window_bytes;
      window_bytes = comm.max(window_bytes);
    }
    ExchangeMemory total = place(wanted, request.options, counters, places[w]);
    ways[w].sends_from_sink = sends_from_sink(direction, total);
    ways[w].behind_sends.assign(wanted.size(), {});
    std::vector<View> behind;
    comm.agree([&] {
      if (ways[w].sends_from_sink && wanted.back().memory.own_bytes > 0)
        behind =
            behind_sends(direction, homes_of_hops.back().precedes_two_passes, total.send_bytes);
    });
    if (!behind.empty()) {
      leave(behind, ways[w], wanted, comm.rank(), resolved.input_layout.order().front());
      total = place(wanted, request.options, counters, places[w]);
    }
    for (const Wanted& one : wanted) counters += one.memory.window_counters;
    if (!ways[w].sends_from_sink) most.send_bytes = std::max(most.send_bytes, total.send_bytes);
    most.own_bytes = std::max(most.own_bytes, total.own_bytes);
    most.receive_bytes = std::max(most.receive_bytes, total.receive_bytes);
    most.window_bytes = std::max(most.window_bytes, total.window_bytes);
  }
  Options& options = request.options;
  options.shared_arrays = ways[0].shares_arrays() || ways[1].shares_arrays();
  reserve(most, counters);
  for (std::size_t w = 0; w < 2; ++w) attach_exchanges(ways[w], places[w]);
}

// To the memory that is there now, at these places of it.
void AnyPlan::Implementation::attach_exchanges(OneWay& way, std::vector<ExchangeBuffers>& places) {
  way.traffic.clear();
  for (std::size_t e = 0; e < places.size(); ++e) {
    places[e].window = window.get();
    places[e].send_memory = send.data();
    places[e].receive_memory = receive.data();
    way.exchanges[e]->attach(places[e]);
    way.traffic.push_back(way.exchanges[e]->traffic());
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

void AnyPlan::Implementation::reserve(const ExchangeMemory& memory, int counters) {
  comm.agree([&] {
    send = AlignedMemory(static_cast<std::size_t>(memory.send_bytes));
    receive = AlignedMemory(static_cast<std::size_t>(memory.receive_bytes));
    own = AlignedMemory(static_cast<std::size_t>(memory.own_bytes));
  });
  window.reset();
  if (memory.window_bytes > 0 || request.options.shared_arrays)
    comm.agree(
        [&] { window = std::make_unique<SharedWindow>(node, memory.window_bytes, counters); });
}

void AnyPlan::Implementation::make_programs() {
  const std::int64_t call_bytes =
      bytes_of_arrays() + static_cast<std::int64_t>(send.bytes() + receive.bytes() + own.bytes()) +
      (window ? window->bytes() : 0);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    OneWay& one = way(direction);
    const bool forward = direction == Direction::forward;
    auto [source, sink] = sides(direction);
    one.program = make_program(
        {.path = &resolved.path,
         .transforms = &resolved.transforms,
         .direction = direction,
         .source = std::move(source),
         .sink = std::move(sink),
         .factor = forward ? resolved.forward_factor : resolved.backward_factor,
         .rank = comm.rank(),
         .footprint = {call_bytes, shared_cache},
         .fields = request.options.fields,
         .chunks = request.options.chunks,
         .in_order = takes_slices_in_order(),
         .exchanges = std::move(one.exchanges),
         .exchange_names = std::vector<std::string>(one.hops.size(), request.options.exchange),
         .hosts = one.hosts,
         .behind_sends = one.behind_sends});
  }
}

// True when what the stage reads does not stay in a core's cache.
bool is_large(const Stage& stage) { return stage.source_bytes() > std::int64_t{16} << 20; }

// What a stage takes with that engine, but for waiting for memory. A long axis takes two passes
// with an engine that takes rows of lanes.
double seconds_of(const Stage& stage, const Engine& engine) {
  double seconds = 0;
  for (const BatchSpec& batch : stage.typical_batch()) {
    if (!engine.refusal(batch).empty()) return std::numeric_limits<double>::infinity();
    std::vector<BatchSpec> passes{batch};
    const bool is_lanes = batch.in_distance == 1 && batch.out_distance == 1;
    if (is_lanes && engine.make(batch)->takes_rows()) {
      passes.clear();
      for (const std::int64_t rows : rows_in_passes(batch.n, batch.precision)) {
        passes.push_back(batch);
        passes.back().n = rows;
      }
    }
    for (const BatchSpec& pass : passes)
      seconds += measure_batch(engine, pass, is_large(stage)) *
                 static_cast<double>(stage.tiling().tiles.size()) *
                 static_cast<double>(batch.n / pass.n);
  }
  return seconds;
}

// The engine whose batches take least time, over the stages of the forward program. The batches of
// the backward program differ only in sign.
const Engine& AnyPlan::Implementation::fastest_engine() {
  const auto table = engine_table();
  if (table.size() == 1) return *table.front();
  std::vector<double> seconds(table.size(), 0.0);
  comm.agree([&] {
    for (std::size_t e = 0; e < table.size(); ++e)
      for (const Stage* stage : way(Direction::forward).program.transform_stages())
        seconds[e] += seconds_of(*stage, *table[e]);
  });
  seconds = comm.max(std::move(seconds));
  const auto least = std::min_element(seconds.begin(), seconds.end()) - seconds.begin();
  return *table[static_cast<std::size_t>(least)];
}

void AnyPlan::Implementation::choose_engine() {
  std::string& name = request.options.engine;
  std::vector<Stage*> stages;
  for (OneWay& one : ways)
    for (Stage* stage : one.program.transform_stages()) stages.push_back(stage);
  const Engine* chosen = nullptr;
  comm.agree([&] { chosen = name == "auto" ? nullptr : &engine_named(name); });
  if (chosen == nullptr) chosen = &fastest_engine();
  comm.agree([&] {
    for (Stage* stage : stages)
      for (const BatchSpec& batch : stage->typical_batch())
        if (const std::string refusal = chosen->refusal(batch); !refusal.empty())
          throw Error(ErrorCode::unavailable,
                      "engine \"" + std::string(chosen->name()) + "\": " + refusal);
    for (OneWay& one : ways) one.program.use_engine(*chosen, request.options.threads);
  });
  name = chosen->name();
  finish_programs();
}

// All ranks do the same passes.
void AnyPlan::Implementation::finish_programs() {
  for (OneWay& one : ways) {
    std::vector<std::int64_t> undivided = one.program.undivided_passes();
    for (std::int64_t& pass : undivided) pass = comm.max(pass);
    comm.agree([&] {
      one.program.finish(undivided, request.options.threads);
      for (const Link& link : one.program.links)
        one.times.push_back({std::vector<double>(link.passes.size()), 0});
    });
  }
  const std::int64_t bytes = std::max(ways[0].program.work_bytes, ways[1].program.work_bytes);
  comm.agree([&] { work = AlignedMemory(static_cast<std::size_t>(bytes)); });
}

void AnyPlan::Implementation::make_executor() {
  ThreadMemory most;
  for (const OneWay& one : ways) {
    const ThreadMemory memory = one.program.thread_memory();
    most.tile_bytes = std::max(most.tile_bytes, memory.tile_bytes);
    most.slice_bytes = std::max(most.slice_bytes, memory.slice_bytes);
    most.rows_ahead = std::max(most.rows_ahead, memory.rows_ahead);
  }
  const int windows = window ? window->ranks() : 0;
  executor = std::make_unique<Executor>(request.options.threads, slots_with_peers(windows), most);
  executor->bind(kSlotWork, work.data());
  executor->bind(kSlotOwn, own.data());
  executor->bind(kSlotReceive, receive.data());
  for (int rank = 0; rank < windows; ++rank)
    executor->bind(slot_of_window(rank), window->base(rank));
}

void AnyPlan::Implementation::make_gate() {
  if (!request.options.shared_arrays) return;
  arrays = std::make_unique<SharedArrays>(node);
  gate = std::make_unique<ArrayGate>(*arrays, *window, node.rank(), node_rank_of, *executor);
}

void AnyPlan::Implementation::make_progress_thread() {
  flight->plan = this;
  if (request.options.progress == Progress::thread)
    progress_thread = std::make_unique<ProgressThread>(comm);
}

}  // namespace weft
