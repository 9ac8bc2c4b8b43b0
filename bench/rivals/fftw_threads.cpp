// FFTW in one process with threads. Options: in_place, patient (FFTW_PATIENT instead of
// FFTW_MEASURE).
#include "fftw_names.hpp"
#include "rival.hpp"

namespace {

using bench::Fftw;

template <class Real>
class FftwThreadsRival final : public bench::Rival {
 public:
  explicit FftwThreadsRival(const bench::Problem& problem) : problem_(problem) {
    Fftw<Real>::init_threads();
    Fftw<Real>::plan_with_nthreads(problem.threads);
    Fftw<Real>::set_timelimit(bench::kFftwPlanningLimit);
    if (!problem.wisdom.empty()) Fftw<Real>::import_wisdom(problem.wisdom.c_str());
    rows_ = problem.points() / problem.shape.back();
    const bool padded = problem.real && problem.has("in_place");
    pitch_ =
        padded ? 2 * problem.last_output_extent() : problem.shape.back() * (problem.real ? 1 : 2);
    input_ = bench::allocate(rows_ * pitch_ * problem.scalar_bytes());
    if (!problem.has("in_place"))
      output_ = bench::allocate(rows_ * problem.last_output_extent() * problem.complex_bytes());
    plan();
    if (!problem.wisdom.empty()) Fftw<Real>::export_wisdom(problem.wisdom.c_str());
  }

  ~FftwThreadsRival() override {
    Fftw<Real>::destroy(forward_);
    Fftw<Real>::destroy(backward_);
  }

  void forward() override { Fftw<Real>::execute(forward_); }
  void backward() override { Fftw<Real>::execute(backward_); }
  const void* zero_mode() const override { return output_ ? output_.get() : input_.get(); }

  void visit_input(const Visitor& visit) override {
    bench::visit_rows(visit, input_.get(), rows_, problem_.shape.back() * (problem_.real ? 1 : 2),
                      pitch_, problem_.scalar_bytes());
  }

 private:
  void plan() {
    const std::vector<int> shape(problem_.shape.begin(), problem_.shape.end());
    const int rank = static_cast<int>(shape.size());
    auto* in = static_cast<typename Fftw<Real>::Complex*>(input_.get());
    auto* out = output_ ? static_cast<typename Fftw<Real>::Complex*>(output_.get()) : in;
    const unsigned effort =
        (problem_.has("patient") ? FFTW_PATIENT : FFTW_MEASURE) | FFTW_DESTROY_INPUT;
    if (problem_.real) {
      auto* real = static_cast<Real*>(input_.get());
      forward_ = Fftw<Real>::plan_r2c(rank, shape.data(), real, out, effort);
      backward_ = Fftw<Real>::plan_c2r(rank, shape.data(), out, real, effort);
    } else {
      forward_ = Fftw<Real>::plan_dft(rank, shape.data(), in, out, FFTW_FORWARD, effort);
      backward_ = Fftw<Real>::plan_dft(rank, shape.data(), out, in, FFTW_BACKWARD, effort);
    }
    if (forward_ == nullptr || backward_ == nullptr)
      throw bench::Unsupported("FFTW has no plan for this");
  }

  bench::Problem problem_;
  std::int64_t rows_ = 0;
  std::int64_t pitch_ = 0;  // scalars from one input row to the next
  bench::Buffer input_{nullptr, &std::free}, output_{nullptr, &std::free};
  typename Fftw<Real>::Plan forward_ = nullptr, backward_ = nullptr;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"in_place", "patient"});
  if (problem.single_precision) return std::make_unique<FftwThreadsRival<float>>(problem);
  return std::make_unique<FftwThreadsRival<double>>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
