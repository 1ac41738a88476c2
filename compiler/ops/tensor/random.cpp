// Random numbers. Every operator decomposes to rand (uniform in [0, 1)), randn (standard normal), or distributions with
// a parameter for each element, which have kernels of their own.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void infer_random(Node& node) { set_result(node, node.dtype("dtype").value_or(DType::f32), node.ints("size")); }
void infer_random_like(Node& node) {
  const Value* x = node.tensor("self");
  const bool typed = node.op->parsed->find("dtype") >= 0;
  set_result(node, typed ? node.dtype("dtype").value_or(x->dtype()) : x->dtype(), x->sizes());
}

Value* uniform(Builder& b, Sizes sizes, DType dtype = DType::f32) {
  return b.call("aten.rand", {std::move(sizes), dtype});
}
Value* normal(Builder& b, Sizes sizes, DType dtype = DType::f32) {
  return b.call("aten.randn", {std::move(sizes), dtype});
}

// Complex numbers are drawn as pairs; the parts of a normal one have variance 1/2 each.
Results decompose_complex_draw(Builder& b, Node& node, const char* name, double scale) {
  const DType dtype = node.result()->dtype();
  if (!is_complex(dtype)) return {};
  Compose c(b);
  Sizes sizes = node.result()->sizes();
  sizes.emplace_back(2);
  Value* pairs = b.call(name, {std::move(sizes), dtype == DType::c128 ? DType::f64 : DType::f32});
  return {b.call("aten.view_as_complex", {scale == 1 ? pairs : c.mul(pairs, scale)})};
}
Results decompose_rand(Builder& b, Node& node) { return decompose_complex_draw(b, node, "aten.rand", 1); }
Results decompose_randn(Builder& b, Node& node) {
  return decompose_complex_draw(b, node, "aten.randn", 0.70710678118654752440);
}

Results decompose_uniform_draw(Builder& b, Node& node) {
  return {uniform(b, node.result()->sizes(), node.result()->dtype())};
}
Results decompose_normal_draw(Builder& b, Node& node) {
  return {normal(b, node.result()->sizes(), node.result()->dtype())};
}

// `count` equally likely integers from `first` on; i64.
Value* whole_numbers(Builder& b, const Sizes& sizes, int64_t first, uint64_t count) {
  Compose c(b);
  const auto below = [&](DType dtype, double limit) {
    return b.cast(b.call("aten.floor", {c.mul(uniform(b, sizes, dtype), limit)}), DType::i64);
  };
  const DType drawn = count <= uint64_t{1} << 24 ? DType::f32 : DType::f64;
  if (count <= uint64_t{1} << 53) return c.add(below(drawn, static_cast<double>(count)), first);
  require(count <= uint64_t{1} << 63, "a range of random integers has at most 2^63 of them");
  const uint64_t high_words = ((count - 1) >> 32) + 1;
  Value* high = c.mul(below(DType::f64, static_cast<double>(high_words)), int64_t{1} << 32);
  Value* bits = c.add(high, below(DType::f64, 0x1p32));
  if (count < uint64_t{1} << 63) bits = b.call("aten.remainder.Scalar", {bits, static_cast<int64_t>(count)});
  return c.add(bits, first);
}

// from + (to - from) * rand
Results decompose_uniform(Builder& b, Node& node) {
  Compose c(b);
  const Value* x = node.tensor("self");
  const double from = node.real("from"), to = node.real("to");
  return {c.add(c.mul(uniform(b, x->sizes(), x->dtype()), to - from), from)};
}
Results decompose_normal(Builder& b, Node& node) {
  Compose c(b);
  const Value* x = node.tensor("self");
  return {c.add(c.mul(normal(b, x->sizes(), x->dtype()), node.real("std")), node.real("mean"))};
}
Results decompose_normal_tensors(Builder& b, Node& node) {
  Compose c(b);
  const Sizes sizes = broadcast_all({node.arg("mean"), node.arg("std")});
  Value* noise = normal(b, sizes, promote({node.arg("mean"), node.arg("std")}));
  return {c.add(c.mul(noise, node.arg("std")), node.arg("mean"))};
}
// normal(mean, std) of given sizes
Results decompose_normal_numbers(Builder& b, Node& node) {
  Compose c(b);
  Value* noise = normal(b, node.result()->sizes(), node.result()->dtype());
  return {c.add(c.mul(noise, node.real("std")), node.real("mean"))};
}
// exp(normal(mean, std))
Results decompose_log_normal(Builder& b, Node& node) { return {Compose(b).exp(decompose_normal(b, node)[0])}; }
// median + sigma * tan(pi * (rand - 1/2))
Results decompose_cauchy(Builder& b, Node& node) {
  Compose c(b);
  const Value* x = node.tensor("self");
  Value* angle = c.mul(c.sub(uniform(b, x->sizes(), x->dtype()), 0.5), std::numbers::pi);
  return {c.add(c.mul(c.unary("aten.tan", angle), node.real("sigma")), node.real("median"))};
}
// ceil(log(1 - rand) / log(1 - p)), at least 1
Results decompose_geometric(Builder& b, Node& node) {
  Compose c(b);
  const Value* x = node.tensor("self");
  const double p = node.real("p");
  require(p > 0 && p < 1, "geometric: the probability must lie between 0 and 1");
  Value* tail = c.unary("aten.log1p", c.neg(uniform(b, x->sizes())));
  Value* trials = c.unary("aten.ceil", c.div(tail, std::log1p(-p)));
  return {b.cast(c.clamp(trials, 1, None{}), x->dtype())};
}
// Integers in [from, to). Without `to`, up to the largest number below which the dtype holds every integer.
Results decompose_random(Builder& b, Node& node) {
  const Value* x = node.tensor("self");
  const bool limited = node.op->parsed->find("to") >= 0 && !node.is_none("to");
  const int64_t from = node.op->parsed->find("from") >= 0 ? node.static_integer("from") : 0;
  const DType dtype = x->dtype();
  const int bits = dtype == DType::bf16      ? 8
                   : dtype == DType::f16     ? 11
                   : dtype == DType::f32     ? 24
                   : dtype == DType::f64     ? 53
                   : dtype == DType::boolean ? 1
                   : dtype == DType::u8      ? 8
                                             : static_cast<int>(dtype_size_bytes(dtype)) * 8 - 1;
  const uint64_t end = limited ? static_cast<uint64_t>(node.static_integer("to")) : uint64_t{1} << bits;
  require(!limited || node.static_integer("to") > from, "random: the range is empty");
  require(limited || from < 0 || static_cast<uint64_t>(from) < end, "random: the range is empty");
  return {b.cast(whole_numbers(b, x->sizes(), from, end - static_cast<uint64_t>(from)), dtype)};
}
Results decompose_bernoulli(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const bool own = node.op->parsed->find("p") < 0;
  const Arg p = own ? Arg(x) : node.arg("p");
  return {b.cast(c.compare("lt", uniform(b, x->sizes()), p), x->dtype())};
}
void infer_randint_like(Node& node) {
  infer_random_like(node);
  const DType dtype = node.result()->dtype();
  require(dtype != DType::boolean && !is_complex(dtype), "whole numbers do not fit into this dtype");
}
void infer_float_like(Node& node) {
  infer_random_like(node);
  require(is_floating(node.result()->dtype()), "this distribution is one of real numbers");
}
Results decompose_randint(Builder& b, Node& node) {
  const int64_t low = node.op->parsed->find("low") >= 0 ? node.static_integer("low") : 0,
                high = node.static_integer("high");
  require(high > low, "randint: the range is empty");
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  return {b.cast(whole_numbers(b, node.result()->sizes(), low, count), node.result()->dtype())};
}
// floor(rand * high), where high is a tensor of one element
Results decompose_randint_tensor(Builder& b, Node& node) {
  Compose c(b);
  Value* high = node.tensor("high");
  require(may_equal(numel(high->sizes()), 1), "randint_like: the limit must be one number");
  Value* limit = b.cast(b.reshape(high, {}), DType::f64);
  Value* steps = b.call("aten.floor", {c.mul(uniform(b, node.result()->sizes(), DType::f64), limit)});
  return {b.cast(steps, node.result()->dtype())};
}
void infer_randint(Node& node) { set_result(node, node.dtype("dtype").value_or(DType::i64), node.ints("size")); }
void infer_randperm(Node& node) { set_result(node, node.dtype("dtype").value_or(DType::i64), {node.integer("n")}); }
Results decompose_randperm(Builder& b, Node& node) {
  Value* order = b.call_multi("aten.sort", {uniform(b, node.result()->sizes())})[1];
  return {b.cast(order, node.result()->dtype())};
}
Results decompose_exponential(Builder& b, Node& node) {
  Compose c(b);
  const Value* x = node.tensor("self");
  Value* tail = c.unary("aten.log1p", c.neg(uniform(b, x->sizes(), x->dtype())));
  return {c.div(c.neg(tail), node.real("lambd"))};
}

void infer_distribution(Node& node) {
  const Value* x = node.tensor("self");
  require(is_floating(x->dtype()), "this distribution is one of real numbers");
  set_result(node, x->dtype(), x->sizes());
}
void infer_binomial(Node& node) {
  const Value *count = node.tensor("count"), *chance = node.tensor("prob");
  require(is_floating(count->dtype()) && count->dtype() == chance->dtype(),
          "binomial: counts and chances must be real numbers of one dtype");
  const Sizes both = broadcast(count->sizes(), chance->sizes());
  require(both.size() == count->rank(), "binomial: the chances do not broadcast to the counts");
  for (size_t i = 0; i < both.size(); ++i) require_equal(both[i], count->sizes()[i], "binomial: counts and chances");
  set_result(node, count->dtype(), count->sizes());
}
// Expands the probabilities to one for each count.
Results decompose_binomial(Builder& b, Node& node) {
  const Value* count = node.tensor("count");
  Value* chance = node.tensor("prob");
  if (chance->sizes() == count->sizes()) return {};
  Args args(node.args().begin(), node.args().end());
  args[1] = b.expand(chance, count->sizes());
  return {b.call("aten.binomial", std::move(args))};
}
// Gamma-distributed numbers, divided by their sum.
Results decompose_dirichlet(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const DType dtype = x->dtype();
  Value* shares = b.call("aten._standard_gamma", {dtype == DType::f64 ? x : b.cast(x, DType::f32)});
  return {b.cast(c.div(shares, c.sum(shares, {static_cast<int64_t>(x->rank()) - 1}, true)), dtype)};
}

// One draw per row: the first class whose running sum exceeds rand * total.
void infer_multinomial(Node& node) {
  Sizes sizes = node.tensor("self")->sizes();
  require(sizes.size() == 1 || sizes.size() == 2, "multinomial needs one or two dimensions");
  sizes.back() = node.integer("num_samples");
  set_result(node, DType::i64, std::move(sizes));
}
Results decompose_multinomial(Builder& b, Node& node) {
  Compose c(b);
  Value* p = node.tensor("self");
  const int64_t last = static_cast<int64_t>(p->rank()) - 1;
  const Sym samples = node.integer("num_samples");
  if (!node.boolean("replacement") && !samples.is(1)) {  // the largest quotients p / exponential noise
    Value* noise = c.neg(c.unary("aten.log1p", c.neg(uniform(b, p->sizes(), p->dtype()))));
    return {b.call_multi("aten.topk", {c.div(p, noise), samples, last})[1]};
  }
  Value* sums = b.call("aten.cumsum", {p, last});
  const Sym classes = p->sizes().back();
  Value* total = b.slice(sums, last, classes - 1, classes);
  Sizes draw = p->sizes();
  draw.back() = samples;
  Value* marks = c.mul(uniform(b, draw, p->dtype()), total);  // [.., samples]
  Value* passed = c.compare("le", b.unsqueeze(sums, last), b.unsqueeze(marks, last + 1));
  return {c.clamp(c.sum(passed, {last + 1}), 0, classes.is_const() ? Arg(classes - 1) : Arg(None{}))};
}

}  // namespace

// Overloads with a generator draw from the only random state: a program cannot hold a generator, only None.
#define TENSOR_OPTIONS(dtype) \
  "ScalarType? dtype=" dtype ", Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define LIKE_OPTIONS TENSOR_OPTIONS("None") ", MemoryFormat? memory_format=None"
const OpDef kRandomRows[] = {
    {"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_random, decompose_rand, "aten::rand.out", kRandom, Cases("[2, 3]", "[2], dtype=c64")},
    {"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_random, decompose_randn, "aten::randn.out", kRandom, Cases("[4]", "[2, 3], dtype=c128")},
    {"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_random_like, decompose_uniform_draw, nullptr, kRandom, Cases("f32[2, 3]")},
    {"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_random_like, decompose_normal_draw, nullptr, kRandom, Cases("f32[2, 3]")},
    {"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
     infer_random_like, decompose_uniform, nullptr, kRandom | kAlsoInPlace, Cases("f32[4], 0.0, 2.0")},
    {"aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
     infer_random_like, decompose_normal, nullptr, kRandom, Cases("f32[4], 1.0, 2.0")},
    {"aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", nullptr,
     decompose_normal_tensors, nullptr, kRandom, Cases("f32[4], 2.0")},
    {"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", nullptr,
     decompose_normal_tensors, nullptr, kRandom, Cases("f32[4], f32[4]{range=0.5..2}")},
    {"aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", nullptr,
     decompose_normal_tensors, nullptr, kRandom, Cases("0.5, f32[4]{range=0.5..2}")},
    {"aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, " TENSOR_OPTIONS(
         "None") ") -> Tensor",
     infer_random, decompose_normal_numbers, nullptr, kRandom, Cases("0.5, 2.0, [2, 3]", "0.0, 1.0, [4], dtype=f64")},
    {"aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor",
     infer_float_like, decompose_log_normal, nullptr, kRandom | kAlsoInPlace, Cases("f32[4]")},
    {"aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor",
     infer_float_like, decompose_cauchy, nullptr, kRandom | kAlsoInPlace, Cases("f32[4]", "f64[2, 2], 1.0, 0.5")},
    {"aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", infer_random_like,
     decompose_geometric, nullptr, kRandom | kAlsoInPlace, Cases("f32[4], 0.5", "i64[4], 0.25")},
    {"aten::random(Tensor self, *, Generator? generator=None) -> Tensor", infer_random_like, decompose_random, nullptr,
     kRandom | kAlsoInPlace, Cases("f32[4]", "u8[4]", "bool[3]")},
    {"aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", infer_randint_like,
     decompose_random, nullptr, kRandom | kAlsoInPlace, Cases("f32[4], 5", "i64[4], 9")},
    {"aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", infer_randint_like,
     decompose_random, nullptr, kRandom | kAlsoInPlace, Cases("f32[4], 2, 5", "i32[4], -3, 9")},
    {"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", infer_random_like, decompose_bernoulli,
     nullptr, kRandom, Cases("f32[4]{range=0..1}")},
    {"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", infer_random_like,
     decompose_bernoulli, nullptr, kRandom, Cases("f32[4], 0.3")},
    {"aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", infer_random_like,
     decompose_bernoulli, nullptr, kRandom | kAlsoInPlace, Cases("f32[4], f32[4]{range=0..1}")},
    {"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_randint, decompose_randint, nullptr, kRandom, Cases("5, [2, 3]")},
    {"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_randint, decompose_randint, nullptr, kRandom, Cases("2, 5, [2, 3]")},
    {"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_randint_like, decompose_randint, nullptr, kRandom, Cases("f32[2, 3], 5")},
    {"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_randint_like, decompose_randint, nullptr, kRandom, Cases("f32[2, 3], 2, 5")},
    {"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_randperm, decompose_randperm, nullptr, kRandom, Cases("5")},
    {"aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", infer_float_like,
     decompose_exponential, nullptr, kRandom | kAlsoInPlace, Cases("f32[4]")},
    {"aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", infer_distribution, nullptr,
     "wick::standard_gamma.out", kRandom | kNoStock, Cases("f32[4]{range=0.1..3}", "f64[2, 3]{range=1..3}", "f32[0]")},
    {"aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", infer_distribution,
     decompose_dirichlet, nullptr, kRandom, Cases("f32[4]{range=0.1..3}", "f64[2, 3]{range=1..3}")},
    {"aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", infer_binomial,
     decompose_binomial, "wick::binomial.out", kRandom | kNoStock,
     Cases("f32[4]{range=3..40}, f32[4]{range=0..1}", "f64[2, 3]{range=3..40}, f64[3]{range=0..1}")},
    {"aten::poisson(Tensor self, Generator? generator=None) -> Tensor", infer_distribution, nullptr,
     "wick::poisson.out", kRandom | kNoStock, Cases("f32[4]{range=0..30}", "f64[2, 3]{range=0..3}", "f32[0]")},
    {"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> "
     "Tensor",
     infer_multinomial, decompose_multinomial, nullptr, kRandom, Cases("f32[3]{=0, 1, 0}, 1")},
    {"aten::rand.generator(SymInt[] size, *, Generator? generator, " TENSOR_OPTIONS("None") ") -> Tensor", infer_random,
     decompose_uniform_draw, nullptr, kRandom, Cases("[2, 3], generator=None", "[4], generator=None, dtype=f64")},
    {"aten::randn.generator(SymInt[] size, *, Generator? generator, " TENSOR_OPTIONS("None") ") -> Tensor",
     infer_random, decompose_normal_draw, nullptr, kRandom,
     Cases("[4], generator=None", "[2, 3], generator=None, dtype=f16")},
    {"aten::rand_like.generator(Tensor self, *, Generator? generator, " LIKE_OPTIONS ") -> Tensor", infer_random_like,
     decompose_uniform_draw, nullptr, kRandom, Cases("f32[2, 3], generator=None")},
    {"aten::randn_like.generator(Tensor self, *, Generator? generator, " LIKE_OPTIONS ") -> Tensor", infer_random_like,
     decompose_normal_draw, nullptr, kRandom, Cases("f32[2, 3], generator=None, dtype=f64")},
    {"aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, " TENSOR_OPTIONS("4") ") -> Tensor",
     infer_randint, decompose_randint, nullptr, kRandom, Cases("5, [2, 3], generator=None")},
    {"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, " TENSOR_OPTIONS(
         "4") ") -> Tensor",
     infer_randint, decompose_randint, nullptr, kRandom,
     Cases("2, 5, [2, 3], generator=None", "-3, 5, [4], generator=None, dtype=i32")},
    {"aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, " LIKE_OPTIONS ") -> Tensor",
     infer_randint_like, decompose_randint, nullptr, kRandom, Cases("f32[2, 3], 5, generator=None")},
    {"aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? "
     "generator, " LIKE_OPTIONS ") -> Tensor",
     infer_randint_like, decompose_randint, nullptr, kRandom, Cases("f32[2, 3], 2, 5, generator=None, dtype=i64")},
    {"aten::randint_like.Tensor(Tensor self, Tensor high, *, " LIKE_OPTIONS ") -> Tensor", infer_randint_like,
     decompose_randint_tensor, nullptr, kRandom, Cases("f32[2, 3], i64[]{=5}")},
    {"aten::randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, " LIKE_OPTIONS
     ") -> Tensor",
     infer_randint_like, decompose_randint_tensor, nullptr, kRandom, Cases("f32[2, 3], i64[]{=5}, generator=None")},
    {"aten::randperm.generator(SymInt n, *, Generator? generator, " TENSOR_OPTIONS("4") ") -> Tensor", infer_randperm,
     decompose_randperm, nullptr, kRandom, Cases("5, generator=None", "0, generator=None")},
};
#undef LIKE_OPTIONS
#undef TENSOR_OPTIONS
const size_t kRandomCount = std::size(kRandomRows);

}  // namespace wick::compiler
