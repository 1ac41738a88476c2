// What the firmware of faulty_kernels.cpp can do wrong.
#pragma once

namespace wick::device {

enum class Wrong { undefined_instruction = 1, read_no_memory, unaligned, divide_by_zero, exhaust_stack, never_end };

}  // namespace wick::device
