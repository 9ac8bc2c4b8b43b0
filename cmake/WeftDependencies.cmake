# Finds MPI, OpenMP and the engines' libraries. Sets WEFT_HAVE_FFTW, WEFT_HAVE_MKL and
# weft_engine_libraries (FFTW before MKL; see CMakeLists.txt).

# Where tools/setup puts what the system lacks: programs and MPI into .venv, unpacked packages into
# .venv/deb, MKL into .venv/mkl.
set(weft_venv ${PROJECT_SOURCE_DIR}/.venv)
if(EXISTS ${weft_venv})
  list(APPEND CMAKE_PROGRAM_PATH ${weft_venv}/bin)
  list(APPEND CMAKE_PREFIX_PATH ${weft_venv}/deb/usr)
  if(NOT DEFINED ENV{MKLROOT})
    list(APPEND CMAKE_PREFIX_PATH ${weft_venv}/mkl)
  endif()
endif()

# A project that includes Weft as a subdirectory links MPI through it, and must see that target.
if(NOT PROJECT_IS_TOP_LEVEL)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
endif()

# Only the C interface of MPI is used: from C++, without the C++ bindings of old.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# Persistent collectives are MPI-4; Open MPI 4 has them as an extension. By trying, not by version.
include(CheckCXXSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
check_cxx_symbol_exists(MPI_Alltoallv_init mpi.h WEFT_HAVE_ALLTOALLV_INIT)
check_cxx_symbol_exists(MPIX_Alltoallv_init "mpi.h;mpi-ext.h" WEFT_HAVE_MPIX_ALLTOALLV_INIT)
unset(CMAKE_REQUIRED_LIBRARIES)

# Sets WEFT_HAVE_<engine> from the option WEFT_<engine>; ARGN: the targets that the engine links.
macro(weft_find_engine engine package)
  string(TOLOWER "${WEFT_${engine}}" weft_wanted)
  set(WEFT_HAVE_${engine} OFF)
  if(NOT weft_wanted STREQUAL "off")
    find_package(${package} QUIET)
    if(${package}_FOUND)
      set(WEFT_HAVE_${engine} ON)
      list(APPEND weft_engine_libraries ${ARGN})
    elseif(weft_wanted STREQUAL "on")
      message(FATAL_ERROR "WEFT_${engine}=on, but ${engine} was not found. "
                          "Run tools/setup, or name its place with -D${package}_ROOT=...")
    endif()
  endif()
endmacro()

set(weft_engine_libraries)
weft_find_engine(FFTW FFTW FFTW::double FFTW::single)
weft_find_engine(MKL MKLSequential MKLSequential::mkl)
if(NOT weft_engine_libraries)
  message(FATAL_ERROR "Weft needs an engine, FFTW or MKL, and has neither "
                      "(WEFT_FFTW=${WEFT_FFTW}, WEFT_MKL=${WEFT_MKL}). Run tools/setup to install both.")
endif()

# CMake keeps out of an installed runpath what lies in this tree, but .venv is meant to be found.
foreach(library IN LISTS FFTW_DOUBLE_LIBRARY MKLSequential_LIBRARIES MPI_CXX_LIBRARIES)
  get_filename_component(directory "${library}" DIRECTORY)
  cmake_path(IS_PREFIX weft_venv "${directory}" is_ours)
  if(is_ours AND PROJECT_IS_TOP_LEVEL)
    list(APPEND CMAKE_INSTALL_RPATH ${directory})
  endif()
endforeach()
list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
