// All exceptions of the conformance tests: the cases and operators that they treat differently, each with its reason.
#pragma once
#include <array>
#include <initializer_list>
#include <string_view>

namespace wick::conformance {

/// Cases in which eager PyTorch deviates from its own definition of the operator. `elements` are row-major indices into
/// the first result. These elements must differ from eager's; all others must agree.
struct Quirk {
  std::string_view family;
  size_t line;
  std::string_view op;
  std::initializer_list<size_t> elements;
  std::string_view why;
};
inline constexpr std::string_view kHugeQuotient =
    "eager's vectorised f32 fmod gives NaN where the quotient is beyond 2^126; its scalar loop and f64 do not";
inline constexpr std::string_view kHugeGelu =
    "oneDNN overflows in gelu(3e38) and gives NaN for gelu(inf); eager's own loop does not";
inline const Quirk kQuirks[] = {
    {"binary", 203, "aten.remainder.Tensor", {31, 42, 53, 64}, kHugeQuotient},
    {"binary", 232, "aten.fmod.Tensor", {31, 42, 53, 64}, kHugeQuotient},
    {"binary", 890, "aten.remainder.Scalar", {20, 21}, kHugeQuotient},
    {"binary", 913, "aten.fmod.Scalar", {20, 21}, kHugeQuotient},
    {"pointwise", 138, "aten.gelu.default", {20, 26}, kHugeGelu},
    {"pointwise", 140, "aten.gelu.default", {20, 26}, kHugeGelu},
    {"pointwise", 523, "aten.gelu.default", {20, 26}, kHugeGelu},
    {"pointwise", 526, "aten.gelu.default", {20, 26}, kHugeGelu},
};

/// Cases that are known to fail; one that passes fails the test.
struct ExpectedFailure {
  std::string_view family;
  size_t line;
  std::string_view op, why;
};
inline constexpr std::array<ExpectedFailure, 0> kExpectedFailures = {};

/// How Wick deviates from eager for an operator in some dtypes (family dtypes). A row applies to cases whose first
/// tensor has one of its dtypes. A row without a deviation fails the test.
enum class Parting {
  refused,    // eager computes it, the compiler refuses it
  rounded,    // both compute it, with different rounding
  undefined,  // both compute something, but eager's result is undefined
  accepted,   // eager refuses it on the CPU, Wick computes it
};
struct DtypeException {
  std::string_view op;  // a name, or a prefix of names followed by '*'
  std::initializer_list<std::string_view> dtypes;
  Parting parting;
  std::string_view why;
};
inline constexpr std::string_view kHalfSteps =
    "eager rounds each step to the narrow dtype, Wick the result: the exact one lies nearer to Wick's";
inline constexpr std::string_view kQuantizedDtypes =
    "scales are float32 or float64, what is quantized is floating, its result integral";
inline const DtypeException kDtypeExceptions[] = {
#include "tests/conformance/dtype_exceptions.inc"
};

/// The same for the calls of PyTorch's operator samples (family samples).
inline constexpr std::string_view kOtherSpelling = "the error names another way";
inline const DtypeException kSampleExceptions[] = {
    {"aten._batch_norm_with_update.default", {"f16", "bf16"}, Parting::rounded, kHalfSteps},
    {"aten._native_batch_norm_legit.default", {"f16", "bf16"}, Parting::rounded, kHalfSteps},
    {"aten.batch_norm.default", {"f16", "bf16"}, Parting::rounded, kHalfSteps},
    {"aten.instance_norm.default", {"f16", "bf16"}, Parting::rounded, kHalfSteps},
    {"aten.logcumsumexp.default", {"c64"}, Parting::refused, "no kernel"},
    {"aten.matrix_exp.default", {"f16", "bf16"}, Parting::rounded, "eager's steps overflow in 16 bits"},
    {"aten.native_batch_norm.default", {"f16", "bf16"}, Parting::rounded, kHalfSteps},
    {"aten.polygamma.default", {"f32", "f64"}, Parting::rounded, "eager computes in the dtype, Wick in double"},
    {"aten.resize_.default",
     {"f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool", "c64"},
     Parting::refused,
     kOtherSpelling},
    {"aten.rms_norm.default", {"c64"}, Parting::refused, "not computed of complex numbers"},
    {"aten.special_airy_ai.default", {"f64"}, Parting::rounded, "differs from the tenth digit on"},
    {"aten.special_polygamma.default", {"f32", "f64"}, Parting::rounded, "eager computes in the dtype, Wick in double"},
    {"aten.stft.default", {"c64"}, Parting::rounded, "sums that cancel"},
    {"aten.sum_to_size.default",
     {"i32", "u8", "bool"},
     Parting::refused,
     "torch.export records another dtype than eager computes"},
};

/// Operators that deviate from eager in some mixes of dtypes (family mixes). A row without a deviation fails the test.
/// A refusal must come from the compiler, with a reason.
inline constexpr std::string_view kOneDtype =
    "eager converts here what no exported model mixes: refused with the dtypes";
inline constexpr std::string_view kNarrowSteps = "the result is wider than the steps before it, which round to float32";
inline const DtypeException kMixExceptions[] = {
    {"aten._native_multi_head_attention.default", {}, Parting::refused, kOneDtype},
    {"aten._transformer_encoder_layer_fwd.default", {}, Parting::refused, kOneDtype},
    {"aten.lstm.input", {}, Parting::refused, kOneDtype},
    {"aten.lstm_cell.default", {}, Parting::refused, kOneDtype},
    {"aten.linalg_solve_triangular.default", {}, Parting::refused, kOneDtype},
    {"aten.convolution_backward.default", {}, Parting::refused, kOneDtype},
    {"aten.native_dropout_backward.default", {}, Parting::refused, kOneDtype},
    {"aten.normal.Tensor_Tensor", {}, Parting::refused, kOneDtype},
    {"aten._unsafe_masked_index.default", {}, Parting::refused, "the mask is bool"},
    {"aten._unsafe_masked_index_put_accumulate.default", {}, Parting::refused, "the mask is bool"},
    {"aten._embedding_bag.default", {}, Parting::refused, "indices are i32 or i64"},
    {"aten._embedding_bag_forward_only.default", {}, Parting::refused, "indices are i32 or i64"},
    {"aten.embedding_bag.default", {}, Parting::refused, "indices are i32 or i64"},
    {"aten.embedding_bag.padding_idx", {}, Parting::refused, "indices are i32 or i64"},
    {"aten.repeat_interleave.self_Tensor", {}, Parting::refused, "counts are i32 or i64"},
    {"quantized_decomposed.dequantize_per_channel.default", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.dequantize_per_channel_group.default", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.dequantize_per_channel_group.default", {}, Parting::rounded, kHalfSteps},
    {"quantized_decomposed.dequantize_per_tensor.tensor", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.dequantize_per_token.default", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.fake_quant_per_channel.default", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.quantize_per_channel.default", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.quantize_per_channel_group.default", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.quantize_per_tensor.tensor", {}, Parting::refused, kQuantizedDtypes},
    {"quantized_decomposed.quantize_per_token.default", {}, Parting::refused, kQuantizedDtypes},
    {"aten.binary_cross_entropy_with_logits.default", {}, Parting::rounded, kNarrowSteps},
    {"aten.cosine_embedding_loss.default", {}, Parting::rounded, kNarrowSteps},
    {"aten.cosine_similarity.default", {}, Parting::rounded, kNarrowSteps},
    {"aten.cross_entropy_loss.default", {}, Parting::rounded, kNarrowSteps},
    {"aten.poisson_nll_loss.default", {}, Parting::rounded, kNarrowSteps},
    {"aten.triplet_margin_loss.default", {}, Parting::rounded, kNarrowSteps},
};

/// Operators without a flag although they behave in all their cases as the flag states (flags_test.cpp). A row for
/// which this is no longer true fails the test.
struct FlagException {
  std::string_view op, why;
};
inline constexpr std::string_view kDropsInTraining = "with train = true it draws random numbers";
inline constexpr std::string_view kQuantizationPair =
    "one end of a quantize and dequantize pair: passes recognize, move and fold the two together";
inline constexpr FlagException kNotPointwise[] = {
    {"aten.alpha_dropout.default", kDropsInTraining},
    {"aten.dropout.default", kDropsInTraining},
    {"aten.feature_alpha_dropout.default", kDropsInTraining},
    {"aten.feature_dropout.default", kDropsInTraining},
    {"aten.type_as.default", "of the second operand only the dtype counts: it need not broadcast"},
    {"quantized_decomposed.dequantize_per_tensor.default", kQuantizationPair},
    {"quantized_decomposed.dequantize_per_tensor.tensor", kQuantizationPair},
    {"quantized_decomposed.dequantize_per_token.default", kQuantizationPair},
    {"quantized_decomposed.quantize_per_tensor.default", kQuantizationPair},
    {"quantized_decomposed.quantize_per_tensor.tensor", kQuantizationPair},
    {"quantized_decomposed.quantize_per_token.default", kQuantizationPair},
};
inline constexpr std::array<FlagException, 0> kNotCommutative = {};

/// A case that is ill-conditioned: eager's own result loses digits. `absolute` is the absolute tolerance.
struct IllConditioned {
  std::string_view family;
  size_t line;
  std::string_view op;
  double absolute;
  std::string_view why;
};
inline constexpr IllConditioned kIllConditioned[] = {
    {"neural", 97, "aten.layer_norm.default", 0.05,
     "rows of 1000 +- 0.002: one f32 step of the mean is 0.04 deviations; the exact result lies between eager's and "
     "ours"},
};

/// The same for cases of family dtypes whose first tensor has this dtype.
struct IllConditionedDtype {
  std::string_view op, dtype;
  double absolute;
  std::string_view why;
};
inline constexpr std::string_view kCancellingParts =
    "real parts of products cancel: eager's f32 sums are as far from the exact number as ours, which lies on "
    "its other side";
inline constexpr IllConditionedDtype kIllConditionedDtypes[] = {
    {"aten._linalg_det.default", "c64", 5e-5, kCancellingParts},
    {"aten.gru.input", "c64", 1e-5, kCancellingParts},
    {"aten.lstm.input", "c64", 1e-5, kCancellingParts},
    {"aten.lstm_cell.default", "c64", 1e-5, kCancellingParts},
};

/// Cases in which the XNNPACK library rounds differently from eager.
inline constexpr IllConditioned kXnnpackRoundings[] = {
    {"functions", 733, "aten.upsample_bilinear2d.vec", 1e-5, "it computes the place of a pixel in another order"},
    {"functions", 739, "aten.upsample_linear1d.vec", 1e-5, "it computes the place of a pixel in another order"},
};

/// Operators that have no case, neither in their row nor in the fixtures.
struct Untested {
  std::string_view op, why;  // op: a name, or a prefix of names followed by '*'
};
inline constexpr Untested kUntested[] = {
    {"executorch_prim.*", "arithmetic of programs, not of PyTorch: tests of runtime/exec"},
    {"higher_order.*", "takes graphs: tests/fixtures/structure"},
    {"wick.call_delegate.*", "takes what a backend made: compiler/partition, compiler/emit"},
    {"dim_order_ops._to_dim_order_copy.default", "not an operator of eager's: compiler/layout, tests/toy_backend"},
    {"wick.convert.default", "stands in folded graphs only: compiler/quantize"},
    {"wick.lookup.default", "ours: what operators on one int8 value become, backends/cortex_m/test/pointwise_test.cpp"},
    {"wick.attention.default",
     "ours: what written out attention becomes, compiler/passes/recognize/recognize_attention_test.cpp"},
    {"wick.scratch.default", "holds nothing of its own: tests/toy_backend"},
    {"aten._assert_async.default", "returns nothing and refuses a false condition: tests/fixtures/structure"},
    {"aten.sym_constrain_range*", "constrains symbols: tests/fixtures/structure"},
    {"aten.sym_storage_offset.default", "of a tensor that begins its storage: always 0"},
    {"aten.pin_memory.default", "eager wants an accelerator"},
    {"aten.convolution_overrideable.default", "eager has no kernel for the CPU"},
    {"aten._grouped_mm.default", "eager has no kernel for small sizes"},
    {"aten._linalg_eigh.default", "vectors are unique up to sign: tests of the kernel"},
    {"aten._linalg_svd.default", "vectors are unique up to sign: tests of the kernel"},
    {"aten.linalg_eigh.default", "vectors are unique up to sign: tests of the kernel"},
    {"aten.linalg_svd.default", "vectors are unique up to sign: tests of the kernel"},
    {"aten.svd.default", "vectors are unique up to sign: tests of the kernel"},
    {"aten._scaled_dot_product_attention_math.default", "only its first result is supported; a case uses all"},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", "only its first result is supported"},
    {"aten.fill_diagonal.default", "ours: what fill_diagonal_ becomes"},
    {"aten.instance_norm_functional.default", "ours: what instance_norm becomes when it writes running statistics"},
    {"quantized_decomposed.embedding_*", "ExecuTorch registers it, not PyTorch"},
    {"torchaudio.*", "torchaudio registers it, not PyTorch: tests/fixtures/structure"},
    {"wick.recursive_filter.default", "ours: what torchaudio's filter becomes, tests/fixtures/structure"},
    {"torchao.*", "torchao registers it, not PyTorch"},
    {"quant.*", "torchao's names of before: compiler/passes/test/recognize_quantization.ir"},
};

}  // namespace wick::conformance
