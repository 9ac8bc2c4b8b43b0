# The engine "weft" once more for each set of WEFT_INSTRUCTIONS that the compiler knows. At run time
# the library takes the widest that the processor has (src/engine/instructions.cpp), so that one
# build runs, and runs fast, on every machine. Sets weft_instruction_objects, an object for each set.
#
# Inline functions and templates, the standard library's too, have the same names in all sets, and a
# linker would keep any one of them. So the objects of a set become one, of which others see a single
# name.
set(weft_instruction_objects)
set(weft_instruction_sets "X(baseline)")
set(weft_instructions_built)
if(WEFT_INSTRUCTIONS)
  execute_process(COMMAND ${CMAKE_LINKER} --help OUTPUT_VARIABLE weft_linker_help ERROR_QUIET)
  if(NOT CMAKE_OBJCOPY OR NOT weft_linker_help MATCHES "--force-group-allocation")
    message(WARNING "The engine weft is compiled for every processor only, and slower than it could be: "
                    "WEFT_INSTRUCTIONS needs ld and objcopy of GNU binutils.")
    set(WEFT_INSTRUCTIONS "")
  endif()
endif()

file(GLOB weft_kernel_sources CONFIGURE_DEPENDS src/engine/weft/*.cpp)

check_cxx_compiler_flag(-fno-gnu-unique WEFT_CXX_fno_gnu_unique)  # such names stay global
foreach(set IN LISTS WEFT_INSTRUCTIONS)
  string(MAKE_C_IDENTIFIER "${set}" identifier)
  check_cxx_compiler_flag(-march=${set} WEFT_CXX_march_${identifier})
  if(NOT WEFT_CXX_march_${identifier})
    message(STATUS "Weft: the compiler does not know -march=${set}")
    continue()
  endif()
  set(objects weft_engine_${identifier})
  add_library(${objects} OBJECT ${weft_kernel_sources})
  set_target_properties(${objects} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${objects} PRIVATE include src)
  target_compile_definitions(${objects} PRIVATE
    WEFT_INSTRUCTION_SET=weft_for_${identifier} WEFT_INSTRUCTION_SET_NAME="${set}")
  target_compile_features(${objects} PRIVATE cxx_std_20)
  target_compile_options(${objects} PRIVATE
    -march=${set} $<$<BOOL:${WEFT_CXX_fno_gnu_unique}>:-fno-gnu-unique>)
  target_link_libraries(${objects} PRIVATE weft_warnings weft_arithmetic_flags)

  set(object ${PROJECT_BINARY_DIR}/weft_engine.${set}.o)
  add_custom_command(OUTPUT ${object} VERBATIM COMMAND_EXPAND_LISTS
    COMMENT "Joining the engine weft for ${set}"
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} $<TARGET_OBJECTS:${objects}>
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=weft_for_${identifier} ${object}
    DEPENDS ${objects} $<TARGET_OBJECTS:${objects}>)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  list(APPEND weft_instruction_objects ${object})
  list(PREPEND weft_instructions_built ${set})
  string(PREPEND weft_instruction_sets "X(${identifier}) ")
endforeach()
add_custom_target(weft_engine_objects DEPENDS ${weft_instruction_objects})
set_source_files_properties(src/engine/instructions.cpp PROPERTIES COMPILE_DEFINITIONS
  "WEFT_INSTRUCTION_SETS=${weft_instruction_sets}")
