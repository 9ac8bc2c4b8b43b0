// The planner's paths: that each is a valid chain of transforms and redistributions from the input
// layout to the output layout, and how many redistributions the usual decompositions need.
#include "plan/path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layout/redistribution.hpp"
#include "random_geometry.hpp"

namespace weft {
namespace {

using test::Random;

std::vector<AxisTransform> transforms_of(const Shape& shape, const std::vector<Kind>& kinds) {
  std::vector<AxisTransform> transforms;
  for (int axis = 0; axis < shape.size(); ++axis)
    transforms.push_back({kinds[static_cast<std::size_t>(axis)], shape[axis]});
  return transforms;
}

PathProblem problem_of(const Shape& shape, const std::vector<Kind>& kinds, int ranks) {
  PathProblem problem;
  problem.shape = shape;
  problem.transforms = transforms_of(shape, kinds);
  problem.ranks = ranks;
  return problem;
}

PathProblem complex_problem(const Shape& shape, int ranks) {
  return problem_of(shape, std::vector<Kind>(static_cast<std::size_t>(shape.size()), Kind::c2c),
                    ranks);
}

/// From a grid to a grid; {} leaves a side to the planner.
PathProblem between(PathProblem problem, const std::vector<int>& input,
                    const std::vector<int>& output) {
  if (!input.empty()) problem.input_grid = ProcessGrid::from_parts(input);
  if (!output.empty()) problem.output_grid = ProcessGrid::from_parts(output);
  return problem;
}

int redistributions(const Path& path) {
  int count = 0;
  for (const Action& action : path.actions) count += action.redistributes() ? 1 : 0;
  return count;
}

int redistributions(const PathProblem& problem) { return redistributions(find_path(problem)); }

std::string text_of(const PathProblem& problem) {
  std::string text = to_string(problem.shape) + " on " + std::to_string(problem.ranks) + " ranks:";
  for (const AxisTransform& transform : problem.transforms)
    text += std::string(" ") + name_of(transform.kind);
  return text;
}

/// The transforms along a path: each one once, along a local axis, the one of real input first.
void expect_transforms_once(const PathProblem& problem, const Path& path) {
  std::vector<int> times(problem.transforms.size());
  bool complex_seen = false;
  for (std::size_t i = 0; i < path.actions.size(); ++i) {
    const Action action = path.actions[i];
    const Layout& from = path.states[i];
    const Layout& to = path.states[i + 1];
    Shape expected = from.shape();
    if (action.redistributes()) {
      EXPECT_NE(from.boxes(), to.boxes()) << "a redistribution that moves nothing";
    } else {
      const auto& transform = problem.transforms[static_cast<std::size_t>(action.axis)];
      ++times[static_cast<std::size_t>(action.axis)];
      EXPECT_TRUE(from.is_local(action.axis)) << "axis " << action.axis << " is not local";
      EXPECT_FALSE(transform.input_is_real() && complex_seen) << "r2c after another transform";
      complex_seen = true;
      expected[action.axis] = transform.output_extent();
      for (int rank = 0; rank < problem.ranks; ++rank)
        EXPECT_EQ(from.box(rank).empty(), to.box(rank).empty());
    }
    EXPECT_EQ(to.shape(), expected);
  }
  for (std::size_t axis = 0; axis < times.size(); ++axis)
    EXPECT_EQ(times[axis], problem.transforms[axis].transforms() ? 1 : 0) << "axis " << axis;
}

void expect_boxes(const Layout& layout, const std::optional<ProcessGrid>& grid,
                  const std::optional<std::vector<Box>>& boxes) {
  if (boxes) {
    EXPECT_EQ(layout.boxes(), *boxes);
  }
  if (grid) {
    EXPECT_EQ(layout.boxes(), Layout::from_grid(layout.shape(), *grid).boxes());
  }
}

void expect_valid(const PathProblem& problem, const Path& path) {
  SCOPED_TRACE(text_of(problem));
  ASSERT_EQ(path.states.size(), path.actions.size() + 1);
  for (const Layout& state : path.states) {
    ASSERT_EQ(state.ranks(), problem.ranks);
    EXPECT_NO_THROW(Layout::from_boxes(state.shape(), state.boxes()));  // covered once
  }
  EXPECT_EQ(path.states.front().shape(), problem.shape);
  expect_transforms_once(problem, path);
  const Layout& first = path.states.front();
  const Layout& last = path.states.back();
  expect_boxes(first, problem.input_grid, problem.input_boxes);
  expect_boxes(last, problem.output_grid, problem.output_boxes);
}

void expect_valid(const PathProblem& problem) { expect_valid(problem, find_path(problem)); }

/// The largest share of any rank in any state, as a multiple of an even share.
double worst_imbalance(const Path& path) {
  double worst = 1;
  for (const Layout& state : path.states) {
    const double even = static_cast<double>(state.shape().product()) / state.ranks();
    for (const Box& box : state.boxes())
      worst = std::max(worst, static_cast<double>(box.volume()) / even);
  }
  return worst;
}

// ---- how many redistributions
// ---------------------------------------------------------------------

TEST(Path, OneRankNeedsNone) {
  EXPECT_EQ(redistributions(complex_problem({8, 9, 10}, 1)), 0);
  EXPECT_EQ(redistributions(complex_problem({8}, 1)), 0);
}

TEST(Path, SlabNeedsOne) {
  const auto problem = complex_problem({64, 64, 64}, 4);
  EXPECT_EQ(redistributions(between(problem, {4, 1, 1}, {})), 1);
  EXPECT_EQ(redistributions(between(problem, {1, 4, 1}, {})), 1);
  EXPECT_EQ(redistributions(between(problem, {1, 1, 4}, {})), 1);
  EXPECT_EQ(redistributions(problem), 1);
}

// With few ranks a pencil can become a slab in one step; with more ranks than an axis has points it
// cannot, without leaving ranks idle.
TEST(Path, PencilNeedsOneOrTwo) {
  const auto few = complex_problem({64, 64, 64}, 4);
  const auto many = complex_problem({16, 16, 16}, 64);
  for (int whole = 0; whole < 3; ++whole) {
    std::vector<int> two(3, 2);
    std::vector<int> eight(3, 8);
    two[static_cast<std::size_t>(whole)] = eight[static_cast<std::size_t>(whole)] = 1;
    EXPECT_EQ(redistributions(between(few, two, {})), 1) << "axis " << whole;
    EXPECT_EQ(redistributions(between(many, eight, {})), 2) << "axis " << whole;
  }
  EXPECT_EQ(redistributions(many), 2);
}

TEST(Path, PencilsStayWithinRowsAndColumns) {
  const Path path = find_path(between(complex_problem({16, 16, 16}, 64), {8, 8, 1}, {}));
  for (std::size_t i = 0; i < path.actions.size(); ++i) {
    if (!path.actions[i].redistributes()) continue;
    const std::vector<int> groups = exchange_groups(path.states[i], path.states[i + 1]);
    for (const int group : groups) EXPECT_EQ(std::count(groups.begin(), groups.end(), group), 8);
  }
}

TEST(Path, BrickNeedsAtMostFourThereAndBack) {
  const auto problem = complex_problem({64, 64, 64}, 8);
  EXPECT_LE(redistributions(between(problem, {2, 2, 2}, {})), 3);
  EXPECT_LE(redistributions(between(problem, {2, 2, 2}, {2, 2, 2})), 4);
}

TEST(Path, NaturalOutputCostsOneMoreThanTheCheapest) {
  const auto problem = complex_problem({64, 64, 64}, 4);
  EXPECT_EQ(redistributions(between(problem, {4, 1, 1}, {4, 1, 1})), 2);
  EXPECT_EQ(redistributions(between(problem, {2, 2, 1}, {2, 2, 1})), 2);
  const auto many = complex_problem({16, 16, 16}, 64);
  EXPECT_EQ(redistributions(between(many, {8, 8, 1}, {8, 8, 1})), 3);
}

TEST(Path, TransposedOutputCostsNothingExtra) {
  const auto problem = complex_problem({64, 64, 64}, 4);
  EXPECT_EQ(redistributions(between(problem, {4, 1, 1}, {1, 4, 1})), 1);
  EXPECT_EQ(redistributions(between(problem, {}, {1, 4, 1})), 1);
  EXPECT_EQ(redistributions(between(complex_problem({16, 16, 16}, 64), {8, 8, 1}, {1, 8, 8})), 2);
}

TEST(Path, AxesLeftAloneNeedNone) {
  const std::vector<Kind> kinds{Kind::none, Kind::c2c, Kind::c2c};
  EXPECT_EQ(redistributions(problem_of({64, 64, 64}, kinds, 4)), 0);
  EXPECT_EQ(redistributions(between(problem_of({64, 64, 64}, kinds, 4), {4, 1, 1}, {})), 0);
  const std::vector<Kind> nothing(3, Kind::none);
  EXPECT_EQ(redistributions(problem_of({64, 64, 64}, nothing, 4)), 0);
}

TEST(Path, PureRedistributionTakesOneStep) {
  const auto problem = problem_of({16, 16, 16}, std::vector<Kind>(3, Kind::none), 8);
  EXPECT_EQ(redistributions(between(problem, {8, 1, 1}, {1, 8, 1})), 1);
  EXPECT_EQ(redistributions(between(problem, {2, 2, 2}, {1, 1, 8})), 1);
  EXPECT_EQ(redistributions(between(problem, {2, 2, 2}, {2, 2, 2})), 0);
}

TEST(Path, OneDimensionIsGatheredAndSpreadAgain) {
  const auto problem = complex_problem({64}, 4);
  EXPECT_EQ(redistributions(between(problem, {4}, {})), 1);
  EXPECT_EQ(redistributions(between(problem, {4}, {4})), 2);
  expect_valid(between(problem, {4}, {4}));
}

TEST(Path, RealInputIsTransformedFirst) {
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Kind> kinds(3, Kind::c2c);
    kinds[static_cast<std::size_t>(axis)] = Kind::r2c;
    for (const std::vector<int>& grid :
         std::vector<std::vector<int>>{{}, {4, 1, 1}, {1, 2, 2}, {1, 1, 4}}) {
      const auto problem = between(problem_of({16, 18, 20}, kinds, 4), grid, {});
      const Path path = find_path(problem);
      expect_valid(problem, path);
      for (const Action& action : path.actions) {
        if (action.redistributes()) continue;
        EXPECT_EQ(action.axis, axis);
        break;
      }
    }
  }
}

TEST(Path, RealInputOnItsOwnSlabAxisNeedsOneMore) {
  // Axis 0 must be whole before any other may be transformed.
  const auto problem = problem_of({64, 64, 64}, {Kind::r2c, Kind::c2c, Kind::c2c}, 4);
  EXPECT_EQ(redistributions(between(problem, {4, 1, 1}, {})), 2);
  EXPECT_EQ(redistributions(between(problem, {1, 4, 1}, {})), 1);
  EXPECT_EQ(redistributions(problem), 1);
}

// ---- balance of what the planner chooses itself
// ----------------------------------------------------

TEST(Path, DefaultKeepsEveryRankBusy) {
  EXPECT_LT(worst_imbalance(find_path(complex_problem({64, 64}, 4))), 1.01);
  EXPECT_LT(worst_imbalance(find_path(complex_problem({16, 16, 16}, 64))), 1.01);
  EXPECT_LT(worst_imbalance(find_path(complex_problem({128, 128, 128}, 6))), 1.1);
  EXPECT_LT(worst_imbalance(find_path(complex_problem({8, 8, 8, 8}, 16))), 1.01);
}

TEST(Path, PrefersUnevenSharesOfWholeRowsToEvenOnesOfCutRows) {
  const Path path = find_path(problem_of({243, 243, 243}, {Kind::c2c, Kind::c2c, Kind::r2c}, 2));
  for (const Layout& layout : path.states) EXPECT_TRUE(layout.is_local(2));
}

TEST(Path, CutsRowsWhereSharesWouldElseBeVeryUneven) {
  const Path path = find_path(complex_problem({200, 3, 200}, 2));
  EXPECT_TRUE(path.states.front().is_local(2));
  EXPECT_FALSE(path.states.back().is_local(2));
}

TEST(Path, DefaultOutputIsStillSpread) {
  for (const int ranks : {2, 3, 4, 6, 8}) {
    const Path path = find_path(complex_problem({24, 24, 24}, ranks));
    for (const Box& box : path.states.back().boxes()) EXPECT_FALSE(box.empty()) << ranks;
  }
}

// ---- validity of all sorts of paths
// -----------------------------------------------------------------

TEST(Path, LeavesAnAxisWholeOnBothSidesWhenAsked) {
  for (const Shape& shape : std::vector<Shape>{{16, 16}, {16, 2}, {6, 8, 10}, {2, 3, 64}})
    for (const int ranks : {1, 2, 3, 4, 6})
      for (int whole = 0; whole < shape.size(); ++whole) {
        PathProblem problem = complex_problem(shape, ranks);
        problem.whole_axis = whole;
        const Path path = find_path(problem);
        expect_valid(problem, path);
        for (const Layout* side : {&path.states.front(), &path.states.back()}) {
          EXPECT_TRUE(side->is_local(whole)) << text_of(problem) << " axis " << whole;
          const auto others = shape.product() / shape[whole];
          if (others < ranks) continue;
          EXPECT_TRUE(std::none_of(side->boxes().begin(), side->boxes().end(),
                                   [&](const Box& box) { return box == Box::whole(shape); }) ||
                      ranks == 1)
              << text_of(problem);
        }
      }
}

TEST(Path, WorksWithMoreRanksThanPoints) {
  for (const Shape& shape : {Shape{1}, Shape{2}, Shape{2, 2}, Shape{1, 1, 1}, Shape{3, 1, 2}})
    for (const int ranks : {1, 2, 5, 8, 12}) expect_valid(complex_problem(shape, ranks));
}

// The search among 7^6 assignments of six grid dimensions must stay a matter of seconds.
TEST(Path, WorksInSixDimensions) {
  const Shape shape{4, 3, 5, 2, 6, 3};
  const auto kinds =
      std::vector<Kind>{Kind::c2c, Kind::none, Kind::c2c, Kind::c2c, Kind::c2c, Kind::r2c};
  for (const int ranks : {1, 6, 8, 12, 64}) {
    const auto problem = problem_of(shape, kinds, ranks);
    expect_valid(problem);
    if (ranks == 64) expect_valid(between(problem, {2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2}));
    if (ranks == 8) expect_valid(between(problem, {2, 1, 1, 2, 1, 2}, {1, 8, 1, 1, 1, 1}));
  }
}

TEST(Path, IsTheSameEveryTime) {
  const auto problem = complex_problem({12, 10, 14, 9}, 12);
  const Path once = find_path(problem);
  const Path again = find_path(problem);
  EXPECT_EQ(once.states, again.states);
}

TEST(Path, IsValidForRandomProblems) {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 5), 6);
    const int ranks = random.between(1, 12);
    std::vector<Kind> kinds;
    for (int axis = 0; axis < shape.size(); ++axis)
      kinds.push_back(random.one_in(4) ? Kind::none : Kind::c2c);
    if (random.one_in(2))
      kinds[static_cast<std::size_t>(random.between(0, shape.size() - 1))] = Kind::r2c;
    auto problem = problem_of(shape, kinds, ranks);
    const int input = random.between(0, 2);
    const int output = random.between(0, 2);
    if (input == 1) problem.input_grid = test::random_grid(random, shape.size(), ranks);
    if (input == 2) problem.input_boxes = test::random_boxes(random, shape, ranks);
    const Shape after = test::output_shape(shape, kinds);
    if (output == 1) problem.output_grid = test::random_grid(random, shape.size(), ranks);
    if (output == 2) problem.output_boxes = test::random_boxes(random, after, ranks);
    SCOPED_TRACE("round " + std::to_string(round));
    expect_valid(problem);
  }
}

TEST(Path, RefusesBoxesThatDoNotCover) {
  auto problem = complex_problem({4, 4}, 2);
  problem.input_boxes = std::vector<Box>{{{0, 0}, {2, 4}}, {{3, 0}, {4, 4}}};
  EXPECT_THROW(find_path(problem), Error);
  problem.input_boxes.reset();
  problem.output_boxes = std::vector<Box>{{{0, 0}, {3, 4}}, {{2, 0}, {4, 4}}};
  EXPECT_THROW(find_path(problem), Error);
}

}  // namespace
}  // namespace weft
