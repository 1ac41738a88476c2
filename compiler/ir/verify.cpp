#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/delegate.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/quantization.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

[[noreturn]] void broken(const std::string& message, const Node* node = nullptr) {
  Diag diag(Code::internal, "the graph is invalid: " + message);
  if (node) {
    diag.where = where_of(*node);
    diag.notes.push_back("in " + to_text(*node, {.origins = false, .max_numbers = kFewNumbers}));
  }
  fail(std::move(diag));
}

bool fits(const ArgSpec& spec, const Arg& arg) {
  if (arg.is<None>()) {
    return spec.optional || spec.type == ArgType::layout || spec.type == ArgType::device ||
           spec.type == ArgType::memory_format || spec.type == ArgType::generator || spec.type == ArgType::dtype;
  }
  const bool scalar_value = arg.is<Value*>() && !arg.as<Value*>()->type.is_tensor();
  switch (spec.type) {
    case ArgType::tensor:  // eager lets a Python number stand for a tensor
      return (arg.is<Value*>() && arg.as<Value*>() != nullptr) || arg.is<Sym>() || arg.is<double>() || arg.is<bool>();
    case ArgType::tensor_list:
    case ArgType::optional_tensor_list: return arg.is<Values>();
    case ArgType::integer:
    case ArgType::memory_format:
    case ArgType::layout: return arg.is<Sym>() || arg.is<bool>() || scalar_value;
    case ArgType::int_list: return arg.is<Ints>() || arg.is<Sym>();
    case ArgType::real: return arg.is<double>() || arg.is<Sym>() || arg.is<bool>() || scalar_value;
    case ArgType::real_list: return arg.is<Reals>() || arg.is<Ints>();
    case ArgType::boolean: return arg.is<bool>() || arg.is<Sym>() || scalar_value;
    case ArgType::bool_list: return arg.is<Bools>();
    case ArgType::scalar: return arg.is<Sym>() || arg.is<double>() || arg.is<bool>() || scalar_value;
    case ArgType::string: return arg.is<std::string>();
    case ArgType::dtype: return arg.is<DType>();
    case ArgType::device: return arg.is<std::string>();
    case ArgType::generator: return false;
  }
  return false;
}

// Whether dtypes, known sizes and (if both have one) quantizations agree.
bool agree(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.tensor.dtype != b.tensor.dtype || !sizes_agree(a.tensor.sizes, b.tensor.sizes))
    return false;
  const auto &x = a.tensor.quantization, &y = b.tensor.quantization;
  return !x || !y || same_numbers(*x, *y);
}

bool has_symbols(const Node& node) {
  const auto is_symbolic = [](const Value* value) {
    const Sizes& sizes = value->sizes();
    return std::any_of(sizes.begin(), sizes.end(), [](const Sym& size) { return !size.is_const(); });
  };
  const Values operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), is_symbolic) ||
         std::any_of(node.results().begin(), node.results().end(), is_symbolic);
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    for (const auto& value : graph_.values()) {
      if (value->kind != ValueKind::result) define(value.get());
    }
    for (const auto& node : graph_.nodes()) check_node(*node);
    for (const GraphOutput& output : graph_.outputs) {
      if (output.kind == GraphOutput::Kind::value) read(output.value, nullptr);
    }
    for (const StateUpdate& update : graph_.updates) {
      read(update.value, nullptr);
      if (!agree(update.target->type, update.value->type)) {
        broken(fmt::format("update of %{} has type {} instead of {}", update.target->name, to_text(update.value->type),
                           to_text(update.target->type)));
      }
    }
    check_use_counts();
  }

 private:
  void define(const Value* value) {
    if (!defined_.insert(value).second) broken(fmt::format("%{} is defined twice", value->name));
    if (!names_.insert(value->name).second) broken(fmt::format("the name %{} is used twice", value->name));
    if (!value->is_quantized()) return;
    const std::string reason = refuse_quantization(value->tensor());
    if (!reason.empty())
      broken(fmt::format("%{} is {}, with {}", value->name, to_text(value->type), reason), value->producer);
  }

  void read(const Value* value, const Node* node) {
    if (!value) broken("a null value", node);
    if (!defined_.count(value)) broken(fmt::format("%{} is read before it is defined", value->name), node);
    ++uses_[value];
  }

  void check_node(Node& node) {
    const std::vector<ArgSpec>& specs = node.op->parsed->args;
    if (specs.size() != node.args().size()) broken("wrong number of arguments", &node);
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!fits(specs[i], node.arg(i)))
        broken(fmt::format("argument '{}' holds {}", specs[i].name, to_text(node.arg(i))), &node);
    }
    if (is_delegate_call(node)) check_delegate(node);
    for (const Value* value : node.operands()) read(value, &node);
    for (const Value* value : node.results()) {
      if (value->producer != &node) broken("a result has a different producer", &node);
      define(value);
    }
    for (const auto& graph : node.graphs) Verifier(*graph).run();
    if (!node.op->infer) return;
    std::vector<Type> inferred = inferred_types(node);
    for (size_t i = 0; i < inferred.size(); ++i) {
      const Type& recorded = node.result(i)->type;
      inferred[i].tensor.dim_order = recorded.tensor.dim_order;  // a choice of layout, not of meaning
      if (!may_be_stored_as(*node.op, inferred[i], recorded) ||
          !sizes_agree(inferred[i].tensor.sizes, recorded.tensor.sizes))
        broken(fmt::format("type {} should be {}", to_text(recorded), to_text(inferred[i])), &node);
    }
  }

  void check_delegate(const Node& node) {
    const Sym index = node.integer("delegate");
    if (!index.is_const() || index.value() < 0 || static_cast<size_t>(index.value()) >= graph_.delegates.size())
      broken("there is no such delegate", &node);
    for (const Value* value : node.tensors("inputs")) {
      if (!value) broken("an input of a delegate is missing", &node);
    }
  }

  void check_use_counts() {
    std::map<const Value*, size_t> counted = uses_;
    for (const StateUpdate& update : graph_.updates) ++counted[update.target];
    for (const auto& value : graph_.values()) {
      if (!defined_.count(value.get())) continue;
      const auto it = counted.find(value.get());
      const size_t expected = it == counted.end() ? 0 : it->second;
      if (value->num_uses() != expected)
        broken(fmt::format("%{} counts {} uses, has {}", value->name, value->num_uses(), expected));
    }
  }

  const Graph& graph_;
  std::set<const Value*> defined_;
  std::set<std::string> names_;
  std::map<const Value*, size_t> uses_;
};

}  // namespace

bool sizes_agree(const Sizes& a, const Sizes& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_const() && b[i].is_const() && !(a[i] == b[i])) return false;
  }
  return true;
}

Status verify(const Graph& graph) {
  const SymScope scope(graph.ranges);
  return catch_failure([&] { Verifier(graph).run(); });
}

bool sizes_follow(const Node& node) {
  if (!node.op->infer || node.results().empty() || !has_symbols(node)) return true;
  bool follow = true;
  const Status status = catch_failure([&] {
    const std::vector<Type> inferred = inferred_types(*node.result()->producer);
    for (size_t i = 0; i < inferred.size(); ++i) {
      const Sizes &computed = inferred[i].tensor.sizes, &stated = node.result(i)->sizes();
      for (size_t dim = 0; dim < stated.size(); ++dim) {
        if (computed[dim].is_const() != stated[dim].is_const()) follow = false;
      }
    }
  });
  return status.ok() && follow;
}

}  // namespace wick::compiler
