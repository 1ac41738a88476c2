#include "cli/program/program_metadata.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <map>

#include "compiler/emit/emit.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;
using compiler::Sym;
using compiler::Type;

Diag corrupt(std::string_view what) {
  return Diag(Code::corrupt_file, fmt::format("the program's metadata is damaged: {}", what));
}

Result<Sym> read_sym(std::string_view text) {
  Result<Sym> sym = compiler::parse_sym(text);
  if (!sym.ok()) return corrupt(sym.diag().message);
  return sym;
}

// Splits at commas outside parentheses.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != ',' || depth != 0) continue;
    items.push_back(text.substr(start, i - start));
    start = text.find_first_not_of(' ', i + 1);
    if (start == std::string_view::npos) start = text.size();
  }
  if (!text.empty()) items.push_back(text.substr(start));
  return items;
}

// All three may be absent. Older files have "value" where there is one number.
Status read_numbers(simdjson::dom::element item, InputFacts* input) {
  simdjson::dom::array numbers;
  std::string_view text;
  if (!item["below"].get(text)) {
    ASSIGN_OR_RETURN(input->below, read_sym(text));
  }
  if (!item["value"].get(text)) {
    ASSIGN_OR_RETURN(input->numbers.emplace_back(), read_sym(text));
  }
  if (item["numbers"].get(numbers)) return {};
  for (simdjson::dom::element number : numbers) {
    if (number.get(text)) return corrupt("a number of an input is not text");
    ASSIGN_OR_RETURN(input->numbers.emplace_back(), read_sym(text));
  }
  return {};
}

// Leaves `grid` empty if the file does not state it.
Status read_grid(simdjson::dom::element item, std::optional<GridFacts>* grid) {
  GridFacts facts;
  if (item["scale"].get(facts.scale)) return {};
  if (item["zero_point"].get(facts.zero_point) || !(facts.scale > 0) || facts.scale - facts.scale != 0)
    return corrupt("a scale without a zero point, or that is no scale");
  *grid = facts;
  return {};
}

Status read_border(simdjson::dom::element element, MethodFacts* facts) {
  simdjson::dom::array grids;
  if (!element["output_quantization"].get(grids)) {
    for (simdjson::dom::element item : grids) RETURN_IF_ERROR(read_grid(item, &facts->output_grids.emplace_back()));
  }
  std::string_view word;
  if (element["border"].get(word)) return {};
  const std::optional<compiler::Border> border = compiler::border_of(word);
  if (!border) return corrupt("an unknown border");
  facts->border = *border;
  return {};
}

Status read_inputs(simdjson::dom::array array, MethodFacts* facts) {
  for (simdjson::dom::element item : array) {
    std::string_view name, type;
    if (item["name"].get(name) || item["type"].get(type)) return corrupt("an input has no name or type");
    InputFacts input;
    input.name = std::string(name);
    if (!type.empty()) {
      ASSIGN_OR_RETURN(input.type, parse_type(type));
    }
    RETURN_IF_ERROR(read_numbers(item, &input));
    RETURN_IF_ERROR(read_grid(item, &input.grid));
    facts->inputs.push_back(std::move(input));
  }
  return {};
}

Status read_ranges(simdjson::dom::array array, MethodFacts* facts) {
  for (simdjson::dom::element item : array) {
    std::string_view text;
    compiler::SymRange range;
    if (item["size"].get(text) || item["min"].get(range.min)) return corrupt("a range has no size or minimum");
    if (item["max"].get(range.max)) range.max = compiler::kUnbounded;
    if (range.min > range.max) return corrupt("a range is empty");
    ASSIGN_OR_RETURN(Sym size, read_sym(text));
    if (!size.symbol_name().empty()) facts->symbols[std::string(size.symbol_name())] = range;
    facts->ranges.emplace_back(std::move(size), range);
  }
  return {};
}

Status read_rules(simdjson::dom::element element, MethodFacts* facts) {
  simdjson::dom::array rules;
  if (element["rules"].get(rules)) return {};  // there are none
  for (simdjson::dom::element item : rules) {
    std::string_view text;
    if (item.get(text)) return corrupt("a rule is not text");
    ASSIGN_OR_RETURN(Sym rule, read_sym(text));
    facts->rules.push_back(std::move(rule));
  }
  return {};
}

Status read_shared_states(simdjson::dom::element element, MethodFacts* facts) {
  simdjson::dom::array states;
  if (element["shared_states"].get(states)) return {};  // there are none
  for (simdjson::dom::element item : states) {
    std::string_view name, owner;
    if (item["name"].get(name) || item["owner"].get(owner)) return corrupt("a shared state has no name or owner");
    facts->shared_states.push_back({std::string(name), "", std::string(owner)});
  }
  return {};
}

Status read_places(simdjson::dom::element element, const char* key, const std::vector<PlaceFacts>& places,
                   std::vector<PlaceFacts>* out) {
  simdjson::dom::array array;
  if (element[key].get(array)) return corrupt("a delegate has no places");
  for (simdjson::dom::element item : array) {
    int64_t index = 0;
    if (item.get(index) || index < -1 || index >= static_cast<int64_t>(places.size()))
      return corrupt("a delegate names a place that is not there");
    out->push_back(index < 0 ? PlaceFacts{} : places[static_cast<size_t>(index)]);
  }
  return {};
}

Status read_delegates(simdjson::dom::element element, MethodFacts* facts) {
  simdjson::dom::array delegates, array;
  if (element["delegates"].get(delegates)) return {};  // the method has none
  if (element["places"].get(array)) return corrupt("the places are missing");
  std::vector<PlaceFacts> places;
  for (simdjson::dom::element item : array) {
    std::string_view module, source;
    if (item["module"].get(module) || item["source"].get(source)) return corrupt("a place has no module or source");
    places.push_back({std::string(module), std::string(source)});
  }
  for (simdjson::dom::element item : delegates) {
    DelegateFacts& delegate = facts->delegates.emplace_back();
    if (item["nodes"].get(delegate.num_nodes) || item["named_data"].get(array))
      return corrupt("a delegate has no nodes or constants");
    for (simdjson::dom::element key : array) {
      std::string_view text;
      if (key.get(text)) return corrupt("a key of a constant is not text");
      delegate.named_data.emplace_back(text);
    }
    RETURN_IF_ERROR(read_places(item, "node_places", places, &delegate.nodes));
    RETURN_IF_ERROR(read_places(item, "output_places", places, &delegate.outputs));
  }
  return {};
}

Status read_method(simdjson::dom::element element, MethodFacts* facts) {
  simdjson::dom::array inputs, mutated, leaves, ranges;
  if (element["inputs"].get(inputs) || element["mutated_inputs"].get(mutated) || element["output_leaves"].get(leaves) ||
      element["ranges"].get(ranges)) {
    return corrupt("a list is missing");
  }
  RETURN_IF_ERROR(read_inputs(inputs, facts));
  for (simdjson::dom::element item : mutated) {
    uint64_t index = 0;
    if (item.get(index)) return corrupt("a mutated input is not an index");
    facts->mutated_inputs.push_back(index);
  }
  for (simdjson::dom::element item : leaves) {
    int64_t leaf = 0;
    if (item.get(leaf)) return corrupt("an output leaf is not a number");
    facts->output_leaves.push_back(leaf);
  }
  RETURN_IF_ERROR(read_border(element, facts));
  RETURN_IF_ERROR(read_ranges(ranges, facts));
  RETURN_IF_ERROR(read_rules(element, facts));
  RETURN_IF_ERROR(read_shared_states(element, facts));
  RETURN_IF_ERROR(read_delegates(element, facts));
  facts->known = true;
  return {};
}

Status check_facts(const MethodMeta& method, const MethodFacts& facts) {
  if (facts.inputs.size() != method.num_inputs()) return corrupt("a different number of inputs than the method has");
  if (!facts.delegates.empty() && facts.delegates.size() != method.num_delegates())
    return corrupt("a different number of delegates than the method has");
  if (facts.mutated_inputs.size() + facts.output_leaves.size() != method.num_outputs()) {
    return corrupt("a different number of outputs than the method has");
  }
  if (!facts.output_grids.empty() && facts.output_grids.size() != facts.output_leaves.size())
    return corrupt("a different number of scales than the method has outputs");
  for (size_t index : facts.mutated_inputs) {
    if (index >= facts.inputs.size()) return corrupt("a mutated input does not exist");
  }
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    if (!facts.inputs[i].type || !facts.inputs[i].type->is_tensor()) continue;
    const ValueMeta value = method.input_value(i);
    const compiler::TensorType& type = facts.inputs[i].type->tensor;
    if (value.tag != Tag::tensor || value.tensor.dtype != type.dtype || value.tensor.sizes.size() != type.rank()) {
      return corrupt(fmt::format("input {} has a different type than the method says", i));
    }
  }
  return {};
}

MethodFacts facts_of_tables(const MethodMeta& method) {
  MethodFacts facts;
  for (size_t i = 0; i < method.num_inputs(); ++i) facts.inputs.emplace_back().name = fmt::format("in{}", i);
  for (size_t i = 0; i < method.num_outputs(); ++i) facts.output_leaves.push_back(static_cast<int64_t>(i));
  return facts;
}

// The JSON of a program, parsed once.
class Metadata {
 public:
  Status read(const Program& program) {
    const auto data = program.find_named_data(compiler::kMetadataKey);
    if (!data.ok()) return {};
    text_ = simdjson::padded_string(reinterpret_cast<const char*>(data->data()), data->size());
    simdjson::dom::element root;
    simdjson::dom::array methods;
    if (parser_.parse(text_).get(root) || root["methods"].get(methods))
      return corrupt("it is no JSON of the expected form");
    int64_t version = 0;
    if (root["version"].get(version) || version != 1) return {};
    for (simdjson::dom::element element : methods) {
      std::string_view name;
      if (!element["name"].get(name)) methods_.try_emplace(name, element);
    }
    return {};
  }

  Result<MethodFacts> facts(const MethodMeta& method) const {
    const auto element = methods_.find(std::string_view(method.name()));
    if (element == methods_.end()) return facts_of_tables(method);
    MethodFacts facts;
    RETURN_IF_ERROR(read_method(element->second, &facts));
    RETURN_IF_ERROR(check_facts(method, facts));
    return facts;
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::padded_string text_;
  std::map<std::string_view, simdjson::dom::element> methods_;
};

}  // namespace

Result<Type> parse_type(std::string_view text) {
  if (text == "float") return Type::real();
  if (text == "bool") return Type::boolean();
  if (text.starts_with("int(") && text.ends_with(")")) {
    ASSIGN_OR_RETURN(Sym value, read_sym(text.substr(4, text.size() - 5)));
    return Type::integer(std::move(value));
  }
  const size_t open = text.find('['), close = text.find(']');
  const std::string_view dtype = text.substr(0, open);
  compiler::TensorType type;
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      !dtype_from_name(dtype.data(), dtype.size(), &type.dtype)) {
    return corrupt(fmt::format("'{}' is not a type", compiler::printable(text)));
  }
  for (std::string_view item : split_list(text.substr(open + 1, close - open - 1))) {
    ASSIGN_OR_RETURN(Sym size, read_sym(item));
    type.sizes.push_back(std::move(size));
  }
  if (type.sizes.size() > kMaxRank) return corrupt("a tensor has too many dimensions");
  return Type::of(std::move(type));
}

Result<MethodFacts> read_facts(const MethodMeta& method) {
  Metadata metadata;
  RETURN_IF_ERROR(metadata.read(method.program()));
  return metadata.facts(method);
}

Result<std::vector<MethodFacts>> read_facts(const Program& program) {
  Metadata metadata;
  RETURN_IF_ERROR(metadata.read(program));
  std::vector<MethodFacts> all;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    ASSIGN_OR_RETURN(MethodFacts facts, metadata.facts(program.method(i)));
    all.push_back(std::move(facts));
  }
  return all;
}

std::string output_name(const MethodFacts& facts, size_t index) {
  if (index < facts.mutated_inputs.size()) return fmt::format("mut_{}", facts.mutated_inputs[index]);
  return fmt::format("out{}", facts.output_leaves[index - facts.mutated_inputs.size()]);
}

std::string value_text(const ValueMeta& value) {
  switch (value.tag) {
    case Tag::none: return "none";
    case Tag::integer: return "int";
    case Tag::real: return "float";
    case Tag::boolean: return "bool";
    case Tag::string: return "str";
    case Tag::tensor: break;
    default: return "list";
  }
  std::string text = fmt::format("{}[", dtype_name(value.tensor.dtype));
  const bool bounded = value.tensor.dynamism == ShapeDynamism::upper_bound;
  const bool unbounded = value.tensor.dynamism == ShapeDynamism::unbounded;
  for (size_t i = 0; i < value.tensor.sizes.size(); ++i) {
    const int32_t size = value.tensor.sizes[i];
    text += i ? ", " : "";
    text += unbounded && size == 0 ? "?" : fmt::format("{}{}", bounded ? "<=" : "", size);
  }
  text += ']';
  bool plain = true;
  for (size_t i = 0; i < value.tensor.dim_order.size(); ++i) plain = plain && value.tensor.dim_order[i] == i;
  if (plain) return text;
  return text +
         fmt::format(" dim order {}", fmt::join(value.tensor.dim_order.begin(), value.tensor.dim_order.end(), ","));
}

std::string input_text(const MethodMeta& method, const MethodFacts& facts, size_t index) {
  if (facts.inputs[index].type) return compiler::to_text(*facts.inputs[index].type);
  const ValueMeta value = method.input_value(index);
  switch (value.tag) {
    case Tag::integer: return fmt::format("int = {}", value.integer);
    case Tag::real: return fmt::format("float = {}", value.real);
    case Tag::boolean: return fmt::format("bool = {}", value.boolean);
    case Tag::string:
      return fmt::format("str = '{}'", compiler::printable({value.string.data(), value.string.size()}, 60));
    default: return value_text(value);
  }
}

}  // namespace wick::cli
