// What a program was prepared for, against what the kernels are built for. C++17, freestanding.
#pragma once
#include "wick/error_text.h"
#include "wick/kernel.h"
#include "wick/program.h"

namespace wick {

/// NotSupported if the program states a fact whose key tables state too, with other values only; `text`, if not null,
/// says which. Facts that no table states say nothing.
Error check_prepared_for(const Program& program, Span<const KernelTable> tables, ErrorText* text);

}  // namespace wick
