// Collects the family tables into one registry, sorted by name.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "compiler/ops/families.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

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

// Never changes: rows that are added make a new one, and readers of the old one keep it.
struct Registry {
  std::vector<const OpDef*> sorted;
  std::vector<const OpDef*> tables;  // the first row of each that is in it

  void add(const OpDef* rows, size_t count) {
    auto* own = new std::vector<OpDef>();  // lives as long as the process
    register_rows(*own, rows, count);
    for (const OpDef& row : *own) sorted.push_back(&row);
    tables.push_back(rows);
  }

  void sort() {
    std::sort(sorted.begin(), sorted.end(), [](const OpDef* a, const OpDef* b) { return a->name() < b->name(); });
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i]->name() == sorted[i - 1]->name())
        fail(Code::internal, fmt::format("{} has two rows", sorted[i]->name()));
    }
  }
};

const Registry* built_in() {
  auto* registry = new Registry();
  for (const Family& family : op_families()) registry->add(family.rows, family.count);
  registry->sort();
  return registry;
}

std::atomic<const Registry*>& current() {
  static std::atomic<const Registry*> instance = built_in();
  return instance;
}

const Registry& registry() { return *current().load(std::memory_order_acquire); }

}  // namespace

void add_ops(Span<const OpDef> rows) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const Registry& old = registry();
  const bool known = std::find(old.tables.begin(), old.tables.end(), rows.data()) != old.tables.end();
  if (rows.empty() || known) return;
  auto* grown = new Registry(old);
  grown->add(rows.data(), rows.size());
  grown->sort();
  current().store(grown, std::memory_order_release);
}

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
