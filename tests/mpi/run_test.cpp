// Calls that go on in the background (class Run): begun, let on, waited for, moved, dropped,
// several plans at once, and what happens when the plan goes first. Results are compared bit by bit
// with those of calls that return when they are done.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "late_rank.hpp"
#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::world;
using Complex = std::complex<double>;

/// A plan with arrays, and what it gives when it is called without a Run.
class Background {
 public:
  Background(const Shape& shape, int signal, const std::string& exchange, int chunks = 3,
             int fields = 2)
      : plan_(std::make_unique<Plan<Complex>>(MPI_COMM_WORLD, shape,
                                              options_of(exchange, chunks, fields))),
        input_(plan_->make_input()),
        output_(plan_->make_output()),
        back_(plan_->make_input()) {
    for (int field = 0; field < fields; ++field)
      input_.fill(
          [&](const Index& index) {
            return Complex(static_cast<double>(test::sample(index, signal + field, 0)),
                           static_cast<double>(test::sample(index, signal + field, 1)));
          },
          field);
    plan_->forward(input_, output_);
    spectrum_ = bits_of(output_);
    plan_->backward(output_, back_);
    signal_ = bits_of(back_);
    clear(output_);
    clear(back_);
  }

  Run forward() { return plan_->start_forward(input_, output_); }
  weft::Run backward() { return plan_->start_backward(output_, back_); }
  void expect_spectrum() { EXPECT_TRUE(bits_of(output_) == spectrum_); }
  void expect_signal() {
    EXPECT_TRUE(bits_of(back_) == signal_);
    clear(back_);
  }
  void clear_spectrum() { clear(output_); }
  std::unique_ptr<Plan<Complex>>& plan() { return plan_; }
  Array<Complex>& input() { return input_; }
  Array<Complex>& output() { return output_; }

 private:
  static Options options_of(const std::string& exchange, int chunks, int fields) {
    Options options;
    options.exchange = exchange;
    options.chunks = chunks;
    options.fields = fields;
    options.engine = engines().front();
    options.input.grid = test::even_grid(3, 2, world().size());
    return options;
  }
  static std::int64_t elements(const Array<Complex>& array) {
    return array.fields() * array.field_stride();
  }
  static std::vector<char> bits_of(const Array<Complex>& array) {
    std::vector<char> bits(static_cast<std::size_t>(elements(array)) * sizeof(Complex));
    if (!bits.empty()) std::memcpy(bits.data(), array.data(), bits.size());
    return bits;
  }
  static void clear(Array<Complex>& array) {
    std::fill(array.data(), array.data() + elements(array), Complex(-7, 5));
  }

  std::unique_ptr<Plan<Complex>> plan_;
  Array<Complex> input_;
  Array<Complex> output_;
  Array<Complex> back_;
  std::vector<char> spectrum_;
  std::vector<char> signal_;
};

class RunOf : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Exchanges, RunOf, ::testing::ValuesIn(test::exchanges_for_any_shape()),
                         [](const auto& test) { return test.param; });

TEST_P(RunOf, IsDoneAfterWaiting) {
  Background plan({9, 12, 10}, 0, GetParam());
  weft::Run run = plan.forward();
  run.wait();
  EXPECT_TRUE(run.done());
  EXPECT_TRUE(run.progress());
  run.wait();  // nothing happens
  plan.expect_spectrum();
  plan.backward().wait();
  plan.expect_signal();
}

TEST_P(RunOf, IsDoneInTheEndByProgressAlone) {
  std::mt19937 random(static_cast<unsigned>(world().rank()));
  Background plan({9, 12, 10}, 3, GetParam());
  for (int call = 0; call < 5; ++call) {
    plan.clear_spectrum();
    weft::Run forth = plan.forward();
    while (!forth.progress()) testing::random_delay(random, 200);
    EXPECT_TRUE(forth.done());
    plan.expect_spectrum();
    weft::Run back = plan.backward();
    while (!back.progress()) std::this_thread::yield();
    plan.expect_signal();
  }
}

TEST_P(RunOf, IsWaitedForWhenItIsDestroyed) {
  Background plan({9, 12, 10}, 5, GetParam());
  { const weft::Run run = plan.forward(); }
  plan.expect_spectrum();
  { const weft::Run run = plan.backward(); }
  plan.expect_signal();
}

TEST_P(RunOf, MayBeMoved) {
  Background plan({9, 12, 10}, 7, GetParam());
  std::optional<weft::Run> first(plan.forward());
  weft::Run second = std::move(*first);
  first.reset();  // it has no call any more
  second.progress();
  weft::Run third = plan.plan()->options().fields > 0 ? std::move(second) : plan.forward();
  EXPECT_TRUE(second.done());  // NOLINT: moved from, it has no call
  second.wait();
  third.wait();
  plan.expect_spectrum();
  third = plan.backward();
  third.wait();
  plan.expect_signal();
}

// The call that it had goes on with the one that it was exchanged for.
TEST_P(RunOf, AssignedToAnotherLetsNeitherGo) {
  Background one({9, 12, 10}, 7, GetParam());
  Background two({8, 6, 5}, 8, GetParam());
  {
    weft::Run run = one.forward();
    run = two.forward();
  }
  one.expect_spectrum();
  two.expect_spectrum();
}

TEST_P(RunOf, GoesOnBesideAnotherPlans) {
  Background one({9, 12, 10}, 1, GetParam());
  Background two({6, 14, 11}, 2, GetParam(), 2, 3);
  for (int call = 0; call < 4; ++call) {
    one.clear_spectrum();
    two.clear_spectrum();
    weft::Run first = one.forward();
    weft::Run second = two.forward();
    for (int i = 0; i < 20; ++i) {
      second.progress();
      first.progress();
    }
    first.wait();
    second.wait();
    one.expect_spectrum();
    two.expect_spectrum();
    weft::Run back = two.backward();
    one.plan()->forward(one.input(), one.output());  // a call that waits, meanwhile
    back.wait();
    one.expect_spectrum();
    two.expect_signal();
  }
}

TEST_P(RunOf, AllocatesNothing) {
  Background plan({9, 12, 10}, 1, GetParam());
  for (int call = 0; call < 3; ++call) {
    const std::int64_t before = testing::allocations();
    {
      weft::Run run = plan.forward();
      run.progress();
      weft::Run moved = std::move(run);
      moved.wait();
      const weft::Run dropped = plan.backward();
    }
    EXPECT_EQ(testing::allocations() - before, 0) << "in call " << call;
  }
}

/// Calls that the first rank has begun and the others have not cannot be over.
TEST(Runs, RefuseAnotherCallOfTheirPlan) {
  if (world().size() == 1) GTEST_SKIP() << "with one rank a call is over when it has begun";
  Background plan({8, 8, 8}, 0, "pairwise");
  if (world().rank() != 0) world().barrier();
  weft::Run run = plan.forward();
  if (world().rank() == 0) {
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(run.progress());
    EXPECT_FALSE(run.done());
    for (const std::string& error :
         {error_of([&] { plan.forward(); }), error_of([&] { plan.backward(); }),
          error_of([&] { plan.plan()->forward(plan.input(), plan.output()); })}) {
      EXPECT_EQ(error.find("invalid_argument: "), 0U) << error;
      EXPECT_NE(error.find("under way"), std::string::npos) << error;
    }
    world().barrier();
  }
  run.wait();
  plan.expect_spectrum();
}

TEST(Runs, NeverWaitForOtherRanksInProgress) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (const std::string& exchange : test::exchanges_for_any_shape()) {
    if (exchange == "alltoallv" || exchange == "rma") continue;  // they block in MPI
    // Long enough for messages that wait for their receiver.
    Background plan({40, 40, 40}, 0, exchange, 2, 1);
    testing::LateRank late(1);
    world().barrier();
    EXPECT_TRUE(late.comes_in_time()) << exchange;
    weft::Run run = plan.forward();
    for (int i = 0; i < 1000 && !run.progress(); ++i) continue;
    late.others_are_done();
    run.wait();
    plan.expect_spectrum();
  }
}

TEST(Runs, EndWithTheirPlan) {
  for (const std::string& exchange : test::exchanges_for_any_shape()) {
    Background plan({9, 12, 10}, 0, exchange);
    weft::Run run = plan.forward();
    plan.plan().reset();
    EXPECT_TRUE(run.done()) << exchange;
    EXPECT_TRUE(run.progress());
    run.wait();
    plan.expect_spectrum();  // the plan has waited for the call
  }
}

TEST(Runs, GoOnWhenTheirPlanIsMoved) {
  Background plan({9, 12, 10}, 0, "pairwise");
  weft::Run run = plan.forward();
  Plan<Complex> moved = std::move(*plan.plan());
  run.wait();
  plan.expect_spectrum();
  weft::Run next = moved.start_forward(plan.input(), plan.output());
  moved = Plan<Complex>(MPI_COMM_WORLD, {4, 4, 4});
  EXPECT_TRUE(next.done());
  plan.expect_spectrum();
}

}  // namespace
}  // namespace weft
