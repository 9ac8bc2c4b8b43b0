// FFTW-MPI: slabs along axis 0, transposed output (slabs along axis 1) with the option transposed.
// Options: in_place, transposed, patient (FFTW_PATIENT instead of FFTW_MEASURE).
#include <fftw3-mpi.h>

#include "fftw_names.hpp"
#include "rival.hpp"

namespace {

using bench::Fftw;

template <class Real>
struct FftwMpi;

template <>
struct FftwMpi<double> {
  static constexpr auto init = fftw_mpi_init;
  static constexpr auto local_size_transposed = fftw_mpi_local_size_transposed;
  static constexpr auto plan_dft = fftw_mpi_plan_dft;
  static constexpr auto plan_r2c = fftw_mpi_plan_dft_r2c;
  static constexpr auto plan_c2r = fftw_mpi_plan_dft_c2r;
  static constexpr auto broadcast_wisdom = fftw_mpi_broadcast_wisdom;
  static constexpr auto gather_wisdom = fftw_mpi_gather_wisdom;
};

template <>
struct FftwMpi<float> {
  static constexpr auto init = fftwf_mpi_init;
  static constexpr auto local_size_transposed = fftwf_mpi_local_size_transposed;
  static constexpr auto plan_dft = fftwf_mpi_plan_dft;
  static constexpr auto plan_r2c = fftwf_mpi_plan_dft_r2c;
  static constexpr auto plan_c2r = fftwf_mpi_plan_dft_c2r;
  static constexpr auto broadcast_wisdom = fftwf_mpi_broadcast_wisdom;
  static constexpr auto gather_wisdom = fftwf_mpi_gather_wisdom;
};

template <class Real>
class FftwMpiRival final : public bench::Rival {
 public:
  explicit FftwMpiRival(const bench::Problem& problem) : problem_(problem) {
    if (problem.threads > 1) Fftw<Real>::init_threads();
    FftwMpi<Real>::init();
    if (problem.threads > 1) Fftw<Real>::plan_with_nthreads(problem.threads);
    Fftw<Real>::set_timelimit(bench::kFftwPlanningLimit);

    std::vector<ptrdiff_t> shape(problem.shape.begin(), problem.shape.end());
    std::vector<ptrdiff_t> complex_shape = shape;
    complex_shape.back() = problem.last_output_extent();
    ptrdiff_t start = 0, rows_out = 0, start_out = 0;
    const ptrdiff_t elements =
        FftwMpi<Real>::local_size_transposed(static_cast<int>(shape.size()), complex_shape.data(),
                                             MPI_COMM_WORLD, &rows_, &start, &rows_out, &start_out);
    input_ = bench::allocate(elements * problem.complex_bytes());
    if (!problem.has("in_place")) output_ = bench::allocate(elements * problem.complex_bytes());
    with_wisdom([&] { plan(shape); });
  }

  ~FftwMpiRival() override {
    Fftw<Real>::destroy(forward_);
    Fftw<Real>::destroy(backward_);
  }

  void forward() override { Fftw<Real>::execute(forward_); }
  void backward() override { Fftw<Real>::execute(backward_); }
  const void* zero_mode() const override { return output_ ? output_.get() : input_.get(); }

  void visit_input(const Visitor& visit) override {
    const std::int64_t scalars = problem_.real ? 1 : 2;
    std::int64_t rows = rows_;
    for (std::size_t axis = 1; axis + 1 < problem_.shape.size(); ++axis)
      rows *= problem_.shape[axis];
    bench::visit_rows(visit, input_.get(), rows, scalars * problem_.shape.back(),
                      2 * problem_.last_output_extent(), problem_.scalar_bytes());
  }

 private:
  void plan(const std::vector<ptrdiff_t>& shape) {
    const int rank = static_cast<int>(shape.size());
    void* output = output_ ? output_.get() : input_.get();
    auto* in = static_cast<typename Fftw<Real>::Complex*>(input_.get());
    auto* out = static_cast<typename Fftw<Real>::Complex*>(output);
    const unsigned effort =
        (problem_.has("patient") ? FFTW_PATIENT : FFTW_MEASURE) | FFTW_DESTROY_INPUT;
    const bool transposed = problem_.has("transposed");
    const unsigned there = effort | (transposed ? FFTW_MPI_TRANSPOSED_OUT : 0U);
    const unsigned back = effort | (transposed ? FFTW_MPI_TRANSPOSED_IN : 0U);
    if (problem_.real) {
      auto* real = static_cast<Real*>(input_.get());
      forward_ = FftwMpi<Real>::plan_r2c(rank, shape.data(), real, out, MPI_COMM_WORLD, there);
      backward_ = FftwMpi<Real>::plan_c2r(rank, shape.data(), out, real, MPI_COMM_WORLD, back);
    } else {
      forward_ =
          FftwMpi<Real>::plan_dft(rank, shape.data(), in, out, MPI_COMM_WORLD, FFTW_FORWARD, there);
      backward_ =
          FftwMpi<Real>::plan_dft(rank, shape.data(), out, in, MPI_COMM_WORLD, FFTW_BACKWARD, back);
    }
    if (forward_ == nullptr || backward_ == nullptr)
      throw bench::Unsupported("FFTW has no plan for this");
  }

  // Planning again in a later round must not take as long as the first time.
  template <class Body>
  void with_wisdom(Body&& body) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const bool keeps = !problem_.wisdom.empty();
    if (keeps && rank == 0) Fftw<Real>::import_wisdom(problem_.wisdom.c_str());
    if (keeps) FftwMpi<Real>::broadcast_wisdom(MPI_COMM_WORLD);
    body();
    if (keeps) FftwMpi<Real>::gather_wisdom(MPI_COMM_WORLD);
    if (keeps && rank == 0) Fftw<Real>::export_wisdom(problem_.wisdom.c_str());
  }

  bench::Problem problem_;
  ptrdiff_t rows_ = 0;
  bench::Buffer input_{nullptr, &std::free}, output_{nullptr, &std::free};
  typename Fftw<Real>::Plan forward_ = nullptr, backward_ = nullptr;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"in_place", "transposed", "patient"});
  if (problem.shape.size() < 2)
    throw bench::Unsupported("this program transforms 2 and more dimensions");
  if (problem.single_precision) return std::make_unique<FftwMpiRival<float>>(problem);
  return std::make_unique<FftwMpiRival<double>>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
