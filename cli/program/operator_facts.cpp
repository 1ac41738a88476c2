#include "cli/program/operator_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/program/program_metadata.h"
#include "runtime/exec/prim_ops.h"
#include "wick/backends.h"
#include "wick/portable_kernels.h"

namespace wick::cli {
namespace {

using Counts = std::map<std::string, uint64_t>;

void add_calls(const MethodMeta& method, Counts* counts) {
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      const InstructionMeta instruction = method.instruction(chain, i);
      if (instruction.kind == InstructionKind::kernel) ++(*counts)[operator_text(method.op(instruction.target))];
    }
  }
}

void sort_by_count(std::vector<OperatorCount>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const OperatorCount& a, const OperatorCount& b) { return a.count > b.count; });
}

std::vector<OperatorCount> rows_of(const Counts& counts) {
  std::vector<OperatorCount> rows;
  for (const auto& [name, count] : counts) rows.push_back({name, count, has_kernel(name), stock_has_kernel(name), ""});
  sort_by_count(&rows);
  return rows;
}

using NodeCounts = std::map<std::string, std::pair<const compiler::OpDef*, uint64_t>>;

void add_operators(const compiler::Graph& graph, NodeCounts* counts) {
  for (const auto& node : graph.nodes()) {
    auto& entry = (*counts)[std::string(node->op->name())];
    entry.first = node->op;
    ++entry.second;
    for (const auto& inner : node->graphs) add_operators(*inner, counts);
  }
}

// Wick's kernels that stock lacks: operators that call them have kNoStock. A kernel that an operator without kNoStock
// calls exists in stock as well.
const std::set<std::string_view>& only_ours() {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> ours;
    for (const compiler::OpDef* op : compiler::all_ops()) {
      if (op->kernel && op->has(compiler::kNoStock)) ours.insert(op->kernel);
    }
    for (const compiler::OpDef* op : compiler::all_ops()) {
      if (op->kernel && !op->has(compiler::kNoStock)) ours.erase(op->kernel);
    }
    return ours;
  }();
  return names;
}

bool in_table(KernelTable table, std::string_view key) {
  return std::any_of(table.begin(), table.end(), [&](const Kernel& kernel) { return key == kernel.name; });
}

}  // namespace

bool has_kernel(std::string_view key) {
  const Span<const KernelTable> tables = all_kernels();
  return in_table(prim_kernels(), key) ||
         std::any_of(tables.begin(), tables.end(), [&](KernelTable table) { return in_table(table, key); });
}

bool is_of_backend(std::string_view key) {
  return has_kernel(key) && !in_table(prim_kernels(), key) && !in_table(portable_kernels(), key);
}

bool stock_has_kernel(std::string_view key) {
  return has_kernel(key) && !key.starts_with("wick::") && only_ours().count(key) == 0;
}

const char* way_around(std::string_view text) {
  if (text.find("kvcache::update_and_attend") == std::string_view::npos) return "";
  return "its cache is an object of the application's runtime, which no file describes: export the caches as mutable "
         "buffers of the model (index_copy_, or llama::update_cache with llama::custom_sdpa)";
}

bool returns_placeholder(std::string_view key) {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> kernels;
    for (const compiler::OpDef* op : compiler::all_ops()) {
      if (op->kernel && op->has(compiler::kNoResult)) kernels.insert(op->kernel);
    }
    return kernels;
  }();
  return names.count(key) != 0;
}

std::vector<OperatorCount> count_operators(const MethodMeta& method) {
  Counts counts;
  add_calls(method, &counts);
  return rows_of(counts);
}

std::vector<OperatorCount> count_operators(const Program& program) {
  Counts counts;
  for (size_t i = 0; i < program.num_methods(); ++i) add_calls(program.method(i), &counts);
  return rows_of(counts);
}

std::vector<OperatorCount> count_operators(const compiler::Graph& graph) {
  NodeCounts counts;
  add_operators(graph, &counts);
  std::vector<OperatorCount> rows;
  for (const auto& [name, entry] : counts) {
    const compiler::OpDef& op = *entry.first;
    rows.push_back({name, entry.second, true, !(op.kernel && op.has(compiler::kNoStock) && !op.decompose),
                    op.kernel ? op.kernel : ""});
  }
  sort_by_count(&rows);
  return rows;
}

}  // namespace wick::cli
