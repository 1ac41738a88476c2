#include "compiler/import/size_rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxLength = 16384;

// Strides are products of sizes; the exporter compares them with each other and divides by them.
bool is_linear(const Sym& sym) {
  if (sym.is_const() || sym.node()->op == SymOp::symbol) return true;
  const SymNode& node = *sym.node();
  const auto varies = [](const Sym& arg) { return !arg.is_const(); };
  if (node.op == SymOp::product && std::count_if(node.args.begin(), node.args.end(), varies) > 1) return false;
  if ((node.op == SymOp::mod || node.op == SymOp::floor_div) && varies(node.args[1])) return false;
  return std::all_of(node.args.begin(), node.args.end(), is_linear);
}

bool is_remainder(const Sym& sym) { return !sym.is_const() && sym.node()->op == SymOp::mod; }

// Does the comparison fail for sizes of 0 and 1 alone?
bool only_excludes_one(SymOp op, const Sym& left, const Sym& right) {
  if (op == SymOp::eq) return false;
  const bool of_strides = !is_linear(left) || !is_linear(right);
  if (!left.is_const() && !right.is_const()) return of_strides;
  if (op == SymOp::ne) {
    const Sym& constant = left.is_const() ? left : right;
    const Sym& other = left.is_const() ? right : left;
    return constant.value() <= 1 && (!is_remainder(other) || of_strides);
  }
  return left.is_const() && left.value() <= (op == SymOp::lt ? 1 : 2);
}

// Recursive descent over Python's expression grammar; `good_` turns false at what is no rule.
class RuleReader {
 public:
  RuleReader(std::string_view text, const SizeOf& size_of) : text_(text), size_of_(size_of) {}

  std::optional<Sym> rule() {
    Sym result = either();
    skip_blanks();
    if (good_ && at_ == text_.size()) return result;
    return is_trivial_ ? std::optional(Sym(1)) : std::nullopt;
  }

 private:
  Sym either() {
    Sym left = both();
    while (good_ && accept_word("or")) left = make_sym(SymOp::logical_or, {left, both()});
    return left;
  }
  Sym both() {
    Sym left = negation();
    while (good_ && accept_word("and")) left = make_sym(SymOp::logical_and, {left, negation()});
    return left;
  }
  Sym negation() {
    if (!deeper()) return 0;
    const Sym result = accept_word("not") ? make_sym(SymOp::logical_not, {negation()}) : comparison();
    --depth_;
    return result;
  }

  Sym comparison() {
    const Sym left = sum();
    if (accept("==")) return compared(SymOp::eq, left, sum());
    if (accept("!=")) return compared(SymOp::ne, left, sum());
    if (accept("<=")) return compared(SymOp::le, left, sum());
    if (accept("<")) return compared(SymOp::lt, left, sum());
    if (accept(">=")) return compared(SymOp::le, sum(), left);
    if (accept(">")) return compared(SymOp::lt, sum(), left);
    return left;
  }
  Sym compared(SymOp op, const Sym& left, const Sym& right) {
    if (good_ && only_excludes_one(op, left, right)) {
      is_trivial_ = true;
      good_ = false;
    }
    return good_ ? make_sym(op, {left, right}) : Sym(0);
  }

  Sym sum() {
    Sym left = product();
    while (good_) {
      if (accept("+")) {
        left = left + product();
      } else if (accept("-")) {
        left = left - product();
      } else {
        break;
      }
    }
    return left;
  }
  Sym product() {
    Sym left = atom();
    while (good_) {
      if (accept("//")) {
        left = floor_div(left, divisor());
      } else if (accept("%")) {
        left = sym_mod(left, divisor());
      } else if (!starts("**") && accept("*")) {
        left = left * atom();
      } else {
        break;
      }
    }
    return left;
  }
  Sym divisor() {
    Sym value = atom();
    if (value.is(0)) good_ = false;
    return good_ ? value : Sym(1);
  }

  Sym atom() {
    if (!deeper()) return 0;
    Sym result = 0;
    if (accept("-")) {
      result = atom() * Sym(-1);
    } else if (accept("(")) {
      result = either();
      expect(")");
    } else if (accept("L[")) {
      result = input();
    } else if (accept("torch.sym_max(")) {
      result = pair(SymOp::max);
    } else if (accept("torch.sym_min(")) {
      result = pair(SymOp::min);
    } else {
      result = number();
    }
    --depth_;
    return result;
  }
  Sym pair(SymOp op) {
    const Sym left = either();
    expect(",");
    const Sym right = either();
    expect(")");
    return good_ ? make_sym(op, {left, right}) : Sym(0);
  }

  // What follows "L[": 'x'].size()[0]
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

  Sym number() {
    if (accept_word("True")) return 1;
    if (accept_word("False")) return 0;
    const int64_t value = integer();
    if (starts(".")) good_ = false;
    return value;
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
  bool is_trivial_ = false;
};

}  // namespace

std::optional<Sym> read_size_rule(std::string_view text, const SizeOf& size_of) {
  if (text.size() > kMaxLength) return std::nullopt;
  std::optional<Sym> rule;
  // An expression beyond the limits of Sym is one that is not understood.
  if (!catch_failure([&] { rule = RuleReader(text, size_of).rule(); }).ok()) return std::nullopt;
  return rule;
}

}  // namespace wick::compiler
