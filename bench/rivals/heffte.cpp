// heFFTe. Options: mkl or fftw (its engine); transposed (output in slabs along axis 1); slabs,
// strided and p2p, p2p_plined or alltoall (its plan options, other than their defaults).
#include <heffte.h>

#include <type_traits>

#include "rival.hpp"

namespace {

heffte::plan_options with_choices(heffte::plan_options options, const bench::Problem& problem) {
  if (problem.has("slabs")) options.use_pencils = false;
  if (problem.has("strided")) options.use_reorder = false;
  if (problem.has("p2p")) options.algorithm = heffte::reshape_algorithm::p2p;
  if (problem.has("p2p_plined")) options.algorithm = heffte::reshape_algorithm::p2p_plined;
  if (problem.has("alltoall")) options.algorithm = heffte::reshape_algorithm::alltoall;
  return options;
}

// This rank's slab of `shape`, cut along `axis`. heFFTe's axis 0 is the fastest, so axes are turned
// round; a 2-D array has a third axis of 1.
heffte::box3d<> slab(const std::vector<std::int64_t>& shape, std::size_t axis) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::array<int, 3> low{0, 0, 0}, high{0, 0, 0};
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const std::size_t theirs = shape.size() - 1 - a;
    const std::int64_t n = shape[a];
    low[theirs] = a == axis ? static_cast<int>(n * rank / size) : 0;
    high[theirs] = static_cast<int>(a == axis ? n * (rank + 1) / size : n) - 1;
  }
  return {low, high};
}

template <class Backend, class In>
class HeffteRival final : public bench::Rival {
 public:
  static constexpr bool kReal = std::is_floating_point_v<In>;
  using Out = std::conditional_t<kReal, std::complex<In>, In>;
  using Plan = std::conditional_t<kReal, heffte::fft3d_r2c<Backend>, heffte::fft3d<Backend>>;

  explicit HeffteRival(const bench::Problem& problem)
      : plan_(make_plan(problem)),
        input_(bench::allocate(plan_.size_inbox() * static_cast<std::int64_t>(sizeof(In)))),
        output_(bench::allocate(plan_.size_outbox() * static_cast<std::int64_t>(sizeof(Out)))),
        workspace_(plan_.size_workspace()) {}

  void forward() override { plan_.forward(in(), out(), workspace_.data()); }
  void backward() override { plan_.backward(out(), in(), workspace_.data(), heffte::scale::full); }
  bool scales() const override { return true; }
  const void* zero_mode() const override { return output_.get(); }
  void visit_input(const Visitor& visit) override {
    visit(input_.get(), plan_.size_inbox() * (kReal ? 1 : 2));
  }

 private:
  static Plan make_plan(const bench::Problem& problem) {
    std::vector<std::int64_t> modes = problem.shape;
    modes.back() = problem.last_output_extent();
    const auto inbox = slab(problem.shape, 0);
    const auto outbox = slab(modes, problem.has("transposed") ? 1 : 0);
    const auto options = with_choices(heffte::default_options<Backend>(), problem);
    if constexpr (kReal)
      return Plan(inbox, outbox, 0, MPI_COMM_WORLD, options);
    else
      return Plan(inbox, outbox, MPI_COMM_WORLD, options);
  }

  In* in() { return static_cast<In*>(input_.get()); }
  Out* out() { return static_cast<Out*>(output_.get()); }

  Plan plan_;
  bench::Buffer input_, output_;
  std::vector<Out> workspace_;
};

template <class Backend>
std::unique_ptr<bench::Rival> make_with(const bench::Problem& problem) {
  if constexpr (heffte::backend::is_enabled<Backend>::value) {
    if (problem.real && problem.single_precision)
      return std::make_unique<HeffteRival<Backend, float>>(problem);
    if (problem.real) return std::make_unique<HeffteRival<Backend, double>>(problem);
    if (problem.single_precision)
      return std::make_unique<HeffteRival<Backend, std::complex<float>>>(problem);
    return std::make_unique<HeffteRival<Backend, std::complex<double>>>(problem);
  } else {
    throw bench::Unsupported("heFFTe was built without this engine");
  }
}

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"mkl", "fftw", "transposed", "slabs", "strided", "p2p", "p2p_plined", "alltoall"});
  if (problem.shape.size() < 2 || problem.shape.size() > 3)
    throw bench::Unsupported("heFFTe transforms 2 and 3 dimensions");
  if (problem.has("fftw")) return make_with<heffte::backend::fftw>(problem);
  return make_with<heffte::backend::mkl>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
