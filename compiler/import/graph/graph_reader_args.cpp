// Arguments of exported nodes as the schema wants them, and nodes that compute numbers instead of tensors.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

Arg GraphReader::scalar_argument(std::string_view name) {
  const Binding& bound = binding(name);
  if (bound.integer) return *bound.integer;
  if (bound.scalar) return bound.scalar;
  return read(*bound.ref, builder_);
}

Sym GraphReader::integer(const pt2::Argument& arg) {
  if (const auto* value = std::get_if<int64_t>(&arg)) return *value;
  if (const auto* value = std::get_if<bool>(&arg)) return Sym(*value);
  std::string name;
  if (const auto* sym = std::get_if<pt2::SymIntArg>(&arg)) {
    if (sym->is_literal()) return sym->value;
    name = sym->name;
  } else if (const auto* sym_bool = std::get_if<pt2::SymBoolArg>(&arg)) {
    if (sym_bool->is_literal()) return Sym(sym_bool->value);
    name = sym_bool->name;
  } else if (const auto* tensor = std::get_if<pt2::TensorArg>(&arg)) {
    name = tensor->name;
  }
  if (name.empty() || !binding(name).integer)
    fail(Code::unsupported_model, "a number is used where an integer is wanted");
  return *binding(name).integer;
}

// An operand of scalar arithmetic: Sym, double, or the Value of a number read at run time.
Arg GraphReader::number(const pt2::Argument& arg) {
  if (const auto* value = std::get_if<double>(&arg)) return *value;
  if (const auto* sym = std::get_if<pt2::SymFloatArg>(&arg))
    return sym->is_literal() ? Arg(sym->value) : scalar_argument(sym->name);
  if (const auto* tensor = std::get_if<pt2::TensorArg>(&arg)) return scalar_argument(tensor->name);
  return integer(arg);
}

Arg GraphReader::argument(const pt2::Argument& arg, const ArgSpec& spec) {
  if (std::holds_alternative<pt2::NoneArg>(arg)) return None{};
  if (const auto* tensor = std::get_if<pt2::TensorArg>(&arg)) return scalar_argument(tensor->name);
  if (const auto* tensors = std::get_if<pt2::TensorsArg>(&arg)) {
    if (spec.type == ArgType::int_list && tensors->names.empty()) return Ints{};
    Values values;
    for (const std::string& name : tensors->names) values.push_back(tensor_value(name));
    return values;
  }
  if (const auto* optional = std::get_if<pt2::OptionalTensorsArg>(&arg)) {
    Values values;
    for (const auto& name : optional->names) values.push_back(name ? tensor_value(*name) : nullptr);
    return values;
  }
  if (const auto* value = std::get_if<int64_t>(&arg)) {
    if (spec.type == ArgType::real) return static_cast<double>(*value);
    return Sym(*value);
  }
  if (const auto* values = std::get_if<std::vector<int64_t>>(&arg)) {
    if (spec.type == ArgType::real_list) return Reals(values->begin(), values->end());
    return Ints(*values);
  }
  if (const auto* value = std::get_if<double>(&arg)) return *value;
  if (const auto* values = std::get_if<std::vector<double>>(&arg)) return Reals(*values);
  if (const auto* value = std::get_if<bool>(&arg)) return *value;
  if (const auto* values = std::get_if<pt2::BoolsArg>(&arg)) return Bools(values->values.begin(), values->values.end());
  if (const auto* value = std::get_if<std::string>(&arg)) return *value;
  if (const auto* value = std::get_if<DType>(&arg)) return *value;
  if (const auto* value = std::get_if<pt2::MemoryFormat>(&arg)) return Sym(static_cast<int64_t>(*value));
  if (std::holds_alternative<pt2::Layout>(arg)) return None{};
  if (std::holds_alternative<pt2::DeviceArg>(arg)) return None{};  // one device: the program's
  if (const auto* sym = std::get_if<pt2::SymIntArg>(&arg))
    return sym->is_literal() ? Arg(sym->value) : scalar_argument(sym->name);
  if (const auto* sym = std::get_if<pt2::SymBoolArg>(&arg))
    return sym->is_literal() ? Arg(sym->value) : scalar_argument(sym->name);
  if (const auto* sym = std::get_if<pt2::SymFloatArg>(&arg))
    return sym->is_literal() ? Arg(sym->value) : scalar_argument(sym->name);
  if (const auto* syms = std::get_if<pt2::SymIntsArg>(&arg)) {
    Ints ints;
    for (const pt2::SymIntArg& item : syms->items) ints.push_back(integer(item));
    return ints;
  }
  if (const auto* syms = std::get_if<pt2::SymFloatsArg>(&arg)) {
    Reals reals;
    for (const pt2::SymFloatArg& item : syms->items) {
      if (!item.is_literal())
        fail(Code::unsupported_model,
             fmt::format("argument '{}' holds a float that is only known at run time", spec.name));
      reals.push_back(item.value);
    }
    return reals;
  }
  fail(Code::unsupported_model, fmt::format("argument '{}' has a form that Wick does not read", spec.name));
}

Args GraphReader::arguments(const pt2::Node& node, const OpDef& def) {
  const std::vector<ArgSpec>& specs = def.parsed->args;
  std::vector<std::optional<Arg>> found(specs.size());
  std::vector<std::pair<size_t, const pt2::ComplexArg*>> complex;
  size_t position = 0;
  for (const pt2::NamedArgument& input : node.inputs) {
    int index = input.name.empty() ? -1 : def.parsed->find(input.name);
    if (index < 0 && input.name.empty()) index = static_cast<int>(position);
    if (index < 0 || static_cast<size_t>(index) >= specs.size()) {
      fail(Code::unsupported_model,
           fmt::format("{} has no argument '{}' in this version of the operator", def.name(), printable(input.name)));
    }
    const auto place = static_cast<size_t>(index);
    ++position;
    const auto* number = std::get_if<pt2::ComplexArg>(&input.arg);
    if (number && (specs[place].type == ArgType::tensor || specs[place].type == ArgType::scalar)) {
      complex.emplace_back(place, number);
    } else {
      found[place] = argument(input.arg, specs[place]);
    }
  }
  for (const auto& [place, number] : complex) found[place] = complex_constant(*number, found);
  Args args;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (found[i] && !(found[i]->is<None>() && specs[i].has_default && !specs[i].optional))
      args.push_back(std::move(*found[i]));
    else
      args.push_back(default_arg(specs[i]));
  }
  return args;
}

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

// A number that is known only at run time to a power that is known, or its root: of a tensor of one element, since the
// runtime's scalar operators have no powers. Null: another function.
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

// The program stops if the number that it reads is another than the file was exported for.
void GraphReader::assert_equal(const Sym& read, const Sym& wanted, DType dtype) {
  const std::string text = dtype == DType::boolean ? (wanted.is(0) ? "false" : "true") : wanted.text();
  Node* made = graph_.add_node(op("aten._assert_scalar.default"),
                               {make_sym(SymOp::eq, {read, wanted}),
                                fmt::format("the model was exported for a value of {} that is read here", text)},
                               0, nullptr, "");
  made->origin = builder_.origin();
}

bool GraphReader::read_scalar_node(const pt2::Node& node) {
  std::string_view name = node.target;
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  // The program's range constraints say the same; they are checked where the number is read.
  if (name == "aten.sym_constrain_range.default" || name == "aten.sym_constrain_range_for_size.default") return true;
  auto result_name = [&]() -> std::string {
    if (node.outputs.size() != 1) return "";
    if (const auto* sym = std::get_if<pt2::SymIntArg>(&node.outputs[0])) return sym->name;
    if (const auto* sym = std::get_if<pt2::SymBoolArg>(&node.outputs[0])) return sym->name;
    if (const auto* sym = std::get_if<pt2::SymFloatArg>(&node.outputs[0])) return sym->name;
    if (const auto* tensor = std::get_if<pt2::TensorArg>(&node.outputs[0])) return tensor->name;
    return "";
  };
  auto recorded = [&](const std::string& value) -> Sym {
    if (auto it = source_.sym_int_values.find(value); it != source_.sym_int_values.end()) return to_sym(it->second);
    auto it = source_.sym_bool_values.find(value);
    if (it == source_.sym_bool_values.end())
      fail(Code::corrupt_file, fmt::format("the file records no value for '{}'", printable(value)));
    return it->second.is_literal() ? Sym(it->second.value) : value_or_throw(parse_srepr(it->second.expr->text));
  };
  auto done = [&](Binding bound) {
    if (const std::string out = result_name(); !out.empty()) bind(out, std::move(bound));
    return true;
  };
  if (name == "aten.sym_size.int" || name == "aten.sym_numel.default") {
    if (node.inputs.empty()) fail(Code::corrupt_file, fmt::format("{} has no argument", name));
    const auto* tensor = std::get_if<pt2::TensorArg>(&node.inputs[0].arg);
    if (!tensor) fail(Code::corrupt_file, fmt::format("{} needs a tensor", name));
    const Value* value = tensor_value(tensor->name);
    if (name == "aten.sym_numel.default") return done({nullptr, numel(value->sizes()), nullptr});
    const Sym dim = node.inputs.size() > 1 ? integer(node.inputs[1].arg) : Sym(0);
    if (!dim.is_const() || value->rank() == 0) fail(Code::corrupt_file, "sym_size of a dimension that does not exist");
    return done({nullptr, value->sizes()[static_cast<size_t>(wrap_dim(dim.value(), value->rank()))], nullptr});
  }
  if (name == "aten.sym_stride.int" || name == "aten.sym_storage_offset.default") {
    return done({nullptr, recorded(result_name()), nullptr});
  }
  if (name == "aten.item.default" || name == "aten._local_scalar_dense.default") {
    const auto* tensor = node.inputs.empty() ? nullptr : std::get_if<pt2::TensorArg>(&node.inputs[0].arg);
    if (!tensor) fail(Code::corrupt_file, fmt::format("{} needs a tensor", name));
    Value* value = tensor_value(tensor->name);
    const DType dtype = value->dtype();
    const bool real = is_floating(dtype);
    if (!real) value = builder_.cast(value, DType::i64);
    const OpDef& def = op("aten._local_scalar_dense.default");
    Node* made = graph_.add_node(def, {value}, 1, nullptr, "item");
    made->origin = builder_.origin();
    if (real) {
      made->result(0)->type = Type::real();
      return done({nullptr, std::nullopt, made->result(0)});
    }
    const std::string out = result_name();
    const Sym expr = out.empty() ? Sym::symbol(graph_.unique_name("u_item")) : recorded(out);
    std::set<std::string, std::less<>> symbols;
    collect_symbols(expr, symbols);
    // A truth value is recorded as a condition on the integer that was read; a number that the model asserts to be one
    // certain value, as that value: what is read must be it.
    Sym read_symbol = expr;
    if (expr.symbol_name().empty()) {
      if (symbols.size() > 1)
        fail(Code::unsupported_model, "item() of a value that the file relates to several symbols");
      read_symbol = Sym::symbol(symbols.empty() ? graph_.unique_name("u_item") : *symbols.begin());
    }
    made->result(0)->type = Type::integer(read_symbol);
    if (symbols.empty()) assert_equal(read_symbol, expr, dtype);
    return done({nullptr, expr, nullptr});
  }
  std::string_view function;
  if (name.starts_with("_operator."))
    function = name.substr(10);
  else if (name.starts_with("torch."))
    function = name.substr(6);
  else if (name.starts_with("math."))
    function = name.substr(5);
  else
    return false;
  Ints integers;
  Args numbers;
  for (const pt2::NamedArgument& input : node.inputs) {
    numbers.push_back(number(input.arg));
    if (numbers.back().is<Sym>()) integers.push_back(numbers.back().as<Sym>());
  }
  if (integers.size() == numbers.size()) {
    if (auto value = integer_operator(function, integers)) return done({nullptr, value, nullptr});
  }
  if (source_.sym_int_values.count(result_name()) == 0) {
    if (Value* value = power(function, numbers)) return done({nullptr, std::nullopt, value});
  }
  // Arithmetic on numbers that only exist at run time: the runtime's scalar operators.
  const std::string prim = fmt::format("executorch_prim.{}.Scalar", function);
  const OpDef* def = find_op(prim);
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
  const std::string out = result_name();
  const bool integral = source_.sym_int_values.count(out) != 0, boolean = source_.sym_bool_values.count(out) != 0;
  if (!integral && !boolean) {
    made->result(0)->type = Type::real();
    return done({nullptr, std::nullopt, made->result(0)});
  }
  const Sym symbol = Sym::symbol(graph_.unique_name("n_" + std::string(function)));
  made->result(0)->type = integral ? Type::integer(symbol) : Type::boolean(symbol);
  return done({nullptr, symbol, nullptr});
}

}  // namespace wick::compiler
