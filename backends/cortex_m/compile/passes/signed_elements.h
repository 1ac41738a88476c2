// Turns quantized numbers of uint8 into int8. The contract: signed_elements.cpp. C++20.
#pragma once
#include "compiler/passes/pipeline.h"

namespace wick::cortex_m {

compiler::Result<compiler::Changed> signed_elements(compiler::Graph& graph);

}  // namespace wick::cortex_m
