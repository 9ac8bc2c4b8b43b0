// 2DECOMP&FFT in slabs, with the engine and the precision that it was compiled for. The calls to it
// are in 2decomp_shim.f90, since it speaks Fortran only. No options.
#include <mpi.h>

#include "rival.hpp"

extern "C" {
int twodecomp_scalar_bytes();
void twodecomp_make(int nx, int ny, int nz, int ranks, int real_transform, void** first_input,
                    std::int64_t* input_elements, void** first_output);
void twodecomp_forward();
void twodecomp_backward();
void twodecomp_free();
}

namespace {

class TwoDecompRival final : public bench::Rival {
 public:
  explicit TwoDecompRival(const bench::Problem& problem) : scalars_(problem.real ? 1 : 2) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto extent = [&](std::size_t axis) { return static_cast<int>(problem.shape[axis]); };
    twodecomp_make(extent(2), extent(1), extent(0), ranks, problem.real, &input_, &elements_,
                   &output_);
  }
  ~TwoDecompRival() override { twodecomp_free(); }

  void forward() override { twodecomp_forward(); }
  void backward() override { twodecomp_backward(); }
  const void* zero_mode() const override { return output_; }
  void visit_input(const Visitor& visit) override { visit(input_, elements_ * scalars_); }

 private:
  std::int64_t scalars_;
  std::int64_t elements_ = 0;
  void* input_ = nullptr;
  void* output_ = nullptr;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({});
  if (problem.shape.size() != 3) throw bench::Unsupported("2DECOMP&FFT transforms 3 dimensions");
  if (twodecomp_scalar_bytes() != problem.scalar_bytes())
    throw bench::Unsupported("2DECOMP&FFT was compiled for the other precision");
  return std::make_unique<TwoDecompRival>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
