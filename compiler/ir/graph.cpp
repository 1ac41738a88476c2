#include "compiler/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/ir/literal.h"
#include "compiler/support/failure.h"
#include "compiler/support/limits.h"

namespace wick::compiler {

Sym numel(const Sizes& sizes) {
  Sym product = 1;
  for (const Sym& size : sizes) product = product * size;
  return product;
}

bool is_static(const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const Sym& s) { return s.is_const(); });
}

std::optional<std::vector<int64_t>> static_sizes(const Sizes& sizes) {
  std::vector<int64_t> out;
  for (const Sym& size : sizes) {
    if (!size.is_const()) return std::nullopt;
    out.push_back(size.value());
  }
  return out;
}

Value::Value() = default;
Value::~Value() = default;

// --- Node ---

Node::Node() = default;
Node::~Node() = default;

bool Node::is(std::string_view op_name) const { return op->name() == op_name; }

const Arg& Node::arg(std::string_view name) const {
  const int index = op->parsed->find(name);
  if (index < 0) fail(Code::internal, fmt::format("{} has no argument '{}'", op->name(), name));
  return args_[static_cast<size_t>(index)];
}

std::vector<Value*> Node::operands() const {
  std::vector<Value*> out;
  for (const Arg& arg : args_) {
    if (arg.is<Value*>()) out.push_back(arg.as<Value*>());
    if (arg.is<Values>()) {
      for (Value* value : arg.as<Values>()) {
        if (value) out.push_back(value);
      }
    }
  }
  return out;
}

namespace {
[[noreturn]] void wrong(const Node& node, std::string_view name, const char* wanted) {
  fail(Diag(Code::unsupported_model, fmt::format("argument '{}' of {} is not {}", name, node.op->name(), wanted))
           .in(where_of(node)));
}
}  // namespace

Value* Node::tensor(std::string_view name) const {
  const Arg& a = arg(name);
  if (!a.is<Value*>() || !a.as<Value*>()->type.is_tensor()) wrong(*this, name, "a tensor");
  return a.as<Value*>();
}
Span<Value* const> captured_operands(const Node& node) {
  if (node.graphs.empty() || node.args().empty() || !node.args().back().is<Values>()) return {};
  const Values& operands = node.args().back().as<Values>();
  return {operands.data(), operands.size()};
}

Value* tensor_or_null(const Arg& arg) {
  Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  return value && value->type.is_tensor() ? value : nullptr;
}
Value* Node::tensor_or_null(size_t index) const { return compiler::tensor_or_null(args_[index]); }
Value* Node::optional_tensor(std::string_view name) const { return arg(name).is<None>() ? nullptr : tensor(name); }
Values Node::tensors(std::string_view name) const {
  const Arg& a = arg(name);
  if (!a.is<Values>()) wrong(*this, name, "a list of tensors");
  for (Value* value : a.as<Values>()) {
    if (value && !value->type.is_tensor()) wrong(*this, name, "a list of tensors");
  }
  return a.as<Values>();
}
Sym Node::integer(std::string_view name) const {
  const Arg& a = arg(name);
  if (a.is<Sym>()) return a.as<Sym>();
  if (a.is<bool>()) return Sym(a.as<bool>());
  if (a.is<Value*>() && a.as<Value*>()->type.kind == TypeKind::integer) return a.as<Value*>()->type.expr;
  wrong(*this, name, "an integer");
}
int64_t Node::static_integer(std::string_view name) const {
  const Sym sym = integer(name);
  if (!sym.is_const()) wrong(*this, name, "a constant integer (it is symbolic)");
  return sym.value();
}
Ints Node::ints(std::string_view name) const {
  const Arg& a = arg(name);
  if (a.is<Ints>()) return a.as<Ints>();
  const int size = op->parsed->args[static_cast<size_t>(op->parsed->find(name))].list_size;
  if (a.is<Sym>()) return Ints(static_cast<size_t>(size > 0 ? size : 1), a.as<Sym>());
  if (a.is<None>()) return {};
  wrong(*this, name, "a list of integers");
}
std::vector<int64_t> Node::static_ints(std::string_view name) const {
  auto values = static_sizes(ints(name));
  if (!values) wrong(*this, name, "a list of constant integers (one is symbolic)");
  return *values;
}
double Node::real(std::string_view name) const {
  if (const auto number = literal(arg(name))) return *number;
  wrong(*this, name, "a constant number");
}
bool Node::boolean(std::string_view name) const {
  const Arg& a = arg(name);
  if (a.is<bool>()) return a.as<bool>();
  if (a.is<Sym>() && a.as<Sym>().is_const()) return a.as<Sym>().value() != 0;
  wrong(*this, name, "a constant bool");
}
std::string Node::string(std::string_view name) const {
  const Arg& a = arg(name);
  if (!a.is<std::string>()) wrong(*this, name, "a string");
  return a.as<std::string>();
}
bool Node::is_none(std::string_view name) const { return arg(name).is<None>(); }
std::optional<DType> Node::dtype(std::string_view name) const {
  const Arg& a = arg(name);
  if (a.is<None>()) return std::nullopt;
  if (!a.is<DType>()) wrong(*this, name, "a dtype");
  return a.as<DType>();
}

Where where_of(const Node& node) {
  Where where;
  if (node.origin) {
    where.module = node.origin->module;
    where.source = node.origin->source;
    where.node = node.origin->node;
  }
  return where;
}

// --- Graph ---

Graph::Graph() = default;
Graph::~Graph() = default;

std::string Graph::unique_name(std::string_view stem) {
  std::string base(stem.empty() ? "v" : stem);
  auto [it, fresh] = names_.try_emplace(base, 0);
  if (fresh) return base;
  for (;;) {
    std::string candidate = fmt::format("{}_{}", base, ++it->second);
    if (names_.try_emplace(candidate, 0).second) return candidate;
  }
}

Value* Graph::new_value(Type type, std::string name, ValueKind kind) {
  auto value = std::make_unique<Value>();
  value->type = std::move(type);
  value->name = unique_name(name);
  value->kind = kind;
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::add_input(Type type, std::string name) {
  Value* value = new_value(std::move(type), std::move(name), ValueKind::input);
  GraphInput input;
  input.value = value;
  input.name = value->name;
  inputs.push_back(std::move(input));
  return value;
}

Value* Graph::add_constant(TensorType type, ConstantData data, std::string name, std::string fqn) {
  Value* value = new_value(Type::of(std::move(type)), std::move(name), ValueKind::constant);
  value->data = std::move(data);
  value->fqn = std::move(fqn);
  return value;
}

Value* Graph::add_state(TensorType type, ConstantData initial, std::string name, std::string fqn) {
  Value* value = new_value(Type::of(std::move(type)), std::move(name), ValueKind::state);
  value->data = std::move(initial);
  value->fqn = std::move(fqn);
  return value;
}

void Graph::add_uses(Node* node, const Arg& arg) {
  if (arg.is<Value*>()) arg.as<Value*>()->users_.push_back(node);
  if (arg.is<Values>()) {
    for (Value* value : arg.as<Values>()) {
      if (value) value->users_.push_back(node);
    }
  }
}

void Graph::remove_uses(Node* node, const Arg& arg) {
  auto drop = [node](Value* value) {
    auto it = std::find(value->users_.rbegin(), value->users_.rend(), node);
    if (it == value->users_.rend()) fail(Code::internal, "use lists are inconsistent");
    *it = value->users_.back();
    value->users_.pop_back();
  };
  if (arg.is<Value*>()) drop(arg.as<Value*>());
  if (arg.is<Values>()) {
    for (Value* value : arg.as<Values>()) {
      if (value) drop(value);
    }
  }
}

Node* Graph::add_node(const OpDef& op, Args args, size_t num_results, Node* before, std::string_view name) {
  if (num_nodes() >= limits().nodes) fail(over_limit(&Limits::nodes, "a graph has too many nodes"));
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->op = &op;
  const std::vector<ArgSpec>& specs = op.parsed->args;
  if (args.size() > specs.size())
    fail(Code::internal, fmt::format("{} takes {} arguments, not {}", op.name(), specs.size(), args.size()));
  for (size_t i = args.size(); i < specs.size(); ++i) args.push_back(default_arg(specs[i]));
  node->args_ = std::move(args);
  node->self_ = nodes_.insert(before ? before->self_ : nodes_.end(), std::move(owned));
  for (const Arg& arg : node->args_) add_uses(node, arg);
  for (size_t i = 0; i < num_results; ++i) add_result(node, Type{}, name);
  return node;
}

Value* Graph::add_result(Node* node, Type type, std::string_view name) {
  Value* value = new_value(std::move(type), std::string(name), ValueKind::result);
  value->producer = node;
  value->result_index = static_cast<uint32_t>(node->results_.size());
  node->results_.push_back(value);
  return value;
}

void Graph::add_output(GraphOutput output) {
  if (output.value) ++output.value->outside_uses_;
  outputs.push_back(std::move(output));
}

void Graph::add_update(Value* target, Value* value) {
  ++value->outside_uses_;
  ++target->outside_uses_;
  updates.push_back({target, value});
}

void Graph::set_output(size_t index, Value* value) {
  if (outputs[index].value) --outputs[index].value->outside_uses_;
  ++value->outside_uses_;
  outputs[index].value = value;
}

void Graph::set_update(size_t index, Value* value) {
  --updates[index].value->outside_uses_;
  ++value->outside_uses_;
  updates[index].value = value;
}

void Graph::hold(Value* state) {
  for (size_t i = updates.size(); i-- > 0;) {
    if (updates[i].target != state) continue;
    --updates[i].value->outside_uses_;
    --state->outside_uses_;
    updates.erase(updates.begin() + static_cast<ptrdiff_t>(i));
  }
  state->kind = ValueKind::held;
}

void Graph::set_arg(Node* node, size_t index, Arg arg) {
  remove_uses(node, node->args_[index]);
  node->args_[index] = std::move(arg);
  add_uses(node, node->args_[index]);
}

void Graph::rewrite(Node* node, const OpDef& op, Args args) {
  for (const Arg& arg : node->args_) remove_uses(node, arg);
  for (size_t i = args.size(); i < op.parsed->args.size(); ++i) args.push_back(default_arg(op.parsed->args[i]));
  node->op = &op;
  node->args_ = std::move(args);
  for (const Arg& arg : node->args_) add_uses(node, arg);
}

void Graph::replace(Value* from, Value* to) {
  if (from == to) return;
  const bool same = from->type.kind == to->type.kind &&
                    (!from->type.is_tensor() || (from->dtype() == to->dtype() && from->sizes() == to->sizes()));
  if (!same) {
    Diag diag(Code::internal, fmt::format("a rewrite would change the type of %{}", from->name));
    if (from->producer) diag.where = where_of(*from->producer);
    fail(std::move(diag).expected(to_text(to->type), to_text(from->type)));
  }
  if (!to->type.tensor.quantization) to->type.tensor.quantization = from->type.tensor.quantization;
  replace_unchecked(from, to);
}

void Graph::replace_unchecked(Value* from, Value* to) {
  if (from == to) return;
  redirect(from, to);
  // The stored elements are the same, even if the quantizations differ.
  TensorType type = from->type.tensor;
  type.quantization = to->type.tensor.quantization;
  if (from->type.kind == to->type.kind && from->type.expr == to->type.expr && type == to->type.tensor)
    to->stands_for.insert(to->stands_for.end(), from->stands_for.begin(), from->stands_for.end());
  from->stands_for.clear();
}

void Graph::redirect(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Node*> users = from->users_;
  for (Node* node : users) {
    for (Arg& arg : node->args_) {
      if (arg.is<Value*>() && arg.as<Value*>() == from) std::get<Value*>(arg) = to;
      if (arg.is<Values>()) {
        for (Value*& value : std::get<Values>(arg)) {
          if (value == from) value = to;
        }
      }
    }
  }
  to->users_.insert(to->users_.end(), users.begin(), users.end());
  from->users_.clear();
  const auto redirect_outside = [&](auto& uses) {
    for (auto use = uses.begin(); use != uses.end() && from->outside_uses_ > 0; ++use) {
      if (use->value != from) continue;
      use->value = to;
      --from->outside_uses_;
      ++to->outside_uses_;
    }
  };
  redirect_outside(outputs);
  redirect_outside(updates);
}

void Graph::erase(Node* node) {
  for (Value* value : node->results_) {
    if (value->num_uses() != 0) fail(Code::internal, fmt::format("%{} is erased but still used", value->name));
    value->producer = nullptr;
  }
  for (const Arg& arg : node->args_) remove_uses(node, arg);
  nodes_.erase(node->self_);
}

void Graph::move(Node* node, Node* before) {
  nodes_.splice(before ? before->self_ : nodes_.end(), nodes_, node->self_);
}

std::vector<Node*> Graph::node_list() const {
  std::vector<Node*> out;
  out.reserve(nodes_.size());
  for (const auto& node : nodes_) out.push_back(node.get());
  return out;
}

std::vector<Value*> Graph::constants() const {
  std::vector<Value*> out;
  for (const auto& value : values_) {
    if (value->kind == ValueKind::constant && value->num_uses() > 0) out.push_back(value.get());
  }
  return out;
}

namespace {

std::vector<Value*> of_kind(const std::deque<std::unique_ptr<Value>>& values, ValueKind kind) {
  std::vector<Value*> out;
  for (const auto& value : values) {
    if (value->kind == kind) out.push_back(value.get());
  }
  return out;
}

}  // namespace

std::vector<Value*> Graph::states() const { return of_kind(values_, ValueKind::state); }
std::vector<Value*> Graph::held_states() const { return of_kind(values_, ValueKind::held); }

// --- defaults ---

namespace {

double parse_real(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int64_t parse_int(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Arg parse_list(const ArgSpec& spec) {
  std::string_view text = spec.default_text;
  const size_t count = static_cast<size_t>(spec.list_size);
  if (text.empty() || text[0] != '[') {  // int[2] padding=0
    if (spec.type == ArgType::int_list) return Ints(count, Sym(parse_int(text)));
    return Reals(count, parse_real(text));
  }
  Ints ints;
  Reals reals;
  size_t start = 1;
  while (start < text.size() && text[start] != ']') {
    size_t end = text.find_first_of(",]", start);
    std::string_view item = text.substr(start, end - start);
    while (!item.empty() && item[0] == ' ') item.remove_prefix(1);
    if (spec.type == ArgType::int_list)
      ints.push_back(parse_int(item));
    else
      reals.push_back(parse_real(item));
    start = text[end] == ',' ? end + 1 : end;
  }
  return spec.type == ArgType::int_list ? Arg(ints) : Arg(reals);
}

}  // namespace

Arg default_arg(const ArgSpec& spec) {
  const std::string& text = spec.default_text;
  if (!spec.has_default || text == "None") {
    if (!spec.has_default && !spec.optional)
      fail(Code::unsupported_model, fmt::format("argument '{}' is missing", spec.name));
    return None{};
  }
  switch (spec.type) {
    case ArgType::integer: return Sym(parse_int(text));
    case ArgType::real: return parse_real(text);
    case ArgType::boolean: return text == "True";
    case ArgType::scalar:
      if (text == "True" || text == "False") return text == "True";
      return text.find_first_of(".e") == std::string::npos ? Arg(Sym(parse_int(text))) : Arg(parse_real(text));
    case ArgType::int_list:
    case ArgType::real_list: return parse_list(spec);
    case ArgType::bool_list: return Bools{};
    case ArgType::string: return text.size() >= 2 ? text.substr(1, text.size() - 2) : text;
    case ArgType::dtype: return static_cast<DType>(parse_int(text));  // torchao: output_dtype=6
    case ArgType::memory_format: return Sym(0);
    case ArgType::tensor_list:
    case ArgType::optional_tensor_list: return Values{};
    default: return None{};
  }
}

}  // namespace wick::compiler
