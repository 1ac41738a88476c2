#include "compiler/passes/match/causal.h"

#include <cmath>
#include <vector>

#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/reals.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 24;
constexpr int kMaxCountingNodes = 64;  // nodes of arithmetic on counted numbers that are followed

const Value* operand(const Node& node, size_t index = 0) { return node.tensor_or_null(index); }

using Mask = std::optional<TriangularMask>;

Mask where_not_zero(Mask mask) { return mask ? Mask({mask->is_lower, 1}) : mask; }
Mask where_zero(Mask mask) { return mask ? Mask({!mask->is_lower, 1}) : mask; }
Mask with_number(Mask mask, double number) { return mask ? Mask({mask->is_lower, number}) : mask; }

// Whether each matrix of the result is one of the operand, or its first rows and columns.
bool keeps_matrices(const Node& node) {
  const Sizes &from = operand(node)->sizes(), &to = node.result()->sizes();
  if (from.size() < 2 || to.size() < 2) return false;
  if (node.is("aten.slice.Tensor"))
    return number_of(node.arg("start"), DType::i64) && node.integer("start").is(0) && node.integer("step").is(1);
  const bool same = from.back() == to.back() && from[from.size() - 2] == to[to.size() - 2];
  return same && (node.is("aten.view.default") || node.is("aten.expand.default"));
}

// An integer tensor. Its element at (row, column) is row * rows + column * columns + offset.
struct Count {
  int64_t rows = 0, columns = 0, offset = 0;
};

std::optional<Count> sum(const Count& a, const Count& b, bool subtracts) {
  Count out;
  const auto add = [&](int64_t x, int64_t y, int64_t* to) {
    return subtracts ? __builtin_sub_overflow(x, y, to) : __builtin_add_overflow(x, y, to);
  };
  const bool overflows =
      add(a.rows, b.rows, &out.rows) || add(a.columns, b.columns, &out.columns) || add(a.offset, b.offset, &out.offset);
  return overflows ? std::nullopt : std::optional(out);
}

std::optional<Count> through_view(const Node& node, const Count& count) {
  const Sizes &from = operand(node)->sizes(), &to = node.result()->sizes();
  if (keeps_matrices(node)) return count;
  if (count.rows != 0 || from.empty() || to.size() < 2 || !node.is("aten.view.default")) return std::nullopt;
  const auto ones = [](const Sizes& sizes, size_t but) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i != but && !sizes[i].is(1)) return false;
    }
    return true;
  };
  if (!ones(from, from.size() - 1)) return std::nullopt;
  if (to.back() == from.back() && ones(to, to.size() - 1)) return count;
  if (to[to.size() - 2] == from.back() && ones(to, to.size() - 2)) return Count{count.columns, 0, count.offset};
  return std::nullopt;
}

// A constant vector of equally spaced integers, along one of the last two dims.
std::optional<Count> count_of_constant(const Value& value) {
  const Sizes& sizes = value.sizes();
  if (value.dtype() != DType::i64 || !is_static(sizes) || sizes.empty()) return std::nullopt;
  const Sym count = numel(sizes);
  const bool along_columns = sizes.back() == count;
  if (count.value() < 2 || !(along_columns || (sizes.size() > 1 && sizes[sizes.size() - 2] == count)))
    return std::nullopt;
  std::vector<int64_t> numbers(static_cast<size_t>(count.value()));
  value.data.read(0, numbers.size() * sizeof(int64_t), reinterpret_cast<uint8_t*>(numbers.data()));
  int64_t step = 0;
  if (__builtin_sub_overflow(numbers[1], numbers[0], &step)) return std::nullopt;
  for (size_t i = 1; i < numbers.size(); ++i) {
    int64_t own = 0;
    if (__builtin_sub_overflow(numbers[i], numbers[i - 1], &own) || own != step) return std::nullopt;
  }
  return along_columns ? Count{0, step, numbers[0]} : Count{step, 0, numbers[0]};
}

std::optional<Count> count_of_argument(const Arg& arg, int& nodes_left) {
  if (const auto number = number_of(arg, DType::i64))
    return number->floating ? std::nullopt : std::optional(Count{0, 0, number->integer});
  const Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  if (value && value->is_constant()) return count_of_constant(*value);
  if (!value || !value->producer || --nodes_left < 0) return std::nullopt;
  if (value->dtype() != DType::i64 && value->dtype() != DType::i32) return std::nullopt;
  const Node& node = *value->producer;
  if (node.is("aten.arange.start_step")) {
    const auto start = number_of(node.arg("start"), DType::i64), step = number_of(node.arg("step"), DType::i64);
    if (!start || !step) return std::nullopt;
    return Count{0, value->sizes()[0].is(1) ? 0 : step->integer, start->integer};
  }
  if (node.is("aten._to_copy.default")) return count_of_argument(node.arg(size_t{0}), nodes_left);
  if (node.is("aten.view.default") || node.is("aten.expand.default")) {
    const auto count = count_of_argument(node.arg(size_t{0}), nodes_left);
    return count ? through_view(node, *count) : std::nullopt;
  }
  const bool subtracts = node.is(Binary::sub);
  if ((!subtracts && !node.is(Binary::add)) || node.arg(2).is<Value*>() || node.real("alpha") != 1) return std::nullopt;
  const auto a = count_of_argument(node.arg(size_t{0}), nodes_left);
  const auto b = a ? count_of_argument(node.arg(1), nodes_left) : std::nullopt;
  return b ? sum(*a, *b, subtracts) : std::nullopt;
}

// The mask where difference <= most, if that is triangular.
Mask mask_of_bound(const Count& difference, int64_t most) {
  if (difference.columns == 1 && difference.rows == -1 && difference.offset == most) return TriangularMask{true, 1};
  if (difference.columns == -1 && difference.rows == 1 && difference.offset == most + 1)
    return TriangularMask{false, 1};
  return std::nullopt;
}

Mask mask_of_comparison(const Node& node) {
  const bool less = node.is(Binary::lt), at_most = node.is(Binary::le);
  const bool greater = node.is(Binary::gt), at_least = node.is(Binary::ge);
  if (!less && !at_most && !greater && !at_least) return std::nullopt;
  int nodes_left = kMaxCountingNodes;
  const auto a = count_of_argument(node.arg(size_t{0}), nodes_left), b = count_of_argument(node.arg(1), nodes_left);
  if (!a || !b) return std::nullopt;
  const bool below = less || at_most;
  const auto difference = below ? sum(*a, *b, true) : sum(*b, *a, true);
  return difference ? mask_of_bound(*difference, less || greater ? -1 : 0) : std::nullopt;
}

// One element as a double: a bool, or an element of f64, f32, f16 or bf16.
double element_at(DType dtype, const uint8_t* bytes) {
  if (dtype == DType::boolean) return *bytes != 0 ? 1 : 0;
  double element = 0;
  load_reals(dtype, bytes, 1, &element);
  return element;
}

Mask mask_of_constant(const Value& value) {
  const Sizes& sizes = value.sizes();
  const DType dtype = value.dtype();
  if (sizes.size() < 2 || !is_static(sizes) || (dtype != DType::boolean && !has_reals(&value))) return std::nullopt;
  if (!value.tensor().dim_order.empty()) return std::nullopt;
  const size_t rows = static_cast<size_t>(sizes[sizes.size() - 2].value()),
               columns = static_cast<size_t>(sizes.back().value()), width = dtype_size_bytes(dtype);
  if (rows == 0 || columns < 2) return std::nullopt;
  std::vector<uint8_t> row(columns * width);
  Mask found;
  for (size_t i = 0; i < value.data.size_bytes() / row.size(); ++i) {
    value.data.read(i * row.size(), row.size(), row.data());
    if (!found) {  // the first two elements of the first row determine it
      const double first = element_at(dtype, row.data()), second = element_at(dtype, row.data() + width);
      found = TriangularMask{first != 0, first != 0 ? first : second};
    }
    for (size_t j = 0; j < columns; ++j) {
      const double wanted = (j <= i % rows) == found->is_lower ? found->number : 0;
      if (element_at(dtype, row.data() + j * width) != wanted) return std::nullopt;
    }
  }
  return found && found->number != 0 ? found : std::nullopt;
}

Mask find(const Value& value, int depth);

// A select between two numbers, exactly one of which is 0.
Mask mask_of_choice(const Choice& choice, int depth, DType dtype) {
  const auto a = number_of(*choice.chosen, dtype), b = number_of(*choice.other, dtype);
  if (!a || !b || a->is(0) == b->is(0)) return std::nullopt;
  const Mask condition = find(*choice.condition, depth + 1);
  return b->is(0) ? with_number(condition, a->real) : with_number(where_zero(condition), b->real);
}

Mask find(const Value& value, int depth) {
  if (value.is_constant()) return mask_of_constant(value);
  if (!value.producer || depth > kMaxDepth) return std::nullopt;
  const Node& node = *value.producer;
  const auto inner = [&](size_t index = 0) {
    const Value* from = operand(node, index);
    return from ? find(*from, depth + 1) : std::nullopt;
  };
  if (moves_data(node)) return keeps_matrices(node) ? inner() : std::nullopt;
  if (node.is("aten._to_copy.default")) {
    const Mask mask = inner();
    if (value.dtype() == DType::boolean) return where_not_zero(mask);
    const bool widens =
        is_floating(value.dtype()) && dtype_size_bytes(value.dtype()) >= dtype_size_bytes(operand(node)->dtype());
    return mask && (widens || mask->number == 1 || std::isinf(mask->number)) ? mask : std::nullopt;
  }
  if (node.is("aten.logical_not.default")) return where_zero(inner());
  if (node.is("aten.bitwise_not.default") && value.dtype() == DType::boolean) return where_zero(inner());
  if (node.is(Binary::eq) || node.is(Binary::ne)) {
    const auto number = number_of(node.arg(1), DType::f64);
    if (!number || !number->is(0)) return std::nullopt;
    return node.is(Binary::eq) ? where_zero(inner()) : where_not_zero(inner());
  }
  if (node.is(Binary::conjunction) && value.dtype() == DType::boolean) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const auto number = number_of(node.arg(i), DType::boolean);
      if (number && !number->is(0)) return where_not_zero(inner(1 - i));
    }
    return std::nullopt;
  }
  if (const auto choice = choice_of(node)) return mask_of_choice(*choice, depth, value.dtype());
  return mask_of_comparison(node);
}

}  // namespace

std::optional<TriangularMask> triangular_mask(const Value& value) { return find(value, 0); }

}  // namespace wick::compiler
