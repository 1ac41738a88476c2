// Operators for which stock's kernels give other numbers than eager, and mean the same.
#pragma once
#include "tests/interop/stock_verdict.h"

namespace wick::interop {

/// Of its own kernels.
inline const std::vector<KnownDifference> kKnownOfKernels = {
    {"aten.gelu.default", "", "", "finite beyond 1e38, where eager overflows"},
    {"aten.abs.default", "f32", "", "complex numbers beside infinities"},
    {"aten.div.Tensor", "c64", "", "quotients of infinities"},
    {"aten.sign.default", "", "", "NaN gives NaN instead of 0"},
    {"aten.sign_.default", "", "", "NaN gives NaN instead of 0"},
    {"aten.remainder.Tensor", "", "", "quotients beyond the largest float"},
    {"aten.remainder.Scalar", "", "", "quotients beyond the largest float"},
    {"aten.fmod.Tensor", "", "", "quotients beyond the largest float"},
    {"aten.fmod.Scalar", "", "", "quotients beyond the largest float"},
    {"aten.floor_divide.default", "", "", "infinities"},
    {"aten.div.Tensor_mode", "", "", "infinities"},
    {"aten.std.correction", "", "", "nearly equal elements: variance with fewer digits"},
    {"aten.layer_norm.default", "", "", "nearly equal elements: variance with fewer digits"},
    {"aten.group_norm.default", "", "", "nearly equal elements: variance with fewer digits"},
    {"aten.batch_norm.default", "f64", "", "training: scales by a float32"},
    {"aten.native_batch_norm.default", "f64", "", "training: scales by a float32"},
    {"aten._native_batch_norm_legit.default", "f64", "", "training: scales by a float32"},
    {"aten._batch_norm_with_update.default", "f64", "", "training: scales by a float32"},
    {"aten.instance_norm.default", "f64", "", "training: scales by a float32"},
    {"quantized_decomposed.quantize_per_tensor.default", "", "", "infinities"},
    {"quantized_decomposed.choose_qparams.tensor", "", "", "rounds to float32; a different scale for ranges near zero"},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", "", "", "rounds to float32"},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", "", "", "rounds to float32"},
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default", "", "", "rounds to float32"},
};

/// Of the XNNPACK library that it brings, newer than Wick's.
inline const std::vector<KnownDifference> kKnownOfXnnpack = {
    {"aten.exp.default", "", "", "infinite beyond 88.5 instead of 88.7"},
    {"aten.exp_.default", "", "", "infinite beyond 88.5 instead of 88.7"},
    {"aten.expm1.default", "", "", "infinite beyond 88.5 instead of 88.7"},
    {"aten.expm1_.default", "", "", "infinite beyond 88.5 instead of 88.7"},
    {"aten.tan.default", "", "", "the cosine next to a quarter turn is zero"},
    {"aten.sin.default", "f32", "", "NaN for the largest arguments"},
    {"aten.cos.default", "f32", "", "NaN for the largest arguments"},
    {"aten.sin.default", "f16", "avx512fp16", "reduces large arguments in half precision"},
    {"aten.cos.default", "f16", "avx512fp16", "reduces large arguments in half precision"},
};

}  // namespace wick::interop
