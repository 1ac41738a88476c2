// The observations that a call on a device makes. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick::device {

enum class Watch : uint32_t {
  nothing,
  counts,   // instructions and stack of the execution; nothing runs between the kernels
  steps,    // instructions of each step
  results,  // what each step wrote
};

}  // namespace wick::device
