#include "backends/cortex_m/compile/ops/int16/magnitudes.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/dim_order.h"

namespace wick::cortex_m {

using compiler::Node;
using compiler::Value;

double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? kUnknown : std::max(a, b); }

double largest_of(const std::vector<double>& numbers) {
  double largest = numbers.empty() ? kUnknown : 0;
  for (const double number : numbers) largest = larger(largest, std::abs(number));
  return largest;
}

double reach(const Value* value) {
  if (!value) return 0;
  if (value->is_constant()) return largest_of(numbers(*value));
  if (!has_elements(*value)) return kUnknown;
  const Affine q = affine(*value);
  return q.scale * std::max(std::abs(q.min - q.zero), std::abs(q.max - q.zero));
}

double count_of(const Value& value) { return static_cast<double>(compiler::layout::elements(value.sizes())); }

const Value* variable(const Node& node) {
  for (const Value* operand : node.operands()) {
    if (!is_number(*operand)) return operand;
  }
  return nullptr;
}

namespace {

// The table from which a lookup takes the elements of `value`, as Wick's operator or stock's; null: no lookup makes it.
const Value* table_that_makes(const Value& value) {
  if (!value.producer) return nullptr;
  if (value.producer->is("wick.lookup.default")) return value.producer->tensor("table");
  return value.producer->is("cortex_m.quantized_activation.default") ? value.producer->tensor("lut") : nullptr;
}

}  // namespace

Divisors divisors_of(const Value& value) {
  Divisors found;
  if (value.is_constant()) {
    for (const double number : numbers(value)) {
      if (number == 0) found.has_zero = true;
      if (number != 0) found.least = std::min(found.least, std::abs(number));
    }
    return found;
  }
  const Affine q = affine(value);
  const Value* table = table_that_makes(value);
  if (!table) return {q.scale, q.min <= q.zero && q.zero <= q.max};
  for (const double element : numbers(*table)) {
    if (element == q.zero) found.has_zero = true;
    if (element != q.zero) found.least = std::min(found.least, std::abs(element - q.zero) * q.scale);
  }
  return found;
}

}  // namespace wick::cortex_m
