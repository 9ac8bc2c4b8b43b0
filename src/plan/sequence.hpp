// Sequence: a path in the order in which a program walks it, and what follows from that order:
// which transforms share a pass, and how each redistribution is cut into chunks.
#pragma once

#include <vector>

#include "exchange/exchange.hpp"
#include "plan/path.hpp"

namespace weft {

/// The array between two actions.
struct State {
  Layout layout;
  Element element;
};

/// States and actions in program order: those of the path, for backward reversed unless both ends
/// are alike. actions[i] leads from states[i] to states[i + 1].
struct Sequence {
  std::vector<State> states;
  std::vector<Action> actions;
};

/// `input` is the element type of the forward input.
Sequence sequence_of(const Path& path, const std::vector<AxisTransform>& transforms, Element input,
                     Direction direction);

/// Where each pass over actions [first, last), all of them transforms, ends; `order` is the memory
/// order. A transform to real, which comes last, is fused first.
std::vector<std::size_t> pass_ends(const Sequence& sequence, const std::vector<int>& order,
                                   std::size_t first, std::size_t last);

/// The axes of which the pass over actions [at, next) needs all, for each index of the others: the
/// one that is transformed, or those of a slice.
std::vector<bool> inside_axes(const Sequence& sequence, const std::vector<int>& order,
                              std::size_t at, std::size_t next);

/// The axis along which the pass over actions [at, next) can take its items one after another: its
/// slices, or rows of two dimensions; -1: none.
int axis_of_items(const Sequence& sequence, const std::vector<int>& order, std::size_t at,
                  std::size_t next);

/// The redistributions of a path in program order, with the element type that travels.
struct Hop {
  Layout from;
  Layout to;
  Element element;
  Cut cut;  ///< along which axes chunks are cut: where most transforms overlap with them
  std::size_t action = 0;  ///< number of the action in the sequence
  int returned = -1;       ///< number of the earlier hop that this one undoes; -1: none
};
std::vector<Hop> hops_of(const Path& path, const std::vector<AxisTransform>& transforms,
                         Element input, Direction direction, const std::vector<int>& order);

/// True when a later one takes everything back that hop `number` has brought.
bool is_returned(const std::vector<Hop>& hops, std::size_t number);

}  // namespace weft
