// Weft. Options: in_place; natural (input and output in the same slabs along axis 0; without it
// both sides are as Weft chooses); elsewhere (arrays are not the plan's, so that ranks do not reach
// each other's); exchange=NAME; engine=NAME.
#include "weft/weft.hpp"

#include <type_traits>

#include "rival.hpp"

namespace {

weft::Options options_of(const bench::Problem& problem) {
  weft::Options options;
  options.in_place = problem.has("in_place");
  options.exchange = problem.value("exchange", "auto");
  options.engine = problem.value("engine", "auto");
  options.threads = problem.threads;
  if (problem.has("natural")) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    options.input.grid.assign(problem.shape.size(), 1);
    options.input.grid.front() = ranks;
    options.output.grid = options.input.grid;
  }
  return options;
}

template <class T>
weft::Array<T> elsewhere(const weft::Array<T>& array, int rank) {
  const auto elements = static_cast<std::size_t>(array.field_stride() * array.fields());
  return {array.layout(), rank, array.fields(), array.field_stride(),
          weft::allocate_zeroed(elements * sizeof(T))};
}

template <class In>
class WeftRival final : public bench::Rival {
 public:
  using Out = typename weft::ComplexOf<In>::type;

  explicit WeftRival(const bench::Problem& problem)
      : start_(MPI_Wtime()),
        plan_(MPI_COMM_WORLD, weft::Shape(problem.shape.begin(), problem.shape.end()),
              options_of(problem)),
        plan_seconds_(MPI_Wtime() - start_),
        input_(plan_.make_input()),
        output_(problem.has("in_place") ? plan_.output_in(input_) : plan_.make_output()) {
    if (!problem.has("elsewhere")) return;
    input_ = elsewhere(input_, plan_.rank());
    output_ = problem.has("in_place") ? plan_.output_in(input_) : elsewhere(output_, plan_.rank());
  }

  void forward() override { plan_.forward(input_, output_); }
  void backward() override { plan_.backward(output_, input_); }
  bool scales() const override { return true; }
  const void* zero_mode() const override {
    return output_.data() + output_.layout().offset(plan_.rank());
  }
  double plan_seconds() const override { return plan_seconds_; }
  std::int64_t plan_bytes() const override { return plan_.memory().total(); }

  void visit_input(const Visitor& visit) override {
    constexpr std::int64_t kScalars = std::is_floating_point_v<In> ? 1 : 2;
    const weft::Box& box = input_.box();
    if (box.empty()) return;
    // One visit for each row along the axis that is contiguous in memory.
    const int contiguous = input_.layout().order().back();
    weft::Box starts = box;
    starts.upper[contiguous] = starts.lower[contiguous] + 1;
    weft::for_each_index(starts, [&](const weft::Index& index) {
      visit(&input_(index), kScalars * box.extent(contiguous));
    });
  }

 private:
  double start_;
  weft::Plan<In> plan_;
  double plan_seconds_;
  weft::Array<In> input_;
  weft::Array<Out> output_;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"in_place", "natural", "elsewhere", "exchange", "engine"});
  if (problem.real && problem.single_precision) return std::make_unique<WeftRival<float>>(problem);
  if (problem.real) return std::make_unique<WeftRival<double>>(problem);
  if (problem.single_precision) return std::make_unique<WeftRival<std::complex<float>>>(problem);
  return std::make_unique<WeftRival<std::complex<double>>>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
