// A small matrix product in slices: the computing beside which `weft overlap` communicates. Plain
// loops that the compiler turns into vector instructions; it fits into a core's own cache.
#pragma once

#include <vector>

namespace weft::command {

class Gemm {
 public:
  static constexpr int kBlock = 32;
  static constexpr int kBlocks = 3;  ///< along each side of the matrices
  static constexpr double kFlopsOfSlice = 2.0 * kBlock * kBlock * kBlock;

  Gemm() : a_(kElements, 1e-3), b_(kElements, 1e-3), c_(kElements, 0) {}

  /// The product of the next pair of blocks.
  void slice() {
    const int i = next_ % kBlocks;
    const int j = next_ / kBlocks % kBlocks;
    const int k = next_ / kBlocks / kBlocks;
    next_ = (next_ + 1) % (kBlocks * kBlocks * kBlocks);
    multiply(block(a_, i, k), block(b_, k, j), block(c_, i, j));
  }

  /// To be looked at once, so that no compiler leaves the work away.
  double any_element() const { return c_.front(); }

 private:
  static constexpr int kSide = kBlock * kBlocks;
  static constexpr std::size_t kElements = std::size_t{kSide} * kSide;

  static double* block(std::vector<double>& matrix, int row, int column) {
    return matrix.data() + (row * kSide + column) * kBlock;  // rows of blocks are kBlock rows
  }

  /// C += A B, four rows of C at a time.
  static void multiply(const double* a, const double* b, double* __restrict c) {
    for (int i = 0; i < kBlock; i += 4)
      for (int k = 0; k < kBlock; ++k)
        for (int j = 0; j < kBlock; ++j) {
          const double factor = b[k * kSide + j];
          for (int row = 0; row < 4; ++row)
            c[(i + row) * kSide + j] += a[(i + row) * kSide + k] * factor;
        }
  }

  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  int next_ = 0;
};

}  // namespace weft::command
