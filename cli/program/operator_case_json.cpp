#include "cli/program/operator_case_json.h"

#include <fmt/format.h>

#include "compiler/ir/op_case.h"
#include "wick/dtype.h"

namespace wick::cli {
namespace {

using compiler::CaseFill;
using compiler::CaseTensor;
using compiler::CaseValue;
using compiler::JsonWriter;

// JSON has no infinities and does not tell 1.0 from an integer, so reals are text.
std::string real_text(double value) { return fmt::format("{}", value); }

void write_fill(JsonWriter& json, const CaseFill& fill) {
  static constexpr const char* kNames[] = {"range", "special", "index", "distinct", "sorted", "definite", "values"};
  json.field("fill", kNames[static_cast<size_t>(fill.kind)]);
  if (fill.kind == CaseFill::Kind::index) json.field("limit", fill.limit);
  if (fill.kind == CaseFill::Kind::range || fill.kind == CaseFill::Kind::sorted) {
    json.field("low", real_text(fill.low));
    json.field("high", real_text(fill.high));
  }
  if (fill.kind != CaseFill::Kind::values) return;
  json.key("values");
  json.array();
  for (const double value : fill.values) json.value(real_text(value));
  json.end();
}

void write_tensor(JsonWriter& json, const CaseTensor& tensor) {
  json.object();
  json.field("dtype", dtype_name(tensor.dtype));
  json.key("sizes");
  json.array();
  for (const int64_t size : tensor.sizes) json.value(size);
  json.end();
  write_fill(json, tensor.fill);
  json.field("seed", uint64_t{tensor.seed});
  json.end();
}

void write_tagged(JsonWriter& json, const char* tag, const std::string& text) {
  json.object();
  json.field(tag, text);
  json.end();
}

void write_value(JsonWriter& json, const CaseValue& value) {
  switch (value.kind) {
    case CaseValue::Kind::none: return json.null();
    case CaseValue::Kind::boolean: return json.value(value.boolean);
    case CaseValue::Kind::integer: return json.value(value.integer);
    case CaseValue::Kind::real: return write_tagged(json, "real", real_text(value.real));
    case CaseValue::Kind::word: return write_tagged(json, "word", value.word);
    case CaseValue::Kind::tensor:
      json.object();
      json.key("tensor");
      write_tensor(json, value.tensor);
      return json.end();
    case CaseValue::Kind::list:
      json.array();
      for (const CaseValue& item : value.items) write_value(json, item);
      return json.end();
  }
}

}  // namespace

compiler::Status write_cases(JsonWriter& json, const compiler::OpDef& op) {
  json.array();
  for (const char* text : compiler::cases_of(op)) {
    ASSIGN_OR_RETURN(const compiler::OpCase one, compiler::parse_case(op, text));
    json.object();
    json.field("text", one.text);
    json.field("refused", one.refused);
    json.key("arguments");
    json.array();
    for (const compiler::CaseArgument& argument : one.arguments) {
      json.object();
      json.field("name", argument.name);
      json.field("by_name", argument.by_name);
      json.key("value");
      write_value(json, argument.value);
      json.end();
    }
    json.end();
    json.end();
  }
  json.end();
  return {};
}

}  // namespace wick::cli
