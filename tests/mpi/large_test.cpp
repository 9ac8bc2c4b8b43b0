// Sizes beyond 2^31: plans of local arrays with more elements than that, made without the arrays,
// and (Long, since they take some 10 GiB) messages of more bytes than that.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <string>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::texts_of_all;
using testing::world;
using Complex = std::complex<double>;

constexpr std::int64_t kTwoTo31 = std::int64_t{1} << 31;

/// One stage over the last axis, with more than 2^31 elements on every rank.
Options one_stage(int ranks) {
  Options options;
  options.kinds = {Kind::none, Kind::none, Kind::c2c};
  options.input.grid = {ranks, 1, 1};
  options.engine = engines().front();
  return options;
}

TEST(Large, LocalArraysBeyond32BitsArePlanned) {
  const int ranks = world().size();
  if (ranks > 2) GTEST_SKIP() << "the lists of tiles would take much memory on many ranks";
  const Shape shape{2050 * ranks, 1024, 1024};
  const Plan<Complex> plan(MPI_COMM_WORLD, shape, one_stage(ranks));
  EXPECT_GT(plan.input_field_stride(), kTwoTo31);
  EXPECT_EQ(plan.input_field_stride(), std::int64_t{2050} << 20);
  EXPECT_EQ(plan.output_layout().box(ranks - 1).upper, (Index{2050 * ranks, 1024, 1024}));
  const std::vector<Step> steps = plan.program(Direction::forward);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps.front().bytes, 2 * 16 * (std::int64_t{2050} << 20));
  EXPECT_LT(plan.memory().total(), 1 << 22);
}

TEST(Large, WhatDoesNotFitIsOutOfMemoryOnAllRanks) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks, since one needs no buffers";
  for (const std::string& name : test::exchanges_for_any_shape()) {
    Options options;
    options.exchange = name;
    options.kinds.assign(2, Kind::none);
    options.input.grid = {world().size(), 1};
    options.output.grid = {1, world().size()};
    const std::string error = error_of([&] {
      Plan<Complex>(MPI_COMM_WORLD, {1 << 24, 1 << 22}, options);
    });
    EXPECT_EQ(error.find("out_of_memory: "), 0U) << name << ": " << error;
    for (const std::string& other : texts_of_all(world(), error)) EXPECT_EQ(other, error);
  }
}

/// Everything moves from rank 0 to rank 1 in one block, and back.
class LargeMessage : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::int64_t kElements = 148'000'003;  // 2.2 GiB of complex doubles

  static Complex element(std::int64_t index) {
    return {static_cast<double>(index), static_cast<double>(index % 1013)};
  }
  static std::int64_t wrong_elements(const Array<Complex>& array) {
    std::int64_t wrong = 0;
    const Box& box = array.box();
    for (std::int64_t i = 0; i < box.volume(); ++i)
      if (array.data()[i] != element(box.lower[0] + i)) ++wrong;
    return wrong;
  }
  static void fill(Array<Complex>& array) {
    const Box& box = array.box();
    for (std::int64_t i = 0; i < box.volume(); ++i) array.data()[i] = element(box.lower[0] + i);
  }
};

TEST_P(LargeMessage, LongMessageBeyond32BitsArrives) {
  if (world().size() < 2) GTEST_SKIP() << "needs 2 ranks";
  if (world().size() > 2 && GetParam() == "rma")
    GTEST_SKIP() << "some MPIs refuse windows on parts of the world";
  const Communicator pair = world().split(world().rank() < 2 ? 0 : 1);
  if (world().rank() >= 2) return;
  const Box all = Box::whole({kElements});
  const Box nothing{{0}, {0}};
  Options options;
  options.exchange = GetParam();
  options.kinds = {Kind::none};
  options.input.box = pair.rank() == 0 ? all : nothing;
  options.output.box = pair.rank() == 0 ? nothing : all;
  Plan<Complex> plan(pair.get(), {kElements}, options);
  auto input = plan.make_input();
  auto output = plan.make_output();
  fill(input);
  plan.forward(input, output);
  EXPECT_EQ(wrong_elements(output), 0) << "forward";
  std::fill_n(input.data(), input.box().volume(), Complex(-1));
  plan.backward(output, input);
  EXPECT_EQ(wrong_elements(input), 0) << "backward";
}

INSTANTIATE_TEST_SUITE_P(, LargeMessage, ::testing::ValuesIn(test::exchanges_for_any_shape()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace weft
