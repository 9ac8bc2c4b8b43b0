# FFTW 3 in double and single precision: targets FFTW::double, FFTW::single.
# Looks at FFTW_ROOT, $FFTW_DIR, CMAKE_PREFIX_PATH, what pkg-config says, the system.
# (MKL has an fftw3.h of its own in include/fftw; CMake does not look there unless told to.)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_FFTW QUIET fftw3)
endif()
set(_fftw_hints HINTS ENV FFTW_DIR ${PC_FFTW_INCLUDEDIR} ${PC_FFTW_LIBDIR})

find_path(FFTW_INCLUDE_DIR fftw3.h ${_fftw_hints})
find_library(FFTW_DOUBLE_LIBRARY fftw3 ${_fftw_hints})
find_library(FFTW_SINGLE_LIBRARY fftw3f ${_fftw_hints})
mark_as_advanced(FFTW_INCLUDE_DIR FFTW_DOUBLE_LIBRARY FFTW_SINGLE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW
  REQUIRED_VARS FFTW_DOUBLE_LIBRARY FFTW_SINGLE_LIBRARY FFTW_INCLUDE_DIR)
if(FFTW_FOUND AND NOT TARGET FFTW::double)
  foreach(_precision double single)
    string(TOUPPER FFTW_${_precision}_LIBRARY _library)
    add_library(FFTW::${_precision} UNKNOWN IMPORTED)
    set_target_properties(FFTW::${_precision} PROPERTIES
      IMPORTED_LOCATION ${${_library}} INTERFACE_INCLUDE_DIRECTORIES ${FFTW_INCLUDE_DIR})
  endforeach()
endif()
