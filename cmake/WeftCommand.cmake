# The command weft (build/bin/weft). It holds the static library, so it can be copied anywhere.
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)
find_package(fmt QUIET)
if(NOT CLI11_FOUND OR NOT nlohmann_json_FOUND OR NOT fmt_FOUND)
  message(WARNING "The command weft is left out: it needs CLI11, nlohmann-json and fmt "
                  "(found: ${CLI11_FOUND}, ${nlohmann_json_FOUND}, ${fmt_FOUND}). Run tools/setup to install them.")
  return()
endif()
if(WEFT_HDF5)
  find_package(HDF5Parallel QUIET)
endif()

add_executable(weft_command ${weft_command_sources})
set_target_properties(weft_command PROPERTIES OUTPUT_NAME weft)
target_include_directories(weft_command PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(weft_command PRIVATE WEFT_VERSION="${PROJECT_VERSION}"
  WEFT_MPIEXEC="${MPIEXEC_EXECUTABLE}" WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(weft_command PRIVATE weft::weft_static weft_warnings
                      CLI11::CLI11 nlohmann_json::nlohmann_json fmt::fmt OpenMP::OpenMP_CXX)
if(HDF5Parallel_FOUND)
  target_link_libraries(weft_command PRIVATE HDF5Parallel::hdf5)
  target_compile_definitions(weft_command PRIVATE WEFT_HAVE_HDF5=1)
endif()
