// One argument of a kernel against its signature. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// The form of a signature, whose forms are separated by '|', that has so many letters. Null: none.
const char* form_of(const char* signature, size_t num_letters);

/// True if args[index] fits its letter of a form of a signature; refreshes the unboxed elements of an int list. `args`
/// are all arguments but the return slot: an output whose sizes may change is none of the others, as kernels set its
/// sizes before they have read all of their operands'. Otherwise fails the context as check_arguments does.
bool check_argument(KernelContext& context, const char* signature, Span<EValue*> args, size_t index);

}  // namespace wick
