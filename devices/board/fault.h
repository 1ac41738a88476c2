// An exception of the processor that ends the program. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick::board {

/// Registers at the instruction that caused it. `has_frame` is false if the stack was exhausted, so that the processor
/// could not save r0 to xpsr.
struct Fault {
  uint32_t exception = 0;  // number: 3 hard fault, 4 memory management, 5 bus, 6 usage, 7 secure
  uint32_t has_frame = 0;
  uint32_t stack_exhausted = 0;
  uint32_t r[13] = {};  // r0 to r12
  uint32_t sp = 0, lr = 0, pc = 0, xpsr = 0;
  uint32_t cfsr = 0, hfsr = 0, mmfar = 0, bfar = 0;
};

/// Reports a fault and does not return. Without a handler, a line is printed and the exit status is 99.
using FaultHandler = void (*)(const Fault& fault);
void set_fault_handler(FaultHandler handler);

}  // namespace wick::board
