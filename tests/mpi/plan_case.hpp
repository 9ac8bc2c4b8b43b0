// A plan to be tested, described by values: its name in the test's output, and the options that it
// stands for on each rank.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "exchange/exchange.hpp"
#include "random_geometry.hpp"
#include "support.hpp"
#include "weft/plan.hpp"

namespace weft::test {

/// How one side of a plan lies over the ranks.
enum class Spread {
  automatic,  ///< left to Weft
  first,      ///< slabs of axis 0
  last,       ///< slabs of the last axis
  pencil,     ///< a grid over axes 0 and 1
  brick,      ///< a grid over axes 0, 1 and 2
  boxes,      ///< explicit boxes of all sizes, some of them empty
};

struct PlanCase {
  Shape shape;
  std::vector<Kind> kinds;
  bool real = false;  ///< the input's elements; so are the output's when all kinds are none
  Precision precision = Precision::double_;
  Spread input = Spread::automatic;
  Spread output = Spread::automatic;
  std::string exchange = "auto";
  std::string engine = "auto";
  int fields = 1;
  bool in_place = false;
  bool low_memory = false;
  std::vector<int> input_order{};
  std::vector<int> output_order{};
  bool padded = false;
  Normalization normalization = Normalization::backward;
  int threads = 1;
  bool shared_arrays = false;
  int chunks = 1;
};

inline bool only_redistributes(const PlanCase& c) {
  return std::all_of(c.kinds.begin(), c.kinds.end(), [](Kind kind) { return kind == Kind::none; });
}

inline const char* name_of(Spread spread) {
  switch (spread) {
    case Spread::automatic:
      return "auto";
    case Spread::first:
      return "first";
    case Spread::last:
      return "last";
    case Spread::pencil:
      return "pencil";
    case Spread::brick:
      return "brick";
    case Spread::boxes:
      return "boxes";
  }
  return "unknown";
}

/// All parameters, e.g. "8x6x5_ccr_double_first_to_auto_order012_to_210_pairwise_mkl_f2_in_place_
/// padded_ortho_t1"; the letters after the shape are the axes' kinds: c2c, r2c, none.
inline std::string name_of(const PlanCase& c) {
  std::string text = to_string(c.shape) + '_';
  for (Kind kind : c.kinds) text += kind == Kind::c2c ? 'c' : kind == Kind::r2c ? 'r' : 'n';
  text += c.precision == Precision::double_ ? "_double" : "_float";
  if (c.real && only_redistributes(c)) text += "_real";
  text += std::string("_") + name_of(c.input) + "_to_" + name_of(c.output);
  const auto order = [](const std::vector<int>& axes) {
    std::string digits;
    for (int axis : axes) digits += std::to_string(axis);
    return digits.empty() ? std::string("default") : digits;
  };
  text += "_order_" + order(c.input_order) + "_to_" + order(c.output_order) + '_' + c.exchange +
          '_' + c.engine + "_f" + std::to_string(c.fields) +
          (c.in_place ? "_in_place" : "_out_of_place") + (c.low_memory ? "_low_memory" : "") +
          (c.shared_arrays ? "_shared_arrays" : "") + (c.padded ? "_padded_" : "_dense_") +
          name_of(c.normalization) + "_t" + std::to_string(c.threads) +
          (c.chunks > 1 ? "_k" + std::to_string(c.chunks) : "");
  return text;
}

inline std::ostream& operator<<(std::ostream& out, const PlanCase& c) { return out << name_of(c); }

/// The parts of each axis when `ranks` ranks share out the first `count` axes (or all, if there are
/// fewer), the earlier ones in fewer parts. Example: 6 ranks, 2 of 3 axes: {2, 3, 1}.
inline std::vector<int> even_grid(int dimensions, int count, int ranks) {
  std::vector<int> parts(static_cast<std::size_t>(dimensions), 1);
  count = std::min(count, dimensions);
  for (int axis = 0; axis < count; ++axis) {
    int factor = 1;
    for (int f = 1; f <= ranks; ++f) {
      int power = 1;
      for (int left = axis; left < count; ++left) power *= f;
      if (ranks % f == 0 && power <= ranks) factor = f;
    }
    parts[static_cast<std::size_t>(axis)] = axis + 1 == count ? ranks : factor;
    ranks /= factor;
  }
  return parts;
}

inline LayoutRequest layout_request(Spread spread, const Shape& shape, int rank, int ranks,
                                    std::uint64_t seed) {
  LayoutRequest request;
  switch (spread) {
    case Spread::automatic:
      break;
    case Spread::first:
      request.grid = even_grid(shape.size(), 1, ranks);
      break;
    case Spread::last:
      request.grid = even_grid(shape.size(), 1, ranks);
      std::swap(request.grid.front(), request.grid.back());
      break;
    case Spread::pencil:
      request.grid = even_grid(shape.size(), 2, ranks);
      break;
    case Spread::brick:
      request.grid = even_grid(shape.size(), 3, ranks);
      break;
    case Spread::boxes: {
      Random random(seed);
      request.box = random_boxes(random, shape, ranks)[static_cast<std::size_t>(rank)];
      break;
    }
  }
  return request;
}

/// The exchanges that this MPI has and that no shape can stop; "alltoall" refuses uneven ones.
inline std::vector<std::string> exchanges_for_any_shape() {
  std::vector<std::string> names = exchanges();
  std::erase_if(names, [](const std::string& name) {
    return name == "alltoall" ||
           (name == "persistent" && !exchange_named(name).obstacle({}).empty());
  });
  return names;
}

inline std::vector<std::string> auto_and_exchanges_for_any_shape() {
  std::vector<std::string> names = exchanges_for_any_shape();
  names.insert(names.begin(), "auto");
  return names;
}

inline Options options_of(const PlanCase& c, int rank, int ranks) {
  Options options;
  options.kinds = c.kinds;
  options.input = layout_request(c.input, c.shape, rank, ranks, 41);
  options.output = layout_request(c.output, output_shape(c.shape, c.kinds), rank, ranks, 42);
  options.input.order = c.input_order;
  options.output.order = c.output_order;
  if (c.padded) {
    Random random(43);
    options.input.padding = random_padding(random, c.shape.size());
    options.output.padding = random_padding(random, c.shape.size());
  }
  options.fields = c.fields;
  options.normalization = c.normalization;
  options.in_place = c.in_place;
  options.low_memory = c.low_memory;
  options.shared_arrays = c.shared_arrays;
  options.exchange = c.exchange;
  options.engine = c.engine;
  options.threads = c.threads;
  options.chunks = c.chunks;
  return options;
}

/// A zeroed array like that one, which the plan has not made, so that other ranks do not reach it.
template <class T>
Array<T> elsewhere(const Array<T>& array) {
  const auto elements = static_cast<std::size_t>(array.field_stride() * array.fields());
  return {array.layout(), testing::world().rank(), array.fields(), array.field_stride(),
          allocate_zeroed(elements * sizeof(T))};
}

/// Everything but the shape and the kinds at random.
inline PlanCase with_random_options(Random& random, PlanCase c) {
  static const std::vector<Spread> spreads{Spread::automatic, Spread::automatic, Spread::first,
                                           Spread::last,      Spread::pencil,    Spread::brick,
                                           Spread::boxes};
  static const std::vector<Normalization> normalizations{
      Normalization::backward, Normalization::forward, Normalization::ortho, Normalization::none};
  static const std::vector<std::string> all_exchanges = exchanges_for_any_shape();
  static const std::vector<std::string> all_engines = engines();
  c.precision = random.one_in(2) ? Precision::double_ : Precision::single;
  c.input = random.among(spreads);
  c.output = random.among(spreads);
  c.exchange = random.one_in(5) ? "auto" : random.among(all_exchanges);
  c.engine = random.among(all_engines);
  c.fields = random.one_in(3) ? random.between(2, 3) : 1;
  c.in_place = random.one_in(3);
  if (random.one_in(3)) c.input_order = random_order(random, c.shape.size());
  if (random.one_in(3)) c.output_order = random_order(random, c.shape.size());
  c.padded = random.one_in(3);
  c.normalization = random.among(normalizations);
  c.threads = random.one_in(12) ? 2 : 1;
  c.shared_arrays = random.one_in(3);
  return c;
}

/// c2c, or r2c on a random axis, on most axes; sometimes a pure redistribution.
inline PlanCase with_random_kinds(Random& random, PlanCase c) {
  const auto dimensions = static_cast<std::size_t>(c.shape.size());
  c.real = random.one_in(2);
  c.kinds.assign(dimensions, Kind::none);
  if (random.one_in(6)) return c;
  for (Kind& kind : c.kinds) kind = random.one_in(5) ? Kind::none : Kind::c2c;
  if (c.real) c.kinds[static_cast<std::size_t>(random.between(0, c.shape.size() - 1))] = Kind::r2c;
  return c;
}

}  // namespace weft::test
