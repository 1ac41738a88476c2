// Complex numbers among arguments. Neither the IR nor a program has them: such a number becomes a 0-d constant, and the
// operator is replaced by one that takes a tensor in its place.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "compiler/analysis/evaluate.h"
#include "compiler/import/graph/graph_reader.h"
#include "compiler/ops/compose.h"
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

// The real (0) or the imaginary part (1) of a constant that pair_of() made.
double part_of(const HostTensor& number, size_t index) {
  double wide;
  float narrow;
  const uint8_t* bytes = number.data.bytes().data();
  if (number.type.dtype == DType::c128) return memcpy(&wide, bytes + index * sizeof wide, sizeof wide), wide;
  memcpy(&narrow, bytes + index * sizeof narrow, sizeof narrow);
  return static_cast<double>(narrow);
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

// `number`, expanded to the sizes and dtype of the tensor that `def` fills.
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

// The number as a constant: c128 if an operand has elements of 64 bits a part, else c64.
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

namespace {

// The index of the last complex number among the arguments, or -1.
int complex_number(const OpDef& def, const Args& args) {
  const std::vector<ArgSpec>& specs = def.parsed->args;
  int number = -1;
  for (size_t i = 0; i < specs.size() && i < args.size(); ++i) {
    if (specs[i].type == ArgType::scalar && is_complex_constant(args[i])) number = static_cast<int>(i);
  }
  return number;
}

bool has_complex_operand(const OpDef& def, const Args& args) {
  const auto is_operand = [&](const Arg& arg) {
    return def.parsed->args[static_cast<size_t>(&arg - args.data())].type != ArgType::scalar;
  };
  return std::any_of(args.begin(), args.end(),
                     [&](const Arg& arg) { return is_operand(arg) && is_complex_constant(arg); });
}

// The operand that `alpha` multiplies: b in a + alpha * b, a - alpha * b, b - alpha * a (rsub), and the source that
// index_add adds. -1: alpha is no factor of an operand (elu).
int scaled_operand(const OpDef& def) {
  const Schema& schema = *def.parsed;
  const int source = schema.find("source");
  if (source >= 0) return source;
  if (schema.find("other") < 0) return -1;
  return schema.find(def.facts.binary == Binary::rsub ? "self" : "other");
}

}  // namespace

// Writes factors as multiplications: beta * self + alpha * f(other operands), or self + value * f(other operands),
// where f is `def` without self and factors.
const OpDef* GraphReader::with_factors(const OpDef& def, Args& args) {
  const int value = def.parsed->find("value"), alpha = def.parsed->find("alpha"), beta = def.parsed->find("beta");
  Value* start = args[0].as<Value*>();
  Value* term = nullptr;
  Arg by = args[static_cast<size_t>(value >= 0 ? value : alpha)];
  if (value >= 0) {
    term = builder_.call(def.facts.summand.op, {args[1], args[2]});
  } else {
    start = builder_.call("aten.mul.Tensor", {start, args[static_cast<size_t>(beta)]});
    args[static_cast<size_t>(beta)] = 0;
    args[static_cast<size_t>(alpha)] = 1;
    term = Compose(builder_).call(def.name(), std::move(args));
  }
  args = {start, builder_.call("aten.mul.Tensor", {term, std::move(by)}), 1};
  return &op("aten.add.Tensor");
}

// Applies `def`, which moves elements and fills with a number, to the real and to the imaginary parts.
const OpDef* GraphReader::of_parts(const OpDef& def, Args& args, int number) {
  Value* tensor = args[0].as<Value*>();
  const HostTensor held = host_tensor(*args[static_cast<size_t>(number)].as<Value*>());
  const DType dtype = complex_dtype(tensor->dtype());
  Value* pairs = builder_.call("aten.view_as_real", {builder_.cast(tensor, dtype)});
  Values parts;
  for (size_t i = 0; i < 2; ++i) {
    Args own = args;
    own[0] = builder_.select(pairs, static_cast<int64_t>(tensor->rank()), static_cast<int64_t>(i));
    own[static_cast<size_t>(number)] = part_of(held, i);
    parts.push_back(Compose(builder_).call(def.name(), std::move(own)));
  }
  const auto last = static_cast<int64_t>(parts[0]->rank());
  Value* joined = Compose(builder_).stack(parts, last);
  args = {builder_.call("aten.view_as_complex", {joined}), None{}};
  return &op("aten.clone.default");
}

// The operator that computes the same as `def` without complex numbers as arguments; `args` become its arguments.
const OpDef* GraphReader::without_complex_numbers(const OpDef* def, Args& args) {
  int number = complex_number(*def, args);
  if (number < 0) return def;
  if (def->has(kFills)) {
    Value* value = filled(builder_, *def, args, args[static_cast<size_t>(number)].as<Value*>());
    args = {value, None{}};
    return &op("aten.clone.default");
  }
  const Schema& schema = *def->parsed;
  const int alpha = schema.find("alpha"), operand = scaled_operand(*def);
  const bool blends = alpha >= 0 && schema.find("beta") >= 0, adds = def->facts.summand.op && schema.find("value") >= 0;
  if ((blends || adds) && has_complex_operand(*def, args)) return with_factors(*def, args);
  if (number == alpha && operand >= 0 && has_complex_operand(*def, args)) {
    Arg& scaled = args[static_cast<size_t>(operand)];
    scaled = builder_.call("aten.mul.Tensor", {args[static_cast<size_t>(number)], scaled});
    args[static_cast<size_t>(number)] = 1;
    number = complex_number(*def, args);
    if (number < 0) return def;
  }
  if (def->has(kMoves) && has_complex_operand(*def, args)) return of_parts(*def, args, number);
  const OpDef* form = with_tensors(*def);
  if (!form || complex_number(*form, args) >= 0) {
    fail(Diag(Code::unsupported_model, fmt::format("the argument '{}' of {} is a complex number",
                                                   schema.args[static_cast<size_t>(number)].name, def->name()))
             .with_help("write the number as a tensor of no dimensions"));
  }
  return form;
}

}  // namespace wick::compiler
