// Writes a distributed array into one .npy file.
#pragma once

#include <complex>
#include <string>

#include "weft/array.hpp"
#include "world.hpp"

namespace weft::command {

/// Writes field 0 of `array` in C order; each rank writes its own box. Collective over `world`.
/// Throws Error(io_failure) on all ranks.
template <class Real>
void write_npy(const World& world, const std::string& path, const Array<std::complex<Real>>& array);

extern template void write_npy<float>(const World&, const std::string&,
                                      const Array<std::complex<float>>&);
extern template void write_npy<double>(const World&, const std::string&,
                                       const Array<std::complex<double>>&);

}  // namespace weft::command
