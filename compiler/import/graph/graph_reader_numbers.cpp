// Nodes whose results are numbers: sizes of tensors, elements that the program reads, and arithmetic on them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

namespace {

std::optional<SymOp> comparison(std::string_view f) {
  if (f == "eq") return SymOp::eq;
  if (f == "ne") return SymOp::ne;
  if (f == "lt" || f == "gt") return SymOp::lt;
  if (f == "le" || f == "ge") return SymOp::le;
  return std::nullopt;
}

// Python operators on integers known as expressions. Nothing for those whose result is a float.
std::optional<Sym> integer_operator(std::string_view f, const Ints& a) {
  if (a.size() == 1) {
    if (f == "neg") return a[0] * Sym(-1);
    if (f == "pos" || f == "sym_int" || f == "trunc") return a[0];
    if (f == "sym_not") return make_sym(SymOp::logical_not, {a[0]});
  }
  if (a.size() == 2) {
    if (f == "add") return a[0] + a[1];
    if (f == "sub") return a[0] - a[1];
    if (f == "mul") return a[0] * a[1];
    if (f == "floordiv") return floor_div(a[0], a[1]);
    if (f == "mod") return sym_mod(a[0], a[1]);
    if (f == "sym_max") return sym_max(a[0], a[1]);
    if (f == "sym_min") return sym_min(a[0], a[1]);
    if (f == "and_") return make_sym(SymOp::logical_and, {a[0], a[1]});
    if (f == "or_") return make_sym(SymOp::logical_or, {a[0], a[1]});
    if (auto op = comparison(f))
      return f == "gt" || f == "ge" ? make_sym(*op, {a[1], a[0]}) : make_sym(*op, {a[0], a[1]});
    if (f == "pow" && a[1].is_const() && a[1].value() >= 0 && a[1].value() <= 16) {
      Sym power = 1;
      for (int64_t i = 0; i < a[1].value(); ++i) power = power * a[0];
      return power;
    }
  }
  if (a.size() == 3 && f == "sym_ite") return make_sym(SymOp::where, {a[0], a[1], a[2]});
  return std::nullopt;
}

}  // namespace

// A constant power or the square root of a number known only at run time. Computed on a tensor of one element, because
// the runtime's scalar operators have no powers. Null for other functions.
Value* GraphReader::power(std::string_view function, const Args& numbers) {
  const bool root = function == "_sym_sqrt" || function == "sqrt";
  if (!(root && numbers.size() == 1) && !(function == "pow" && numbers.size() == 2)) return nullptr;
  double exponent = 0.5;
  if (!root) {
    const Arg& given = numbers[1];
    if (!given.is<double>() && !(given.is<Sym>() && given.as<Sym>().is_const())) return nullptr;
    exponent = given.is<double>() ? given.as<double>() : static_cast<double>(given.as<Sym>().value());
  }
  Value* base = builder_.call("aten.scalar_tensor", {numbers[0], DType::f64});
  Value* result =
      exponent == 0.5 ? builder_.call("aten.sqrt", {base}) : builder_.call("aten.pow.Tensor_Scalar", {base, exponent});
  Node* made = graph_.add_node(op("aten._local_scalar_dense.default"), {result}, 1, nullptr, "item");
  made->origin = builder_.origin();
  made->result(0)->type = Type::real();
  return made->result(0);
}

// Makes the program fail if the number that it reads is not the one that the model was exported for.
void GraphReader::assert_equal(const Sym& read, const Sym& wanted, DType dtype) {
  const std::string text = dtype == DType::boolean ? (wanted.is(0) ? "false" : "true") : wanted.text();
  Node* made = graph_.add_node(op("aten._assert_scalar.default"),
                               {make_sym(SymOp::eq, {read, wanted}),
                                fmt::format("the model was exported for a value of {} that is read here", text)},
                               0, nullptr, "");
  made->origin = builder_.origin();
}

namespace {

// The name of a node's one result, or "".
std::string result_name(const pt2::Node& node) {
  return node.outputs.size() == 1 ? argument_name(node.outputs[0]) : "";
}

const pt2::TensorArg& first_tensor(const pt2::Node& node, std::string_view name) {
  const auto* tensor = node.inputs.empty() ? nullptr : std::get_if<pt2::TensorArg>(&node.inputs[0].arg);
  if (!tensor) fail(Code::corrupt_file, fmt::format("{} needs a tensor", name));
  return *tensor;
}

// "add" of "_operator.add"; "" for operators other than Python's on numbers.
std::string_view python_function(std::string_view name) {
  for (const std::string_view module : {"_operator.", "torch.", "math."}) {
    if (name.starts_with(module)) return name.substr(module.size());
  }
  return "";
}

}  // namespace

// The expression that the file records for a number.
Sym GraphReader::recorded(std::string_view value) const {
  if (auto it = source_.sym_int_values.find(value); it != source_.sym_int_values.end()) return to_sym(it->second);
  auto it = source_.sym_bool_values.find(value);
  if (it == source_.sym_bool_values.end())
    fail(Code::corrupt_file, fmt::format("the file records no value for '{}'", printable(value)));
  return it->second.is_literal() ? Sym(it->second.value) : value_or_throw(parse_srepr(it->second.expr->text));
}

Binding GraphReader::size_of(const pt2::Node& node, std::string_view name) {
  const Value* value = tensor_value(first_tensor(node, name).name);
  if (name == "aten.sym_numel.default") return {nullptr, numel(value->sizes()), nullptr};
  const Sym dim = node.inputs.size() > 1 ? integer(node.inputs[1].arg) : Sym(0);
  if (!dim.is_const() || value->rank() == 0) fail(Code::corrupt_file, "sym_size of a dimension that does not exist");
  return {nullptr, value->sizes()[static_cast<size_t>(wrap_dim(dim.value(), value->rank()))], nullptr};
}

// The only element of a tensor, as a number.
Binding GraphReader::element_of(const pt2::Node& node, std::string_view name) {
  Value* value = tensor_value(first_tensor(node, name).name);
  const DType dtype = value->dtype();
  const bool real = is_floating(dtype);
  if (!real) value = builder_.cast(value, DType::i64);
  Node* made = graph_.add_node(op("aten._local_scalar_dense.default"), {value}, 1, nullptr, "item");
  made->origin = builder_.origin();
  if (real) {
    made->result(0)->type = Type::real();
    return {nullptr, std::nullopt, made->result(0)};
  }
  const std::string out = result_name(node);
  const Sym expr = out.empty() ? Sym::symbol(graph_.unique_name("u_item")) : recorded(out);
  std::set<std::string, std::less<>> symbols;
  collect_symbols(expr, symbols);
  // A truth value is recorded as a condition on the integer that was read. A number that the model asserts to have a
  // certain value is recorded as that value; the number that is read must equal it.
  Sym read_symbol = expr;
  if (expr.symbol_name().empty()) {
    if (symbols.size() > 1) fail(Code::unsupported_model, "item() of a value that the file relates to several symbols");
    read_symbol = Sym::symbol(symbols.empty() ? graph_.unique_name("u_item") : *symbols.begin());
  }
  made->result(0)->type = Type::integer(read_symbol);
  if (symbols.empty()) assert_equal(read_symbol, expr, dtype);
  return {nullptr, expr, nullptr};
}

// Arithmetic on numbers that only exist at run time: the runtime's scalar operators.
Binding GraphReader::arithmetic(const pt2::Node& node, std::string_view name, Args numbers) {
  const std::string_view function = python_function(name);
  const OpDef* def = find_op(fmt::format("executorch_prim.{}.Scalar", function));
  if (!def)
    fail(Code::unsupported_model, fmt::format("{} on numbers that are only known at run time", printable(name)));
  if (numbers.size() != def->parsed->args.size())
    fail(Code::corrupt_file,
         fmt::format("{} takes {} numbers, not {}", printable(name), def->parsed->args.size(), numbers.size()));
  for (Arg& arg : numbers) {
    if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor())
      fail(Code::corrupt_file, fmt::format("{} needs numbers", printable(name)));
  }
  Node* made = graph_.add_node(*def, std::move(numbers), 1, nullptr, function);
  made->origin = builder_.origin();
  const std::string out = result_name(node);
  const bool integral = source_.sym_int_values.count(out) != 0, boolean = source_.sym_bool_values.count(out) != 0;
  if (!integral && !boolean) {
    made->result(0)->type = Type::real();
    return {nullptr, std::nullopt, made->result(0)};
  }
  const Sym symbol = Sym::symbol(graph_.unique_name("n_" + std::string(function)));
  made->result(0)->type = integral ? Type::integer(symbol) : Type::boolean(symbol);
  return {nullptr, symbol, nullptr};
}

// The expression that the file records for a rounded number, if it depends only on sizes of inputs: then its bounds are
// known.
std::optional<Sym> GraphReader::rounded_size(std::string_view function, const std::string& result) const {
  const auto it = source_.sym_int_values.find(result);
  const bool rounds = function == "trunc" || function == "floor" || function == "ceil";
  if (!rounds || it == source_.sym_int_values.end() || !it->second.expr) return std::nullopt;
  const Result<Sym> expr = parse_srepr(it->second.expr->text);
  if (!expr.ok()) return std::nullopt;
  std::set<std::string, std::less<>> used, sizes;
  collect_symbols(*expr, used);
  for (const GraphInput& input : graph_.inputs) {
    if (!input.value->type.is_tensor()) continue;
    for (const Sym& size : input.value->sizes()) collect_symbols(size, sizes);
  }
  if (!std::includes(sizes.begin(), sizes.end(), used.begin(), used.end())) return std::nullopt;
  return *expr;
}

Binding GraphReader::python_number(const pt2::Node& node, std::string_view name) {
  Ints integers;
  Args numbers;
  for (const pt2::NamedArgument& input : node.inputs) {
    numbers.push_back(number(input.arg));
    if (numbers.back().is<Sym>()) integers.push_back(numbers.back().as<Sym>());
  }
  const std::string_view function = python_function(name);
  if (integers.size() == numbers.size()) {
    if (auto value = integer_operator(function, integers)) return {nullptr, value, nullptr};
  }
  if (auto size = rounded_size(function, result_name(node))) return {nullptr, std::move(size), nullptr};
  if (source_.sym_int_values.count(result_name(node)) == 0) {
    if (Value* value = power(function, numbers)) return {nullptr, std::nullopt, value};
  }
  return arithmetic(node, name, std::move(numbers));
}

bool GraphReader::read_scalar_node(const pt2::Node& node) {
  std::string_view name = node.target;
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  // The program's range constraints say the same; they are checked where the number is read.
  if (name == "aten.sym_constrain_range.default" || name == "aten.sym_constrain_range_for_size.default") return true;
  Binding bound;
  if (name == "aten.sym_size.int" || name == "aten.sym_numel.default") {
    bound = size_of(node, name);
  } else if (name == "aten.sym_stride.int" || name == "aten.sym_storage_offset.default") {
    bound.integer = recorded(result_name(node));
  } else if (name == "aten.item.default" || name == "aten._local_scalar_dense.default") {
    bound = element_of(node, name);
  } else if (!python_function(name).empty()) {
    bound = python_number(node, name);
  } else {
    return false;
  }
  if (const std::string out = result_name(node); !out.empty()) bind(out, std::move(bound));
  return true;
}

}  // namespace wick::compiler
