// Plan: a distributed transform, made once and executed often. AnyPlan does the work for any
// element type; Plan<In, Out> is its typed surface.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/array.hpp"
#include "weft/kinds.hpp"
#include "weft/options.hpp"
#include "weft/timeline.hpp"

namespace weft {

/// One line of a plan's program or profile: a pass over local memory, or an exchange.
struct Step {
  enum class Type : int { compute = 0, exchange = 1 };
  Type type = Type::compute;
  std::string name;  ///< e.g. "fft axis 2,1" or "shared"; "shared, 8 parts" stands for all of them
  std::string engine;  ///< of a compute step
  std::int64_t bytes =
      0;  ///< compute: read + written here; exchange: leaves this rank for others (all fields)
  std::int64_t messages = 0;        ///< exchange: messages sent by this rank to others in one call
  std::int64_t bytes_off_node = 0;  ///< exchange: the part of `bytes` that goes to other nodes
  std::int64_t messages_off_node = 0;  ///< exchange: likewise of `messages`
  double seconds = 0;                  ///< in profile(): time spent in the last call on this rank
  Layout layout;                       ///< of the result, before any reordering in memory
};

/// Bytes of memory that a plan owns on this rank; user arrays are not counted.
struct PlanMemory {
  std::int64_t buffers = 0;   ///< send, receive and work buffers
  std::int64_t window = 0;    ///< this rank's part of the shared-memory window
  std::int64_t tiles = 0;     ///< cache tiles of all threads
  std::int64_t timeline = 0;  ///< events, while AnyPlan::record() is on
  std::int64_t total() const noexcept { return buffers + window + tiles + timeline; }
};

class Run;

/// A distributed transform between any of the element types; see Plan for the typed surface.
class WEFT_API AnyPlan {
 public:
  /// See Plan::Plan. A real `input` with complex `output` needs exactly one r2c axis.
  AnyPlan(MPI_Comm comm, const Shape& shape, Element input, Element output, const Options& options);
  ~AnyPlan();
  AnyPlan(AnyPlan&&) noexcept;
  AnyPlan& operator=(AnyPlan&&) noexcept;

  /// See Plan::forward and Plan::backward.
  void forward(const void* input, void* output) { execute(Direction::forward, input, output); }
  void backward(const void* input, void* output) { execute(Direction::backward, input, output); }
  /// See Plan::start_forward and Plan::start_backward.
  Run start_forward(const void* input, void* output);
  Run start_backward(const void* input, void* output);

  MPI_Comm comm() const noexcept;  ///< the communicator that the plan was made on
  int rank() const noexcept;       ///< of this process in comm()
  Element input_element() const noexcept;
  Element output_element() const noexcept;
  const Layout& input_layout() const noexcept;   ///< of the forward input
  const Layout& output_layout() const noexcept;  ///< of the forward output
  /// See Plan::make_input and Plan::make_output: their memory, zeroed, for all fields.
  std::shared_ptr<void> allocate_input() const;
  std::shared_ptr<void> allocate_output() const;
  /// Elements from one field to the next in the user's arrays, which must be this long for each
  /// field.
  std::int64_t input_field_stride() const noexcept;
  std::int64_t output_field_stride() const noexcept;
  const Options& options() const noexcept;  ///< as resolved: no "auto" is left
  PlanMemory memory() const noexcept;

  /// The program in order, without times; where arrays of allocate_input() and allocate_output()
  /// take another than arrays from elsewhere, that of theirs.
  std::vector<Step> program(Direction direction) const;
  /// The program of the last call in this direction on this rank, with its times.
  std::vector<Step> profile(Direction direction) const;

  /// Switches on, or off, that calls are recorded for timeline(). Off at first. Memory is reserved
  /// here, so that calls that are recorded allocate nothing either; they take a little longer. Not
  /// collective. Throws Error(out_of_memory), and Error(invalid_argument) while a call is under
  /// way.
  void record(bool on);
  /// The last call on this rank, empty when it was not recorded; seconds is 0 when it failed.
  /// Throws Error(invalid_argument) while a call is under way.
  Timeline timeline() const;

  struct Implementation;  ///< in src/plan

 private:
  void execute(Direction direction, const void* source, void* sink);
  Run start(Direction direction, const void* source, void* sink);
  std::unique_ptr<Implementation> implementation_;
};

/// A call of a plan that has been started and goes on while its user does something else. Until it
/// is done neither array may be touched.
class WEFT_API Run {
 public:
  /// Waits for the call.
  ~Run();
  Run(Run&& other) noexcept;
  Run& operator=(Run&& other) noexcept;

  /// Lets messages move on and transforms what has arrived; never waits for other ranks. True when
  /// the call is done. Throws what forward() does.
  bool progress();
  /// Returns when the call is done; nothing happens when it is, or when its plan is gone.
  /// Collective over the plan's communicator. Throws what forward() does.
  void wait();
  bool done() const noexcept;

 private:
  friend class AnyPlan;
  struct Flight;
  explicit Run(std::shared_ptr<Flight> flight);
  std::shared_ptr<Flight> flight_;
  long long call_ = 0;  ///< of the plan
};

inline Run AnyPlan::start_forward(const void* input, void* output) {
  return start(Direction::forward, input, output);
}
inline Run AnyPlan::start_backward(const void* input, void* output) {
  return start(Direction::backward, input, output);
}

/// A distributed transform from arrays of In to arrays of Out and back.
///
/// Plan<std::complex<double>> is a complex transform, Plan<double> a real-to-complex one, and
/// Plan<double, double> with all kinds `none` a pure redistribution; float likewise.
template <class In, class Out = typename ComplexOf<In>::type>
class Plan : public AnyPlan {
 public:
  /// Plans the transform of an array of `shape` (the forward input's) spread over the ranks of
  /// `comm`.
  ///
  /// Collective over `comm`, which is duplicated. All ranks must pass the same arguments (except
  /// options.*.box) and either all succeed or all throw the same Error: invalid_argument,
  /// invalid_layout, rank_mismatch, unavailable, out_of_memory.
  Plan(MPI_Comm comm, const Shape& shape, const Options& options = {})
      : AnyPlan(comm, shape, ElementOf<In>::value, ElementOf<Out>::value, options) {}

  /// Memory for this rank's part of the forward input (of the backward output); where calls gain by
  /// that, peers on the node reach it in calls, which they map it for in the first one. Throws
  /// Error(out_of_memory), and with options().shared_arrays Error(unavailable).
  Array<In> make_input() const {
    return {input_layout(), rank(), options().fields, input_field_stride(), allocate_input()};
  }
  /// Memory for this rank's part of the forward output (of the backward input), likewise.
  Array<Out> make_output() const {
    return {output_layout(), rank(), options().fields, output_field_stride(), allocate_output()};
  }
  /// The forward output seen in the memory of an input, for plans with options.in_place.
  Array<Out> output_in(Array<In>& input) const {
    return {output_layout(), rank(), options().fields, output_field_stride(),
            std::shared_ptr<void>(input.memory(), input.data())};
  }

  /// Transforms all fields from `input` (input_layout()) to `output` (output_layout()), scaled as
  /// options.normalization says.
  ///
  /// `input` is left unchanged; with options.in_place both are the same memory. Each field takes
  /// input_field_stride() elements of In and output_field_stride() of Out. Collective over the
  /// plan's communicator. Allocates nothing, but for notes of arrays of other ranks that it meets
  /// for the first time. Throws Error(invalid_argument) for overlapping arrays in an out-of-place
  /// plan and the reverse, mpi_failure.
  void forward(const In* input, Out* output) { AnyPlan::forward(input, output); }
  void forward(const Array<In>& input, Array<Out>& output) {
    AnyPlan::forward(input.data(), output.data());
  }

  /// Begins what forward() does, and returns as soon as it would have to wait for other ranks:
  ///
  ///     auto run = plan.start_forward(input, output);
  ///     while (something_else_to_do()) run.progress();
  ///     run.wait();
  ///
  /// Calls of several plans may be under way at once, one of each. All ranks start and wait for
  /// them in the same order. Throws what forward() does, and Error(invalid_argument) while a call
  /// of this plan is under way.
  Run start_forward(const Array<In>& input, Array<Out>& output) {
    return AnyPlan::start_forward(input.data(), output.data());
  }
  Run start_forward(const In* input, Out* output) { return AnyPlan::start_forward(input, output); }
  /// The same for backward().
  Run start_backward(const Array<Out>& input, Array<In>& output) {
    return AnyPlan::start_backward(input.data(), output.data());
  }
  Run start_backward(const Out* input, In* output) {
    return AnyPlan::start_backward(input, output);
  }

  /// The inverse of forward, from output_layout() to input_layout(); everything else as for
  /// forward.
  void backward(const Out* input, In* output) { AnyPlan::backward(input, output); }
  void backward(const Array<Out>& input, Array<In>& output) {
    AnyPlan::backward(input.data(), output.data());
  }
};

/// Names of the exchanges and engines that this build has, best known first.
WEFT_API std::vector<std::string> exchanges();
WEFT_API std::vector<std::string> engines();

/// The vector instructions that the engine "weft" uses: the widest that this build and this
/// processor have, of "x86-64-v4", "x86-64-v3" (levels of the psABI of x86-64: AVX-512, AVX2) and
/// "baseline", or what the environment variable WEFT_INSTRUCTIONS names. Throws Error
/// (invalid_argument, unavailable) where they do not have that; so does every plan.
WEFT_API std::string instructions();

}  // namespace weft
