// What a program of the comparison is made of: a Rival (one library, one problem, one set of
// options) and serve(), which measures it at the driver's command. bench/README.md describes the
// conversation. Nothing here knows a library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// What to transform, from the command line.
struct Problem {
  std::vector<std::int64_t> shape;  ///< of the real or complex array, axis 0 slowest
  bool real = false;                ///< r2c and c2r
  bool single_precision = false;
  int threads = 1;                ///< of each rank
  std::set<std::string> options;  ///< "in_place", "exchange=pairwise", ...
  std::string wisdom;             ///< a file in which planning results may be kept; empty: none

  std::int64_t points() const;
  std::int64_t scalar_bytes() const { return single_precision ? 4 : 8; }
  std::int64_t complex_bytes() const { return 2 * scalar_bytes(); }
  /// The last extent of the output: n/2 + 1 for r2c.
  std::int64_t last_output_extent() const { return real ? shape.back() / 2 + 1 : shape.back(); }
  bool has(const std::string& option) const { return options.count(option) > 0; }
  /// "pairwise" for the option "exchange=pairwise"; `fallback` without one.
  std::string value(const std::string& name, const std::string& fallback) const;
  /// Throws Unsupported when an option is not one of `known` (for "name=value": the name).
  void allow(const std::set<std::string>& known) const;
};

/// Thrown by a program that cannot do a problem; the driver shows the message in place of times.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Zeroed memory on huge pages where the system has them, for every library alike.
using Buffer = std::unique_ptr<void, void (*)(void*)>;
Buffer allocate(std::int64_t bytes);

/// A library with a plan and its arrays. Transforms go from the input array to the output array and
/// back; they may be the same memory, and each may destroy what it reads.
class Rival {
 public:
  /// Gets a contiguous piece of the input: its address and its number of real scalars.
  using Visitor = std::function<void(void* first, std::int64_t scalars)>;

  virtual ~Rival() = default;
  virtual void forward() = 0;   ///< unscaled
  virtual void backward() = 0;  ///< unscaled, or by 1/N where scales() says so
  virtual bool scales() const { return false; }
  /// Calls `visit` for all of this rank's input, always in the same order.
  virtual void visit_input(const Visitor& visit) = 0;
  /// On rank 0: the zero mode in the output.
  virtual const void* zero_mode() const = 0;
  /// Seconds that planning took on this rank, without making arrays; -1: unknown, then both are
  /// counted.
  virtual double plan_seconds() const { return -1; }
  /// Bytes that the plan owns on this rank beside the arrays; -1: unknown.
  virtual std::int64_t plan_bytes() const { return -1; }
  /// True when backward(forward(x)) is not x, as for the program that measures the machine's
  /// limits.
  virtual bool is_a_limit() const { return false; }
};

/// Visits `rows` runs of `length` scalars whose starts are `pitch` scalars apart.
void visit_rows(const Rival::Visitor& visit, void* data, std::int64_t rows, std::int64_t length,
                std::int64_t pitch, std::int64_t scalar_bytes);

using MakeRival = std::function<std::unique_ptr<Rival>(const Problem&)>;

/// The main program: initializes MPI, plans, obeys commands from standard input, finalizes. Returns
/// the exit status.
int serve(int argc, char** argv, const MakeRival& make);

}  // namespace bench
