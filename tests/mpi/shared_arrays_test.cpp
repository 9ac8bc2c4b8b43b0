// Arrays that all ranks reach: what they save, that a plan goes another way where it gets others,
// unless Options::shared_arrays has promised them: then all ranks hear of it and can go on; and how
// such arrays live. The values of such plans are in plan_test.cpp.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::world;
using Complex = std::complex<double>;

const Shape kShape{16, 12, 10};
constexpr std::int64_t kMostForCounters = 16 * 1024;  ///< bytes

int last_rank() { return world().size() - 1; }

/// Natural output: the same slabs on both sides.
Options natural() {
  Options options;
  options.shared_arrays = true;
  options.engine = engines().front();
  options.input.grid = test::even_grid(3, 1, world().size());
  options.output.grid = options.input.grid;
  return options;
}

/// An impulse, whose spectrum is one everywhere.
struct Impulse {
  explicit Impulse(const Options& options = natural())
      : plan(MPI_COMM_WORLD, kShape, options),
        input(plan.make_input()),
        output(plan.make_output()) {
    fill(input);
  }

  static void fill(Array<Complex>& array) {
    array.fill([](const Index& index) { return index == Index{0, 0, 0} ? 1 : 0; });
  }
  static void expect_ones(const Array<Complex>& array) {
    array.for_each([](const Index& index, const Complex& element) {
      EXPECT_LE(std::abs(element - 1.0), 1e-12) << to_string(index);
    });
  }
  void forward() { plan.forward(input, output); }
  void expect_forward_works() {
    output.fill([](const Index&) { return -1; });
    forward();
    expect_ones(output);
  }

  Plan<Complex> plan;
  Array<Complex> input;
  Array<Complex> output;
};

void expect_same_on_all_ranks(const std::string& error, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(error.find(word), std::string::npos) << "no \"" << word << "\" in: " << error;
  for (const std::string& other : testing::texts_of_all(world(), error)) EXPECT_EQ(error, other);
}

class SharedArraysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
    if (!Plan<Complex>(MPI_COMM_WORLD, kShape, natural()).options().shared_arrays)
      GTEST_SKIP() << "needs all ranks on one node";
  }
};

TEST_F(SharedArraysTest, SaveTheWindowAndTheCopiesOfNaturalOutput) {
  const Shape shape{32, 32, 64};
  for (const bool in_place : {false, true}) {
    Options options = natural();
    options.in_place = in_place;
    const Plan<Complex> plan(MPI_COMM_WORLD, shape, options);
    options.shared_arrays = false;
    const Plan<Complex> without(MPI_COMM_WORLD, shape, options);
    EXPECT_LE(plan.memory().window, kMostForCounters);
    EXPECT_GT(world().max(without.memory().window), kMostForCounters);
    for (const Direction direction : {Direction::forward, Direction::backward})
      for (const Step& step : plan.program(direction)) EXPECT_NE(step.name, "copy");
  }
}

TEST_F(SharedArraysTest, AreStoredIntoByPeersWhereverTheOutputIs) {
  Options options = natural();
  options.output.grid.clear();
  const Plan<Complex> plan(MPI_COMM_WORLD, kShape, options);
  EXPECT_TRUE(plan.options().shared_arrays);
  EXPECT_LE(plan.memory().window, kMostForCounters);
}

/// The greatest difference after a real field has gone forward and backward.
double round_trip_error(Plan<double>& plan) {
  Array<double> field = plan.make_input();
  Array<Complex> modes = plan.make_output();
  const auto value = [](const Index& index, int number) {
    return static_cast<double>(test::sample(index, number, 0));
  };
  const int fields = plan.options().fields;
  for (int number = 0; number < fields; ++number)
    field.fill([&](const Index& index) { return value(index, number); }, number);
  plan.forward(field, modes);
  for (int number = 0; number < fields; ++number)
    field.fill([](const Index&) { return 0.0; }, number);
  plan.backward(modes, field);
  double worst = 0;
  for (int number = 0; number < fields; ++number)
    field.for_each(
        [&](const Index& index, double element) {
          worst = std::max(worst, std::abs(element - value(index, number)));
        },
        number);
  return worst;
}

// They wait there as long as slices of the field are stored one after another behind them.
TEST_F(SharedArraysTest, HaveRoomForTheModesOfARealField) {
  const std::int64_t ranks = world().size();
  for (const Shape& shape : {Shape{32, 32, 64}, Shape{2 * ranks + 1, 257, 256}})
    for (const bool is_natural : {true, false})
      for (const int threads : {1, 2})
        for (const int fields : {1, 2}) {
          SCOPED_TRACE(to_string(shape) + (is_natural ? " natural, " : ", ") +
                       std::to_string(threads) + " threads, " + std::to_string(fields) + " fields");
          Options options = natural();
          if (!is_natural) options.output.grid.clear();
          options.threads = threads;
          options.fields = fields;
          Plan<double> plan(MPI_COMM_WORLD, shape, options);
          EXPECT_EQ(world().max(plan.memory().window) <= kMostForCounters,
                    threads == 1 && fields == 1);
          EXPECT_LE(round_trip_error(plan), 1e-13);
        }
}

TEST_F(SharedArraysTest, AreOfNoUseToExchangesThatSendMessages) {
  Options options = natural();
  options.exchange = "pairwise";
  Impulse impulse(options);
  EXPECT_FALSE(impulse.plan.options().shared_arrays);
  std::vector<Complex> own(static_cast<std::size_t>(impulse.plan.output_field_stride()) + 1);
  EXPECT_NO_THROW(impulse.plan.forward(impulse.input.data(), own.data()));
}

TEST_F(SharedArraysTest, RefuseAnArrayThatThePlanHasNotMade) {
  Impulse impulse;
  const auto output = allocate_zeroed(std::max<std::size_t>(
      64, static_cast<std::size_t>(impulse.plan.output_field_stride()) * sizeof(Complex)));
  const std::string error = error_of([&] {
    impulse.plan.forward(impulse.input.data(), world().rank() == last_rank()
                                                   ? static_cast<Complex*>(output.get())
                                                   : impulse.output.data());
  });
  expect_same_on_all_ranks(error, {"invalid_argument: ", "output of rank ",
                                   std::to_string(last_rank()), "make_output()", "shared_arrays"});
  impulse.expect_forward_works();
}

TEST_F(SharedArraysTest, MayBeOthersOnEachRank) {
  Impulse impulse;
  Array<Complex> other = impulse.plan.make_input();
  Impulse::fill(other);
  const bool mine = world().rank() == last_rank();
  impulse.plan.forward(mine ? other : impulse.input, impulse.output);
  Impulse::expect_ones(impulse.output);
}

TEST_F(SharedArraysTest, RefuseAnArrayThatIsTooSmall) {
  Options options = natural();
  Plan<double> plan(MPI_COMM_WORLD, kShape, options);
  Array<double> input = plan.make_input();
  Array<double> small = plan.make_input();
  const std::string error =
      error_of([&] { plan.forward(input.data(), reinterpret_cast<Complex*>(small.data())); });
  expect_same_on_all_ranks(error, {"invalid_argument: ", "output of rank 0", "too small"});
}

TEST_F(SharedArraysTest, MayBeMadeAndDroppedAtAnyTime) {
  Impulse impulse;
  for (int round = 0; round < 80; ++round) {  // more than a plan remembers
    Array<Complex> input = impulse.plan.make_input();
    Array<Complex> output = impulse.plan.make_output();
    Impulse::fill(input);
    impulse.plan.forward(input, output);
    if (round % 3 == world().rank() % 3) {  // not all ranks at the same time
      input = Array<Complex>(input.layout(), world().rank(), 1, input.field_stride(), nullptr);
    }
    Impulse::expect_ones(output);
  }
  impulse.expect_forward_works();
}

TEST_F(SharedArraysTest, OutliveTheirPlan) {
  std::optional<Impulse> impulse(std::in_place);
  impulse->forward();
  const Array<Complex> output = impulse->output;
  impulse.reset();
  Impulse::expect_ones(output);
}

TEST_F(SharedArraysTest, LetCallsAllocateNothing) {
  Impulse impulse;
  impulse.forward();
  const std::int64_t before = testing::allocations();
  for (int call = 0; call < 3; ++call) {
    impulse.plan.forward(impulse.input, impulse.output);
    impulse.plan.backward(impulse.output, impulse.input);
  }
  EXPECT_EQ(before, testing::allocations());
}

TEST_F(SharedArraysTest, LetACallBeginWhenAllAreThere) {
  Impulse impulse;
  if (world().rank() == last_rank()) {
    world().barrier();  // the others have started theirs
    impulse.forward();
  } else {
    weft::Run run = impulse.plan.start_forward(impulse.input.data(), impulse.output.data());
    EXPECT_FALSE(run.progress());
    world().barrier();
    run.wait();
  }
  Impulse::expect_ones(impulse.output);
}

TEST_F(SharedArraysTest, AreNotForLowMemory) {
  Options options = natural();
  options.in_place = options.low_memory = true;
  expect_same_on_all_ranks(error_of([&] { Plan<Complex>(MPI_COMM_WORLD, kShape, options); }),
                           {"unavailable: ", "low_memory", "shared_arrays"});
}

TEST_F(SharedArraysTest, AreForAllRanksOrNone) {
  Options options = natural();
  options.shared_arrays = world().rank() == 0;
  expect_same_on_all_ranks(error_of([&] { Plan<Complex>(MPI_COMM_WORLD, kShape, options); }),
                           {"rank_mismatch: ", "shared_arrays yes", "shared_arrays no"});
}

/// Natural output without the promise.
Options from_anywhere() {
  Options options = natural();
  options.shared_arrays = false;
  return options;
}

bool copies(const std::vector<Step>& steps) {
  return std::ranges::any_of(steps, [](const Step& step) { return step.name == "copy"; });
}

TEST_F(SharedArraysTest, NeedNoPromise) {
  Impulse impulse(from_anywhere());
  EXPECT_FALSE(impulse.plan.options().shared_arrays);
  EXPECT_FALSE(copies(impulse.plan.program(Direction::forward)));
  impulse.expect_forward_works();
  EXPECT_FALSE(copies(impulse.plan.profile(Direction::forward)));
}

TEST_F(SharedArraysTest, MayComeFromAnotherPlan) {
  Impulse impulse(from_anywhere());
  const Impulse another(from_anywhere());
  impulse.output = another.output;
  impulse.expect_forward_works();
  EXPECT_FALSE(copies(impulse.plan.profile(Direction::forward)));
}

/// Another one on each rank, mostly the first.
Array<Complex>& any_of(std::vector<Array<Complex>>& arrays, test::Random& random) {
  std::size_t mine = 0;
  for (int rank = 0; rank < world().size(); ++rank) {  // the same numbers on all ranks
    const auto any = static_cast<std::size_t>(random.between(0, 5));
    if (rank == world().rank()) mine = any < arrays.size() ? any : 0;
  }
  return arrays[mine];
}

// Ranks that reach nobody do not wait for the others, and may be calls ahead of them.
TEST_F(SharedArraysTest, AreMixedWithOthersFromCallToCall) {
  const Shape shape{2 * world().size() - 1, 6, 5};  // one rank has fewer planes
  Options options = from_anywhere();
  Plan<Complex> plan(MPI_COMM_WORLD, shape, options);
  std::vector<Array<Complex>> inputs{plan.make_input(), plan.make_input()};
  std::vector<Array<Complex>> outputs{plan.make_output(), plan.make_output()};
  inputs.push_back(test::elsewhere(inputs.front()));
  outputs.push_back(test::elsewhere(outputs.front()));
  test::Random random(7);
  for (int round = 0; round < 200; ++round) {
    Array<Complex>& input = any_of(inputs, random);
    Array<Complex>& output = any_of(outputs, random);
    Impulse::fill(input);
    output.fill([](const Index&) { return -1; });
    if (random.one_in(2)) {
      plan.forward(input, output);
    } else {
      weft::Run run = plan.start_forward(input.data(), output.data());
      while (!run.progress()) {
      }
    }
    Impulse::expect_ones(output);
    if (::testing::Test::HasFailure()) break;
  }
}

// What is between the two passes of a long axis lies in the window then, which calls with other
// arrays use.
TEST_F(SharedArraysTest, HaveRoomInTheWindowForWhatIsBetweenTwoPasses) {
  const Shape shape{4096, 3 * world().size() + 1};
  Options options = from_anywhere();
  options.engine = "weft";
  options.input.grid = options.output.grid = {world().size(), 1};
  const auto value = [](const Index& index) {
    return Complex(test::sample(index, 0, 0), test::sample(index, 0, 1));
  };
  Plan<Complex> out_of_place(MPI_COMM_WORLD, shape, options);
  Array<Complex> expected = out_of_place.make_output();
  {
    Array<Complex> input = out_of_place.make_input();
    input.fill(value);
    out_of_place.forward(input, expected);
  }
  options.in_place = true;
  Plan<Complex> plan(MPI_COMM_WORLD, shape, options);
  EXPECT_EQ(plan.memory().buffers, 0);
  std::vector<Array<Complex>> arrays{plan.make_input(), plan.make_input()};
  arrays.push_back(test::elsewhere(arrays.front()));
  test::Random random(11);
  for (int round = 0; round < 60 && !::testing::Test::HasFailure(); ++round) {
    Array<Complex>& array = any_of(arrays, random);
    Array<Complex> modes = plan.output_in(array);
    array.fill(value);
    plan.forward(array, modes);
    double worst = 0;
    modes.for_each([&](const Index& index, const Complex& element) {
      worst = std::max(worst, std::abs(element - expected(index)));
    });
    EXPECT_LE(worst, 1e-10) << "round " << round;
    if (random.one_in(2)) continue;
    plan.backward(modes, array);
    worst = 0;
    array.for_each([&](const Index& index, const Complex& element) {
      worst = std::max(worst, std::abs(element - value(index)));
    });
    EXPECT_LE(worst, 1e-13) << "round " << round << ", backward";
  }
}

TEST_F(SharedArraysTest, AreGoneAnotherWayWhereOneRankHasAnother) {
  Impulse impulse(from_anywhere());
  impulse.expect_forward_works();
  const Array<Complex> shared = impulse.output;
  if (world().rank() == last_rank()) impulse.output = test::elsewhere(shared);
  impulse.expect_forward_works();
  EXPECT_TRUE(copies(impulse.plan.profile(Direction::forward)));
  impulse.output = shared;
  impulse.expect_forward_works();
  EXPECT_FALSE(copies(impulse.plan.profile(Direction::forward)));
}

/// While it lives the numbers of files that this process opens are below `files`.
class FewFiles {
 public:
  explicit FewFiles(rlim_t files) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = files;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

TEST_F(SharedArraysTest, AreGoneAnotherWayWhereOneRankCannotMapThem) {
  Impulse impulse(from_anywhere());
  {
    std::optional<FewFiles> none;
    if (world().rank() == last_rank()) none.emplace(0);
    impulse.expect_forward_works();
    world().barrier();
  }
  EXPECT_TRUE(copies(impulse.plan.profile(Direction::forward)));
  Impulse fresh(from_anywhere());
  impulse.input = fresh.input;
  impulse.output = fresh.output;
  impulse.expect_forward_works();
  EXPECT_FALSE(copies(impulse.plan.profile(Direction::forward)));
}

TEST_F(SharedArraysTest, AreRefusedIfPromisedWhereOneRankCannotMapThem) {
  Impulse impulse;
  std::string error;
  {
    std::optional<FewFiles> none;
    if (world().rank() == last_rank()) none.emplace(0);
    error = error_of([&] { impulse.forward(); });
    world().barrier();
  }
  expect_same_on_all_ranks(error, {"unavailable: ", "cannot map", "shared_arrays"});
  impulse.output = impulse.plan.make_output();
  impulse.input = impulse.plan.make_input();
  Impulse::fill(impulse.input);
  impulse.expect_forward_works();
}

TEST_F(SharedArraysTest, LeaveHalfOfTheFilesToTheUser) {
  constexpr std::size_t kFiles = 512;
  const FewFiles few(kFiles);
  Plan<Complex> plan(MPI_COMM_WORLD, kShape, from_anywhere());
  Plan<Complex> promised(MPI_COMM_WORLD, kShape, natural());
  std::vector<Array<Complex>> arrays;
  while (arrays.size() < kFiles) arrays.push_back(plan.make_input());
  expect_same_on_all_ranks(
      error_of([&] { promised.make_input(); }),
      {"unavailable: ", "half of the files", std::to_string(kFiles), std::to_string(kFiles / 2)});
  Array<Complex>& output = arrays.back();
  Impulse::fill(arrays.front());
  plan.forward(arrays.front(), output);
  Impulse::expect_ones(output);
  EXPECT_TRUE(copies(plan.profile(Direction::forward)));
}

}  // namespace
}  // namespace weft
