#include "compiler/import/program/exported_program_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "compiler/import/damage.h"
#include "compiler/support/limits.h"

namespace wick::compiler::pt2 {
namespace {

constexpr size_t kMaxDepth = 100;
constexpr size_t kFewKeys = 16;  // up to here, comparing each with each is cheapest

Status check_keys(const Json& at);

Status check_object(const Json& at, simdjson::dom::object object) {
  std::string_view few[kFewKeys];
  std::vector<std::string_view> many;
  size_t count = 0;
  for (const simdjson::dom::key_value_pair field : object) {
    if (count < kFewKeys) few[count] = field.key;
    ++count;
    RETURN_IF_ERROR(check_keys(Json(field.value, at, field.key)));
  }
  const std::string_view* keys = few;
  if (count > kFewKeys) {
    many.reserve(count);
    for (const simdjson::dom::key_value_pair field : object) many.push_back(field.key);
    keys = many.data();
    std::sort(many.begin(), many.end());
  } else {
    std::sort(few, few + count);
  }
  const std::string_view* twice = std::adjacent_find(keys, keys + count);
  if (twice == keys + count) return {};
  return at.corrupt(fmt::format("the key \"{}\" occurs twice", printable(*twice)));
}

// Refuses objects with equal keys, everywhere in the document.
Status check_keys(const Json& at) {
  simdjson::dom::array array;
  simdjson::dom::object object;
  if (at.element().get(object) == simdjson::SUCCESS) return check_object(at, object);
  if (at.element().get(array) != simdjson::SUCCESS) return {};
  size_t index = 0;
  for (simdjson::dom::element item : array) RETURN_IF_ERROR(check_keys(Json(item, at, index++)));
  return {};
}

const char* type_name(simdjson::dom::element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY: return "a list";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64: return "an integer";
    case simdjson::dom::element_type::DOUBLE: return "a float";
    case simdjson::dom::element_type::STRING: return "a string";
    case simdjson::dom::element_type::BOOL: return "a bool";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
  }
  return "?";
}

Diag parse_error(simdjson::error_code error, std::string_view name) {
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    return Diag(Code::limit, fmt::format("{} is too large for the memory of this machine", name));
  }
  if (error == simdjson::DEPTH_ERROR) {
    return Diag(Code::unsupported_model, fmt::format("{} is nested deeper than {} levels", name, kMaxDepth));
  }
  return pt2::corrupt(fmt::format("{} is not valid JSON: {}", name, simdjson::error_message(error)));
}

}  // namespace

std::string Json::path() const {
  std::vector<const Json*> chain;
  for (const Json* at = this; at; at = at->parent_) chain.push_back(at);
  std::string out(chain.back()->key_);
  out += ": ";
  for (size_t i = chain.size() - 1; i-- > 0;) {
    const bool is_index = chain[i]->key_.data() == nullptr;
    if (!is_index && i + 2 < chain.size()) out += '.';
    out += is_index ? fmt::format("[{}]", chain[i]->index_) : printable(chain[i]->key_, 80);
  }
  return out;
}

Diag Json::error(Code code, const std::string& message) const { return Diag(code, path() + ": " + message); }

Diag Json::corrupt(const std::string& message) const { return pt2::corrupt(path() + ": " + message); }

Diag Json::wrong_type(const char* wanted) const {
  return corrupt("the value has the wrong type").expected(type_name(element_), wanted);
}

Result<JsonDocument> JsonDocument::parse(Span<const uint8_t> text, std::string_view name) {
  if (text.size() > limits().json_bytes) {
    return over_limit(&Limits::json_bytes, fmt::format("{} is too large", name), fmt::format("{} bytes", text.size()));
  }
  const std::unique_ptr<uint8_t[]> padded(new (std::nothrow) uint8_t[text.size() + simdjson::SIMDJSON_PADDING]);
  if (!padded) return parse_error(simdjson::MEMALLOC, name);
  if (!text.empty()) std::memcpy(padded.get(), text.data(), text.size());
  std::memset(padded.get() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
  JsonDocument out(name);
  {
    simdjson::dom::parser parser;
    simdjson::error_code error = parser.allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
    if (!error) error = parser.parse_into_document(out.document_, padded.get(), text.size(), false).error();
    if (error) return parse_error(error, name);
  }
  RETURN_IF_ERROR(check_keys(out.root()));
  return out;
}

Status read(const Json& at, bool& out) {
  return at.element().get(out) == simdjson::SUCCESS ? Status() : at.wrong_type("true or false");
}

Status read(const Json& at, int64_t& out) {
  if (!at.element().is_int64() && !at.element().is_uint64()) return at.wrong_type("an integer");
  return at.element().get(out) == simdjson::SUCCESS ? Status() : at.corrupt("the integer does not fit 64 bits");
}

Status read(const Json& at, double& out) {
  std::string_view text;
  if (at.element().get(text) == simdjson::SUCCESS) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity") return out = kInfinity, Status();
    if (text == "-Infinity") return out = -kInfinity, Status();
    if (text == "NaN") return out = std::numeric_limits<double>::quiet_NaN(), Status();
    return at.wrong_type("a number, \"Infinity\", \"-Infinity\" or \"NaN\"");
  }
  return at.element().get(out) == simdjson::SUCCESS ? Status() : at.wrong_type("a number");
}

Status read(const Json& at, std::string& out) {
  std::string_view text;
  if (at.element().get(text) != simdjson::SUCCESS) return at.wrong_type("a string");
  out = text;
  return {};
}

Result<Alternative> read_union(const Json& at) {
  simdjson::dom::object object;
  if (at.element().get(object) != simdjson::SUCCESS) return at.wrong_type("an object with one key");
  std::optional<Alternative> found;
  for (const simdjson::dom::key_value_pair field : object) {
    if (found) {
      return at.corrupt(
          fmt::format("a union has two keys, \"{}\" and \"{}\"", printable(found->key), printable(field.key)));
    }
    found = Alternative{field.key, field.value};
  }
  if (!found) return at.corrupt("a union has no key");
  return *found;
}

Diag unknown_alternative(const Json& at, std::string_view what) {
  return at.error(Code::incompatible_file, fmt::format("\"{}\" is not known to this version of Wick", printable(what)))
      .with_help("the file comes from a newer torch; export the model with torch 2.15 or earlier, or update Wick");
}

Fields::Fields(const Json& at) : at_(&at) {
  if (at.element().get(object_) != simdjson::SUCCESS) status_ = at.wrong_type("an object");
}

Status Fields::missing(std::string_view key) const {
  return at_->corrupt(fmt::format("the field \"{}\" is missing", key));
}

}  // namespace wick::compiler::pt2
