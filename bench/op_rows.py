"""The rows of ops.py: calls of operators at three sizes.

Operators of the census of exported models, one form of each: in-place forms, other overloads and those that do nothing in inference run the same kernels.
Views are left out, since they copy nothing.
"""

import array
import random
import struct

# dtype -> (number in a .pt2, numpy's code, array's letter, numbers per element)
DTYPES = {"u8": (1, "|u1", "B", 1), "i8": (2, "|i1", "b", 1), "i16": (3, "<i2", "h", 1), "i32": (4, "<i4", "i", 1), "i64": (5, "<i8", "q", 1),
          "f16": (6, "<f2", "H", 1), "f32": (7, "<f4", "f", 1), "f64": (8, "<f8", "d", 1), "c64": (10, "<c8", "f", 2), "c128": (11, "<c16", "d", 2),
          "bool": (12, "|b1", "B", 1)}
NOISE = 40009  # a prime, so that rows of a tensor differ


class Data:
    """A tensor: an input, or a parameter if `constant`."""

    def __init__(self, dtype, sizes, low=-1.0, high=1.0, constant=False, definite=False, values=None):
        self.dtype, self.sizes, self.low, self.high = dtype, tuple(sizes), low, high
        self.constant, self.definite, self.values, self.name = constant, definite, values, None

    def bytes(self):
        _, _, letter, each = DTYPES[self.dtype]
        count = each
        for size in self.sizes:
            count *= size
        numbers = random.Random(count)
        if self.values is not None:
            return array.array(letter, self.values).tobytes()
        if self.dtype == "f16":
            noise = array.array("H", (struct.unpack("<H", struct.pack("<e", numbers.uniform(self.low, self.high)))[0] for _ in range(NOISE)))
        elif letter in "fd":
            noise = array.array(letter, (numbers.uniform(self.low, self.high) for _ in range(NOISE)))
        else:
            low, high = (0, 2) if self.dtype == "bool" else (int(self.low), int(self.high))
            noise = array.array(letter, (numbers.randrange(low, high) for _ in range(NOISE)))
        data = (noise * (count // NOISE + 1))[:count]
        if self.definite:  # symmetric with a large diagonal
            n = self.sizes[-1]
            for base in range(0, count, n * n):
                for i in range(n):
                    for j in range(i):
                        data[base + j * n + i] = data[base + i * n + j]
                    data[base + i * n + i] = n + 1.0
        return data.tobytes()

    def npy(self):
        shape = "(" + "".join(f"{size}, " for size in self.sizes) + ")"
        header = f"{{'descr': '{DTYPES[self.dtype][1]}', 'fortran_order': False, 'shape': {shape}}}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + self.bytes()


class DType:
    """A dtype as an argument."""

    def __init__(self, name):
        self.name = name


class Row:
    def __init__(self, name, target, sizes, arguments, returned):
        self.name, self.target, self.sizes, self.arguments, self.returned = name, target, sizes, arguments, returned


ROWS = []


def row(target, sizes, arguments, note="", returned=None):
    """`arguments(size)` is the call, in the order of the schema. `returned`: how many of the results the program returns, if not all."""
    if target.count(".") == 1:
        target = "aten." + target
    name = target.removeprefix("aten.").removesuffix(".default")
    ROWS.append(Row(f"{name} {note}".strip(), target, sizes, arguments, returned))


def f32(*sizes, low=-1.0, high=1.0):
    return Data("f32", sizes, low, high)


def f64(*sizes):
    return Data("f64", sizes)


def c64(*sizes):
    return Data("c64", sizes)


def weight(*sizes, dtype="f32"):
    return Data(dtype, sizes, -0.1, 0.1, constant=True)


def i64(*sizes, below=100, low=0):
    return Data("i64", sizes, low, below)


def boolean(*sizes):
    return Data("bool", sizes)


ELEMENTS = (16384, 131072, 1048576)
SQUARES = (64, 256, 1024)
ROWS_OF_512 = (32, 256, 2048)
IMAGES = (28, 56, 112)

# --- one element at a time ---
for op in ("relu", "gelu", "sigmoid", "silu", "tanh", "neg", "abs", "exp", "sin", "cos", "erf", "hardswish", "hardsigmoid", "softplus", "leaky_relu",
           "hardtanh", "square", "sign", "ceil", "floor", "elu", "log_sigmoid", "mish", "expm1", "sinh", "atan", "round", "reciprocal", "isnan"):
    row(f"{op}.default", ELEMENTS, lambda n: [f32(n, low=-4, high=4)])
for op in ("sqrt", "rsqrt", "log", "log10", "log1p", "lgamma", "digamma"):
    row(f"{op}.default", ELEMENTS, lambda n: [f32(n, low=0.1, high=5)])
for op in ("acos", "asin", "erfinv", "atanh"):
    row(f"{op}.default", ELEMENTS, lambda n: [f32(n, low=-0.99, high=0.99)])
for op in ("i0", "special_i1", "special_ndtri", "special_erfcx", "special_bessel_j0", "logit"):
    row(f"{op}.default", (16384, 131072), lambda n: [f32(n, low=0.01, high=0.99)])
for op in ("add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor", "maximum.default", "minimum.default", "le.Tensor", "gt.Tensor", "eq.Tensor", "atan2.default",
           "remainder.Tensor", "fmod.Tensor", "floor_divide.default"):
    row(op, ELEMENTS, lambda n: [f32(n), f32(n, low=0.1, high=2)])
row("add.Tensor", ROWS_OF_512, lambda n: [f32(n, 512), f32(512)], "of a row")
row("mul.Tensor", ROWS_OF_512, lambda n: [f32(n, 512), f32(n, 1)], "of a column")
row("add.Tensor", ELEMENTS, lambda n: [i64(n), i64(n)], "i64")
row("mul.Tensor", ELEMENTS, lambda n: [c64(n), c64(n)], "c64")
row("add.Tensor", ELEMENTS, lambda n: [c64(n), c64(n)], "c64")
row("abs.default", ELEMENTS, lambda n: [c64(n)], "c64")
row("angle.default", ELEMENTS, lambda n: [c64(n)], "c64")
row("exp.default", ELEMENTS, lambda n: [c64(n)], "c64")
row("mul.Scalar", ELEMENTS, lambda n: [f32(n), 2.0])
row("rsub.Scalar", ELEMENTS, lambda n: [f32(n), 1.0])
for exponent in (2, 3, 0.5, -0.5, 1.7):
    row("pow.Tensor_Scalar", ELEMENTS, lambda n, exponent=exponent: [f32(n, low=0.1, high=3), exponent], f"{exponent}")
row("pow.Scalar", ELEMENTS, lambda n: [10000.0, f32(n)])
row("pow.Tensor_Tensor", ELEMENTS, lambda n: [f32(n, low=0.1, high=3), f32(n)])
row("clamp.default", ELEMENTS, lambda n: [f32(n), -0.5, 0.5])
row("clamp.Tensor", ELEMENTS, lambda n: [f32(n), f32(n, low=-1, high=0), f32(n, low=0, high=1)])
row("gelu.default", ELEMENTS, lambda n: [f32(n, low=-4, high=4), "tanh"], "tanh")
row("div.Tensor_mode", ELEMENTS, lambda n: [i64(n), i64(n, low=1, below=9), "floor"], "i64")
row("where.self", ELEMENTS, lambda n: [boolean(n), f32(n), f32(n)])
row("masked_fill.Scalar", ELEMENTS, lambda n: [f32(n), boolean(n), 0.0])
row("ge.Scalar", ELEMENTS, lambda n: [f32(n), 0.5])
row("eq.Scalar", ELEMENTS, lambda n: [i64(n), 5], "i64")
row("bitwise_and.Tensor", ELEMENTS, lambda n: [boolean(n), boolean(n)])
row("logical_not.default", ELEMENTS, lambda n: [boolean(n)])
row("logical_and.default", ELEMENTS, lambda n: [f32(n), f32(n)])
row("addcmul.default", ELEMENTS, lambda n: [f32(n), f32(n), f32(n)])
row("lerp.Scalar", ELEMENTS, lambda n: [f32(n), f32(n), 0.3])
row("prelu.default", (28, 56, 112), lambda n: [f32(1, 64, n, n), weight(64)])
row("glu.default", ROWS_OF_512, lambda n: [f32(n, 1024), -1])
row("mse_loss.default", ELEMENTS, lambda n: [f32(n), f32(n)])
for source, dtype in (("i64", "f32"), ("f32", "i64"), ("bool", "f32"), ("f32", "f16"), ("f16", "f32"), ("f64", "f32"), ("i32", "f32")):
    row("_to_copy.default", ELEMENTS, lambda n, source=source, dtype=dtype: [Data(source, (n,), 0, 100), DType(dtype)], f"{source} to {dtype}")

# --- reductions ---
for op in ("sum.dim_IntList", "mean.dim", "amax.default"):
    row(op, ROWS_OF_512, lambda n: [f32(n, 512), [-1], True], "inner")
    row(op, ROWS_OF_512, lambda n: [f32(n, 512), [0], True], "outer")
row("mean.dim", (7, 28, 56), lambda n: [f32(1, 256, n, n), [2, 3]], "pixels")
row("sum.default", ELEMENTS, lambda n: [f32(n)])
row("max.default", ELEMENTS, lambda n: [f32(n)])
row("max.dim", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("min.dim", ROWS_OF_512, lambda n: [f32(n, 512), 0], "outer")
row("argmax.default", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("var.correction", ROWS_OF_512, lambda n: [f32(n, 512), [-1]])
row("std.correction", ROWS_OF_512, lambda n: [f32(n, 512), [0]], "outer")
row("prod.dim_int", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("any.dim", ROWS_OF_512, lambda n: [boolean(n, 512), -1])
row("all.default", ELEMENTS, lambda n: [boolean(n)])
row("linalg_vector_norm.default", ROWS_OF_512, lambda n: [f32(n, 512), 2, [-1]])
row("logsumexp.default", ROWS_OF_512, lambda n: [f32(n, 512), [-1]])
row("softmax.int", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("softmax.int", (16, 64, 256), lambda n: [f32(8, n, n), 1], "inner dim")
row("log_softmax.int", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("cumsum.default", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("cumsum.default", ROWS_OF_512, lambda n: [i64(n, 512), 0], "i64 outer")
row("cumprod.default", ROWS_OF_512, lambda n: [f32(n, 512, low=0.9, high=1.1), -1])
row("cummax.default", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("logcumsumexp.default", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("cosine_similarity.default", ROWS_OF_512, lambda n: [f32(n, 512), f32(n, 512)])
row("histc.default", ELEMENTS, lambda n: [f32(n), 100])
row("bincount.default", ELEMENTS, lambda n: [i64(n, below=1000), None, 1000])

# --- matrices ---
row("linear.default", SQUARES, lambda n: [f32(128, n), weight(n, n), weight(n)])
row("linear.default", SQUARES, lambda n: [f32(1, n), weight(n, n), weight(n)], "one row")
row("matmul.default", SQUARES, lambda n: [f32(n, n), f32(n, n)])
row("matmul.default", (16, 64, 128), lambda n: [f32(8, n, 64), f32(8, 64, n)], "batches")
row("matmul.default", SQUARES, lambda n: [f64(n, n), f64(n, n)], "f64")
row("matmul.default", SQUARES, lambda n: [c64(n, n), c64(n, n)], "c64")
row("matmul.default", (32, 128, 256), lambda n: [i64(n, n), i64(n, n)], "i64")
row("matmul.default", SQUARES, lambda n: [Data("f16", (n, n)), Data("f16", (n, n))], "f16")
row("_int_mm.default", (64, 256, 512), lambda n: [Data("i8", (n, n), -100, 100), Data("i8", (n, n), -100, 100)])
row("addmm.default", SQUARES, lambda n: [f32(n), f32(n, n), f32(n, n)])
row("bmm.default", (16, 64, 128), lambda n: [f32(12, n, n), f32(12, n, n)])
row("baddbmm.default", (16, 64, 128), lambda n: [f32(12, n, n), f32(12, n, n), f32(12, n, n)])
row("mv.default", SQUARES, lambda n: [f32(n, n), f32(n)])
row("dot.default", ELEMENTS, lambda n: [f32(n), f32(n)])
row("outer.default", SQUARES, lambda n: [f32(n), f32(n)])
row("einsum.default", (16, 32, 64), lambda n: ["bqhd,bkhd->bhqk", [f32(2, n, 8, 64), f32(2, n, 8, 64)]])
row("scaled_dot_product_attention.default", (32, 128, 512), lambda n: [f32(1, 8, n, 64), f32(1, 8, n, 64), f32(1, 8, n, 64)])
row("cdist.default", (32, 128, 512), lambda n: [f32(n, 64), f32(n, 64)])
row("cdist.default", (32, 128, 512), lambda n: [f32(n, 64), f32(n, 64), 1.0], "p = 1")
row("cdist.default", (32, 128), lambda n: [f32(n, 64), f32(n, 64), 3.0], "p = 3")
row("pdist.default", (32, 128, 512), lambda n: [f32(n, 64)])
row("linalg_cholesky.default", (16, 64, 128), lambda n: [Data("f32", (n, n), definite=True)])
row("linalg_inv.default", (16, 64, 128), lambda n: [Data("f32", (n, n), definite=True)])
row("linalg_det.default", (16, 64, 128), lambda n: [Data("f32", (n, n), definite=True)])
row("linalg_solve.default", (16, 64, 128), lambda n: [Data("f32", (n, n), definite=True), f32(n, 16)])
row("linalg_qr.default", (16, 64, 128), lambda n: [f32(n, n)])
row("linalg_svd.default", (8, 32, 64), lambda n: [f32(n, n), False])
row("linalg_eigh.default", (8, 32, 64), lambda n: [Data("f32", (n, n), definite=True)])
row("linalg_matrix_exp.default", (8, 32, 64), lambda n: [f32(n, n)])

# --- layers ---
row("conv2d.default", IMAGES, lambda n: [f32(1, 64, n, n), weight(64, 64, 3, 3), weight(64), [1, 1], [1, 1]])
row("conv2d.default", IMAGES, lambda n: [f32(1, 64, n, n), weight(128, 64, 1, 1)], "1x1")
row("conv2d.default", IMAGES, lambda n: [f32(1, 64, n, n), weight(64, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], 64], "depthwise")
row("conv2d.default", IMAGES, lambda n: [f32(1, 64, n, n), weight(64, 16, 3, 3), None, [1, 1], [1, 1], [1, 1], 4], "4 groups")
row("conv2d.default", (64, 128, 224), lambda n: [f32(1, 3, n, n), weight(64, 3, 16, 16), weight(64), [16, 16]], "patches")
row("conv2d.default", (14, 28, 56), lambda n: [f64(1, 32, n, n), weight(32, 32, 3, 3, dtype="f64"), None, [1, 1], [1, 1]], "f64")
row("conv2d.default", (14, 28, 56), lambda n: [Data("f16", (1, 32, n, n)), weight(32, 32, 3, 3, dtype="f16"), None, [1, 1], [1, 1]], "f16")
row("conv1d.default", (64, 256, 1024), lambda n: [f32(1, 128, n), weight(128, 128, 3), weight(128), [1], [1]])
row("conv3d.default", (8, 16, 28), lambda n: [f32(1, 16, 8, n, n), weight(32, 16, 3, 3, 3), None, [1, 1, 1], [1, 1, 1]])
row("conv_transpose2d.input", (14, 28, 56), lambda n: [f32(1, 64, n, n), weight(64, 32, 2, 2), weight(32), [2, 2]])
row("conv_transpose1d.default", (64, 256, 1024), lambda n: [f32(1, 64, n), weight(64, 32, 4), weight(32), [2], [1]])
row("batch_norm.default", IMAGES, lambda n: [f32(1, 64, n, n), weight(64), weight(64), weight(64), Data("f32", (64,), 0.5, 1.5, True), False, 0.1, 1e-5, False])
row("batch_norm.default", (14, 28, 56), lambda n: [f32(1, 64, n, n), weight(64), weight(64), None, None, True, 0.1, 1e-5, False], "of a batch")
row("layer_norm.default", ROWS_OF_512, lambda n: [f32(n, 512), [512], weight(512), weight(512)])
row("rms_norm.default", ROWS_OF_512, lambda n: [f32(n, 512), [512], weight(512), 1e-6])
row("group_norm.default", IMAGES, lambda n: [f32(1, 64, n, n), 32, weight(64), weight(64)])
row("instance_norm.default", IMAGES, lambda n: [f32(1, 64, n, n), None, None, None, None, True, 0.1, 1e-5, False])
row("_weight_norm.default", SQUARES, lambda n: [f32(n, n), f32(n, 1), 0])
row("max_pool2d.default", IMAGES, lambda n: [f32(1, 64, n, n), [3, 3], [2, 2], [1, 1]])
row("max_pool2d_with_indices.default", IMAGES, lambda n: [f32(1, 64, n, n), [3, 3], [2, 2], [1, 1]])
row("max_pool1d.default", (256, 1024, 4096), lambda n: [f32(1, 64, n), [2], [2]])
row("max_pool3d.default", (8, 16, 28), lambda n: [f32(1, 16, 8, n, n), [2, 2, 2], [2, 2, 2]])
row("avg_pool2d.default", IMAGES, lambda n: [f32(1, 64, n, n), [3, 3], [2, 2], [1, 1]])
row("avg_pool1d.default", (256, 1024, 4096), lambda n: [f32(1, 64, n), [4], [4]])
row("avg_pool3d.default", (8, 16, 28), lambda n: [f32(1, 16, 8, n, n), [2, 2, 2], [2, 2, 2]])
row("adaptive_avg_pool2d.default", (14, 28, 56), lambda n: [f32(1, 256, n, n), [1, 1]])
row("adaptive_avg_pool2d.default", (14, 28, 56), lambda n: [f32(1, 256, n, n), [6, 6]], "6x6")
row("adaptive_max_pool2d.default", (14, 28, 56), lambda n: [f32(1, 256, n, n), [7, 7]])
row("upsample_bilinear2d.vec", (14, 28, 56), lambda n: [f32(1, 64, n, n), [2 * n, 2 * n], False, None])
row("upsample_nearest2d.vec", (14, 28, 56), lambda n: [f32(1, 64, n, n), [2 * n, 2 * n], None])
row("upsample_bicubic2d.vec", (14, 28, 56), lambda n: [f32(1, 16, n, n), [2 * n, 2 * n], False, None])
row("_upsample_bicubic2d_aa.vec", (28, 56, 112), lambda n: [f32(1, 3, n, n), [n // 2, n // 2], False, None])
row("grid_sampler.default", (14, 28, 56), lambda n: [f32(1, 64, n, n), f32(1, n, n, 2), 0, 0, False])
row("grid_sampler.default", (14, 28, 56), lambda n: [f32(1, 64, n, n), f32(1, n, n, 2), 2, 1, False], "bicubic")
row("affine_grid_generator.default", (14, 56, 224), lambda n: [f32(1, 2, 3), [1, 3, n, n], False])
row("embedding.default", (32, 256, 2048), lambda n: [weight(1000, 512), i64(n, below=1000)])
for mode, name in enumerate(("sum", "mean", "max")):
    row("embedding_bag.padding_idx", (32, 256, 2048),
        lambda n, mode=mode: [weight(1000, 64), i64(n * 8, below=1000), Data("i64", (n,), values=range(0, n * 8, 8)), False, mode, False, None, False, None], name, returned=1)
row("lstm.input", (8, 32, 128), lambda n: [f32(1, n, 64), [f32(1, 1, 64), f32(1, 1, 64)],
                                          [weight(256, 64), weight(256, 64), weight(256), weight(256)], True, 1, 0.0, False, False, True])
row("gru.input", (8, 32, 128), lambda n: [f32(1, n, 64), f32(1, 1, 64), [weight(192, 64), weight(192, 64), weight(192), weight(192)], True, 1, 0.0, False, False, True])

# --- data movement ---
row("cat.default", ROWS_OF_512, lambda n: [[f32(n, 256), f32(n, 256)], 1])
row("stack.default", ROWS_OF_512, lambda n: [[f32(n, 256), f32(n, 256)], -1])
row("permute_copy.default", SQUARES, lambda n: [f32(n, n), [1, 0]])
row("permute_copy.default", IMAGES, lambda n: [f32(1, 64, n, n), [0, 2, 3, 1]], "to channels last")
row("expand_copy.default", ROWS_OF_512, lambda n: [f32(n, 1), [n, 512]])
row("slice_copy.Tensor", ROWS_OF_512, lambda n: [f32(n, 512), 1, 0, 512, 2])
row("split_with_sizes_copy.default", ROWS_OF_512, lambda n: [f32(n, 512), [128, 384], 1])
row("repeat.default", ROWS_OF_512, lambda n: [f32(n, 128), [2, 2]])
row("repeat_interleave.self_int", ROWS_OF_512, lambda n: [f32(n, 128), 4, 1])
row("roll.default", SQUARES, lambda n: [f32(1, n, n, 16), [3, 3], [1, 2]])
row("flip.default", ROWS_OF_512, lambda n: [f32(n, 512), [1]])
row("tril.default", SQUARES, lambda n: [f32(n, n)])
row("pad.default", IMAGES, lambda n: [f32(1, 64, n, n), [1, 1, 1, 1], "constant", None])
row("pad.default", IMAGES, lambda n: [f32(1, 64, n, n), [1, 1, 1, 1], "reflect", None], "reflect")
row("pad.default", IMAGES, lambda n: [f32(1, 64, n, n), [1, 1, 1, 1], "replicate", None], "replicate")
row("pixel_shuffle.default", (14, 28, 56), lambda n: [f32(1, 64, n, n), 2])
row("im2col.default", (14, 28, 56), lambda n: [f32(1, 64, n, n), [3, 3], [1, 1], [1, 1], [1, 1]])
row("im2col.default", (32, 64, 128), lambda n: [f32(1, 16, n, n), [8, 8], [1, 1], [0, 0], [8, 8]], "patches")
row("col2im.default", (14, 28, 56), lambda n: [f32(1, 64 * 9, n * n), [n, n], [3, 3], [1, 1], [1, 1], [1, 1]])
row("unfold_copy.default", (1024, 16384, 131072), lambda n: [f32(1, n), 1, 400, 160])
row("diff.default", ROWS_OF_512, lambda n: [f32(n, 512)])
row("meshgrid.indexing", SQUARES, lambda n: [[f32(n), f32(n)], "ij"])
row("full_like.default", ELEMENTS, lambda n: [f32(n), 2.0])
row("arange.default", ELEMENTS, lambda n: [n])

# --- indices ---
row("index.Tensor", ROWS_OF_512, lambda n: [f32(1000, 512), [i64(n, below=1000)]])
row("index.Tensor", ROWS_OF_512, lambda n: [f32(64, 1000), [None, i64(n, below=1000)]], "columns")
row("index.Tensor", SQUARES, lambda n: [f32(n, n), [i64(n, 1, below=n), i64(1, n, below=n)]], "two")
row("index_select.default", ROWS_OF_512, lambda n: [f32(1000, 512), 0, i64(n, below=1000)])
row("gather.default", ROWS_OF_512, lambda n: [f32(n, 512), 1, i64(n, 512, below=512)])
row("gather.default", ROWS_OF_512, lambda n: [f32(n, 512), 0, i64(n, 512, below=n)], "outer")
row("scatter.src", ROWS_OF_512, lambda n: [f32(n, 512), 1, i64(n, 512, below=512), f32(n, 512)])
row("scatter_add.default", ROWS_OF_512, lambda n: [f32(n, 512), 0, i64(n, 512, below=n), f32(n, 512)])
row("scatter_reduce.two", ROWS_OF_512, lambda n: [f32(n, 512), 0, i64(n, 512, below=n), f32(n, 512), "amax"])
row("index_add.default", ROWS_OF_512, lambda n: [f32(1000, 512), 0, i64(n, below=1000), f32(n, 512)])
row("index_copy.default", (8, 64, 256), lambda n: [f32(1, 8, 1024, 64), 2, Data("i64", (n,), values=range(n)), f32(1, 8, n, 64)])
row("index_put.default", ROWS_OF_512, lambda n: [f32(1000, 512), [i64(n, below=1000)], f32(n, 512)])
row("topk.default", ROWS_OF_512, lambda n: [f32(n, 512), 4])
row("topk.default", (4096, 32768, 131072), lambda n: [f32(1, n), 50], "of a vocabulary")
row("topk.default", (1024, 8192, 32768), lambda n: [f32(1, n), n // 4], "a quarter")
row("sort.default", ROWS_OF_512, lambda n: [f32(n, 512)])
row("sort.default", (4096, 32768, 131072), lambda n: [f32(n)], "one line")
row("sort.default", (1024, 8192, 32768), lambda n: [i64(n, below=64)], "i64")
row("argsort.default", ROWS_OF_512, lambda n: [f32(n, 512)])
row("kthvalue.default", ROWS_OF_512, lambda n: [f32(n, 512), 100])
row("median.dim", ROWS_OF_512, lambda n: [f32(n, 512), -1])
row("searchsorted.Tensor", (1024, 16384, 131072), lambda n: [Data("f32", (1000,), values=[i / 500 - 1 for i in range(1000)]), f32(n)])
row("masked_scatter.default", ELEMENTS, lambda n: [f32(n), boolean(n), f32(n)])
row("one_hot.default", (32, 256, 2048), lambda n: [i64(n, below=64), 64])
row("bucketize.Tensor", (1024, 16384, 131072), lambda n: [f32(n), Data("f32", (100,), values=[i / 50 - 1 for i in range(100)])])

# --- signals ---
row("_fft_r2c.default", (64, 512, 4096), lambda n: [f32(16, n), [1], 0, True])
row("_fft_r2c.default", (60, 400, 3000), lambda n: [f32(16, n), [1], 0, True], "no power of two")
row("_fft_c2c.default", (64, 512, 4096), lambda n: [c64(16, n), [1], 0, True])
row("_fft_c2r.default", (64, 512, 4096), lambda n: [c64(16, n // 2 + 1), [1], 2, n])
row("fft_fftn.default", (32, 64, 256), lambda n: [f32(n, n)])
row("stft.default", (4000, 16000, 64000), lambda n: [f32(1, n), 400, 160, 400, f32(400, low=0, high=1), False, True, True])
row("stft.default", (4000, 16000, 64000), lambda n: [f32(1, n), 512, 128, 512, f32(512, low=0, high=1), False, True, True], "512")
row("istft.default", (32, 128, 512), lambda n: [c64(1, 201, n), 400, 160, 400, f32(400, low=0.5, high=1), True])

# --- detection ---
row("torchvision.deform_conv2d.default", (7, 14, 28), lambda n: [f32(1, 32, n, n), weight(32, 32, 3, 3), f32(1, 18, n, n), f32(1, 9, n, n), weight(32),
                                                                  1, 1, 1, 1, 1, 1, 1, 1, True])
row("torchvision.roi_align.default", (8, 32, 128), lambda n: [f32(1, 64, 50, 50), Data("f32", (n, 5), values=[
    number for i in range(n) for number in (0, i % 10, i % 7, 20 + i % 20, 25 + i % 15)]), 1.0, 7, 7, 2, True])
