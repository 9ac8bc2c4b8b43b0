// Plans as programs use them: several at once on different communicators, executed again and again,
// moved, from threads; with the same bits every time; what a plan tells about itself.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <complex>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/redistribution.hpp"
#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::world;
using Complex = std::complex<double>;

Options with_exchange(const std::string& name) {
  Options options;
  options.exchange = name;
  return options;
}

bool same_bits(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Complex)) == 0);
}

/// A communicator of MPI's own, freed at the end.
class Comm {
 public:
  Comm(int color, int key) { MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm_); }
  ~Comm() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// A real transform with its arrays and what it must give; each user has data of its own.
class User {
 public:
  User(MPI_Comm comm, const Shape& shape, int field, const Options& options)
      : plan_(comm, shape, options),
        input_(plan_.make_input()),
        output_(plan_.make_output()),
        field_(field),
        shape_(shape),
        signal_(test::sampled(shape, field, false)),
        spectrum_(test::direct_transform(signal_, plan_.options().kinds)) {}

  void forward() {
    input_.fill([&](const Index& index) { return signal_(index).real(); });
    plan_.forward(input_, output_);
    output_.for_each([&](const Index& index, const Complex& element) {
      expect_close(test::Value(element), spectrum_(index), spectrum_.rms());
    });
  }
  void backward() {
    input_.fill([](const Index&) { return 0; });
    plan_.backward(output_, input_);
    input_.for_each([&](const Index& index, double element) {
      expect_close(element, signal_(index), 2 * signal_.rms());
    });
  }

 private:
  void expect_close(const test::Value& got, const test::Value& wanted, long double scale) const {
    const auto points = static_cast<long double>(shape_.product());
    EXPECT_LE(std::abs(got - wanted), scale * test::tolerance(Precision::double_, points))
        << "field " << field_;
  }

  Plan<double> plan_;
  Array<double> input_;
  Array<Complex> output_;
  int field_;
  Shape shape_;
  test::Field signal_;
  test::Field spectrum_;
};

class PlansWith : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, PlansWith, ::testing::ValuesIn(test::auto_and_exchanges_for_any_shape()),
                         [](const auto& test) { return test.param; });

TEST_P(PlansWith, WorkSideBySideOnDifferentCommunicators) {
  if (GetParam() == "rma") GTEST_SKIP() << "some MPIs refuse windows on parts of the world";
  const int rank = world().rank();
  const Options options = with_exchange(GetParam());
  const Comm backwards(0, -rank);
  const Comm halves(rank % 2, rank);
  const Comm uneven(rank < (world().size() + 2) / 3 ? 0 : 1, -rank);
  const Comm alone(rank, 0);
  User on_world(MPI_COMM_WORLD, {6, 7, 8}, 0, options);
  User on_backwards(backwards.get(), {9, 4, 10}, 1, options);
  User on_half(halves.get(), {5, 8, 6 + rank % 2}, 2, options);
  User on_uneven(uneven.get(), {12, 11}, 3, options);
  User on_self(alone.get(), {4 + rank, 5}, 4, options);
  User again_on_world(MPI_COMM_WORLD, {6, 7, 8}, 5, options);
  for (int round = 0; round < 3; ++round) {
    on_world.forward();
    on_half.forward();
    again_on_world.forward();
    if (rank % 2 == 0) on_half.backward();  // its other half does so later
    on_self.forward();
    on_backwards.forward();
    again_on_world.backward();
    on_uneven.forward();
    on_world.backward();
    if (rank % 2 == 1) on_half.backward();
    on_backwards.backward();
    if (rank % 3 == 0) on_self.backward();
    on_uneven.backward();
  }
}

// Ranks run ahead of each other: nobody's memory may be overwritten before it has been read.
TEST_P(PlansWith, GiveTheSameThroughManyCallsOfUnevenRanks) {
  std::mt19937 random(static_cast<unsigned>(world().rank()));
  const Shape shape{8, 6, 10};
  Options options = with_exchange(GetParam());
  options.input.grid = test::even_grid(3, 2, world().size());
  options.output.grid = options.input.grid;
  Plan<Complex> plan(MPI_COMM_WORLD, shape, options);
  auto input = plan.make_input();
  auto output = plan.make_output();
  auto back = plan.make_input();
  // The transform of a constant c is c * N at 0: whatever arrives from another call shows.
  for (int call = 1; call <= 60; ++call) {
    if (random() % 8 == 0) testing::random_delay(random, 1500);
    input.fill([&](const Index&) { return call; });
    plan.forward(input, output);
    output.for_each([&](const Index& index, const Complex& element) {
      EXPECT_LE(std::abs(element - (index == Index{0, 0, 0} ? 480.0 * call : 0.0)), 1e-9) << call;
    });
    if (call % 3 == 0) continue;
    plan.backward(output, back);
    back.for_each([&](const Index&, const Complex& element) {
      EXPECT_LE(std::abs(element - Complex(call)), 1e-11) << call;
    });
  }
}

TEST_P(PlansWith, GiveTheSameBitsWithTwoThreads) {
  const Shape shape{12, 18, 10};
  std::optional<std::vector<Complex>> expected;
  for (const int threads : {1, 2}) {
    Options options = with_exchange(GetParam());
    options.engine = engines().front();
    options.threads = threads;
    Plan<double> plan(MPI_COMM_WORLD, shape, options);
    EXPECT_EQ(plan.options().threads, threads);
    auto input = plan.make_input();
    auto output = plan.make_output();
    input.fill([](const Index& index) { return test::sample(index, 0, 0); });
    plan.forward(input, output);
    const std::vector<Complex> got(output.data(), output.data() + output.field_stride());
    if (!expected) expected = got;
    EXPECT_TRUE(same_bits(got, *expected));
  }
}

// A program may call from the master of a parallel region, where the other threads wait. Its own
// loops must then be shared out as before.
TEST_P(PlansWith, WorkInsideAParallelRegion) {
  for (const int threads : {1, 2}) {
    Options options = with_exchange(GetParam());
    options.threads = threads;
    User user(MPI_COMM_WORLD, {9, 8, 7}, 0, options);
    std::atomic<int> turns = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp master
      user.forward();
#pragma omp barrier
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 30; ++i) ++turns;
#pragma omp master
      user.backward();
    }
    EXPECT_EQ(turns, 30) << "with " << threads << " threads";
  }
}

TEST_P(PlansWith, OutliveTheCommunicatorTheyWereMadeOn) {
  std::optional<User> user;
  {
    const Comm passing(0, world().rank());
    user.emplace(passing.get(), Shape{8, 8, 8}, 0, with_exchange(GetParam()));
  }
  user->forward();
  user->backward();
}

// A plan's messages are its own: a receive of the user's that takes anything is left alone.
TEST_P(PlansWith, LeaveTheUsersMessagesAlone) {
  const int next = (world().rank() + 1) % world().size();
  int got = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  User user(MPI_COMM_WORLD, {8, 6, 10}, 0, with_exchange(GetParam()));
  user.forward();
  const int mine = world().rank();
  MPI_Send(&mine, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
  user.backward();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ((got + 1) % world().size(), world().rank());
}

TEST(Plans, MadeAgainGiveTheSameBits) {
  const Shape shape{10, 9, 14};
  for (const std::string& engine : engines())
    for (const int count : {1, 2, 3}) {
      std::optional<std::vector<Complex>> expected;
      for (int time = 0; time < 2; ++time) {
        Options options;
        options.engine = engine;
        options.input.grid = test::even_grid(3, count, world().size());
        Plan<double> plan(MPI_COMM_WORLD, shape, options);
        auto input = plan.make_input();
        auto output = plan.make_output();
        input.fill([](const Index& index) { return test::sample(index, 0, 0); });
        plan.forward(input, output);
        const std::vector<Complex> got(output.data(), output.data() + output.field_stride());
        if (!expected) expected = got;
        EXPECT_TRUE(same_bits(got, *expected)) << engine << " over " << count << " axes";
      }
    }
}

TEST(Plans, CanBeMoved) {
  Plan<double> first(MPI_COMM_WORLD, {8, 6, 10});
  Plan<double> second = std::move(first);
  first = Plan<double>(MPI_COMM_WORLD, {4, 4});
  auto input = second.make_input();
  auto output = second.make_output();
  input.fill([](const Index&) { return 1; });
  second.forward(input, output);
  output.for_each([](const Index& index, const Complex& element) {
    EXPECT_LE(std::abs(element - (index == Index{0, 0, 0} ? 480.0 : 0.0)), 1e-9);
  });
}

TEST(Plans, ResolveEveryOption) {
  const Plan<double> plan(MPI_COMM_WORLD, {8, 6, 10});
  const Options& options = plan.options();
  EXPECT_EQ(options.kinds, (std::vector<Kind>{Kind::c2c, Kind::c2c, Kind::r2c}));
  EXPECT_NE(options.exchange, "auto");
  EXPECT_NE(options.engine, "auto");
  EXPECT_GE(options.threads, 1);
  for (const std::vector<int>& grid : {options.input.grid, options.output.grid}) {
    ASSERT_EQ(grid.size(), 3U);
    EXPECT_EQ(grid[0] * grid[1] * grid[2], world().size());
  }
  EXPECT_EQ(plan.comm(), MPI_COMM_WORLD);
  EXPECT_EQ(plan.rank(), world().rank());
}

/// Elements of a redistribution that change their rank, on all ranks together.
std::int64_t elements_moved(const Layout& from, const Layout& to) {
  std::int64_t moved = 0;
  for (int rank = 0; rank < from.ranks(); ++rank)
    for (const Block& block : redistribution_between(from, to, rank).sends)
      if (block.peer != rank) moved += block.box.volume();
  return moved;
}

TEST_P(PlansWith, TellTheirProgram) {
  Options options = with_exchange(GetParam());
  options.fields = 2;
  options.input.grid = test::even_grid(3, 2, world().size());
  options.output.grid = options.input.grid;
  Plan<double> plan(MPI_COMM_WORLD, {8, 6, 10}, options);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const bool forward = direction == Direction::forward;
    const std::vector<Step> steps = plan.program(direction);
    ASSERT_FALSE(steps.empty());
    Layout layout = forward ? plan.input_layout() : plan.output_layout();
    std::string axes;
    for (const Step& step : steps) {
      EXPECT_EQ(step.seconds, 0);
      if (step.type == Step::Type::exchange) {
        const std::int64_t element = step.layout.shape() == Shape{8, 6, 10} ? 8 : 16;
        EXPECT_EQ(world().sum(step.bytes), 2 * element * elements_moved(layout, step.layout));
        EXPECT_EQ(world().sum(step.bytes_off_node), 0);
      } else {
        axes += step.name;
        EXPECT_GE(step.bytes, 0);
      }
      layout = step.layout;
    }
    EXPECT_EQ(layout.boxes(), (forward ? plan.output_layout() : plan.input_layout()).boxes());
    for (const char* axis : {"0", "1", "2"}) EXPECT_NE(axes.find(axis), std::string::npos) << axes;
    EXPECT_EQ(plan.profile(direction).size(), steps.size());
  }
}

}  // namespace
}  // namespace weft
