// An instruction in words: its operator, and where in the user's model it comes from.
#pragma once
#include <string>

#include "compiler/support/diag.h"
#include "wick/program.h"

namespace wick::device {

/// "aten::add.out".
std::string operator_text(const OperatorName& op);

/// Where an instruction comes from in the user's model, "" if the file does not say: "model.py:118".
compiler::Where instruction_source(const MethodMeta& method, size_t chain, size_t instruction);

/// "method 'forward', instruction 3, aten::add.out".
std::string instruction_text(const MethodMeta& method, size_t chain, size_t instruction);

}  // namespace wick::device
