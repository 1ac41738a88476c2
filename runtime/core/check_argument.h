// One argument of a kernel against its signature. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// The form of a signature (forms are separated by '|') that has `num_letters` letters. Null if there is none.
const char* form_of(const char* signature, size_t num_letters);

/// True if args[index] fits its letter in `signature`, which is one form; refreshes the unboxed elements of an int
/// list. `args` are all arguments but the return slot. An output whose sizes may change must be none of the other
/// arguments, because kernels set its sizes before they have read all sizes of their operands. Otherwise fails the
/// context as check_arguments does.
bool check_argument(KernelContext& context, const char* signature, Span<EValue*> args, size_t index);

}  // namespace wick
