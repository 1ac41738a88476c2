// Reductions as text: how they begin, and how they take in an element.
#include <fmt/format.h>

#include <cmath>

#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {

const char* combiner(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::sum: return "Sum";
    case ReductionKind::product: return "Product";
    case ReductionKind::minimum: return "Minimum";
    case ReductionKind::maximum: return "Maximum";
    case ReductionKind::conjunction: return "Conjunction";
    case ReductionKind::disjunction: return "Disjunction";
    case ReductionKind::arg_minimum: return "ArgMinimum";
    case ReductionKind::arg_maximum: return "ArgMaximum";
    case ReductionKind::last_minimum: return "LastMinimum";
    case ReductionKind::last_maximum: return "LastMaximum";
    case ReductionKind::log_sum_exp: return "LogSumExp";
  }
  return "";
}

bool is_positioned(ReductionKind kind) {
  return kind == ReductionKind::arg_minimum || kind == ReductionKind::arg_maximum ||
         kind == ReductionKind::last_minimum || kind == ReductionKind::last_maximum;
}

std::string first_value(const Reduction& reduction) {
  const bool lowest = reduction.kind == ReductionKind::maximum || reduction.kind == ReductionKind::log_sum_exp;
  switch (reduction.kind) {
    case ReductionKind::sum: return fmt::format("{}(0)", type_name(reduction.type));
    case ReductionKind::product: return fmt::format("{}(1)", type_name(reduction.type));
    case ReductionKind::conjunction: return "true";
    case ReductionKind::disjunction: return "false";
    case ReductionKind::arg_minimum:
    case ReductionKind::arg_maximum:
    case ReductionKind::last_minimum:
    case ReductionKind::last_maximum: return fmt::format("{{{}(0), -1}}", type_name(reduction.type));
    default: break;
  }
  switch (reduction.type) {
    case ScalarType::boolean: return lowest ? "false" : "true";
    case ScalarType::i32: return lowest ? "static_cast<i32>(0x80000000u)" : "0x7fffffff";
    case ScalarType::i64: return lowest ? "static_cast<i64>(0x8000000000000000ull)" : "0x7fffffffffffffffll";
    default: return number_text(lowest ? -INFINITY : INFINITY, reduction.type);
  }
}

std::string type_of(const Reduction& reduction) {
  return is_positioned(reduction.kind) ? fmt::format("Positioned<{}>", type_name(reduction.type))
                                       : type_name(reduction.type);
}

void KernelWriter::write_accumulation(Scope& column, const Reduction& reduction, const std::string& acc,
                                      const std::string& number) {
  const bool is_product = reduction.kind == ReductionKind::sum && !reduction.guard && is_real(reduction.type) &&
                          reduction.element->kind == ExpressionKind::call &&
                          reduction.element->text == "op_mul({0}, {1})";
  if (is_product) {
    const std::string a = value(column, reduction.element->args[0]), b = value(column, reduction.element->args[1]);
    column.line(fmt::format("{0} = fused_multiply_add({1}, {2}, {0});", acc, a, b));
    return;
  }
  std::string element = value(column, reduction.element);
  const std::string guard = reduction.guard ? "if (" + value(column, reduction.guard) + ") " : "";
  if (is_positioned(reduction.kind))
    element = fmt::format("{}{{{}, static_cast<i64>({})}}", type_of(reduction), element,
                          reduction.position ? value(column, reduction.position) : number);
  column.line(fmt::format("{3}{0} = {1}::of({0}, {2});", acc, combiner(reduction.kind), element, guard));
}

}  // namespace wick::cuda
