// Kinds of failures, by what they mean to the caller. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick {

/// The cause of a failure, independent of the error number. Tools derive exit codes and exceptions from it.
enum class ErrorKind : uint8_t {
  none,
  unreadable_file,   // a file cannot be opened or mapped
  corrupt_file,      // a program or a .ptd whose bytes contradict each other
  not_supported,     // sound, but with a feature that this runtime does not have
  missing_operator,  // sound, but no kernel table holds an operator of it
  missing_backend,   // sound, but a backend that it names is not there
  missing_data,      // the .ptd files given lack a tensor, or hold it with another type
  delegate_failed,   // a backend refuses its payload, or fails while running
  out_of_memory,     // more than a limit allows, the caller gave, or the machine has
  invalid_argument,  // a method, an input or memory that the caller gave
  execution_failed,  // a check failed while running
};

}  // namespace wick
