// Builds a plan: checks and resolves the request, makes the exchanges and their memory, the programs of both directions, and
// chooses the engine by measuring. Every decision is taken by all ranks alike, or by the maximum over the ranks.
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "base/aligned_memory.hpp"
#include "plan/implementation.hpp"

namespace weft {

namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void fill_in_grid(LayoutRequest& side, const Layout& layout) {
  if (side.box || !layout.grid()) return;
  side.grid.clear();
  for (int axis = 0; axis < layout.shape().size(); ++axis) side.grid.push_back(layout.grid()->parts(axis));
}

// Frees the arena that a slot stands for only after a larger one exists.
AlignedMemory arena(std::int64_t bytes) { return AlignedMemory(static_cast<std::size_t>(bytes)); }

}  // namespace

AnyPlan::Implementation::Implementation(MPI_Comm user, Request asked)
    : user_comm(user), comm(Communicator::duplicate(user)), node(comm.split_node()), request(std::move(asked)) {
  comm.require_same(describe(request), "the arguments of the plan");
  comm.agree([&] { validate(request, comm.size()); });
  resolved = resolve(request, comm);
  find_node();
  choose_threads();
  choose_exchanges();
  comm.agree([&] { make_programs(); });
  choose_engine();
  comm.agree([&] { make_executor(); });
  fill_in_grid(request.options.input, resolved.input_layout);
  fill_in_grid(request.options.output, resolved.output_layout);
}

AnyPlan::Implementation::~Implementation() = default;

void AnyPlan::Implementation::find_node() {
  const std::int64_t leader = node.min(static_cast<std::int64_t>(comm.rank()));
  const std::vector<std::int64_t> all = comm.gather({leader, node.rank()});
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank)
    node_rank_of.push_back(all[2 * rank] == leader ? static_cast<int>(all[2 * rank + 1]) : -1);
}

void AnyPlan::Implementation::choose_threads() {
  int& threads = request.options.threads;
  if (threads == 0) threads = std::getenv("OMP_NUM_THREADS") != nullptr ? std::max(1, omp_get_max_threads()) : 1;
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
  problem.chunks = kChunks;
  problem.tag = number * problem.fields * problem.chunks;
  return problem;
}

// Makes the exchanges that the user names, or those that suit the ranks' places; when the shared window that these would
// need does not fit, messages take over.
void AnyPlan::Implementation::choose_exchanges() {
  std::string& name = request.options.exchange;
  const bool automatic = name == "auto";
  const ExchangeMethod* named = nullptr;
  comm.agree([&] { named = automatic ? nullptr : &exchange_named(name); });
  for (Direction direction : {Direction::forward, Direction::backward})
    way(direction).hops = hops_of(resolved.path, resolved.transforms, request.input, direction);
  const auto& hops = way(Direction::forward).hops;
  if (hops.empty()) {
    if (automatic) name = "none";
    return;
  }
  const ExchangeMethod& method = named ? *named : default_exchange(problem_of(hops.front(), 0));
  try {
    make_exchanges(method);
    name = method.name();
  } catch (const Error& error) {
    if (!automatic || error.code() != ErrorCode::out_of_memory) throw;
    make_exchanges(exchange_named("pairwise"));
    name = "pairwise";
  }
}

void AnyPlan::Implementation::make_exchanges(const ExchangeMethod& method) {
  ExchangeMemory most;
  std::vector<std::vector<ExchangeBuffers>> places(2);
  int number = 0;
  int counters = kFinishedCounter + 1;
  for (std::size_t w = 0; w < 2; ++w) {
    OneWay& one = ways[w];
    one.exchanges.clear();
    std::int64_t window_end = 0;
    std::int64_t send_end[2] = {0, 0};
    for (const Hop& hop : one.hops) {
      const ExchangeProblem problem = problem_of(hop, number++);
      comm.agree([&] {
        const std::string refusal = method.refusal(problem);
        if (!refusal.empty())
          throw Error(ErrorCode::unavailable, "exchange \"" + std::string(method.name()) + "\": " + refusal);
      });
      one.exchanges.push_back(method.make(problem));
      const ExchangeMemory wanted = one.exchanges.back()->memory();
      places[w].push_back({.window_offset = window_end, .first_counter = counters});
      counters += wanted.window_counters;
      // A stage reads what one exchange brought while it stores for the next: those two never share memory. A window is also
      // read by ranks that are one exchange behind, so there no two exchanges of a call share any.
      window_end += aligned(comm.max(wanted.window_bytes));
      send_end[places[w].size() % 2] = std::max(send_end[places[w].size() % 2], aligned(wanted.send_bytes));
      most.receive_bytes = std::max(most.receive_bytes, wanted.receive_bytes);
    }
    for (std::size_t e = 0; e < places[w].size(); ++e)
      if (e % 2 == 1) places[w][e].send_offset = send_end[1];
    most.send_bytes = std::max(most.send_bytes, send_end[0] + send_end[1]);
    most.window_bytes = std::max(most.window_bytes, window_end);
  }
  comm.agree([&] {
    send = arena(most.send_bytes);
    receive = arena(most.receive_bytes);
  });
  window.reset();
  if (most.window_bytes > 0)
    comm.agree([&] { window = std::make_unique<SharedWindow>(node, most.window_bytes, counters); });
  for (std::size_t w = 0; w < 2; ++w) {
    ways[w].traffic.clear();
    for (std::size_t e = 0; e < places[w].size(); ++e) {
      places[w][e].window = window.get();
      ways[w].exchanges[e]->attach(places[w][e]);
      ways[w].traffic.push_back(ways[w].exchanges[e]->traffic());
    }
  }
}

void AnyPlan::Implementation::make_programs() {
  std::int64_t work_bytes = 0;
  for (Direction direction : {Direction::forward, Direction::backward}) {
    OneWay& one = way(direction);
    const bool forward = direction == Direction::forward;
    UserSide input{resolved.input_layout, request.input, resolved.input_field_stride, kSlotInput};
    UserSide output{resolved.output_layout, request.output, resolved.output_field_stride, kSlotInput};
    if (!request.options.in_place) (forward ? output : input).slot = kSlotOutput;
    one.program = make_program({.path = &resolved.path,
                                .transforms = &resolved.transforms,
                                .direction = direction,
                                .source = forward ? input : output,
                                .sink = forward ? output : input,
                                .factor = forward ? resolved.forward_factor : resolved.backward_factor,
                                .rank = comm.rank(),
                                .fields = request.options.fields,
                                .chunks = kChunks,
                                .exchanges = std::move(one.exchanges),
                                .exchange_names = std::vector<std::string>(one.hops.size(), request.options.exchange)});
    for (const Link& link : one.program.links) one.times.push_back({std::vector<double>(link.passes.size()), 0});
    work_bytes = std::max(work_bytes, one.program.work_bytes);
  }
  work = arena(work_bytes);
}

// The engine whose batches take least time in cache, over all stages of both directions, weighted by the number of tiles.
void AnyPlan::Implementation::choose_engine() {
  std::string& name = request.options.engine;
  std::vector<Stage*> stages;
  for (OneWay& one : ways)
    for (Stage* stage : one.program.transform_stages()) stages.push_back(stage);
  const Engine* chosen = nullptr;
  comm.agree([&] { chosen = name == "auto" ? nullptr : &engine_named(name); });
  if (chosen == nullptr) {
    const auto table = engine_table();
    std::vector<double> seconds;
    comm.agree([&] {
      for (const Engine* engine : table) {
        double total = 0;
        for (const Stage* stage : stages)
          for (const BatchSpec& batch : stage->typical_batch())
            total += !engine->refusal(batch).empty() ? std::numeric_limits<double>::infinity()
                     : table.size() == 1             ? 0
                                                     : measure_batch(*engine, batch) *
                                               static_cast<double>(stage->tiling().tiles.size());
        seconds.push_back(total);
      }
    });
    seconds = comm.max(std::move(seconds));
    chosen = table[static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin())];
  }
  comm.agree([&] {
    for (Stage* stage : stages)
      for (const BatchSpec& batch : stage->typical_batch())
        if (const std::string refusal = chosen->refusal(batch); !refusal.empty())
          throw Error(ErrorCode::unavailable, "engine \"" + std::string(chosen->name()) + "\": " + refusal);
    for (Stage* stage : stages) stage->use_engine(*chosen);
  });
  name = chosen->name();
}

void AnyPlan::Implementation::make_executor() {
  std::int64_t tile_bytes = 0;
  std::int64_t slice_bytes = 0;
  for (const OneWay& one : ways) {
    tile_bytes = std::max(tile_bytes, one.program.workspace_bytes());
    slice_bytes = std::max(slice_bytes, one.program.slice_bytes());
  }
  const int windows = window ? window->ranks() : 0;
  executor = std::make_unique<Executor>(request.options.threads, kSlotWindow + windows, tile_bytes, slice_bytes);
  executor->bind(kSlotWork, work.data());
  executor->bind(kSlotSend, send.data());
  executor->bind(kSlotReceive, receive.data());
  for (int rank = 0; rank < windows; ++rank) executor->bind(kSlotWindow + rank, window->base(rank));
}

}  // namespace weft
