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

void fill_in_grid(LayoutRequest& side, const Layout& layout) {
  if (side.box || !layout.grid()) return;
  side.grid.clear();
  for (int axis = 0; axis < layout.shape().size(); ++axis)
    side.grid.push_back(layout.grid()->parts(axis));
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

std::pair<UserSide, UserSide> AnyPlan::Implementation::sides(Direction direction) const {
  UserSide input{resolved.input_layout, request.input, resolved.input_field_stride, kSlotInput};
  UserSide output{resolved.output_layout, request.output, resolved.output_field_stride, kSlotInput};
  if (direction == Direction::backward) std::swap(input, output);
  if (!request.options.in_place) output.slot = kSlotOutput;
  return {std::move(input), std::move(output)};
}

void AnyPlan::Implementation::make_programs() {
  const std::int64_t bytes =
      bytes_of_arrays() + static_cast<std::int64_t>(send.bytes() + receive.bytes() + own.bytes());
  for (OneWay& one : ways) {
    const bool forward = one.direction == Direction::forward;
    const std::int64_t window_bytes = one.arrays == Arrays::shared ? one.window_bytes
                                      : window                     ? window->bytes()
                                                                   : 0;
    auto [source, sink] = sides(one.direction);
    one.program = make_program(
        {.path = &resolved.path,
         .transforms = &resolved.transforms,
         .direction = one.direction,
         .source = std::move(source),
         .sink = std::move(sink),
         .factor = forward ? resolved.forward_factor : resolved.backward_factor,
         .rank = comm.rank(),
         .footprint = {bytes + window_bytes, shared_cache},
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
  const std::int64_t bytes = works_in_window() ? 0 : work_bytes();
  comm.agree([&] { work = AlignedMemory(static_cast<std::size_t>(bytes)); });
}

std::int64_t AnyPlan::Implementation::work_bytes() const {
  std::int64_t bytes = 0;
  for (const OneWay& one : ways) bytes = std::max(bytes, one.program.work_bytes);
  return bytes;
}

// True where it lies in the window. Collective.
bool AnyPlan::Implementation::works_in_window() const {
  if (!window) return false;
  bool works = work_bytes() <= board_offset;
  for (const OneWay& one : ways)
    works &= comm.max(one.program.work_bytes) == 0 || may_work_in_window(one);
  return comm.min(std::int64_t{works}) != 0;
}

void AnyPlan::Implementation::make_executor() {
  ThreadMemory most;
  for (const OneWay& one : ways) {
    const ThreadMemory memory = one.program.thread_memory();
    most.bytes = std::max(most.bytes, memory.bytes);
    most.rows_ahead = std::max(most.rows_ahead, memory.rows_ahead);
  }
  const int windows = window ? window->ranks() : 0;
  executor = std::make_unique<Executor>(request.options.threads, slots_with_peers(windows), most);
  const bool in_window = window && work.bytes() == 0;  // if anywhere
  executor->bind(kSlotWork, in_window ? window->base(node.rank()) : work.data());
  executor->bind(kSlotOwn, own.data());
  executor->bind(kSlotReceive, receive.data());
  for (int rank = 0; rank < windows; ++rank)
    executor->bind(slot_of_window(rank), window->base(rank));
}

void AnyPlan::Implementation::make_gate() {
  for (OneWay& one : ways) {
    const auto direction = static_cast<std::size_t>(one.direction);
    last_ways[direction] = &one;
    if (one.shares_arrays()) shared_ways[direction] = &one;
  }
  if (std::ranges::none_of(ways, &OneWay::shares_arrays)) return;
  gate = std::make_unique<ArrayGate>(
      *window, board_offset, node.rank(), node_rank_of, *executor,
      request.options.shared_arrays ? Unreachable::is_an_error : Unreachable::takes_another_way);
}

void AnyPlan::Implementation::make_progress_thread() {
  flight->plan = this;
  if (request.options.progress == Progress::thread)
    progress_thread = std::make_unique<ProgressThread>(comm);
}

}  // namespace weft
