#include "cli/program/model_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/program/operator_facts.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "compiler/import/program/exported_program.h"
#include "compiler/ir/sym/sym.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::JsonWriter;
using compiler::printable;
using compiler::Status;
namespace pt2 = compiler::pt2;

struct EndRow {
  std::string name, type;
};
struct WeightRow {
  std::string name, type;
  uint64_t bytes = 0;
  bool is_param = false;
};

/// The facts that are shown.
struct ModelFacts {
  std::string torch_version, schema, dialects;
  uint64_t file_bytes = 0, parameter_bytes = 0, payloads = 0;
  std::vector<EndRow> inputs, outputs, ranges;
  std::map<std::string, uint64_t> operators;
  std::vector<WeightRow> weights;  // largest first
};

std::string size_text(const pt2::SymInt& size) {
  if (size.is_literal()) return fmt::format("{}", size.value);
  const auto sym = compiler::parse_srepr(size.expr->text);
  return sym.ok() ? sym->text() : printable(size.expr->text, 60);
}

std::string type_text(const pt2::TensorMeta& meta) {
  std::string text = fmt::format("{}[", dtype_name(meta.dtype));
  for (size_t i = 0; i < meta.sizes.size(); ++i) text += (i ? ", " : "") + size_text(meta.sizes[i]);
  return text + "]";
}

/// Name and type of a graph input or output.
struct ArgumentText {
  const pt2::Graph& graph;
  EndRow operator()(const pt2::NoneArg&) const { return {"", "none"}; }
  EndRow operator()(const pt2::TensorArg& arg) const {
    const auto meta = graph.tensor_values.find(arg.name);
    return {arg.name, meta == graph.tensor_values.end() ? "number" : type_text(meta->second)};
  }
  EndRow operator()(int64_t value) const { return {"", fmt::format("int = {}", value)}; }
  EndRow operator()(double value) const { return {"", fmt::format("float = {}", value)}; }
  EndRow operator()(bool value) const { return {"", fmt::format("bool = {}", value)}; }
  EndRow operator()(const std::string& value) const { return {"", fmt::format("str = '{}'", printable(value, 60))}; }
  EndRow operator()(const pt2::SymIntArg& arg) const {
    return {arg.name, arg.is_literal() ? fmt::format("int = {}", arg.value) : "int"};
  }
  EndRow operator()(const pt2::SymFloatArg& arg) const { return {arg.name, "float"}; }
  EndRow operator()(const pt2::SymBoolArg& arg) const { return {arg.name, "bool"}; }
  template <typename T>
  EndRow operator()(const T&) const {
    return {"", "other"};
  }
};

void count_nodes(const pt2::Graph& graph, std::map<std::string, uint64_t>* counts) {
  for (const pt2::Node& node : graph.nodes) {
    ++(*counts)[node.target];
    for (const pt2::NamedArgument& input : node.inputs) {
      const auto* inner = std::get_if<pt2::GraphArg>(&input.arg);
      if (inner && inner->graph) count_nodes(*inner->graph, counts);
    }
  }
}

void add_weights(const pt2::Map<pt2::Payload>& payloads, std::set<std::string>* seen, ModelFacts* facts) {
  for (const auto& [name, payload] : payloads) {
    WeightRow row{printable(name, 80), "", payload.bytes.size(), payload.is_param};
    if (payload.kind == pt2::Payload::Kind::tensor)
      row.type = fmt::format("{}[{}]", dtype_name(payload.dtype), fmt::join(payload.sizes, ", "));
    if (seen->insert(payload.path_name).second) {
      ++facts->payloads;
      facts->parameter_bytes += row.bytes;
    }
    facts->weights.push_back(std::move(row));
  }
}

ModelFacts facts_of_model(const pt2::ExportedProgram& program, uint64_t bytes) {
  ModelFacts facts;
  facts.torch_version = program.torch_version;
  facts.schema = fmt::format("{}.{}", program.schema_major, program.schema_minor);
  facts.dialects = fmt::format("{}", fmt::join(program.verifiers, ", "));
  facts.file_bytes = bytes;
  size_t index = 0;
  for (const pt2::InputSpec& spec : program.input_specs) {
    if (spec.kind != pt2::InputKind::user_input && spec.kind != pt2::InputKind::constant_input) continue;
    EndRow row = std::visit(ArgumentText{program.graph}, spec.arg);
    if (row.name.empty()) row.name = spec.target.empty() ? fmt::format("in{}", index) : spec.target;
    facts.inputs.push_back(std::move(row));
    ++index;
  }
  size_t leaf = 0;
  for (const pt2::OutputSpec& spec : program.output_specs) {
    EndRow row = std::visit(ArgumentText{program.graph}, spec.arg);
    if (spec.kind == pt2::OutputKind::user_output)
      row.name = fmt::format("out{}", leaf++);
    else
      row.name = fmt::format("changes {}", spec.target);
    facts.outputs.push_back(std::move(row));
  }
  for (const auto& [name, range] : program.range_constraints) {
    facts.ranges.push_back({name, fmt::format("{} to {}", range.min ? fmt::format("{}", *range.min) : "any",
                                              range.max ? fmt::format("{}", *range.max) : "any")});
  }
  count_nodes(program.graph, &facts.operators);
  std::set<std::string> seen;
  add_weights(program.weights, &seen, &facts);
  add_weights(program.constants, &seen, &facts);
  std::stable_sort(facts.weights.begin(), facts.weights.end(),
                   [](const WeightRow& a, const WeightRow& b) { return a.bytes > b.bytes; });
  return facts;
}

// "torch.ops.aten.add.Tensor" is "aten.add.Tensor" in Wick's tables.
bool is_known(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  if (target.starts_with(kPrefix)) target.remove_prefix(kPrefix.size());
  return compiler::find_op(target) != nullptr || !target.starts_with("aten.");
}

void print_ends(const char* title, const std::vector<EndRow>& rows) {
  Table table({title, "type"});
  for (const EndRow& row : rows) table.row({printable(row.name, 60), row.type});
  fmt::print("{}", table.text());
}

void print_model_tables(const std::string& path, const ModelFacts& facts) {
  fmt::print("{}", heading(fmt::format("{}: torch.export program, {} bytes", path, facts.file_bytes)));
  fmt::print("  torch {}, schema {}, dialect {}\n", printable(facts.torch_version, 60), facts.schema,
             printable(facts.dialects, 60));
  print_ends("input", facts.inputs);
  print_ends("output", facts.outputs);
  print_ends("symbol", facts.ranges);
  std::vector<std::pair<std::string, uint64_t>> operators(facts.operators.begin(), facts.operators.end());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({"operator", ">count", "Wick"});
  for (const auto& [name, count] : operators)
    table.row({printable(name, 80), fmt::format("{}", count), is_known(name) ? "yes" : "NO"});
  fmt::print("{}", table.text());
  constexpr size_t kShown = 20;
  Table weights({"weight", "type", ">bytes", ""});
  for (size_t i = 0; i < std::min(kShown, facts.weights.size()); ++i) {
    const WeightRow& row = facts.weights[i];
    weights.row({row.name, row.type, fmt::format("{}", row.bytes), row.is_param ? "parameter" : "buffer or constant"});
  }
  fmt::print("{}", heading(fmt::format("{} weights in {} payloads of {}, largest first", facts.weights.size(),
                                       facts.payloads, bytes_text(facts.parameter_bytes))));
  fmt::print("{}", weights.text());
}

void write_model_ends(JsonWriter& json, const char* key, const std::vector<EndRow>& rows) {
  json.key(key);
  json.array();
  for (const EndRow& row : rows) {
    json.object();
    json.field("name", row.name);
    json.field("type", row.type);
    json.end();
  }
  json.end();
}

void print_model_json(const std::string& path, const ModelFacts& facts) {
  JsonWriter json;
  json.object();
  json.field("schema", "wick.inspect.1");
  json.field("kind", "pt2");
  json.field("file", path);
  json.field("file_bytes", facts.file_bytes);
  json.field("torch_version", facts.torch_version);
  json.field("schema_version", facts.schema);
  json.field("dialect", facts.dialects);
  write_model_ends(json, "inputs", facts.inputs);
  write_model_ends(json, "outputs", facts.outputs);
  write_model_ends(json, "ranges", facts.ranges);
  json.key("operators");
  json.array();
  for (const auto& [name, count] : facts.operators) {
    json.object();
    json.field("name", name);
    json.field("count", count);
    json.field("in_wick", is_known(name));
    json.end();
  }
  json.end();
  json.field("parameter_bytes", facts.parameter_bytes);
  json.key("weights");
  json.array();
  for (const WeightRow& row : facts.weights) {
    json.object();
    json.field("name", row.name);
    json.field("type", row.type);
    json.field("bytes", row.bytes);
    json.field("parameter", row.is_param);
    json.end();
  }
  json.end();
  json.end();
  fmt::print("{}\n", json.text());
}

}  // namespace

Status print_model(const std::string& path, Span<const uint8_t> bytes, bool as_json) {
  ASSIGN_OR_RETURN(pt2::Archive archive, pt2::Archive::open(bytes, path));
  ASSIGN_OR_RETURN(std::vector<std::string> names, pt2::model_names(archive));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(pt2::ExportedProgram program, pt2::read_exported_program(archive, name));
    const ModelFacts facts = facts_of_model(program, bytes.size());
    if (as_json)
      print_model_json(path, facts);
    else
      print_model_tables(path, facts);
  }
  return {};
}

}  // namespace wick::cli
