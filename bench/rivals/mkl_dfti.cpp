// MKL's DFTI in one process with threads. Options: in_place.
#include <mkl_dfti.h>
#include <mkl_service.h>

#include "rival.hpp"

namespace {

void require(MKL_LONG status) {
  if (status != DFTI_NO_ERROR)
    throw bench::Unsupported(std::string("MKL: ") + DftiErrorMessage(status));
}

class MklDftiRival final : public bench::Rival {
 public:
  explicit MklDftiRival(const bench::Problem& problem) : problem_(problem) {
    mkl_set_num_threads(problem.threads);
    rows_ = problem.points() / problem.shape.back();
    const bool padded = problem.real && problem.has("in_place");
    pitch_ =
        padded ? 2 * problem.last_output_extent() : problem.shape.back() * (problem.real ? 1 : 2);
    input_ = bench::allocate(rows_ * pitch_ * problem.scalar_bytes());
    if (!problem.has("in_place"))
      output_ = bench::allocate(rows_ * problem.last_output_extent() * problem.complex_bytes());
    make_descriptor();
  }

  ~MklDftiRival() override { DftiFreeDescriptor(&handle_); }

  void forward() override {
    require(output_ ? DftiComputeForward(handle_, input_.get(), output_.get())
                    : DftiComputeForward(handle_, input_.get()));
  }
  void backward() override {
    require(output_ ? DftiComputeBackward(handle_, output_.get(), input_.get())
                    : DftiComputeBackward(handle_, input_.get()));
  }
  bool scales() const override { return true; }
  const void* zero_mode() const override { return output_ ? output_.get() : input_.get(); }

  void visit_input(const Visitor& visit) override {
    bench::visit_rows(visit, input_.get(), rows_, problem_.shape.back() * (problem_.real ? 1 : 2),
                      pitch_, problem_.scalar_bytes());
  }

 private:
  // An offset of 0, then the distance of neighbours along each axis when a row takes `row`
  // elements.
  std::vector<MKL_LONG> strides(std::int64_t row) const {
    const std::size_t rank = problem_.shape.size();
    std::vector<MKL_LONG> result(rank + 1, 0);
    result[rank] = 1;
    MKL_LONG distance = row;
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      result[axis + 1] = distance;
      distance *= problem_.shape[axis];
    }
    return result;
  }

  void make_descriptor() {
    std::vector<MKL_LONG> shape(problem_.shape.begin(), problem_.shape.end());
    const auto precision = problem_.single_precision ? DFTI_SINGLE : DFTI_DOUBLE;
    const auto domain = problem_.real ? DFTI_REAL : DFTI_COMPLEX;
    const auto rank = static_cast<MKL_LONG>(shape.size());
    require(rank == 1 ? DftiCreateDescriptor(&handle_, precision, domain, rank, shape[0])
                      : DftiCreateDescriptor(&handle_, precision, domain, rank, shape.data()));
    require(DftiSetValue(handle_, DFTI_PLACEMENT, output_ ? DFTI_NOT_INPLACE : DFTI_INPLACE));
    if (problem_.real)
      require(DftiSetValue(handle_, DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX));
    require(DftiSetValue(handle_, DFTI_FWD_STRIDES,
                         strides(problem_.real ? pitch_ : problem_.shape.back()).data()));
    require(DftiSetValue(handle_, DFTI_BWD_STRIDES, strides(problem_.last_output_extent()).data()));
    require(
        DftiSetValue(handle_, DFTI_BACKWARD_SCALE, 1.0 / static_cast<double>(problem_.points())));
    require(DftiCommitDescriptor(handle_));
  }

  bench::Problem problem_;
  std::int64_t rows_ = 0;
  std::int64_t pitch_ = 0;  // scalars from one input row to the next
  bench::Buffer input_{nullptr, &std::free}, output_{nullptr, &std::free};
  DFTI_DESCRIPTOR_HANDLE handle_ = nullptr;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"in_place"});
  return std::make_unique<MklDftiRival>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
