// AnyPlan: executes a plan and tells about it.
#include "weft/plan.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>

#include "plan/low_memory.hpp"

namespace weft {

// With an in-place plan both arrays are the same; in others they may not overlap.
void AnyPlan::Implementation::check_arrays(Direction direction, const void* source,
                                           const void* sink) const {
  const bool forward = direction == Direction::forward;
  const std::int64_t source_bytes = this->source_bytes(direction);
  const std::int64_t sink_bytes = this->sink_bytes(direction);
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::invalid_argument, std::string(forward ? "forward" : "backward") +
                                                 " on rank " + std::to_string(comm.rank()) + ": " +
                                                 why);
  };
  if ((source == nullptr && source_bytes > 0) || (sink == nullptr && sink_bytes > 0))
    refuse("an array is null");
  if (source_bytes == 0 || sink_bytes == 0) return;
  if (request.options.in_place) {
    if (source != sink) refuse("a plan with options.in_place takes the same array for both sides");
    return;
  }
  const auto* from = static_cast<const std::byte*>(source);
  const auto* to = static_cast<const std::byte*>(sink);
  if (std::less<>{}(from, to + sink_bytes) && std::less<>{}(to, from + source_bytes))
    refuse("the arrays overlap; plan with options.in_place for that");
}

bool AnyPlan::Implementation::OneWay::shares_arrays() const {
  return std::any_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.has_value(); });
}

std::int64_t AnyPlan::Implementation::source_bytes(Direction direction) const {
  return sink_bytes(direction == Direction::forward ? Direction::backward : Direction::forward);
}

std::int64_t AnyPlan::Implementation::sink_bytes(Direction direction) const {
  return request.options.fields * (direction == Direction::forward
                                       ? resolved.output_field_stride * request.output.bytes()
                                       : resolved.input_field_stride * request.input.bytes());
}

std::int64_t AnyPlan::Implementation::bytes_of_arrays() const {
  const std::int64_t input = source_bytes(Direction::forward);
  const std::int64_t output = sink_bytes(Direction::forward);
  return request.options.in_place ? std::max(input, output) : input + output;
}

void AnyPlan::Implementation::check_idle() const {
  if (flight->under_way)
    throw Error(ErrorCode::invalid_argument, "a call of this plan is under way on rank " +
                                                 std::to_string(comm.rank()) +
                                                 ": wait for it, or use another plan");
  if (failed)
    throw Error(ErrorCode::invalid_argument, "an earlier call of this plan failed on rank " +
                                                 std::to_string(comm.rank()) +
                                                 ", so it can do no other; make a new plan");
}

void AnyPlan::Implementation::start(Direction direction, const void* source, void* sink) {
  check_idle();
  check_arrays(direction, source, sink);
  OneWay& one = way(direction);
  OneWay* const shared = way_with_shared_arrays(direction);
  // The stages keep a const source unchanged; in-place plans write to it as the sink.
  auto* const read = static_cast<std::byte*>(const_cast<void*>(source));
  auto* const written = static_cast<std::byte*>(sink);
  executor->bind(kSlotInput, read);
  executor->bind(kSlotOutput, written);
  executor->bind(kSlotSend, one.sends_from_sink ? written : send.data());
  ++flight->call;
  flight->under_way = true;
  recorded_direction = direction;
  const std::unique_lock turn = turn_to_call_mpi();
  if (progress_thread && !one.traffic.empty()) progress_thread->resume();
  const Options& options = request.options;
  if (shared)
    gate->arrive({{shared_array_at(source, {source_bytes(direction), shared->room.source}),
                   shared_array_at(sink, {sink_bytes(direction), shared->room.sink})}},
                 read, written);
  executor->begin((shared ? *shared : one).course(),
                  {.fields = options.fields,
                   .chunks = options.chunks,
                   .polls = options.progress != Progress::none,
                   .turn = progress_thread ? &progress_thread->turn() : nullptr,
                   .timeout = options.timeout,
                   .call = flight->call,
                   .recorder = recorder.get(),
                   .gate = shared ? gate.get() : nullptr,
                   .otherwise = one.course()});
}

// After an error the call is over, and so is the plan: peers may be in the midst of the call, and
// what they still send would be taken for a part of the next one. But not when all ranks were
// refused at the gate.
bool AnyPlan::Implementation::advance(bool wait) {
  try {
    const std::unique_lock turn = turn_to_call_mpi();
    if (!executor->advance(wait)) return false;
  } catch (...) {
    failed = !gate || !gate->refused();
    finish_call();
    throw;
  }
  finish_call();
  return true;
}

std::unique_lock<std::mutex> AnyPlan::Implementation::turn_to_call_mpi() {
  if (!progress_thread) return {};
  return std::unique_lock(progress_thread->turn());
}

void AnyPlan::Implementation::finish_call() {
  flight->under_way = false;
  if (progress_thread) progress_thread->pause();
  for (const OneWay& one : ways)
    if (&one.program == executor->program())
      last_ways[static_cast<std::size_t>(one.direction)] = &one;
  if (window && !failed) window->publish(kFinishedCounter, flight->call);
}

std::shared_ptr<void> AnyPlan::Implementation::allocate_source(Direction direction) const {
  ArrayNeeds needs{.bytes = source_bytes(direction)};
  bool shared = false;
  for (const OneWay& one : ways) {
    const bool reads = one.direction == direction;
    needs.room_bytes = std::max(needs.room_bytes, reads ? one.room.source : one.room.sink);
    shared |= one.shares_arrays();
  }
  if (!shared) return allocate_zeroed(static_cast<std::size_t>(needs.bytes));
  try {
    return make_shared_array(needs, displacement_bytes(node.rank(), node.size()));
  } catch (const Error&) {
    if (request.options.shared_arrays) throw;
    return allocate_zeroed(static_cast<std::size_t>(needs.bytes));
  }
}

// What goes wrong in a call that ends here has nobody to tell. Messages that were given up may
// still arrive, and peers may still read the window; freeing an MPI window waits for all ranks,
// which never come if they have given up.
bool AnyPlan::Implementation::retire() noexcept {
  try {
    if (flight->under_way) advance(true);
  } catch (...) {
  }
  flight->plan = nullptr;
  flight->under_way = false;
  if (comm.size() == 1) return true;
  if (failed && progress_thread) progress_thread->stop();
  const bool may_hang =
      request.options.timeout > 0 && window && std::string_view(window->kind()) != "memfd";
  return !failed && !may_hang;
}

std::vector<Step> AnyPlan::Implementation::steps(Direction direction, bool timed) const {
  const OneWay* const shared = way_with_shared_arrays(direction);
  const OneWay& one = timed ? last_way(direction) : shared ? *shared : way(direction);
  std::vector<Step> result;
  for (std::size_t l = 0; l < one.program.links.size(); ++l) {
    const Link& link = one.program.links[l];
    for (std::size_t p = 0; p < link.passes.size(); ++p) {
      const Pass& pass = link.passes[p];
      const Engine* engine = pass.stages.front().engine();
      Step step;
      step.name = pass.name();
      step.engine = engine ? engine->name() : "";
      step.bytes = pass.traffic_bytes() * request.options.fields;
      step.seconds = timed ? one.times[l].passes[p] : 0;
      step.layout = pass.layout;
      result.push_back(std::move(step));
    }
    if (!link.exchange) continue;
    const ExchangeTraffic& traffic = one.traffic[l];
    Step step;
    step.type = Step::Type::exchange;
    step.name = link.exchange_name;
    step.bytes = traffic.bytes;
    step.messages = traffic.messages;
    step.bytes_off_node = traffic.bytes_off_node;
    step.messages_off_node = traffic.messages_off_node;
    step.seconds = timed ? one.times[l].exchange : 0;
    step.layout = link.exchanged;
    result.push_back(std::move(step));
  }
  return result;
}

PlanMemory AnyPlan::Implementation::memory() const noexcept {
  PlanMemory memory;
  memory.buffers =
      static_cast<std::int64_t>(send.bytes() + receive.bytes() + own.bytes() + work.bytes());
  memory.window = window ? window->bytes() : 0;
  memory.tiles = executor->bytes();
  memory.timeline = recorder ? recorder->bytes() : 0;
  return memory;
}

AnyPlan::AnyPlan(MPI_Comm comm, const Shape& shape, Element input, Element output,
                 const Options& options) {
  Request request{shape, input, output, options};
  if (options.low_memory)
    implementation_ = std::make_unique<LowMemoryPlan>(comm, std::move(request));
  else
    implementation_ = std::make_unique<Implementation>(comm, std::move(request));
}
AnyPlan::AnyPlan(AnyPlan&&) noexcept = default;
AnyPlan& AnyPlan::operator=(AnyPlan&& other) noexcept {
  if (this != &other) {
    const AnyPlan old(std::move(*this));
    implementation_ = std::move(other.implementation_);
  }
  return *this;
}

AnyPlan::~AnyPlan() {
  static std::mutex mutex;
  static Implementation* kept = nullptr;  // for ever; a list, so that leak checkers can see them
  if (!implementation_ || implementation_->retire()) return;
  const std::lock_guard lock(mutex);
  implementation_->next_kept.reset(kept);
  kept = implementation_.release();
}

Run::Run(std::shared_ptr<Flight> flight) : flight_(std::move(flight)), call_(flight_->call) {}
Run::~Run() {
  try {
    wait();
  } catch (...) {
  }
}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&& other) noexcept {
  std::swap(flight_, other.flight_);
  std::swap(call_, other.call_);
  return *this;
}

bool Run::done() const noexcept {
  return !flight_ || !flight_->under_way || flight_->call != call_;
}
bool Run::progress() { return done() || flight_->plan->advance(false); }
void Run::wait() {
  if (!done()) flight_->plan->advance(true);
}

Run AnyPlan::start(Direction direction, const void* source, void* sink) {
  implementation_->start(direction, source, sink);
  implementation_->advance(false);
  return Run(implementation_->flight);
}
void AnyPlan::execute(Direction direction, const void* source, void* sink) {
  implementation_->start(direction, source, sink);
  implementation_->advance(true);
}

MPI_Comm AnyPlan::comm() const noexcept { return implementation_->user_comm; }
int AnyPlan::rank() const noexcept { return implementation_->comm.rank(); }
Element AnyPlan::input_element() const noexcept { return implementation_->request.input; }
Element AnyPlan::output_element() const noexcept { return implementation_->request.output; }
const Layout& AnyPlan::input_layout() const noexcept {
  return implementation_->resolved.input_layout;
}
const Layout& AnyPlan::output_layout() const noexcept {
  return implementation_->resolved.output_layout;
}
std::int64_t AnyPlan::input_field_stride() const noexcept {
  return implementation_->resolved.input_field_stride;
}
std::int64_t AnyPlan::output_field_stride() const noexcept {
  return implementation_->resolved.output_field_stride;
}
const Options& AnyPlan::options() const noexcept { return implementation_->request.options; }

std::shared_ptr<void> AnyPlan::allocate_input() const {
  return implementation_->allocate_source(Direction::forward);
}
std::shared_ptr<void> AnyPlan::allocate_output() const {
  return implementation_->allocate_source(Direction::backward);
}

PlanMemory AnyPlan::memory() const noexcept { return implementation_->memory(); }

std::vector<Step> AnyPlan::program(Direction direction) const {
  return implementation_->steps(direction, false);
}
std::vector<Step> AnyPlan::profile(Direction direction) const {
  return implementation_->steps(direction, true);
}
void AnyPlan::record(bool on) { implementation_->record(on); }
Timeline AnyPlan::timeline() const { return implementation_->timeline(); }

}  // namespace weft
