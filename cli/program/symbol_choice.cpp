#include "cli/program/symbol_choice.h"

#include <algorithm>
#include <optional>
#include <set>

namespace wick::cli {
namespace {

using compiler::Sym;
using compiler::SymRange;
using compiler::SymValues;

constexpr int64_t kOffsets = 4096;
constexpr uint64_t kMaxWork = 1 << 21;  // evaluated nodes and tried numbers, in each search

struct Condition {
  const Sym* sym;
  std::optional<SymRange> range;  // nullopt: the condition is a truth value

  bool holds(const SymValues& values) const {
    const auto value = compiler::evaluate(*sym, values);
    if (!value) return true;
    return range ? *value >= range->min && *value <= range->max : *value != 0;
  }
};

struct Number {
  int64_t* value;
  SymRange range;
  int64_t start;
  std::vector<Condition> conditions;  // conditions on it and on numbers before it

  bool move(int64_t offset) {
    int64_t moved = 0;
    if (__builtin_add_overflow(start, offset, &moved) || moved < range.min || moved > range.max) return false;
    *value = moved;
    return true;
  }
};

class Search {
 public:
  explicit Search(const MethodFacts& facts) {
    Names names;
    for (const InputFacts& input : facts.inputs) {
      if (!input.type) continue;
      for (const Sym& size : input.type->tensor.sizes) compiler::collect_symbols(size, names);
      compiler::collect_symbols(input.type->expr, names);
      for (const Sym& number : input.numbers) compiler::collect_symbols(number, names);
    }
    for (const std::string& name : names) values_[name] = 0;
    for (const Sym& rule : facts.rules) add({&rule, {}}, facts);
    for (const auto& [size, range] : facts.ranges) {
      if (size.symbol_name().empty()) add({&size, range}, facts);
    }
    num_bound_ = numbers_.size();
    for (const std::string& name : names) place_of(name, facts);
  }

  std::optional<SymValues> find() {
    bool found = in_step();
    for (const auto& [above, below] : {std::pair<int64_t, int64_t>{8, 0}, {64, 8}, {kOffsets, kOffsets}})
      found = found || one_by_one(above, below);
    return found ? std::optional(std::move(values_)) : std::nullopt;
  }

 private:
  using Names = std::set<std::string, std::less<>>;

  // The index in numbers_ of a symbol of values_. Numbers are added in the order of first use.
  size_t place_of(const std::string& name, const MethodFacts& facts) {
    const auto [place, is_new] = places_.try_emplace(name, numbers_.size());
    if (!is_new) return place->second;
    const auto known = facts.symbols.find(name);
    const SymRange range = known == facts.symbols.end() ? SymRange{} : known->second;
    const int64_t start = std::max(range.min, std::min<int64_t>(2, range.max));
    numbers_.push_back({&values_.at(name), range, start, {}});
    return place->second;
  }

  // Conditions on symbols that no input determines are left to the program's own checks.
  void add(const Condition& condition, const MethodFacts& facts) {
    Names names;
    compiler::collect_symbols(*condition.sym, names);
    const auto stated = [this](const std::string& name) { return values_.count(name) != 0; };
    if (names.empty() || !std::all_of(names.begin(), names.end(), stated)) return;
    size_t last = 0;
    for (const std::string& name : names) last = std::max(last, place_of(name, facts));
    numbers_[last].conditions.push_back(condition);
  }

  bool obeys(const Number& number) {
    return std::all_of(number.conditions.begin(), number.conditions.end(), [this](const Condition& condition) {
      work_ += condition.sym->node()->size;
      return condition.holds(values_);
    });
  }

  bool in_step() {
    work_ = 0;
    for (int64_t offset = 0; offset < kOffsets && work_ < kMaxWork; ++offset) {
      for (Number& number : numbers_) {
        if (!number.move(offset)) *number.value = number.range.max;
      }
      work_ += numbers_.size();
      if (std::all_of(numbers_.begin(), numbers_.end(), [this](const Number& number) { return obeys(number); }))
        return true;
      if (numbers_.empty()) break;
    }
    return false;
  }

  // Depth-first search: tries each number from its start up to start + `above`, then down to start - `below`. A number
  // moves on if the numbers after it have no valid choice.
  bool one_by_one(int64_t above, int64_t below) {
    work_ = 0;
    for (Number& number : numbers_) *number.value = number.start;
    std::vector<int64_t> tried(num_bound_);
    size_t at = 0;
    while (at < num_bound_) {
      if (++work_ > kMaxWork) return false;
      if (tried[at] > above + below) {
        if (at == 0) return false;
        tried[at] = 0;
        ++tried[--at];
        continue;
      }
      const int64_t offset = tried[at] <= above ? tried[at] : above - tried[at];
      if (numbers_[at].move(offset) && obeys(numbers_[at])) {
        ++at;
      } else {
        ++tried[at];
      }
    }
    return true;
  }

  SymValues values_;
  std::map<std::string, size_t, std::less<>> places_;
  std::vector<Number> numbers_;
  size_t num_bound_ = 0;  // the leading numbers are those that conditions name
  uint64_t work_ = 0;
};

}  // namespace

compiler::Result<SymValues> choose_symbols(const MethodFacts& facts) {
  std::optional<SymValues> values = Search(facts).find();
  if (values) return std::move(*values);
  return compiler::Diag(compiler::Code::usage, "found no sizes that satisfy all declared ranges")
      .with_help("give the inputs with -i");
}

}  // namespace wick::cli
