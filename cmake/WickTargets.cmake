# wick_library(NAME SOURCES .. DEPENDS .. [CXX20|IR|JSON] [GROUPED]) and wick_test(NAME SOURCES .. DEPENDS ..
# [OPTIMIZED] [UNSANITIZED] [PRECOMPILED HEADER]): one folder, one target. GROUPED: WickGroups.cmake. HEADER is the path
# in the repository of a header that most of a test's files include; with clang it is precompiled. Tests of optimised
# libraries are not optimised themselves, because that takes most of the time to compile them. OPTIMIZED is for tests
# whose own loops take most of their run time. UNSANITIZED is for tests in which other programs do the work (compilers,
# NVRTC, QEMU), so that sanitizers see nothing. Builds with sanitizers omit them.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT WICK_FREESTANDING)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(WICK_CCACHE ccache)
if(WICK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Presets with equal flags share compiled objects.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_NOHASHDIR=1 "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 "${WICK_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

add_library(wick_flags INTERFACE)
target_include_directories(wick_flags INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
# No contraction, so that a*b+c gives the same bits on every host. Hot loops whose results may differ allow it file by
# file. -Wshadow=local: GCC would otherwise report local names that hide global names of other files of the group.
target_compile_options(wick_flags INTERFACE -ffp-contract=off -Wall -Wextra "-Wshadow$<$<CXX_COMPILER_ID:GNU>:=local>"
  -Wno-unused-parameter -Wno-deprecated-declarations
  "$<$<BOOL:${WICK_WERROR}>:-Werror>"
  # GCC 12 reports out-parameters that are set on every path that reads them, and products of bools in templates.
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-int-in-bool-context>"
  # Keeps paths of the build machine out of binaries.
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(WICK_FREESTANDING)
  target_compile_definitions(wick_flags INTERFACE WICK_FREESTANDING=1)
  target_compile_options(wick_flags INTERFACE -fno-pic -ffunction-sections -fdata-sections -fno-unwind-tables
    -fno-asynchronous-unwind-tables "$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions;-fno-rtti;-fno-threadsafe-statics>")
endif()

function(wick_library name)
  cmake_parse_arguments(ARG "CXX20;IR;JSON;GROUPED" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_GROUPED)
    wick_group_sources(ARG_SOURCES ${name} ${ARG_SOURCES})
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:wick_flags> PUBLIC ${ARG_DEPENDS})
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  if(ARG_CXX20 OR ARG_IR OR ARG_JSON)
    target_compile_features(${name} PUBLIC cxx_std_20)
    if(ARG_IR)
      wick_use_precompiled(${name} ir_library)
    elseif(ARG_JSON)
      wick_use_precompiled(${name} json_library)
    else()
      wick_use_precompiled(${name} library)
    endif()
  else()
    target_compile_features(${name} PUBLIC cxx_std_17)
    target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti ${wick_runtime_optimization})
  endif()
endfunction()

# wick_embed_text(TARGET NAME FILES ..): the text of files (paths in the repository) as the wick::TextFile array NAME.
function(wick_embed_text target name)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
  list(JOIN ARGN "," files)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  add_custom_command(OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" -DOUT=${source} -DNAME=${name} -DROOT=${PROJECT_SOURCE_DIR} -DFILES=${files}
            -P "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake"
    DEPENDS ${paths} "${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()

# The tool's own files read flags and print; the work at run time is in the libraries. With sanitizers, which make
# optimization take longer, only the libraries of the runtime are optimized, because tests spend their time in kernels.
# In these builds the files of tests are compiled without coverage and without the checks of undefined behaviour. They
# keep the checks of memory: without these, memory of the libraries could not be followed into inline functions.
set(WICK_SANITIZED OFF)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(WICK_SANITIZED ON)
endif()
set(wick_test_optimization)
set(wick_tool_optimization)
set(wick_runtime_optimization)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(wick_test_optimization -O0)
  set(wick_tool_optimization -Os)
elseif(WICK_SANITIZED)
  set(wick_test_optimization -O0 -fno-sanitize=fuzzer-no-link,undefined)
  set(wick_runtime_optimization -O1)
endif()

function(wick_test name)
  cmake_parse_arguments(ARG "OPTIMIZED;UNSANITIZED" "PRECOMPILED" "SOURCES;DEPENDS" ${ARGN})
  if(NOT WICK_TESTS OR (ARG_UNSANITIZED AND WICK_SANITIZED))
    return()
  endif()
  find_package(GTest REQUIRED)
  math(EXPR WICK_GROUP_SIZE "${WICK_GROUP_SIZE} / 2")
  set(tests ${ARG_SOURCES})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER ARG_SOURCES EXCLUDE REGEX "_test\\.cpp$")
  wick_group_sources(tests ${name} ${tests})
  add_executable(${name} ${tests} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE wick_flags ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  # GoogleTest's macros contain an if with an else.
  target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-dangling-else>")
  target_compile_features(${name} PRIVATE cxx_std_20)
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE ${wick_test_optimization})
  endif()
  if(ARG_PRECOMPILED AND WICK_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_precompile_headers(${name} PRIVATE <gtest/gtest.h> "${PROJECT_SOURCE_DIR}/${ARG_PRECOMPILED}")
  elseif(ARG_OPTIMIZED)
    wick_use_precompiled(${name} optimized_test)
  else()
    wick_use_precompiled(${name} test)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()

# wick_sanitize_part(TEST VARIABLE=VALUE ..): with sanitizers, which slow tests down, a test with generated cases runs
# with these environment variables, which select a part of the cases.
function(wick_sanitize_part name)
  if(WICK_SANITIZED AND TARGET ${name})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${ARGN})
  endif()
endfunction()

# wick_fuzz(NAME SOURCES .. DEPENDS .. CORPUS FOLDER [MAX_LEN BYTES]): a libFuzzer target in the fuzz preset; elsewhere, with
# tests on, a test that runs the target over its committed corpus (FOLDER is relative to the repository).
# The fuzz preset lists its targets in build/fuzz/fuzz_targets.txt: name, corpus folder, max_len.
set_property(GLOBAL PROPERTY WICK_FUZZ_LIST "")
if(WICK_TESTS)
  add_library(wick_fuzz_replay OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/fuzz_replay_main.cpp")
  target_link_libraries(wick_fuzz_replay PRIVATE wick_flags)
  target_compile_features(wick_fuzz_replay PRIVATE cxx_std_20)
  target_compile_options(wick_fuzz_replay PRIVATE ${wick_test_optimization})
endif()
function(wick_fuzz name)
  cmake_parse_arguments(ARG "" "CORPUS;MAX_LEN" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_MAX_LEN)
    set(ARG_MAX_LEN 4096)
  endif()
  if(WICK_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND_STRING PROPERTY WICK_FUZZ_LIST "${name} ${ARG_CORPUS} ${ARG_MAX_LEN}\n")
    get_property(list GLOBAL PROPERTY WICK_FUZZ_LIST)
    file(WRITE "${CMAKE_BINARY_DIR}/fuzz_targets.txt" "${list}")
  elseif(WICK_TESTS)
    add_executable(${name} ${ARG_SOURCES} $<TARGET_OBJECTS:wick_fuzz_replay>)
    target_compile_options(${name} PRIVATE ${wick_test_optimization})
    add_test(NAME ${name}_corpus COMMAND ${name} "${PROJECT_SOURCE_DIR}/${ARG_CORPUS}")
  else()
    return()
  endif()
  target_link_libraries(${name} PRIVATE wick_flags ${ARG_DEPENDS})
  target_compile_features(${name} PRIVATE cxx_std_20)
endfunction()
