// Converts arguments of exported nodes to the types that the operator's schema has.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/ops/rules.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

std::string argument_name(const pt2::Argument& arg) {
  if (const auto* tensor = std::get_if<pt2::TensorArg>(&arg)) return tensor->name;
  if (const auto* sym = std::get_if<pt2::SymIntArg>(&arg)) return sym->name;
  if (const auto* sym = std::get_if<pt2::SymBoolArg>(&arg)) return sym->name;
  if (const auto* sym = std::get_if<pt2::SymFloatArg>(&arg)) return sym->name;
  return "";
}

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
  if (const auto* value = std::get_if<bool>(&arg)) {
    if (spec.type == ArgType::real) return *value ? 1.0 : 0.0;
    return *value;
  }
  if (const auto* values = std::get_if<pt2::BoolsArg>(&arg)) return Bools(values->values.begin(), values->values.end());
  if (const auto* value = std::get_if<std::string>(&arg)) return *value;
  if (const auto* value = std::get_if<DType>(&arg)) return *value;
  if (const auto* value = std::get_if<pt2::MemoryFormat>(&arg)) return Sym(static_cast<int64_t>(*value));
  if (std::holds_alternative<pt2::Layout>(arg)) return None{};
  if (std::holds_alternative<pt2::DeviceArg>(arg)) return None{};  // a program runs on one device
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

// torch.vmap's decompositions pass numbers where operators take a tensor. If the operator has only one tensor argument,
// the number becomes a 0-d tensor. Operators with two take a number as it is, whose dtype has a lower priority in
// promotion than a tensor's.
Arg GraphReader::tensor_of_number(Arg arg, const OpDef& def) {
  const auto is_tensor = [](const ArgSpec& spec) { return spec.type == ArgType::tensor; };
  const std::vector<ArgSpec>& specs = def.parsed->args;
  if (!is_number(arg) || std::count_if(specs.begin(), specs.end(), is_tensor) != 1) return arg;
  const DType dtype = promote({arg});
  return builder_.call("aten.scalar_tensor", {std::move(arg), dtype});
}

// In strides, paddings and similar lists one number may stand for all dimensions. aten.convolution has as many as its
// weight has spatial dimensions.
static void widen_lists(const OpDef& def, Args& args) {
  const bool convolution = def.name().starts_with("aten.convolution.") || def.name().starts_with("aten._convolution.");
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is<Ints>() || args[i].as<Ints>().size() != 1) continue;
    auto count = static_cast<size_t>(def.parsed->args[i].list_size);
    if (convolution && args[1].is<Value*>() && args[1].as<Value*>()->rank() > 2)
      count = args[1].as<Value*>()->rank() - 2;
    if (count > 1) args[i] = Ints(count, args[i].as<Ints>()[0]);
  }
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
      if (specs[place].type == ArgType::tensor) found[place] = tensor_of_number(std::move(*found[place]), def);
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
  widen_lists(def, args);
  return args;
}

}  // namespace wick::compiler
