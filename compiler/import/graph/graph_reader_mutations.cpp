// Imports operators that write some of their arguments: as the model calls them, and as run_decompositions() wraps
// them.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr std::string_view kPrefix = "torch.ops.";

const pt2::Argument* find_input(const pt2::Node& node, std::string_view name) {
  for (const pt2::NamedArgument& input : node.inputs) {
    if (input.name == name) return &input.arg;
  }
  return nullptr;
}

// The tensor that the node names for argument `index` of the schema; "" if there is none.
std::string tensor_name(const pt2::Node& node, const OpDef& def, size_t index) {
  const pt2::Argument* found = find_input(node, def.parsed->args[index].name);
  if (!found && index < node.inputs.size() && node.inputs[index].name.empty()) found = &node.inputs[index].arg;
  const auto* tensor = found ? std::get_if<pt2::TensorArg>(found) : nullptr;
  return tensor ? tensor->name : "";
}

}  // namespace

// Imports an operator whose last results are the new contents of the arguments that it writes.
void GraphReader::read_mutating(const pt2::Node& node, const OpDef& def) {
  const Schema& schema = *def.parsed;
  const std::vector<std::string> names = output_names(node);
  if (names.size() != schema.own_returns())
    fail(Code::corrupt_file,
         fmt::format("{} has {} results, the file names {}", def.name(), schema.own_returns(), names.size()));
  std::vector<RefPtr> targets;
  for (size_t index : schema.mutated) {
    const std::string name = tensor_name(node, def, index);
    RefPtr ref = name.empty() ? nullptr : binding(name).ref;
    if (!ref) fail(Code::corrupt_file, fmt::format("{} writes something that is not a tensor", def.name()));
    for (const RefPtr& other : targets) {
      if (other->storage == ref->storage)
        fail(Diag(Code::unsupported_model, fmt::format("{} writes two of its arguments to the same memory", def.name()))
                 .with_help("give it separate tensors"));
    }
    targets.push_back(std::move(ref));
  }
  Node* made = make_node(node, def, arguments(node, def), schema.returns.size());
  infer(node, made, names);
  for (size_t i = 0; i < targets.size(); ++i) {
    Value* value = made->result(schema.own_returns() + i);
    const Arg& arg = made->arg(schema.mutated[i]);
    const Value* before = read(*targets[i], builder_);
    if (!arg.is<Value*>() || arg.as<Value*>() != before)
      fail(Code::corrupt_file, fmt::format("{} names an argument twice", def.name()));
    if (!(value->type == before->type))
      fail(Diag(Code::internal, fmt::format("{} changes the type of an argument", def.name()))
               .expected(to_text(value->type), to_text(before->type)));
    write(*targets[i], value, builder_);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    Value* own = made->result(i);
    if (def.has(kNoResult)) own = builder_.full(own->sizes(), 0, own->dtype());  // has no defined contents
    bind(names[i], {fresh_ref(own), std::nullopt, nullptr});
  }
}

// Norms in training mode blend the statistics of the batch into the running ones that they are given, whether or not
// their schema marks these as written. `def.functional` names the operator that returns the new values after its own
// results.
bool GraphReader::read_updating(const pt2::Node& node, const OpDef& def) {
  if (!def.functional || def.has(kInPlace)) return false;
  const Schema& schema = *def.parsed;
  Args args = arguments(node, def);
  for (const char* flag : {"training", "use_input_stats"}) {
    const int at = schema.find(flag);
    if (at < 0) continue;
    const Arg& trains = args[static_cast<size_t>(at)];
    if (!trains.is<bool>() || !trains.as<bool>()) return false;
  }
  std::vector<std::pair<size_t, RefPtr>> running;
  for (const char* name : {"running_mean", "running_var"}) {
    const auto index = static_cast<size_t>(schema.find(name));
    const std::string tensor = tensor_name(node, def, index);
    running.emplace_back(index, tensor.empty() ? nullptr : binding(tensor).ref);
    if (args[index].is<Value*>() && !running.back().second)
      fail(Code::corrupt_file, fmt::format("{} writes something that is not a tensor", def.name()));
  }
  const auto &mean = running[0], &var = running[1];
  if (!mean.second && !var.second) return false;
  if (mean.second && var.second && mean.second->storage == var.second->storage)
    fail(Diag(Code::unsupported_model, fmt::format("{} writes two of its arguments to the same memory", def.name()))
             .with_help("give it separate tensors"));
  const std::vector<std::string> names = output_names(node);
  if (names.size() != schema.returns.size())
    fail(Code::corrupt_file,
         fmt::format("{} has {} results, the file names {}", def.name(), schema.returns.size(), names.size()));
  if (autocast_) cast_operands(names[0], def, args);
  // If only one of the two is given, zeros stand in for the other, whose new value is never read.
  const Value* given = args[(mean.second ? mean : var).first].as<Value*>();
  for (const auto& [index, ref] : running) {
    if (!ref) args[index] = builder_.full(given->sizes(), 0, given->dtype());
  }
  const OpDef& functional = op(def.functional);
  Args taken;
  for (const ArgSpec& spec : functional.parsed->args)
    taken.push_back(args[static_cast<size_t>(schema.find(spec.name))]);
  const size_t results = functional.parsed->returns.size();
  Node* made = make_node(node, functional, std::move(taken), results);
  infer(node, made, names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) bind(names[i], {fresh_ref(made->result(i)), std::nullopt, nullptr});
  }
  for (size_t i = 0; i < 2; ++i) {
    if (running[i].second) write(*running[i].second, made->result(results - 2 + i), builder_);
  }
  return true;
}

// The name that stands for argument `argument` of a wrapped operator: the base itself, or a view of it.
Binding GraphReader::mutated_view(const pt2::Node& node, const std::string& argument,
                                  const std::vector<RefPtr>& bases) {
  const auto find = [&](const char* suffix) { return find_input(node, fmt::format("_{}_{}", argument, suffix)); };
  const pt2::Argument* index = find("base_index");
  const auto* number = index ? std::get_if<int64_t>(index) : nullptr;
  if (!number || *number < 0 || static_cast<size_t>(*number) >= bases.size())
    fail(Code::corrupt_file, fmt::format("'{}' has no base among those of the node", argument));
  const RefPtr& base = bases[static_cast<size_t>(*number)];
  Value* value = read(*base, builder_);
  if (const pt2::Argument* dim = find("slice_dim")) {
    const auto* start = find("slice_start");
    const auto* end = find("slice_end");
    const Sym at = integer(*dim);
    if (!start || !end || !at.is_const()) fail(Code::corrupt_file, "a slice without its dimension and bounds");
    return {view_ref(*base, value, builder_.slice(value, at.value(), integer(*start), integer(*end))), std::nullopt,
            nullptr};
  }
  if (find("size"))
    fail(Diag(Code::unsupported_model, fmt::format("the written argument '{}' is a strided view", argument))
             .with_help("save the program before run_decompositions(), which keeps the view itself"));
  return {base, std::nullopt, nullptr};
}

// with_effects(token, op, arguments of op..) -> (token, results of op). Tokens keep effects in order; here the order of
// the nodes does.
void GraphReader::read_effect(const pt2::Node& node) {
  const auto* wrapped = node.inputs.size() < 2 ? nullptr : std::get_if<pt2::OperatorArg>(&node.inputs[1].arg);
  if (!wrapped || node.outputs.empty()) fail(Code::corrupt_file, "with_effects names no operator");
  pt2::Node plain = node;
  plain.target = wrapped->name;
  plain.inputs.erase(plain.inputs.begin(), plain.inputs.begin() + 2);
  plain.outputs.erase(plain.outputs.begin());
  if (plain.outputs.size() == 1 && std::holds_alternative<pt2::NoneArg>(plain.outputs[0])) plain.outputs.clear();
  read_node(plain);
}

// auto_functionalized_v2(op, arguments that are not written.., _X_base_index for each written argument X, _all_bases)
// -> (results of op, new bases). In the first version the written arguments stand among the others, and their new
// values are returned in the same order.
void GraphReader::read_auto_functionalized(const pt2::Node& node) {
  const auto* wrapped = node.inputs.empty() ? nullptr : std::get_if<pt2::OperatorArg>(&node.inputs[0].arg);
  if (!wrapped) fail(Code::corrupt_file, "auto_functionalized names no operator");
  const std::string_view name =
      std::string_view(wrapped->name).substr(wrapped->name.rfind(kPrefix, 0) == 0 ? kPrefix.size() : 0);
  const OpDef* def = find_op(name);
  if (!def || !def->has(kMutates | kInPlace))
    fail(Diag(Code::unsupported_op,
              fmt::format("the operator {} is unknown as one that writes its arguments", printable(name)))
             .with_help("write the operator with ATen ones"));
  // Each base gets memory of its own, so that its old value stays unchanged.
  std::vector<RefPtr> bases;
  const auto own = [&](const std::string& tensor) {
    bases.push_back(fresh_ref(tensor_value(tensor)));
    return bases.back();
  };
  const auto* all =
      find_input(node, "_all_bases") ? std::get_if<pt2::TensorsArg>(find_input(node, "_all_bases")) : nullptr;
  for (size_t i = 0; all && i < all->names.size(); ++i) own(all->names[i]);
  pt2::Node plain = node;
  plain.target = std::string(kPrefix) + std::string(name);
  std::erase_if(plain.inputs, [&](const pt2::NamedArgument& input) { return def->parsed->find(input.name) < 0; });
  for (size_t index = 0; index < def->parsed->args.size(); ++index) {
    if (!def->parsed->args[index].mutated) continue;
    const std::string& argument = def->parsed->args[index].name;
    const std::string alias = fmt::format("{}.{}", node.name.empty() ? std::string(name) : node.name, argument);
    const std::string given = tensor_name(plain, *def, index);
    bind(alias, all ? mutated_view(node, argument, bases) : Binding{own(given), std::nullopt, nullptr});
    std::erase_if(plain.inputs, [&](const pt2::NamedArgument& input) { return input.name == argument; });
    plain.inputs.push_back({argument, pt2::TensorArg{alias}, pt2::ArgumentKind::keyword});
  }
  // An in-place operator is wrapped only if it returns nothing; the node has a None for that.
  const size_t own_results = def->has(kInPlace) ? 1 : def->parsed->own_returns();
  const std::vector<std::string> names = output_names(node);
  if (names.size() != own_results + bases.size())
    fail(Code::corrupt_file,
         fmt::format("{} has {} results, the file names {}", node.target, own_results + bases.size(), names.size()));
  plain.outputs.resize(own_results);
  read_operator(plain, *def);
  for (size_t i = 0; i < bases.size(); ++i) {
    if (!names[own_results + i].empty())
      bind(names[own_results + i], {fresh_ref(read(*bases[i], builder_)), std::nullopt, nullptr});
  }
}

}  // namespace wick::compiler
