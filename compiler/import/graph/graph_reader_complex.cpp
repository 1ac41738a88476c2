// Complex numbers among arguments. Neither the IR nor a program has them: such a number becomes a constant of no
// dimensions, and the operator the one that takes a tensor in its place.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

template <typename Real>
std::vector<uint8_t> pair_of(double real, double imag) {
  const Real pair[2] = {static_cast<Real>(real), static_cast<Real>(imag)};
  std::vector<uint8_t> bytes(sizeof pair);
  memcpy(bytes.data(), pair, sizeof pair);
  return bytes;
}

bool is_complex_constant(const Arg& arg) {
  return arg.is<Value*>() && arg.as<Value*>()->type.is_tensor() && is_complex(arg.as<Value*>()->dtype());
}

// The overload that takes a tensor for each number of `def`, with the same arguments otherwise; null: there is none.
const OpDef* with_tensors(const OpDef& def) {
  const std::string_view base = def.name().substr(0, def.name().rfind('.') + 1);
  const std::vector<ArgSpec>& wanted = def.parsed->args;
  const auto fits = [&](const ArgSpec& from, const ArgSpec& to) {
    const bool is_operand = from.type == ArgType::scalar && from.name != "alpha";
    return from.name == to.name && to.type == (is_operand ? ArgType::tensor : from.type);
  };
  for (const OpDef* op : all_ops()) {
    const std::vector<ArgSpec>& args = op->parsed->args;
    if (op->name().starts_with(base) && std::equal(wanted.begin(), wanted.end(), args.begin(), args.end(), fits))
      return op;
  }
  return nullptr;
}

const Arg& argument_called(const OpDef& def, const Args& args, std::string_view name) {
  static const Arg none;
  const int index = def.parsed->find(name);
  return index < 0 ? none : args[static_cast<size_t>(index)];
}

// The sizes and dtype of what `def` fills.
Value* filled(Builder& builder, const OpDef& def, const Args& args, Value* number) {
  const Arg &size = argument_called(def, args, "size"), &dtype = argument_called(def, args, "dtype");
  const Value* like = args[0].is<Value*>() && args[0].as<Value*>() != number ? args[0].as<Value*>() : nullptr;
  const DType wanted = dtype.is<DType>() ? dtype.as<DType>() : like ? like->dtype() : DType::c64;
  Sizes sizes;
  if (size.is<Ints>()) {
    sizes = size.as<Ints>();
  } else if (like) {
    sizes = like->sizes();
  }
  if (!is_complex(wanted)) fail(Code::unsupported_model, "a tensor of real numbers is filled with a complex one");
  return builder.expand(builder.cast(number, wanted), std::move(sizes));
}

}  // namespace

// The number as a constant: of doubles where an operand is.
Value* GraphReader::complex_constant(const pt2::ComplexArg& number, const std::vector<std::optional<Arg>>& operands) {
  bool wide = false;
  for (const std::optional<Arg>& operand : operands) {
    if (!operand || !operand->is<Value*>() || !operand->as<Value*>()->type.is_tensor()) continue;
    const DType dtype = operand->as<Value*>()->dtype();
    wide = wide || dtype == DType::f64 || dtype == DType::c128;
  }
  return builder_.constant(TensorType{wide ? DType::c128 : DType::c64, {}, {}},
                           wide ? pair_of<double>(number.real, number.imag) : pair_of<float>(number.real, number.imag),
                           "complex");
}

// The operator that computes the same of tensors only; `args` become its arguments.
const OpDef* GraphReader::without_complex_numbers(const OpDef* def, Args& args) {
  const std::vector<ArgSpec>& specs = def->parsed->args;
  int number = -1;
  for (size_t i = 0; i < specs.size() && i < args.size(); ++i) {
    if (specs[i].type == ArgType::scalar && is_complex_constant(args[i])) number = static_cast<int>(i);
  }
  if (number < 0) return def;
  const Arg factor = args[static_cast<size_t>(number)];
  const std::string_view name = def->name(), factor_name = specs[static_cast<size_t>(number)].name;
  if (def->has(kFills)) {
    Value* value = filled(builder_, *def, args, factor.as<Value*>());
    args = {value, None{}};
    return &op("aten.clone.default");
  }
  if (const char* summand = def->facts.summand.op) {
    const bool elements = def->has(kPointwise);
    Value* product = builder_.call(summand, {args[1], args[2]});
    const Arg& by = argument_called(*def, args, elements ? "value" : "alpha");
    Value* scaled = builder_.call("aten.mul.Tensor", {product, by});
    Value* start = args[0].as<Value*>();
    if (!elements) start = builder_.call("aten.mul.Tensor", {start, argument_called(*def, args, "beta")});
    args = {start, scaled, 1};
    return &op("aten.add.Tensor");
  }
  if (factor_name == "alpha" && args.size() >= 3) {  // a + alpha * b, a - alpha * b, b - alpha * a
    const size_t scaled = def->facts.binary == Binary::rsub ? 0 : 1;
    args[scaled] = builder_.call("aten.mul.Tensor", {args[scaled], factor});
    args[2] = 1;
    return without_complex_numbers(def, args);
  }
  const OpDef* form = with_tensors(*def);
  if (!form) {
    fail(Diag(Code::unsupported_model, fmt::format("the argument '{}' of {} is a complex number", factor_name, name))
             .with_help("write the number as a tensor of no dimensions"));
  }
  return form;
}

}  // namespace wick::compiler
