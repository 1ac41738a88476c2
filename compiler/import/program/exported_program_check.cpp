// Cross-references inside an exported program: value names, tables, signature, payloads.
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/damage.h"
#include "compiler/import/program/exported_program_reader.h"

namespace wick::compiler::pt2 {
namespace {

std::string in_quotes(std::string_view name) { return fmt::format("\"{}\"", printable(name)); }

// Calls use(name) for each value that `arg` refers to and nested(graph) for each graph in it. Stops at the first
// failure.
template <typename Use, typename Nested>
Status visit(const Argument& arg, const Use& use, const Nested& nested) {
  const auto each = [&](const auto& items, const auto& name_of) -> Status {
    for (const auto& item : items) RETURN_IF_ERROR(name_of(item));
    return Status();
  };
  const auto one_sym = [&](const auto& sym) { return sym.is_literal() ? Status() : use(sym.name); };
  const auto optional_name = [&](const std::optional<std::string>& name) { return name ? use(*name) : Status(); };
  if (const auto* tensor = std::get_if<TensorArg>(&arg)) return use(tensor->name);
  if (const auto* tensors = std::get_if<TensorsArg>(&arg)) return each(tensors->names, use);
  if (const auto* optionals = std::get_if<OptionalTensorsArg>(&arg)) return each(optionals->names, optional_name);
  if (const auto* lists = std::get_if<NestedTensorsArg>(&arg)) {
    return each(lists->names, [&](const std::vector<std::string>& names) { return each(names, use); });
  }
  if (const auto* sym = std::get_if<SymIntArg>(&arg)) return one_sym(*sym);
  if (const auto* sym = std::get_if<SymFloatArg>(&arg)) return one_sym(*sym);
  if (const auto* sym = std::get_if<SymBoolArg>(&arg)) return one_sym(*sym);
  if (const auto* syms = std::get_if<SymIntsArg>(&arg)) return each(syms->items, one_sym);
  if (const auto* syms = std::get_if<SymFloatsArg>(&arg)) return each(syms->items, one_sym);
  if (const auto* syms = std::get_if<SymBoolsArg>(&arg)) return each(syms->items, one_sym);
  if (const auto* object = std::get_if<CustomObjArg>(&arg)) return use(object->object->name);
  if (const auto* graph = std::get_if<GraphArg>(&arg)) return nested(*graph->graph);
  if (const auto* dict = std::get_if<std::shared_ptr<const DictArg>>(&arg)) {
    for (const auto& [key, value] : (*dict)->items) RETURN_IF_ERROR(visit(value, use, nested));
  }
  return {};
}

Status no_graph(const Graph&) { return corrupt("a graph stands where a value is defined"); }

// Checks one graph and, through `visit`, the graphs inside.
class GraphChecker {
 public:
  GraphChecker(const Graph& graph, const ExportedProgram& program) : graph_(graph), program_(program) {}

  Status check() {
    const auto define = [this](const std::string& name) { return this->define(name); };
    const auto use = [this](const std::string& name) { return this->use(name); };
    const auto nested = [this](const Graph& inner) { return GraphChecker(inner, program_).check(); };
    for (const Argument& input : graph_.inputs) RETURN_IF_ERROR(visit(input, define, no_graph));
    for (const Node& node : graph_.nodes) {
      Status status;
      for (const NamedArgument& input : node.inputs) {
        if (status.ok()) status = visit(input.arg, use, nested);
      }
      for (const Argument& output : node.outputs) {
        if (status.ok()) status = visit(output, define, no_graph);
      }
      if (!status.ok())
        return std::move(status.diag()).in({"", node.origin.module_path, node.origin.source(), node.name});
    }
    for (const Argument& output : graph_.outputs) RETURN_IF_ERROR(visit(output, use, nested));
    return {};
  }

 private:
  Status define(const std::string& name) {
    const bool has_meta = graph_.tensor_values.count(name) || graph_.sym_int_values.count(name) ||
                          graph_.sym_bool_values.count(name) || graph_.sym_float_values.count(name) ||
                          graph_.custom_obj_values.count(name);
    if (!has_meta) return corrupt(fmt::format("value {} has no type in the graph's tables", in_quotes(name)));
    if (!defined_.insert(name).second) return corrupt(fmt::format("value {} is defined twice", in_quotes(name)));
    return {};
  }
  Status use(const std::string& name) const {
    if (defined_.count(name) || program_.constants.count(name)) return {};
    return corrupt(fmt::format("value {} is used before it is defined", in_quotes(name)));
  }

  const Graph& graph_;
  const ExportedProgram& program_;
  std::unordered_set<std::string_view> defined_;  // views of the graph's own strings
};

const char* kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::user_input: return "user input";
    case InputKind::constant_input: return "constant input";
    case InputKind::parameter: return "parameter";
    case InputKind::buffer: return "buffer";
    case InputKind::tensor_constant: return "tensor constant";
    case InputKind::custom_obj: return "custom object";
    case InputKind::token: return "token";
  }
  return "?";
}

// Sizes and dtype of a placeholder and of the data behind it must be equal.
Status check_same_type(const ExportedProgram& program, const InputSpec& spec, const Payload& payload) {
  const std::string& name = std::get<TensorArg>(spec.arg).name;
  const auto found = program.graph.tensor_values.find(name);
  if (found == program.graph.tensor_values.end())
    return corrupt(fmt::format("value {} is not a tensor", in_quotes(name)));
  const TensorMeta& meta = found->second;
  bool same = meta.dtype == payload.dtype && meta.sizes.size() == payload.sizes.size();
  for (size_t i = 0; same && i < meta.sizes.size(); ++i) {
    same = meta.sizes[i].is_literal() && meta.sizes[i].value == payload.sizes[i];
  }
  if (same) return {};
  return corrupt(fmt::format("{} {} has a different shape or dtype in the graph than in its data", kind_name(spec.kind),
                             in_quotes(spec.target)));
}

Status check_data(const ExportedProgram& program, const InputSpec& spec) {
  const bool in_weights = spec.kind == InputKind::parameter || (spec.kind == InputKind::buffer && spec.persistent);
  const Map<Payload>& config = in_weights ? program.weights : program.constants;
  const std::string what = fmt::format("{} {}", kind_name(spec.kind), in_quotes(spec.target));
  const auto found = config.find(spec.target);
  if (found == config.end()) {
    return corrupt(fmt::format("{} has no entry in the {} config", what, in_weights ? "weights" : "constants"));
  }
  const Payload& payload = found->second;
  if (payload.kind == Payload::Kind::subclass && !payload.subclass) {
    return Diag(Code::unsupported_model, fmt::format("{} is a tensor subclass that Wick does not read", what))
        .note(payload.refusal)
        .with_help("save ep.run_decompositions({}), which replaces subclasses by plain tensors, or use plain tensors");
  }
  const bool wants_object = spec.kind == InputKind::custom_obj;
  if (wants_object != (payload.kind == Payload::Kind::object))
    return corrupt(fmt::format("{} has data of a different kind", what));
  if (wants_object) return {};
  const bool wants_param = spec.kind == InputKind::parameter;
  if (spec.kind != InputKind::tensor_constant && wants_param != payload.is_param) {
    return corrupt(fmt::format("{} is {}a parameter in its config", what, payload.is_param ? "" : "not "));
  }
  return check_same_type(program, spec, payload);
}

// The one value a spec or graph input names, "" for literals and lists. A view of `arg`.
std::string_view single_name(const Argument& arg) {
  if (const auto* tensor = std::get_if<TensorArg>(&arg)) return tensor->name;
  if (const auto* sym = std::get_if<SymIntArg>(&arg)) return sym->name;
  if (const auto* sym = std::get_if<SymFloatArg>(&arg)) return sym->name;
  if (const auto* sym = std::get_if<SymBoolArg>(&arg)) return sym->name;
  if (const auto* object = std::get_if<CustomObjArg>(&arg)) return object->object->name;
  return {};
}

Status check_inputs(const ExportedProgram& program) {
  if (program.input_specs.size() != program.graph.inputs.size()) {
    return corrupt(fmt::format("the signature has {} inputs, the graph {}", program.input_specs.size(),
                               program.graph.inputs.size()));
  }
  for (size_t i = 0; i < program.input_specs.size(); ++i) {
    const InputSpec& spec = program.input_specs[i];
    const std::string_view name = single_name(spec.arg);  // "" for constant inputs
    const std::string_view wanted = single_name(program.graph.inputs[i]);
    if (name != wanted) {
      return corrupt(
          fmt::format("input {} is {} in the signature and {} in the graph", i, in_quotes(name), in_quotes(wanted)));
    }
    const bool has_data =
        spec.kind != InputKind::user_input && spec.kind != InputKind::constant_input && spec.kind != InputKind::token;
    if (has_data) RETURN_IF_ERROR(check_data(program, spec));
  }
  return {};
}

// Mutations must write to something the program has.
Status check_outputs(const ExportedProgram& program) {
  if (program.output_specs.size() != program.graph.outputs.size()) {
    return corrupt(fmt::format("the signature has {} outputs, the graph {}", program.output_specs.size(),
                               program.graph.outputs.size()));
  }
  std::unordered_set<std::string_view> buffers, parameters, inputs;
  for (const InputSpec& spec : program.input_specs) {
    if (spec.kind == InputKind::buffer) buffers.insert(spec.target);
    if (spec.kind == InputKind::parameter) parameters.insert(spec.target);
    if (spec.kind == InputKind::user_input) inputs.insert(single_name(spec.arg));
  }
  for (size_t i = 0; i < program.output_specs.size(); ++i) {
    const OutputSpec& spec = program.output_specs[i];
    if (single_name(spec.arg) != single_name(program.graph.outputs[i])) {
      return corrupt(fmt::format("output {} differs between the signature and the graph", i));
    }
    const bool known = (spec.kind != OutputKind::buffer_mutation || buffers.count(spec.target)) &&
                       (spec.kind != OutputKind::parameter_mutation || parameters.count(spec.target)) &&
                       (spec.kind != OutputKind::user_input_mutation || inputs.count(spec.target));
    if (!known)
      return corrupt(fmt::format("output {} writes to {}, which the program does not have", i, in_quotes(spec.target)));
  }
  return {};
}

}  // namespace

Status check_program(const ExportedProgram& program) {
  RETURN_IF_ERROR(GraphChecker(program.graph, program).check());
  RETURN_IF_ERROR(check_inputs(program));
  RETURN_IF_ERROR(check_outputs(program));
  for (const auto& [name, range] : program.range_constraints) {
    if (range.min && range.max && *range.min > *range.max) {
      return corrupt(fmt::format("the range of {} is empty: {} to {}", in_quotes(name), *range.min, *range.max));
    }
  }
  return {};
}

}  // namespace wick::compiler::pt2
