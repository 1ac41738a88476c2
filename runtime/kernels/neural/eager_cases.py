#!/usr/bin/env python3
"""Writes eager_cases.inc: what eager PyTorch answers for small cases of the neural kernels. Run by hand; needs torch."""
import math
import sys

import torch

NAMES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.bool: "boolean", torch.complex64: "c64", torch.int32: "i32"}


class In:
    """A tensor whose i-th element is ((i * 37 + seed * 11) % 97 - 48) / 16; complex: two such numbers, i counting both."""

    def __init__(self, *sizes, dtype=torch.float32, seed=1):
        self.sizes, self.dtype, self.seed = sizes, dtype, seed
        count = math.prod(sizes)
        if dtype.is_complex:
            flat = torch.tensor([((i * 37 + seed * 11) % 97 - 48) / 16 for i in range(2 * count)], dtype=torch.float32)
            self.tensor = torch.view_as_complex(flat.reshape(*sizes, 2))
        else:
            flat = torch.tensor([((i * 37 + seed * 11) % 97 - 48) / 16 for i in range(count)], dtype=torch.float64)
            self.tensor = flat.reshape(sizes).to(dtype)

    def text(self):
        return f"in(DType::{NAMES[self.dtype]}, {{{', '.join(map(str, self.sizes))}}}, {self.seed})"


class Given:
    def __init__(self, tensor):
        self.tensor = tensor

    def text(self):
        return f"given(DType::{NAMES[self.tensor.dtype]}, {shape(self.tensor)}, {numbers(self.tensor)})"


def shape(t):
    return "{" + ", ".join(map(str, t.shape)) + "}"


def number(v):
    v = float(v)
    if math.isnan(v):
        return "NAN"
    if math.isinf(v):
        return "INFINITY" if v > 0 else "-INFINITY"
    return f"{v:.9g}"


def numbers(t):
    if t.dtype.is_complex:
        t = torch.view_as_real(t)
    return "{" + ", ".join(number(v) for v in t.double().flatten().tolist()) + "}"


def argument(a):
    if isinstance(a, (In, Given)):
        return a.text()
    if a is None:
        return "none()"
    if isinstance(a, bool):
        return "number(" + ("true" if a else "false") + ")"
    if isinstance(a, int):
        return f"number(int64_t{{{a}}})"
    if isinstance(a, float):
        return f"number({a!r})"
    if isinstance(a, list) and a and isinstance(a[0], bool):
        return "bools({" + ", ".join("true" if v else "false" for v in a) + "})"
    if isinstance(a, list) and a and isinstance(a[0], float):
        return "reals({" + ", ".join(repr(v) for v in a) + "})"
    return "ints({" + ", ".join(map(str, a)) + "})"


def case(kernel, function, *arguments, rtol=2e-6, atol=1e-6):
    plain = [a.tensor.clone() if isinstance(a, (In, Given)) else a for a in arguments]
    result = function(*plain)
    outs = [result] if isinstance(result, torch.Tensor) else [r for r in result if r is not None]
    fields = [argument(a) for a in arguments]
    fields += [f"out(DType::{NAMES[o.dtype]}, {shape(o)}, {numbers(o)})" for o in outs]
    print(f'{{"{kernel}", {rtol}, {atol},\n {{' + ",\n  ".join(fields) + "}},")


ops = torch.ops.aten
print("// Written by eager_cases.py with PyTorch " + torch.__version__.split("+")[0] + ".")
half = dict(rtol=2e-3, atol=1e-3)

for d in (0, 1, -1):
    case("aten::_softmax.out", ops._softmax, In(2, 5, 3), d, False)
    case("aten::_log_softmax.out", ops._log_softmax, In(2, 5, 3), d, False)
case("aten::_softmax.out", ops._softmax, In(3, 37), 1, False)
case("aten::_log_softmax.out", ops._log_softmax, In(2, 37), 1, False)
case("aten::_softmax.out", ops._softmax, In(2, 5, dtype=torch.float16), 1, False, **half)
case("aten::_softmax.out", ops._softmax, In(2, 5, dtype=torch.float64), 0, False)
special = torch.tensor([[-math.inf] * 3, [0.0, -math.inf, 1.0], [math.inf, 0.0, 1.0], [math.nan, 0.0, 1.0], [1000.0, 999.0, -1000.0]])
case("aten::_softmax.out", ops._softmax, Given(special), 1, False)
case("aten::_log_softmax.out", ops._log_softmax, Given(special), 1, False)
case("aten::_softmax.out", ops._softmax, Given(special), 0, False)

case("aten::max_pool2d_with_indices.out", ops.max_pool2d_with_indices, In(2, 2, 7, 6), [3, 3], [2, 2], [1, 1], [1, 1], False)
case("aten::max_pool2d_with_indices.out", ops.max_pool2d_with_indices, In(1, 2, 7, 9), [3, 2], [2, 3], [1, 0], [2, 1], True)
case("aten::max_pool2d_with_indices.out", ops.max_pool2d_with_indices, In(2, 6, 7, dtype=torch.float16), [2], [], [0], [1], False)
holes = torch.tensor([[[math.nan, 1.0, 2.0], [3.0, math.nan, -math.inf], [-math.inf, -math.inf, -math.inf]]])
case("aten::max_pool2d_with_indices.out", ops.max_pool2d_with_indices, Given(holes), [2, 2], [1, 1], [1, 1], [1, 1], False)
case("aten::max_pool3d_with_indices.out", ops.max_pool3d_with_indices, In(1, 2, 5, 4, 6), [2, 3, 2], [2, 1, 2], [1, 1, 0], [1, 1, 1], True)
pooled = ops.max_pool2d_with_indices(In(1, 2, 5, 5).tensor, [3, 3], [1, 1], [1, 1])
case("aten::max_pool2d_with_indices_backward.grad_input", ops.max_pool2d_with_indices_backward, In(1, 2, 5, 5, seed=2), In(1, 2, 5, 5),
     [3, 3], [1, 1], [1, 1], [1, 1], False, Given(pooled[1]))
small = ops.max_pool2d_with_indices(In(1, 2, 4, 4).tensor, [2, 2])
case("aten::max_unpool2d.out", ops.max_unpool2d, Given(small[0]), Given(small[1]), [4, 4])
case("aten::adaptive_max_pool2d.out", ops.adaptive_max_pool2d, In(1, 2, 7, 5), [3, 2])
case("aten::adaptive_max_pool3d.out", ops.adaptive_max_pool3d, In(1, 1, 4, 7, 5), [2, 3, 2])
case("aten::avg_pool2d.out", ops.avg_pool2d, In(1, 2, 6, 7), [3, 2], [2, 2], [1, 1], False, True, None)
case("aten::avg_pool2d.out", ops.avg_pool2d, In(2, 6, 7), [3, 3], [2, 2], [1, 1], True, False, None)
case("aten::avg_pool2d.out", ops.avg_pool2d, In(1, 1, 6, 6), [2, 2], [], [0, 0], True, True, 3)
case("aten::avg_pool3d.out", ops.avg_pool3d, In(1, 2, 4, 5, 6), [2, 3, 2], [2, 2, 2], [1, 1, 0], True, True, None)
case("aten::_adaptive_avg_pool2d.out", ops._adaptive_avg_pool2d, In(1, 3, 7, 5), [1, 1])
case("aten::_adaptive_avg_pool2d.out", ops._adaptive_avg_pool2d, In(1, 2, 7, 5), [3, 2])
case("aten::_adaptive_avg_pool3d.out", ops._adaptive_avg_pool3d, In(1, 1, 5, 7, 4), [2, 3, 3])

case("aten::native_layer_norm.out", ops.native_layer_norm, In(2, 3, 19), [19], In(19, seed=2), In(19, seed=3), 1e-5)
case("aten::native_layer_norm.out", ops.native_layer_norm, In(2, 3, 4), [3, 4], None, None, 1e-6)
case("aten::native_layer_norm.out", ops.native_layer_norm, In(3, 8, dtype=torch.float64), [8], In(8, seed=2, dtype=torch.float64), None, 1e-5)
case("aten::native_group_norm.out", ops.native_group_norm, In(2, 4, 3, 3), In(4, seed=2), In(4, seed=3), 2, 4, 9, 2, 1e-5)
case("aten::native_group_norm.out", ops.native_group_norm, In(1, 6, 5), None, None, 1, 6, 5, 3, 1e-5)
variance = Given(In(3, seed=5).tensor.abs() + 0.5)
case("aten::_native_batch_norm_legit_no_training.out", ops._native_batch_norm_legit_no_training, In(2, 3, 2, 5), In(3, seed=2), In(3, seed=3),
     In(3, seed=4), variance, 0.1, 1e-5)
case("aten::_native_batch_norm_legit_no_training.out", ops._native_batch_norm_legit_no_training, In(4, 3), None, None, In(3, seed=4), variance,
     0.1, 1e-3)
case("aten::_native_batch_norm_legit.no_stats_out", ops._native_batch_norm_legit.no_stats, In(2, 3, 2, 5), In(3, seed=2), None, True, 0.1, 1e-5)
case("aten::_native_batch_norm_legit.out", ops._native_batch_norm_legit, In(2, 3, 4), None, In(3, seed=3), In(3, seed=4), variance, False, 0.1, 1e-5)
case("aten::native_dropout.out", ops.native_dropout, In(2, 5), 0.5, False)

for align in (False, True):
    case("aten::upsample_bilinear2d.vec_out", ops.upsample_bilinear2d.vec, In(1, 2, 3, 4), [5, 7], align, None)
    case("aten::upsample_bilinear2d.vec_out", ops.upsample_bilinear2d.vec, In(1, 1, 5, 6), None, align, [0.6, 1.7])
    case("aten::upsample_bicubic2d.out", ops.upsample_bicubic2d, In(1, 1, 4, 5), [7, 3], align, None, None, atol=4e-6)
    case("aten::upsample_linear1d.out", ops.upsample_linear1d, In(1, 2, 5), [8], align, None)
    case("aten::upsample_trilinear3d.out", ops.upsample_trilinear3d, In(1, 1, 2, 3, 4), [3, 4, 3], align, None, None, None)
    case("aten::_upsample_bilinear2d_aa.out", ops._upsample_bilinear2d_aa, In(1, 1, 9, 8), [4, 11], align, None, None, atol=3e-6)
    case("aten::_upsample_bicubic2d_aa.out", ops._upsample_bicubic2d_aa, In(1, 1, 9, 8), [4, 5], align, None, None, atol=3e-6)
case("aten::upsample_bicubic2d.out", ops.upsample_bicubic2d, In(1, 1, 4, 5), [8, 10], False, 2.0, 2.0, atol=4e-6)
case("aten::upsample_nearest2d.vec_out", ops.upsample_nearest2d.vec, In(1, 2, 3, 4), [5, 7], None)
case("aten::upsample_nearest2d.vec_out", ops.upsample_nearest2d.vec, In(1, 1, 3, 4), None, [2.0, 1.5])
case("aten::upsample_nearest2d.out", ops.upsample_nearest2d, In(1, 1, 5, 4), [3, 6], None, None)
case("aten::upsample_nearest1d.out", ops.upsample_nearest1d, In(1, 2, 5), [7], None)
case("aten::upsample_nearest3d.out", ops.upsample_nearest3d, In(1, 1, 2, 3, 2), [3, 4, 5], None, None, None)
case("aten::_upsample_nearest_exact1d.out", ops._upsample_nearest_exact1d, In(1, 2, 5), [7], None)
case("aten::_upsample_nearest_exact2d.out", ops._upsample_nearest_exact2d, In(1, 1, 5, 4), [3, 6], None, None)
case("aten::_upsample_nearest_exact3d.out", ops._upsample_nearest_exact3d, In(1, 1, 2, 3, 2), [3, 4, 5], None, None, None)
grid = Given(In(1, 3, 4, 2, seed=7).tensor / 2)
for mode in range(3):
    for padding in range(3):
        case("aten::grid_sampler_2d.out", ops.grid_sampler_2d, In(1, 2, 4, 5), grid, mode, padding, padding == 1, rtol=1e-5, atol=2e-5)
cube = Given(In(1, 2, 2, 3, 3, seed=7).tensor / 2)
case("aten::grid_sampler_3d.out", ops.grid_sampler_3d, In(1, 2, 3, 4, 5), cube, 0, 0, False, rtol=1e-5, atol=1e-5)
case("aten::grid_sampler_3d.out", ops.grid_sampler_3d, In(1, 1, 3, 4, 5), cube, 1, 2, True)

case("aten::im2col.out", ops.im2col, In(1, 2, 4, 5), [2, 3], [1, 1], [1, 0], [2, 1])
case("aten::col2im.out", ops.col2im, In(1, 12, 9), [4, 5], [2, 3], [1, 1], [1, 0], [2, 1])
for normalization in range(3):
    case("aten::_fft_r2c.out", ops._fft_r2c, In(2, 12), [1], normalization, True, atol=1e-5)
case("aten::_fft_r2c.out", ops._fft_r2c, In(3, 37), [0, 1], 0, True, atol=1e-4)
case("aten::_fft_r2c.out", ops._fft_r2c, In(2, 7), [1], 0, False, atol=1e-5)
case("aten::_fft_c2c.out", ops._fft_c2c, In(4, 6, dtype=torch.complex64), [0, 1], 0, True, atol=1e-5)
case("aten::_fft_c2c.out", ops._fft_c2c, In(2, 41, dtype=torch.complex64), [1], 2, False, atol=1e-5)
case("aten::_fft_c2c.out", ops._fft_c2c, In(64, dtype=torch.complex64), [0], 1, True, atol=1e-5)
spectrum = Given(torch.fft.rfftn(In(4, 9).tensor, dim=(0, 1)))
case("aten::_fft_c2r.out", ops._fft_c2r, spectrum, [0, 1], 2, 9, atol=1e-5)
case("aten::_fft_c2r.out", ops._fft_c2r, Given(torch.fft.rfft(In(2, 12).tensor)), [1], 2, 12, atol=1e-5)

case("aten::convolution.out", ops.convolution, In(1, 4, 5, 6), In(6, 2, 3, 2, seed=2), In(6, seed=3), [2, 1], [1, 0], [1, 2], False, [0, 0], 2)
case("aten::convolution.out", ops.convolution, In(1, 4, 3, 4), In(4, 2, 3, 2, seed=2), In(4, seed=3), [2, 1], [1, 0], [1, 1], True, [1, 0], 2)
case("aten::convolution.out", ops.convolution, In(2, 3, 9), In(2, 3, 4, seed=2), None, [2], [1], [1], False, [0], 1)
case("aten::convolution.out", ops.convolution, In(1, 2, 3, 4, 5), In(2, 2, 2, 2, 3, seed=2), None, [1, 1, 2], [1, 0, 1], [1, 1, 1], False,
     [0, 0, 0], 1)
for transposed in (False, True):
    gradient = In(1, 4, 3, 3, seed=9)
    source = In(1, 4, 5, 5) if not transposed else In(1, 4, 2, 2)
    case("aten::convolution_backward.out", ops.convolution_backward, gradient, source, In(4, 2, 3, 3, seed=2) if not transposed else In(4, 2, 3, 3, seed=2),
         [4], [2, 2], [1, 1], [1, 1], transposed, [0, 0], 2, [True, True, True], rtol=1e-5, atol=1e-5)

for p in (0.0, 1.0, 2.0, 3.0, math.inf):
    if not math.isinf(p):
        case("aten::_cdist_forward.out", ops._cdist_forward, In(2, 3, 5), In(2, 4, 5, seed=2), p, None, rtol=1e-5)
case("aten::_pdist_forward.out", ops._pdist_forward, In(4, 5), 2.0, rtol=1e-5)



def attention(q, k, v, mask, dropout, causal, scale, grouped):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale=scale, enable_gqa=grouped)


case("wick::sdpa.out", attention, In(2, 3, 4), In(2, 5, 4, seed=2), In(2, 5, 6, seed=3), None,
     0.0, False, None, False, rtol=1e-5, atol=1e-5)
case("wick::sdpa.out", attention, In(1, 2, 5, 4), In(1, 2, 5, 4, seed=2), In(1, 2, 5, 3, seed=3),
     None, 0.0, True, 0.3, False, rtol=1e-5, atol=1e-5)
mask = torch.tensor([[True, False, True], [False, True, True]])
case("wick::sdpa.out", attention, In(2, 2, 4), In(2, 3, 4, seed=2), In(2, 3, 3, seed=3),
     Given(mask), 0.0, False, None, False, rtol=1e-5, atol=1e-5)
case("wick::sdpa.out", attention, In(1, 2, 2, 4), In(1, 2, 3, 4, seed=2), In(1, 2, 3, 3, seed=3),
     In(2, 2, 3, seed=4), 0.0, False, None, False, rtol=1e-5, atol=1e-5)
