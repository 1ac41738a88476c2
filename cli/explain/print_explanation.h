// Prints explained methods as tables and as JSON.
#pragma once
#include <vector>

#include "cli/explain/explanation.h"

namespace wick::cli {

void print_tables(const MethodExplained& method);
/// One object "wick.explain.1".
void print_json(const std::vector<MethodExplained>& methods);

/// "instruction 3 (aten::add.out, features.0, model.py:12)"
std::string place_text(const MethodExplained& method, uint32_t instruction);

}  // namespace wick::cli
