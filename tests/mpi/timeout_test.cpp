// Options::timeout: one rank comes late, and the others must say so in time, name what they waited
// for, and get away: their plans can be destroyed, the late rank gets through or times out itself,
// and new plans work. Without late ranks a timeout changes nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "late_rank.hpp"
#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::LateRank;
using testing::world;
using Complex = std::complex<double>;
using Clock = std::chrono::steady_clock;

constexpr double kTimeout = 0.3;  ///< seconds
const Shape kShape{32, 24, 32};   ///< its messages are so long that sends wait for their receiver

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
int late_rank() { return world().size() - 1; }

std::vector<std::string> exchanges_with_timeout() {
  std::vector<std::string> names = test::exchanges_for_any_shape();
  names.emplace_back("alltoall");
  std::erase_if(names, [](const std::string& name) { return exchange_named(name).blocks(); });
  return names;
}

Options options_of(const std::string& exchange, double timeout) {
  Options options;
  options.exchange = exchange;
  options.chunks = 2;
  options.fields = 2;
  options.timeout = timeout;
  options.engine = engines().front();
  options.input.grid = test::even_grid(3, 1, world().size());
  return options;
}

/// All of the input lies on the first rank, so that others send it nothing.
Options from_first_rank(const std::string& exchange) {
  Options options = options_of(exchange, kTimeout);
  options.fields = options.chunks = 1;
  options.input.grid.clear();
  options.input.box = world().rank() == 0 ? Box::whole(kShape) : Box{{0, 0, 0}, {0, 0, 0}};
  options.output.grid = test::even_grid(3, 1, world().size());
  return options;
}

/// A plan and its arrays, which are to be thrown away together.
struct Planned {
  explicit Planned(const Options& options)
      : plan(MPI_COMM_WORLD, kShape, options),
        input(plan.make_input()),
        output(plan.make_output()) {}
  void forward() { plan.forward(input, output); }

  Plan<Complex> plan;
  Array<Complex> input;
  Array<Complex> output;
};

void expect_words(const std::string& error, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(error.find(word), std::string::npos) << "no \"" << word << "\" in: " << error;
}

bool tells_ranks(const std::string& exchange) {
  return exchange == "shared" || exchange == "pairwise" || exchange == "mixed" ||
         exchange == "hierarchical";
}

std::string late_rank_name() { return "rank " + std::to_string(late_rank()); }

/// What the ranks in time get, and what they can still do.
void expect_timeout(const std::string& error, const std::string& exchange, double seconds) {
  expect_words(error, {"timeout: exchange \"" + exchange + "\"", "field 0, chunk 0", "0.3"});
  if (tells_ranks(exchange)) expect_words(error, {"nothing from " + late_rank_name()});
  EXPECT_GE(seconds, kTimeout);
}

void expect_can_do_no_more(Planned& planned) {
  const std::string error = error_of([&] { planned.forward(); });
  expect_words(error, {"invalid_argument: ", "failed", "new plan"});
}

/// Collective; shows that everybody has got away.
void expect_new_plans_work(const std::string& exchange) {
  Planned again(options_of(exchange, 60));
  again.input.fill([](const Index&) { return 1; });
  again.forward();
  again.output.for_each([](const Index& index, const Complex& element) {
    const auto points = static_cast<double>(kShape.product());
    EXPECT_LE(std::abs(element - (index == Index{0, 0, 0} ? points : 0.0)), 1e-8);
  });
}

/// `call` on a plan with these options, for which one rank comes when the others have given up and
/// thrown their plans away.
template <class Call>
void come_late(const Options& options, Call&& call) {
  std::optional<Planned> planned(options);
  LateRank late(late_rank());
  world().barrier();
  EXPECT_TRUE(late.comes_in_time());
  const auto begin = Clock::now();
  const std::string error = error_of([&] { call(*planned); });
  if (late.is_me())  // what the others have sent may be enough for it
    EXPECT_TRUE(error.empty() || error.find("timeout: ") == 0) << error;
  else
    expect_timeout(error, options.exchange, seconds_since(begin));
  if (!error.empty()) expect_can_do_no_more(*planned);
  planned.reset();
  late.others_are_done();
}

class Timeout : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  }
};
INSTANTIATE_TEST_SUITE_P(, Timeout, ::testing::ValuesIn(exchanges_with_timeout()),
                         [](const auto& test) { return test.param; });

TEST_P(Timeout, IsToldWhenARankIsLate) {
  const Options options = options_of(GetParam(), kTimeout);
  try {
    const Planned possible(options);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  come_late(options, [](Planned& planned) { planned.forward(); });
  expect_new_plans_work(GetParam());
}

TEST_P(Timeout, ChangesNothingWhenRanksAreInTime) {
  try {
    expect_new_plans_work(GetParam());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    GTEST_SKIP() << error.what();
  }
}

// Who only sends waits for nobody's data, but for its messages to be taken.
TEST_P(Timeout, HoldsForSendersToo) {
  if (GetParam() == "alltoall") GTEST_SKIP() << "it refuses such a shape";
  std::optional<Planned> planned(from_first_rank(GetParam()));
  LateRank late(late_rank());
  world().barrier();
  EXPECT_TRUE(late.comes_in_time());
  const std::string error = error_of([&] { planned->forward(); });
  EXPECT_TRUE(error.empty() || error.find("timeout: ") == 0) << error;
  if (world().rank() == 0 && GetParam() == "pairwise")
    expect_words(error, {"timeout: ", late_rank_name()});
  planned.reset();
  late.others_are_done();
  world().barrier();
  expect_new_plans_work("pairwise");
}

TEST_P(Timeout, EndsAPlanOfPartsInTheMidstOfThem) {
  if (GetParam() == "alltoall") GTEST_SKIP() << "it refuses such a shape";
  Options options = options_of(GetParam(), kTimeout);
  options.in_place = options.low_memory = true;
  std::optional<Plan<Complex>> plan(std::in_place, MPI_COMM_WORLD, kShape, options);
  auto input = plan->make_input();
  auto output = plan->output_in(input);
  plan->forward(input, output);
  LateRank late(late_rank());
  world().barrier();
  EXPECT_TRUE(late.comes_in_time());
  const std::string error = error_of([&] { plan->forward(input, output); });
  if (!late.is_me())
    expect_words(error, {"timeout: low_memory, field 0, turn ", "exchange \"" + GetParam() + "\""});
  if (!error.empty()) {
    const std::string next = error_of([&] { plan->backward(output, input); });
    expect_words(next, {"invalid_argument: ", "failed", "new plan"});
  }
  plan.reset();
  late.others_are_done();
  expect_new_plans_work(GetParam());
}

TEST_P(Timeout, HoldsForRanksThatHaveNotBegun) {
  Options options = options_of(GetParam(), kTimeout);
  options.shared_arrays = true;
  options.output.grid = options.input.grid;
  if (GetParam() == "alltoall") GTEST_SKIP() << "it refuses such a shape";
  std::optional<Planned> planned(options);
  if (!planned->plan.options().shared_arrays) GTEST_SKIP() << "it has no use for shared arrays";
  LateRank late(late_rank());
  world().barrier();
  EXPECT_TRUE(late.comes_in_time());
  const std::string error = error_of([&] { planned->forward(); });
  if (!late.is_me())
    expect_words(error,
                 {"timeout: exchange \"shared\"", "the call has not begun on", late_rank_name()});
  if (!error.empty()) expect_can_do_no_more(*planned);
  planned.reset();
  late.others_are_done();
  expect_new_plans_work(GetParam());
}

// A window may not be written to before peers have read what it held in the call before.
TEST_P(Timeout, HoldsForRanksThatStillRead) {
  if (GetParam() != "shared" && GetParam() != "mixed" && GetParam() != "hierarchical")
    GTEST_SKIP() << "it has no window";
  std::optional<Planned> planned(from_first_rank(GetParam()));
  LateRank late(late_rank());
  world().barrier();
  EXPECT_TRUE(late.comes_in_time());
  const std::string error = error_of([&] {
    planned->forward();
    planned->forward();
  });
  if (world().rank() == 0)
    expect_words(error,
                 {"timeout: exchange \"" + GetParam() + "\"", "the call before", late_rank_name()});
  planned.reset();
  late.others_are_done();
  world().barrier();
  expect_new_plans_work("shared");
}

TEST_P(Timeout, IsToldByRuns) {
  if (GetParam() != "shared" && GetParam() != "pairwise" && GetParam() != "ialltoallv")
    GTEST_SKIP() << "enough that some do, which takes a second each";
  come_late(options_of(GetParam(), kTimeout), [](Planned& planned) {
    weft::Run run = planned.plan.start_forward(planned.input, planned.output);
    for (int i = 0; i < 10; ++i) run.progress();
    run.wait();
  });
  world().barrier();
}

// Who has something else to do until the end may never wait.
TEST_P(Timeout, IsToldByProgressAlone) {
  if (GetParam() != "shared" && GetParam() != "pairwise" && GetParam() != "ialltoallv")
    GTEST_SKIP() << "enough that some do, which takes a second each";
  come_late(options_of(GetParam(), kTimeout), [](Planned& planned) {
    weft::Run run = planned.plan.start_forward(planned.input, planned.output);
    while (!run.progress()) std::this_thread::yield();
  });
  world().barrier();
  expect_new_plans_work(GetParam());
}

// Without a thread of its own MPI does nothing between the calls of a program that makes few.
TEST(Timeouts, AreNotForRanksThatSeldomAsk) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  Planned planned(options_of("pairwise", kTimeout));
  {
    weft::Run run = planned.plan.start_forward(planned.input, planned.output);
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(1.2 * kTimeout));
      run.progress();
    }
    run.wait();
  }
  world().barrier();
}

TEST(Timeouts, EndRunsThatNobodyWaitsFor) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (const bool plan_first : {false, true}) {
    std::optional<Planned> planned(options_of("pairwise", kTimeout));
    LateRank late(late_rank());
    world().barrier();
    EXPECT_TRUE(late.comes_in_time());
    const auto input = planned->input.memory();  // it outlives the call
    const auto output = planned->output.memory();
    {
      weft::Run run = planned->plan.start_forward(planned->input, planned->output);
      if (plan_first) planned.reset();
    }
    planned.reset();
    late.others_are_done();
    world().barrier();
  }
  expect_new_plans_work("pairwise");
}

TEST(Timeouts, EndTheProgressThreadToo) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  Options options = options_of("pairwise", kTimeout);
  options.progress = Progress::thread;
  come_late(options, [](Planned& planned) { planned.forward(); });
  world().barrier();
  expect_new_plans_work("pairwise");
}

// Freeing an MPI window waits for all ranks of it.
TEST(Timeouts, LeaveMpiWindowsAlone) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  setenv("WEFT_WINDOW", "mpi", 1);
  const Options options = options_of("shared", kTimeout);
  come_late(options, [](Planned& planned) { planned.forward(); });
  unsetenv("WEFT_WINDOW");
  world().barrier();
  expect_new_plans_work("shared");
}

TEST(Timeouts, AreRefusedByExchangesThatBlock) {
  if (world().size() == 1) GTEST_SKIP() << "one rank exchanges nothing";
  for (const std::string& exchange : exchanges()) {
    if (!exchange_named(exchange).blocks()) continue;
    const std::string mine = error_of([&] { const Planned refused(options_of(exchange, 5)); });
    for (const std::string& error : testing::texts_of_all(world(), mine)) EXPECT_EQ(error, mine);
    expect_words(mine, {"unavailable: exchange \"" + exchange + "\"", "timeout", "ialltoallv"});
  }
}

}  // namespace
}  // namespace weft
