// MKL's cluster FFT: slabs along axis 0. Options: in_place, transposed (output in slabs along axis
// 1).
#include <mkl_cdft.h>

#include <algorithm>

#include "rival.hpp"

namespace {

void require(MKL_LONG status) {
  if (status != 0) throw bench::Unsupported("MKL cluster FFT: error " + std::to_string(status));
}

class MklClusterRival final : public bench::Rival {
 public:
  explicit MklClusterRival(const bench::Problem& problem) : problem_(problem) {
    std::vector<MKL_LONG> shape(problem.shape.begin(), problem.shape.end());
    const auto precision = problem.single_precision ? DFTI_SINGLE : DFTI_DOUBLE;
    const auto domain = problem.real ? DFTI_REAL : DFTI_COMPLEX;
    const auto rank = static_cast<MKL_LONG>(shape.size());
    require(
        DftiCreateDescriptorDM(MPI_COMM_WORLD, &handle_, precision, domain, rank, shape.data()));
    const bool in_place = problem.has("in_place");
    require(DftiSetValueDM(handle_, DFTI_PLACEMENT, in_place ? DFTI_INPLACE : DFTI_NOT_INPLACE));
    if (problem.has("transposed")) require(DftiSetValueDM(handle_, DFTI_TRANSPOSE, DFTI_ALLOW));
    // A double whatever the precision of the data: the argument is variadic.
    require(
        DftiSetValueDM(handle_, DFTI_BACKWARD_SCALE, 1.0 / static_cast<double>(problem.points())));

    MKL_LONG elements = 0, rows = 0;
    require(DftiGetValueDM(handle_, CDFT_LOCAL_SIZE, &elements));
    require(DftiGetValueDM(handle_, CDFT_LOCAL_NX, &rows));
    rows_ = rows;
    for (std::size_t axis = 1; axis + 1 < shape.size(); ++axis) rows_ *= problem.shape[axis];
    input_ = bench::allocate(elements * problem.complex_bytes());
    if (!in_place) output_ = bench::allocate(elements * problem.complex_bytes());
    require(DftiCommitDescriptorDM(handle_));
  }

  ~MklClusterRival() override { DftiFreeDescriptorDM(&handle_); }

  void forward() override {
    require(output_ ? DftiComputeForwardDM(handle_, input_.get(), output_.get())
                    : DftiComputeForwardDM(handle_, input_.get()));
  }
  void backward() override {
    require(output_ ? DftiComputeBackwardDM(handle_, output_.get(), input_.get())
                    : DftiComputeBackwardDM(handle_, input_.get()));
  }
  bool scales() const override { return true; }
  const void* zero_mode() const override { return output_ ? output_.get() : input_.get(); }

  void visit_input(const Visitor& visit) override {
    const std::int64_t length = problem_.shape.back() * (problem_.real ? 1 : 2);
    bench::visit_rows(visit, input_.get(), rows_, length, 2 * problem_.last_output_extent(),
                      problem_.scalar_bytes());
  }

 private:
  bench::Problem problem_;
  std::int64_t rows_ = 0;
  bench::Buffer input_{nullptr, &std::free}, output_{nullptr, &std::free};
  DFTI_DESCRIPTOR_DM_HANDLE handle_ = nullptr;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"in_place", "transposed"});
  if (problem.threads > 1)
    throw bench::Unsupported("linked with sequential MKL: one thread per rank");
  if (problem.shape.size() < 2)
    throw bench::Unsupported("this program transforms 2 and more dimensions");
  return std::make_unique<MklClusterRival>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
