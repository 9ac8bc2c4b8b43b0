// FFTW's names in double and single precision, as one template.
#pragma once

#include <fftw3.h>

namespace bench {

template <class Real>
struct Fftw;

template <>
struct Fftw<double> {
  using Plan = fftw_plan;
  using Complex = fftw_complex;
  static constexpr auto init_threads = fftw_init_threads;
  static constexpr auto plan_with_nthreads = fftw_plan_with_nthreads;
  static constexpr auto set_timelimit = fftw_set_timelimit;
  static constexpr auto import_wisdom = fftw_import_wisdom_from_filename;
  static constexpr auto export_wisdom = fftw_export_wisdom_to_filename;
  static constexpr auto plan_dft = fftw_plan_dft;
  static constexpr auto plan_r2c = fftw_plan_dft_r2c;
  static constexpr auto plan_c2r = fftw_plan_dft_c2r;
  static constexpr auto plan_many_dft = fftw_plan_many_dft;
  static constexpr auto plan_many_r2c = fftw_plan_many_dft_r2c;
  static constexpr auto execute = fftw_execute;
  static constexpr auto destroy = fftw_destroy_plan;
};

template <>
struct Fftw<float> {
  using Plan = fftwf_plan;
  using Complex = fftwf_complex;
  static constexpr auto init_threads = fftwf_init_threads;
  static constexpr auto plan_with_nthreads = fftwf_plan_with_nthreads;
  static constexpr auto set_timelimit = fftwf_set_timelimit;
  static constexpr auto import_wisdom = fftwf_import_wisdom_from_filename;
  static constexpr auto export_wisdom = fftwf_export_wisdom_to_filename;
  static constexpr auto plan_dft = fftwf_plan_dft;
  static constexpr auto plan_r2c = fftwf_plan_dft_r2c;
  static constexpr auto plan_c2r = fftwf_plan_dft_c2r;
  static constexpr auto plan_many_dft = fftwf_plan_many_dft;
  static constexpr auto plan_many_r2c = fftwf_plan_many_dft_r2c;
  static constexpr auto execute = fftwf_execute;
  static constexpr auto destroy = fftwf_destroy_plan;
};

/// FFTW may look for a plan this long, in seconds, per direction; what it has by then it takes.
inline constexpr double kFftwPlanningLimit = 60;

}  // namespace bench
