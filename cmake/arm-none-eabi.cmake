# Bare-metal Arm Cortex-M with newlib. WICK_ARM_CPU is cortex-m55, cortex-m4, cortex-m3 or cortex-m0; WICK_ARM_COMPILER
# is clang (clang 19 compiles, Debian's arm-none-eabi GCC links) or gcc.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(WICK_ARM_CPU cortex-m55 CACHE STRING "The core")
set(WICK_ARM_COMPILER clang CACHE STRING "clang or gcc")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WICK_ARM_CPU WICK_ARM_COMPILER)
# Test programs cannot be linked before Wick's own start-up code is built.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# The core, its kind of floating point, the triple that clang calls it by, the instruction set that Cortex-M kernels are for.
set(wick_arm_cores
  "cortex-m55,-mfloat-abi=hard,thumbv8.1m.main-none-eabihf,mve"
  "cortex-m4,-mfloat-abi=hard -mfpu=fpv4-sp-d16,thumbv7em-none-eabihf,dsp"
  "cortex-m3,-mfloat-abi=soft,thumbv7m-none-eabi,scalar"
  "cortex-m0,-mfloat-abi=soft,thumbv6m-none-eabi,scalar")
set(WICK_CORTEX_M_ISA)
foreach(core IN LISTS wick_arm_cores)
  string(REPLACE "," ";" fields "${core}")
  list(GET fields 0 name)
  if(name STREQUAL WICK_ARM_CPU)
    list(GET fields 1 float)
    list(GET fields 2 triple)
    list(GET fields 3 WICK_CORTEX_M_ISA)
  endif()
endforeach()
if(NOT WICK_CORTEX_M_ISA)
  message(FATAL_ERROR "WICK_ARM_CPU is \"${WICK_ARM_CPU}\": wanted cortex-m55, cortex-m4, cortex-m3 or cortex-m0")
endif()

set(WICK_ARM_LINK_FLAGS "-mcpu=${WICK_ARM_CPU} -mthumb ${float}")
if(WICK_ARM_COMPILER STREQUAL "gcc")
  set(CMAKE_C_COMPILER arm-none-eabi-gcc)
  set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
  # GCC 12 miscompiles selects between vectors (it reads registers that it never set), and with debug information it
  # stops with an internal error. So only the kernels written for MVE are compiled with its instructions
  # (WICK_MVE_FLAGS).
  if(WICK_CORTEX_M_ISA STREQUAL "mve")
    set(WICK_MVE_FLAGS "-mcpu=${WICK_ARM_CPU}")
  endif()
  string(REPLACE "cortex-m55" "cortex-m55+nomve" wick_arm_flags "${WICK_ARM_LINK_FLAGS}")
else()
  set(CMAKE_C_COMPILER clang-19)
  set(CMAKE_CXX_COMPILER clang++-19)
  set(CMAKE_C_COMPILER_TARGET ${triple})
  set(CMAKE_CXX_COMPILER_TARGET ${triple})
  set(CMAKE_AR arm-none-eabi-ar CACHE FILEPATH "")
  set(CMAKE_RANLIB arm-none-eabi-ranlib CACHE FILEPATH "")
  # newlib's headers, and those of GCC's C++ library for this core.
  set(wick_arm_flags "-mcpu=${WICK_ARM_CPU} -mthumb ${float} -fshort-enums -fomit-frame-pointer -isystem /usr/include/newlib")
  file(GLOB wick_arm_cxx /usr/include/newlib/c++/*)
  set(wick_arm_cxx_flags "-isystem ${wick_arm_cxx} -isystem ${wick_arm_cxx}/arm-none-eabi")
  # With -Oz clang reaches the size of GCC with -Os.
  foreach(language C CXX)
    set(CMAKE_${language}_FLAGS_MINSIZEREL "-Oz -DNDEBUG" CACHE STRING "")
  endforeach()
  # Objects carry no unwinding tables, so that GCC's linker takes them as its own.
  foreach(language C CXX)
    set(CMAKE_${language}_LINK_EXECUTABLE
      "arm-none-eabi-gcc ${WICK_ARM_LINK_FLAGS} <CMAKE_${language}_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
  endforeach()
endif()
set(CMAKE_C_FLAGS_INIT "${wick_arm_flags}")
set(CMAKE_CXX_FLAGS_INIT "${wick_arm_cxx_flags} ${wick_arm_flags}")
set(CMAKE_ASM_FLAGS_INIT "${wick_arm_flags}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# FlatBuffers is header-only and lies in the host's include folder; schema/ links it into a separate folder.
set(CMAKE_INCLUDE_PATH /usr/include)
