// Collects the family tables into one registry, sorted by name.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "compiler/ops/families.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

void register_row(std::vector<OpDef>& all, OpDef row) {
  auto* schema = new Schema(parse_schema(row.schema));  // lives as long as the process
  for (size_t arg = 0; row.has(kMutates) && arg < schema->args.size(); ++arg) {
    if (!schema->args[arg].mutated) continue;
    schema->mutated.push_back(arg);
    schema->returns.push_back(ReturnType::tensor);
  }
  row.parsed = schema;
  all.push_back(row);
  if (row.has(kAlsoInPlace)) register_row(all, in_place_form(row));
}

void register_rows(std::vector<OpDef>& all, const OpDef* rows, size_t count, OpFlags more) {
  for (size_t i = 0; i < count; ++i) {
    OpDef row = rows[i];
    row.facts.flags = row.facts.flags | more;
    register_row(all, row);
  }
}

// Immutable. Rows that are added later make a new registry; readers of the old one keep it.
struct Registry {
  std::vector<const OpDef*> sorted;
  std::vector<std::shared_ptr<const std::vector<OpDef>>> tables;
  const Registry* before = nullptr;

  void add(Span<const OpDef> rows, OpFlags more) {
    auto own = std::make_shared<std::vector<OpDef>>();
    own->reserve(rows.size());
    register_rows(*own, rows.data(), rows.size(), more);
    for (const OpDef& row : *own) sorted.push_back(&row);
    tables.push_back(std::move(own));
  }

  void sort() {
    std::sort(sorted.begin(), sorted.end(), [](const OpDef* a, const OpDef* b) { return a->name() < b->name(); });
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i]->name() == sorted[i - 1]->name())
        fail(Code::internal, fmt::format("{} has two rows", sorted[i]->name()));
    }
  }
};

// Schemas are parsed when somebody asks for an operator, not before.
class Registries {
 public:
  const Registry& current() {
    const Registry* registry = current_.load(std::memory_order_acquire);
    if (registry) return *registry;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!current_.load()) {
      auto* made = new Registry();
      for (const Family& family : op_families()) made->add({family.rows, family.count}, kPure);
      for (const Span<const OpDef> rows : added_) made->add(rows, kBackendOnly);
      made->sort();
      current_.store(made, std::memory_order_release);
    }
    return *current_.load();
  }

  void add(Span<const OpDef> rows) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto same = [&](const Span<const OpDef>& known) { return known.data() == rows.data(); };
    if (rows.empty() || std::any_of(added_.begin(), added_.end(), same)) return;
    added_.push_back(rows);
    if (!current_.load()) return;
    auto* grown = new Registry(*current_.load());
    grown->before = current_.load();
    grown->add(rows, kBackendOnly);
    grown->sort();
    current_.store(grown, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::vector<Span<const OpDef>> added_;
  std::atomic<const Registry*> current_{nullptr};
};

Registries& registries() {
  static auto* instance = new Registries();
  return *instance;
}
const Registry& registry() { return registries().current(); }

}  // namespace

void add_ops(Span<const OpDef> rows) { registries().add(rows); }

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
