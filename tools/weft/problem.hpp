// Random problems for `weft check`: everything that a user may ask of a plan, made from two
// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/options.hpp"

namespace weft::command {

/// One side of the transform, for all ranks. Without grid and boxes, Weft chooses.
struct SideLayout {
  std::vector<int> grid;
  std::vector<Box> boxes;
  std::vector<int> order;
  std::vector<Padding> padding;

  LayoutRequest request(int rank) const;
};

struct Problem {
  Shape shape;
  std::vector<Kind> kinds;
  bool real_input = false;
  bool real_output = false;
  SideLayout input;
  SideLayout output;
  Precision precision = Precision::double_;
  int fields = 1;
  int chunks = 1;
  Progress progress = Progress::poll;
  Normalization normalization = Normalization::backward;
  bool in_place = false;
  bool low_memory = false;
  std::string exchange;
  std::string engine;
  int threads = 1;
  bool reversed_ranks = false;  ///< the plan's communicator numbers the ranks backwards
  int misalignment = 0;  ///< elements by which the user's arrays start off a 64-byte boundary

  Options options(int rank) const;
  /// One line for people.
  std::string description() const;
};

/// What problems may choose from.
struct Choosable {
  std::vector<std::string> exchanges;
  std::vector<std::string> engines;
  std::vector<int> chunks;
  std::vector<int> fields;
  std::vector<Progress> progress;
  bool only_low_memory = false;  ///< wherever there are two axes
};

/// The same on every rank and every machine.
Problem random_problem(std::uint64_t seed, std::int64_t number, int ranks,
                       const Choosable& choosable);

}  // namespace weft::command
