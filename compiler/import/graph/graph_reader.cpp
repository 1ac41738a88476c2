#include "compiler/import/graph/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/decompose.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/text/text.h"
#include "compiler/ops/limits/unknown_ops.h"
#include "compiler/support/failure.h"
#include "wick/tensor.h"

namespace wick::compiler {

std::string_view op_name(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  return target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : target;
}

namespace {

// A tensor inside a tensor subclass, by the name of its attribute.
constexpr std::string_view kInnerTensor = "export.access_subclass_inner_tensor.default";

// Wrappers and scalar arithmetic that the reader handles itself, without an OpDef.
bool is_built_in(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "higher_order.wrap_with_set_grad_enabled",
      "higher_order.wrap_with_autocast",
      "higher_order.invoke_subgraph",
      "higher_order.cond",
      "higher_order.map_impl",
      "higher_order.scan",
      "higher_order.while_loop",
      "higher_order.auto_functionalized",
      "higher_order.auto_functionalized_v2",
      "higher_order.with_effects",
      "higher_order.out_dtype",
      kInnerTensor,
  };
  return name.starts_with("_operator.") || name.starts_with("torch.sym_") || name.starts_with("torch._sym_") ||
         name.starts_with("math.") || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// "aten.add.out" computes what "aten.add.Tensor" does and writes it into the argument `out`: the operator that computes
// it, or null.
const OpDef* find_out_op(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string stem(name.substr(0, dot + 1));
  std::string_view overload = name.substr(dot + 1);
  const OpDef* found = nullptr;
  if (overload == "out") {
    found = find_op(stem + "default");
    if (!found) found = find_op(stem + "Tensor");
  } else if (overload.ends_with("_out")) {
    found = find_op(stem + std::string(overload.substr(0, overload.size() - 4)));
  }
  const bool fits = found && !found->has(kInPlace) && !found->has(kView | kStorage) &&
                    found->parsed->returns.size() == 1 && found->parsed->returns[0] == ReturnType::tensor;
  return fits ? found : nullptr;
}

}  // namespace

void MissingOps::add(std::string_view target, const pt2::Origin& origin) {
  Use& use = uses[std::string(target)];
  ++use.count;
  const std::string source = origin.source();
  if (!source.empty() && use.sources.size() < 3 &&
      std::find(use.sources.begin(), use.sources.end(), source) == use.sources.end()) {
    use.sources.push_back(source);
  }
}

Status MissingOps::status() const {
  if (uses.empty()) return {};
  Diag diag(Code::unsupported_op,
            uses.size() == 1 ? "the model uses an operator that Wick does not know"
                             : fmt::format("the model uses {} operators that Wick does not know", uses.size()));
  for (const auto& [name, use] : uses) {
    diag.notes.push_back(fmt::format("{} ({} {}){}{}", printable(name), use.count, use.count == 1 ? "node" : "nodes",
                                     use.sources.empty() ? "" : ", at ", fmt::join(use.sources, ", ")));
  }
  diag.help = "export the program after run_decompositions(), or write the operator with ATen ones";
  for (const auto& [name, use] : uses) {
    if (const char* help = way_out(name)) diag.help = help;
  }
  return diag;
}

// Operators that only the compiler writes.
bool is_internal(std::string_view name) {
  const OpDef* def = find_op(name);
  return name == kCallDelegate || name == kCallStatefulDelegate || (def && def->has(kScratch));
}

void find_missing(const pt2::Graph& graph, MissingOps& missing) {
  for (const pt2::Node& node : graph.nodes) {
    const std::string_view name = op_name(node.target);
    if (is_internal(name) || (!is_built_in(name) && !find_op(name) && !find_out_op(name)))
      missing.add(name, node.origin);
    for (const pt2::NamedArgument& input : node.inputs) {
      if (const auto* inner = std::get_if<pt2::OperatorArg>(&input.arg)) {
        if (!find_op(op_name(inner->name))) missing.add(op_name(inner->name), node.origin);
      }
      if (const auto* nested = std::get_if<pt2::GraphArg>(&input.arg)) find_missing(*nested->graph, missing);
    }
  }
}

GraphReader::GraphReader(const pt2::Graph& source, Graph& graph, Scope scope)
    : source_(source), graph_(graph), scope_(std::move(scope)), builder_(graph, nullptr) {
  for (const auto& [name, binding] : scope_) place(name, binding);
}

OriginPtr GraphReader::origin_of(const pt2::Node& node) {
  auto origin = std::make_shared<Origin>();
  origin->module = node.origin.module_path;
  origin->source = node.origin.source();
  origin->code = node.origin.code;
  origin->node = node.name;
  return origin;
}

Sym GraphReader::to_sym(const pt2::SymInt& sym) {
  return sym.is_literal() ? Sym(sym.value) : value_or_throw(parse_srepr(sym.expr->text));
}

TensorType GraphReader::tensor_type(const pt2::TensorMeta& meta) {
  if (meta.layout != pt2::Layout::strided && meta.layout != pt2::Layout::unknown) {
    fail(Diag(Code::unsupported_model, "a sparse tensor in the graph").with_help("call to_dense() in the model"));
  }
  if (meta.sizes.size() > kMaxRank) {
    fail(Diag(Code::limit, "a tensor has too many dimensions")
             .expected(fmt::format("{} dimensions", meta.sizes.size()), fmt::format("at most {}", kMaxRank))
             .with_help("the runtime has no larger tensors: view() it with fewer dimensions"));
  }
  TensorType type{meta.dtype, {}, {}};
  for (const pt2::SymInt& size : meta.sizes) {
    type.sizes.push_back(to_sym(size));
    if (type.sizes.back().is_const() && type.sizes.back().value() < 0)
      fail(Code::corrupt_file, "a size of a tensor is negative");
  }
  return type;
}

const Binding& GraphReader::any_binding(std::string_view name) const {
  auto it = scope_.find(name);
  if (it == scope_.end())
    fail(Code::corrupt_file, fmt::format("the value '{}' is used before it is defined", printable(name)));
  return it->second;
}

const Binding& GraphReader::binding(std::string_view name) const {
  const Binding& bound = any_binding(name);
  if (!bound.subclass) return bound;
  fail(Diag(Code::unsupported_model, fmt::format("'{}', a tensor subclass {}, is used as a plain tensor",
                                                 printable(bound.subclass->fqn), bound.subclass->type->class_name))
           .with_help("save ep.run_decompositions({}), which replaces subclasses by plain tensors"));
}

Value* GraphReader::tensor_value(std::string_view name) {
  const Binding& bound = binding(name);
  if (!bound.ref) fail(Code::unsupported_model, fmt::format("'{}' is not a tensor here", printable(name)));
  return read(*bound.ref, builder_);
}

void GraphReader::read_inner_tensor(const pt2::Node& node) {
  const auto* outer = node.inputs.empty() ? nullptr : std::get_if<pt2::TensorArg>(&node.inputs[0].arg);
  const auto* attribute = node.inputs.size() < 2 ? nullptr : std::get_if<std::string>(&node.inputs[1].arg);
  const std::vector<std::string> names = output_names(node);
  if (!outer || !attribute || names.size() != 1 || !any_binding(outer->name).subclass)
    fail(Code::corrupt_file, "a tensor is taken out of something that is not a tensor subclass");
  const SubclassValue& subclass = *any_binding(outer->name).subclass;
  const auto inner = subclass.inner.find(*attribute);
  if (inner == subclass.inner.end())
    fail(Code::corrupt_file, fmt::format("'{}' holds no tensor '{}'", printable(subclass.fqn), printable(*attribute)));
  const auto recorded = source_.tensor_values.find(names[0]);
  if (recorded != source_.tensor_values.end()) {
    const TensorType wanted = tensor_type(recorded->second);
    const bool same = inner->second.ref ? read(*inner->second.ref, builder_)->tensor() == wanted : true;
    if (!same) fail(Code::corrupt_file, fmt::format("the file records a different type for '{}'", printable(names[0])));
  }
  bind(names[0], inner->second);
}

void GraphReader::read_nodes() {
  for (const pt2::Node& node : source_.nodes) {
    const OriginPtr origin = origin_of(node);
    builder_.set_origin(origin);
    try {
      read_node(node);
    } catch (Failure& failure) {
      Where& where = failure.diag.where;
      if (where.module.empty()) where.module = origin->module;
      if (where.source.empty()) where.source = origin->source;
      if (where.node.empty()) where.node = std::string(op_name(node.target));
      throw;
    }
  }
}

void GraphReader::read_node(const pt2::Node& node) {
  const std::string_view name = op_name(node.target);
  if (name == "higher_order.wrap_with_set_grad_enabled") return read_wrapped(node, 1, 2, autocast_);
  if (name == "higher_order.invoke_subgraph") return read_wrapped(node, 0, 2, autocast_);
  if (name == "higher_order.wrap_with_autocast") return read_wrapped(node, 4, 5, autocast_region(node));
  if (name.starts_with("higher_order.auto_functionalized")) return read_auto_functionalized(node);
  if (name == "higher_order.with_effects") return read_effect(node);
  if (name == "higher_order.out_dtype") return read_out_dtype(node);
  if (name.starts_with("higher_order.")) return read_control_flow(node);
  if (name == kInnerTensor) return read_inner_tensor(node);
  if (read_scalar_node(node)) return;
  const OpDef* def = find_op(name);
  if (!def) {
    if (const OpDef* functional = find_out_op(name)) return read_into_out(node, *functional);
    fail(Code::unsupported_op, fmt::format("the operator {} is unknown", printable(name)));
  }
  if (read_updating(node, *def)) return;
  read_operator(node, *def);
}

std::vector<std::string> GraphReader::output_names(const pt2::Node& node) const {
  std::vector<std::string> names;
  for (const pt2::Argument& output : node.outputs) {
    if (const auto* tensor = std::get_if<pt2::TensorArg>(&output)) {
      names.push_back(tensor->name);
    } else if (const auto* tensors = std::get_if<pt2::TensorsArg>(&output)) {
      names.insert(names.end(), tensors->names.begin(), tensors->names.end());
    } else if (const auto* optional = std::get_if<pt2::OptionalTensorsArg>(&output)) {
      for (const auto& item : optional->names) names.push_back(item.value_or(""));
    } else if (std::holds_alternative<pt2::NoneArg>(output)) {
      names.emplace_back();
    } else if (const auto* sym = std::get_if<pt2::SymIntArg>(&output)) {
      names.push_back(sym->name);
    } else {
      fail(Code::unsupported_model, fmt::format("{} returns something that is not a tensor", printable(node.target)));
    }
  }
  return names;
}

Node* GraphReader::make_node(const pt2::Node& node, const OpDef& def, Args args, size_t results) {
  const std::string stem = results == 1 && !output_names(node).empty() ? output_names(node)[0] : node.name;
  Node* made = graph_.add_node(def, std::move(args), results, nullptr, stem);
  made->origin = builder_.origin();
  return made;
}

// Sets result types: infers them from the operator and checks them against the recorded ones.
void GraphReader::infer(const pt2::Node& node, Node* made, const std::vector<std::string>& names) {
  std::vector<std::optional<TensorType>> recorded(made->results().size());
  for (size_t i = 0; i < recorded.size() && i < names.size(); ++i) {
    auto it = source_.tensor_values.find(names[i]);
    if (it != source_.tensor_values.end()) recorded[i] = tensor_type(it->second);
    if (recorded[i]) made->result(i)->type = Type::of(*recorded[i]);
  }
  if (!made->op->infer) return;  // a composite: checked when it is decomposed
  made->op->infer(*made);
  for (size_t i = 0; i < recorded.size(); ++i) {
    if (!recorded[i] || !made->result(i)->type.is_tensor()) continue;
    const TensorType& inferred = made->result(i)->tensor();
    // For the statistics that a norm returns beside its result, files may record another precision than eager's: f16,
    // the dtype of the input, where the weights are f32. The inferred dtype, which is eager's, stays.
    const bool is_statistic = i > 0 && is_floating(inferred.dtype) && is_floating(recorded[i]->dtype);
    bool agrees = (inferred.dtype == recorded[i]->dtype || is_statistic) && inferred.rank() == recorded[i]->rank();
    for (size_t d = 0; agrees && d < inferred.rank(); ++d) {
      const Sym &a = inferred.sizes[d], &b = recorded[i]->sizes[d];
      agrees = !(a.is_const() && b.is_const()) || a == b;
      // Prefer the recorded size where the file names a data-dependent size or has a simpler expression.
      if (agrees && !(a == b) && (b.is_const() || !a.is_const()) && !differs_at_small_sizes(b, a))
        made->result(i)->type.tensor.sizes[d] = b;
    }
    if (agrees) continue;
    fail(Diag(Code::corrupt_file,
              fmt::format("the file records a different type for the result '{}'", printable(names[i])))
             .expected(to_text(Type::of(*recorded[i])), to_text(Type::of(inferred)))
             .with_help("if torch wrote this file unchanged, please report it"));
  }
}

namespace {

// Does the schema say that this operator may return its first argument itself, or a view of it?
bool may_alias(const OpDef& def) {
  return !def.parsed->args.empty() && def.parsed->args[0].aliased && !def.parsed->returns.empty();
}

}  // namespace

void GraphReader::read_operator(const pt2::Node& node, const OpDef& def) {
  const std::vector<std::string> names = output_names(node);
  if (def.has(kInPlace)) {
    Args args = arguments(node, def);
    args.resize(std::min(args.size(), op(def.functional).parsed->args.size()));
    const OpDef& functional = *without_complex_numbers(&op(def.functional), args);
    if (functional.has(kStorage)) return read_strided(node, functional, std::move(args));
    Node* made = make_node(node, functional, std::move(args), functional.parsed->returns.size());
    if (!may_alias(functional)) return read_in_place(node, def, made);
    // transpose_ and similar operators change no element: later nodes name the result, and other names keep their own
    // sizes.
    infer(node, made, names);
    return bind_results(node, made, names);
  }
  if (def.has(kMutates)) return read_mutating(node, def);
  Args args = arguments(node, def);
  if (autocast_ && !names.empty() && !may_alias(def)) cast_operands(names[0], def, args);
  // A list of tensors is as long as the file says; every other result has one name.
  const std::vector<ReturnType>& returns = def.parsed->returns;
  const bool list = returns.size() == 1 && returns[0] == ReturnType::tensor_list;
  if (names.size() < returns.size() && !list)
    fail(Code::corrupt_file,
         fmt::format("{} has {} results, the file names {}", def.name(), returns.size(), names.size()));
  if (def.has(kStorage)) return read_strided(node, def, std::move(args));
  const OpDef& taken = *without_complex_numbers(&def, args);
  Node* made = make_node(node, taken, std::move(args), names.size());
  infer(node, made, names);
  bind_results(node, made, names);
}

// Eager's rule for writing into a tensor: a value never goes to a lower category of complex, floating, integral, bool.
static bool can_cast(DType from, DType to) {
  const auto category = [](DType dtype) {
    return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : dtype == DType::boolean ? 0 : 1;
  };
  return category(from) <= category(to);
}

// The tensor that an in-place operator writes: the one that its schema marks.
static std::string written_tensor_name(const pt2::Node& node, const OpDef& def) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int named = node.inputs[i].name.empty() ? static_cast<int>(i) : def.parsed->find(node.inputs[i].name);
    if (named < 0 || static_cast<size_t>(named) >= def.parsed->args.size()) continue;
    const auto* tensor = std::get_if<pt2::TensorArg>(&node.inputs[i].arg);
    if (tensor && def.parsed->args[static_cast<size_t>(named)].mutated) return tensor->name;
  }
  return "";
}

// `made` computes the new value of the tensor that the operator writes.
void GraphReader::read_in_place(const pt2::Node& node, const OpDef& def, Node* made) {
  const std::string target = written_tensor_name(node, def);
  if (target.empty() || !binding(target).ref)
    fail(Code::corrupt_file, fmt::format("{} writes something that is not a tensor", def.name()));
  RefPtr ref = binding(target).ref;
  Value* old_value = read(*ref, builder_);
  const bool infers = made->op->infer != nullptr;
  if (infers) made->op->infer(*made);
  Value* value = made->result(0);
  if (!infers) {
    // The new value has the type of the old one, or one that converts to it.
    value->type = old_value->type;
    if (made->op->decompose) {
      Node* node_to_expand = made;
      // The recorded dtype of a composite is unknown before its decomposition, so let it choose.
      value = decompose_untyped(graph_, node_to_expand);
    }
  }
  if (!is_static(value->sizes()) || !is_static(old_value->sizes()) || value->sizes() == old_value->sizes()) {
    if (value->rank() != old_value->rank()) value = builder_.expand(value, old_value->sizes());
  } else {
    value = builder_.expand(value, old_value->sizes());
  }
  if (!can_cast(value->dtype(), old_value->dtype())) {
    fail(Diag(Code::unsupported_model, fmt::format("{} would store {} values in a tensor of {}", def.name(),
                                                   dtype_name(value->dtype()), dtype_name(old_value->dtype())))
             .with_help("eager PyTorch refuses this too: convert the tensor before"));
  }
  value = builder_.cast(value, old_value->dtype());
  write(*ref, value, builder_);
  for (const std::string& name : output_names(node)) {
    if (!name.empty()) bind(name, {ref, std::nullopt, nullptr});
  }
}

// Imports an out variant: `functional` computes the value that the node writes into its argument `out`. The node's
// result becomes a name of the same tensor.
void GraphReader::read_into_out(const pt2::Node& node, const OpDef& functional) {
  if (functional.functional)
    fail(Diag(Code::unsupported_model, fmt::format("{} writes running statistics besides its `out`", node.target))
             .with_help("call the operator without out="));
  pt2::Node without = node;
  const auto is_out = [](const pt2::NamedArgument& input) { return input.name == "out"; };
  const auto out = std::find_if(without.inputs.begin(), without.inputs.end(), is_out);
  const auto* target = out == without.inputs.end() ? nullptr : std::get_if<pt2::TensorArg>(&out->arg);
  if (!target || !binding(target->name).ref)
    fail(Code::corrupt_file, fmt::format("{} has no tensor to write", printable(node.target)));
  const std::string name = target->name;
  without.inputs.erase(out);
  Node* made = make_node(without, functional, arguments(without, functional), 1);
  RefPtr ref = binding(name).ref;
  const Value* old_value = read(*ref, builder_);
  const DType dtype = old_value->dtype();
  const Sizes sizes = old_value->sizes();
  Value* value = made->result(0);
  if (functional.infer) {
    functional.infer(*made);
  } else {
    value->type = old_value->type;
    value = decompose_untyped(graph_, made);
  }
  bool same = value->dtype() == dtype && value->rank() == sizes.size();
  for (size_t i = 0; same && i < sizes.size(); ++i) same = value->sizes()[i] == sizes[i];
  if (!same) {
    fail(Diag(Code::unsupported_model, "an operator writes into a tensor `out` of a different type than its result")
             .expected(to_text(Type::of(dtype, sizes)), to_text(value->type))
             .with_help("give out= a tensor of the dtype and the sizes of the result"));
  }
  write(*ref, value, builder_);
  for (const std::string& result : output_names(node)) {
    if (!result.empty()) bind(result, {ref, std::nullopt, nullptr});
  }
}

GraphOutput GraphReader::output(const pt2::Argument& arg) {
  GraphOutput out;
  auto from_binding = [&](const std::string& name) {
    const Binding& bound = binding(name);
    if (bound.ref) {
      out.value = read(*bound.ref, builder_);
    } else if (bound.scalar) {
      out.value = bound.scalar;
    } else {
      out.kind = GraphOutput::Kind::integer;
      out.integer = *bound.integer;
    }
  };
  if (const auto* tensor = std::get_if<pt2::TensorArg>(&arg)) {
    from_binding(tensor->name);
  } else if (std::holds_alternative<pt2::NoneArg>(arg)) {
    out.kind = GraphOutput::Kind::none;
  } else if (const auto* integer = std::get_if<int64_t>(&arg)) {
    out.kind = GraphOutput::Kind::integer;
    out.integer = Sym(*integer);
  } else if (const auto* boolean = std::get_if<bool>(&arg)) {
    out.kind = GraphOutput::Kind::boolean;
    out.integer = Sym(*boolean);
  } else if (const auto* real = std::get_if<double>(&arg)) {
    out.kind = GraphOutput::Kind::real;
    out.real = *real;
  } else if (const auto* string = std::get_if<std::string>(&arg)) {
    out.kind = GraphOutput::Kind::string;
    out.string = *string;
  } else if (const auto* sym = std::get_if<pt2::SymIntArg>(&arg)) {
    if (!sym->is_literal()) {
      from_binding(sym->name);
    } else {
      out.kind = GraphOutput::Kind::integer;
      out.integer = Sym(sym->value);
    }
  } else if (const auto* sym_bool = std::get_if<pt2::SymBoolArg>(&arg)) {
    if (!sym_bool->is_literal() && !binding(sym_bool->name).integer) {
      from_binding(sym_bool->name);
    } else {
      out.kind = GraphOutput::Kind::boolean;
      out.integer = sym_bool->is_literal() ? Sym(sym_bool->value) : *binding(sym_bool->name).integer;
    }
  } else if (const auto* sym_float = std::get_if<pt2::SymFloatArg>(&arg)) {
    if (sym_float->is_literal()) {
      out.kind = GraphOutput::Kind::real;
      out.real = sym_float->value;
    } else {
      from_binding(sym_float->name);
    }
  } else {
    fail(Code::unsupported_model, "the program returns something that is neither a tensor nor a number");
  }
  return out;
}

}  // namespace wick::compiler
