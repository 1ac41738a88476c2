#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "compiler/ir/builder.h"
#include "compiler/ir/decompose.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

// Kernels of an unmodified ExecuTorch: portable, optimized and quantized libraries.
const std::set<std::string, std::less<>>& stock_kernels() {
  static const std::set<std::string, std::less<>> names = {
      "executorch_prim::add.Scalar",
      "executorch_prim::sub.Scalar",
      "executorch_prim::mul.Scalar",
      "executorch_prim::floordiv.Scalar",
      "executorch_prim::truediv.Scalar",
      "executorch_prim::mod.Scalar",
      "executorch_prim::eq.Scalar",
      "executorch_prim::gt.Scalar",
      "executorch_prim::lt.Scalar",
      "executorch_prim::ge.Scalar",
      "executorch_prim::le.Scalar",
      "executorch_prim::sym_max.Scalar",
      "executorch_prim::sym_min.Scalar",
      "executorch_prim::sym_float.Scalar",
      "executorch_prim::sym_int.Scalar",
      "executorch_prim::neg.Scalar",
      "executorch_prim::ceil.Scalar",
      "executorch_prim::round.Scalar",
      "executorch_prim::trunc.Scalar",
      "executorch_prim::sym_not.Scalar",
      "executorch_prim::sym_ite.Scalar",
      "aten::_adaptive_avg_pool2d.out",
      "aten::_cdist_forward.out",
      "aten::_conj_physical.out",
      "aten::_fft_c2r.out",
      "aten::_fft_r2c.out",
      "aten::_local_scalar_dense",
      "aten::_log_softmax.out",
      "aten::_native_batch_norm_legit.no_stats_out",
      "aten::_native_batch_norm_legit.out",
      "aten::_native_batch_norm_legit_no_training.out",
      "aten::_pdist_forward.out",
      "aten::_softmax.out",
      "dim_order_ops::_to_dim_order_copy.out",
      "aten::_to_copy.out",
      "aten::_upsample_bilinear2d_aa.out",
      "aten::abs.out",
      "aten::acos.out",
      "aten::acosh.out",
      "aten::add.Scalar_out",
      "aten::add.out",
      "aten::addmm.out",
      "aten::alias_copy.out",
      "aten::amax.out",
      "aten::amin.out",
      "aten::any.all_out",
      "aten::any.dims_out",
      "aten::any.out",
      "aten::arange.out",
      "aten::arange.start_out",
      "aten::argmax.out",
      "aten::argmin.out",
      "aten::as_strided_copy.out",
      "aten::asin.out",
      "aten::asinh.out",
      "aten::atan.out",
      "aten::atan2.out",
      "aten::atanh.out",
      "aten::avg_pool2d.out",
      "aten::bitwise_and.Scalar_out",
      "aten::bitwise_and.Tensor_out",
      "aten::bitwise_left_shift.Tensor_Scalar_out",
      "aten::bitwise_left_shift.Tensor_out",
      "aten::bitwise_not.out",
      "aten::bitwise_or.Scalar_out",
      "aten::bitwise_or.Tensor_out",
      "aten::bitwise_right_shift.Tensor_Scalar_out",
      "aten::bitwise_right_shift.Tensor_out",
      "aten::bitwise_xor.Scalar_out",
      "aten::bitwise_xor.Tensor_out",
      "aten::bmm.out",
      "aten::cat.out",
      "aten::ceil.out",
      "aten::clamp.Tensor_out",
      "aten::clamp.out",
      "aten::clone.out",
      "aten::constant_pad_nd.out",
      "aten::convolution.out",
      "aten::convolution_backward.out",
      "aten::copy.out",
      "aten::copy_",
      "aten::cos.out",
      "aten::cosh.out",
      "aten::cumsum.out",
      "aten::detach_copy.out",
      "aten::diagonal_copy.out",
      "aten::div.Scalar_mode_out",
      "aten::div.Scalar_out",
      "aten::div.out",
      "aten::div.out_mode",
      "aten::elu.out",
      "aten::embedding.out",
      "aten::empty.out",
      "aten::eq.Scalar_out",
      "aten::eq.Tensor_out",
      "aten::erf.out",
      "aten::exp.out",
      "aten::expand_copy.out",
      "aten::expm1.out",
      "aten::fill.Scalar_out",
      "aten::fill.Tensor_out",
      "aten::flip.out",
      "aten::floor.out",
      "aten::floor_divide.out",
      "aten::fmod.Scalar_out",
      "aten::fmod.Tensor_out",
      "aten::full.out",
      "aten::full_like.out",
      "aten::gather.out",
      "aten::ge.Scalar_out",
      "aten::ge.Tensor_out",
      "aten::gelu.out",
      "aten::glu.out",
      "aten::grid_sampler_2d.out",
      "aten::gt.Scalar_out",
      "aten::gt.Tensor_out",
      "aten::hardtanh.out",
      "aten::index.Tensor_out",
      "aten::index_put.out",
      "aten::index_put_",
      "aten::index_select.out",
      "aten::isinf.out",
      "aten::isnan.out",
      "aten::le.Scalar_out",
      "aten::le.Tensor_out",
      "aten::leaky_relu.out",
      "aten::lift_fresh_copy.out",
      "aten::linear.out",
      "aten::log.out",
      "aten::log10.out",
      "aten::log1p.out",
      "aten::log2.out",
      "aten::logical_and.out",
      "aten::logical_not.out",
      "aten::logical_or.out",
      "aten::logical_xor.out",
      "aten::logit.out",
      "aten::lt.Scalar_out",
      "aten::lt.Tensor_out",
      "aten::masked_fill.Scalar_out",
      "aten::masked_scatter.out",
      "aten::masked_select.out",
      "aten::max.dim_max",
      "aten::max.unary_out",
      "aten::max_pool2d_with_indices.out",
      "aten::max_pool2d_with_indices_backward.grad_input",
      "aten::maximum.out",
      "aten::mean.dtype_out",
      "aten::mean.out",
      "aten::min.dim_min",
      "aten::min.unary_out",
      "aten::minimum.out",
      "aten::mm.out",
      "aten::mul.Scalar_out",
      "aten::mul.out",
      "aten::narrow_copy.out",
      "aten::native_dropout.out",
      "aten::native_group_norm.out",
      "aten::native_layer_norm.out",
      "aten::ne.Scalar_out",
      "aten::ne.Tensor_out",
      "aten::neg.out",
      "aten::nonzero.out",
      "aten::ones.out",
      "aten::permute_copy.out",
      "aten::pixel_shuffle.out",
      "aten::pixel_unshuffle.out",
      "aten::pow.Scalar_out",
      "aten::pow.Tensor_Scalar_out",
      "aten::pow.Tensor_Tensor_out",
      "aten::prod.int_out",
      "aten::prod.out",
      "aten::rand.out",
      "aten::randn.out",
      "aten::reciprocal.out",
      "aten::reflection_pad1d.out",
      "aten::reflection_pad2d.out",
      "aten::reflection_pad3d.out",
      "aten::relu.out",
      "aten::remainder.Scalar_out",
      "aten::remainder.Tensor_out",
      "aten::repeat.out",
      "aten::repeat_interleave.Tensor_out",
      "aten::replication_pad1d.out",
      "aten::replication_pad2d.out",
      "aten::replication_pad3d.out",
      "aten::roll.out",
      "aten::round.out",
      "aten::rsqrt.out",
      "aten::rsub.Scalar_out",
      "aten::scalar_tensor.out",
      "aten::scatter.src_out",
      "aten::scatter.value_out",
      "aten::scatter_add.out",
      "aten::select_copy.int_out",
      "aten::select_scatter.out",
      "aten::sigmoid.out",
      "aten::sign.out",
      "aten::sin.out",
      "aten::sinh.out",
      "aten::slice_copy.Tensor_out",
      "aten::slice_scatter.out",
      "aten::split_copy.Tensor_out",
      "aten::split_with_sizes_copy.out",
      "aten::sqrt.out",
      "aten::squeeze_copy.dim_out",
      "aten::squeeze_copy.dims_out",
      "aten::stack.out",
      "aten::sub.Scalar_out",
      "aten::sub.out",
      "aten::sum.IntList_out",
      "aten::sym_numel",
      "aten::sym_size.int",
      "aten::t_copy.out",
      "aten::tan.out",
      "aten::tanh.out",
      "aten::topk.values",
      "aten::transpose_copy.int_out",
      "aten::tril.out",
      "aten::trunc.out",
      "aten::unbind_copy.int_out",
      "aten::unfold_copy.out",
      "aten::unsqueeze_copy.out",
      "aten::upsample_bilinear2d.vec_out",
      "aten::upsample_nearest2d.vec_out",
      "aten::var.correction_out",
      "aten::var.out",
      "aten::var_mean.correction_out",
      "aten::view_as_real_copy.out",
      "aten::view_copy.out",
      "aten::where.self_out",
      "aten::zeros.out",
      "quantized_decomposed::add.out",
      "quantized_decomposed::choose_qparams.Tensor_out",
      "quantized_decomposed::choose_qparams_per_token_asymmetric.out",
      "quantized_decomposed::dequantize_per_channel.out",
      "quantized_decomposed::dequantize_per_tensor.Tensor_out",
      "quantized_decomposed::dequantize_per_tensor.out",
      "quantized_decomposed::dequantize_per_token.out",
      "quantized_decomposed::embedding_2bit.dtype_out",
      "quantized_decomposed::embedding_2bit.out",
      "quantized_decomposed::embedding_4bit.dtype_out",
      "quantized_decomposed::embedding_4bit.out",
      "quantized_decomposed::embedding_byte.dtype_out",
      "quantized_decomposed::embedding_byte.out",
      "quantized_decomposed::mixed_linear.out",
      "quantized_decomposed::mixed_mm.out",
      "quantized_decomposed::quantize_per_channel.out",
      "quantized_decomposed::quantize_per_tensor.Tensor_out",
      "quantized_decomposed::quantize_per_tensor.out",
      "quantized_decomposed::quantize_per_token.out",
  };
  return names;
}

TEST(Registry, PrimitivesHaveAShapeFunctionAndAKernel) {
  for (const OpDef* def : all_ops()) {
    if (def->decompose || def->has(kInPlace) || def->has(kEffect) || def->has(kComputed)) continue;
    EXPECT_NE(def->infer, nullptr) << def->name();
    // Instructions execute control flow and calls of delegates, without a kernel. Conversions that remain after folding
    // are rewritten as nodes that have a kernel.
    EXPECT_EQ(def->kernel == nullptr, def->has(kNoKernel | kScratch)) << def->name();
  }
}

TEST(Registry, KernelsWithoutTheFlagExistInStock) {
  for (const OpDef* def : all_ops()) {
    if (!def->kernel) continue;
    const bool lacks = def->has(kNoStock) || def->has(kLlmLibrary);  // stock's core library has neither
    EXPECT_EQ(stock_kernels().count(def->kernel) == 0, lacks) << def->name() << " " << def->kernel;
  }
}

TEST(Registry, InPlaceOperatorsNameAFunctionalOneWithTheSameArguments) {
  for (const OpDef* def : all_ops()) {
    if (!def->has(kInPlace)) continue;
    const OpDef* functional = find_op(def->functional);
    ASSERT_NE(functional, nullptr) << def->functional;
    EXPECT_FALSE(functional->has(kInPlace)) << def->name();
    EXPECT_EQ(def->parsed->args.size(), functional->parsed->args.size()) << def->name();
  }
}

// The file holds eager's in-place schemas, each with the functional operator.
TEST(Registry, InPlaceOperatorsHaveTheSchemasOfEager) {
  std::ifstream file("compiler/ops/inplace_schemas.txt");
  std::set<std::string> wanted, found;
  for (std::string line; std::getline(file, line);) wanted.insert(line);
  ASSERT_FALSE(wanted.empty());
  for (const OpDef* def : all_ops()) {
    const std::string_view schema = def->schema;
    if (def->has(kInPlace) && schema.starts_with("aten::")) found.insert(std::string(schema) + "  " + def->functional);
  }
  for (const std::string& line : wanted) EXPECT_TRUE(found.count(line)) << line;
  for (const std::string& line : found) EXPECT_TRUE(wanted.count(line)) << line;
}

TEST(Registry, KernelsOfPrimitivesTakeOneOutPerResult) {
  for (const OpDef* def : all_ops()) {
    if (!def->kernel || def->decompose || def->has(kComputed)) continue;
    EXPECT_NE(std::string_view(def->kernel).find("::"), std::string_view::npos) << def->name();
    EXPECT_FALSE(def->parsed->returns.empty()) << def->name();
  }
}

TEST(Registry, UnknownNamesAreNotFound) { EXPECT_EQ(find_op("aten.nothing.default"), nullptr); }

// One operator over fresh inputs.
class Shapes : public ::testing::Test {
 protected:
  Graph graph;
  Builder b{graph, nullptr};
  Value* input(Sizes sizes, DType dtype = DType::f32) {
    return graph.add_input(Type::of(dtype, std::move(sizes)), "x");
  }
  static std::string type(const Value* value) { return to_text(value->type); }
  Sym s = Sym::symbol("s0");

  template <typename F>
  static std::string error_of(F&& call) {
    const Status status = catch_failure(call);
    return status.ok() ? "" : const_cast<Status&>(status).diag().message;
  }
};

TEST_F(Shapes, ConvolutionKeepsSymbolicSizes) {
  Value* out = b.call("aten.conv2d", {input({1, 3, s, 32}), input({8, 3, 3, 3}), None{}, Ints{1, 1}, Ints{1, 1}});
  EXPECT_EQ(type(out), "f32[1, 8, s0, 32]");
}

TEST_F(Shapes, ConvolutionChecksChannelsAndGroups) {
  EXPECT_NE(error_of([&] { b.call("aten.conv2d", {input({1, 4, 8, 8}), input({8, 3, 3, 3})}); }), "");
  EXPECT_NE(error_of([&] {
              b.call("aten.conv2d",
                     {input({1, 4, 8, 8}), input({9, 2, 3, 3}), None{}, Ints{1, 1}, Ints{0, 0}, Ints{1, 1}, 2});
            }),
            "");
}

TEST_F(Shapes, PoolingInCeilModeDropsAWindowThatStartsInThePadding) {
  Value* x = input({1, 1, 4, 4});
  EXPECT_EQ(type(b.call("aten.avg_pool2d", {x, Ints{1, 1}, Ints{2, 2}, Ints{0, 0}, true})), "f32[1, 1, 2, 2]");
  EXPECT_EQ(type(b.call("aten.max_pool2d", {x, Ints{3, 3}, Ints{2, 2}, Ints{0, 0}, Ints{1, 1}, true})),
            "f32[1, 1, 2, 2]");
}

TEST_F(Shapes, ViewInfersTheMissingSizeOfASymbolicTensor) {
  EXPECT_EQ(type(b.call("aten.view", {input({s, 4, 8}), Ints{-1, 32}})), "f32[s0, 32]");
  EXPECT_EQ(type(b.call("aten.view", {input({s, 4, 8}), Ints{s, -1}})), "f32[s0, 32]");
  EXPECT_NE(error_of([&] { b.call("aten.view", {input({3, 4}), Ints{-1, 5}}); }), "");
}

TEST_F(Shapes, SliceClampsPythonBounds) {
  EXPECT_EQ(type(b.call("aten.slice.Tensor", {input({10}), 0, -3, INT64_MAX})), "f32[3]");
  EXPECT_EQ(type(b.call("aten.slice.Tensor", {input({10}), 0, 2, 100, 3})), "f32[3]");
  EXPECT_EQ(type(b.call("aten.slice.Tensor", {input({10}), 0, 8, 2})), "f32[0]");
  EXPECT_EQ(type(b.call("aten.slice.Tensor", {input({s}), 0, 0, INT64_MAX})), "f32[s0]");
}

TEST_F(Shapes, NumbersKeepTheCategoryOfTheTensor) {
  EXPECT_EQ(type(b.call("aten.mul.Tensor", {input({2}, DType::f16), 2.5})), "f16[2]");
  EXPECT_EQ(type(b.call("aten.mul.Tensor", {input({2}, DType::i64), 2.5})), "f32[2]");
  EXPECT_EQ(type(b.call("aten.div.Tensor", {input({2}, DType::i64), 2})), "f32[2]");
}

TEST_F(Shapes, ReductionsOfIntegersWiden) {
  EXPECT_EQ(type(b.call("aten.sum.dim_IntList", {input({2, 3}, DType::boolean), Ints{1}, true})), "i64[2, 1]");
  EXPECT_NE(error_of([&] { b.call("aten.mean.dim", {input({2, 3}, DType::i64), Ints{1}}); }), "");
}

TEST_F(Shapes, IndexPutsResultDimensionsFirstWhenIndicesAreApart) {
  Value *x = input({2, 3, 4, 5}), *i = input({7}, DType::i64);
  EXPECT_EQ(type(b.call("aten.index.Tensor", {x, Values{nullptr, i, i}})), "f32[2, 7, 5]");
  EXPECT_EQ(type(b.call("aten.index.Tensor", {x, Values{i, nullptr, i}})), "f32[7, 3, 5]");
}

// The operators that are left of one call after decomposition, in order.
class Decompositions : public Shapes {
 protected:
  std::string names(Value* out) {
    GraphOutput output;
    output.value = out;
    graph.add_output(output);
    const Status status = decompose(graph, nullptr);
    EXPECT_TRUE(status.ok());
    std::string text;
    for (const auto& node : graph.nodes()) text += std::string(text.empty() ? "" : " ") + std::string(node->op->name());
    return text;
  }
};

TEST_F(Decompositions, GlobalPoolingIsAMean) {
  EXPECT_EQ(names(b.call("aten.adaptive_avg_pool2d", {input({1, 8, 7, 7}), Ints{1, 1}})), "aten.mean.dim");
}
// A mean of means would be rounded once for each dimension.
TEST_F(Decompositions, UnevenPoolingOfHalvesRoundsOnce) {
  const std::string made =
      names(b.call("aten.adaptive_avg_pool3d", {input({1, 2, 7, 5, 6}, DType::f16), Ints{3, 2, 4}}));
  EXPECT_TRUE(made.starts_with("aten._to_copy.default") && made.ends_with("aten._to_copy.default"));
  EXPECT_EQ(made.find("aten._to_copy", 1), made.rfind("aten._to_copy")) << made;
}
TEST(Polar, OfHalvesRoundsOnce) {
  const auto function =
      parse_graph("graph f(%x: f16[4], %y: f16[4]) {\n %z: c32[4] = aten.polar(%x, %y)\n return %z\n}");
  ASSERT_TRUE(function.ok()) << render(function.diag());
  ASSERT_TRUE(decompose(*function->graph, nullptr).ok());
  size_t products = 0;
  for (const auto& node : function->graph->nodes()) {
    if (!node->is("aten.mul.Tensor")) continue;
    ++products;
    EXPECT_EQ(to_text(node->result()->type), "f32[4]");
  }
  EXPECT_EQ(products, 2u);
}
TEST_F(Decompositions, ReshapeIsAView) {
  EXPECT_EQ(names(b.call("aten.reshape", {input({2, 6}), Ints{-1}})), "aten.view.default");
}
TEST_F(Decompositions, CastToTheSameTypeVanishes) {
  EXPECT_EQ(names(b.call("aten.to.dtype", {input({2}), DType::f32})), "");
}
TEST_F(Decompositions, ANumberInATensorSlotTakesTheScalarKernel) {
  EXPECT_EQ(names(b.call("aten.mul.Tensor", {input({2}), 2.0})), "aten.mul.Scalar");
}
// One scale for all channels becomes that of a per-tensor form if both forms compute alike; else it is repeated.
TEST(Decompose, OneScaleForAllChannels) {
  const auto text = [](const std::string& constants, const std::string& call) {
    const auto function = parse_graph("graph f(%x: f32[2, 3], %q: i8[2, 3], %s: f32[1]) {\n " + constants +
                                      "\n %y = quantized_decomposed." + call + "\n return %y\n}");
    if (!function.ok()) return render(function.diag());
    if (!decompose(*function->graph, nullptr).ok()) return std::string("fails");
    std::string names;
    for (const auto& node : function->graph->nodes())
      names += (names.empty() ? "" : " ") + std::string(node->op->name());
    return names;
  };
  const std::string one = "const %a: f32[1] = [0.5] const %z: i64[1] = [3]",
                    tensor = "quantized_decomposed.quantize_per_tensor.default",
                    repeated =
                        "aten.expand.default aten.expand.default quantized_decomposed.quantize_per_channel.default";
  EXPECT_EQ(text(one, "quantize_per_channel(%x, %a, %z, -1, -128, 127, i8)"), tensor);
  EXPECT_EQ(text(one, "dequantize_per_channel(%q, %a, none, 0, -128, 127, i8)"),
            "quantized_decomposed.dequantize_per_tensor.default");
  EXPECT_EQ(
      text("const %a: f64[1] = [0.5] const %z: i64[1] = [3]", "quantize_per_channel(%x, %a, %z, 0, -128, 127, i8)"),
      repeated)
      << "multiplies in f64";
  EXPECT_EQ(
      text("const %a: f32[1] = [0.0] const %z: i64[1] = [3]", "quantize_per_channel(%x, %a, %z, 0, -128, 127, i8)"),
      repeated)
      << "refused for a tensor";
  EXPECT_EQ(text("const %z: i64[1] = [3]", "quantize_per_channel(%x, %s, %z, 0, -128, 127, i8)"), repeated);
  const std::string two = "const %a: f32[2] = [0.5, 0.25] const %z: i64[2] = [3, 4]";
  EXPECT_EQ(text(two, "quantize_per_channel(%x, %a, %z, 0, -128, 127, i8)"),
            "quantized_decomposed.quantize_per_channel.default");
  const auto refused = [&](const std::string& constants, const std::string& call, const std::string& reason) {
    const std::string found = text(constants, call);
    EXPECT_NE(found.find(reason), std::string::npos) << found;
  };
  refused(two, "quantize_per_channel(%x, %a, %z, 1, -128, 127, i8)", "number of scales: 2 and 3 differ");
  refused("const %a: f32[1] = [0.5] const %z: i64[2] = [3, 4]", "quantize_per_channel(%x, %a, %z, 0, -128, 127, i8)",
          "number of zero points: 2 and 1 differ");
  refused("const %a: f32[2] = [0.5, 1.0] const %z: i64[1] = [3]",
          "dequantize_per_channel(%q, %a, %z, 0, -128, 127, i8)", "number of zero points: 1 and 2 differ");
}
TEST_F(Decompositions, MatmulOfFourDimensionsIsBatched) {
  EXPECT_EQ(names(b.call("aten.matmul", {input({2, 3, 4, 5}), input({2, 3, 5, 6})})),
            "aten.view.default aten.view.default aten.bmm.default aten.view.default");
}

}  // namespace
}  // namespace wick::compiler
