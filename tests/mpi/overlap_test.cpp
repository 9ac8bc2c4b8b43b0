// Work cut into chunks, several fields under way at once, and who lets messages move on: none of it
// may change a bit of the result. What a plan with these options gives is compared with plans that
// do the fields one by one in one piece, by messages to each peer, which other tests compare with
// direct sums.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using test::PlanCase;
using test::Spread;
using testing::world;

/// How a plan is to overlap its work.
struct Overlap {
  int chunks = 1;
  int fields = 1;
  Progress progress = Progress::poll;
};

std::string name_of(const Overlap& overlap) {
  const char* const progress[] = {"none", "poll", "thread"};
  return std::to_string(overlap.chunks) + " chunks, " + std::to_string(overlap.fields) +
         " fields, progress " + progress[static_cast<int>(overlap.progress)];
}

bool has_thread_multiple() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

/// What this rank puts into one field, and gets in both directions.
template <class In, class Out>
struct Fields {
  std::vector<std::vector<In>> input;
  std::vector<std::vector<Out>> spectrum;
  std::vector<std::vector<In>> back;
};

template <class T>
std::vector<T> field_of(const Array<T>& array, int field) {
  std::vector<T> elements;
  array.for_each([&](const Index&, const T& element) { elements.push_back(element); }, field);
  return elements;
}

template <class T>
T sample_of(const Index& index, int field) {
  const auto real = test::sample(index, field, 0);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(real);
  else
    return T(static_cast<typename T::value_type>(real),
             static_cast<typename T::value_type>(test::sample(index, field, 1)));
}

/// Fields `first` and following of the test's signals, through `plan` and back. Twice, so that the
/// second call finds what the first has left behind.
template <class In, class Out>
Fields<In, Out> transformed(Plan<In, Out>& plan, int first) {
  auto input = plan.make_input();
  auto output = plan.make_output();
  auto back = plan.make_input();
  const int fields = plan.options().fields;
  for (int field = 0; field < fields; ++field)
    input.fill([&](const Index& index) { return sample_of<In>(index, first + field); }, field);
  Fields<In, Out> result;
  for (int call = 0; call < 2; ++call) {
    result = {};
    plan.forward(input, output);
    for (int field = 0; field < fields; ++field) result.spectrum.push_back(field_of(output, field));
    plan.backward(output, back);
    for (int field = 0; field < fields; ++field) {
      result.input.push_back(field_of(input, field));
      result.back.push_back(field_of(back, field));
    }
  }
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// MKL's and FFTW's results depend in their last bits on how many signals they are given at once
/// (FFTW plans each such batch by timing), and so on the chunks; those of Weft's own engine do not.
template <class T>
bool same_up_to(double tolerance, const std::vector<T>& a, const std::vector<T>& b) {
  if (tolerance == 0 || a.size() != b.size()) return same_bits(a, b);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return true;
}

/// The same plan in one piece for each field; the fields' results.
template <class In, class Out>
const Fields<In, Out>& one_by_one(const PlanCase& c, const std::string& engine) {
  constexpr int kFields = 3;
  static std::map<std::string, Fields<In, Out>> known;
  Fields<In, Out>& fields = known[name_of(c) + engine];
  if (!fields.spectrum.empty()) return fields;
  Options options = test::options_of(c, world().rank(), world().size());
  options.exchange = "pairwise";
  options.engine = engine;
  Plan<In, Out> plan(MPI_COMM_WORLD, c.shape, options);
  for (int field = 0; field < kFields; ++field) {
    Fields<In, Out> one = transformed(plan, field);
    fields.input.push_back(one.input.front());
    fields.spectrum.push_back(one.spectrum.front());
    fields.back.push_back(one.back.front());
  }
  return fields;
}

template <class In, class Out>
void expect_same_bits(const PlanCase& c, const std::string& exchange, const Overlap& overlap,
                      const std::string& engine) {
  SCOPED_TRACE(name_of(c) + ": " + exchange + ", engine " + engine + ", " + name_of(overlap));
  const Fields<In, Out>& expected = one_by_one<In, Out>(c, engine);
  Options options = test::options_of(c, world().rank(), world().size());
  options.exchange = exchange;
  options.engine = engine;
  options.chunks = overlap.chunks;
  options.fields = overlap.fields;
  options.progress = overlap.progress;
  std::optional<Plan<In, Out>> plan;
  try {
    plan.emplace(MPI_COMM_WORLD, c.shape, options);
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::unavailable) << error.what();
    return;
  }
  const Fields<In, Out> got = transformed(*plan, 0);
  const double tolerance = engine == "weft" ? 0 : 1e-11;
  for (std::size_t field = 0; field < got.spectrum.size(); ++field) {
    EXPECT_TRUE(same_bits(got.input[field], expected.input[field])) << "input of field " << field;
    EXPECT_TRUE(same_up_to(tolerance, got.spectrum[field], expected.spectrum[field]))
        << "field " << field;
    EXPECT_TRUE(same_up_to(tolerance, got.back[field], expected.back[field]))
        << "back, field " << field;
  }
}

void expect_same_bits(const PlanCase& c, const std::string& exchange, const Overlap& overlap,
                      const std::string& engine = engines().front()) {
  using Complex = std::complex<double>;
  if (c.real)
    expect_same_bits<double, Complex>(c, exchange, overlap, engine);
  else
    expect_same_bits<Complex, Complex>(c, exchange, overlap, engine);
}

PlanCase case_of(const Shape& shape, bool real, Spread input, Spread output) {
  PlanCase c{.shape = shape, .kinds = {}, .real = real, .input = input, .output = output};
  c.kinds.assign(static_cast<std::size_t>(shape.size()), Kind::c2c);
  if (real) c.kinds.back() = Kind::r2c;
  return c;
}

std::vector<PlanCase> cases() {
  PlanCase turned = case_of({12, 10, 14}, false, Spread::pencil, Spread::pencil);
  turned.output_order = {2, 0, 1};
  return {
      case_of({16, 12, 20}, false, Spread::first, Spread::automatic),
      case_of({11, 13, 7}, true, Spread::first, Spread::automatic),
      case_of({17, 9, 22}, false, Spread::pencil, Spread::automatic),
      case_of({12, 14, 10}, true, Spread::pencil, Spread::pencil),
      turned,
      case_of({3, 5, 2}, false, Spread::brick, Spread::boxes),  // fewer points than ranks, some
      case_of({1, 2, 6}, true, Spread::pencil, Spread::automatic),
      case_of({40, 23}, false, Spread::first, Spread::automatic),
      case_of({2, 30}, true, Spread::first, Spread::last),
  };
}

class Overlapped : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, Overlapped, ::testing::ValuesIn(exchanges()),
                         [](const auto& test) { return test.param; });

TEST_P(Overlapped, GivesTheSameBits) {
  for (const PlanCase& c : cases()) {
    expect_same_bits(c, GetParam(), {3, 3, Progress::poll});
    expect_same_bits(c, GetParam(), {7, 1, Progress::none});
  }
}

TEST_P(Overlapped, GivesTheSameBitsWithEveryEngine) {
  const PlanCase c = case_of({13, 18, 11}, false, Spread::pencil, Spread::automatic);
  for (const std::string& engine : engines())
    for (const int chunks : {2, 7}) expect_same_bits(c, GetParam(), {chunks, 3}, engine);
}

TEST_P(Overlapped, GivesTheSameBitsWithAThread) {
  if (!has_thread_multiple()) GTEST_SKIP() << "this MPI gives less than MPI_THREAD_MULTIPLE";
  for (const bool real : {false, true}) {
    const PlanCase c = case_of({9, 12, 15}, real, Spread::pencil, Spread::automatic);
    expect_same_bits(c, GetParam(), {2, 3, Progress::thread});
  }
}

TEST_P(Overlapped, LongGivesTheSameBitsWithAllOptions) {
  for (const PlanCase& c : cases())
    for (const int chunks : {1, 2, 3, 7})
      for (const int fields : {1, 3})
        for (const Progress progress : {Progress::none, Progress::poll, Progress::thread})
          if (progress != Progress::thread || has_thread_multiple())
            expect_same_bits(c, GetParam(), {chunks, fields, progress});
}

// Chunks are cut along one axis: with more of them than points there, some are empty.
TEST_P(Overlapped, MayHaveMoreChunksThanPoints) {
  const PlanCase c = case_of({4, 3, 5}, false, Spread::first, Spread::automatic);
  expect_same_bits(c, GetParam(), {50, 2});
}

// ---- what is refused

/// The error of making a plan with those options, which must be the same on all ranks.
std::string error_of_plan(const Options& options) {
  const std::string mine = testing::error_of([&] {
    Plan<double>(MPI_COMM_WORLD, {8, 6, 10}, options);
  });
  for (const std::string& other : testing::texts_of_all(world(), mine)) EXPECT_EQ(mine, other);
  return mine;
}

void expect_words(const std::string& error, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(error.find(word), std::string::npos) << "no \"" << word << "\" in: " << error;
}

TEST(OverlapOptions, WrongOnAllRanksAreRefused) {
  for (const int chunks : {0, -3}) {
    Options options;
    options.chunks = chunks;
    expect_words(error_of_plan(options), {"invalid_argument: chunks", std::to_string(chunks)});
  }
  for (const double timeout : {-0.5, std::numeric_limits<double>::quiet_NaN()}) {
    Options options;
    options.timeout = timeout;
    expect_words(error_of_plan(options), {"invalid_argument: ", "timeout"});
  }
  Options options;
  options.progress = static_cast<Progress>(9);
  expect_words(error_of_plan(options), {"invalid_argument: ", "progress", "9"});
}

TEST(OverlapOptions, WrongOnOneRankAreRefusedOnAll) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (const int odd : {0, world().size() - 1}) {
    Options options;
    if (world().rank() == odd) options.timeout = -1;
    expect_words(error_of_plan(options), {"invalid_argument: ", "timeout", "-1"});
  }
}

TEST(OverlapOptions, DifferentOnOneRankAreAMismatch) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  for (const int odd : {0, world().size() - 1}) {
    const bool mine = world().rank() == odd;
    Options options;
    options.chunks = mine ? 3 : 2;
    expect_words(error_of_plan(options), {"rank_mismatch: ", "chunks 3", "chunks 2"});
    options = {};
    options.progress = mine ? Progress::none : Progress::poll;
    expect_words(error_of_plan(options), {"rank_mismatch: ", "progress"});
    options = {};
    options.timeout = mine ? 5 : 0;
    expect_words(error_of_plan(options), {"rank_mismatch: ", "timeout"});
  }
}

TEST(OverlapOptions, AThreadNeedsThreadMultiple) {
  if (has_thread_multiple()) GTEST_SKIP() << "this MPI gives MPI_THREAD_MULTIPLE";
  Options options;
  options.progress = Progress::thread;
  expect_words(error_of_plan(options), {"unavailable: ", "MPI_THREAD_MULTIPLE", "poll"});
}

}  // namespace
}  // namespace weft
