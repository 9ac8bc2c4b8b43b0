# cmake -D source=... -D build=... -D generator=... -P: the MPI tests with FFTW as the only engine.
# The same build as preset fftw-only, wherever the main one is.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${source} -B ${build} -G ${generator} -D CMAKE_BUILD_TYPE=Release
                        -D WEFT_FFTW=on -D WEFT_MKL=off -D WEFT_BUILD_TOOLS=OFF -D WEFT_BUILD_EXAMPLES=OFF
                        -D WEFT_BUILD_BENCH=OFF -D WEFT_INSTRUCTIONS=
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} --target mpi_tests COMMAND_ERROR_IS_FATAL ANY)
