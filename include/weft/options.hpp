// What a user may ask of a plan. Every member has a default that is chosen well when left alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/kinds.hpp"
#include "weft/layout.hpp"

namespace weft {

/// How the user wants one side of the transform to be spread over the ranks and to lie in memory.
struct LayoutRequest {
  std::vector<int> grid;  ///< parts of each axis, e.g. {4, 2, 1}; empty: chosen by Weft
  std::optional<Box>
      box;  ///< this rank's own box instead of a grid (all ranks give one, or none does)
  std::vector<int> order;        ///< axes from slowest to fastest in memory; empty: 0, 1, ..., d-1
  std::vector<Padding> padding;  ///< elements left free around the box, per axis; empty: none
};

/// What moves messages on while a rank computes. `none`: nothing does; `poll`: the rank itself,
/// between tiles; `thread`: also a thread of Weft's, which takes a core and needs
/// MPI_THREAD_MULTIPLE.
enum class Progress : int { none = 0, poll = 1, thread = 2 };

struct Options {
  std::vector<Kind>
      kinds;  ///< per axis; empty: c2c for complex input; r2c on the last axis, else c2c, for real
  LayoutRequest input;  ///< of the forward input (= backward output)
  LayoutRequest
      output;      ///< of the forward output (= backward input); by default the cheapest to reach
  int fields = 1;  ///< arrays transformed by one call, one after another in memory
  Normalization normalization = Normalization::backward;
  bool in_place = false;  ///< true: forward and backward are called with one array for both sides
  /// true: in place, exchanges work on a part of the contiguous axis at a time, so that they need
  /// an eighth (short rows: more) of their memory, and for one field only. Costs a sweep over
  /// memory more: 256^3 on 2 ranks takes 1.1 (c2c) to 1.6 times (r2c) as long. Needs
  /// in_place, 2 axes, the same contiguous axis on both sides, which no rank's box cuts, with rows
  /// that take as much memory there, padding included, and r2c on no other axis; the plan throws
  /// Error(unavailable) otherwise.
  bool low_memory = false;
  /// true: a promise that calls are made with whole arrays of make_input() and make_output(), of
  /// this plan or of one like it. The ranks of a node reach each other's arrays then, so that
  /// exchange "shared" stores results where they belong, wherever the output is, with less or no
  /// window; other arrays are refused. Without the promise natural output, and results that are
  /// faster by it, are stored like that too, in calls in which all ranks pass such arrays, and go
  /// through the window in others. Calls with such arrays begin when all ranks are there. A plan
  /// that has no use for the promise sets it to false.
  bool shared_arrays = false;
  std::string exchange = "auto";  ///< a name of weft::exchanges(), or "auto"
  int chunks = 1;                 ///< pieces of each array that an exchange sends one after another
  Progress progress = Progress::poll;  ///< who moves messages on while ranks compute
  /// Seconds that forward(), backward() and a Run wait for a chunk before they throw
  /// Error(timeout); 0: as long as it takes. Between two calls of Run::progress() a tenth of it
  /// passes at most, so that nobody is given up who was merely not asked. A plan whose call has
  /// failed can do no other, and its memory is kept until the process ends, since peers and MPI may
  /// still use it.
  double timeout = 0;
  std::string engine =
      "auto";       ///< a name of weft::engines(), or "auto": the faster one as measured
  int threads = 0;  ///< threads of this rank; 0: OMP_NUM_THREADS if set, else 1
};

}  // namespace weft
