# Bare-metal Arm Cortex-M55 (hard float) with Debian's arm-none-eabi GCC and newlib.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
# There is nothing to link a test program with before our own start-up code is built.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# Without vector instructions (MVE): with them GCC 12 reads registers it never set in a selection between vectors, and
# stops with an internal error where debug information is asked for.
set(WICK_ARM_CPU cortex-m55+nomve CACHE STRING "Value of -mcpu")
set(WICK_ARM_FLAGS "-mcpu=${WICK_ARM_CPU} -mthumb -mfloat-abi=hard")
set(CMAKE_C_FLAGS_INIT "${WICK_ARM_FLAGS}")
set(CMAKE_CXX_FLAGS_INIT "${WICK_ARM_FLAGS}")
set(CMAKE_ASM_FLAGS_INIT "${WICK_ARM_FLAGS}")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Header-only FlatBuffers lies in the host's include folder; schema/ links it to a folder of its own.
set(CMAKE_INCLUDE_PATH /usr/include)
