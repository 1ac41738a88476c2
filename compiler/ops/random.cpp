// Random numbers. Every operator comes down to rand (uniform in [0, 1)) and randn (standard normal).
#include <cmath>

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

Results decompose_rand_like(Builder& b, Node& node) {
  return {uniform(b, node.result()->sizes(), node.result()->dtype())};
}
Results decompose_randn_like(Builder& b, Node& node) {
  return {normal(b, node.result()->sizes(), node.result()->dtype())};
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
  Value* noise = normal(b, sizes);
  return {c.add(c.mul(noise, node.arg("std")), node.arg("mean"))};
}
Results decompose_bernoulli(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const bool own = node.op->parsed->find("p") < 0;
  const Arg p = own ? Arg(x) : node.arg("p");
  return {b.cast(c.compare("lt", uniform(b, x->sizes()), p), x->dtype())};
}
// low + floor(rand * (high - low))
Results decompose_randint(Builder& b, Node& node) {
  Compose c(b);
  const int64_t low = node.op->parsed->find("low") >= 0 ? node.static_integer("low") : 0,
                high = node.static_integer("high");
  require(high > low, "randint: the range is empty");
  Value* steps = b.call(
      "aten.floor", {c.mul(uniform(b, node.result()->sizes()), static_cast<double>(high) - static_cast<double>(low))});
  return {b.cast(c.add(steps, low), node.result()->dtype())};
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
  if (!node.boolean("replacement") && !samples.is(1)) {  // the largest of p / exponential noise
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

const OpDef kRandomRows[] = {
    {"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_random, nullptr, "aten::rand.out", kRandom, Cases("[2, 3]")},
    {"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_random, nullptr, "aten::randn.out", kRandom, Cases("[4]")},
    {"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_random_like, decompose_rand_like, nullptr, kRandom, Cases("f32[2, 3]")},
    {"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_random_like, decompose_randn_like, nullptr, kRandom, Cases("f32[2, 3]")},
    {"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
     infer_random_like, decompose_uniform, nullptr, kRandom, Cases("f32[4], 0.0, 2.0")},
    {"aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
     infer_random_like, decompose_normal, nullptr, kRandom, Cases("f32[4], 1.0, 2.0")},
    {"aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", nullptr,
     decompose_normal_tensors, nullptr, kRandom, Cases("f32[4], 2.0")},
    {"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", nullptr,
     decompose_normal_tensors, nullptr, kRandom, Cases("f32[4], f32[4]{range=0.5..2}")},
    {"aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", nullptr,
     decompose_normal_tensors, nullptr, kRandom, Cases("0.5, f32[4]{range=0.5..2}")},
    {"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", infer_random_like, decompose_bernoulli,
     nullptr, kRandom, Cases("f32[4]{range=0..1}")},
    {"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", infer_random_like,
     decompose_bernoulli, nullptr, kRandom, Cases("f32[4], 0.3")},
    {"aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", infer_random_like,
     decompose_bernoulli, nullptr, kRandom, Cases("f32[4], f32[4]{range=0..1}")},
    {"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_randint, decompose_randint, nullptr, kRandom, Cases("5, [2, 3]")},
    {"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_randint, decompose_randint, nullptr, kRandom, Cases("2, 5, [2, 3]")},
    {"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_random_like, decompose_randint, nullptr, kRandom, Cases("f32[2, 3], 5")},
    {"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_random_like, decompose_randint, nullptr, kRandom, Cases("f32[2, 3], 2, 5")},
    {"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_randperm, decompose_randperm, nullptr, kRandom, Cases("5")},
    {"aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", infer_random_like,
     decompose_exponential, nullptr, kRandom, Cases("f32[4]")},
    {"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> "
     "Tensor",
     infer_multinomial, decompose_multinomial, nullptr, kRandom, Cases("f32[3]{=0, 1, 0}, 1")},
};
const size_t kRandomCount = std::size(kRandomRows);

}  // namespace wick::compiler
