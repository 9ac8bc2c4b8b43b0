// Not a rival but the limits of the machine, measured in the same way: what a transform of this
// size cannot be faster than. Options: sweeps (each rank reads and writes its part of the array
// twice, which two stages must at least); engine (the same 1-D transforms as the problem has, but
// on a tile that stays in cache).
#include <mpi.h>

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifdef BENCH_FLOOR_MKL
#include <mkl_dfti.h>
#else
#include "fftw_names.hpp"
#endif
#include "rival.hpp"

namespace {

std::int64_t part_of_rank(std::int64_t amount) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return amount * (rank + 1) / size - amount * rank / size;
}

class Limit : public bench::Rival {
 public:
  void backward() override { forward(); }
  void visit_input(const Visitor&) override {}
  const void* zero_mode() const override { return nullptr; }
  bool is_a_limit() const override { return true; }
};

// Two copies there and back, with stores that do not read what they overwrite, where the compiler
// knows such.
class Sweeps final : public Limit {
 public:
  explicit Sweeps(const bench::Problem& problem)
      : threads_(problem.threads),
        chunks_(part_of_rank(problem.points() * problem.scalar_bytes() * (problem.real ? 1 : 2)) /
                kChunkBytes),
        source_(bench::allocate(chunks_ * kChunkBytes)),
        sink_(bench::allocate(chunks_ * kChunkBytes)) {}

  void forward() override {
    copy(source_.get(), sink_.get());
    copy(sink_.get(), source_.get());
  }

 private:
  static constexpr std::int64_t kChunkBytes = 4096;

  void copy(const void* from, void* to) const {
    // What fits in cache is faster with plain stores.
    const bool streams = chunks_ * kChunkBytes > (std::int64_t{4} << 20);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const char* source = static_cast<const char*>(from) + chunk * kChunkBytes;
      char* sink = static_cast<char*>(to) + chunk * kChunkBytes;
      if (streams)
        copy_chunk(source, sink);
      else
        std::memcpy(sink, source, kChunkBytes);
    }
  }

  static void copy_chunk(const char* source, char* sink) {
#ifdef __AVX512F__
    for (std::int64_t i = 0; i < kChunkBytes; i += 64)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(sink + i),
                          _mm512_load_si512(reinterpret_cast<const __m512i*>(source + i)));
#elif defined(__SSE2__)
    for (std::int64_t i = 0; i < kChunkBytes; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(sink + i),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(source + i)));
#else
    std::memcpy(sink, source, kChunkBytes);
#endif
  }

  int threads_;
  std::int64_t chunks_;
  bench::Buffer source_, sink_;
};

// In-place transforms of `lanes` neighbouring pencils of one length, as an engine does them on a
// tile.
template <class Real>
class Batch {
 public:
  Batch(std::int64_t length, std::int64_t lanes, bool real, void* tile);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  void transform();

 private:
#ifdef BENCH_FLOOR_MKL
  DFTI_DESCRIPTOR_HANDLE handle_ = nullptr;
#else
  typename bench::Fftw<Real>::Plan plan_ = nullptr;
#endif
  void* tile_;
};

#ifdef BENCH_FLOOR_MKL

void require(MKL_LONG status) {
  if (status != DFTI_NO_ERROR)
    throw bench::Unsupported(std::string("MKL: ") + DftiErrorMessage(status));
}

template <class Real>
Batch<Real>::Batch(std::int64_t length, std::int64_t lanes, bool real, void* tile) : tile_(tile) {
  const auto precision = sizeof(Real) == 4 ? DFTI_SINGLE : DFTI_DOUBLE;
  const MKL_LONG n = length;
  require(DftiCreateDescriptor(&handle_, precision, real ? DFTI_REAL : DFTI_COMPLEX,
                               static_cast<MKL_LONG>(1), n));
  require(DftiSetValue(handle_, DFTI_NUMBER_OF_TRANSFORMS, static_cast<MKL_LONG>(lanes)));
  if (real) {  // rows, since lanes of real data do not lie on lanes of complex data
    require(DftiSetValue(handle_, DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX));
    require(DftiSetValue(handle_, DFTI_FWD_DISTANCE, static_cast<MKL_LONG>(2 * (length / 2 + 1))));
    require(DftiSetValue(handle_, DFTI_BWD_DISTANCE, static_cast<MKL_LONG>(length / 2 + 1)));
  } else {
    const MKL_LONG strides[2] = {0, lanes};
    require(DftiSetValue(handle_, DFTI_FWD_STRIDES, strides));
    require(DftiSetValue(handle_, DFTI_BWD_STRIDES, strides));
    require(DftiSetValue(handle_, DFTI_FWD_DISTANCE, static_cast<MKL_LONG>(1)));
    require(DftiSetValue(handle_, DFTI_BWD_DISTANCE, static_cast<MKL_LONG>(1)));
  }
  require(DftiCommitDescriptor(handle_));
}

template <class Real>
Batch<Real>::~Batch() {
  DftiFreeDescriptor(&handle_);
}

template <class Real>
void Batch<Real>::transform() {
  require(DftiComputeForward(handle_, tile_));
}

#else

template <class Real>
Batch<Real>::Batch(std::int64_t length, std::int64_t lanes, bool real, void* tile) : tile_(tile) {
  using Fftw = bench::Fftw<Real>;
  const int n = static_cast<int>(length), many = static_cast<int>(lanes), half = n / 2 + 1;
  auto* values = static_cast<typename Fftw::Complex*>(tile);
  plan_ = real ? Fftw::plan_many_r2c(1, &n, many, static_cast<Real*>(tile), nullptr, 1, 2 * half,
                                     values, nullptr, 1, half, FFTW_MEASURE)
               : Fftw::plan_many_dft(1, &n, many, values, nullptr, many, 1, values, nullptr, many,
                                     1, FFTW_FORWARD, FFTW_MEASURE);
  if (plan_ == nullptr) throw bench::Unsupported("FFTW has no plan for this");
}

template <class Real>
Batch<Real>::~Batch() {
  bench::Fftw<Real>::destroy(plan_);
}

template <class Real>
void Batch<Real>::transform() {
  bench::Fftw<Real>::execute(plan_);
}

#endif

// One thread's tile and its batches along every axis.
template <class Real>
class Worker {
 public:
  static constexpr std::int64_t kLanes = 16;

  explicit Worker(const bench::Problem& problem) {
    const std::int64_t longest = *std::max_element(problem.shape.begin(), problem.shape.end());
    tile_ = bench::allocate(kLanes * (longest + 2) * problem.complex_bytes());
    for (std::size_t axis = 0; axis < problem.shape.size(); ++axis)
      batches_.push_back(std::make_unique<Batch<Real>>(
          problem.shape[axis], kLanes, problem.real && axis + 1 == problem.shape.size(),
          tile_.get()));
  }
  void transform(std::size_t axis) { batches_[axis]->transform(); }

 private:
  bench::Buffer tile_{nullptr, &std::free};  // zeros stay zeros however often they are transformed
  std::vector<std::unique_ptr<Batch<Real>>> batches_;
};

template <class Real>
class EngineInCache final : public Limit {
 public:
  explicit EngineInCache(const bench::Problem& problem) {
    for (int thread = 0; thread < problem.threads; ++thread)
      workers_.push_back(std::make_unique<Worker<Real>>(problem));
    const std::int64_t rows = problem.points() / problem.shape.back();
    for (std::size_t axis = 0; axis < problem.shape.size(); ++axis) {
      const bool last = axis + 1 == problem.shape.size();
      // For r2c the other axes have only n/2 + 1 of the last axis' modes.
      const std::int64_t pencils =
          last ? rows : rows * problem.last_output_extent() / problem.shape[axis];
      batches_.push_back(std::max<std::int64_t>(1, part_of_rank(pencils) / Worker<Real>::kLanes));
    }
  }

  void forward() override {
    const int threads = static_cast<int>(workers_.size());
    for (std::size_t axis = 0; axis < batches_.size(); ++axis) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
      for (int thread = 0; thread < threads; ++thread) {
        const std::int64_t share =
            batches_[axis] * (thread + 1) / threads - batches_[axis] * thread / threads;
        for (std::int64_t i = 0; i < share; ++i)
          workers_[static_cast<std::size_t>(thread)]->transform(axis);
      }
    }
  }

 private:
  std::vector<std::unique_ptr<Worker<Real>>> workers_;
  std::vector<std::int64_t> batches_;  // of this rank along each axis
};

std::unique_ptr<bench::Rival> make(const bench::Problem& problem) {
  problem.allow({"sweeps", "engine"});
  if (problem.has("sweeps")) return std::make_unique<Sweeps>(problem);
  if (problem.single_precision) return std::make_unique<EngineInCache<float>>(problem);
  return std::make_unique<EngineInCache<double>>(problem);
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, make); }
