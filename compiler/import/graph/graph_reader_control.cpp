// Imports operators that have sub-graphs or another operator as an argument.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/ir/text/text.h"
#include "compiler/ops/limits/autocast.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

const pt2::Graph& graph_argument(const pt2::Node& node, size_t index) {
  const auto* graph = index < node.inputs.size() ? std::get_if<pt2::GraphArg>(&node.inputs[index].arg) : nullptr;
  if (!graph) fail(Code::corrupt_file, fmt::format("{}: argument {} is not a graph", printable(node.target), index));
  return *graph->graph;
}

}  // namespace

// The dtype of a region of torch.autocast; nullopt if the region changes nothing.
std::optional<GraphReader::AutocastRegion> GraphReader::autocast_region(const pt2::Node& node) {
  if (node.inputs.size() < 5) return std::nullopt;
  const auto* device = std::get_if<std::string>(&node.inputs[0].arg);
  const auto* dtype = std::get_if<DType>(&node.inputs[1].arg);
  const bool* enabled = std::get_if<bool>(&node.inputs[2].arg);
  if (!enabled || !*enabled) return std::nullopt;
  const pt2::Graph& body = graph_argument(node, 4);
  const bool concerns_it = std::any_of(body.tensor_values.begin(), body.tensor_values.end(), [&](const auto& value) {
    return !device || value.second.device.type == *device;
  });
  if (!concerns_it) return std::nullopt;
  return AutocastRegion{dtype ? *dtype : DType::bf16, !device || *device == "cpu"};
}

// Inside an autocast region no node shows the casts: the operands are cast to the recorded dtype of the result. An
// export with strict=True records the dtypes of the model without autocast. It is refused at the first operator that
// autocast certainly casts.
void GraphReader::cast_operands(const std::string& result, const OpDef& def, Args& args) {
  const auto recorded = source_.tensor_values.find(result);
  if (recorded == source_.tensor_values.end() || !is_floating(recorded->second.dtype)) return;
  const DType dtype = recorded->second.dtype;
  const Autocast rule = autocast_of(def, args, autocast_->on_cpu);
  if (rule != Autocast::keeps && dtype != autocast_->dtype && dtype != DType::f64) {
    const std::string leave = "leave torch.autocast here (torch.autocast(.., enabled=False)), or cast the operands";
    const char* const wanted = rule == Autocast::lowers ? "{}, as eager computes it" : "some of its products in {}";
    fail(Diag(Code::unsupported_model, "the file does not say what torch.autocast casts here")
             .expected(fmt::format("{} of {}", def.name(), dtype_name(dtype)),
                       fmt::format(fmt::runtime(wanted), dtype_name(autocast_->dtype)))
             .with_help((rule == Autocast::lowers ? "export with strict=False; if it was, " : "") + leave));
  }
  const auto cast = [&](Value* value) {
    const bool concerns_it = value && value->type.is_tensor() && is_floating(value->dtype());
    return concerns_it && value->dtype() != DType::f64 ? builder_.cast(value, dtype) : value;
  };
  for (Arg& arg : args) {
    if (arg.is<Value*>()) {
      arg = cast(arg.as<Value*>());
    } else if (arg.is<Values>()) {
      Values values = arg.as<Values>();
      std::transform(values.begin(), values.end(), values.begin(), cast);
      arg = std::move(values);
    }
  }
}

// out_dtype(op, dtype, arguments of op..): promotes the operands together with `dtype`, applies op and casts the result
// to `dtype`.
void GraphReader::read_out_dtype(const pt2::Node& node) {
  const auto* wrapped = node.inputs.size() < 2 ? nullptr : std::get_if<pt2::OperatorArg>(&node.inputs[0].arg);
  const auto* dtype = wrapped ? std::get_if<DType>(&node.inputs[1].arg) : nullptr;
  const std::vector<std::string> names = output_names(node);
  if (!dtype || names.size() != 1)
    fail(Code::corrupt_file, "out_dtype does not name an operator, a dtype and a result");
  const OpDef* def = find_op(op_name(wrapped->name));
  const bool is_function = def && !def->has(kInPlace | kMutates | kView | kStorage) &&
                           def->parsed->returns.size() == 1 && def->parsed->returns[0] == ReturnType::tensor;
  if (!is_function) fail(Code::unsupported_op, fmt::format("out_dtype of {}", printable(wrapped->name)));
  pt2::Node plain = node;
  plain.inputs.erase(plain.inputs.begin(), plain.inputs.begin() + 2);
  Args args = arguments(plain, *def), promoted;
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgType type = def->parsed->args[i].type;
    if ((type == ArgType::tensor || type == ArgType::scalar) && !args[i].is<None>()) promoted.push_back(args[i]);
  }
  const DType common = promote(promoted, *dtype);
  for (Arg& arg : args) {
    if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor()) arg = builder_.cast(arg.as<Value*>(), common);
  }
  Value* result = builder_.cast(builder_.call(def->name(), std::move(args)), *dtype);
  bind(names[0], {fresh_ref(result), std::nullopt, nullptr});
}

// no_grad, autocast and friends: the body runs exactly once, with the caller's tensors themselves.
void GraphReader::read_wrapped(const pt2::Node& node, size_t graph_index, size_t first_operand,
                               std::optional<AutocastRegion> autocast) {
  const pt2::Graph& body = graph_argument(node, graph_index);
  if (node.inputs.size() - first_operand != body.inputs.size()) {
    fail(Code::corrupt_file, fmt::format("{} passes {} operands to a graph of {} inputs", printable(node.target),
                                         node.inputs.size() - first_operand, body.inputs.size()));
  }
  Scope scope;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const std::string inner = argument_name(body.inputs[i]), outer = argument_name(node.inputs[first_operand + i].arg);
    if (inner.empty()) continue;
    if (outer.empty())
      scope[inner] = {nullptr, integer(node.inputs[first_operand + i].arg), nullptr};
    else
      scope[inner] = any_binding(outer);
  }
  GraphReader reader(body, graph_, std::move(scope));
  reader.autocast_ = autocast;
  reader.read_nodes();
  const std::vector<std::string> names = [&] {
    std::vector<std::string> out;
    for (const pt2::Argument& arg : node.outputs) {
      if (const auto* tensors = std::get_if<pt2::TensorsArg>(&arg))
        out.insert(out.end(), tensors->names.begin(), tensors->names.end());
      else
        out.push_back(argument_name(arg));
    }
    return out;
  }();
  if (names.size() != body.outputs.size())
    fail(Code::corrupt_file,
         fmt::format("{} returns a different number of values than its graph", printable(node.target)));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string inner = argument_name(body.outputs[i]);
    if (!names[i].empty() && !inner.empty()) bind(names[i], reader.binding(inner));
  }
}

// A graph of its own whose inputs are the tensors among `operands`; numbers are bound to the caller's expressions.
std::unique_ptr<Graph> GraphReader::read_subgraph(const pt2::Graph& source, const Args& operands) {
  if (source.inputs.size() != operands.size()) {
    fail(Code::corrupt_file,
         fmt::format("a sub-graph of {} inputs is called with {} operands", source.inputs.size(), operands.size()));
  }
  auto graph = std::make_unique<Graph>();
  graph->ranges = graph_.ranges;
  Scope scope;
  std::vector<std::shared_ptr<VersionedStorage>> storages;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = argument_name(source.inputs[i]);
    if (name.empty()) continue;
    if (operands[i].is<Value*>()) {
      auto meta = source.tensor_values.find(name);
      Type type = operands[i].as<Value*>()->type;
      if (meta != source.tensor_values.end()) type = Type::of(tensor_type(meta->second));
      RefPtr ref = fresh_ref(graph->add_input(std::move(type), name));
      storages.push_back(ref->storage);
      scope[name] = {std::move(ref), std::nullopt, nullptr};
    } else if (operands[i].is<Sym>()) {
      scope[name] = {nullptr, operands[i].as<Sym>(), nullptr};
    } else {
      fail(Code::unsupported_model, "a sub-graph takes a float that is only known at run time");
    }
  }
  GraphReader reader(source, *graph, std::move(scope));
  reader.autocast_ = autocast_;
  reader.read_nodes();
  for (const pt2::Argument& arg : source.outputs) graph->add_output(reader.output(arg));
  for (const auto& storage : storages) {
    if (storage->version > 0)
      fail(Code::unsupported_model, "a branch or loop body writes to one of its operands in place");
  }
  return graph;
}

namespace {

Values tensors_of(const Args& operands) {
  Values values;
  for (const Arg& arg : operands) {
    if (arg.is<Value*>()) values.push_back(arg.as<Value*>());
  }
  return values;
}

Args concat(Args a, const Args& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

// The list of operands that a control flow node has as its argument `index`; empty if there is none.
Args GraphReader::operand_list(const pt2::Node& node, size_t index) {
  Args out;
  if (index >= node.inputs.size()) return out;
  const pt2::Argument& arg = node.inputs[index].arg;
  if (const auto* tensors = std::get_if<pt2::TensorsArg>(&arg)) {
    for (const std::string& item : tensors->names) out.push_back(scalar_argument(item));
  } else if (const auto* syms = std::get_if<pt2::SymIntsArg>(&arg)) {
    for (const pt2::SymIntArg& item : syms->items) out.push_back(integer(item));
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&arg)) {
    for (int64_t item : *ints) out.push_back(Sym(item));
  } else if (!std::holds_alternative<pt2::NoneArg>(arg)) {
    fail(Code::unsupported_model,
         fmt::format("{} takes operands of a kind that Wick does not read", printable(node.target)));
  }
  return out;
}

Args GraphReader::carried_tensors(const pt2::Node& node, size_t index) {
  Args operands = operand_list(node, index);
  for (const Arg& arg : operands) {
    if (!arg.is<Value*>())
      fail(Diag(Code::unsupported_model, fmt::format("{} carries a number", printable(node.target)))
               .with_help("carry a 0-d tensor instead"));
  }
  return operands;
}

GraphReader::ControlFlow GraphReader::control_flow(const pt2::Node& node, std::string_view name) {
  ControlFlow flow;
  const auto add_graph = [&](size_t index, const Args& operands) {
    flow.graphs.push_back(read_subgraph(graph_argument(node, index), operands));
  };
  if (name == "higher_order.cond") {
    const Args operands = operand_list(node, 3);
    const Arg predicate = node.inputs.empty() ? Arg() : number(node.inputs[0].arg);
    add_graph(1, operands);
    add_graph(2, operands);
    flow.args = {predicate, tensors_of(operands)};
  } else if (name == "higher_order.while_loop") {
    const Args carried = carried_tensors(node, 2), extra = operand_list(node, 3);
    add_graph(0, concat(carried, extra));
    add_graph(1, concat(carried, extra));
    flow.args = {tensors_of(carried), tensors_of(extra)};
  } else if (name == "higher_order.scan") {
    const Args init = carried_tensors(node, 1), xs = carried_tensors(node, 2), extra = operand_list(node, 3);
    add_graph(0, concat(concat(init, xs), extra));
    flow.args = {tensors_of(init), tensors_of(xs), tensors_of(extra)};
  } else if (name == "higher_order.map_impl") {
    const Args xs = carried_tensors(node, 1), extra = operand_list(node, 2);
    add_graph(0, concat(xs, extra));
    flow.args = {tensors_of(xs), tensors_of(extra)};
  } else {
    fail(Code::unsupported_op, fmt::format("the operator {} is unknown", printable(name)));
  }
  return flow;
}

void GraphReader::read_control_flow(const pt2::Node& node) {
  std::string_view name = node.target;
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  const OpDef* def = find_op(std::string(name) + ".default");
  if (!def) fail(Code::unsupported_op, fmt::format("the operator {} is unknown", printable(name)));
  ControlFlow flow = control_flow(node, name);
  const std::vector<std::string> names = output_names(node);
  Node* made = graph_.add_node(*def, std::move(flow.args), names.size(), nullptr, node.name);
  made->origin = builder_.origin();
  made->graphs = std::move(flow.graphs);
  infer(node, made, names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) bind(names[i], {fresh_ref(made->result(i)), std::nullopt, nullptr});
  }
}

}  // namespace wick::compiler
