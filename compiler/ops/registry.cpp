// Collects the family tables into one registry, sorted by name.
#include <algorithm>
#include <map>

#include "compiler/ops/families.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {

void register_rows(std::vector<OpDef>& all, const OpDef* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    all.push_back(rows[i]);
    auto* schema = new Schema(parse_schema(rows[i].schema));  // lives as long as the process
    for (size_t arg = 0; rows[i].flags & kMutates && arg < schema->args.size(); ++arg) {
      if (!schema->args[arg].mutated) continue;
      schema->mutated.push_back(arg);
      schema->returns.push_back(ReturnType::tensor);
    }
    all.back().parsed = schema;
  }
}

namespace {

struct Registry {
  std::vector<OpDef> rows;
  std::vector<const OpDef*> sorted;

  Registry() {
    for (const Family& family : op_families()) register_rows(rows, family.rows, family.count);
    for (const OpDef& row : rows) sorted.push_back(&row);
    std::sort(sorted.begin(), sorted.end(), [](const OpDef* a, const OpDef* b) { return a->name() < b->name(); });
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i]->name() == sorted[i - 1]->name())
        fail(Code::internal, fmt::format("{} has two rows", sorted[i]->name()));
    }
  }
};

const Registry& registry() {
  static const Registry* instance = new Registry();
  return *instance;
}

}  // namespace

const OpDef* find_op(std::string_view name) {
  const auto& sorted = registry().sorted;
  auto it = std::lower_bound(sorted.begin(), sorted.end(), name,
                             [](const OpDef* a, std::string_view n) { return a->name() < n; });
  return it != sorted.end() && (*it)->name() == name ? *it : nullptr;
}

const OpDef& op(std::string_view name) {
  if (const OpDef* found = find_op(name)) return *found;
  fail(Code::internal, fmt::format("no operator is called {}", name));
}

const std::vector<const OpDef*>& all_ops() { return registry().sorted; }

}  // namespace wick::compiler
