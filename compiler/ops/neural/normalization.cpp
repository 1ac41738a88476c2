// Normalisation over batches, groups, rows.
#include <limits>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

Sym channels_of(const Value* x) {
  if (x->rank() < 2) reject("normalisation over channels needs at least two dimensions");
  return x->sizes()[1];
}

void check_channel_vector(const Node& node, const char* name, const Sym& channels) {
  const Value* v = node.optional_tensor(name);
  if (!v) return;
  require_rank(v, 1, name);
  require_equal(v->sizes()[0], channels, name);
}

// The dtype in which eager computes a norm: that of the input, or f32 for a 16-bit input with f32 parameters.
DType computed_norm(const Node& node) {
  const DType own = node.tensor("input")->dtype();
  DType wide = own;
  bool mixed = false;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const Value* parameter = has_argument(node, name) ? node.optional_tensor(name) : nullptr;
    if (!parameter) continue;
    mixed = mixed || parameter->dtype() != own;
    wide = promote(wide, parameter->dtype());
  }
  if (mixed && !(is_16_bit(own) && wide == DType::f32))
    reject(fmt::format("a norm of {} takes parameters of {}{}", dtype_name(own), dtype_name(own),
                       is_16_bit(own) ? " or f32" : ""));
  return wide;
}

// Converts the tensors of a norm to one dtype, as kernels want.
Results decompose_mixed_norm(Builder& b, Node& node) {
  const DType own = node.tensor("input")->dtype(), wide = computed_norm(node);
  if (own == wide) return {};
  Args args = node.args();
  for (Arg& arg : args) {
    if (Value* x = tensor_or_null(arg)) arg = b.cast(x, wide);
  }
  Results results = b.call_multi(node.op->name(), std::move(args));
  results[0] = b.cast(results[0], own);
  return results;
}

// torch.export may record the batch statistics of 16-bit floats in their own dtype, where eager has f32. The recorded
// dtype is kept.
DType recorded_or(const Node& node, size_t i, DType recorded, DType computed) {
  const Type& type = node.result(i)->type;
  return node.op->decompose != decompose_mixed_norm && type.is_tensor() && type.tensor.dtype == recorded ? recorded
                                                                                                         : computed;
}
Results as_recorded(Builder& b, const Node& node, Results results) {
  for (size_t i = 1; i < results.size(); ++i) results[i] = b.cast(results[i], node.result(i)->dtype());
  return results;
}

void infer_batch_norm(Node& node) {
  const Value* x = node.tensor("input");
  const DType statistics = computed_norm(node);
  const Sym channels = channels_of(x);
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    if (node.op->parsed->find(name) >= 0) check_channel_vector(node, name, channels);
  }
  set_result(node, 0, x->dtype(), x->sizes());
  const bool stats = node.op->parsed->find("training") >= 0 ? node.boolean("training") : false;
  for (size_t i = 1; i < node.results().size(); ++i) {
    const bool running = i >= 3;  // new running statistics
    const DType dtype = running ? node.tensor(i == 3 ? "running_mean" : "running_var")->dtype()
                                : recorded_or(node, i, x->dtype(), statistics);
    set_result(node, i, dtype, stats || running ? Sizes{channels} : Sizes{0});
  }
}

// The same, with an empty reserve before the new running statistics.
void infer_batch_norm_update(Node& node) {
  const Value* x = node.tensor("input");
  const Sizes channels{channels_of(x)};
  set_result(node, 0, x->dtype(), x->sizes());
  for (size_t i = 1; i < 3; ++i) set_result(node, i, recorded_or(node, i, x->dtype(), computed_norm(node)), channels);
  set_result(node, 3, DType::u8, {0});
  set_result(node, 4, node.tensor("running_mean")->dtype(), channels);
  set_result(node, 5, node.tensor("running_var")->dtype(), channels);
}

Value* no_training(Builder& b, Node& node) {
  require(!node.is_none("running_mean") && !node.is_none("running_var"),
          "batch_norm in eval mode needs running statistics");
  return b.call("aten._native_batch_norm_legit_no_training",
                {node.arg("input"), node.arg("weight"), node.arg("bias"), node.arg("running_mean"),
                 node.arg("running_var"), node.arg("momentum"), node.arg("eps")});
}

Results by_batch(Builder& b, Node& node) {
  return b.call_multi(
      "aten._native_batch_norm_legit.no_stats",
      {node.arg("input"), node.arg("weight"), node.arg("bias"), true, node.arg("momentum"), node.arg("eps")});
}

Results decompose_batch_norm(Builder& b, Node& node) {
  if (node.boolean("training")) return {by_batch(b, node)[0]};
  return {no_training(b, node)};
}

// batch statistics of x: mean and biased variance per channel
struct BatchStats {
  Value *mean, *variance;
  Sym count;
};
BatchStats batch_stats(Compose& c, Value* x) {
  std::vector<int64_t> dims = all_dims(x->rank());
  dims.erase(dims.begin() + 1);
  const Sym count = floor_div(numel(x->sizes()), x->sizes()[1]);
  Results out = c.b.call_multi("aten.var_mean.correction", {x, to_ints(dims), 0, false});
  return {out[1], out[0], count};
}

// now * momentum + old * (1 - momentum), in f32 for 16-bit floats.
Value* blend_statistics(Compose& c, Value* old, Value* now, double momentum) {
  const DType dtype = old->dtype(), wide = promote(dtype, DType::f32);
  Value* sum = c.add(c.mul(c.b.cast(now, wide), momentum), c.mul(c.b.cast(old, wide), 1 - momentum));
  return c.b.cast(sum, dtype);
}

// The unbiased variance, given the biased one of `count` elements; NaN for one element.
Value* unbiased(Compose& c, Value* variance, const Sym& count) {
  if (count.is_const()) {
    const double n = static_cast<double>(count.value());
    return c.mul(variance, n > 1 ? n / (n - 1) : std::numeric_limits<double>::quiet_NaN());
  }
  Value* n = c.tensor(count, DType::f64);
  return c.mul(variance, c.b.cast(c.div(n, c.sub(n, 1)), variance->dtype()));
}

// (out, mean, rstd, new running mean, new running variance)
Results trained(Builder& b, Node& node) {
  Compose c(b);
  Results out = by_batch(b, node);
  const BatchStats stats = batch_stats(c, b.cast(node.tensor("input"), promote(computed_norm(node), DType::f32)));
  out.push_back(blend_statistics(c, node.tensor("running_mean"), stats.mean, node.real("momentum")));
  out.push_back(
      blend_statistics(c, node.tensor("running_var"), unbiased(c, stats.variance, stats.count), node.real("momentum")));
  return out;
}

Results decompose_batch_norm_functional(Builder& b, Node& node) {
  if (!node.boolean("training")) {
    Value* out = no_training(b, node);
    Value* empty = b.full({0}, 0, computed_norm(node));
    return as_recorded(b, node, {out, empty, empty, node.tensor("running_mean"), node.tensor("running_var")});
  }
  return as_recorded(b, node, trained(b, node));
}

// The same, with an empty reserve before the statistics.
Results decompose_batch_norm_update(Builder& b, Node& node) {
  Results out = trained(b, node);
  out.insert(out.begin() + 3, b.full({0}, 0, DType::u8));
  return as_recorded(b, node, std::move(out));
}

// Only the results of the operator itself. The importer takes the functional form, which has the new statistics too.
Results decompose_batch_norm_with_update(Builder& b, Node& node) {
  Results out = by_batch(b, node);
  out.push_back(b.full({0}, 0, DType::u8));
  return out;
}

Results decompose_batch_norm_no_update(Builder& b, Node& node) {
  Value* out = no_training(b, node);
  return {out, b.full({0}, 0, computed_norm(node)), b.full({0}, 0, computed_norm(node)), b.full({0}, 0, DType::u8)};
}

Results decompose_batch_norm_legit(Builder& b, Node& node) {
  if (node.boolean("training")) return as_recorded(b, node, by_batch(b, node));
  Value* empty = b.full({0}, 0, computed_norm(node));
  return as_recorded(b, node, {no_training(b, node), empty, empty});
}

// --- rows ---

Sizes stat_sizes(const Value* x, const Ints& normalized) {
  if (normalized.size() > x->rank() || normalized.empty()) reject("normalized_shape does not fit the input");
  const size_t lead = x->rank() - normalized.size();
  Sizes sizes(x->sizes().begin(), x->sizes().begin() + static_cast<int64_t>(lead));
  for (size_t i = 0; i < normalized.size(); ++i) {
    require_equal(x->sizes()[lead + i], normalized[i], "normalized_shape");
    sizes.push_back(1);
  }
  return sizes;
}

void check_row_vector(const Node& node, const char* name, const Ints& normalized) {
  const Value* v = node.optional_tensor(name);
  if (!v) return;
  require_rank(v, normalized.size(), name);
  for (size_t i = 0; i < normalized.size(); ++i) require_equal(v->sizes()[i], normalized[i], name);
}

void infer_layer_norm(Node& node) {
  const Value* x = node.tensor("input");
  const Ints normalized = node.ints("normalized_shape");
  const Sizes stats = stat_sizes(x, normalized);
  check_row_vector(node, "weight", normalized);
  if (node.op->parsed->find("bias") >= 0) check_row_vector(node, "bias", normalized);
  set_result(node, 0, x->dtype(), x->sizes());
  const DType computed = has_argument(node, "bias") ? computed_norm(node) : x->dtype();
  for (size_t i = 1; i < node.results().size(); ++i) set_result(node, i, computed, stats);
}

Results decompose_layer_norm(Builder& b, Node& node) {
  return {b.call("aten.native_layer_norm", {node.arg("input"), node.ints("normalized_shape"), node.arg("weight"),
                                            node.arg("bias"), node.arg("eps")})};
}

// x * rsqrt(mean(x^2) + eps) * weight, in float32 for narrower types
Results decompose_rms_norm(Builder& b, Node& node) {
  Compose c(b);
  Value* input = node.tensor("input");
  const size_t count = node.ints("normalized_shape").size();
  std::vector<int64_t> dims;
  for (size_t i = input->rank() - count; i < input->rank(); ++i) dims.push_back(static_cast<int64_t>(i));
  const DType wide = input->dtype() == DType::f64 ? DType::f64 : DType::f32;
  const double epsilon =
      wide == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  Value* x = b.cast(input, wide);
  Value* scale =
      c.unary("aten.rsqrt", c.add(c.mean(c.mul(x, x), dims, true), node.is_none("eps") ? epsilon : node.real("eps")));
  Value* out = c.mul(x, scale);
  if (Value* weight = node.optional_tensor("weight")) out = c.mul(out, weight);
  Results results{b.cast(out, input->dtype())};
  if (node.results().size() > 1) results.push_back(b.cast(scale, node.result(1)->dtype()));
  return results;
}

// --- groups ---

void infer_native_group_norm(Node& node) {
  const Value* x = node.tensor("input");
  const Sym channels = channels_of(x), groups = node.integer("group");
  check_channel_vector(node, "weight", channels);
  check_channel_vector(node, "bias", channels);
  set_result(node, 0, x->dtype(), x->sizes());
  const DType computed = computed_norm(node);
  set_result(node, 1, computed, {x->sizes()[0], groups});
  set_result(node, 2, computed, {x->sizes()[0], groups});
}

void infer_group_norm(Node& node) {
  const Value* x = node.tensor("input");
  const Sym channels = channels_of(x);
  const int64_t groups = node.static_integer("num_groups");
  if (groups <= 0 || (channels.is_const() && channels.value() % groups != 0))
    reject("group_norm: groups do not divide the channels");
  check_channel_vector(node, "weight", channels);
  check_channel_vector(node, "bias", channels);
  set_result(node, x->dtype(), x->sizes());
}

Value* group_norm(Builder& b, Value* x, Arg weight, Arg bias, const Sym& groups, Arg eps) {
  const Sym channels = x->sizes()[1];
  const Sym area = numel(Sizes(x->sizes().begin() + 2, x->sizes().end()));
  return b.call("aten.native_group_norm", {x, weight, bias, x->sizes()[0], channels, area, groups, eps});
}

Results decompose_group_norm(Builder& b, Node& node) {
  return {group_norm(b, node.tensor("input"), node.arg("weight"), node.arg("bias"), node.integer("num_groups"),
                     node.arg("eps"))};
}

void infer_instance_norm(Node& node) {
  const Value* x = node.tensor("input");
  const Sym channels = channels_of(x);
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) check_channel_vector(node, name, channels);
  set_result(node, x->dtype(), x->sizes());
}

// Group norm with one group per channel; with running statistics it is batch norm.
Results decompose_instance_norm(Builder& b, Node& node) {
  Value* x = node.tensor("input");
  if (!node.boolean("use_input_stats")) return {no_training(b, node)};
  return {group_norm(b, x, node.arg("weight"), node.arg("bias"), x->sizes()[1], node.arg("eps"))};
}

// (out, new running mean, new running variance). Eager updates the running statistics for each image separately and
// averages the updates.
void infer_instance_norm_functional(Node& node) {
  infer_instance_norm(node);
  const Sizes channels{channels_of(node.tensor("input"))};
  set_result(node, 1, node.tensor("running_mean")->dtype(), channels);
  set_result(node, 2, node.tensor("running_var")->dtype(), channels);
}

Results decompose_instance_norm_functional(Builder& b, Node& node) {
  Compose c(b);
  Value *input = node.tensor("input"), *mean = node.tensor("running_mean"), *variance = node.tensor("running_var");
  Results out = decompose_instance_norm(b, node);
  if (!node.boolean("use_input_stats")) return {out[0], mean, variance};
  std::vector<int64_t> dims = all_dims(input->rank());
  dims.erase(dims.begin(), dims.begin() + 2);
  const Sym count = numel(Sizes(input->sizes().begin() + 2, input->sizes().end()));
  Value* wide = b.cast(input, promote(computed_norm(node), DType::f32));
  Results stats{b.call("aten.zeros_like", {wide}), wide};  // without other dimensions: the statistics of one element
  if (!dims.empty()) stats = b.call_multi("aten.var_mean.correction", {wide, to_ints(dims), 0, false});
  const double momentum = node.real("momentum");
  out.push_back(blend_statistics(c, mean, c.mean(stats[1], {0}, false), momentum));
  out.push_back(blend_statistics(c, variance, c.mean(unbiased(c, stats[0], count), {0}, false), momentum));
  return out;
}

// --- weights ---

// v * (g / norm(v)) with the norm over all dimensions but `dim`
Value* weight_norm(Compose& c, Value* v, Value* g, int64_t dim, Value** norm_out) {
  std::vector<int64_t> dims;
  if (dim != -1) dim = wrap_dim(dim, v->rank());
  for (int64_t i = 0; i < static_cast<int64_t>(v->rank()); ++i) {
    if (i != dim) dims.push_back(i);
  }
  const DType dtype = v->dtype(), wide = is_16_bit(dtype) ? DType::f32 : dtype;
  v = c.b.cast(v, wide);
  Value* norm = c.sqrt(c.sum(c.mul(v, v), dims, dim != -1));
  if (norm_out) *norm_out = norm;
  return c.b.cast(c.mul(v, c.div(c.b.cast(g, wide), norm)), dtype);
}

// The statistics of 16-bit floats are f32.
DType statistic_dtype(const Value* x) { return promote(x->dtype(), DType::f32); }
void infer_rms_norm(Node& node) {
  require(!is_complex(node.tensor("input")->dtype()), "rms_norm of complex numbers is not supported");
  infer_layer_norm(node);
  if (node.results().size() > 1) set_result(node, 1, statistic_dtype(node.tensor("input")), node.result(1)->sizes());
}
void infer_weight_norm(Node& node) {
  const Value* v = node.tensor("v");
  set_result(node, 0, v->dtype(), v->sizes());
  if (node.results().size() > 1) {
    const Value* g = node.tensor("g");
    set_result(node, 1, statistic_dtype(g), g->sizes());
  }
}
Results decompose_weight_norm(Builder& b, Node& node) {
  Compose c(b);
  Value* norm = nullptr;
  Value* out = weight_norm(c, node.tensor("v"), node.tensor("g"), node.static_integer("dim"), &norm);
  if (node.results().size() > 1) return {out, b.cast(norm, node.result(1)->dtype())};
  return {out};
}

// Scales slices along `dim` whose p-norm exceeds maxnorm.
Results decompose_renorm(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  require(x->rank() > 1, "renorm needs two dimensions");
  const int64_t dim = wrap_dim(node.static_integer("dim"), x->rank());
  std::vector<int64_t> dims = all_dims(x->rank());
  dims.erase(dims.begin() + dim);
  Value* wide = is_16_bit(x->dtype()) ? b.cast(x, DType::f32) : x;
  Value* norm = b.call("aten.linalg_vector_norm", {wide, node.real("p"), to_ints(dims), true});
  const double limit = node.real("maxnorm");
  Value* factor = c.mul(c.unary("aten.reciprocal", c.add(norm, 1e-7)), limit);
  factor = c.where(c.compare("gt", norm, limit), factor, 1.0);
  return {c.mul(x, is_16_bit(x->dtype()) ? b.cast(factor, x->dtype()) : factor)};
}

}  // namespace

const OpDef kNormalizationRows[] = {
    {"aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
     "training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     infer_batch_norm, decompose_batch_norm, nullptr, kPure,
     Cases("f32[2, 3, 4], None, None, None, None, true, 0.0, 1e-05, false",
           "f32[2, 3], f32[3], f32[3], f32[3], f32[3]{range=0.9..1.5}, false, 0.1, 1e-05, false",
           "f32[1, 4, 6, 8], None, None, f32[4], f32[4]{range=1.6..3.4}, false, 0.1, 1e-05, false"),
     &kRoundings, "aten._native_batch_norm_legit_functional.default"},
    {"aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
     "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     infer_batch_norm, decompose_batch_norm_legit, nullptr, kPure,
     Cases("f32[2, 3, 4], None, None, f32[3], f32[3]{range=0.5..2}, false, 0.1, 1e-5"), &kRoundings,
     "aten._native_batch_norm_legit_functional.default"},
    {"aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) "
     "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     infer_batch_norm, decompose_batch_norm_legit, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]{range=0.6..1.1}, true, 0.25, 1e-05"), &kRoundings,
     "aten._native_batch_norm_legit_functional.default"},
    {"aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float "
     "momentum, float eps) -> (Tensor, Tensor, Tensor)",
     infer_batch_norm, decompose_mixed_norm, "aten::_native_batch_norm_legit.no_stats_out", kPure,
     Cases("f32[2, 3], f32[3], f32[3], true, 0.1, 1e-05", "f32[2, 3, 4], f32[3], f32[3], true, 0.1, 1e-05")},
    {"aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
     "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     infer_batch_norm, decompose_mixed_norm, "aten::_native_batch_norm_legit_no_training.out",
     kPassesBoth | kWeightedSum | Growth::matrices,
     Cases("f32[2, 3], None, None, f32[3], f32[3]{range=0.9..1.5}, 0.1, 1e-05",
           "f32[2, 3], f32[3], f32[3], f32[3], f32[3]{range=0.9..1.5}, 0.1, 0.001")},
    {"aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
     "Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor "
     "running_mean_out, Tensor running_var_out)",
     infer_batch_norm, decompose_batch_norm_functional, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]{range=0.5..2}, true, 0.1, 1e-5")},
    {"aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
     "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor "
     "running_var_out)",
     infer_batch_norm_update, decompose_batch_norm_update, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]{range=0.5..2}, 0.1, 1e-5")},
    {"aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) "
     "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
     nullptr, decompose_batch_norm_with_update, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]{range=0.5..2}, 0.1, 1e-5"), &kRoundings,
     "aten._batch_norm_with_update_functional.default"},
    {"aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
     "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
     nullptr, decompose_batch_norm_no_update, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]{range=0.5..2}, 0.1, 1e-5")},
    {"aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
     "eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
     infer_layer_norm, decompose_layer_norm, nullptr, kPure,
     Cases("f32[2, 5], [5]", "f32[0, 4], [4], f32[4], f32[4]", "bf16[2, 8], [8], bf16[8]"), &kManyTerms},
    {"aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
     "(Tensor, Tensor, Tensor)",
     infer_layer_norm, decompose_mixed_norm, "aten::native_layer_norm.out",
     kPassesBoth | kWeightedSum | ranges::norm | Growth::matrices,
     Cases("f32[2, 5], [5], None, None, 1e-12", "f32[0, 4], [4], f32[4], f32[4], 1e-06",
           "f32[2, 3, 4], [4], None, None, 1e-12"),
     &kManyTerms},
    {"aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
     infer_rms_norm, decompose_rms_norm, nullptr, kPassesBoth | kWeightedSum | ranges::norm | Growth::matrices,
     Cases("f32[3, 4], [4]", "f32[0, 4], [4], f32[4], 1e-06", "f32[2, 3, 4], [4]")},
    {"aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
     infer_rms_norm, decompose_rms_norm, nullptr, kPure,
     Cases("f32[2, 3, 8], [8], f32[8], 1e-6", "f32[2, 8], [8], None, None")},
    {"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
     "eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
     infer_group_norm, decompose_group_norm, nullptr, kPure,
     Cases("f32[2, 4], 2", "f32[1, 4, 6, 8], 2, f32[4], f32[4], 1e-05, false"), &kManyTerms},
    {"aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
     "float eps) -> (Tensor, Tensor, Tensor)",
     infer_native_group_norm, decompose_mixed_norm, "aten::native_group_norm.out",
     kPassesBoth | kWeightedSum | ranges::norm | Growth::matrices,
     Cases("f32[2, 4, 3], f32[4], f32[4], 2, 4, 3, 1, 1e-06"), &kManyTerms},
    {"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
     "use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     infer_instance_norm, decompose_instance_norm, nullptr, kPure,
     Cases("f32[2, 3, 4], None, None, None, None, true, 0.1, 1e-05, false",
           "f32[2, 3, 4, 2], f32[3], f32[3]{range=0.8..3}, None, None, true, 0.1, 1e-05, false"),
     &kRoundings, "aten.instance_norm_functional.default"},
    // Not an operator of eager: the new values of the arguments that instance_norm writes.
    {"aten::instance_norm_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
     "running_var, bool use_input_stats, float momentum, float eps) -> (Tensor, Tensor running_mean_out, Tensor "
     "running_var_out)",
     infer_instance_norm_functional, decompose_instance_norm_functional},
    {"aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", infer_weight_norm, decompose_weight_norm, nullptr,
     kPure, Cases("f32[4, 3], f32[1, 3], 1", "f32[4, 3, 2], f32[4, 1, 1], 0")},
    {"aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", infer_weight_norm,
     decompose_weight_norm, nullptr, kPure, Cases("f32[4, 3, 2], f32[4, 1, 1]", "f32[4, 3], f32[1, 3], 1")},
    {"aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", infer_same, decompose_renorm, nullptr,
     kAlsoInPlace, Cases("f32[3, 4], 2, 0, 1.0")},
};
const size_t kNormalizationCount = std::size(kNormalizationRows);

}  // namespace wick::compiler
