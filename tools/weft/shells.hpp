// The isotropic power spectrum: squares of Fourier modes summed over spherical shells of
// wavenumber.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "weft/array.hpp"
#include "world.hpp"

namespace weft::command {

/// How modes are assigned to shells.
///
/// The wavenumber of a mode along axis a is k_a = f_a * unit[a], f_a being its signed integer
/// frequency (-n/2 ... n/2) and unit[a] = longest length / length[a]: wavenumbers count in units of
/// 2 pi / (longest length). Shell s holds the modes with s - 1/2 <= |k| < s + 1/2. For a cube, s is
/// the usual integer wavenumber.
struct ShellGeometry {
  Shape shape;               ///< of the field, not of a halved spectrum
  std::vector<double> unit;  ///< per axis
  int halved_axis = -1;  ///< axis of which only 0 ... n/2 are kept; their mirror images count too

  static ShellGeometry from_lengths(const Shape& shape, const std::vector<double>& lengths,
                                    int halved_axis);
  /// The last shell that no axis cuts: its outer radius is within the smallest Nyquist wavenumber.
  double complete_up_to() const;
  std::size_t shells() const;
};

struct ShellSums {
  /// [shell]: sum of |X_k|^2 / N^2. The sum over all shells is the mean of |x|^2.
  std::vector<double> energy;
  std::vector<std::int64_t> modes;  ///< [shell]: how many modes it holds
  double total = 0;                 ///< sum of |X_k|^2 over all modes
};

/// Sums the unscaled spectrum X (normalisation "backward"), field 0. Collective over `world`.
template <class Real>
ShellSums sum_shells(const World& world, const ShellGeometry& geometry,
                     const Array<std::complex<Real>>& spectrum);

extern template ShellSums sum_shells<float>(const World&, const ShellGeometry&,
                                            const Array<std::complex<float>>&);
extern template ShellSums sum_shells<double>(const World&, const ShellGeometry&,
                                             const Array<std::complex<double>>&);

}  // namespace weft::command
