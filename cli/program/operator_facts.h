// Finds which operators a program calls, how often, and which runtime has a kernel for them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "wick/program.h"

namespace wick::cli {

struct OperatorCount {
  std::string name;  // registry key, "aten::add.out"; for a .pt2 the exported name, "aten.add.Tensor"
  uint64_t count = 0;
  bool in_wick = false;   // a .pt2's operator: Wick compiles it
  bool in_stock = false;  // stock ExecuTorch has a kernel, or kernels for the decomposition of a .pt2's operator
  std::string kernel;     // of a .pt2's operator: its registry key, "" if it is decomposed or computed
};

/// Kernel calls of all methods, sorted by descending count, then name.
std::vector<OperatorCount> count_operators(const Program& program);
std::vector<OperatorCount> count_operators(const MethodMeta& method);
/// Nodes of a graph and of the graphs inside it.
std::vector<OperatorCount> count_operators(const compiler::Graph& graph);

/// Whether a kernel of this name is in this build: portable, of a backend, or on plain numbers.
bool has_kernel(std::string_view key);
/// Whether only the table of a backend has it.
bool is_of_backend(std::string_view key);
/// False for the operators that only Wick has.
bool stock_has_kernel(std::string_view key);
/// Says what to do instead of an operator, named in `text`, that no kernel can compute from a program alone; "" if it
/// names none.
const char* way_around(std::string_view text);

/// Whether a kernel's return value is unspecified, because its results are in the arguments that it writes.
bool returns_placeholder(std::string_view key);

}  // namespace wick::cli
