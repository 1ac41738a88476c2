// One argument of a kernel against its signature. C++17, freestanding.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// True if `value` fits a letter of a signature; refreshes the unboxed elements of an int list. Otherwise fails the
/// context as check_arguments does.
bool check_argument(KernelContext& context, char letter, EValue& value);

}  // namespace wick
