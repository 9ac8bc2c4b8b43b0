// Plans with low memory: how little they need, what they tell of themselves and of their calls,
// calls in the background, and what they refuse. That they are right is for plan_test.cpp, that
// they allocate what they say for plan_memory_test.cpp.
#include "plan/low_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::world;
using Complex = std::complex<double>;

TEST(Parts, CoverTheAxisInWholeLinesAndNeedLittle) {
  for (const std::int64_t element_bytes : {4, 8, 16})
    for (std::int64_t extent = 1; extent < 3000; ++extent) {
      const std::int64_t line = 64 / element_bytes;
      const Parts parts = parts_of(extent, element_bytes);
      EXPECT_EQ(parts.width * parts.count + parts.rest, extent);
      EXPECT_GE(parts.count, 1);
      EXPECT_LT(parts.rest, parts.width);
      EXPECT_TRUE(parts.width % line == 0 || parts.width == extent) << extent;
      if (extent >= 24 * line) {
        EXPECT_LE(6 * (parts.width + parts.rest), extent);
      }
    }
}

TEST(Parts, AreAsTheirDescriptionSays) {
  const Parts parts = parts_of(129, 16);
  EXPECT_EQ(parts.width, 16);
  EXPECT_EQ(parts.count, 8);
  EXPECT_EQ(parts.rest, 1);
  EXPECT_EQ(parts_of(256, 16).width, 32);
}

Options in_slabs(const std::string& exchange, bool low_memory) {
  Options options;
  options.exchange = exchange;
  options.engine = engines().front();
  options.in_place = true;
  options.low_memory = low_memory;
  options.input.grid = test::even_grid(3, 1, world().size());
  return options;
}

template <class In>
std::int64_t local_bytes(const Plan<In>& plan) {
  return plan.input_field_stride() * plan.input_element().bytes();
}

class LowMemoryOf : public ::testing::TestWithParam<std::string> {
 protected:
  /// Bytes that exchanges need beside the user's array.
  template <class In>
  static double needed(const Shape& shape, bool low_memory) {
    const Plan<In> plan(MPI_COMM_WORLD, shape, in_slabs(GetParam(), low_memory));
    return static_cast<double>(plan.memory().buffers + plan.memory().window);
  }
};
INSTANTIATE_TEST_SUITE_P(Exchanges, LowMemoryOf,
                         ::testing::ValuesIn(test::auto_and_exchanges_for_any_shape()),
                         [](const auto& test) { return test.param; });

TEST_P(LowMemoryOf, NeedsASixthAtMost) {
  constexpr double kPages = 6 * 4096;  // of two windows: counters, and pages not filled
  for (const Shape& shape : std::vector<Shape>{{48, 48, 256}, {24, 72, 200}}) {
    EXPECT_LE(needed<Complex>(shape, true), needed<Complex>(shape, false) / 6 + kPages);
    EXPECT_LE(needed<double>(shape, true), needed<double>(shape, false) / 6 + kPages);
  }
}

TEST(LowMemory, NeedsAnEighthOfALocalArrayWhereMemoryIsShared) {
  const Plan<Complex> plan(MPI_COMM_WORLD, {48, 48, 256}, in_slabs("auto", true));
  EXPECT_LE(static_cast<double>(plan.memory().buffers + plan.memory().window),
            0.15 * static_cast<double>(local_bytes(plan)));
}

/// As many fields and chunks as there may be.
class LowMemoryCall : public ::testing::TestWithParam<std::string> {
 protected:
  static Options options(bool low_memory) {
    Options options = in_slabs(GetParam(), low_memory);
    options.fields = 2;
    options.chunks = 3;
    options.output.grid = test::even_grid(3, 1, world().size());
    std::swap(options.output.grid[0], options.output.grid[1]);
    return options;
  }
  void fill() {
    for (int field = 0; field < 2; ++field)
      array_.fill([&](const Index& index) { return double(test::sample(index, field, 0)); }, field);
  }
  std::vector<char> bits() const {
    const auto bytes = static_cast<std::size_t>(2 * local_bytes(plan_));
    std::vector<char> result(bytes);
    if (bytes > 0) std::memcpy(result.data(), array_.data(), bytes);
    return result;
  }

  Plan<double> plan_{MPI_COMM_WORLD, Shape{9, 10, 37}, options(true)};
  Array<double> array_ = plan_.make_input();
  Array<Complex> spectrum_ = plan_.output_in(array_);
};
INSTANTIATE_TEST_SUITE_P(Exchanges, LowMemoryCall,
                         ::testing::ValuesIn(test::exchanges_for_any_shape()),
                         [](const auto& test) { return test.param; });

TEST_P(LowMemoryCall, MovesAsMuchAsAnotherPlan) {
  const Plan<double> other(MPI_COMM_WORLD, {9, 10, 37}, options(false));
  const auto moved = [](const std::vector<Step>& program) {
    std::int64_t bytes = 0;
    for (const Step& step : program) bytes += step.type == Step::Type::exchange ? step.bytes : 0;
    return bytes;
  };
  for (const Direction direction : {Direction::forward, Direction::backward})
    EXPECT_EQ(moved(plan_.program(direction)), moved(other.program(direction)));
  EXPECT_EQ(plan_.options().fields, 2);
  EXPECT_TRUE(plan_.options().low_memory);
  EXPECT_EQ(plan_.options().engine, other.options().engine);
  EXPECT_EQ(plan_.options().exchange, other.options().exchange);
}

TEST_P(LowMemoryCall, IsProfiledInAllItsParts) {
  fill();
  const auto begin = std::chrono::steady_clock::now();
  plan_.forward(array_, spectrum_);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const std::vector<Step> program = plan_.program(Direction::forward);
  const std::vector<Step> profile = plan_.profile(Direction::forward);
  ASSERT_EQ(program.size(), profile.size());
  double seconds = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    EXPECT_EQ(program[i].name, profile[i].name);
    EXPECT_EQ(program[i].layout.shape()[2], plan_.output_layout().shape()[2]);
    EXPECT_EQ(program[i].seconds, 0);
    seconds += profile[i].seconds;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, spent.count());
}

TEST_P(LowMemoryCall, HasATimelineOfAllItsParts) {
  const Parts parts = parts_of(19, 16);
  plan_.record(true);
  EXPECT_GT(plan_.memory().timeline, 0);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    if (direction == Direction::forward) {
      plan_.forward(array_, spectrum_);
    } else {
      plan_.backward(spectrum_, array_);
    }
    const Timeline timeline = plan_.timeline();
    const std::vector<Step> program = plan_.program(direction);
    EXPECT_EQ(timeline.direction, direction);
    std::int64_t units = 0;
    std::vector<bool> seen(program.size());
    double last = 0;
    for (const TimelineEvent& event : timeline.events) {
      EXPECT_LE(last, event.begin);
      EXPECT_LE(event.begin, event.end);
      EXPECT_LE(event.end, timeline.seconds);
      last = event.begin;
      ASSERT_LT(static_cast<std::size_t>(event.step), program.size());
      seen[static_cast<std::size_t>(event.step)] = true;
      EXPECT_EQ(event.name, program[static_cast<std::size_t>(event.step)].name);
      EXPECT_TRUE(event.field == 0 || event.field == 1);
      units += event.type == TimelineEvent::Type::wire;
    }
    EXPECT_TRUE(std::find(seen.begin(), seen.end(), false) == seen.end());
    if (world().size() > 1) {
      EXPECT_EQ(units, 2 * 3 * (parts.count + (parts.rest > 0)));
    }
  }
  plan_.record(false);
  EXPECT_EQ(plan_.memory().timeline, 0);
  EXPECT_TRUE(plan_.timeline().events.empty());
}

TEST_P(LowMemoryCall, MayGoOnInTheBackgroundAndAllocatesNothing) {
  fill();
  plan_.forward(array_, spectrum_);
  const std::vector<char> wanted = bits();
  for (int call = 0; call < 4; ++call) {
    fill();
    plan_.record(call == 2);
    const std::int64_t before = testing::allocations();
    {
      weft::Run run = plan_.start_forward(array_, spectrum_);
      if (call % 2 == 0)
        while (!run.progress()) {
        }
    }
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_TRUE(bits() == wanted) << call;
  }
  {
    weft::Run run = plan_.start_forward(array_, spectrum_);
    if (!run.done()) {
      EXPECT_NE(error_of([&] { plan_.forward(array_, spectrum_); }).find("under way"),
                std::string::npos);
    }
  }
  { const Plan<double> gone = std::move(plan_); }
}

TEST(LowMemory, TakesBoxes) {
  const Shape shape{11, 6, 40};
  Options options;
  options.in_place = options.low_memory = true;
  const auto slab = [&](int axis, int shift) {  // of uneven thickness, some of them empty
    Box box = Box::whole(shape);
    const std::int64_t parts = std::int64_t{world().size()} * world().size();
    const std::int64_t rank = (world().rank() + shift) % world().size();
    box.lower[axis] = shape[axis] * rank * rank / parts;
    box.upper[axis] = shape[axis] * (rank + 1) * (rank + 1) / parts;
    return box;
  };
  options.input.box = slab(0, 0);
  options.output.box = slab(1, 1);
  Plan<Complex> plan(MPI_COMM_WORLD, shape, options);
  auto input = plan.make_input();
  auto output = plan.output_in(input);
  const Index peak{3, 2, 29};
  const auto signal = [&](const Index& index) { return index == peak ? 1.0 : 0.0; };
  input.fill(signal);
  plan.forward(input, output);
  output.for_each([&](const Index& k, const Complex& element) {
    long double turns = 0;
    for (int axis = 0; axis < 3; ++axis)
      turns += static_cast<long double>(k[axis] * peak[axis]) / shape[axis];
    const long double angle = -2 * std::acos(-1.0L) * turns;
    EXPECT_LE(std::abs(element - Complex(double(std::cos(angle)), double(std::sin(angle)))), 1e-13);
  });
  plan.backward(output, input);
  input.for_each([&](const Index& index, const Complex& element) {
    EXPECT_LE(std::abs(element - signal(index)), 1e-13);
  });
}

struct Refused {
  std::string name;
  std::vector<std::string> words;
  std::function<void(Options&)> ask;
  Shape shape{8, 6, 10};
  bool real = false;
};
std::ostream& operator<<(std::ostream& out, const Refused& refused) { return out << refused.name; }

class LowMemoryRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(LowMemoryRefuses, OnAllRanksAlike) {
  if (GetParam().name.find("Cut") != std::string::npos && world().size() == 1)
    GTEST_SKIP() << "needs 2 ranks";
  Options options;
  options.in_place = options.low_memory = true;
  GetParam().ask(options);
  const Element input{Precision::double_, !GetParam().real};
  const std::string mine = error_of([&] {
    AnyPlan(MPI_COMM_WORLD, GetParam().shape, input, ElementOf<Complex>::value, options);
  });
  for (const std::string& other : testing::texts_of_all(world(), mine)) EXPECT_EQ(mine, other);
  EXPECT_EQ(mine.find("unavailable: low_memory "), 0U) << mine;
  for (const std::string& word : GetParam().words)
    EXPECT_NE(mine.find(word), std::string::npos) << "no \"" << word << "\" in: " << mine;
}

std::vector<Refused> refusals() {
  return {
      {"OutOfPlace", {"in_place"}, [](Options& o) { o.in_place = false; }},
      {"OneAxis", {"at least 2 axes"}, [](Options&) {}, {64}},
      {"InputCut",
       {"axis 2", "whole", "the input is cut"},
       [](Options& o) {
         o.input.grid = {1, 1, world().size()};
       }},
      {"OutputCut",
       {"axis 2", "whole", "the output is cut"},
       [](Options& o) {
         o.output.grid = {1, 1, world().size()};
       }},
      {"OtherContiguousAxis",
       {"axis 2 of the input", "axis 0 of the output"},
       [](Options& o) {
         o.output.order = {2, 1, 0};
       }},
      {"RealAxisNotContiguous",
       {"r2c on axis 2", "axis 1"},
       [](Options& o) {
         o.kinds = {Kind::c2c, Kind::r2c, Kind::c2c};
       },
       {8, 6, 10},
       true},
      {"RowsOfOtherLengths",
       {"160 bytes", "192 bytes"},
       [](Options& o) {
         o.output.padding = {{}, {}, {0, 2}};
       }},
      {"RowsThatBeginElsewhere",
       {"with 16 of padding", "with 0 of padding"},
       [](Options& o) {
         o.input.padding = {{}, {}, {1, 1}};
         o.output.padding = {{}, {}, {0, 2}};
       }},
      {"OddRealRows",
       {"88 bytes", "96 bytes"},
       [](Options& o) {
         o.input.padding = {{}, {}, {0, 1}};
       },
       {8, 6, 10},
       true},
  };
}
INSTANTIATE_TEST_SUITE_P(, LowMemoryRefuses, ::testing::ValuesIn(refusals()),
                         [](const auto& test) { return test.param.name; });

TEST(LowMemory, IsTheSameOnAllRanksOrNowhere) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  Options options;
  options.in_place = true;
  options.low_memory = world().rank() == 0;
  const std::string error = error_of([&] { Plan<Complex>(MPI_COMM_WORLD, {8, 6, 10}, options); });
  EXPECT_EQ(error.find("rank_mismatch: "), 0U) << error;
  EXPECT_NE(error.find("low_memory"), std::string::npos) << error;
}

}  // namespace
}  // namespace weft
