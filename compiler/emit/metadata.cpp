#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/emit/emit.h"
#include "compiler/ir/quantization.h"
#include "compiler/support/json_writer.h"

namespace wick::compiler {
namespace {

// The places in the model that delegates come from, each once, and for each delegate its constants and the places of
// the nodes of its payload and of its outputs.
void write_delegates(const MethodPlan& method, JsonWriter& json) {
  std::map<std::pair<std::string_view, std::string_view>, int64_t> numbers;
  std::vector<const Origin*> places;
  const auto number_of = [&](const OriginPtr& origin) -> int64_t {
    if (!origin) return -1;
    const auto [it, fresh] = numbers.try_emplace({origin->module, origin->source}, static_cast<int64_t>(places.size()));
    if (fresh) places.push_back(origin.get());
    return it->second;
  };
  json.key("delegates");
  json.array();
  for (const auto& delegate : method.delegates) {
    json.object();
    json.field("nodes", static_cast<uint64_t>(delegate->num_nodes));
    json.key("named_data");
    json.array();
    for (const NamedConstant& constant : delegate->constants) json.value(constant.key);
    json.end();
    for (const auto& [key, list] :
         {std::pair("node_places", &delegate->origins), std::pair("output_places", &delegate->output_origins)}) {
      json.key(key);
      json.array();
      for (const OriginPtr& origin : *list) json.value(number_of(origin));
      json.end();
    }
    json.end();
  }
  json.end();
  json.key("places");
  json.array();
  for (const Origin* place : places) {
    json.object();
    json.field("module", place->module);
    json.field("source", place->source);
    json.end();
  }
  json.end();
}

// Writes which numbers the elements of an input or output stand for; nothing where that is not known.
void write_quantization(const std::vector<std::shared_ptr<const Quantization>>& all, size_t index, JsonWriter& json) {
  if (index >= all.size() || !all[index]) return;
  json.field("scale", all[index]->scales[0]);
  json.field("zero_point", static_cast<int64_t>(all[index]->zero_points[0]));
}

}  // namespace

void write_numbers(JsonWriter& json, const InputNumbers& numbers) {
  if (!numbers.below.is(0)) json.field("below", numbers.below.text());
  if (numbers.elements.empty()) return;
  json.key("numbers");
  json.array();
  for (const Sym& number : numbers.elements) json.value(number.text());
  json.end();
}

namespace {

// Inputs and outputs.
void write_border(const MethodPlan& method, JsonWriter& json) {
  json.key("inputs");
  json.array();
  for (size_t i = 0; i < method.input_names.size(); ++i) {
    json.object();
    json.field("name", method.input_names[i]);
    json.field("type", method.input_types[i]);
    write_numbers(json, method.input_numbers[i]);
    write_quantization(method.input_quantization, i, json);
    json.end();
  }
  json.end();
  json.key("mutated_inputs");
  json.array();
  for (int32_t index : method.mutated_inputs) json.value(index);
  json.end();
  json.key("output_leaves");
  json.array();
  for (int32_t leaf : method.output_leaves) json.value(leaf);
  json.end();
  if (std::any_of(method.output_quantization.begin(), method.output_quantization.end(), std::identity())) {
    json.key("output_quantization");
    json.array();
    for (size_t i = 0; i < method.output_quantization.size(); ++i) {
      json.object();
      write_quantization(method.output_quantization, i, json);
      json.end();
    }
    json.end();
  }
  if (!method.border.empty()) json.field("border", method.border);
}

}  // namespace

std::string metadata_json(const std::vector<const MethodPlan*>& methods) {
  JsonWriter json;
  json.object();
  json.field("version", 1);
  json.key("methods");
  json.array();
  for (const MethodPlan* method : methods) {
    json.object();
    json.field("name", method->name);
    write_border(*method, json);
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
    if (!method->rules.empty()) {
      json.key("rules");
      json.array();
      for (const Sym& rule : method->rules) json.value(rule.text());
      json.end();
    }
    if (!method->shared_states.empty()) write_shared_states(method->shared_states, json);
    if (!method->delegates.empty()) write_delegates(*method, json);
    json.end();
  }
  json.end();
  json.end();
  return json.text();
}

}  // namespace wick::compiler
