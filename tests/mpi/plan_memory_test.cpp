// The memory of plans: memory() is what making a plan allocates, byte by byte, and executing one
// allocates nothing. The library's buffers come from aligned_alloc, which is counted here, as calls
// of operator new are for all tests.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <complex>
#include <string>
#include <tuple>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace {
std::atomic<std::int64_t> buffer_bytes{0};
constexpr std::size_t kLineBytes = 64;  // Weft's buffers are aligned to it; operator new is not
}  // namespace

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment == kLineBytes) buffer_bytes.fetch_add(static_cast<std::int64_t>(bytes));
  return memalign(alignment, bytes);
}

namespace weft {
namespace {

using testing::world;

/// What happens to memory while `body` runs on this rank.
struct Allocated {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
};

template <class Body>
Allocated allocated_by(Body&& body) {
  const std::int64_t calls = testing::allocations();
  const std::int64_t bytes = buffer_bytes;
  body();
  return {testing::allocations() - calls, buffer_bytes - bytes};
}

enum class Place { out_of_place, in_place, low_memory };

using Case = std::tuple<std::string, Place, int, int, bool>;

class PlanMemoryOf : public ::testing::TestWithParam<Case> {
 protected:
  template <class In, class Out>
  void check() {
    Options options;
    options.exchange = std::get<0>(GetParam());
    options.in_place = std::get<1>(GetParam()) != Place::out_of_place;
    options.low_memory = std::get<1>(GetParam()) == Place::low_memory;
    options.fields = std::get<2>(GetParam());
    options.threads = std::get<3>(GetParam());
    options.engine = engines().front();  // measuring would allocate for a while
    options.input.grid = test::even_grid(3, 2, world().size());
    options.output.grid = options.input.grid;
    std::unique_ptr<Plan<In, Out>> plan;
    const Allocated made = allocated_by([&] {
      plan = std::make_unique<Plan<In, Out>>(MPI_COMM_WORLD, Shape{20, 24, 30}, options);
    });
    const PlanMemory memory = plan->memory();
    EXPECT_EQ(memory.total(), memory.buffers + memory.window + memory.tiles);
    // Each of the buffers is rounded up to whole cache lines when it is allocated.
    EXPECT_GE(made.bytes, memory.buffers + memory.tiles);
    if (options.engine != "fftw") {  // which plans on scratch memory, freed again by now
      const int plans = options.low_memory ? 3 : 1;
      EXPECT_LT(made.bytes, memory.buffers + memory.tiles +
                                std::int64_t{64} * plans * (3 + 3 * options.threads));
    }
    expect_nothing_allocated(*plan, options.in_place);
    EXPECT_EQ(plan->memory().total(), memory.total());
  }

  // But for notes of arrays that a call meets for the first time, and that peers can reach.
  template <class In, class Out>
  static void expect_nothing_allocated(Plan<In, Out>& plan, bool in_place) {
    constexpr std::int64_t kMostForNotes = 16 * 1024;
    auto input = plan.make_input();
    auto output = in_place ? plan.output_in(input) : plan.make_output();
    const auto call = [&] {
      return allocated_by([&] {
        plan.forward(input, output);
        plan.backward(output, input);
      });
    };
    EXPECT_LE(call().bytes, kMostForNotes);
    const auto expect_nothing = [&] {
      const Allocated executed = call();
      EXPECT_EQ(executed.calls, 0);
      EXPECT_EQ(executed.bytes, 0);
    };
    for (int round = 0; round < 3; ++round) expect_nothing();
    input = test::elsewhere(input);
    output = in_place ? plan.output_in(input) : test::elsewhere(output);
    for (int round = 0; round < 3; ++round) expect_nothing();
  }
};

TEST_P(PlanMemoryOf, IsStatedExactlyAndExecutingAllocatesNothing) {
  if (std::get<4>(GetParam()))
    check<double, std::complex<double>>();
  else
    check<std::complex<float>, std::complex<float>>();
}

std::string case_name(const ::testing::TestParamInfo<Case>& test) {
  const auto& [exchange, place, fields, threads, real] = test.param;
  constexpr const char* kPlaces[] = {"_out_of_place", "_in_place", "_low_memory"};
  return exchange + kPlaces[static_cast<int>(place)] + "_f" + std::to_string(fields) + "_t" +
         std::to_string(threads) + (real ? "_r2c_double" : "_c2c_float");
}
INSTANTIATE_TEST_SUITE_P(
    Exchanges, PlanMemoryOf,
    ::testing::Combine(::testing::ValuesIn(test::auto_and_exchanges_for_any_shape()),
                       ::testing::Values(Place::out_of_place, Place::in_place, Place::low_memory),
                       ::testing::Values(1, 3), ::testing::Values(1), ::testing::Bool()),
    case_name);
// Few, since idle threads of a team keep the cores busy that other ranks need here.
INSTANTIATE_TEST_SUITE_P(
    Threads, PlanMemoryOf,
    ::testing::Combine(::testing::Values("auto"),
                       ::testing::Values(Place::out_of_place, Place::in_place, Place::low_memory),
                       ::testing::Values(2), ::testing::Values(2, 3), ::testing::Values(true)),
    case_name);

TEST(PlanMemory, WindowIsThereForSharedMemoryAlone) {
  Options options;
  options.input.grid = test::even_grid(3, 1, world().size());
  for (const std::string& name : test::exchanges_for_any_shape()) {
    options.exchange = name;
    const Plan<double> plan(MPI_COMM_WORLD, {16, 16, 16}, options);
    const bool shares = name == "shared" || name == "mixed" || name == "hierarchical";
    EXPECT_EQ(plan.memory().window > 0, shares && world().size() > 1) << name;
  }
}

// What stays on its rank waits in the user's arrays.
TEST(PlanMemory, WindowHoldsOnlyWhatGoesToOthers) {
  const int ranks = world().size();
  const std::int64_t n = 8 * ranks;
  for (const auto& [natural, in_place, threads] :
       {std::tuple{false, false, 1}, {true, false, 1}, {false, true, 1}, {false, true, 2}}) {
    Options options;
    options.exchange = "shared";
    options.in_place = in_place;
    options.threads = threads;
    options.input.grid = test::even_grid(3, 1, ranks);
    if (natural) options.output.grid = options.input.grid;
    const auto expect_only_travelling = [&](const auto& plan) {
      const double local = static_cast<double>(plan.output_layout().box(world().rank()).volume()) *
                           static_cast<double>(plan.output_element().bytes());
      const double travelling = local * (ranks - 1) / ranks;
      EXPECT_LE(static_cast<double>(plan.memory().window), 1.3 * travelling + 16384)
          << (natural ? "natural" : "cheapest") << (in_place ? ", in place, " : ", ") << threads;
    };
    expect_only_travelling(Plan<std::complex<double>>(MPI_COMM_WORLD, {n, n, 96}, options));
    expect_only_travelling(Plan<double>(MPI_COMM_WORLD, {n, n, 96}, options));
    expect_only_travelling(Plan<float>(MPI_COMM_WORLD, {n, n, 97}, options));
  }
}

// So it does in place where messages carry the rest, from one buffer to another.
TEST(PlanMemory, BuffersInPlaceHoldOnlyWhatGoesToOthers) {
  const int ranks = world().size();
  const std::int64_t n = 8 * ranks;
  for (const std::string& exchange : test::exchanges_for_any_shape())
    for (const bool natural : {false, true}) {
      if (exchange == "alltoallw") continue;  // its buffers are as large as the local array
      Options options;
      options.exchange = exchange;
      options.in_place = true;
      options.input.grid = test::even_grid(3, 1, ranks);
      if (natural) options.output.grid = options.input.grid;
      const Plan<std::complex<double>> plan(MPI_COMM_WORLD, {n, n, 96}, options);
      const double travelling =
          16.0 * 96 * static_cast<double>(n * n) / ranks * (ranks - 1) / ranks;
      EXPECT_LE(static_cast<double>(plan.memory().buffers), 1.1 * 2 * travelling + 16384)
          << exchange << (natural ? ", natural" : ", cheapest");
    }
}

// Out of place what is sent waits in the output, and behind it a part of what stays.
TEST(PlanMemory, BuffersOutOfPlaceAreNoMoreThanOneLocalArray) {
  const int ranks = world().size();
  const std::int64_t n = 16 * ranks;
  const auto expect_few = [&](const auto& plan, const std::string& what) {
    const std::int64_t local = plan.output_layout().box(world().rank()).volume();
    EXPECT_LT(plan.memory().buffers, local * plan.output_element().bytes()) << what;
  };
  for (const char* exchange : {"pairwise", "alltoallv"})
    for (const bool natural : {false, true}) {
      Options options;
      options.exchange = exchange;
      options.input.grid = test::even_grid(3, 1, ranks);
      if (natural) options.output.grid = options.input.grid;
      const std::string what = std::string(exchange) + (natural ? ", natural" : ", cheapest");
      expect_few(Plan<std::complex<double>>(MPI_COMM_WORLD, {n, n, 96}, options), what);
      expect_few(Plan<double>(MPI_COMM_WORLD, {n, n, 96}, options), what + ", real");
    }
  for (const char* exchange : {"pairwise", "alltoallv"}) {  // a long axis, in two passes
    Options options;
    options.exchange = exchange;
    expect_few(Plan<std::complex<double>>(MPI_COMM_WORLD, {2048, 48 * ranks}, options), exchange);
    expect_few(Plan<double>(MPI_COMM_WORLD, {2048, 96 * ranks}, options), exchange);
  }
}

// The second exchange of a plan that brings its data back uses the window of the first.
TEST(PlanMemory, NaturalOutputNeedsNoSecondWindow) {
  for (const char* exchange : {"shared", "mixed"})
    for (const int axes : {1, 2}) {
      Options options;
      options.exchange = exchange;
      options.input.grid = test::even_grid(3, axes, world().size());
      const Plan<std::complex<double>> cheapest(MPI_COMM_WORLD, {32, 32, 48}, options);
      options.output.grid = options.input.grid;
      const Plan<std::complex<double>> natural(MPI_COMM_WORLD, {32, 32, 48}, options);
      constexpr std::int64_t kMostForNotices = 2 * 4096;
      EXPECT_GE(natural.memory().window, cheapest.memory().window) << exchange << ' ' << axes;
      EXPECT_LE(natural.memory().window, cheapest.memory().window + kMostForNotices)
          << exchange << ' ' << axes;
    }
}

// One local transform of contiguous rows needs no memory but a tile.
TEST(PlanMemory, OneStageNeedsNoBuffers) {
  Options options;
  options.kinds = {Kind::none, Kind::none, Kind::c2c};
  options.input.grid = test::even_grid(3, 1, world().size());
  const Plan<std::complex<double>> plan(MPI_COMM_WORLD, {16, 16, 64}, options);
  EXPECT_EQ(plan.memory().buffers, 0);
  EXPECT_EQ(plan.memory().window, 0);
  EXPECT_LE(plan.memory().tiles, 1 << 20);
}

TEST(PlanMemory, IsGivenBackWithThePlan) {
  const auto resident_now = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  };
  const std::vector<std::string> names = test::exchanges_for_any_shape();
  const auto methods = static_cast<int>(names.size());
  std::int64_t before = 0;
  for (int round = 0; round < 3 * methods; ++round) {
    if (round == methods) before = resident_now();  // by now everything that is made once exists
    Options options;
    options.exchange = names[static_cast<std::size_t>(round) % names.size()];
    Plan<double> plan(MPI_COMM_WORLD, {32, 32, 48}, options);
    auto input = plan.make_input();
    auto output = plan.make_output();
    plan.forward(input, output);
  }
  EXPECT_LT(resident_now() - before, 1 << 20);
}

}  // namespace
}  // namespace weft
