# MKL's DFT for the calling thread: libmkl_intel_lp64, libmkl_sequential, libmkl_core as the target
# MKLSequential::mkl. Never libmkl_rt or ilp64: Weft links them beside FFTW, and threads by itself.
# Looks at MKLSequential_ROOT, $MKLROOT, CMAKE_PREFIX_PATH, the system, /opt/intel.
# The Python wheels hold versioned names only (libmkl_core.so.3), so those are looked for too.
set(_mkl_places HINTS ENV MKLROOT PATHS /opt/intel/oneapi/mkl/latest /opt/intel/mkl)
find_path(MKL_INCLUDE_DIR mkl_dfti.h ${_mkl_places} PATH_SUFFIXES include/mkl)
mark_as_advanced(MKL_INCLUDE_DIR)

set(MKLSequential_LIBRARIES)
foreach(_part intel_lp64 sequential core)
  find_library(MKL_${_part}_LIBRARY
    NAMES mkl_${_part} libmkl_${_part}.so.4 libmkl_${_part}.so.3 libmkl_${_part}.so.2
    ${_mkl_places} PATH_SUFFIXES intel64 lib/intel64)
  mark_as_advanced(MKL_${_part}_LIBRARY)
  list(APPEND MKLSequential_LIBRARIES ${MKL_${_part}_LIBRARY})
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MKLSequential REQUIRED_VARS
  MKL_intel_lp64_LIBRARY MKL_sequential_LIBRARY MKL_core_LIBRARY MKL_INCLUDE_DIR)
if(MKLSequential_FOUND AND NOT TARGET MKLSequential::mkl)
  add_library(MKLSequential::mkl INTERFACE IMPORTED)
  set_target_properties(MKLSequential::mkl PROPERTIES
    INTERFACE_LINK_LIBRARIES "${MKLSequential_LIBRARIES}"
    INTERFACE_INCLUDE_DIRECTORIES ${MKL_INCLUDE_DIR})
endif()
