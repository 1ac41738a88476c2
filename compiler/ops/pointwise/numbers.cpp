#include "compiler/ops/pointwise/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "compiler/ops/arguments.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

bool is_unsigned(DType dtype) {
  return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
}

int bits_of(DType dtype) { return static_cast<int>(dtype_size_bytes(dtype)) * 8; }

}  // namespace

bool is_integer_dtype(DType dtype) { return is_integral(dtype) && dtype != DType::boolean; }

NumberLimits limits_of(DType dtype) {
  if (is_integer_dtype(dtype)) {
    const int bits = bits_of(dtype) - (is_unsigned(dtype) ? 0 : 1);
    return {is_unsigned(dtype) ? 0 : -std::ldexp(1, bits), std::ldexp(1, bits) - 1};
  }
  if (dtype == DType::f16) return {-65504, 65504};
  if (dtype == DType::bf16) return {-0x1.fep127, 0x1.fep127};
  if (dtype == DType::f32) return {-0x1.fffffep127, 0x1.fffffep127};
  return {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
}

int64_t wrapped(int64_t number, DType dtype) {
  const int bits = bits_of(dtype);
  if (bits == 64) return number;
  const auto low = static_cast<int64_t>(static_cast<uint64_t>(number) & ((uint64_t{1} << bits) - 1));
  return is_unsigned(dtype) || low >> (bits - 1) == 0 ? low : low - (int64_t{1} << bits);
}

bool fits(const Arg& number, DType dtype) {
  if (number.is<bool>() || dtype == DType::boolean) return true;
  const NumberLimits limits = limits_of(dtype);
  const double value = *literal(number);
  if (is_floating(dtype) && !std::isfinite(value)) return true;
  const bool is_negated = number.is<Sym>() && is_integer_dtype(dtype) && is_unsigned(dtype);
  return value >= (is_negated ? -limits.largest : limits.least) && value <= limits.largest;
}

void refuse_number(const Node& node, size_t place, DType dtype) {
  const Arg& number = node.arg(place);
  const std::string text =
      number.is<Sym>() ? std::to_string(number.as<Sym>().value()) : fmt::format("{}", *literal(number));
  const NumberLimits limits = limits_of(dtype);
  fail(Diag(Code::unsupported_model, fmt::format("{}: argument '{}' is a number beyond {}", node.op->name(),
                                                 node.op->parsed->args[place].name, dtype_name(dtype)))
           .in(where_of(node))
           .expected(text, fmt::format("a number from {} to {}", limits.least, limits.largest))
           .with_help("eager refuses it as well; convert the tensor to a wider dtype first"));
}

void require_fits(const Node& node, std::string_view name, DType dtype) {
  const Arg& number = node.arg(name);
  if (!literal(number) || fits(number, dtype)) return;
  refuse_number(node, static_cast<size_t>(node.op->parsed->find(name)), dtype);
}

void infer_power(Node& node) {
  infer_broadcast(node);
  const DType dtype = node.result()->dtype();
  const auto exponent = literal(node.arg("exponent"));
  if (!exponent) return;
  require(!is_integer_dtype(dtype) || *exponent >= 0, "integers to negative integer powers are not allowed");
  if (is_integer_dtype(dtype) || is_16_bit(dtype)) require_fits(node, "exponent", dtype);
}

void infer_sum(Node& node) {
  infer_broadcast(node);
  const DType dtype = node.result()->dtype();
  if (has_argument(node, "alpha")) {
    const Arg& alpha = node.arg("alpha");
    require(dtype == DType::boolean || !alpha.is<bool>(), "a bool as alpha is for sums of bools");
    require(is_floating(dtype) || is_complex(dtype) || !alpha.is<double>(), "alpha is floating but the result is not");
  }
  if (node.is(Binary::add)) return;
  const auto is_bool = [](const Arg& operand) {
    return operand.is<bool>() || (operand.is<Value*>() && operand.as<Value*>()->dtype() == DType::boolean);
  };
  require(!is_bool(node.arg(0)) && !is_bool(node.arg(1)),
          "differences of bool are not defined: use ^ or logical_xor, or ~ to invert a mask");
}

}  // namespace wick::compiler
