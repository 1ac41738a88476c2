// Helpers for the tests of this folder. C++20.
#pragma once
#include <string_view>

#include "compiler/ir/graph.h"

namespace wick::compiler::analysis_test {

/// The first result of this name among the nodes; null: none.
inline const Value* result_named(const Graph& graph, std::string_view name) {
  for (const auto& node : graph.nodes()) {
    for (const Value* result : node->results()) {
      if (result->name == name) return result;
    }
  }
  return nullptr;
}

}  // namespace wick::compiler::analysis_test
