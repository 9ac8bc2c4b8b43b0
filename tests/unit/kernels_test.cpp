// The copy kernels against a loop: all strides, sizes and alignments, with and without a factor,
// both store modes, all element types; memory beside the target is left alone.
#include "plan/kernels.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "weft/kinds.hpp"

namespace weft {
namespace {

template <class T>
class Kernels : public testing::Test {};
using ElementTypes = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Kernels, ElementTypes);

template <class T>
T value(std::int64_t i) {
  return static_cast<T>(static_cast<float>(i % 1999 - 1000) / 16);
}
template <>
std::complex<float> value(std::int64_t i) {
  return {value<float>(i), value<float>(7 * i + 3)};
}
template <>
std::complex<double> value(std::int64_t i) {
  return {value<double>(i), value<double>(7 * i + 3)};
}

struct Strides {
  std::int64_t row;
  std::int64_t column;
};

/// Which of the two strides is 1, and how far apart the others are.
std::vector<Strides> strides_for(std::int64_t rows, std::int64_t columns) {
  return {{columns, 1},  {columns + 3, 1}, {1, rows},
          {1, rows + 5}, {2 * columns, 2}, {3, 3 * rows}};
}

template <class T>
void check_copy(std::int64_t rows, std::int64_t columns, Strides to, Strides from, double factor,
                StoreMode mode, std::size_t misplaced) {
  using Real =
      typename std::conditional_t<ElementOf<T>::value.complex, T, std::complex<T>>::value_type;
  const auto span = [&](Strides s) {
    return static_cast<std::size_t>((rows - 1) * s.row + (columns - 1) * s.column + 1);
  };
  const T canary = value<T>(1234567);
  std::vector<T> source(span(from) + misplaced);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = value<T>(static_cast<std::int64_t>(i));
  std::vector<T> target(span(to) + misplaced + 9, canary);
  std::vector<T> expected = target;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      expected[misplaced + static_cast<std::size_t>(r * to.row + c * to.column)] =
          static_cast<Real>(factor) *
          source[misplaced + static_cast<std::size_t>(r * from.row + c * from.column)];
  const CopyFunction copy = copy_function(ElementOf<T>::value, factor != 1, mode);
  copy({.target = reinterpret_cast<std::byte*>(target.data() + misplaced),
        .source = reinterpret_cast<const std::byte*>(source.data() + misplaced),
        .target_row = to.row,
        .target_column = to.column,
        .source_row = from.row,
        .source_column = from.column,
        .rows = rows,
        .columns = columns},
       factor);
  finish_streaming();
  EXPECT_TRUE(target == expected) << rows << "x" << columns << " to " << to.row << "," << to.column
                                  << " from " << from.row << "," << from.column << " factor "
                                  << factor << " misplaced " << misplaced
                                  << (mode == StoreMode::streaming ? " streaming" : " cached");
}

TYPED_TEST(Kernels, CopyAnyStridesSizesAndAlignments) {
  for (const std::int64_t rows : {1, 2, 7, 16, 33})
    for (const std::int64_t columns : {1, 3, 8, 17, 64})
      for (const Strides to : strides_for(rows, columns))
        for (const Strides from : strides_for(rows, columns))
          for (const double factor : {1.0, 0.25, -3.0})
            for (const StoreMode mode : {StoreMode::cached, StoreMode::streaming})
              for (const std::size_t misplaced : {0, 1, 3})
                check_copy<TypeParam>(rows, columns, to, from, factor, mode, misplaced);
}

TYPED_TEST(Kernels, CopyLongRows) {
  for (const StoreMode mode : {StoreMode::cached, StoreMode::streaming})
    for (const std::size_t misplaced : {0, 1, 2, 5, 7})
      check_copy<TypeParam>(3, 1001, {1003, 1}, {1001, 1}, 0.5, mode, misplaced);
}

TYPED_TEST(Kernels, CopyNothing) {
  const CopyFunction copy = copy_function(ElementOf<TypeParam>::value, false, StoreMode::streaming);
  copy({.rows = 0, .columns = 5}, 1);
  copy({.rows = 5, .columns = 0}, 1);
}

TYPED_TEST(Kernels, KeepEveryBitWithoutAFactor) {
  // Not-a-number payloads, infinities and signed zeros pass unchanged.
  std::vector<TypeParam> source(64);
  for (std::size_t i = 0; i < sizeof(TypeParam) * source.size(); ++i)
    reinterpret_cast<unsigned char*>(source.data())[i] =
        static_cast<unsigned char>(i % 2 ? 0xff : i);
  for (const std::int64_t column : {1, 8}) {
    std::vector<TypeParam> target(64);
    copy_function(ElementOf<TypeParam>::value, false, StoreMode::cached)(
        {.target = reinterpret_cast<std::byte*>(target.data()),
         .source = reinterpret_cast<const std::byte*>(source.data()),
         .target_row = 8,
         .target_column = 1,
         .source_row = column == 1 ? 8 : 1,
         .source_column = column,
         .rows = 8,
         .columns = 8},
        1);
    for (std::size_t r = 0; r < 8; ++r)
      for (std::size_t c = 0; c < 8; ++c)
        EXPECT_EQ(std::memcmp(&target[8 * r + c], &source[column == 1 ? 8 * r + c : r + 8 * c],
                              sizeof(TypeParam)),
                  0);
  }
}

}  // namespace
}  // namespace weft
