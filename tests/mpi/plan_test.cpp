// Plans of every description against direct sums: forward, backward, and last the round trip.
// Inputs keep every bit, padding is left alone, and the same call gives the same bits again.
// Elements of a pure redistribution arrive unchanged.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using test::Field;
using test::PlanCase;
using test::Random;
using test::Spread;
using test::Value;

constexpr int kCanary = 0x7b;

struct Transformed {
  Field signal;
  Field spectrum;
};

/// The sampled input of a field and its direct sum; remembered, since many cases share them.
const Transformed& transformed(const PlanCase& c, int field) {
  static std::map<std::string, std::unique_ptr<Transformed>> known;
  std::string key = to_string(c.shape) + (c.real ? " real " : " complex ") + std::to_string(field);
  for (Kind kind : c.kinds) key += ' ' + std::to_string(static_cast<int>(kind));
  auto& found = known[key];
  if (!found) {
    Field signal = test::sampled(c.shape, field, !c.real);
    Field spectrum = test::direct_transform(signal, c.kinds);
    found = std::make_unique<Transformed>(Transformed{std::move(signal), std::move(spectrum)});
  }
  return *found;
}

template <class T>
T element_of(const Value& value) {
  if constexpr (ElementOf<T>::value.complex)
    return T(value);
  else
    return static_cast<T>(value.real());
}

template <class T>
std::size_t bytes_of(const Array<T>& array) {
  return static_cast<std::size_t>(array.field_stride() * array.fields()) * sizeof(T);
}

template <class T>
void fill_with_canaries(Array<T>& array) {
  std::memset(static_cast<void*>(array.data()), kCanary, bytes_of(array));
}

template <class T>
std::vector<unsigned char> copy_of(const Array<T>& array) {
  const auto* first = reinterpret_cast<const unsigned char*>(array.data());
  return {first, first + bytes_of(array)};
}

/// What lies beside the boxes of an array's fields is still what fill_with_canaries put there.
template <class T>
void expect_padding_untouched(const Array<T>& array) {
  std::vector<unsigned char> beside = copy_of(array);
  const auto* first = reinterpret_cast<const unsigned char*>(array.data());
  for (int field = 0; field < array.fields(); ++field)
    array.for_each(
        [&](const Index&, const T& element) {
          const auto at = reinterpret_cast<const unsigned char*>(&element) - first;
          std::fill_n(beside.begin() + at, sizeof(T), kCanary);
        },
        field);
  EXPECT_TRUE(std::all_of(beside.begin(), beside.end(), [](int byte) { return byte == kCanary; }))
      << "padding was written to";
}

/// Where the arrays of a case come from. Ranks do not reach each other's from elsewhere.
enum class Origin { plan, elsewhere };

template <class T>
Array<T> from(Origin origin, const Array<T>& array) {
  return origin == Origin::plan ? array : test::elsewhere(array);
}

template <class In, class Out>
class Check {
 public:
  Check(const PlanCase& c, Origin origin)
      : case_(c),
        plan_(MPI_COMM_WORLD, c.shape,
              test::options_of(c, testing::world().rank(), testing::world().size())),
        input_(from(origin, plan_.make_input())),
        output_(c.in_place ? plan_.output_in(input_) : from(origin, plan_.make_output())),
        points_(test::transformed_points(c.shape, c.kinds)) {}

  void layouts() {
    EXPECT_EQ(plan_.input_layout().shape(), case_.shape);
    EXPECT_EQ(plan_.output_layout().shape(), test::output_shape(case_.shape, case_.kinds));
    for (const Layout* layout : {&plan_.input_layout(), &plan_.output_layout()})
      EXPECT_NO_THROW(Layout::from_boxes(layout->shape(), layout->boxes()));
  }

  void forward() {
    const auto scale = scale_of(Direction::forward);
    one_way(input_, output_, &Transformed::signal, &Transformed::spectrum, scale,
            [this] { plan_.forward(input_, output_); });
  }

  /// From the exact spectrum, so that no error of forward() can cancel.
  void backward() {
    const auto scale = scale_of(Direction::backward) * points_;
    one_way(output_, input_, &Transformed::spectrum, &Transformed::signal, scale,
            [this] { plan_.backward(output_, input_); });
  }

  void round_trip() {
    fill(input_, &Transformed::signal);
    const auto scale = scale_of(Direction::forward) * scale_of(Direction::backward) * points_;
    plan_.forward(input_, output_);
    plan_.backward(output_, input_);
    expect(input_, &Transformed::signal, scale, 2);
  }

 private:
  long double scale_of(Direction direction) const {
    return test::scale_of(case_.normalization, direction, points_);
  }

  template <class T>
  void fill(Array<T>& array, Field Transformed::*values) {
    fill_with_canaries(array);
    for (int field = 0; field < case_.fields; ++field) {
      const Field& from = transformed(case_, field).*values;
      array.fill([&](const Index& index) { return element_of<T>(from(index)); }, field);
    }
  }

  template <class T>
  void expect(const Array<T>& array, Field Transformed::*values, long double scale, int steps) {
    for (int field = 0; field < case_.fields; ++field) {
      const Field& expected = transformed(case_, field).*values;
      const long double allowed =
          test::only_redistributes(case_)
              ? 0
              : steps * test::tolerance(case_.precision, points_) * scale * expected.rms();
      std::int64_t wrong = 0;
      std::string first;
      array.for_each(
          [&](const Index& index, const T& element) {
            const Value wanted = scale * expected(index);
            const Value got(element);
            if (std::abs(got - wanted) <= allowed || wrong++ > 0) return;
            std::ostringstream text;
            text << "at " << to_string(index) << " got " << got << ", expected " << wanted
                 << ", allowed error " << allowed;
            first = text.str();
          },
          field);
      EXPECT_EQ(wrong, 0) << "elements of field " << field << " in " << to_string(array.box())
                          << " are wrong; " << first;
    }
  }

  template <class From, class To, class Execute>
  void one_way(Array<From>& from, Array<To>& to, Field Transformed::*given,
               Field Transformed::*wanted, long double scale, Execute&& execute) {
    if (!case_.in_place) fill_with_canaries(to);
    fill(from, given);
    const auto before = copy_of(from);
    execute();
    expect(to, wanted, scale, 1);
    const auto result = copy_of(to);
    if (case_.in_place) {
      fill(from, given);
    } else {
      EXPECT_TRUE(copy_of(from) == before) << "the input was changed";
      expect_padding_untouched(to);
    }
    execute();
    if (!case_.in_place) {
      EXPECT_TRUE(copy_of(to) == result) << "a second call gave other bits";
    } else {
      expect(to, wanted, scale, 1);
    }
  }

  PlanCase case_;
  Plan<In, Out> plan_;
  Array<In> input_;
  Array<Out> output_;
  long double points_;
};

template <class In, class Out>
void check(const PlanCase& c, Origin origin) {
  Check<In, Out> check(c, origin);
  check.layouts();
  check.forward();
  check.backward();
  check.round_trip();
}

template <class Real>
void check_in(const PlanCase& c, Origin origin) {
  using Complex = std::complex<Real>;
  if (!c.real) return check<Complex, Complex>(c, origin);
  if (test::only_redistributes(c)) return check<Real, Real>(c, origin);
  return check<Real, Complex>(c, origin);
}

void check_values(const PlanCase& c, Origin origin) {
  c.precision == Precision::double_ ? check_in<double>(c, origin) : check_in<float>(c, origin);
}

/// What the plan does may depend on where its arrays come from.
bool may_go_two_ways(const PlanCase& c) {
  return testing::world().size() > 1 && !c.shared_arrays &&
         (c.exchange == "auto" || c.exchange == "shared");
}

/// Throws what making the plan throws.
void plan_only(const PlanCase& c) {
  const Element input{c.precision, !c.real};
  const Element output{c.precision, !c.real || !test::only_redistributes(c)};
  const Options options = test::options_of(c, testing::world().rank(), testing::world().size());
  const AnyPlan plan(MPI_COMM_WORLD, c.shape, input, output, options);
}

class PlanOf : public ::testing::TestWithParam<PlanCase> {};

TEST_P(PlanOf, TransformsLikeTheDirectSum) {
  const PlanCase& c = GetParam();
  if (c.exchange == "alltoall") {  // the same on all ranks
    const std::string error = testing::error_of([&] { plan_only(c); });
    if (error.find("more than twice as many") != std::string::npos) GTEST_SKIP() << error;
  }
  check_values(c, Origin::plan);
  if (may_go_two_ways(c)) check_values(c, Origin::elsewhere);
}

std::string test_name(const ::testing::TestParamInfo<PlanCase>& test) {
  return std::to_string(test.index) + "_" + test::name_of(test.param);
}

PlanCase complex_case(const Shape& shape) {
  PlanCase c;
  c.shape = shape;
  c.kinds.assign(static_cast<std::size_t>(shape.size()), Kind::c2c);
  return c;
}

PlanCase real_case(const Shape& shape) {
  PlanCase c = complex_case(shape);
  c.real = true;
  c.kinds.back() = Kind::r2c;
  return c;
}

/// One to six dimensions; primes, odd and even extents, extent 1, fewer points than ranks.
std::vector<Shape> all_shapes() {
  return {{1},
          {2},
          {7},
          {64},
          {37},
          {1, 1},
          {5, 3},
          {16, 12},
          {1, 17},
          {13, 11},
          {2, 1},
          {1, 1, 1},
          {4, 4, 4},
          {7, 5, 3},
          {1, 9, 4},
          {16, 1, 8},
          {13, 17, 5},
          {31, 2, 6},
          {12, 10, 9},
          {8, 8, 16},
          {2, 2, 2},
          {64, 3, 2},
          {3, 2, 2, 5},
          {4, 6, 5, 8},
          {2, 3, 1, 4, 3},
          {1, 4, 64},
          {2, 50, 40},
          {5, 1, 1, 16},
          {2, 3, 4, 2, 5},
          {2, 3, 2, 3, 2, 2}};
}

/// Every shape as a user meets it first: nothing but the shape is given.
std::vector<PlanCase> default_cases() {
  std::vector<PlanCase> cases;
  for (const Shape& shape : all_shapes()) {
    cases.push_back(complex_case(shape));
    cases.push_back(real_case(shape));
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Defaults, PlanOf, ::testing::ValuesIn(default_cases()), test_name);

/// Every exchange with every way to spread the input, there and back.
std::vector<PlanCase> exchange_cases() {
  std::vector<PlanCase> cases;
  std::vector<std::string> names = test::exchanges_for_any_shape();
  names.push_back("alltoall");
  for (const std::string& exchange : names)
    for (const Spread spread :
         {Spread::first, Spread::last, Spread::pencil, Spread::brick, Spread::boxes})
      for (const bool natural_output : {false, true})
        for (const bool in_place : {false, true}) {
          PlanCase c =
              natural_output == in_place ? real_case({7, 9, 11}) : complex_case({8, 6, 10});
          c.input = spread;
          c.output = natural_output ? spread : Spread::automatic;
          c.exchange = exchange;
          c.in_place = in_place;
          c.fields = in_place ? 1 : 2;
          cases.push_back(c);
        }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Exchanges, PlanOf, ::testing::ValuesIn(exchange_cases()), test_name);

/// r2c on each axis, other axes left alone or not, both precisions, every engine.
std::vector<PlanCase> kind_cases() {
  std::vector<PlanCase> cases;
  for (const std::string& engine : engines())
    for (const Precision precision : {Precision::single, Precision::double_})
      for (int axis = 0; axis < 3; ++axis)
        for (const bool in_place : {false, true}) {
          PlanCase c = complex_case({6, 10, 8});
          c.real = true;
          c.kinds[static_cast<std::size_t>(axis)] = Kind::r2c;
          c.precision = precision;
          c.engine = engine;
          c.in_place = in_place;
          cases.push_back(c);
          c.shape = {5, 7, 9};
          c.kinds[static_cast<std::size_t>((axis + 1) % 3)] = Kind::none;
          c.input = Spread::pencil;
          cases.push_back(c);
        }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Kinds, PlanOf, ::testing::ValuesIn(kind_cases()), test_name);

/// Long, short, odd and prime contiguous axes: one part, several, several and a rest.
std::vector<PlanCase> low_memory_cases() {
  std::vector<PlanCase> cases;
  Random random(52);
  const auto add = [&](PlanCase c) {
    c.in_place = c.low_memory = true;
    cases.push_back(c);
  };
  const auto varied = [&](PlanCase c, Spread spread) {
    c.input = spread;
    c.output = random.one_in(2) ? spread : Spread::automatic;
    c.precision = random.one_in(2) ? Precision::double_ : Precision::single;
    c.fields = random.one_in(3) ? 2 : 1;
    c.engine = random.among(engines());
    c.normalization = random.among(std::vector<Normalization>{
        Normalization::backward, Normalization::forward, Normalization::ortho});
    c.threads = random.one_in(12) ? 2 : 1;
    return c;
  };
  for (const Shape& shape : std::vector<Shape>{{8, 6, 10},
                                               {7, 5, 67},
                                               {13, 17, 5},
                                               {2, 2, 33},
                                               {1, 9, 40},
                                               {3, 1, 1},
                                               {4, 3, 5, 18},
                                               {2, 3, 2, 3, 10}})
    for (const bool real : {false, true})
      for (const Spread spread : {Spread::automatic, Spread::first, Spread::pencil})
        add(varied(real ? real_case(shape) : complex_case(shape), spread));
  for (const Shape& shape : std::vector<Shape>{{12, 20}, {5, 67}, {3, 2}})
    for (const Spread spread : {Spread::automatic, Spread::first}) {
      add(varied(complex_case(shape), spread));
      add(varied(real_case(shape), spread));
    }
  for (const std::string& exchange : test::auto_and_exchanges_for_any_shape())
    for (const Spread spread : {Spread::first, Spread::pencil})
      for (const bool real : {false, true}) {
        PlanCase c = varied(real ? real_case({6, 10, 21}) : complex_case({5, 9, 26}), spread);
        c.exchange = exchange;
        add(c);
      }
  for (int axis = 0; axis < 3; ++axis) {
    PlanCase c = varied(complex_case({6, 7, 22}), Spread::first);
    c.kinds[static_cast<std::size_t>(axis)] = Kind::none;
    add(c);
    c.kinds.assign(3, Kind::none);
    c.kinds[static_cast<std::size_t>(axis)] = Kind::c2c;
    add(c);
    c.input_order = {1, 0, 2};
    add(c);
  }
  PlanCase moved = varied(complex_case({6, 7, 22}), Spread::first);
  moved.kinds.assign(3, Kind::none);
  moved.output = Spread::pencil;
  add(moved);
  moved.real = true;
  add(moved);
  PlanCase turned = varied(complex_case({19, 4, 7}), Spread::last);
  turned.input_order = {1, 2, 0};
  turned.output_order = {2, 1, 0};
  add(turned);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(LowMemory, PlanOf, ::testing::ValuesIn(low_memory_cases()), test_name);

/// Arrays that peers reach: every way to spread them, there and back, with what decides where
/// blocks wait: order, padding, fields, chunks.
std::vector<PlanCase> shared_array_cases() {
  std::vector<PlanCase> cases;
  Random random(53);
  for (const Shape& shape :
       std::vector<Shape>{{8, 6, 10}, {7, 9, 11}, {2, 9, 1}, {12, 10}, {13, 3}, {4, 3, 5, 6}})
    for (const bool real : {false, true})
      for (const Spread spread :
           {Spread::first, Spread::last, Spread::pencil, Spread::brick, Spread::boxes})
        for (const bool natural_output : {true, false})
          for (const bool in_place : {false, true}) {
            PlanCase c = real ? real_case(shape) : complex_case(shape);
            c.shared_arrays = true;
            c.input = spread;
            c.output = natural_output ? spread : Spread::automatic;
            c.in_place = in_place;
            c.precision = random.one_in(2) ? Precision::double_ : Precision::single;
            c.engine = random.among(engines());
            c.fields = random.one_in(3) ? 2 : 1;
            c.chunks = random.one_in(3) ? 3 : 1;
            c.padded = random.one_in(3);
            c.threads = random.one_in(12) ? 2 : 1;
            if (random.one_in(4))
              c.input_order = c.output_order = test::random_order(random, shape.size());
            if (random.one_in(4) && !c.real) c.kinds.front() = Kind::none;
            cases.push_back(c);
          }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(SharedArrays, PlanOf, ::testing::ValuesIn(shared_array_cases()),
                         test_name);

/// Random kinds and options, for each shape.
std::vector<PlanCase> random_cases() {
  Random random(51);
  std::vector<PlanCase> cases;
  for (const Shape& shape : all_shapes())
    for (int round = 0; round < 6; ++round) {
      PlanCase c;
      c.shape = shape;
      cases.push_back(with_random_options(random, with_random_kinds(random, c)));
    }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Random, PlanOf, ::testing::ValuesIn(random_cases()), test_name);

}  // namespace
}  // namespace weft
