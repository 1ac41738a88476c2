#include "compiler/ir/op_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/support/failure.h"
#include "wick/dtype.h"

namespace wick::compiler {
namespace {

using Kind = CaseValue::Kind;

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '+' || c == '-' || c == ':';
}

class CaseReader {
 public:
  CaseReader(const OpDef& def, std::string_view text) : def_(def), text_(text) {}

  OpCase read() {
    OpCase out;
    out.text = std::string(text_);
    out.refused = take('!');
    while (!at_end()) {
      if (!out.arguments.empty()) expect(',');
      out.arguments.push_back(argument(out.arguments));
    }
    for (const ArgSpec& spec : def_.parsed->args) {
      const bool given = std::any_of(out.arguments.begin(), out.arguments.end(),
                                     [&](const CaseArgument& argument) { return argument.name == spec.name; });
      if (!given && !spec.has_default) wrong(fmt::format("'{}' is left out", spec.name));
    }
    return out;
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const {
    fail(Code::corrupt_file, fmt::format("case \"{}\" of {}: {}", text_, def_.name(), why));
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong(fmt::format("wanted '{}' at column {}", c, at_ + 1));
  }
  std::string_view word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
    if (at_ == begin) wrong(fmt::format("wanted a value at column {}", at_ + 1));
    return text_.substr(begin, at_ - begin);
  }

  // An argument by name (`dim=0`), or a value for the next argument of the schema.
  CaseArgument argument(const std::vector<CaseArgument>& before) {
    CaseArgument out;
    const size_t begin = at_;
    const std::vector<ArgSpec>& specs = def_.parsed->args;
    size_t index = before.size();
    if (!take('[')) {
      const std::string_view name = word();
      out.by_name = take('=');
      if (out.by_name) {
        const int found = def_.parsed->find(name);
        if (found < 0) wrong(fmt::format("there is no argument '{}'", name));
        index = static_cast<size_t>(found);
      }
    }
    if (!out.by_name) {
      at_ = begin;
      if (index >= specs.size()) wrong("there are too many arguments");
      if (!before.empty() && before.back().by_name) wrong("an argument by position follows one by name");
      if (specs[index].keyword_only) wrong(fmt::format("'{}' is passed by name", specs[index].name));
    }
    out.name = specs[index].name;
    for (const CaseArgument& other : before) {
      if (other.name == out.name) wrong(fmt::format("'{}' is given twice", out.name));
    }
    out.value = value();
    if (const char* wanted = misfit(out.value, specs[index]))
      wrong(fmt::format("'{}' wants {}", specs[index].name, wanted));
    return out;
  }

  CaseValue value() {
    CaseValue out;
    if (take('[')) {
      out.kind = Kind::list;
      while (!take(']')) {
        if (!out.items.empty()) expect(',');
        out.items.push_back(value());
      }
      return out;
    }
    const std::string_view text = word();
    DType dtype;
    const bool is_dtype = dtype_from_name(text.data(), text.size(), &dtype);
    if (is_dtype && at_ < text_.size() && text_[at_] == '[') {
      out.kind = Kind::tensor;
      out.tensor = tensor(dtype);
    } else if (text == "None") {
      out.kind = Kind::none;
    } else if (text == "true" || text == "false") {
      out.kind = Kind::boolean;
      out.boolean = text == "true";
    } else if (integer(text, out.integer)) {
      out.kind = Kind::integer;
    } else if (real(text, out.real)) {
      out.kind = Kind::real;
    } else {
      out.kind = Kind::word;
      out.word = std::string(text);
    }
    return out;
  }

  static bool integer(std::string_view text, int64_t& out) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
  }
  static bool real(std::string_view text, double& out) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);  // takes inf and nan, too
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
  }
  double number() {
    double out = 0;
    const std::string_view text = word();
    if (!real(text, out)) wrong(fmt::format("'{}' is not a number", text));
    return out;
  }

  CaseTensor tensor(DType dtype) {
    CaseTensor out;
    out.dtype = dtype;
    expect('[');
    while (!take(']')) {
      if (!out.sizes.empty()) expect(',');
      int64_t size = 0;
      if (!integer(word(), size) || size < 0 || size > 4096) wrong("a size is not a number from 0 to 4096");
      out.sizes.push_back(size);
    }
    if (is_integral(dtype) && dtype != DType::boolean) out.fill.low = -9, out.fill.high = 9;
    if (dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64) out.fill.low = 0;
    if (at_ < text_.size() && text_[at_] == '{') read_fill(out.fill);
    out.seed = seed();
    return out;
  }

  void read_fill(CaseFill& fill) {
    expect('{');
    if (take('=')) {
      fill.kind = CaseFill::Kind::values;
      do fill.values.push_back(number());
      while (take(','));
      return expect('}');
    }
    const std::string_view name = word();
    if (name == "range") {
      expect('=');
      // "0.5..3" is read as one word and split at the dots.
      const std::string_view ends = word();
      const size_t dots = ends.find("..");
      if (dots == std::string_view::npos || !real(ends.substr(0, dots), fill.low) ||
          !real(ends.substr(dots + 2), fill.high) || !(fill.low <= fill.high))
        wrong("a range is LOW..HIGH");
    } else if (name == "index") {
      fill.kind = CaseFill::Kind::index;
      expect('<');
      if (!integer(word(), fill.limit) || fill.limit < 1) wrong("an index is below a positive number");
    } else if (name == "special") {
      fill.kind = CaseFill::Kind::special;
    } else if (name == "distinct") {
      fill.kind = CaseFill::Kind::distinct;
    } else if (name == "sorted") {
      fill.kind = CaseFill::Kind::sorted;
    } else if (name == "definite") {
      fill.kind = CaseFill::Kind::definite;
    } else {
      wrong(fmt::format("there is no fill '{}'", name));
    }
    expect('}');
  }

  // FNV-1a over the operator, the text and the number of the tensor.
  uint32_t seed() {
    uint32_t hash = 2166136261u;
    for (const char c : fmt::format("{} {} {}", def_.name(), text_, tensors_++))
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
  }

  static bool all(const CaseValue& value, bool (*fits)(const CaseValue&)) {
    return value.kind == Kind::list && std::all_of(value.items.begin(), value.items.end(), fits);
  }
  static bool is_int(const CaseValue& value) { return value.kind == Kind::integer; }
  static bool is_real(const CaseValue& value) { return value.kind == Kind::real || value.kind == Kind::integer; }
  static bool is_bool(const CaseValue& value) { return value.kind == Kind::boolean; }
  static bool is_tensor(const CaseValue& value) { return value.kind == Kind::tensor; }
  static bool is_dtype(const CaseValue& value) {
    DType dtype;
    return value.kind == Kind::word && dtype_from_name(value.word.data(), value.word.size(), &dtype);
  }
  static bool is_word_of(const CaseValue& value, std::initializer_list<std::string_view> words) {
    return value.kind == Kind::word && std::find(words.begin(), words.end(), value.word) != words.end();
  }

  // Null if the argument takes the value, else a text that says what it takes.
  static const char* misfit(const CaseValue& value, const ArgSpec& spec) {
    if (value.kind == Kind::none && spec.optional) return nullptr;
    switch (spec.type) {
      case ArgType::tensor:  // eager makes a tensor of a number
        return is_tensor(value) || is_real(value) || is_bool(value) ? nullptr : "a tensor";
      case ArgType::tensor_list: return all(value, is_tensor) ? nullptr : "a list of tensors";
      case ArgType::optional_tensor_list: {
        const auto fits = [](const CaseValue& item) { return is_tensor(item) || item.kind == Kind::none; };
        return all(value, fits) ? nullptr : "a list of tensors and None";
      }
      case ArgType::integer: return is_int(value) ? nullptr : "an integer";
      case ArgType::int_list:
        return all(value, is_int) || (spec.list_size > 0 && is_int(value)) ? nullptr : "a list of integers";
      case ArgType::real: return is_real(value) ? nullptr : "a number";
      case ArgType::real_list: return all(value, is_real) ? nullptr : "a list of numbers";
      case ArgType::boolean: return is_bool(value) ? nullptr : "true or false";
      case ArgType::bool_list: return all(value, is_bool) ? nullptr : "a list of true and false";
      case ArgType::scalar: return is_real(value) || is_bool(value) ? nullptr : "a number, true or false";
      case ArgType::string: return value.kind == Kind::word ? nullptr : "a word";
      case ArgType::dtype: return is_dtype(value) ? nullptr : "a dtype";
      case ArgType::layout: return is_word_of(value, {"strided"}) ? nullptr : "strided";
      case ArgType::device: return is_word_of(value, {"cpu"}) ? nullptr : "cpu";
      case ArgType::memory_format:
        return is_word_of(value, {"contiguous", "channels_last", "channels_last_3d", "preserve"}) ? nullptr
                                                                                                  : "a memory format";
      case ArgType::generator: return "None";
    }
    return "a different type";
  }

  const OpDef& def_;
  std::string_view text_;
  size_t at_ = 0;
  int tensors_ = 0;
};

}  // namespace

Result<OpCase> parse_case(const OpDef& def, std::string_view text) {
  OpCase out;
  const Status status = catch_failure([&] { out = CaseReader(def, text).read(); });
  if (!status.ok()) return status.diag();
  return out;
}

const Cases& cases_of(const OpDef& def) {
  if (def.cases.size() != 0 || !def.functional) return def.cases;
  return op(def.functional).cases;
}

}  // namespace wick::compiler
