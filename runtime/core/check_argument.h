// One argument of a kernel against its signature. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// True if `value` fits a letter of a signature; refreshes the unboxed elements of an int list. Otherwise fails the
/// context as check_arguments does.
bool check_argument(KernelContext& context, char letter, EValue& value);

/// True if no output of a call, whose arguments fit `signature`, is a tensor of another argument, except where its
/// sizes are fixed: kernels set an output's sizes before they have read all of their operands'. Otherwise fails the
/// context with InvalidProgram.
bool check_outputs(KernelContext& context, const char* signature, Span<EValue* const> args);

}  // namespace wick
