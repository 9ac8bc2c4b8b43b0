# `cmake --install`: libraries, headers, the command, and how others find them: find_package(weft)
# with the targets weft::weft and weft::weft_static, and pkg-config weft.
include(CMakePackageConfigHelpers)
set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

# Two exports, since only the static library asks its user for FFTW, MKL and OpenMP.
install(TARGETS weft EXPORT weftSharedTargets)
install(TARGETS weft_static EXPORT weftStaticTargets)
foreach(kind Shared Static)
  install(EXPORT weft${kind}Targets NAMESPACE weft:: DESTINATION ${weft_package_dir})
endforeach()
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(TARGET weft_command)
  install(TARGETS weft_command)
endif()
file(GLOB weft_plot_scripts CONFIGURE_DEPENDS tools/plot/*.py)
install(PROGRAMS ${weft_plot_scripts} DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(weft_static_packages OpenMP)
if(WEFT_HAVE_FFTW)
  list(APPEND weft_static_packages FFTW)
  get_filename_component(weft_fftw_root ${FFTW_INCLUDE_DIR} DIRECTORY)
endif()
if(WEFT_HAVE_MKL)
  list(APPEND weft_static_packages MKLSequential)
  get_filename_component(weft_mkl_root ${MKL_core_LIBRARY} DIRECTORY)
  get_filename_component(weft_mkl_root ${weft_mkl_root} DIRECTORY)
endif()
configure_package_config_file(cmake/weftConfig.cmake.in weftConfig.cmake
                              INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file(weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
              cmake/FindFFTW.cmake cmake/FindMKLSequential.cmake
        DESTINATION ${weft_package_dir})

# pkg-config: MPI is spelled out as CMake found it, since MPIs agree on no name there.
list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND "-I" OUTPUT_VARIABLE weft_mpi_cflags)
list(JOIN weft_mpi_cflags " " weft_mpi_cflags)
list(JOIN MPI_CXX_LIBRARIES " " weft_mpi_libs)
set(weft_private_libs)
if(WEFT_HAVE_FFTW)
  list(APPEND weft_private_libs ${FFTW_DOUBLE_LIBRARY} ${FFTW_SINGLE_LIBRARY})
endif()
if(WEFT_HAVE_MKL)
  list(APPEND weft_private_libs ${MKLSequential_LIBRARIES})
endif()
list(JOIN weft_private_libs " " weft_private_libs)
file(RELATIVE_PATH weft_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
