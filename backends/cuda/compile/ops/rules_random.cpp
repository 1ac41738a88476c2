// Random numbers: those of the portable kernels (runtime/kernels/random, common/random.h), from the same stream.
#include <fmt/format.h>

#include <cmath>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

using compiler::Verdict;

/// Where the draw of the element at `at` is, if a block holds the draws of `each` elements: the block, and the number
/// in it.
struct Place {
  ExpressionPtr block, lane;  // i64
};
Place place_of_draw(Lowering& l, const Lowering::Draw& draw, const Indices& at, const Sizes& sizes, int64_t each) {
  ExpressionPool& pool = l.pool();
  const ExpressionPtr linear = l.join(at, sizes), count = pool.index(each);
  return {add(pool, draw.first, pool.cast(pool.floor_divide(linear, count), ScalarType::i64)),
          pool.cast(pool.modulo(linear, count), ScalarType::i64)};
}

Sym blocks_for(const Sizes& sizes, int64_t each) { return floor_div(numel(sizes) + (each - 1), each); }

// Uniform in [0, 1), with as many bits as the dtype has.
void lower_rand(Lowering& l, const Node& node) {
  const Value* y = node.result();
  const DType dtype = y->dtype();
  const Sizes& sizes = y->sizes();
  const int64_t each = dtype == DType::f64 ? 2 : 4;
  const Lowering::Draw draw = l.draw_blocks(blocks_for(sizes, each));
  const int drop = dtype == DType::f32 ? 8 : dtype == DType::f16 ? 21 : 24;
  l.define(y, [&l, draw, sizes, each, dtype, drop](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const Place place = place_of_draw(l, draw, at, sizes, each);
    if (dtype == DType::f64)
      return pool.call(ScalarType::f64, "uniform_of_words({0}, {1}, {2})", {draw.seed, place.block, place.lane});
    const ExpressionPtr word =
        pool.call(ScalarType::i64, "random_word({0}, {1}, {2})", {draw.seed, place.block, place.lane});
    return pool.call(ScalarType::f32, fmt::format("uniform_of_word({{0}}, {})", drop), {word});
  });
}

void lower_randn(Lowering& l, const Node& node) {
  const Value* y = node.result();
  const DType dtype = y->dtype();
  const Sizes& sizes = y->sizes();
  const Lowering::Draw draw = l.draw_blocks(blocks_for(sizes, 4));
  l.define(y, [&l, draw, sizes, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const Place place = place_of_draw(l, draw, at, sizes, 4);
    const ExpressionPtr number =
        pool.call(ScalarType::f64, "normal_of_words({0}, {1}, {2})", {draw.seed, place.block, place.lane});
    return pool.rounded(pool.cast(number, scalar_type(dtype)), dtype);
  });
}

// x / (1 - p) if a uniform number is at least p, else 0; the second result says which.
void lower_dropout(Lowering& l, const Node& node) {
  const Value *x = node.tensor("input"), *y = node.result(0), *mask = node.result(1);
  const DType dtype = y->dtype();
  const ScalarType type = scalar_type(dtype);
  const Sizes& sizes = y->sizes();
  const double p = node.real("p");
  if (mask->num_uses() > 0) l.store(x);  // an unfinished kernel cannot be read by both results
  const Lowering::Draw draw = l.draw_blocks(blocks_for(sizes, 4));
  const std::string at_least = fmt::format("({{0}} >= {}ll)", static_cast<int64_t>(std::ceil(p * 0x1p32)));
  const Element kept = [&l, draw, sizes, at_least](const Indices& at) {
    const Place place = place_of_draw(l, draw, at, sizes, 4);
    const ExpressionPtr word =
        l.pool().call(ScalarType::i64, "random_word({0}, {1}, {2})", {draw.seed, place.block, place.lane});
    return l.pool().call(ScalarType::boolean, at_least, {word});
  };
  if (mask->num_uses() > 0) l.define(mask, kept);
  if (y->num_uses() == 0) return;
  const double rest = 1 - p;
  const double scale = p == 1                    ? 0
                       : type == ScalarType::f32 ? static_cast<double>(1 / static_cast<float>(rest))
                                                 : 1 / rest;
  l.define(y, [&l, x, dtype, type, kept, scale](const Indices& at) {
    ExpressionPool& inner = l.pool();
    const ExpressionPtr scaled = mul(inner, l.element(x, at), inner.number(scale, type));
    return inner.rounded(inner.select(kept(at), scaled, inner.number(0, type)), dtype);
  });
}

// Element i draws from its own stream, which block i identifies.
void lower_distribution(Lowering& l, const Node& node, const char* text, std::vector<const Value*> parameters,
                        const char* what) {
  const Value* y = node.result();
  const DType dtype = y->dtype();
  for (const Value* parameter : parameters) l.store_if_expensive(parameter, 2);
  const uint32_t check = l.add_check(what);
  const Lowering::Draw draw = l.draw_blocks(compiler::numel(y->sizes()));
  l.define(y, [&l, y, draw, dtype, text, parameters, check](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ExpressionPtr linear = pool.cast(l.join(at, y->sizes()), ScalarType::i64);
    std::vector<ExpressionPtr> args = {draw.seed, add(pool, draw.first, linear)};
    for (const Value* parameter : parameters) {
      const ExpressionPtr given = pool.cast(l.element(parameter, at), ScalarType::f64);
      const std::string checked = fmt::format("checked_parameter({{0}}, {{check}}, {})", check);
      args.push_back(args.size() == 2 ? pool.call(ScalarType::f64, checked, {given}) : given);
    }
    return pool.rounded(pool.cast(pool.call(ScalarType::f64, text, std::move(args)), scalar_type(dtype)), dtype);
  });
}
void lower_poisson(Lowering& l, const Node& node) {
  lower_distribution(l, node, "draw_poisson({0}, {1}, {2})", {node.tensor("self")}, "a rate is negative or not finite");
}
void lower_gamma(Lowering& l, const Node& node) {
  lower_distribution(l, node, "draw_gamma({0}, {1}, {2})", {node.tensor("self")}, "a shape is negative or not finite");
}
void lower_binomial(Lowering& l, const Node& node) {
  lower_distribution(l, node, "draw_binomial({0}, {1}, {2}, {3})", {node.tensor("count"), node.tensor("prob")},
                     "a count is negative or not finite");
}

// Kernels count elements in 32 bits.
Verdict few_numbers(const Node& node, const compiler::TargetContext& context) {
  if (compiler::SymScope::range(numel(node.result()->sizes())).max > INT32_MAX)
    return Verdict::no("it draws more than 2^31 random numbers");
  return gives_floats(node, context);
}

Verdict in_training(const Node& node, const compiler::TargetContext& context) {
  const double p = node.real("p");
  if (!(p >= 0 && p <= 1)) return Verdict::no("the probability lies outside [0, 1]");
  if (!node.is_none("train") && !node.boolean("train")) return Verdict::no("dropout that drops nothing has no kernel");
  return few_numbers(node, context);
}

constexpr OpRule kRandomRows[] = {
    {"aten.rand.default", lower_rand, few_numbers},
    {"aten.randn.default", lower_randn, few_numbers},
    {"aten.native_dropout.default", lower_dropout, in_training},
    {"aten.poisson.default", lower_poisson, few_numbers},
    {"aten.binomial.default", lower_binomial, few_numbers},
    {"aten._standard_gamma.default", lower_gamma, few_numbers},
};

}  // namespace

const Span<const OpRule> kRandomRules{kRandomRows};

Lowering::Draw Lowering::draw_blocks(const Sym& blocks) {
  if (out_.random == UINT32_MAX) {
    KernelBuffer buffer;
    buffer.kind = KernelBuffer::Kind::random;
    buffer.dtype = DType::i64;
    buffer.elements = 2;
    out_.random = static_cast<uint32_t>(out_.buffers.size());
    out_.buffers.push_back(std::move(buffer));
  }
  const auto wide = [this](const Sym& sym) { return pool().cast(pool().index(sym), ScalarType::i64); };
  ExpressionPtr first = pool().load(out_.random, DType::i64, pool().index(1));
  // Each number fits the index type, but their sum may not.
  int64_t known = 0;
  for (const Sym& before : out_.random_blocks) {
    if (before.is_const())
      known += before.value();
    else
      first = add(pool(), first, wide(before));
  }
  constexpr int64_t kStep = int64_t{1} << 30;
  if (known >= kStep) first = add(pool(), first, mul(pool(), wide(known / kStep), wide(kStep)));
  if (known % kStep != 0) first = add(pool(), first, wide(known % kStep));
  out_.random_blocks.push_back(blocks);
  return {pool().load(out_.random, DType::i64, pool().index(0)), first};
}

}  // namespace wick::cuda
