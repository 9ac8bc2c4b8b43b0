// One problem of `weft check`. See trial.hpp.
#include "trial.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "oracle.hpp"
#include "pseudo_random.hpp"
#include "weft/plan.hpp"

namespace weft::command {
namespace {

/// What memory holds that nobody has written: as a float or double it is a NaN, so that reading it
/// shows too.
constexpr int kUntouched = 0xff;
constexpr std::size_t kGuardBytes = 64;

/// Memory of a user: `fields` arrays one after another, filled with kUntouched, with a guard at the
/// end.
class UserMemory {
 public:
  UserMemory(std::int64_t bytes, std::int64_t misalignment_bytes)
      : offset_(static_cast<std::size_t>(misalignment_bytes)),
        bytes_(static_cast<std::size_t>(bytes) + kGuardBytes),
        memory_(allocate_zeroed(bytes_ + offset_)) {
    clear();
  }

  /// That of a plan, which has no guard.
  UserMemory(std::int64_t bytes, std::shared_ptr<void> memory)
      : offset_(0), bytes_(static_cast<std::size_t>(bytes)), memory_(std::move(memory)) {
    clear();
  }

  void clear() { std::memset(data(), kUntouched, bytes_); }
  void* data() const { return static_cast<char*>(memory_.get()) + offset_; }
  std::vector<char> copy() const {
    return {static_cast<char*>(data()), static_cast<char*>(data()) + bytes_};
  }
  bool equals(const std::vector<char>& other) const {
    return std::memcmp(data(), other.data(), bytes_) == 0;
  }
  template <class T>
  Array<T> array(const Layout& layout, int rank, int fields, std::int64_t field_stride) const {
    return {layout, rank, fields, field_stride, std::shared_ptr<void>(memory_, data())};
  }

 private:
  std::size_t offset_;
  std::size_t bytes_;
  std::shared_ptr<void> memory_;
};

/// One global array per field, in long double, as every rank can make it by itself.
using GlobalFields = std::vector<std::vector<LongComplex>>;

template <class T>
LongComplex widen(const T& value) {
  return LongComplex(value);
}

template <class T>
T narrow(const LongComplex& value) {
  using Real = typename RealOf<T>::type;
  if constexpr (kIsComplex<T>)
    return {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
  else
    return static_cast<Real>(value.real());
}

std::int64_t largest_prime_factor(std::int64_t n) {
  std::int64_t largest = 1;
  for (std::int64_t factor = 2; n > 1; ++factor)
    for (; n % factor == 0; n /= factor) largest = factor;
  return largest;
}

template <class In, class Out>
class Trial {
 public:
  Trial(MPI_Comm comm, const Problem& problem, int rank)
      : problem_(problem), plan_(comm, problem.shape, problem.options(rank)), rank_(rank) {}

  /// What is wrong on this rank; empty when nothing is. Collective: every rank does all calls
  /// whatever it finds.
  std::string run(std::uint64_t seed) {
    std::string trouble = check_plan();
    for (std::uint64_t round = 0; round < 2; ++round) {
      takes_arrays_of_plan_ = round == 1 && problem_.misalignment == 0;
      for (const std::string& found :
           {try_forward(seed + 10 * round), try_backward(seed + 10 * round + 5)})
        if (trouble.empty()) trouble = found;
    }
    return trouble;
  }

 private:
  std::string check_plan() const {
    const PlanMemory memory = plan_.memory();
    if (memory.buffers < 0 || memory.window < 0 || memory.tiles < 0) return "memory() is negative";
    if (!(plan_.output_layout().shape() == output_shape()))
      return "the output layout has the wrong shape";
    if (plan_.options().exchange == "auto" || plan_.options().engine == "auto")
      return "options() still say auto";
    return {};
  }

  Shape output_shape() const { return transformed_shape(problem_.shape, problem_.kinds); }

  GlobalFields random_fields(std::uint64_t seed) const {
    GlobalFields fields;
    for (int field = 0; field < problem_.fields; ++field) {
      const RandomField random(problem_.shape, seed + 1000 * static_cast<std::uint64_t>(field));
      std::vector<LongComplex>& values = fields.emplace_back();
      for (std::int64_t i = 0; i < problem_.shape.product(); ++i)
        values.push_back(widen(random.at<In>(i)));
    }
    return fields;
  }

  GlobalFields transformed(const GlobalFields& fields) const {
    GlobalFields result;
    for (const auto& field : fields)
      result.push_back(direct_transform(problem_.shape, problem_.kinds, field));
    return result;
  }

  /// The factor of `direction` on an unscaled forward sum, or on what the exact inverse gives.
  long double scale(Direction direction) const {
    const auto points =
        static_cast<long double>(transformed_points(problem_.shape, problem_.kinds));
    const bool forward = direction == Direction::forward;
    switch (problem_.normalization) {
      case Normalization::backward:
        return 1;
      case Normalization::forward:
        return forward ? 1 / points : points;
      case Normalization::ortho:
        return forward ? 1 / std::sqrt(points) : std::sqrt(points);
      case Normalization::none:
        return forward ? 1 : points;
    }
    return 0;
  }

  std::int64_t input_bytes() const {
    return plan_.input_field_stride() * problem_.fields * static_cast<std::int64_t>(sizeof(In));
  }
  std::int64_t output_bytes() const {
    return plan_.output_field_stride() * problem_.fields * static_cast<std::int64_t>(sizeof(Out));
  }
  /// In place, one memory serves both sides; its alignment is the coarser element's.
  UserMemory memory_for(std::int64_t bytes, std::size_t element_bytes) const {
    return {bytes, problem_.misalignment * static_cast<std::int64_t>(element_bytes)};
  }
  /// Likewise, or memory that the plan makes, for the forward input or for the other side.
  UserMemory memory_on(bool forward_input, std::int64_t bytes, std::size_t element_bytes) const {
    if (!takes_arrays_of_plan_) return memory_for(bytes, element_bytes);
    const bool is_input = forward_input || problem_.in_place;
    return {bytes, is_input ? plan_.allocate_input() : plan_.allocate_output()};
  }

  std::string try_forward(std::uint64_t seed) {
    const GlobalFields values = random_fields(seed);
    const auto call = [&](const In* from, Out* to) { plan_.forward(from, to); };
    return try_direction<In, Out>("forward", values, transformed(values), scale(Direction::forward),
                                  call);
  }

  std::string try_backward(std::uint64_t seed) {
    const GlobalFields values = random_fields(seed);
    const auto call = [&](const Out* from, In* to) { plan_.backward(from, to); };
    return try_direction<Out, In>("backward", transformed(values), values,
                                  scale(Direction::backward), call);
  }

  template <class T>
  Array<T> array_on(const UserMemory& memory, bool forward_input) const {
    return forward_input ? memory.array<T>(plan_.input_layout(), rank_, problem_.fields,
                                           plan_.input_field_stride())
                         : memory.array<T>(plan_.output_layout(), rank_, problem_.fields,
                                           plan_.output_field_stride());
  }

  /// Calls with `given` and expects `wanted` times `factor`.
  template <class From, class To, class Call>
  std::string try_direction(const std::string& name, const GlobalFields& given,
                            const GlobalFields& wanted, long double factor, const Call& call) {
    const bool forward = name == "forward";
    const std::int64_t from_bytes = forward ? input_bytes() : output_bytes();
    const std::int64_t to_bytes = forward ? output_bytes() : input_bytes();
    const UserMemory from_memory =
        memory_on(forward, problem_.in_place ? std::max(from_bytes, to_bytes) : from_bytes,
                  problem_.in_place ? sizeof(Out) : sizeof(From));
    const UserMemory to_memory =
        problem_.in_place ? from_memory : memory_on(!forward, to_bytes, sizeof(To));
    Array<From> from = array_on<From>(from_memory, forward);
    Array<To> to = array_on<To>(to_memory, !forward);
    put(given, from);
    const std::vector<char> before = from_memory.copy();
    call(from.data(), to.data());
    if (!problem_.in_place && !from_memory.equals(before)) return name + " changed its input";
    if (!problem_.in_place && !only_box_written(to_memory, to, !forward))
      return name + " wrote outside the output's box";
    if (!guard_intact(to_memory, to_bytes, from_bytes))
      return name + " wrote beyond the end of the array";
    return compare(name, to, wanted, factor);
  }

  template <class T>
  void put(const GlobalFields& values, Array<T>& array) const {
    const RandomField indexer(array.layout().shape(), 0);
    for (int field = 0; field < problem_.fields; ++field)
      array.fill(
          [&](const Index& index) {
            return narrow<T>(values[static_cast<std::size_t>(field)]
                                   [static_cast<std::size_t>(indexer.linear(index))]);
          },
          field);
  }

  /// Fresh memory with nothing but the box copied into it must equal the memory.
  template <class T>
  bool only_box_written(const UserMemory& memory, const Array<T>& array, bool forward_input) const {
    const UserMemory expected =
        memory_for(forward_input ? input_bytes() : output_bytes(), sizeof(T));
    Array<T> copy = array_on<T>(expected, forward_input);
    for (int field = 0; field < problem_.fields; ++field)
      copy.for_each([&](const Index& index, T& element) { element = array(index, field); }, field);
    return memory.equals(expected.copy());
  }

  bool guard_intact(const UserMemory& memory, std::int64_t to_bytes,
                    std::int64_t from_bytes) const {
    const std::vector<char> bytes = memory.copy();
    const std::int64_t used = problem_.in_place ? std::max(to_bytes, from_bytes) : to_bytes;
    for (std::size_t i = static_cast<std::size_t>(used); i < bytes.size(); ++i)
      if (bytes[i] != static_cast<char>(kUntouched)) return false;
    return true;
  }

  /// Of the spectrum's root mean square. Rounding grows with the logarithm of the size; MKL's, for
  /// composite lengths, also with their largest prime factor p (measured: up to 5 p epsilon). A
  /// redistribution must be exact.
  long double tolerance() const {
    if (all_none()) return 0;
    using Real = typename RealOf<In>::type;
    const std::int64_t points = transformed_points(problem_.shape, problem_.kinds);
    long double epsilons = 10 * (1 + std::log2(static_cast<long double>(points)));
    if (plan_.options().engine == "mkl")
      for (const std::int64_t extent : problem_.shape)
        epsilons += 10 * static_cast<long double>(largest_prime_factor(extent));
    return epsilons * std::numeric_limits<Real>::epsilon();
  }
  bool all_none() const {
    return std::all_of(problem_.kinds.begin(), problem_.kinds.end(),
                       [](Kind kind) { return kind == Kind::none; });
  }

  template <class T>
  std::string compare(const std::string& name, const Array<T>& array, const GlobalFields& wanted,
                      long double factor) const {
    const RandomField indexer(array.layout().shape(), 0);
    std::string trouble;
    for (int field = 0; field < problem_.fields; ++field) {
      const auto& values = wanted[static_cast<std::size_t>(field)];
      long double squares = 0;
      for (const LongComplex& value : values) squares += std::norm(value);
      const long double allowed =
          tolerance() * factor * std::sqrt(squares / static_cast<long double>(values.size()));
      array.for_each(
          [&](const Index& index, const T& element) {
            const LongComplex expected =
                factor * values[static_cast<std::size_t>(indexer.linear(index))];
            if (std::abs(widen(element) - expected) <= allowed || !trouble.empty()) return;
            trouble = fmt::format(
                "{} field {} at ({}): got {:.7g}{:+.7g}i, expected {:.7g}{:+.7g}i, "
                "off by {:.1e} where {:.1e} is allowed",
                name, field, fmt::join(std::vector<std::int64_t>(index.begin(), index.end()), ","),
                widen(element).real(), widen(element).imag(), expected.real(), expected.imag(),
                std::abs(widen(element) - expected), allowed);
          },
          field);
    }
    return trouble;
  }

  const Problem& problem_;
  Plan<In, Out> plan_;
  int rank_;
  bool takes_arrays_of_plan_ = false;
};

/// The ranks in the problem's order.
class TrialComm {
 public:
  TrialComm(const World& world, bool reversed) {
    check_mpi(MPI_Comm_split(world.comm(), 0, reversed ? -world.rank() : world.rank(), &comm_),
              "MPI_Comm_split");
  }
  ~TrialComm() { MPI_Comm_free(&comm_); }
  TrialComm(const TrialComm&) = delete;
  TrialComm& operator=(const TrialComm&) = delete;
  MPI_Comm get() const { return comm_; }
  int rank() const {
    int result = 0;
    MPI_Comm_rank(comm_, &result);
    return result;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

template <class In, class Out>
Outcome try_typed(const World& world, const Problem& problem, std::uint64_t seed) {
  const TrialComm comm(world, problem.reversed_ranks);
  std::optional<Trial<In, Out>> trial;
  Outcome outcome;
  try {
    trial.emplace(comm.get(), problem, comm.rank());
  } catch (const Error& error) {
    outcome = {error.code() == ErrorCode::unavailable ? Verdict::skipped : Verdict::failed,
               fmt::format("planning: {}: {}", name_of(error.code()), error.what())};
  }
  const auto mine = static_cast<std::int64_t>(outcome.verdict);
  const std::int64_t worst = world.max(mine);
  const bool agreed = worst == -world.max(-mine);
  const std::string reason = world.first_text(outcome.reason);
  if (!agreed) return {Verdict::failed, "some ranks planned and others did not: " + reason};
  if (worst != 0) return {outcome.verdict, reason};

  std::string trouble = trial->run(seed);
  if (!trouble.empty()) trouble = fmt::format("rank {}: {}", comm.rank(), trouble);
  trouble = world.first_text(trouble);
  return {trouble.empty() ? Verdict::passed : Verdict::failed, trouble};
}

template <class Real>
Outcome try_precision(const World& world, const Problem& problem, std::uint64_t seed) {
  using Complex = std::complex<Real>;
  if (problem.real_output) return try_typed<Real, Real>(world, problem, seed);
  if (problem.real_input) return try_typed<Real, Complex>(world, problem, seed);
  return try_typed<Complex, Complex>(world, problem, seed);
}

}  // namespace

Outcome try_problem(const World& world, const Problem& problem, std::uint64_t seed) {
  return problem.precision == Precision::double_ ? try_precision<double>(world, problem, seed)
                                                 : try_precision<float>(world, problem, seed);
}

}  // namespace weft::command
