// What the tests on several ranks share: the world's communicator, comparison of texts over the
// ranks, layouts of many kinds, and a count of allocations.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "weft/layout.hpp"

namespace weft::testing {

/// A duplicate of MPI_COMM_WORLD. Collective when first called.
const Communicator& world();

/// Calls of operator new in this process so far.
std::int64_t allocations();

/// The text of each rank, in their order. Collective.
std::vector<std::string> texts_of_all(const Communicator& comm, const std::string& text);

/// Runs `body` and returns "code: message" of the Error that it throws, or "" if it throws none.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    return std::string(name_of(error.code())) + ": " + error.what();
  }
}

/// Layouts of `shape` over `ranks` ranks with the axes in `axes` distributed, as evenly as the
/// number of ranks factors; the later axes get the larger factors.
Layout grid_layout(const Shape& shape, const std::vector<int>& axes, int ranks);

/// Boxes of very different sizes, some of them empty, that depend on `seed`.
Layout uneven_layout(const Shape& shape, int ranks, unsigned seed);

/// Keeps this rank busy elsewhere for up to `most_microseconds`.
void random_delay(std::mt19937& random, int most_microseconds);

}  // namespace weft::testing
