// What plans refuse: the same code and the same full message on every rank, without a hang, also
// when only one rank passed something wrong; afterwards everything still works.
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::texts_of_all;
using testing::world;
using Complex = std::complex<double>;

constexpr double kBudgetSeconds = 1;  ///< slower errors are told, but do not fail a test

/// A request for a plan, to be spoilt.
struct Asked {
  Shape shape{8, 6, 10};
  Element input = ElementOf<Complex>::value;
  Element output = ElementOf<Complex>::value;
  Options options{};
};

Asked real_input() {
  Asked asked;
  asked.input.complex = false;
  return asked;
}

/// The error of making a plan, after checking that all ranks got the same.
std::string error_of_plan(const Asked& asked) {
  const auto start = std::chrono::steady_clock::now();
  const std::string mine = error_of(
      [&] { AnyPlan(MPI_COMM_WORLD, asked.shape, asked.input, asked.output, asked.options); });
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (spent.count() > kBudgetSeconds && world().rank() == 0)
    std::printf("slow: %.1f s for \"%s\"\n", spent.count(), mine.c_str());
  for (const std::string& other : texts_of_all(world(), mine)) EXPECT_EQ(mine, other);
  return mine;
}

/// A plan that works, on the same communicator.
void expect_still_works() {
  Plan<Complex> plan(MPI_COMM_WORLD, {4, 6});
  auto input = plan.make_input();
  auto output = plan.make_output();
  input.fill([](const Index&) { return 1; });
  plan.forward(input, output);
  output.for_each([](const Index& index, const Complex& element) {
    EXPECT_LE(std::abs(element - (index == Index{0, 0} ? 24.0 : 0.0)), 1e-12);
  });
}

struct Wrong {
  std::string name;
  ErrorCode code;
  std::vector<std::string> words;  ///< of the message, in any order
  std::function<void(Asked&)> spoil;
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.name; }

void expect_error(const std::string& error, const Wrong& wrong) {
  EXPECT_EQ(error.find(std::string(name_of(wrong.code)) + ": "), 0U) << error;
  for (const std::string& word : wrong.words)
    EXPECT_NE(error.find(word), std::string::npos) << "no \"" << word << "\" in: " << error;
}

template <class Case>
std::string case_name(const ::testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

// ---- wrong on all ranks
// --------------------------------------------------------------------------

class PlanRefuses : public ::testing::TestWithParam<Wrong> {};

TEST_P(PlanRefuses, OnAllRanksAlike) {
  Asked asked;
  GetParam().spoil(asked);
  expect_error(error_of_plan(asked), GetParam());
  expect_still_works();
}

// The same mistake on one rank only: either the arguments then differ, or that rank's error is
// everybody's.
TEST_P(PlanRefuses, OnOneRankOnly) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (const int odd : {0, world().size() - 1}) {
    Asked asked;
    if (world().rank() == odd) GetParam().spoil(asked);
    EXPECT_EQ(error_of_plan(asked).find("rank_mismatch: "), 0U);
  }
  expect_still_works();
}

Box whole_with_wrong_bounds() { return {{0, 0, 0, 0}, {8, 6, 10, 1}}; }

std::vector<Wrong> wrong_arguments() {
  constexpr auto kArgument = ErrorCode::invalid_argument;
  constexpr auto kUnavailable = ErrorCode::unavailable;
  const auto fourth_kind = static_cast<Kind>(17);
  return {
      {"NoDimensions", kArgument, {"1 to 6"}, [](Asked& a) { a.shape = {}; }},
      {"ExtentZero",
       kArgument,
       {"at least 1", "8x0x10"},
       [](Asked& a) {
         a.shape = {8, 0, 10};
       }},
      {"ExtentNegative",
       kArgument,
       {"8x-6x10"},
       [](Asked& a) {
         a.shape = {8, -6, 10};
       }},
      {"TooManyPoints",
       kArgument,
       {"2^57"},
       [](Asked& a) {
         a.shape = {1 << 30, 1 << 30, 1 << 30};
       }},
      {"GridOfOtherDimensions",
       kArgument,
       {"input.grid has 2 numbers", "3 dimensions"},
       [](Asked& a) {
         a.options.input.grid = {world().size(), 1};
       }},
      {"GridOfOtherSize",
       kArgument,
       {"output.grid 97x1x1", "97 parts"},
       [](Asked& a) {
         a.options.output.grid = {97, 1, 1};
       }},
      {"GridWithZero",
       kArgument,
       {"positive", "0x1x1"},
       [](Asked& a) {
         a.options.input.grid = {0, 1, 1};
       }},
      {"GridNegative",
       kArgument,
       {"positive"},
       [](Asked& a) {
         a.options.input.grid = {-1, -world().size(), 1};
       }},
      {"GridBeyondInt",
       kArgument,
       {"parts"},
       [](Asked& a) {
         a.options.input.grid = {1 << 30, 1 << 30, 1 << 30};
       }},
      {"GridAndBox",
       kArgument,
       {"both a grid and a box"},
       [](Asked& a) {
         a.options.input.grid = {world().size(), 1, 1};
         a.options.input.box = Box::whole({8, 6, 10});
       }},
      {"BoxOfOtherDimensions",
       ErrorCode::invalid_layout,
       {"bounds", "3 dimensions"},
       [](Asked& a) { a.options.input.box = whole_with_wrong_bounds(); }},
      {"TooFewKinds",
       kArgument,
       {"kinds are given for 2 axes", "3"},
       [](Asked& a) {
         a.options.kinds = {Kind::c2c, Kind::c2c};
       }},
      {"UnknownKind",
       kArgument,
       {"17"},
       [=](Asked& a) {
         a.options.kinds = {Kind::c2c, fourth_kind, Kind::c2c};
       }},
      {"RealKindOfComplexInput",
       kArgument,
       {"r2c needs real input"},
       [](Asked& a) {
         a.options.kinds = {Kind::c2c, Kind::c2c, Kind::r2c};
       }},
      {"TwoRealKinds",
       kArgument,
       {"exactly one axis", "2"},
       [](Asked& a) {
         a = real_input();
         a.options.kinds = {Kind::c2c, Kind::r2c, Kind::r2c};
       }},
      {"NoRealKind",
       kArgument,
       {"exactly one axis", "0"},
       [](Asked& a) {
         a = real_input();
         a.options.kinds = {Kind::c2c, Kind::c2c, Kind::c2c};
       }},
      {"ComplexToReal",
       kArgument,
       {"complex", "backward"},
       [](Asked& a) { a.output.complex = false; }},
      {"RealToRealTransform",
       kArgument,
       {"kind none"},
       [](Asked& a) {
         a.input.complex = a.output.complex = false;
         a.options.kinds = {Kind::none, Kind::none, Kind::c2c};
       }},
      {"TwoPrecisions",
       kArgument,
       {"precision", "single"},
       [](Asked& a) { a.output.precision = Precision::single; }},
      {"NoFields", kArgument, {"fields", "0"}, [](Asked& a) { a.options.fields = 0; }},
      {"NegativeFields", kArgument, {"fields", "-3"}, [](Asked& a) { a.options.fields = -3; }},
      {"UnknownNormalization",
       kArgument,
       {"normalization", "9"},
       [](Asked& a) { a.options.normalization = static_cast<Normalization>(9); }},
      {"UnknownExchange",
       kUnavailable,
       {"pigeon", "pairwise"},
       [](Asked& a) { a.options.exchange = "pigeon"; }},
      {"UnknownEngine",
       kUnavailable,
       {"abacus", engines().front()},
       [](Asked& a) { a.options.engine = "abacus"; }},
      {"OrderTooShort",
       kArgument,
       {"memory order", "{1,0}"},
       [](Asked& a) {
         a.options.input.order = {1, 0};
       }},
      {"OrderWithTwice",
       kArgument,
       {"memory order", "{2,1,2}"},
       [](Asked& a) {
         a.options.output.order = {2, 1, 2};
       }},
      {"PaddingOfTooManyAxes",
       kArgument,
       {"padding", "4"},
       [](Asked& a) {
         a.options.input.padding = {{1, 0}, {}, {}, {0, 1}};
       }},
      {"PaddingNegative",
       kArgument,
       {"padding", "-1"},
       [](Asked& a) {
         a.options.output.padding = {{0, -1}};
       }},
      {"PaddingBeyondMemory",
       kArgument,
       {"padding"},
       [](Asked& a) {
         a.options.output.padding = {{0, std::int64_t{1} << 40}, {0, 1 << 20}};
       }},
      {"FieldsBeyondMemory",
       kArgument,
       {"fields"},
       [](Asked& a) {
         a.shape = {1 << 16, 1 << 16, 1 << 16};
         a.options.fields = std::numeric_limits<int>::max();
       }},
  };
}
INSTANTIATE_TEST_SUITE_P(, PlanRefuses, ::testing::ValuesIn(wrong_arguments()), case_name<Wrong>);

TEST(PlanErrors, NegativeThreadsAreRefusedEverywhereAlsoWhenOneRankPassesThem) {
  for (const int odd : {0, world().size() - 1}) {
    Asked asked;
    if (world().rank() == odd) asked.options.threads = -2;
    const std::string error = error_of_plan(asked);
    EXPECT_EQ(error.find("invalid_argument: "), 0U) << error;
    EXPECT_NE(error.find("-2"), std::string::npos) << error;
  }
  expect_still_works();
}

TEST(PlanErrors, NoCommunicatorIsRefused) {
  const std::string error = error_of([] { Plan<double>(MPI_COMM_NULL, {4, 4}); });
  EXPECT_EQ(error.find("invalid_argument: "), 0U) << error;
}

// ---- different on one rank
// -----------------------------------------------------------------------

struct Different {
  std::string name;
  std::string word;  ///< of the line that is quoted
  std::function<void(Asked&)> change;
};

std::ostream& operator<<(std::ostream& out, const Different& d) { return out << d.name; }

class RanksDiffer : public ::testing::TestWithParam<Different> {};

TEST_P(RanksDiffer, IsToldToAllWithBothValues) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (int odd = 0; odd < world().size(); ++odd) {
    Asked asked;
    if (world().rank() == odd) GetParam().change(asked);
    const std::string error = error_of_plan(asked);
    EXPECT_EQ(error.find("rank_mismatch: "), 0U) << error;
    EXPECT_NE(error.find(GetParam().word), std::string::npos) << error;
    EXPECT_NE(error.find("rank 0 has"), std::string::npos) << error;
    EXPECT_NE(error.find("rank " + std::to_string(std::max(odd, 1)) + " has"), std::string::npos)
        << error;
  }
  expect_still_works();
}

/// A grid of all ranks over the last two axes, which is no default.
std::vector<int> other_grid() { return {1, 1, world().size()}; }

std::vector<Different> differences() {
  return {
      {"Shape", "8x6x11",
       [](Asked& a) {
         a.shape = {8, 6, 11};
       }},
      {"Dimensions", "8x6",
       [](Asked& a) {
         a.shape = {8, 6};
       }},
      {"InputElement", "input", [](Asked& a) { a.input.complex = false; }},
      {"Precision", "single",
       [](Asked& a) { a.input.precision = a.output.precision = Precision::single; }},
      {"Kinds", "kinds",
       [](Asked& a) {
         a.options.kinds = {Kind::c2c, Kind::c2c, Kind::none};
       }},
      {"InputGrid", "input", [](Asked& a) { a.options.input.grid = other_grid(); }},
      {"OutputGrid", "output", [](Asked& a) { a.options.output.grid = other_grid(); }},
      {"InputBox", "own boxes",
       [](Asked& a) {
         a.options.input.box = Box{{0, 0, 0}, {8, 6, 10}};
       }},
      {"OutputOrder", "order",
       [](Asked& a) {
         a.options.output.order = {2, 1, 0};
       }},
      {"InputPadding", "padding",
       [](Asked& a) {
         a.options.input.padding = {{0, 2}};
       }},
      {"Fields", "fields", [](Asked& a) { a.options.fields = 2; }},
      {"Normalization", "normalization",
       [](Asked& a) { a.options.normalization = Normalization::ortho; }},
      {"Place", "in_place", [](Asked& a) { a.options.in_place = true; }},
      {"Exchange", "alltoallv", [](Asked& a) { a.options.exchange = "alltoallv"; }},
      {"Engine", "engine", [](Asked& a) { a.options.engine = engines().front(); }},
  };
}
INSTANTIATE_TEST_SUITE_P(, RanksDiffer, ::testing::ValuesIn(differences()), case_name<Different>);

// ---- boxes that do not cover
// ---------------------------------------------------------------------

/// Slabs of axis 0, as boxes.
Box slab(const Shape& shape) {
  return Layout::from_grid(
             shape, ProcessGrid::from_parts(test::even_grid(shape.size(), 1, world().size())))
      .box(world().rank());
}

class BadBoxes : public ::testing::TestWithParam<bool> {
 protected:
  std::optional<Box>& box(Asked& asked) const {
    return GetParam() ? asked.options.output.box : asked.options.input.box;
  }
  void expect_refused(const Asked& asked, const std::string& word) const {
    const std::string error = error_of_plan(asked);
    EXPECT_EQ(error.find("invalid_layout: "), 0U) << error;
    EXPECT_NE(error.find(word), std::string::npos) << error;
  }
  static bool last() { return world().rank() == world().size() - 1; }
};

TEST_P(BadBoxes, ThatOverlap) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  Asked asked;
  box(asked) = Box::whole(asked.shape);
  expect_refused(asked, "overlap");
}

TEST_P(BadBoxes, ThatLeaveAGap) {
  Asked asked;
  box(asked) = slab(asked.shape);
  if (last()) --box(asked)->upper[1];
  expect_refused(asked, "points, the array 8x6x10 has 480");
}

TEST_P(BadBoxes, ThatReachOutside) {
  Asked asked;
  box(asked) = slab(asked.shape);
  if (last()) ++box(asked)->upper[2];
  expect_refused(asked, "does not lie in the array");
}

TEST_P(BadBoxes, ThatAreUpsideDown) {
  Asked asked;
  box(asked) = slab(asked.shape);
  if (last()) std::swap(box(asked)->lower[1], box(asked)->upper[1]);
  expect_refused(asked, "does not lie in the array");
}

TEST_P(BadBoxes, ThatHaveTooFewOrTooManyBoundsOnOneRank) {
  for (const int dimensions : {0, 2, 4, 6}) {
    Asked asked;
    box(asked) = slab(asked.shape);
    if (last()) box(asked) = Box::whole(Extents::filled(dimensions, 1));
    expect_refused(asked, "3 dimensions");
  }
  expect_still_works();
}

INSTANTIATE_TEST_SUITE_P(, BadBoxes, ::testing::Bool(),
                         [](const auto& side) { return side.param ? "Output" : "Input"; });

// ---- arrays that a call cannot take
// --------------------------------------------------------------

TEST(ExecuteRefuses, NullAndOverlappingArrays) {
  Plan<Complex> plan(MPI_COMM_WORLD, {8, 8, 8});
  std::vector<Complex> memory(2 * 512 + 8);
  const std::string null = error_of([&] { plan.forward(nullptr, memory.data()); });
  EXPECT_EQ(null.find("invalid_argument: forward on rank " + std::to_string(world().rank())), 0U)
      << null;
  EXPECT_NE(null.find("null"), std::string::npos) << null;
  EXPECT_NE(error_of([&] { plan.backward(memory.data(), nullptr); }).find("null"),
            std::string::npos);
  const std::int64_t step = plan.input_field_stride() - 1;
  for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{1}, step}) {
    const std::string error =
        error_of([&] { plan.forward(memory.data(), memory.data() + distance); });
    EXPECT_NE(error.find("overlap"), std::string::npos) << error;
    EXPECT_NE(
        error_of([&] { plan.backward(memory.data() + distance, memory.data()); }).find("overlap"),
        std::string::npos);
  }
  plan.forward(memory.data(), memory.data() + plan.input_field_stride());  // side by side is fine
}

TEST(ExecuteRefuses, TwoArraysForAPlanInPlace) {
  Options options;
  options.in_place = true;
  Plan<double> plan(MPI_COMM_WORLD, {8, 8, 8}, options);
  auto array = plan.make_input();
  auto other = plan.make_input();
  auto* spectrum = reinterpret_cast<Complex*>(other.data());
  const std::string error = error_of([&] { plan.forward(array.data(), spectrum); });
  EXPECT_EQ(error.find("invalid_argument: "), 0U) << error;
  EXPECT_NE(error.find("in_place"), std::string::npos) << error;
  plan.forward(array.data(), reinterpret_cast<Complex*>(array.data()));
}

TEST(ExecuteRefuses, NothingWhenARankHasNoPoints) {
  Plan<Complex> plan(MPI_COMM_WORLD, {1, 2});
  const auto box_bytes = [](const Layout& layout) {
    return layout.allocated_elements(world().rank());
  };
  std::vector<Complex> input(static_cast<std::size_t>(box_bytes(plan.input_layout())));
  std::vector<Complex> output(static_cast<std::size_t>(box_bytes(plan.output_layout())));
  EXPECT_EQ(error_of([&] { plan.forward(input.data(), output.data()); }), "");
}

// Errors leave nothing behind: communicators are few.
TEST(PlanErrors, CanHappenManyTimes) {
  for (int i = 0; i < 300; ++i) {
    Asked asked;
    asked.options.exchange = i % 2 == 0 ? "pigeon" : "auto";
    asked.options.engine = i % 2 == 1 ? "abacus" : "auto";
    EXPECT_EQ(error_of([&] {
                AnyPlan(MPI_COMM_WORLD, asked.shape, asked.input, asked.output, asked.options);
              }).find("unavailable: "),
              0U);
  }
  expect_still_works();
}

}  // namespace
}  // namespace weft
