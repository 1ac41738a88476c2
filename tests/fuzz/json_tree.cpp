#include "tests/fuzz/json_tree.h"

#include <simdjson.h>

#include "compiler/support/json_writer.h"

namespace wick::fuzz {
namespace {

void append(const JsonTree& tree, compiler::JsonWriter& json) {
  switch (tree.kind) {
    case JsonTree::Kind::null: json.null(); return;
    case JsonTree::Kind::boolean: json.value(tree.boolean); return;
    case JsonTree::Kind::integer: json.value(tree.integer); return;
    case JsonTree::Kind::real: json.value(tree.real); return;
    case JsonTree::Kind::string: json.value(tree.string); return;
    case JsonTree::Kind::list:
      json.array();
      for (const JsonTree& item : tree.items) append(item, json);
      json.end();
      return;
    case JsonTree::Kind::object:
      json.object();
      for (size_t i = 0; i < tree.items.size(); ++i) {
        json.key(tree.keys[i]);
        append(tree.items[i], json);
      }
      json.end();
      return;
  }
}

JsonTree convert(simdjson::dom::element element) {
  JsonTree tree;
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY:
      tree.kind = JsonTree::Kind::list;
      for (simdjson::dom::element item : simdjson::dom::array(element)) tree.items.push_back(convert(item));
      break;
    case simdjson::dom::element_type::OBJECT:
      tree.kind = JsonTree::Kind::object;
      for (const simdjson::dom::key_value_pair field : simdjson::dom::object(element)) {
        tree.keys.emplace_back(field.key);
        tree.items.push_back(convert(field.value));
      }
      break;
    case simdjson::dom::element_type::INT64:
      tree.kind = JsonTree::Kind::integer;
      tree.integer = int64_t(element);
      break;
    case simdjson::dom::element_type::UINT64:
      tree.kind = JsonTree::Kind::integer;
      tree.integer = INT64_MAX;
      break;
    case simdjson::dom::element_type::DOUBLE:
      tree.kind = JsonTree::Kind::real;
      tree.real = double(element);
      break;
    case simdjson::dom::element_type::STRING:
      tree.kind = JsonTree::Kind::string;
      tree.string = std::string_view(element);
      break;
    case simdjson::dom::element_type::BOOL:
      tree.kind = JsonTree::Kind::boolean;
      tree.boolean = bool(element);
      break;
    case simdjson::dom::element_type::NULL_VALUE: break;
  }
  return tree;
}

}  // namespace

const JsonTree* JsonTree::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}
JsonTree* JsonTree::find(std::string_view key) { return const_cast<JsonTree*>(std::as_const(*this).find(key)); }

std::string JsonTree::text() const {
  compiler::JsonWriter json;
  append(*this, json);
  return json.text();
}

std::optional<JsonTree> parse_json(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.allocate(std::max<size_t>(text.size(), 64), 120)) return std::nullopt;
  if (parser.parse(text.data(), text.size()).get(root)) return std::nullopt;
  return convert(root);
}

}  // namespace wick::fuzz
