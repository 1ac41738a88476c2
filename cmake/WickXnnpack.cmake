# The XNNPACK library. WICK_XNNPACK says where it comes from:
#   ON      built once per compiler from the distribution's sources into a cache outside the build folder; where that is
#           impossible, a warning, and the build goes on without it
#   system  the installed copy, which must know the calls of 2024-11
#   OFF     none
# Without the library Wick still compiles programs for XNNPACK, but reports that it cannot run them.
# Result: WICK_HAS_XNNPACK; the target wick::xnnpack_library.

set(WICK_XNNPACK ON CACHE STRING "XNNPACK library: ON (build once, cached), system, or OFF")
set_property(CACHE WICK_XNNPACK PROPERTY STRINGS ON system OFF)
set(wick_default_cache "$ENV{XDG_CACHE_HOME}")
if(NOT wick_default_cache AND NOT "$ENV{HOME}" STREQUAL "")
  set(wick_default_cache "$ENV{HOME}/.cache")
endif()
if(NOT wick_default_cache)
  set(wick_default_cache "${CMAKE_BINARY_DIR}/cache")
endif()
set(WICK_XNNPACK_CACHE "${wick_default_cache}/wick" CACHE PATH
    "Folder that keeps the built XNNPACK library and its sources; where it cannot be written, one in the build folder does")

set(WICK_HAS_XNNPACK OFF)
include("${CMAKE_CURRENT_LIST_DIR}/xnnpack/edits.cmake")

# Reads the version of a compiler into `out`; empty if it does not run.
function(wick_compiler_version compiler out)
  execute_process(COMMAND "${compiler}" --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX REPLACE "\n.*" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Sets `out` to whether files can be made in a folder. Makes the folder if it does not exist.
function(wick_can_write folder out)
  set(${out} FALSE PARENT_SCOPE)
  set(probe "${folder}/.probe")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}" RESULT_VARIABLE made OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E touch "${probe}" RESULT_VARIABLE touched OUTPUT_QUIET ERROR_QUIET)
  if(made EQUAL 0 AND touched EQUAL 0)
    file(REMOVE "${probe}")
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Chooses the compilers. Only a newer clang builds all of the library's int8 kernels (AMX). Its archives link with
# objects of any other compiler.
function(wick_xnnpack_compilers c_out cxx_out)
  set(c "${CMAKE_C_COMPILER}")
  set(cxx "${CMAKE_CXX_COMPILER}")
  if(NOT (CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 15))
    find_program(WICK_XNNPACK_CLANG NAMES clang-19 clang-20 clang-18 clang-17 clang-16 clang-15)
    mark_as_advanced(WICK_XNNPACK_CLANG)
    string(REGEX REPLACE "clang(-[0-9]+)$" "clang++\\1" clangxx "${WICK_XNNPACK_CLANG}")
    if(WICK_XNNPACK_CLANG AND EXISTS "${clangxx}")
      set(c "${WICK_XNNPACK_CLANG}")
      set(cxx "${clangxx}")
    endif()
  endif()
  set(${c_out} "${c}" PARENT_SCOPE)
  set(${cxx_out} "${cxx}" PARENT_SCOPE)
endfunction()

# Builds the library into `prefix` unless it is there. Sets `problem` to "" or to a sentence about the failure.
function(wick_build_xnnpack prefix c cxx flags problem)
  set(${problem} "" PARENT_SCOPE)
  file(MAKE_DIRECTORY "${WICK_XNNPACK_CACHE}")
  # If two configure runs meet, the second waits here and then finds the library that the first has built.
  file(LOCK "${WICK_XNNPACK_CACHE}/xnnpack.lock" GUARD FUNCTION RESULT_VARIABLE locked)
  if(EXISTS "${prefix}/include/xnnpack.h")
    return()
  endif()
  if(NOT locked EQUAL 0)
    set(${problem} "the folder ${WICK_XNNPACK_CACHE} cannot be locked (${locked})" PARENT_SCOPE)
    return()
  endif()
  find_program(WICK_PYTHON3 python3)
  mark_as_advanced(WICK_PYTHON3)
  if(NOT WICK_PYTHON3)
    set(${problem} "its build needs python3 (Debian: apt-get install python3)" PARENT_SCOPE)
    return()
  endif()
  find_path(WICK_FXDIV_INCLUDE fxdiv.h)
  mark_as_advanced(WICK_FXDIV_INCLUDE)
  if(NOT WICK_FXDIV_INCLUDE)
    set(${problem} "its build needs fxdiv.h (Debian: apt-get install libfxdiv-dev)" PARENT_SCOPE)
    return()
  endif()

  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/get_xnnpack.sh" "${WICK_XNNPACK_CACHE}/sources"
                  RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_QUIET)
  if(NOT result EQUAL 0)
    string(STRIP "${text}" text)
    set(${problem} "its sources cannot be had: ${text}" PARENT_SCOPE)
    return()
  endif()

  # Shown at every log level, because this configure run takes long.
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo
    "-- Building XNNPACK once, into ${prefix} (about one minute on two cores)")
  set(work "${WICK_XNNPACK_CACHE}/build")  # one at a time: the lock
  file(REMOVE_RECURSE "${work}")
  file(ARCHIVE_EXTRACT INPUT "${WICK_XNNPACK_CACHE}/sources/xnnpack.tar.xz" DESTINATION "${work}/source/xnnpack")
  file(ARCHIVE_EXTRACT INPUT "${WICK_XNNPACK_CACHE}/sources/pthreadpool.tar.xz" DESTINATION "${work}/unpacked")
  file(GLOB top LIST_DIRECTORIES ON "${work}/unpacked/*")
  file(RENAME "${top}" "${work}/source/pthreadpool")
  wick_edit_xnnpack("${work}/source" edited)
  if(NOT edited)
    file(REMOVE_RECURSE "${work}")
    set(${problem} "its sources are not the expected ones" PARENT_SCOPE)
    return()
  endif()
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(all_flags "${flags} -I${WICK_FXDIV_INCLUDE} -ffile-prefix-map=${work}/source/=")
  foreach(step
      "-S;${PROJECT_SOURCE_DIR}/cmake/xnnpack;-B;${work}/build;-G;${CMAKE_GENERATOR};-DCMAKE_BUILD_TYPE=Release;-DCMAKE_C_COMPILER=${c};-DCMAKE_CXX_COMPILER=${cxx};-DCMAKE_ASM_COMPILER=${c};-DCMAKE_C_FLAGS=${all_flags};-DCMAKE_CXX_FLAGS=${all_flags};-DCMAKE_INSTALL_PREFIX=${work}/installed;-DWICK_XNNPACK_SOURCE=${work}/source;-DWICK_XNNPACK_CPUINFO=${PROJECT_SOURCE_DIR}/backends/xnnpack/cpuinfo"
      "--build;${work}/build;--parallel;${cores}"
      "--install;${work}/build")
    execute_process(COMMAND "${CMAKE_COMMAND}" ${step} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(NOT result EQUAL 0)
      file(WRITE "${prefix}.log" "${text}")
      file(REMOVE_RECURSE "${work}")
      set(${problem} "its build failed, see ${prefix}.log" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  # Atomic: the folder is complete or absent.
  file(RENAME "${work}/installed" "${prefix}")
  file(REMOVE_RECURSE "${work}" "${prefix}.log")
endfunction()

# Makes wick::xnnpack_library of archives or shared libraries, in the order the linker needs.
function(wick_add_xnnpack_library include_folder libraries)
  add_library(wick::xnnpack_library INTERFACE IMPORTED GLOBAL)
  set_target_properties(wick::xnnpack_library PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${include_folder}"
    INTERFACE_LINK_LIBRARIES "${libraries};Threads::Threads;m")
endfunction()

function(wick_find_own_xnnpack problem)
  if(CMAKE_CROSSCOMPILING OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(${problem} "Wick builds it for x86-64 Linux only; try -DWICK_XNNPACK=system" PARENT_SCOPE)
    return()
  endif()
  wick_xnnpack_compilers(c cxx)
  wick_compiler_version("${c}" version)
  # ThreadSanitizer must see how threads synchronize. Other sanitizers use the plain archives.
  set(flags)
  if("${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize=thread")
    set(flags "-fsanitize=thread")
  endif()
  file(SHA256 "${PROJECT_SOURCE_DIR}/scripts/get_xnnpack.sh" script)
  set(ours)
  foreach(file CMakeLists.txt edits.cmake busy_pool.h columns_first.h)
    file(SHA256 "${PROJECT_SOURCE_DIR}/cmake/xnnpack/${file}" sum)
    string(APPEND ours "${sum} ")
  endforeach()
  file(SHA256 "${PROJECT_SOURCE_DIR}/backends/xnnpack/cpuinfo/cpuinfo.h" cpuinfo)
  string(SHA256 hash "${script} ${ours} ${cpuinfo} ${version} ${flags}")
  string(SUBSTRING "${hash}" 0 16 hash)
  set(prefix "${WICK_XNNPACK_CACHE}/xnnpack-${hash}")
  if(NOT EXISTS "${prefix}/include/xnnpack.h")
    wick_can_write("${WICK_XNNPACK_CACHE}" writable)
    if(NOT writable)
      execute_process(COMMAND "${CMAKE_COMMAND}" -E echo
        "-- ${WICK_XNNPACK_CACHE} cannot be written; XNNPACK is kept in ${CMAKE_BINARY_DIR}/cache")
      set(WICK_XNNPACK_CACHE "${CMAKE_BINARY_DIR}/cache")  # of this function and those it calls
      set(prefix "${WICK_XNNPACK_CACHE}/xnnpack-${hash}")
    endif()
  endif()
  if(NOT EXISTS "${prefix}/include/xnnpack.h")
    wick_build_xnnpack("${prefix}" "${c}" "${cxx}" "${flags}" failure)
    if(failure)
      set(${problem} "${failure}" PARENT_SCOPE)
      return()
    endif()
  endif()
  set(WICK_XNNPACK_PREFIX "${prefix}" CACHE INTERNAL "")
  wick_add_xnnpack_library("${prefix}/include"
    "${prefix}/lib/libXNNPACK.a;${prefix}/lib/libmicrokernels-prod.a;${prefix}/lib/libpthreadpool.a")
  set(${problem} "" PARENT_SCOPE)
endfunction()

function(wick_find_system_xnnpack)
  find_path(WICK_XNNPACK_INCLUDE xnnpack.h)
  find_library(WICK_XNNPACK_LIBRARY NAMES XNNPACK xnnpack)
  find_library(WICK_MICROKERNELS_LIBRARY NAMES xnnpack-microkernels-prod microkernels-prod)
  find_library(WICK_PTHREADPOOL_LIBRARY pthreadpool)
  find_library(WICK_CPUINFO_LIBRARY cpuinfo)
  mark_as_advanced(WICK_XNNPACK_INCLUDE WICK_XNNPACK_LIBRARY WICK_MICROKERNELS_LIBRARY WICK_PTHREADPOOL_LIBRARY WICK_CPUINFO_LIBRARY)
  set(missing)
  foreach(part "WICK_XNNPACK_INCLUDE:xnnpack.h" "WICK_XNNPACK_LIBRARY:libXNNPACK" "WICK_PTHREADPOOL_LIBRARY:libpthreadpool")
    string(REPLACE ":" ";" part "${part}")
    list(GET part 0 variable)
    list(GET part 1 name)
    if(NOT ${variable})
      list(APPEND missing "${name}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR "No installed XNNPACK: ${missing} not found; install one of 2024-11 or later, say where with "
                        "-DCMAKE_PREFIX_PATH=FOLDER, or use -DWICK_XNNPACK=ON or OFF")
  endif()
  set(libraries "${WICK_XNNPACK_LIBRARY}")
  foreach(library WICK_MICROKERNELS_LIBRARY WICK_PTHREADPOOL_LIBRARY WICK_CPUINFO_LIBRARY)
    if(${library})
      list(APPEND libraries "${${library}}")
    endif()
  endforeach()
  wick_add_xnnpack_library("${WICK_XNNPACK_INCLUDE}" "${libraries}")

  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES wick::xnnpack_library)
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <pthreadpool.h>
    #include <xnnpack.h>
    int main() {
      xnn_runtime_t runtime = nullptr;
      xnn_subgraph_t subgraph = nullptr;
      xnn_define_unary(subgraph, xnn_unary_gelu, nullptr, 0, 1, 0);
      xnn_define_binary(subgraph, xnn_binary_add, nullptr, 0, 1, 2, 0);
      xnn_reshape_external_value(runtime, 0, 0, nullptr);
      return xnn_create_runtime_v4(subgraph, nullptr, nullptr, nullptr, 0, &runtime);
    }" WICK_SYSTEM_XNNPACK_IS_NEW_ENOUGH)
  if(NOT WICK_SYSTEM_XNNPACK_IS_NEW_ENOUGH)
    unset(WICK_SYSTEM_XNNPACK_IS_NEW_ENOUGH CACHE)
    message(FATAL_ERROR "The installed XNNPACK (${WICK_XNNPACK_LIBRARY}) is older than 2024-11; use -DWICK_XNNPACK=ON or OFF")
  endif()
endfunction()

if(WICK_FREESTANDING OR CMAKE_SYSTEM_NAME STREQUAL "Generic")
  # Freestanding targets do not use it.
elseif(WICK_XNNPACK STREQUAL "system")
  find_package(Threads REQUIRED)
  wick_find_system_xnnpack()
  set(WICK_HAS_XNNPACK ON)
elseif(WICK_XNNPACK)
  find_package(Threads REQUIRED)
  wick_find_own_xnnpack(wick_xnnpack_problem)
  if(wick_xnnpack_problem)
    message(WARNING "No XNNPACK library: ${wick_xnnpack_problem}. Wick is built without it: programs for XNNPACK can be "
                    "compiled, but not run. -DWICK_XNNPACK=OFF silences this.")
  else()
    set(WICK_HAS_XNNPACK ON)
  endif()
endif()
