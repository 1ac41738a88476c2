#include "compiler/emit/emit.h"
#include "compiler/support/json_writer.h"

namespace wick::compiler {

std::string metadata_json(const std::vector<const Statement*>& methods) {
  JsonWriter json;
  json.object();
  json.field("version", 1);
  json.key("methods");
  json.array();
  for (const Statement* method : methods) {
    json.object();
    json.field("name", method->name);
    json.key("inputs");
    json.array();
    for (size_t i = 0; i < method->input_names.size(); ++i) {
      json.object();
      json.field("name", method->input_names[i]);
      json.field("type", method->input_types[i]);
      json.end();
    }
    json.end();
    json.key("mutated_inputs");
    json.array();
    for (int32_t index : method->mutated_inputs) json.value(index);
    json.end();
    json.key("output_leaves");
    json.array();
    for (int32_t leaf : method->output_leaves) json.value(leaf);
    json.end();
    json.key("ranges");
    json.array();
    for (const auto& [text, range] : method->ranges) {
      json.object();
      json.field("size", text);
      json.field("min", range.min);
      json.key("max");
      if (range.max == kUnbounded)
        json.null();
      else
        json.value(range.max);
      json.end();
    }
    json.end();
    json.end();
  }
  json.end();
  json.end();
  return json.text();
}

}  // namespace wick::compiler
