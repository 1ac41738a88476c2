// C++20.
#pragma once
#include "compiler/passes/pass.h"

namespace wick::cortex_m {

// Contract: recognize_softmax.cpp.
compiler::Result<compiler::Changed> recognize_softmax(compiler::Graph& graph);

}  // namespace wick::cortex_m
