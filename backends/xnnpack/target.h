// XNNPACK as the compiler sees it. C++20.
#pragma once
#include "compiler/partition/target.h"

namespace wick::xnnpack {

extern const compiler::Target kTarget;

}  // namespace wick::xnnpack
