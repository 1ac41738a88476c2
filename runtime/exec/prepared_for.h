// Compares the facts that a program was prepared for with those that the kernels are built for. C++17, freestanding.
#pragma once
#include "wick/error_text.h"
#include "wick/kernel.h"
#include "wick/program.h"

namespace wick {

/// NotSupported if the program states a fact whose key is in the tables with other values only; `text`, if not null,
/// says which fact. Facts whose keys are in no table are ignored.
Error check_prepared_for(const Program& program, Span<const KernelTable> tables, ErrorText* text);

}  // namespace wick
