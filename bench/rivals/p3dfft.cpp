// P3DFFT++ in slabs; its first axis is the contiguous one, and its output has the order that its
// samples call the cheapest (the last transformed axis contiguous). No options.
#include <mpi.h>
#include <p3dfft.h>

#include <array>
#include <complex>
#include <type_traits>

#include "rival.hpp"

namespace {

// The library counts its transforms among global tables, which must outlive every plan.
struct Tables {
  Tables() { p3dfft::setup(); }
  ~Tables() { p3dfft::cleanup(); }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
};

template <class In>
std::array<int, 3> forward_types() {
  if constexpr (std::is_same_v<In, double>)
    return {p3dfft::R2CFFT_D, p3dfft::CFFT_FORWARD_D, p3dfft::CFFT_FORWARD_D};
  else if constexpr (std::is_same_v<In, float>)
    return {p3dfft::R2CFFT_S, p3dfft::CFFT_FORWARD_S, p3dfft::CFFT_FORWARD_S};
  else if constexpr (std::is_same_v<In, std::complex<double>>)
    return {p3dfft::CFFT_FORWARD_D, p3dfft::CFFT_FORWARD_D, p3dfft::CFFT_FORWARD_D};
  else
    return {p3dfft::CFFT_FORWARD_S, p3dfft::CFFT_FORWARD_S, p3dfft::CFFT_FORWARD_S};
}

template <class In>
std::array<int, 3> backward_types() {
  if constexpr (std::is_same_v<In, double>)
    return {p3dfft::C2RFFT_D, p3dfft::CFFT_BACKWARD_D, p3dfft::CFFT_BACKWARD_D};
  else if constexpr (std::is_same_v<In, float>)
    return {p3dfft::C2RFFT_S, p3dfft::CFFT_BACKWARD_S, p3dfft::CFFT_BACKWARD_S};
  else if constexpr (std::is_same_v<In, std::complex<double>>)
    return {p3dfft::CFFT_BACKWARD_D, p3dfft::CFFT_BACKWARD_D, p3dfft::CFFT_BACKWARD_D};
  else
    return {p3dfft::CFFT_BACKWARD_S, p3dfft::CFFT_BACKWARD_S, p3dfft::CFFT_BACKWARD_S};
}

std::int64_t elements_of(const p3dfft::DataGrid& grid) {
  return std::int64_t{grid.Ldims[0]} * grid.Ldims[1] * grid.Ldims[2];
}

template <class In>
class P3dfftRival final : public bench::Rival {
 public:
  static constexpr bool kReal = std::is_floating_point_v<In>;
  using Out = std::conditional_t<kReal, std::complex<In>, In>;

  explicit P3dfftRival(const bench::Problem& problem) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::array<int, 3> parts{1, 1, ranks}, order{0, 1, 2}, turned{1, 2, 0};
    std::array<int, 3> points{}, modes{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      points[2 - axis] = static_cast<int>(problem.shape[axis]);
    modes = points;
    modes[0] = static_cast<int>(problem.last_output_extent());
    processes_ = std::make_unique<p3dfft::ProcGrid>(parts.data(), MPI_COMM_WORLD);
    p3dfft::DataGrid physical(points.data(), -1, processes_.get(), order.data(), order.data());
    p3dfft::DataGrid spectral(modes.data(), kReal ? 0 : -1, processes_.get(), turned.data(),
                              turned.data());
    elements_ = elements_of(physical);
    input_ = bench::allocate(elements_ * static_cast<std::int64_t>(sizeof(In)));
    output_ = bench::allocate(elements_of(spectral) * static_cast<std::int64_t>(sizeof(Out)));
    p3dfft::trans_type3D there(forward_types<In>().data()), back(backward_types<In>().data());
    forward_ = std::make_unique<p3dfft::transform3D<In, Out>>(physical, spectral, &there);
    backward_ = std::make_unique<p3dfft::transform3D<Out, In>>(spectral, physical, &back);
  }

  // The last argument allows the library to overwrite what it reads.
  void forward() override { forward_->exec(in(), out(), true); }
  void backward() override { backward_->exec(out(), in(), true); }
  const void* zero_mode() const override { return output_.get(); }
  void visit_input(const Visitor& visit) override {
    visit(input_.get(), elements_ * (kReal ? 1 : 2));
  }

 private:
  In* in() { return static_cast<In*>(input_.get()); }
  Out* out() { return static_cast<Out*>(output_.get()); }

  Tables tables_;
  std::unique_ptr<p3dfft::ProcGrid> processes_;
  std::int64_t elements_ = 0;
  bench::Buffer input_{nullptr, &std::free}, output_{nullptr, &std::free};
  std::unique_ptr<p3dfft::transform3D<In, Out>> forward_;
  std::unique_ptr<p3dfft::transform3D<Out, In>> backward_;
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({});
  if (problem.shape.size() != 3) throw bench::Unsupported("P3DFFT++ transforms 3 dimensions");
  if (problem.real && problem.shape.back() % 2 != 0)  // it takes n of c2r to be 2 (modes - 1)
    throw bench::Unsupported("P3DFFT++ has no r2c of an odd last extent");
  if (problem.real && problem.single_precision)
    return std::make_unique<P3dfftRival<float>>(problem);
  if (problem.real) return std::make_unique<P3dfftRival<double>>(problem);
  if (problem.single_precision) return std::make_unique<P3dfftRival<std::complex<float>>>(problem);
  return std::make_unique<P3dfftRival<std::complex<double>>>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
