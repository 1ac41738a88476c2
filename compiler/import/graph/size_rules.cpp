#include "compiler/import/graph/size_rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <string>

#include "compiler/ir/sym/ratio.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 64;
constexpr int64_t kMaxPower = 16;
constexpr size_t kMaxLength = 16384;

using Names = std::set<std::string, std::less<>>;

// Whether `rule` holds for all sizes of 2 or more. The proof writes every size as 2 + t, t >= 0.
bool holds_from_two(const Sym& rule, const Names& numbers) {
  if (rule.is_const()) return !rule.is(0);
  Names symbols;
  collect_symbols(rule, symbols);
  std::map<std::string, Sym, std::less<>> from_two;
  SymRanges ranges;
  for (const std::string& symbol : symbols) {
    if (numbers.count(symbol) != 0) return false;
    from_two.emplace(symbol, Sym::symbol(symbol) + 2);
    ranges[symbol] = {0, kUnbounded};
  }
  const SymScope scope(ranges);
  return substitute(rule, from_two).is(1);
}

// Removes the conditions, joined by "and", that only exclude sizes of 0 and 1.
Sym without_trivial(const Sym& rule, const Names& numbers) {
  if (rule.is_const() || rule.node()->op != SymOp::logical_and) return holds_from_two(rule, numbers) ? Sym(1) : rule;
  Sym left = without_trivial(rule.node()->args[0], numbers);
  Sym right = without_trivial(rule.node()->args[1], numbers);
  if (left.is(1)) return right;
  return right.is(1) ? left : make_sym(SymOp::logical_and, {left, right});
}

// Recursive descent over Python's expression grammar; `good_` turns false where the text is not a rule.
class RuleReader {
 public:
  RuleReader(std::string_view text, const SizeOf& size_of) : text_(text), size_of_(size_of) {}

  std::optional<Sym> rule() {
    const Sym result = whole(either());
    skip_blanks();
    if (!good_ || at_ != text_.size()) return std::nullopt;
    return without_trivial(result, numbers_);
  }

  std::optional<Sym> size() {
    symbols_ = true;
    const Sym result = whole(sum());
    skip_blanks();
    return good_ && at_ == text_.size() ? std::optional(result) : std::nullopt;
  }

 private:
  // --- values are fractions; conditions, and operators on integers, require whole ones ---

  Sym whole(const Ratio& value) {
    if (value.denominator != 1) good_ = false;
    return good_ ? value.numerator : Sym(0);
  }
  Ratio known(const std::optional<Ratio>& value) {
    if (!value) good_ = false;
    return value.value_or(Ratio{0});
  }
  Ratio joined(SymOp op, const Ratio& left, const Ratio& right) {
    const Sym a = whole(left), b = whole(right);
    return {good_ ? make_sym(op, {a, b}) : Sym(0)};
  }

  Ratio either() {
    Ratio left = both();
    while (good_ && accept_word("or")) left = joined(SymOp::logical_or, left, both());
    return left;
  }
  Ratio both() {
    Ratio left = negation();
    while (good_ && accept_word("and")) left = joined(SymOp::logical_and, left, negation());
    return left;
  }
  Ratio negation() {
    if (!deeper()) return {0};
    const Ratio result = accept_word("not") ? Ratio{make_sym(SymOp::logical_not, {whole(negation())})} : comparison();
    --depth_;
    return result;
  }

  Ratio comparison() {
    Ratio left = sum();
    if (accept("==")) return comparison_of(SymOp::eq, left, sum());
    if (accept("!=")) return comparison_of(SymOp::ne, left, sum());
    if (accept("<=")) return comparison_of(SymOp::le, left, sum());
    if (accept("<")) return comparison_of(SymOp::lt, left, sum());
    if (accept(">=")) return comparison_of(SymOp::le, sum(), left);
    if (accept(">")) return comparison_of(SymOp::lt, sum(), left);
    return left;
  }
  Ratio comparison_of(SymOp op, const Ratio& left, const Ratio& right) {
    return {good_ ? compared(op, left, right) : Sym(0)};
  }

  Ratio sum() {
    Ratio left = product();
    while (good_) {
      if (accept("+")) {
        left = known(add(left, product()));
      } else if (accept("-")) {
        left = known(add(left, negate(product())));
      } else {
        break;
      }
    }
    return left;
  }
  Ratio product() {
    Ratio left = power();
    while (good_) {
      if (accept("//")) {
        left = {floor_div(whole(left), divisor())};
      } else if (accept("%")) {
        left = {sym_mod(whole(left), divisor())};
      } else if (accept("/")) {
        left = known(divide(left, power()));
      } else if (!starts("**") && accept("*")) {
        left = known(multiply(left, power()));
      } else {
        break;
      }
    }
    return left;
  }
  Sym divisor() {
    const Sym value = whole(power());
    if (value.is(0)) good_ = false;
    return good_ ? value : Sym(1);
  }

  Ratio power() {
    const Ratio base = atom();
    if (!accept("**")) return base;
    const int64_t exponent = integer();
    if (exponent < 0 || exponent > kMaxPower) good_ = false;
    Ratio result{1};
    for (int64_t i = 0; good_ && i < exponent; ++i) result = known(multiply(result, base));
    return result;
  }

  Ratio atom() {
    if (!deeper()) return {0};
    Ratio result{0};
    if (accept("-")) {
      result = negate(power());
    } else if (accept("(")) {
      result = inside();
    } else if (accept("L[")) {
      result = {input()};
    } else if (accept("torch.sym_float(")) {
      result = inside();
    } else if (accept("math.ceil(")) {
      result = {ceil(inside())};
    } else if (accept("math.floor(")) {
      result = {floor(inside())};
    } else if (accept("torch.sym_max(")) {
      result = pair(SymOp::max);
    } else if (accept("torch.sym_min(")) {
      result = pair(SymOp::min);
    } else if (symbols_ && starts_name()) {
      result = {named()};
    } else {
      result = number();
    }
    --depth_;
    return result;
  }
  Ratio inside() {
    const Ratio result = either();
    expect(")");
    return result;
  }
  Ratio pair(SymOp op) {
    const Ratio left = either();
    expect(",");
    return joined(op, left, inside());
  }

  // A symbol, or a function of sizes: s77, Max(4, s77)
  Sym named() {
    const std::string name = identifier();
    if (!accept("(")) return Sym::symbol(name);
    SymList args = {whole(sum())};
    while (accept(",")) args.push_back(whole(sum()));
    expect(")");
    const bool is_mod = name == "Mod" || name == "PythonMod";
    if (is_mod ? args.size() != 2 || args[1].is(0) : name != "Max" && name != "Min") good_ = false;
    if (!good_ || is_mod) return good_ ? sym_mod(args[0], args[1]) : Sym(0);
    for (size_t i = 1; i < args.size(); ++i)
      args[0] = name == "Max" ? sym_max(args[0], args[i]) : sym_min(args[0], args[i]);
    return args[0];
  }

  // The text after "L[": 'x'].size()[0]
  Sym input() {
    std::string name = key();
    std::optional<int64_t> dimension;
    while (good_ && !dimension) {
      if (accept(".size()[")) {
        dimension = integer();
        expect("]");
      } else if (accept("[")) {
        name += "_" + key();
      } else if (starts(".")) {
        accept(".");
        name += "_" + identifier();
      } else {
        break;
      }
    }
    if (!good_) return 0;
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '_';
    const std::optional<Sym> size = size_of_(name, dimension);
    if (!size) good_ = false;
    if (size && !dimension) collect_symbols(*size, numbers_);
    return size.value_or(0);
  }
  // 'x'] or 0]
  std::string key() {
    std::string result;
    if (accept("'")) {
      const size_t end = std::min(text_.find('\'', at_), text_.size());
      result = text_.substr(at_, end - at_);
      at_ = end;
      expect("'");
    } else {
      result = std::to_string(integer());
    }
    expect("]");
    return result;
  }
  std::string identifier() {
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (start == at_) good_ = false;
    return std::string(text_.substr(start, at_ - start));
  }

  Ratio number() {
    if (accept_word("True")) return {1};
    if (accept_word("False")) return {0};
    const size_t start = (skip_blanks(), at_);
    const int64_t value = integer();
    if (!good_ || at_ >= text_.size() || text_[at_] != '.') return {value};
    for (++at_; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]));) ++at_;
    return known(read_decimal(text_.substr(start, at_ - start)));
  }
  int64_t integer() {
    skip_blanks();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      good_ = false;
      return 0;
    }
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool starts_name() {
    skip_blanks();
    return at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_');
  }
  bool starts(std::string_view token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
  }
  bool accept(std::string_view token) {
    if (!good_ || !starts(token)) return false;
    at_ += token.size();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!starts(word)) return false;
    const size_t after = at_ + word.size();
    if (after < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[after])) || text_[after] == '_'))
      return false;
    return accept(word);
  }
  void expect(std::string_view token) {
    if (!accept(token)) good_ = false;
  }
  bool deeper() {
    if (good_ && depth_ < kMaxDepth) return ++depth_ > 0;
    return good_ = false;
  }

  std::string_view text_;
  const SizeOf& size_of_;
  size_t at_ = 0;
  int depth_ = 0;
  bool good_ = true;
  bool symbols_ = false;  // names are symbols
  Names numbers_;         // symbols of int inputs, for which 0 and 1 are not special
};

}  // namespace

std::optional<Sym> read_size_rule(std::string_view text, const SizeOf& size_of) {
  if (text.size() > kMaxLength) return std::nullopt;
  std::optional<Sym> rule;
  // An expression that exceeds the limits of Sym counts as unreadable.
  if (!catch_failure([&] { rule = RuleReader(text, size_of).rule(); }).ok()) return std::nullopt;
  return rule;
}

std::optional<Sym> read_size(std::string_view text) {
  if (text.size() > kMaxLength) return std::nullopt;
  std::optional<Sym> size;
  const SizeOf no_inputs = [](std::string_view, std::optional<int64_t>) { return std::nullopt; };
  if (!catch_failure([&] { size = RuleReader(text, no_inputs).size(); }).ok()) return std::nullopt;
  return size;
}

}  // namespace wick::compiler
