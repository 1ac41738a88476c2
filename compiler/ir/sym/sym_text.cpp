// Text forms of symbolic integers: our own canonical one (both ways) and sympy's srepr (reading only).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <system_error>

#include "compiler/ir/sym/ratio.h"
#include "compiler/ir/sym/sym.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

struct FunctionName {
  SymOp op;
  const char* name;
};
constexpr FunctionName kFunctions[] = {
    {SymOp::floor_div, "floordiv"},
    {SymOp::mod, "mod"},
    {SymOp::max, "max"},
    {SymOp::min, "min"},
    {SymOp::eq, "eq"},
    {SymOp::ne, "ne"},
    {SymOp::lt, "lt"},
    {SymOp::le, "le"},
    {SymOp::logical_and, "and"},
    {SymOp::logical_or, "or"},
    {SymOp::logical_not, "not"},
    {SymOp::where, "where"},
};

void append(std::string& out, const Sym& sym, bool inside_product) {
  if (sym.is_const()) {
    out += std::to_string(sym.value());
    return;
  }
  const SymNode& node = *sym.node();
  if (node.op == SymOp::symbol) {
    out += node.name;
    return;
  }
  if (node.op == SymOp::sum || node.op == SymOp::product) {
    const bool parenthesise = node.op == SymOp::sum && inside_product;
    if (parenthesise) out += '(';
    // The constant of a sum reads best last: "4*s0 + 1".
    SymList args = node.args;
    if (node.op == SymOp::sum && args[0].is_const()) std::rotate(args.begin(), args.begin() + 1, args.end());
    for (size_t i = 0; i < args.size(); ++i) {
      if (i) out += node.op == SymOp::sum ? " + " : "*";
      append(out, args[i], node.op == SymOp::product);
    }
    if (parenthesise) out += ')';
    return;
  }
  for (const FunctionName& f : kFunctions) {
    if (f.op == node.op) out += f.name;
  }
  out += '(';
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (i) out += ", ";
    append(out, node.args[i], false);
  }
  out += ')';
}

constexpr int kMaxTextDepth = 64;
constexpr size_t kMaxLength = 16384;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() {
    skip_blanks();
    return position_ == text_.size();
  }
  bool accept(char c) {
    skip_blanks();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool accept_text(std::string_view text) {
    skip_blanks();
    if (!text_.substr(position_).starts_with(text)) return false;
    position_ += text.size();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(fmt::format("'{}'", c));
  }
  std::string name() {
    skip_blanks();
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    if (start == position_) error("a name");
    return std::string(text_.substr(start, position_ - start));
  }
  bool next_is_number() {
    skip_blanks();
    return position_ < text_.size() &&
           (std::isdigit(static_cast<unsigned char>(text_[position_])) || text_[position_] == '-');
  }
  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    auto [end, ec] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (ec != std::errc()) error("an integer of 64 bits");
    position_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  std::string quoted() {
    expect('\'');
    const size_t end = text_.find('\'', position_);
    if (end == std::string_view::npos) error("a closing quote");
    std::string result(text_.substr(position_, end - position_));
    position_ = end + 1;
    return result;
  }
  /// Goes back to an earlier position().
  void go_back(size_t position) { position_ = position; }
  size_t position() const { return position_; }
  /// A symbol that the file says is not negative.
  void add_size(const std::string& symbol) { sizes_.insert(symbol); }
  /// False if it may be negative.
  bool is_size(const Sym& sym) const {
    if (sym.is_const()) return sym.value() >= 0;
    const SymNode& node = *sym.node();
    if (node.op == SymOp::symbol) return sizes_.count(node.name) > 0;
    const auto size = [this](const Sym& arg) { return is_size(arg); };
    switch (node.op) {
      case SymOp::sum:
      case SymOp::product:
      case SymOp::floor_div:
      case SymOp::min: return std::all_of(node.args.begin(), node.args.end(), size);
      case SymOp::max: return std::any_of(node.args.begin(), node.args.end(), size);
      default: return false;
    }
  }
  [[noreturn]] void error(const std::string& wanted) {
    fail(Diag(Code::unsupported_model, fmt::format("cannot read the symbolic expression '{}'", printable(text_)))
             .expected(fmt::format("position {}", position_), wanted));
  }
  struct Depth {
    explicit Depth(Reader& r) : reader(r) {
      if (++reader.depth_ > kMaxTextDepth) reader.error("an expression at most 64 levels deep");
    }
    ~Depth() { --reader.depth_; }
    Reader& reader;
  };

 private:
  void skip_blanks() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  std::set<std::string> sizes_;
};

// --- canonical form ---

Sym read_sum(Reader& r);

Sym read_factor(Reader& r) {
  Reader::Depth depth(r);
  if (r.next_is_number()) return r.number();
  if (r.accept('(')) {
    Sym sym = read_sum(r);
    r.expect(')');
    return sym;
  }
  const std::string name = r.name();
  if (!r.accept('(')) return Sym::symbol(name);
  SymList args;
  do args.push_back(read_sum(r));
  while (r.accept(','));
  r.expect(')');
  for (const FunctionName& f : kFunctions) {
    const size_t arity = f.op == SymOp::logical_not ? 1 : f.op == SymOp::where ? 3 : 2;
    if (name == f.name && args.size() == arity) return make_sym(f.op, std::move(args));
  }
  r.error("a known function with its number of arguments");
}

Sym read_product(Reader& r) {
  Sym sym = read_factor(r);
  while (r.accept('*')) sym = sym * read_factor(r);
  return sym;
}

Sym read_sum(Reader& r) {
  Reader::Depth depth(r);
  Sym sym = read_product(r);
  while (r.accept('+')) sym = sym + read_product(r);
  return sym;
}

// --- srepr ---

Sym read_srepr(Reader& r);

SymList read_arguments(Reader& r) {
  SymList args;
  if (r.accept(')')) return args;
  do args.push_back(read_srepr(r));
  while (r.accept(','));
  r.expect(')');
  return args;
}

Sym chain(SymOp op, const SymList& args) {
  Sym result = args[0];
  for (size_t i = 1; i < args.size(); ++i) result = make_sym(op, {result, args[i]});
  return result;
}

Sym power(Reader& r, const SymList& args) {
  if (!args[1].is_const() || args[1].value() < 0 || args[1].value() > 16) r.error("an exponent from 0 to 16");
  Sym result = 1;
  for (int64_t i = 0; i < args[1].value(); ++i) result = result * args[0];
  return result;
}

Sym read_piecewise(Reader& r) {
  // Piecewise(ExprCondPair(value, condition), ..): the first true condition decides; the last must be `true`.
  std::vector<std::pair<Sym, Sym>> pairs;
  do {
    if (r.name() != "ExprCondPair") r.error("ExprCondPair");
    r.expect('(');
    auto args = read_arguments(r);
    if (args.size() != 2) r.error("ExprCondPair of 2 arguments");
    pairs.emplace_back(args[0], args[1]);
  } while (r.accept(','));
  r.expect(')');
  if (!pairs.back().second.is(1)) r.error("a last case that always holds");
  Sym result = pairs.back().first;
  for (size_t i = pairs.size() - 1; i-- > 0;) {
    result = make_sym(SymOp::where, {pairs[i].second, pairs[i].first, result});
  }
  return result;
}

struct SreprFunction {
  const char* name;
  int arity;  // -1 = one or more
  Sym (*build)(Reader&, const SymList&);
};

const SreprFunction kSrepr[] = {
    {"Add", -1, [](Reader&, const SymList& a) { return make_sym(SymOp::sum, a); }},
    {"Mul", -1, [](Reader&, const SymList& a) { return make_sym(SymOp::product, a); }},
    {"Pow", 2, power},
    {"PowByNatural", 2, power},
    {"Max", -1, [](Reader&, const SymList& a) { return chain(SymOp::max, a); }},
    {"Min", -1, [](Reader&, const SymList& a) { return chain(SymOp::min, a); }},
    {"And", -1, [](Reader&, const SymList& a) { return chain(SymOp::logical_and, a); }},
    {"Or", -1, [](Reader&, const SymList& a) { return chain(SymOp::logical_or, a); }},
    {"Not", 1, [](Reader&, const SymList& a) { return make_sym(SymOp::logical_not, a); }},
    {"Abs", 1, [](Reader&, const SymList& a) { return sym_max(a[0], a[0] * Sym(-1)); }},
    {"Equality", 2, [](Reader&, const SymList& a) { return make_sym(SymOp::eq, a); }},
    {"Unequality", 2, [](Reader&, const SymList& a) { return make_sym(SymOp::ne, a); }},
    {"StrictLessThan", 2, [](Reader&, const SymList& a) { return make_sym(SymOp::lt, a); }},
    {"LessThan", 2, [](Reader&, const SymList& a) { return make_sym(SymOp::le, a); }},
    {"StrictGreaterThan", 2, [](Reader&, const SymList& a) { return make_sym(SymOp::lt, {a[1], a[0]}); }},
    {"GreaterThan", 2, [](Reader&, const SymList& a) { return make_sym(SymOp::le, {a[1], a[0]}); }},
    {"FloorDiv", 2, [](Reader&, const SymList& a) { return floor_div(a[0], a[1]); }},
    {"CleanDiv", 2, [](Reader&, const SymList& a) { return floor_div(a[0], a[1]); }},
    {"CeilDiv", 2, [](Reader&, const SymList& a) { return ceil_div(a[0], a[1]); }},
    {"Mod", 2, [](Reader&, const SymList& a) { return sym_mod(a[0], a[1]); }},
    {"PythonMod", 2, [](Reader&, const SymList& a) { return sym_mod(a[0], a[1]); }},
    {"ModularIndexing", 3, [](Reader&, const SymList& a) { return sym_mod(floor_div(a[0], a[1]), a[2]); }},
    {"Where", 3, [](Reader&, const SymList& a) { return make_sym(SymOp::where, a); }},
    {"ToFloat", 1, [](Reader&, const SymList& a) { return a[0]; }},
    {"Identity", 1, [](Reader&, const SymList& a) { return a[0]; }},
};

void read_precision(Reader& r) {  // ", precision=53)"
  while (r.accept(',')) {
    r.name();
    r.expect('=');
    r.number();
  }
  r.expect(')');
}

// Reads the rest of a float after "Float(": '-1.5', precision=53)
Ratio read_float(Reader& r) {
  const std::optional<Ratio> value = read_decimal(r.quoted());
  if (!value) r.error("a number with few digits");
  read_precision(r);
  return *value;
}

// A number that may be a fraction.
Ratio read_ratio(Reader& r) {
  Reader::Depth depth(r);
  if (r.accept_text("Float(")) return read_float(r);
  if (r.accept_text("ToFloat(")) {
    const Ratio value = read_ratio(r);
    r.expect(')');
    return value;
  }
  const bool sum = r.accept_text("Add("), product = !sum && r.accept_text("Mul(");
  if (!sum && !product && !r.accept_text("FloatTrueDiv(") && !r.accept_text("IntTrueDiv(")) return {read_srepr(r)};
  std::optional<Ratio> result = read_ratio(r);
  int count = 1;
  for (; r.accept(','); ++count) {
    const Ratio next = read_ratio(r);
    result = sum ? add(*result, next) : product ? multiply(*result, next) : divide(*result, next);
    if (!result) r.error("fractions that doubles hold exactly");
  }
  if (!sum && !product && count != 2) r.error("a quotient of two numbers");
  r.expect(')');
  return *result;
}

// Reads "Mul(Float('1.7'), size)", the size of an image scaled by a factor, before it is rounded. Returns nothing, and
// reads nothing, if the text is another one or doubles hold the factor exactly.
std::optional<Ratio> read_scaled_size(Reader& r, bool up) {
  const size_t start = r.position();
  if (!r.accept_text("Mul(Float(")) return std::nullopt;
  const std::string text = r.quoted();
  double factor = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), factor, std::chars_format::fixed);
  if (read_decimal(text) || code != std::errc() || end != text.data() + text.size()) {
    r.go_back(start);
    return std::nullopt;
  }
  read_precision(r);
  const std::optional<Ratio> scale = scale_of(factor, up);
  if (!scale) r.error("a factor that is a fraction of integers up to 1000");
  r.expect(',');
  const Ratio size = read_ratio(r);
  r.expect(')');
  if (size.denominator != 1 || !r.is_size(size.numerator)) r.error("a size behind a factor");
  return Ratio{size.numerator * scale->numerator, scale->denominator};
}

// Reads the rest after "TruncToInt(".
Sym read_truncated(Reader& r) {
  const std::optional<Ratio> scaled = read_scaled_size(r, false);
  const Ratio value = scaled ? *scaled : read_ratio(r);
  r.expect(')');
  if (value.denominator == 1) return value.numerator;
  if (!r.is_size(value.numerator)) r.error("a number that is not negative");
  return floor(value);
}

// Reads the rest after "CeilToInt(" or "FloorToInt(". Only here may an integer be divided by one that is not constant.
Sym read_rounded(Reader& r, bool up) {
  if (const std::optional<Ratio> scaled = read_scaled_size(r, up)) {
    r.expect(')');
    return up ? ceil(*scaled) : floor(*scaled);
  }
  if (!r.accept_text("FloatTrueDiv(") && !r.accept_text("IntTrueDiv(")) {
    const Ratio value = read_ratio(r);
    r.expect(')');
    return up ? ceil(value) : floor(value);
  }
  const Ratio a = read_ratio(r);
  r.expect(',');
  const Ratio b = read_ratio(r);
  r.expect(')');
  r.expect(')');
  if (a.denominator == 1 && b.denominator == 1 && !b.numerator.is_const())
    return up ? floor_div(a.numerator * Sym(-1), b.numerator) * Sym(-1) : floor_div(a.numerator, b.numerator);
  const std::optional<Ratio> quotient = divide(a, b);
  if (!quotient) r.error("fractions that doubles hold exactly");
  return up ? ceil(*quotient) : floor(*quotient);
}

Sym read_srepr(Reader& r) {
  Reader::Depth depth(r);
  bool negative = r.accept('-');
  const std::string name = r.name();
  if (name == "true" || name == "True") return 1;
  if (name == "false" || name == "False") return 0;
  if (name == "oo" || name == "int_oo") return negative ? -kUnbounded : kUnbounded;
  r.expect('(');
  if (name == "Integer") {
    const int64_t value = r.number();
    r.expect(')');
    return value;
  }
  if (name == "Symbol") {
    const std::string symbol = r.quoted();
    if (symbol.empty() || symbol.size() > 64) r.error("a symbol name of 1 to 64 characters");
    for (char c : symbol) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') r.error("a symbol name of letters and digits");
    }
    while (r.accept(',')) {  // assumptions: positive=True ..
      const std::string assumption = r.name();
      r.expect('=');
      if (r.name() == "True" && (assumption == "positive" || assumption == "nonnegative")) r.add_size(symbol);
    }
    r.expect(')');
    return Sym::symbol(symbol);
  }
  if (name == "Piecewise") return read_piecewise(r);
  if (name == "Float") {
    const Ratio value = read_float(r);
    if (value.denominator != 1) r.error("a whole number");
    return value.numerator;
  }
  if (name == "TruncToInt") return read_truncated(r);
  if (name == "CeilToInt" || name == "FloorToInt") return read_rounded(r, name == "CeilToInt");
  for (const SreprFunction& f : kSrepr) {
    if (name != f.name) continue;
    const SymList args = read_arguments(r);
    if (args.empty() || (f.arity >= 0 && args.size() != static_cast<size_t>(f.arity)))
      r.error("the right number of arguments");
    return f.build(r, args);
  }
  r.error(fmt::format("an integer function instead of '{}'", printable(name)));
}

template <typename F>
Result<Sym> read_whole(std::string_view text, F&& read) {
  Sym result;
  Status status = catch_failure([&] {
    Reader reader(text);
    if (text.size() > kMaxLength) reader.error("at most 16384 characters");
    result = read(reader);
    if (!reader.at_end()) reader.error("the end of the expression");
  });
  if (!status.ok()) return std::move(status.diag());
  return result;
}

}  // namespace

std::string Sym::text() const {
  std::string out;
  append(out, *this, false);
  return out;
}

Result<Sym> parse_sym(std::string_view text) { return read_whole(text, read_sum); }
Result<Sym> parse_srepr(std::string_view text) { return read_whole(text, read_srepr); }

}  // namespace wick::compiler
