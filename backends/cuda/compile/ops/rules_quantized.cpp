// Operators that quantize and dequantize, and those that choose scales and zero points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cuda/compile/constant_numbers.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/quantization.h"
#include "compiler/ops/least_scale.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::cuda {
namespace {

using compiler::Arg;
using compiler::ConversionForm;
using compiler::TargetContext;
using compiler::Verdict;
using Blocks = ConversionForm::Blocks;

constexpr char kBadScale[] = "the scale is not positive and finite";
constexpr char kNotFinite[] = "the values are not all finite";

bool is_narrow_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }
const Value* value_or_null(const Arg& arg) { return arg.is<Value*>() ? arg.as<Value*>() : nullptr; }
bool is_affine(const ConversionForm& form) { return form.family == compiler::Quantization::Family::affine; }

// --- blocks: elements that share a scale ---

// The size of a block in each dimension; 0: all of it.
std::vector<int64_t> block_sizes(const Node& node, const ConversionForm& form, size_t rank) {
  std::vector<int64_t> out(rank, form.blocks == Blocks::whole || form.blocks == Blocks::channel ? 0 : 1);
  const Sizes& sizes = node.tensor("input")->sizes();
  if (form.blocks == Blocks::channel) out[dim_argument(node, "axis", rank)] = 1;
  if (form.blocks == Blocks::row) out.back() = 0;
  if (form.blocks == Blocks::group) out.back() = node.static_integer("group_size");
  if (form.blocks != Blocks::stated) return out;
  const compiler::Ints stated = node.ints("block_size");
  for (size_t i = 0; i < rank; ++i) {
    const bool whole = !stated[i].is_const() || stated[i].is(-1) || (stated[i] == sizes[i] && !stated[i].is(1));
    out[i] = whole ? 0 : stated[i].value();
  }
  return out;
}

// Why blocks of these sizes do not fit the tensor; "": they do.
std::string refuse_blocks(const Node& node, const ConversionForm& form) {
  const Sizes& sizes = node.tensor("input")->sizes();
  if (form.blocks == Blocks::stated) {
    const compiler::Ints stated = node.ints("block_size");
    if (stated.size() != sizes.size()) return "its blocks have another rank";
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!stated[i].is_const() && !(stated[i] == sizes[i])) return "the size of its blocks is known only at run time";
    }
  }
  if (sizes.empty() && form.blocks != Blocks::whole && form.blocks != Blocks::stated) return "it is a scalar";
  const std::vector<int64_t> blocks = block_sizes(node, form, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (blocks[i] == 0 || blocks[i] == 1) continue;
    if (blocks[i] < 0 || !sizes[i].is_const() || sizes[i].value() % blocks[i] != 0)
      return "its blocks do not divide the tensor";
  }
  return "";
}

// The number of blocks along each dimension. block_at(): the block of an element.
Sizes block_counts(const Sizes& sizes, const std::vector<int64_t>& blocks) {
  Sizes out;
  for (size_t i = 0; i < sizes.size(); ++i) out.push_back(blocks[i] == 0 ? Sym(1) : floor_div(sizes[i], blocks[i]));
  return out;
}
Indices block_at(ExpressionPool& pool, const std::vector<int64_t>& blocks, const Indices& at) {
  Indices out;
  for (size_t i = 0; i < at.size(); ++i) {
    out.push_back(blocks[i] == 0 ? pool.index(0) : pool.floor_divide(at[i], pool.index(Sym(blocks[i]))));
  }
  return out;
}

// The parameter of a block, from a tensor of any sizes with as many elements as there are blocks.
ExpressionPtr parameter_at(Lowering& l, const Value* parameter, const Sizes& counts, const Indices& block) {
  if (numel(parameter->sizes()).is(1)) return l.element(parameter, Indices(parameter->rank(), l.pool().index(0)));
  if (parameter->sizes() == counts) return l.element(parameter, block);
  return l.element(parameter, l.split(l.join(block, counts), parameter->sizes()));
}

// --- parameters ---

struct Parameters {
  const Node* node;
  const ConversionForm* form;
  std::vector<int64_t> blocks;
  Sizes counts;
  const Value *scale, *zero;  // null: numbers among the arguments, or no zero point
  bool small_zero = false;    // an element minus the zero point fits an i32
  bool no_zero = false;
  uint32_t check = 0;  // for a scale from a tensor, if the operator has a single scale

  Parameters(Lowering& l, const Node& of)
      : node(&of),
        form(compiler::conversion_of(of)),
        blocks(block_sizes(of, *form, of.tensor("input")->rank())),
        counts(block_counts(of.tensor("input")->sizes(), blocks)),
        scale(value_or_null(of.arg(form->scale))),
        zero(value_or_null(of.arg(form->zero))) {
    constexpr double kSmall = 1 << 30;
    if (zero) {
      const std::optional<NumberRange> range = range_of_constant(*zero);
      no_zero = range && range->least == 0 && range->largest == 0;
      small_zero = is_integral(zero->dtype()) && dtype_size_bytes(zero->dtype()) <= 2;
      small_zero = small_zero || (range && range->whole && range->least >= -kSmall && range->largest <= kSmall);
    } else if (of.arg(form->zero).is<compiler::None>()) {
      no_zero = true;
    } else {
      const int64_t point = of.static_integer(form->zero);
      no_zero = point == 0;
      small_zero = point >= -(int64_t{1} << 30) && point <= int64_t{1} << 30;
    }
    if (checks_scale()) check = l.add_check(kBadScale);
  }

  bool checks_scale() const { return scale && !scale->is_constant() && form->blocks == Blocks::whole; }
  // Whether reals are computed in f64.
  bool is_wide() const {
    return scale && scale->dtype() == DType::f64 && form->blocks != Blocks::whole && form->blocks != Blocks::group;
  }

  ExpressionPtr scale_at(Lowering& l, const Indices& at) const {
    ExpressionPool& pool = l.pool();
    if (!scale) return pool.number(node->real(form->scale), ScalarType::f64);
    ExpressionPtr held = parameter_at(l, scale, counts, block_at(pool, blocks, at));
    if (!checks_scale()) return held;
    // A scale that is not read must not fail the check.
    if (pool.guard()) held = pool.select(pool.guard(), held, pool.number(1, held->type));
    return pool.call(held->type, fmt::format("checked_scale({{0}}, {{check}}, {})", check), {held});
  }
  // 1 / scale, rounded to the scale's dtype, or to f32 if there is a single scale.
  ExpressionPtr inverse_at(Lowering& l, const Indices& at) const {
    ExpressionPool& pool = l.pool();
    if (!scale) return pool.number(static_cast<float>(1.0 / node->real(form->scale)), ScalarType::f32);
    const ExpressionPtr held = scale_at(l, at);
    const ScalarType type = form->blocks == Blocks::whole ? ScalarType::f64 : held->type;
    const ExpressionPtr inverse = pool.call(type, "reciprocal({0})", {pool.cast(held, type)});
    return pool.cast(inverse, is_wide() ? ScalarType::f64 : ScalarType::f32);
  }
  // i64, or i32 if it is small; null if it is 0.
  ExpressionPtr zero_at(Lowering& l, const Indices& at) const {
    if (no_zero) return nullptr;
    ExpressionPool& pool = l.pool();
    const ScalarType type = small_zero ? ScalarType::i32 : ScalarType::i64;
    if (!zero) return pool.cast(pool.index(node->static_integer(form->zero)), type);
    return pool.cast(parameter_at(l, zero, counts, block_at(pool, blocks, at)), type);
  }
};

// --- quantize and dequantize ---

// clamp(round(x * (1 / scale)) + zero_point, low, high). With a scale for each row, the zero point is added before
// rounding.
void lower_quantize(Lowering& l, const Node& node) {
  const Parameters parameters(l, node);
  const Value* x = node.tensor("input");
  const std::string text = fmt::format("quantized({{0}}, {{1}}, {}, {})", node.static_integer("quant_min"),
                                       node.static_integer("quant_max"));
  l.define(node.result(), [&l, x, parameters, text](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ScalarType type = parameters.is_wide() ? ScalarType::f64 : ScalarType::f32;
    const ExpressionPtr real = pool.cast(pool.cast(l.element(x, at), ScalarType::f32), type);
    ExpressionPtr scaled = pool.call(type, "op_mul({0}, {1})", {real, parameters.inverse_at(l, at)});
    ExpressionPtr zero = parameters.zero_at(l, at);
    if (zero && parameters.form->blocks == Blocks::row) {
      scaled = pool.call(type, "op_add({0}, {1})", {scaled, pool.cast(zero, type)});
      zero = nullptr;
    }
    if (!zero) zero = pool.cast(pool.index(0), ScalarType::i64);
    return pool.call(ScalarType::i32, text, {scaled, pool.cast(zero, ScalarType::i64)});
  });
}

// If elements are read many times, the integers are stored in memory.
void store_if_read_again(Lowering& l, const Node& node) {
  const Value* elements = node.tensor("input");
  const auto& users = node.result()->users();
  const auto rereads = [](const Node* user) {
    const OpRule* rule = find_rule(*user);
    return rule && rule->rereads;
  };
  if (std::any_of(users.begin(), users.end(), rereads)) l.store_if_expensive(elements, 0);
}

// (x - zero_point) * scale
void lower_dequantize(Lowering& l, const Node& node) {
  store_if_read_again(l, node);
  const Parameters parameters(l, node);
  const Value* x = node.tensor("input");
  const DType dtype = node.result()->dtype();
  const bool wide = parameters.is_wide() || dtype == DType::f64;
  // Scales of groups are rounded to the dtype first.
  const bool rounds_scale = parameters.form->blocks == Blocks::group;
  l.define(node.result(), [&l, x, parameters, dtype, wide, rounds_scale](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ScalarType type = wide ? ScalarType::f64 : ScalarType::f32;
    const ExpressionPtr element = pool.cast(l.element(x, at), ScalarType::i32);
    ExpressionPtr scale = parameters.scale_at(l, at);
    scale = pool.cast(rounds_scale ? pool.rounded(pool.cast(scale, type), dtype) : scale, type);
    const ExpressionPtr zero = parameters.zero_at(l, at);
    ExpressionPtr real = nullptr;
    if (wide) {
      const ExpressionPtr point = zero ? pool.cast(zero, ScalarType::i64) : pool.cast(pool.index(0), ScalarType::i64);
      real = pool.call(type, "dequantized({0}, {1}, {2})", {element, point, scale});
    } else if (zero) {
      real = pool.call(type, "dequantized({0}, {1}, {2})", {element, zero, scale});
    } else {
      real = pool.call(type, "dequantized({0}, {1})", {element, scale});
    }
    return pool.rounded(pool.cast(real, scalar_type(dtype)), dtype);
  });
}

// Why the portable kernels would not take these scales and zero points; "": they would.
std::string refuse_parameters(const Node& node, const ConversionForm& form) {
  const Value *scale = value_or_null(node.arg(form.scale)), *zero = value_or_null(node.arg(form.zero));
  Sym count = 1;
  const Sizes& sizes = node.tensor("input")->sizes();
  for (const Sym& blocks : block_counts(sizes, block_sizes(node, form, sizes.size()))) count = count * blocks;
  for (const Value* parameter : {scale, zero}) {
    if (parameter && !same(numel(parameter->sizes()), count)) return "there is not one parameter for each block";
  }
  if (scale && scale->is_constant() && form.blocks == Blocks::whole) {
    const std::optional<NumberRange> range = range_of_constant(*scale);
    if (!range || !(range->least > 0 && std::isfinite(range->largest))) return kBadScale;
  }
  if (!scale && !(node.real(form.scale) > 0 && std::isfinite(node.real(form.scale)))) return kBadScale;
  if (zero && !is_integral(zero->dtype())) {
    const std::optional<NumberRange> range = range_of_constant(*zero);
    if (!range || !range->whole) return "its zero points are not integers";
  }
  return "";
}

Verdict converts(const Node& node, const TargetContext&) {
  const ConversionForm& form = *compiler::conversion_of(node);
  const bool makes = form.conversion == compiler::Conversion::quantize;
  const DType elements = makes ? node.result()->dtype() : node.tensor("input")->dtype();
  int64_t low = 0, high = 0;
  if (!compiler::integer_range(elements, &low, &high) || dtype_size_bytes(elements) > 4)
    return Verdict::no(fmt::format("elements of {} are not quantized", dtype_name(elements)));
  if (std::string reason = refuse_blocks(node, form); !reason.empty()) return Verdict::no(std::move(reason));
  if (std::string reason = refuse_parameters(node, form); !reason.empty()) return Verdict::no(std::move(reason));
  if (is_affine(form)) {
    // Differences of bytes are exact in all floating dtypes. For others the decomposition would round step by step.
    const Value *zero = node.optional_tensor("zero_point"), *scale = node.tensor("scale");
    const bool bytes = dtype_size_bytes(elements) == 1 && (!zero || dtype_size_bytes(zero->dtype()) == 1);
    const bool narrow = node.result()->dtype() != DType::f64 && scale->dtype() != DType::f64;
    return bytes && narrow ? Verdict::yes() : Verdict::no("neither its elements nor its zero points are bytes");
  }
  const int64_t first = node.static_integer("quant_min"), last = node.static_integer("quant_max");
  if (first < low || last > high || first > last) return Verdict::no("quant_min and quant_max exceed the dtype");
  return Verdict::yes();
}

// Whether zero points lie in the range of bytes, in whatever dtype. Differences from elements are then exact in all
// floating dtypes.
bool are_bytes(const Value* zero, DType elements) {
  if (!zero || (is_integral(zero->dtype()) && dtype_size_bytes(zero->dtype()) == 1)) return true;
  const std::optional<NumberRange> range = range_of_constant(*zero);
  int64_t low = 0, high = 0;
  return range && range->whole && compiler::integer_range(elements, &low, &high) &&
         range->least >= static_cast<double>(low) && range->largest <= static_cast<double>(high);
}

Verdict dequantizes_groups(const Node& node, const TargetContext& context) {
  const DType elements = node.tensor("input")->dtype();
  const bool bytes = dtype_size_bytes(elements) == 1 && are_bytes(node.optional_tensor("zero_points"), elements);
  if (!bytes || node.result()->dtype() == DType::f64)
    return Verdict::no("neither its elements nor its zero points are bytes");
  return converts(node, context);
}

// --- scales and zero points of what a tensor holds ---

// The smallest and the largest element of the columns, where 0 counts as an element.
struct Extremes {
  ExpressionPtr low, high;
};
Extremes extremes(Lowering& l, Draft& draft, ExpressionPtr element) {
  ExpressionPool& pool = l.pool();
  const ExpressionPtr none = pool.number(0, element->type);
  const ExpressionPtr low = l.reduce(draft, ReductionKind::minimum, element);
  const ExpressionPtr high = l.reduce(draft, ReductionKind::maximum, element);
  return {pool.call(element->type, "minimum({0}, {1})", {low, none}),
          pool.call(element->type, "maximum({0}, {1})", {high, none})};
}

void finish_parameters(Lowering& l, const Node& node, Draft draft, const Indices& at, ExpressionPtr scale,
                       ExpressionPtr zero) {
  ExpressionPool& pool = l.pool();
  std::vector<Lowering::DraftResult> results;
  const ExpressionPtr values[] = {scale, zero};
  for (size_t i = 0; i < 2; ++i) {
    const DType dtype = node.result(i)->dtype();
    if (node.result(i)->num_uses() > 0)
      results.push_back({node.result(i), at, pool.rounded(pool.cast(values[i], scalar_type(dtype)), dtype)});
  }
  l.finish(std::move(draft), std::move(results));
}

ExpressionPtr chosen_scale(Lowering& l, const Extremes& range, double steps, double least) {
  ExpressionPool& pool = l.pool();
  const auto number = [&](double value) { return pool.number(static_cast<float>(value), ScalarType::f32); };
  const std::string text =
      fmt::format("chosen_scale({{0}}, {{1}}, {{2}}, {{3}}, {{check}}, {})", l.add_check(kNotFinite));
  return pool.call(ScalarType::f32, text, {range.low, range.high, number(steps), number(least)});
}

void lower_choose(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value* x = node.tensor("input");
  const int64_t first = node.static_integer("quant_min"), last = node.static_integer("quant_max");
  Draft draft = l.draft({}, x->sizes());
  const Extremes range = extremes(l, draft, pool.cast(l.element(x, draft.columns), ScalarType::f32));
  const ExpressionPtr scale = chosen_scale(l, range, static_cast<double>(last - first), node.real("eps"));
  const ExpressionPtr zero = pool.call(
      ScalarType::i64, fmt::format("chosen_zero_point({{0}}, {{1}}, {}, {})", first, last), {range.low, scale});
  finish_parameters(l, node, std::move(draft), {pool.index(0)}, scale, zero);
}
Verdict has_range(const Node& node, const TargetContext&) {
  const int64_t first = node.static_integer("quant_min"), last = node.static_integer("quant_max");
  const bool sane = first >= INT32_MIN && last <= INT32_MAX && first <= 0 && last >= 0 && first < last;
  return sane && static_cast<float>(node.real("eps")) > 0
             ? Verdict::yes()
             : Verdict::no("quant_min and quant_max do not enclose 0, or eps is not positive");
}

void lower_choose_rows(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value* x = node.tensor("input");
  const Sizes rows(x->sizes().begin(), x->sizes().end() - 1);
  Draft draft = l.draft(rows, {x->sizes().back()});
  Indices at = draft.rows;
  at.push_back(draft.columns[0]);
  const Extremes range = extremes(l, draft, pool.cast(l.element(x, at), ScalarType::f32));
  const ExpressionPtr scale = chosen_scale(l, range, 255, 0x1p-23);
  const ExpressionPtr zero =
      pool.call(ScalarType::i64, "chosen_row_zero_point({0}, {1}, {2})", {range.low, range.high, scale});
  at.back() = pool.index(0);
  finish_parameters(l, node, std::move(draft), at, scale, zero);
}

// The blocks of torchao.choose_qparams_affine as rows, with the elements of a block as columns.
struct BlockLoops {
  std::vector<int64_t> blocks;
  Sizes rows, columns;

  explicit BlockLoops(const Node& node) {
    const Sizes& sizes = node.tensor("input")->sizes();
    blocks = block_sizes(node, *compiler::conversion_of(node), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (blocks[i] != 0) rows.push_back(floor_div(sizes[i], blocks[i]));
      if (blocks[i] != 1) columns.push_back(blocks[i] == 0 ? sizes[i] : Sym(blocks[i]));
    }
  }
  Indices element_at(ExpressionPool& pool, const Indices& row, const Indices& column) const {
    Indices at;
    size_t r = 0, c = 0;
    for (const int64_t block : blocks) {
      ExpressionPtr index = block == 0 ? pool.index(0) : pool.multiply(row[r++], pool.index(Sym(block)));
      at.push_back(block == 1 ? index : pool.add(index, column[c++]));
    }
    return at;
  }
  Indices parameter_at(ExpressionPool& pool, const Indices& row, bool keeps_dims) const {
    Indices at;
    size_t r = 0;
    for (const int64_t block : blocks) {
      if (block != 0) at.push_back(row[r++]);
      if (block != 1 && keeps_dims) at.push_back(pool.index(0));
    }
    return at;
  }
};

// The range of the elements: that of the dtype if the node names none.
NumberRange element_range(const Node& node) {
  int64_t low = 0, high = 0;
  compiler::integer_range(*node.dtype("target_dtype"), &low, &high);
  NumberRange out{static_cast<double>(low), static_cast<double>(high)};
  if (!node.is_none("quant_min")) out.least = node.real("quant_min");
  if (!node.is_none("quant_max")) out.largest = node.real("quant_max");
  return out;
}

// If symmetric, scale = max(-low, high) / half the range. Otherwise scale = (high - low) / range, and the zero point
// maps low to the first element. Each step is rounded to the tensor's dtype.
void lower_choose_affine(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value* x = node.tensor("input");
  const BlockLoops loops(node);
  const NumberRange range = element_range(node);
  Draft draft = l.draft(loops.rows, loops.columns);
  const Extremes ends = extremes(l, draft, l.element(x, loops.element_at(pool, draft.rows, draft.columns)));
  const auto number = [&](double value) { return pool.number(static_cast<float>(value), ScalarType::f32); };
  const auto step = [&](const char* text, std::vector<ExpressionPtr> args) {
    return pool.rounded(pool.call(ScalarType::f32, text, std::move(args)), x->dtype());
  };
  const bool symmetric = node.string("mapping_type") == "SYMMETRIC";
  const ExpressionPtr reach = symmetric ? pool.call(ScalarType::f32, "maximum(op_neg({0}), {1})", {ends.low, ends.high})
                                        : step("op_sub({0}, {1})", {ends.high, ends.low});
  const double steps = (range.largest - range.least) / (symmetric ? 2 : 1);
  const ExpressionPtr quotient = step("op_div({0}, {1})", {reach, number(steps)});
  const ExpressionPtr scale = step("maximum({0}, {1})", {quotient, number(compiler::least_scale(node))});
  ExpressionPtr zero = number(std::trunc((range.largest + range.least + 1) / 2));
  if (!symmetric) {
    const ExpressionPtr offset = step("round({0})", {step("op_div({0}, {1})", {ends.low, scale})});
    zero = step("op_sub({0}, {1})", {number(range.least), offset});
    zero = step("minimum(maximum({0}, {1}), {2})", {zero, number(range.least), number(range.largest)});
  }
  const Indices at = loops.parameter_at(pool, draft.rows, node.boolean("keepdim"));
  finish_parameters(l, node, std::move(draft), at, scale, zero);
}
Verdict chooses_affine(const Node& node, const TargetContext&) {
  const ConversionForm& form = *compiler::conversion_of(node);
  int64_t low = 0, high = 0;
  if (!is_narrow_real(node.tensor("input")->dtype())) return Verdict::no("parameters of f64 are chosen in steps");
  if (!node.dtype("target_dtype") || !compiler::integer_range(*node.dtype("target_dtype"), &low, &high))
    return Verdict::no("what it quantizes to are no integers");
  const std::string mapping = node.string("mapping_type");
  if (mapping != "SYMMETRIC" && mapping != "ASYMMETRIC") return Verdict::no("its mapping type is " + mapping);
  if (std::string reason = refuse_blocks(node, form); !reason.empty()) return Verdict::no(std::move(reason));
  return BlockLoops(node).columns.empty() ? Verdict::no("each element has parameters of its own") : Verdict::yes();
}

// --- embeddings: rows of quantized tables ---

ExpressionPtr packed_element(Lowering& l, const Value* table, int bits, ExpressionPtr row, ExpressionPtr column) {
  ExpressionPool& pool = l.pool();
  if (bits == 8) return l.element(table, {row, column});
  const ExpressionPtr per_byte = pool.index(8 / bits);
  const ExpressionPtr byte = l.element(table, {row, pool.floor_divide(column, per_byte)});
  const ExpressionPtr number = pool.cast(pool.modulo(column, per_byte), ScalarType::i32);
  // For 4 bits, the first element is in the upper half of the byte.
  return pool.call(ScalarType::i32, bits == 4 ? "(nibble({0}, 1 - {1}) - 8)" : "(({0} >> 2 * {1} & 3) - 2)",
                   {byte, number});
}

void lower_packed_embedding(Lowering& l, const Node& node, int bits) {
  const Value *table = node.tensor("weight"), *scales = node.tensor("weight_scales"),
              *zeros = node.optional_tensor("weight_zero_points"), *indices = node.tensor("indices");
  const uint32_t check = l.add_check();
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, table, scales, zeros, indices, bits, check, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const Indices own(at.begin(), at.end() - 1);
    const ExpressionPtr row = l.checked_index(l.element(indices, own), table->sizes()[0], false, check);
    Indices group = {row};
    if (scales->rank() == 2) {
      const Sym width = floor_div(table->sizes()[1] * (8 / bits), scales->sizes()[1]);
      group.push_back(pool.floor_divide(at.back(), pool.index(width)));
    }
    ExpressionPtr real = pool.cast(packed_element(l, table, bits, row, at.back()), ScalarType::f32);
    if (zeros) {
      const Indices place =
          zeros->rank() == group.size() ? group : l.split(l.join(group, scales->sizes()), zeros->sizes());
      real = pool.call(ScalarType::f32, "op_sub({0}, {1})", {real, l.element(zeros, place)});
    }
    real = pool.rounded(real, scales->dtype());
    real = pool.call(ScalarType::f32, "op_mul({0}, {1})", {real, l.element(scales, group)});
    return pool.rounded(pool.rounded(real, scales->dtype()), dtype);
  });
}
void lower_embedding_byte(Lowering& l, const Node& node) { lower_packed_embedding(l, node, 8); }
void lower_embedding_4bit(Lowering& l, const Node& node) { lower_packed_embedding(l, node, 4); }
void lower_embedding_2bit(Lowering& l, const Node& node) { lower_packed_embedding(l, node, 2); }

Verdict has_table(const Node& node, int bits) {
  const Value *table = node.tensor("weight"), *scales = node.tensor("weight_scales"),
              *zeros = node.optional_tensor("weight_zero_points");
  const int64_t low = node.static_integer("weight_quant_min"), high = node.static_integer("weight_quant_max");
  const bool range = bits == 8 ? low <= high : low == (bits == 4 ? -8 : -2) && high == (bits == 4 ? 7 : 1);
  if (!range) return Verdict::no("the quantized range is not that of the table");
  if (table->dtype() != DType::u8 && !(table->dtype() == DType::i8 && bits == 8))
    return Verdict::no("the table does not hold bytes");
  const bool reals = is_narrow_real(scales->dtype()) && is_narrow_real(node.result()->dtype()) &&
                     (!zeros || zeros->dtype() == scales->dtype());
  if (!reals) return Verdict::no("scales and zero points do not have one dtype of f32, f16, bf16");
  const bool shaped = (scales->rank() == 1 || scales->rank() == 2) && same(scales->sizes()[0], table->sizes()[0]) &&
                      (!zeros || same(numel(zeros->sizes()), numel(scales->sizes())));
  if (!shaped) return Verdict::no("there is not one row of scales for each row of the table");
  const Sym width = table->sizes()[1] * (8 / bits);
  const bool divides = scales->rank() == 1 || (width.is_const() && scales->sizes()[1].is_const() &&
                                               width.value() % scales->sizes()[1].value() == 0);
  return divides ? Verdict::yes() : Verdict::no("the groups do not divide the rows of the table");
}
Verdict has_byte_table(const Node& node, const TargetContext&) { return has_table(node, 8); }
Verdict has_4bit_table(const Node& node, const TargetContext&) { return has_table(node, 4); }
Verdict has_2bit_table(const Node& node, const TargetContext&) { return has_table(node, 2); }

#define QD "quantized_decomposed."
constexpr OpRule kQuantizedRows[] = {
    {QD "quantize_per_tensor.default", lower_quantize, converts},
    {QD "quantize_per_tensor.tensor", lower_quantize, converts},
    {QD "quantize_per_channel.default", lower_quantize, converts},
    {QD "quantize_per_token.default", lower_quantize, converts},
    {QD "dequantize_per_tensor.default", lower_dequantize, converts},
    {QD "dequantize_per_tensor.tensor", lower_dequantize, converts},
    {QD "dequantize_per_channel.default", lower_dequantize, converts},
    {QD "dequantize_per_token.default", lower_dequantize, converts},
    whole({QD "dequantize_per_channel_group.default", lower_dequantize, dequantizes_groups}),
    whole({"torchao.dequantize_affine.default", lower_dequantize, converts}),
    whole({"torchao.choose_qparams_affine.default", lower_choose_affine, chooses_affine}),
    {QD "choose_qparams.tensor", lower_choose, has_range},
    {QD "choose_qparams_per_token_asymmetric.default", lower_choose_rows},
    {QD "embedding_byte.default", lower_embedding_byte, has_byte_table},
    {QD "embedding_byte.dtype", lower_embedding_byte, has_byte_table},
    {QD "embedding_4bit.default", lower_embedding_4bit, has_4bit_table},
    {QD "embedding_4bit.dtype", lower_embedding_4bit, has_4bit_table},
    {QD "embedding_2bit.default", lower_embedding_2bit, has_2bit_table},
    {QD "embedding_2bit.dtype", lower_embedding_2bit, has_2bit_table},
};
#undef QD

}  // namespace

const Span<const OpRule> kQuantizedRules{kQuantizedRows};

}  // namespace wick::cuda
