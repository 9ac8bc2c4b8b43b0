// Timelines: every task of the program and every unit of its exchanges is there, within the call
// and in the order that the executor promises; recording allocates nothing while a plan executes.
#include <gtest/gtest.h>

#include <complex>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::world;
using Type = TimelineEvent::Type;

struct Case {
  std::string exchange;
  int fields = 1;
  int chunks = 1;
  int threads = 1;
  Progress progress = Progress::poll;
};

Options options_of(const Case& c) {
  Options options;
  options.exchange = c.exchange;
  options.fields = c.fields;
  options.chunks = c.chunks;
  options.threads = c.threads;
  options.progress = c.progress;
  options.engine = engines().front();
  options.input.grid = test::even_grid(3, 2, world().size());
  return options;
}

class TimelineOf : public ::testing::TestWithParam<Case> {
 protected:
  TimelineOf() : plan_(MPI_COMM_WORLD, {16, 12, 20}, options_of(GetParam())) {}

  Timeline recorded(Direction direction) {
    plan_.record(true);
    if (direction == Direction::forward)
      plan_.forward(input_, output_);
    else
      plan_.backward(output_, input_);
    return plan_.timeline();
  }

  Plan<double> plan_;
  Array<double> input_ = plan_.make_input();
  Array<std::complex<double>> output_ = plan_.make_output();
};

TEST_P(TimelineOf, EventsLieWithinTheCallAndNameTheirSteps) {
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const Timeline timeline = recorded(direction);
    const std::vector<Step> program = plan_.program(direction);
    EXPECT_EQ(timeline.direction, direction);
    EXPECT_GT(timeline.seconds, 0);
    double last = 0;
    for (const TimelineEvent& event : timeline.events) {
      EXPECT_LE(last, event.begin);
      EXPECT_LE(event.begin, event.end);
      EXPECT_LE(event.end, timeline.seconds);
      last = event.begin;
      ASSERT_LT(static_cast<std::size_t>(event.step), program.size());
      const Step& step = program[static_cast<std::size_t>(event.step)];
      EXPECT_EQ(event.name, step.name);
      EXPECT_EQ(event.type == Type::compute, step.type == Step::Type::compute);
      EXPECT_GE(event.field, 0);
      EXPECT_LT(event.field, GetParam().fields);
      EXPECT_LT(event.chunk, GetParam().chunks);
    }
  }
}

// Tasks of a step are numbered from 0, the same ones for each field, and each thread takes part.
TEST_P(TimelineOf, HasEveryTaskOnce) {
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    std::map<std::tuple<int, int, int>, std::set<int>> tasks;  // [step, field, thread]
    for (const TimelineEvent& event : recorded(direction).events)
      if (event.type == Type::compute) {
        EXPECT_TRUE((tasks[{event.step, event.field, event.thread}].insert(event.task).second));
      }
    const std::vector<Step> program = plan_.program(direction);
    for (int step = 0; step < static_cast<int>(program.size()); ++step) {
      if (program[static_cast<std::size_t>(step)].type != Step::Type::compute) continue;
      const std::set<int>& first = tasks[{step, 0, 0}];
      EXPECT_GT(first.size() + (program[static_cast<std::size_t>(step)].bytes == 0), 0u);
      for (int field = 0; field < GetParam().fields; ++field)
        for (int thread = 0; thread < GetParam().threads; ++thread)
          EXPECT_EQ((tasks[{step, field, thread}]), first) << step;
      if (!first.empty()) {
        EXPECT_EQ(*first.rbegin() + 1, static_cast<int>(first.size()));
      }
    }
  }
}

TEST_P(TimelineOf, HasEveryUnitOnTheWireBeforeWhoNeedsIt) {
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const Timeline timeline = recorded(direction);
    std::map<std::tuple<int, int, int>, double> arrival;  // [step, field, chunk]
    for (const TimelineEvent& event : timeline.events)
      if (event.type == Type::wire) {
        EXPECT_TRUE(
            arrival.emplace(std::tuple{event.step, event.field, event.chunk}, event.end).second);
      }
    std::size_t exchanges = 0;
    for (const Step& step : plan_.program(direction))
      exchanges += step.type == Step::Type::exchange;
    EXPECT_EQ(arrival.size(), exchanges * static_cast<std::size_t>(GetParam().fields) *
                                  static_cast<std::size_t>(GetParam().chunks));
    for (const TimelineEvent& event : timeline.events) {
      const auto unit = arrival.find({event.step - 1, event.field, event.chunk});
      if (event.type == Type::compute && unit != arrival.end()) {
        EXPECT_LE(unit->second, event.begin);
      }
    }
  }
}

TEST_P(TimelineOf, AllocatesNothingWhileExecuting) {
  for (const bool on : {false, true, false}) {
    plan_.record(on);
    EXPECT_EQ(plan_.memory().timeline > 0, on);
    for (int call = 0; call < 3; ++call) {
      const std::int64_t before = testing::allocations();
      plan_.forward(input_, output_);
      plan_.backward(output_, input_);
      EXPECT_EQ(testing::allocations(), before) << (on ? "on" : "off") << ", call " << call;
    }
    EXPECT_EQ(plan_.timeline().events.empty(), !on);
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& test) {
  const Case& c = test.param;
  return c.exchange + "_f" + std::to_string(c.fields) + "_c" + std::to_string(c.chunks) + "_t" +
         std::to_string(c.threads) + (c.progress == Progress::none ? "_none" : "_poll");
}
std::vector<Case> cases() {
  std::vector<Case> result;
  for (const std::string& exchange : test::exchanges_for_any_shape())
    for (const auto& [fields, chunks] : {std::pair{1, 1}, std::pair{2, 3}})
      result.push_back({exchange, fields, chunks});
  result.push_back({"pairwise", 3, 5, 1, Progress::none});
  result.push_back({"pairwise", 1, 40});  // more chunks than there is to cut
  result.push_back({"auto", 2, 2, 2});
  return result;
}
INSTANTIATE_TEST_SUITE_P(Plans, TimelineOf, ::testing::ValuesIn(cases()), case_name);

TEST(Timeline, IsOfTheLastCallAndNotThereDuringOne) {
  Plan<double> plan(MPI_COMM_WORLD, {12, 10, 8}, options_of({"pairwise", 2, 2}));
  auto input = plan.make_input();
  auto output = plan.make_output();
  EXPECT_TRUE(plan.timeline().events.empty());
  plan.forward(input, output);
  plan.record(true);
  EXPECT_TRUE(plan.timeline().events.empty());
  {
    weft::Run run = plan.start_forward(input, output);
    if (!run.done()) {
      EXPECT_NE(testing::error_of([&] { plan.record(false); }).find("under way"),
                std::string::npos);
      EXPECT_NE(testing::error_of([&] { (void)plan.timeline(); }).find("under way"),
                std::string::npos);
    }
    while (!run.progress()) {
    }
  }
  EXPECT_FALSE(plan.timeline().events.empty());
  plan.record(true);  // which changes nothing
  EXPECT_FALSE(plan.timeline().events.empty());
  plan.record(false);
  EXPECT_TRUE(plan.timeline().events.empty());
}

}  // namespace
}  // namespace weft
