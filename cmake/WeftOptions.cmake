# Every option of the build. Values given on the command line or by a preset win over these defaults.

set(WEFT_FFTW auto CACHE STRING "Engine FFTW: auto (when found), on (must be found), off")
set(WEFT_MKL auto CACHE STRING "Engine MKL: auto (when found), on (must be found), off")
set_property(CACHE WEFT_FFTW WEFT_MKL PROPERTY STRINGS auto on off)
foreach(option WEFT_FFTW WEFT_MKL)
  string(TOLOWER "${${option}}" value)
  if(NOT value MATCHES "^(auto|on|off)$")
    message(FATAL_ERROR "${option} is '${${option}}'; it may be auto, on or off")
  endif()
endforeach()

set(WEFT_SANITIZE OFF CACHE STRING "OFF, address (with undefined behaviour) or thread")
set_property(CACHE WEFT_SANITIZE PROPERTY STRINGS OFF address thread)

set(weft_known_instructions x86-64-v3 x86-64-v4)  # of src/engine/instructions.cpp, narrowest first
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT APPLE)
  set(weft_instructions ${weft_known_instructions})
else()
  set(weft_instructions)
endif()
set(WEFT_INSTRUCTIONS "${weft_instructions}" CACHE STRING
  "Vector instructions that the engine weft is compiled for, beside those that every processor has")
foreach(set IN LISTS WEFT_INSTRUCTIONS)
  if(NOT set IN_LIST weft_known_instructions)
    list(JOIN weft_known_instructions ", " known)
    message(FATAL_ERROR "WEFT_INSTRUCTIONS has '${set}'; Weft knows ${known}")
  endif()
endforeach()
option(WEFT_WERROR "Warnings are errors" OFF)
option(WEFT_HDF5 "Let the command read and write HDF5, when a parallel HDF5 is found" ON)

option(WEFT_BUILD_TOOLS "Build the command weft" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endif()

# An installed weft finds its libraries where they were found for the build, and its command by itself.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# ---- flags -----------------------------------------------------------------------------------------
set(CMAKE_CXX_EXTENSIONS OFF)

# A sanitizer must be in everything that is linked together, so these flags hold for every target.
if(WEFT_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=address,undefined)
elseif(WEFT_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=thread)
elseif(WEFT_SANITIZE)
  message(FATAL_ERROR "WEFT_SANITIZE is '${WEFT_SANITIZE}'; it may be OFF, address or thread")
endif()

# Targets of this repository link weft_warnings; what includes Weft is not bothered by them.
add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${WEFT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weft_warnings INTERFACE -Wno-restrict)  # wrong about std::string (GCC bug 105329)
endif()

# For the library's own sources: fused multiply-add, complex products without the rescue of infinities
# of C99 Annex G (a function call each), sqrt without errno.
include(CheckCXXCompilerFlag)
add_library(weft_arithmetic_flags INTERFACE)
function(weft_flag_of target flag)
  string(MAKE_C_IDENTIFIER "WEFT_CXX${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(${target} INTERFACE ${flag})
  endif()
endfunction()
foreach(flag -ffp-contract=fast -fcx-limited-range -fno-math-errno)
  weft_flag_of(weft_arithmetic_flags ${flag})
endforeach()
