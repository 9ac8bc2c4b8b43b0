// What tests of stages share: the memory of a side in blocks, what a stage has to give by the
// direct sum, and its run over all tiles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "oracle.hpp"
#include "plan/stage.hpp"
#include "random_geometry.hpp"

namespace weft::test {

inline constexpr std::byte kCanary{0x7b};
inline constexpr int kFields = 2;

template <class T>
void put_as(std::byte* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}
template <class T>
T get_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline void put(std::byte* at, const Element& element, const Value& value) {
  const bool is_double = element.precision == Precision::double_;
  if (element.complex)
    is_double ? put_as(at, std::complex<double>(value)) : put_as(at, std::complex<float>(value));
  else
    is_double ? put_as(at, static_cast<double>(value.real()))
              : put_as(at, static_cast<float>(value.real()));
}

inline Value get(const std::byte* at, const Element& element) {
  const bool is_double = element.precision == Precision::double_;
  if (element.complex)
    return is_double ? Value(get_as<std::complex<double>>(at))
                     : Value(get_as<std::complex<float>>(at));
  return is_double ? Value(get_as<double>(at)) : Value(get_as<float>(at));
}

/// Memory for the blocks of one side of a stage, for kFields fields.
class Memory {
 public:
  /// `parts` share out the box; each lies in the order given, at an odd multiple of the real's
  /// size.
  Memory(int slot, const Element& element, const std::vector<Box>& parts,
         const std::vector<int>& order)
      : element_(element) {
    std::int64_t end = element.bytes() / (element.complex ? 2 : 1);
    for (const Box& part : parts) {
      if (part.empty()) continue;
      ports_.push_back({View{slot, end, part, dense_strides(part.extents(), order)}, 0, -1});
      end += part.volume() * element.bytes() + 3 * element.bytes();
    }
    for (Port& port : ports_) port.field_bytes = end;
    bytes_.assign(static_cast<std::size_t>(end) * kFields + 64, kCanary);
  }

  const std::vector<Port>& ports() const { return ports_; }
  std::byte* base() { return bytes_.data(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  /// Calls `body(global_index, address)` for all elements of a field.
  template <class Body>
  void for_each(int field, Body&& body) {
    for (const Port& port : ports_)
      for_each_index(port.view.box, [&](const Index& index) {
        std::int64_t at = port.view.offset_bytes + field * port.field_bytes;
        for (int axis = 0; axis < index.size(); ++axis)
          at += (index[axis] - port.view.box.lower[axis]) * port.view.strides[axis] *
                element_.bytes();
        body(index, bytes_.data() + at);
      });
  }

  void fill(int field, const Field& values) {
    for_each(field, [&](const Index& index, std::byte* at) { put(at, element_, values(index)); });
  }

  void expect(int field, const Field& values, long double factor, long double largest_error) {
    long double worst = 0;
    for_each(field, [&](const Index& index, std::byte* at) {
      worst = std::max(worst, std::abs(get(at, element_) - factor * values(index)));
    });
    EXPECT_LE(worst, largest_error) << "field " << field;
  }

  /// Bytes that belong to no element still hold what they were made with.
  void expect_untouched_beside_elements() {
    std::vector<std::byte> beside = bytes_;
    for (int field = 0; field < kFields; ++field)
      for_each(field, [&](const Index&, std::byte* at) {
        std::fill_n(beside.data() + (at - bytes_.data()), element_.bytes(), kCanary);
      });
    EXPECT_EQ(beside, std::vector<std::byte>(beside.size(), kCanary));
  }

 private:
  Element element_;
  std::vector<Port> ports_;
  std::vector<std::byte> bytes_;
};

/// `count` blocks that share out a box, in any order in memory.
inline std::vector<Box> random_blocks(Random& random, const Box& box, int count) {
  return shuffled(random, random_cuts(random, box, count));
}

struct StageCase {
  Shape shape;  ///< of the real side for r2c and c2r
  int axis = 0;
  BatchKind kind = BatchKind::c2c;
  Direction direction = Direction::forward;
  Precision precision = Precision::double_;
  std::vector<int> source_order{};
  std::vector<int> sink_order{};
  int source_blocks = 1;
  int sink_blocks = 1;
  double factor = 1;
  StoreMode store_mode = StoreMode::cached;
  bool some_in_cache = false;  ///< of the blocks of the sink
};

inline std::string text_of(const StageCase& c, const std::string& engine) {
  std::string text = to_string(c.shape) + " axis " + std::to_string(c.axis) + " kind " +
                     std::to_string(static_cast<int>(c.kind)) + " direction " +
                     std::to_string(static_cast<int>(c.direction)) + " precision " +
                     std::to_string(static_cast<int>(c.precision)) + " orders ";
  for (int axis : c.source_order) text += std::to_string(axis);
  text += "->";
  for (int axis : c.sink_order) text += std::to_string(axis);
  return text + " blocks " + std::to_string(c.source_blocks) + "->" +
         std::to_string(c.sink_blocks) + " factor " + std::to_string(c.factor) +
         (c.store_mode == StoreMode::streaming ? " streaming " : " ") + engine;
}

/// What a stage reads, and what it has to give without the factor.
struct Expectation {
  Field source;
  Field sink;
};

inline Expectation summed(const StageCase& c, int field) {
  const std::int64_t n = c.shape[c.axis];
  const Field signal = sampled(c.shape, field, c.kind == BatchKind::c2c);
  if (c.kind == BatchKind::c2c)
    return {signal, direct_sum(signal, c.axis, c.direction == Direction::forward ? -1 : 1, n)};
  Field half = direct_sum(signal, c.axis, -1, n / 2 + 1);
  if (c.kind == BatchKind::r2c) return {signal, half};
  Field scaled = signal;
  for (Value& value : scaled.values) value *= static_cast<long double>(n);
  return {half, scaled};
}

/// Remembered until another problem is asked for, since cases with the same one follow one another.
inline const Expectation& expectation_of(const StageCase& c, int field) {
  using Problem = std::tuple<std::vector<std::int64_t>, int, BatchKind, Direction>;
  static std::map<int, std::pair<Problem, Expectation>> last;
  const Problem problem({c.shape.begin(), c.shape.end()}, c.axis, c.kind, c.direction);
  const auto found = last.find(field);
  if (found != last.end() && found->second.first == problem) return found->second.second;
  return last.insert_or_assign(field, std::pair(problem, summed(c, field))).first->second.second;
}

inline void run_field(const Stage& stage, std::span<std::byte* const> bases, int field) {
  std::vector<std::byte> workspace(static_cast<std::size_t>(stage.workspace_bytes()) + 64);
  void* aligned = workspace.data();
  std::size_t space = workspace.size();
  std::align(64, space - 64, aligned, space);
  for (std::size_t tile = 0; tile < stage.tiling().tiles.size(); ++tile)
    stage.run(static_cast<std::int64_t>(tile), {bases, field}, static_cast<std::byte*>(aligned));
}

inline void run_all(const Stage& stage, std::span<std::byte* const> bases, int fields) {
  for (int field = 0; field < fields; ++field) run_field(stage, bases, field);
}

inline StageSpec spec_of(const StageCase& c, const Box& source_box, const Box& sink_box) {
  StageSpec spec;
  spec.axis = c.axis;
  spec.kind = c.kind;
  spec.direction = c.direction;
  spec.n = c.shape[c.axis];
  spec.source_element = {c.precision, c.kind != BatchKind::r2c};
  spec.sink_element = {c.precision, c.kind != BatchKind::c2r};
  spec.source_box = source_box;
  spec.sink_box = sink_box;
  spec.factor = c.factor;
  spec.store_mode = c.store_mode;
  return spec;
}

inline long double largest_error(const StageCase& c, const Field& expected) {
  const auto n = static_cast<long double>(c.shape[c.axis]);
  return tolerance(c.precision, n) * std::abs(static_cast<long double>(c.factor)) * expected.rms();
}

}  // namespace weft::test
