// The edge of every rule from both sides: what is just inside lowers to a payload that holds, what is just outside is
// refused with its reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/ops/op_rules.h"
#include "backends/xnnpack/payload/payload.h"
#include "compiler/ir/text/text.h"

namespace wick::xnnpack {
namespace {

struct Edge {
  const char* op;
  const char* outside;  // part of the reason; null: inside
  const char* inputs;   // of the graph
  const char* body;     // its last node, of operator `op`, is %y
};

constexpr const char* kIn = nullptr;

// One size known only at run time, as a number.
#define SYMBOL "range s0: 2..8\n"
#define CONV "[1, 1], [1, 1], [1, 1], false, [0, 0], 1)"
#define POOL "[2, 2], [2, 2]"
#define STATISTICS "const %m: f32[3] = [1, 2, 3]\n const %v: f32[3] = [1, 2, 3]\n "

constexpr Edge kEdges[] = {
    // linear
    {"aten.addmm.default", kIn, "%x: f32[2, 3]",
     "const %w: f32[3, 4] = ...\n const %b: f32[4] = ...\n %y = aten.addmm(%b, %x, %w)"},
    {"aten.addmm.default", kIn, "%x: f32[2, 3], %b: f32[2, 4]",
     "const %w: f32[3, 4] = ...\n %y = aten.addmm(%b, %x, %w)"},
    {"aten.addmm.default", kIn, "%x: f32[2, 3], %w: f32[3, 4], %b: f32[4]", "%y = aten.addmm(%b, %x, %w, 0, 0.5)"},
    {"aten.addmm.default", kIn, "%x: f32[s0, 3]",
     SYMBOL "const %w: f32[3, 4] = ...\n const %b: f32[4] = ...\n %y = aten.addmm(%b, %x, %w, 2, 1)"},
    {"aten.addmm.default", "unknown sizes", "%x: f32[s0, 3], %w: f32[3, 4], %b: f32[4]",
     SYMBOL "%y = aten.addmm(%b, %x, %w)"},
    {"aten.bmm.default", kIn, "%a: f32[2, 3, 4], %b: f32[2, 4, 5]", "%y = aten.bmm(%a, %b)"},
    {"aten.bmm.default", kIn, "%a: f16[2, 3, 4], %b: f16[2, 4, 5]", "%y = aten.bmm(%a, %b)"},
    {"aten.bmm.default", "equality is known only at run time", "%a: f32[2, 3, s0], %b: f32[2, s1, 5]",
     SYMBOL "range s1: 2..8\n %y = aten.bmm(%a, %b)"},
    {"aten.bmm.default", "dtype", "%a: f64[2, 3, 4], %b: f64[2, 4, 5]", "%y = aten.bmm(%a, %b)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, 8, 8]",
     "const %w: f32[6, 4, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, " CONV},
    {"aten.convolution.default", kIn, "%x: f16[1, 4, 8, 8]",
     "const %w: f16[4, 1, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 4)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, 8]",
     "const %w: f32[6, 2, 3] = ...\n %y = aten.convolution(%x, %w, none, [2], [1], [1], false, [0], 2)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, 8, 8]",
     "const %w: f32[4, 3, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 2)"},
    {"aten.convolution.default", "computed at run time", "%x: f32[1, 4, 8, 8], %w: f32[6, 4, 3, 3]",
     "%y = aten.convolution(%x, %w, none, " CONV},
    {"aten.convolution.default", kIn, "%x: f32[s0, 4, 8, 8, 8]",
     SYMBOL "const %w: f32[6, 2, 3, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 1, 1], [1, 1, 1], [1, 1, 1], "
            "false, [0, 0, 0], 2)"},
    {"aten.convolution.default", kIn, "%x: f16[1, 4, 4, 4, 4]",
     "const %w: f16[4, 3, 2, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 2, 2], [0, 1, 1], [1, 1, 1], true, "
     "[0, 1, 1], 1)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, s0]",
     "range s0: 1..9\n const %w: f32[4, 6, 3] = ...\n %y = aten.convolution(%x, %w, none, [2], [1], [1], true, [0], "
     "1)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, 1, 1]",
     "const %w: f32[4, 6, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [0, 0], 1)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, s0, 8]",
     "range s0: 2..9\n const %w: f32[4, 6, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], "
     "true, [0, 0], 1)"},
    {"aten.convolution.default", kIn, "%x: f32[1, 4, s0, 8]",
     "range s0: 1..9\n const %w: f32[4, 6, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 2], [1, 1], [1, 1], "
     "true, [0, 0], 1)"},
    {"aten.convolution.default", "overlap in depth", "%x: f32[1, 4, 4, 4, 4]",
     "const %w: f32[4, 3, 3, 3, 3] = ...\n %y = aten.convolution(%x, %w, none, [2, 2, 2], [0, 0, 0], [1, 1, 1], true, "
     "[0, 0, 0], 1)"},
    {"aten.convolution.default", "17 deep", "%x: f32[1, 4, 20, 4, 4]",
     "const %w: f32[4, 4, 17, 1, 1] = ...\n %y = aten.convolution(%x, %w, none, [1, 1, 1], [0, 0, 0], [1, 1, 1], "
     "false, [0, 0, 0], 1)"},
    {"aten.convolution.default", "whose depth", "%x: f32[1, 4, s0, 4, 4]",
     SYMBOL "const %w: f32[4, 4, 1, 1, 1] = ...\n %y = aten.convolution(%x, %w, none, [1, 1, 1], [0, 0, 0], [1, 1, 1], "
            "false, [0, 0, 0], 1)"},
    {"aten.linear.default", kIn, "%x: f32[2, 5, 3]", "const %w: f32[4, 3] = ...\n %y = aten.linear(%x, %w)"},
    {"aten.linear.default", kIn, "%x: f32[3]", "const %w: f32[4, 3] = ...\n %y = aten.linear(%x, %w)"},
    {"aten.linear.default", kIn, "%x: f16[2, 5, 3], %w: f16[4, 3], %b: f16[4]", "%y = aten.linear(%x, %w, %b)"},
    {"aten.linear.default", kIn, "%x: f32[2, s0, 3], %b: f32[4]",
     SYMBOL "const %w: f32[4, 3] = ...\n %y = aten.linear(%x, %w, %b)"},
    {"aten.linear.default", "unknown sizes", "%x: f32[s0, 3], %w: f32[4, 3]", SYMBOL "%y = aten.linear(%x, %w)"},
    {"aten.matmul.default", kIn, "%a: f32[2, 3, 4, 5], %b: f32[2, 3, 5, 6]", "%y = aten.matmul(%a, %b)"},
    {"aten.matmul.default", kIn, "%a: f32[2, 1, 4, 5], %b: f32[1, 3, 5, 6]", "%y = aten.matmul(%a, %b)"},
    {"aten.matmul.default", "different ranks", "%a: f32[2, 3, 4, 5], %b: f32[5, 6]", "%y = aten.matmul(%a, %b)"},
    {"aten.mm.default", kIn, "%a: f32[2, 3], %b: f32[3, 4]", "%y = aten.mm(%a, %b)"},
    {"aten.mm.default", "equality is known only at run time", "%a: f32[2, s0], %b: f32[3, 4]",
     SYMBOL "%y = aten.mm(%a, %b)"},
    // movement
    {"aten.cat.default", kIn, "%a: f32[2, 3], %b: f32[4, 3]", "%y = aten.cat([%a, %b, %a, %a, %b, %b, %a])"},
    {"aten.cat.default", "empty", "%a: f32[2, 3], %b: f32[1]", "const %e: f32[0] = []\n %y = aten.cat([%a, %e])"},
    {"aten.cat.default", "equality is known only at run time", "%a: f32[s0, s1], %b: f32[2, s0]",
     SYMBOL "range s1: 2..8\n %y = aten.cat([%a, %b])"},
    {"aten.constant_pad_nd.default", kIn, "%x: f32[2, 3]", "%y = aten.constant_pad_nd(%x, [1, 2, -1, 1], 3)"},
    {"aten.constant_pad_nd.default", "cuts off all elements", "%x: f32[1, 3]",
     "%y = aten.constant_pad_nd(%x, [0, 0, 1, -1])"},
    {"aten.constant_pad_nd.default", "padding value", "%x: f32[2, 3], %n: f32[s0]",
     SYMBOL "%y = aten.constant_pad_nd(%x, [1, 2], s0)"},
    {"aten.expand.default", kIn, "%x: f32[2, 1, 3]", "%y = aten.expand(%x, [4, 2, 5, 3])"},
    {"aten.expand.default", "expansion to a size", "%x: f32[1, 3], %n: f32[s0]",
     SYMBOL "%y = aten.expand(%x, [s0, 3])"},
    {"aten.expand.default", "fixes a size", "%x: f32[1, s0]", SYMBOL "%y: f32[3, 4] = aten.expand(%x, [3, 4])"},
    {"aten.glu.default", kIn, "%x: f16[s0, 6, 3]", SYMBOL "%y = aten.glu(%x, 1)"},
    {"aten.glu.default", "halves", "%x: f32[2, 2*s0]", SYMBOL "%y = aten.glu(%x)"},
    {"aten.permute.default", kIn, "%x: f32[2, 3, 4, 5, 6, 7]", "%y = aten.permute(%x, [5, 0, 4, 1, 3, 2])"},
    {"aten.permute.default", "7 dimensions", "%x: f32[1, 2, 3, 4, 5, 6, 7]",
     "%y = aten.permute(%x, [6, 5, 0, 4, 1, 3, 2])"},
    {"aten.pixel_shuffle.default", kIn, "%x: f32[1, 8, 2, 3]", "%y = aten.pixel_shuffle(%x, 2)"},
    {"aten.pixel_shuffle.default", kIn, "%x: f32[3, 1, 8, 2, 3]", "%y = aten.pixel_shuffle(%x, 2)"},
    {"aten.pixel_unshuffle.default", kIn, "%x: f32[1, 2, 4, 6]", "%y = aten.pixel_unshuffle(%x, 2)"},
    {"aten.pixel_unshuffle.default", kIn, "%x: f32[2, 4, 6]", "%y = aten.pixel_unshuffle(%x, 2)"},
    {"aten.repeat.default", kIn, "%x: f32[2, 3]", "%y = aten.repeat(%x, [2, 3])"},
    {"aten.repeat.default", kIn, "%x: f32[2, 3]", "%y = aten.repeat(%x, [2, 1, 3])"},
    {"aten.roll.default", kIn, "%x: f32[4, 5]", "%y = aten.roll(%x, [1, -2], [0, 1])"},
    {"aten.repeat.default", "repetitions", "%x: f32[1, 3], %n: f32[s0]",
     "range s0: 1..3\n %y: f32[s0, 3] = aten.repeat(%x, [s0, 1])"},
    {"aten.repeat.default", kIn, "%x: f32[s0, s1, 3]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.repeat(%x, [1, 1, 3])"},
    {"aten.roll.default", kIn, "%x: f32[s0, s1, 5]", "range s0: 1..3\n range s1: 1..3\n %y = aten.roll(%x, [1], [2])"},
    {"aten.roll.default", "along a size", "%x: f32[s0, 5]", SYMBOL "%y = aten.roll(%x, [1], [0])"},
    {"aten.roll.default", "flattened", "%x: f32[4, 5]", "%y = aten.roll(%x, [1])"},
    {"aten.select.int", kIn, "%x: f32[4, 5]", "%y = aten.select.int(%x, 1, -1)"},
    {"aten.select.int", kIn, "%x: f32[s0, s1, 5]",
     "range s0: 1..3\n range s1: 1..3\n %y: f32[s0, 5] = aten.select.int(%x, 1, 0)"},
    {"aten.select.int", kIn, "%x: f32[s0, s1, 5]",
     "range s0: 1..3\n range s1: 1..3\n %y: f32[s0, s1] = aten.select.int(%x, 2, 0)"},
    {"aten.select.int", "more dimensions", "%x: f32[s0, s1, 5, 2, 2, 2]",
     "range s0: 1..3\n range s1: 1..3\n %y: f32[s0, s1, 2, 2, 2] = aten.select.int(%x, 2, 0)"},
    {"aten.select.int", "index", "%x: f32[4, 5], %n: f32[s0]", "range s0: 1..3\n %y = aten.select.int(%x, 1, s0)"},
    {"aten.slice.Tensor", kIn, "%x: f32[4, 9]", "%y = aten.slice.Tensor(%x, 1, 2, 9, 3)"},
    {"aten.slice.Tensor", kIn, "%x: f32[4, 9]", "%y = aten.slice.Tensor(%x, 1, -2)"},
    {"aten.slice.Tensor", kIn, "%x: f32[s0, s1, 9]",
     "range s0: 1..3\n range s1: 1..3\n %y: f32[s0, s1, 5] = aten.slice.Tensor(%x, 2, 0, 9, 2)"},
    {"aten.slice.Tensor", "more than 64 rows", "%x: f32[s0, s1, 130]",
     "range s0: 1..3\n range s1: 1..3\n %y: f32[s0, s1, 65] = aten.slice.Tensor(%x, 2, 0, 130, 2)"},
    {"aten.slice.Tensor", "empty", "%x: f32[4, 9]", "%y = aten.slice.Tensor(%x, 1, 4, 4)"},
    {"aten.slice_scatter.default", kIn, "%x: f32[4, 9], %s: f32[4, 2]", "%y = aten.slice_scatter(%x, %s, 1, 3, 5)"},
    {"aten.slice_scatter.default", kIn, "%x: f32[s0, 9], %s: f32[s0, 2]",
     SYMBOL "%y = aten.slice_scatter(%x, %s, 1, 3, 5)"},
    {"aten.slice_scatter.default", "a number of rows known only", "%x: f32[s0, 9], %s: f32[2, 9]",
     SYMBOL "%y = aten.slice_scatter(%x, %s, 0, 0, 2)"},
    {"aten.slice_scatter.default", "step", "%x: f32[4, 9], %s: f32[4, 2]",
     "%y = aten.slice_scatter(%x, %s, 1, 3, 7, 2)"},
    {"aten.view.default", kIn, "%x: f32[4, 9]", "%y = aten.view(%x, [2, 2, 3, 3])"},
    {"aten.view.default", kIn, "%x: f32[s0, 6]", SYMBOL "%y = aten.view(%x, [s0, 2, 3])"},
    {"aten.view.default", kIn, "%x: f32[s0, s1, 6]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [s0*s1, 6])"},
    {"aten.view.default", kIn, "%x: f32[s0, s1]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [s0, 1, s1, 1])"},
    {"aten.view.default", kIn, "%x: f32[s0, s1, 1]", "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [s0, s1])"},
    {"aten.view.default", kIn, "%x: f32[s0, s1, 6]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [s0, s1, 2, 3])"},
    {"aten.view.default", "more than one size", "%x: f32[s0, 4, s1]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [4*s0, s1])"},
    {"aten.view.default", "more than one size", "%x: f32[s0*s1, 4]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [s0, s1, 4])"},
    {"aten.view.default", "more than 64 pieces", "%x: f32[s0, s1, 130]",
     "range s0: 1..3\n range s1: 1..3\n %y = aten.view(%x, [s0, s1, 65, 2])"},
    {"aten.view.default", "fixes a size", "%x: f32[1, s0]", SYMBOL "%y: f32[4] = aten.view(%x, [4])"},
    // softmax, norms, reductions
    {"aten._native_batch_norm_legit_no_training.default", kIn, "%x: f32[2, 3, 4]",
     STATISTICS "%y, %p, %q = aten._native_batch_norm_legit_no_training(%x, none, none, %m, %v, 0.1, 1e-05)"},
    {"aten._native_batch_norm_legit_no_training.default", "running_mean", "%x: f32[2, 3, 4], %s: f32[3]",
     STATISTICS "%y, %p, %q = aten._native_batch_norm_legit_no_training(%x, none, none, %s, %v, 0.1, 1e-05)"},
    {"aten._safe_softmax.default", kIn, "%x: f32[2, 3, 4]", "%y = aten._safe_softmax(%x, 1)"},
    {"aten._safe_softmax.default", "of a scalar", "%x: f32[]", "%y = aten._safe_softmax(%x, 0)"},
    {"aten._softmax.default", kIn, "%x: f32[2, 3, 4]", "%y = aten._softmax(%x, 1, false)"},
    {"aten._softmax.default", kIn, "%x: f16[2, 3]", "%y = aten._softmax(%x, -1, false)"},
    {"aten._softmax.default", "of a scalar", "%x: f32[]", "%y = aten._softmax(%x, 0, false)"},
    {"aten._log_softmax.default", kIn, "%x: f32[2, 3, 4]", "%y = aten._log_softmax(%x, 1, false)"},
    {"aten._log_softmax.default", kIn, "%x: f16[s0, 3]", SYMBOL "%y = aten._log_softmax(%x, -1, false)"},
    {"aten._log_softmax.default", "of a scalar", "%x: f32[]", "%y = aten._log_softmax(%x, 0, false)"},
    {"aten._log_softmax.default", kIn, "%x: f32[s1, 2, 2, s0]",
     SYMBOL "range s1: 2..8\n %y = aten._log_softmax(%x, -1, false)"},
    {"aten._log_softmax.default", kIn, "%x: f32[2, s1, 2, 2, s0]",
     SYMBOL "range s1: 2..8\n %y = aten._log_softmax(%x, 2, false)"},
    {"aten._log_softmax.default", "more than four dimensions", "%x: f32[2, 2, 2, 2, s0]",
     SYMBOL "%y = aten._log_softmax(%x, -1, false)"},
    {"aten.amax.default", kIn, "%x: f32[2, 3, 4]", "%y = aten.amax(%x, [1])"},
    {"aten.amax.default", "over a size known only at run time", "%x: f32[2, s0]", SYMBOL "%y = aten.amax(%x, [1])"},
    {"aten.amax.default", "of a scalar", "%x: f32[]", "%y = aten.amax(%x)"},
    {"aten.amin.default", kIn, "%x: f32[2, 3, 4]", "%y = aten.amin(%x, [0, 2], true)"},
    {"aten.amin.default", "of a scalar", "%x: f32[]", "%y = aten.amin(%x)"},
    {"aten.cumsum.default", kIn, "%x: f32[2, 1024, 3]", "%y = aten.cumsum(%x, 1)"},
    {"aten.cumsum.default", kIn, "%x: f16[s0, 33]", SYMBOL "%y = aten.cumsum(%x, -1)"},
    {"aten.cumsum.default", "1025 elements", "%x: f32[2, 1025]", "%y = aten.cumsum(%x, 1)"},
    {"aten.cumsum.default", "known only at run time", "%x: f32[2, s0]", SYMBOL "%y = aten.cumsum(%x, 1)"},
    {"aten.cumsum.default", "of a scalar", "%x: f32[]", "%y = aten.cumsum(%x, 0)"},
    {"aten.logsumexp.default", kIn, "%x: f32[2, 3, 4]", "%y = aten.logsumexp(%x, [0, 2])"},
    {"aten.logsumexp.default", kIn, "%x: f16[2, 3, 4]", "%y = aten.logsumexp(%x, [1], true)"},
    {"aten.logsumexp.default", "of a scalar", "%x: f32[]", "%y = aten.logsumexp(%x, [])"},
    {"aten.max.dim", kIn, "%x: f32[2, 3, 4]", "%y, %i = aten.max.dim(%x, 1)"},
    {"aten.max.dim", "more than its first result", "%x: f32[2, 3]", "%m, %y = aten.max.dim(%x, 1)"},
    {"aten.mean.dim", kIn, "%x: f32[2, 3, 4]", "%y = aten.mean.dim(%x, [0, 2])"},
    {"aten.mean.dim", kIn, "%x: f32[2, 3, 20, 30]", "%y = aten.mean.dim(%x, [2, 3], true)"},
    {"aten.mean.dim", "read from data", "%x: f32[u0, 3]", "range u0: 0..9 from_data\n %y = aten.mean.dim(%x, [1])"},
    {"aten.mean.dim", kIn, "%x: f32[u0, 3]", "range u0: 0..9\n %y = aten.mean.dim(%x, [1])"},
    {"aten.mean.dim", kIn, "%x: f32[n, 3]", "range n: 1..9 from_data\n %y = aten.mean.dim(%x, [1])"},
    {"aten.mean.dim", kIn, "%x: f32[s0, 3, s1, s1]", SYMBOL "range s1: 2..8\n %y = aten.mean.dim(%x, [2, 3])"},
    {"aten.mean.dim", kIn, "%x: f16[s0, s1, 3]", SYMBOL "range s1: 2..8\n %y = aten.mean.dim(%x, [1])"},
    {"aten.mean.dim", kIn, "%x: f32[3, s0, s1, s1]", SYMBOL "range s1: 2..8\n %y = aten.mean.dim(%x, [1, 2, 3])"},
    {"aten.mean.dim", "at most two", "%x: f32[s0, 3, s1, s1, s1]",
     SYMBOL "range s1: 2..8\n %y = aten.mean.dim(%x, [2, 3, 4])"},
    {"aten.mean.dim", kIn, "%x: f32[1, 1, 1, s0, s1, 3]", SYMBOL "range s1: 2..8\n %y = aten.mean.dim(%x, [4], true)"},
    {"aten.mean.dim", "at most five", "%x: f32[1, 1, 1, s0, s1, 3]",
     SYMBOL "range s1: 2..8\n %y = aten.mean.dim(%x, [4])"},
    {"aten.mean.dim", "of a scalar", "%x: f32[]", "%y = aten.mean.dim(%x, [])"},
    {"aten.min.dim", kIn, "%x: f32[2, 3, 4]", "%y, %i = aten.min.dim(%x, -1, true)"},
    {"aten.min.dim", "more than its first result", "%x: f32[2, 3]", "%m, %y = aten.min.dim(%x, 1)"},
    {"aten.native_group_norm.default", kIn, "%x: f32[2, 6, 4]",
     "%y, %p, %q = aten.native_group_norm(%x, none, none, 2, 6, 4, 3, 1e-05)"},
    {"aten.native_group_norm.default", kIn, "%x: f32[2, 6, s0, s1]",
     SYMBOL "range s1: 2..8\n %y, %p, %q = aten.native_group_norm(%x, none, none, 2, 6, s0*s1, 3, 1e-05)"},
    {"aten.native_group_norm.default", kIn, "%x: f32[s0, 6, s1]",
     SYMBOL "range s1: 2..8\n %y, %p, %q = aten.native_group_norm(%x, none, none, s0, 6, s1, 3, 1e-05)"},
    {"aten.native_group_norm.default", "a batch and a volume", "%x: f32[s0, 6, 2, 2, s1]",
     SYMBOL "range s1: 2..8\n %y, %p, %q = aten.native_group_norm(%x, none, none, s0, 6, 4*s1, 3, 1e-05)"},
    {"aten.native_group_norm.default", "groups or channels", "%x: f32[2, s0, 4]",
     SYMBOL "%y, %p, %q = aten.native_group_norm(%x, none, none, 2, s0, 4, 1, 1e-05)"},
    {"aten.native_group_norm.default", "a weight", "%x: f32[2, 6, 4], %w: f32[6]",
     "%y, %p, %q = aten.native_group_norm(%x, %w, none, 2, 6, 4, 3, 1e-05)"},
    {"aten.native_layer_norm.default", kIn, "%x: f32[2, 3, 4]",
     "%y, %p, %q = aten.native_layer_norm(%x, [3, 4], none, none, 1e-05)"},
    {"aten.native_layer_norm.default", "a weight", "%x: f32[2, 4], %w: f32[4]",
     "%y, %p, %q = aten.native_layer_norm(%x, [4], %w, none, 1e-05)"},
    {"aten.native_layer_norm.default", "more than its first result", "%x: f32[2, 4]",
     "%n, %y, %q = aten.native_layer_norm(%x, [4], none, none, 1e-05)"},
    {"aten.prelu.default", kIn, "%x: f32[2, 3, 4]", "const %w: f32[3] = ...\n %y = aten.prelu(%x, %w)"},
    {"aten.prelu.default", kIn, "%x: f16[]", "const %w: f16[1] = ...\n %y = aten.prelu(%x, %w)"},
    {"aten.prelu.default", "a weight", "%x: f32[2, 3, 4], %w: f32[3]", "%y = aten.prelu(%x, %w)"},
    {"aten.prelu.default", kIn, "%x: f32[2, 2]", "const %w: f32[2] = [3e38, -1.2e-38]\n %y = aten.prelu(%x, %w)"},
    {"aten.prelu.default", "infinite or NaN", "%x: f32[2, 2]", "const %w: f32[2] = [1, inf]\n %y = aten.prelu(%x, %w)"},
    {"aten.prelu.default", "infinite or NaN", "%x: f32[2, 2]", "const %w: f32[1] = [nan]\n %y = aten.prelu(%x, %w)"},
    {"aten.prelu.default", "2^-126", "%x: f32[2, 2]", "const %w: f32[2] = [1, 1e-40]\n %y = aten.prelu(%x, %w)"},
    {"aten.rms_norm.default", kIn, "%x: f32[2, 4]", "%y = aten.rms_norm(%x, [4])"},
    {"aten.rms_norm.default", "a weight", "%x: f32[2, 4], %w: f32[4]", "%y = aten.rms_norm(%x, [4], %w)"},
    {"aten.prod.dim_int", kIn, "%x: f32[2, 16, 4]", "%y = aten.prod.dim_int(%x, 1)"},
    {"aten.prod.dim_int", kIn, "%x: f16[s0, 3]", SYMBOL "%y = aten.prod.dim_int(%x, -1, true)"},
    {"aten.prod.dim_int", "17 elements", "%x: f32[17, 2]", "%y = aten.prod.dim_int(%x, 0)"},
    {"aten.prod.dim_int", "of a scalar", "%x: f32[]", "%y = aten.prod.dim_int(%x, 0)"},
    {"aten.sum.dim_IntList", kIn, "%x: f32[2, 3, 4]", "%y = aten.sum.dim_IntList(%x, [1], true)"},
    {"aten.sum.dim_IntList", kIn, "%x: f16[2, s0, s1]", SYMBOL "range s1: 2..8\n %y = aten.sum.dim_IntList(%x, [-1])"},
    {"aten.sum.dim_IntList", "at most two", "%x: f32[s0, 2, s1, 2, 3]",
     SYMBOL "range s1: 2..8\n %y = aten.sum.dim_IntList(%x, [1, 2, 3])"},
    {"aten.sum.dim_IntList", "of a scalar", "%x: f32[]", "%y = aten.sum.dim_IntList(%x, [])"},
    {"aten.var.correction", kIn, "%x: f32[2, 3, 4]", "%y = aten.var.correction(%x, [1])"},
    {"aten.var.correction", kIn, "%x: f16[2, 3, 4]", "%y = aten.var.correction(%x, none, 0, true)"},
    {"aten.var.correction", kIn, "%x: f32[2, s0, 3]", SYMBOL "%y = aten.var.correction(%x, [1])"},
    {"aten.var.correction", kIn, "%x: f32[2, s0, 3]", SYMBOL "%y = aten.var.correction(%x, [1], 2)"},
    {"aten.var.correction", "1 elements; the correction of 1", "%x: f32[2, 1]", "%y = aten.var.correction(%x, [1])"},
    // pointwise
    {"aten._to_copy.default", kIn, "%x: f16[2, 3]", "%y = aten._to_copy(%x, f32)"},
    {"aten._to_copy.default", kIn, "%x: f32[2, 3]", "%y = aten._to_copy(%x, f16)"},
    {"aten._to_copy.default", "a conversion of f32 to bool", "%x: f32[2]", "%y = aten._to_copy(%x, bool)"},
    {"aten._to_copy.default", "an empty tensor", "%x: f16[0]", "%y = aten._to_copy(%x, f32)"},
    {"aten.abs.default", kIn, "%x: f32[]", "%y = aten.abs(%x)"},
    {"aten.abs.default", "empty", "%x: f32[0, 3]", "%y = aten.abs(%x)"},
    {"aten.abs.default", "without upper bound", "%x: f32[s0]", "%y = aten.abs(%x)"},
    {"aten.add.Scalar", kIn, "%x: f32[2]", "%y = aten.add.Scalar(%x, 2, 3)"},
    {"aten.add.Scalar", "'other'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.add.Scalar(%x, s0)"},
    {"aten.add.Tensor", kIn, "%x: f32[2, 3], %z: f32[1]", "%y = aten.add.Tensor(%x, %z, 2)"},
    {"aten.add.Tensor", "'alpha'", "%x: f32[2], %z: f32[2], %n: f32[s0]", SYMBOL "%y = aten.add.Tensor(%x, %z, s0)"},
    {"aten.add.Tensor", "equality is known only at run time", "%x: f32[s0], %z: f32[3]",
     SYMBOL "%y: f32[3] = aten.add.Tensor(%x, %z)"},
    {"aten.add.Tensor", "different dtypes", "%x: f32[2], %z: f16[2]", "%y = aten.add.Tensor(%x, %z)"},
    {"aten.ceil.default", kIn, "%x: f32[2]", "%y = aten.ceil(%x)"},
    {"aten.clamp.default", kIn, "%x: f32[2]", "%y = aten.clamp(%x, 1)"},
    {"aten.clamp.default", "no range", "%x: f32[2]", "%y = aten.clamp(%x, 2, 1)"},
    {"aten.clamp.default", "'min'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.clamp(%x, s0)"},
    {"aten.clamp.Tensor", kIn, "%x: f32[2, 3], %a: f32[3], %b: f32[2, 1]", "%y = aten.clamp.Tensor(%x, %a, %b)"},
    {"aten.clamp.Tensor", kIn, "%x: f32[2, 3], %b: f32[]", "%y = aten.clamp.Tensor(%x, none, %b)"},
    {"aten.cos.default", kIn, "%x: f32[2]", "%y = aten.cos(%x)"},
    {"aten.div.Scalar", kIn, "%x: f32[2]", "%y = aten.div.Scalar(%x, 3)"},
    {"aten.div.Scalar", kIn, "%x: f32[2]", "%y = aten.div.Scalar(%x, -1.2e-38)"},
    {"aten.div.Scalar", "2^-126", "%x: f32[2]", "%y = aten.div.Scalar(%x, -1.1e-38)"},
    {"aten.div.Tensor", "2^-126", "%x: f32[2]", "%y = aten.div.Tensor(%x, 1e-39)"},
    {"aten.div.Scalar", "'other'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.div.Scalar(%x, s0)"},
    {"aten.div.Tensor", kIn, "%x: f32[2], %z: f32[2]", "%y = aten.div.Tensor(%x, %z)"},
    {"aten.div.Tensor", "dtype", "%x: f32[2], %z: i64[2]", "%y = aten.div.Tensor(%x, %z)"},
    {"aten.elu.default", kIn, "%x: f32[2]", "%y = aten.elu(%x, 0.5, 2)"},
    {"aten.elu.default", kIn, "%x: f16[2]", "%y = aten.elu(%x, -1, 1, 2)"},
    {"aten.elu.default", "input scale", "%x: f32[2]", "%y = aten.elu(%x, 1, 1, -2)"},
    {"aten.elu.default", "infinite or NaN", "%x: f32[2]", "%y = aten.elu(%x, inf)"},
    {"aten.elu.default", "infinite or NaN", "%x: f32[2]", "%y = aten.elu(%x, -inf)"},
    {"aten.elu.default", "infinite or NaN", "%x: f16[2]", "%y = aten.elu(%x, nan)"},
    {"aten.elu.default", "infinite or NaN", "%x: f32[2]", "%y = aten.elu(%x, 1, nan)"},
    {"aten.elu.default", kIn, "%x: f32[2]", "%y = aten.elu(%x, 3e38)"},
    {"aten.elu.default", kIn, "%x: f32[2]", "%y = aten.elu(%x, 1e-40)"},
    {"aten.elu.default", "infinite or NaN", "%x: f32[2]", "%y = aten.elu(%x, 1e30, 1e30)"},
    {"aten.elu.default", "2^-126", "%x: f32[2]", "%y = aten.elu(%x, 1, 1e-40)"},
    {"aten.elu.default", "2^-126", "%x: f32[2]", "%y = aten.elu(%x, 1, 1, 1e-40)"},
    {"aten.exp.default", kIn, "%x: f32[2]", "%y = aten.exp(%x)"},
    {"aten.cosh.default", kIn, "%x: f16[2]", "%y = aten.cosh(%x)"},
    {"aten.div.Scalar_mode", kIn, "%x: f32[2]", "%y = aten.div.Scalar_mode(%x, -2, \"floor\")"},
    {"aten.div.Scalar_mode", kIn, "%x: f16[2]", "%y = aten.div.Scalar_mode(%x, 1, \"trunc\")"},
    {"aten.div.Scalar_mode", "divisor 3", "%x: f32[2]", "%y = aten.div.Scalar_mode(%x, 3, \"floor\")"},
    {"aten.div.Scalar_mode", "not rounded", "%x: f32[2]", "%y = aten.div.Scalar_mode(%x, 2, none)"},
    {"aten.fmod.Scalar", kIn, "%x: f32[s0]", SYMBOL "%y = aten.fmod.Scalar(%x, -4)"},
    {"aten.fmod.Scalar", "divisor 0.5", "%x: f32[2]", "%y = aten.fmod.Scalar(%x, 0.5)"},
    {"aten.log1p.default", kIn, "%x: f16[2]", "%y = aten.log1p(%x)"},
    {"aten.remainder.Scalar", kIn, "%x: f16[2]", "%y = aten.remainder.Scalar(%x, 1)"},
    {"aten.remainder.Scalar", "divisor 3", "%x: f32[2]", "%y = aten.remainder.Scalar(%x, 3)"},
    {"aten.sinh.default", kIn, "%x: f32[2]", "%y = aten.sinh(%x)"},
    {"aten.expm1.default", kIn, "%x: f16[2]", "%y = aten.expm1(%x)"},
    {"aten.floor.default", kIn, "%x: f32[2]", "%y = aten.floor(%x)"},
    {"aten.gelu.default", kIn, "%x: f32[2]", "%y = aten.gelu(%x)"},
    {"aten.gelu.default", kIn, "%x: f16[2]", "%y = aten.gelu(%x, \"tanh\")"},
    {"aten.hardshrink.default", kIn, "%x: f32[2]", "%y = aten.hardshrink(%x, 0.5)"},
    {"aten.hardshrink.default", "not positive", "%x: f32[2]", "%y = aten.hardshrink(%x, 0)"},
    {"aten.hardsigmoid.default", kIn, "%x: f32[2]", "%y = aten.hardsigmoid(%x)"},
    {"aten.hardsigmoid.default", "dtype", "%x: f64[2]", "%y = aten.hardsigmoid(%x)"},
    {"aten.hardswish.default", kIn, "%x: f32[2]", "%y = aten.hardswish(%x)"},
    {"aten.hardtanh.default", kIn, "%x: f32[2]", "%y = aten.hardtanh(%x)"},
    {"aten.hardtanh.default", "no range", "%x: f32[2]", "%y = aten.hardtanh(%x, 1, 1)"},
    {"aten.hypot.default", kIn, "%x: f16[2], %z: f16[3, 1]", "%y = aten.hypot(%x, %z)"},
    {"aten.leaky_relu.default", kIn, "%x: f32[2]", "%y = aten.leaky_relu(%x, 0.2)"},
    {"aten.leaky_relu.default", "'negative_slope'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.leaky_relu(%x, s0)"},
    {"aten.leaky_relu.default", "infinite", "%x: f32[2]", "%y = aten.leaky_relu(%x, inf)"},
    {"aten.leaky_relu.default", kIn, "%x: f32[2]", "%y = aten.leaky_relu(%x, 1.2e-38)"},
    {"aten.leaky_relu.default", "2^-126", "%x: f32[2]", "%y = aten.leaky_relu(%x, 1.1e-38)"},
    {"aten.leaky_relu.default", kIn, "%x: f16[2]", "%y = aten.leaky_relu(%x, 1e-40)"},
    {"aten.log.default", kIn, "%x: f32[2]", "%y = aten.log(%x)"},
    {"aten.log10.default", kIn, "%x: f32[2]", "%y = aten.log10(%x)"},
    {"aten.log2.default", kIn, "%x: f32[2]", "%y = aten.log2(%x)"},
    {"aten.log_sigmoid.default", kIn, "%x: f16[2]", "%y = aten.log_sigmoid(%x)"},
    {"aten.logaddexp.default", kIn, "%x: f16[2], %z: f16[3, 1]", "%y = aten.logaddexp(%x, %z)"},
    {"aten.maximum.default", kIn, "%x: f32[2], %z: f32[3, 1]", "%y = aten.maximum(%x, %z)"},
    {"aten.maximum.default", "dtype", "%x: i32[2], %z: i32[2]", "%y = aten.maximum(%x, %z)"},
    {"aten.minimum.default", kIn, "%x: f32[2], %z: f32[2]", "%y = aten.minimum(%x, %z)"},
    {"aten.minimum.default", "dtype", "%x: i32[2], %z: i32[2]", "%y = aten.minimum(%x, %z)"},
    {"aten.mish.default", kIn, "%x: f16[2]", "%y = aten.mish(%x)"},
    {"aten.mish.default", "dtype", "%x: f64[2]", "%y = aten.mish(%x)"},
    {"aten.mul.Scalar", kIn, "%x: f16[2]", "%y = aten.mul.Scalar(%x, 0.125)"},
    {"aten.mul.Scalar", "'other'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.mul.Scalar(%x, s0)"},
    {"aten.mul.Scalar", "dtype", "%x: i64[2]", "%y = aten.mul.Scalar(%x, 0.5)"},
    {"aten.mul.Tensor", kIn, "%x: f32[2, 1], %z: f32[3]", "%y = aten.mul.Tensor(%x, %z)"},
    {"aten.mul.Tensor", "dtype", "%x: f32[2], %z: bool[2]", "%y = aten.mul.Tensor(%x, %z)"},
    {"aten.mul.Scalar", kIn, "%x: f32[2]", "%y = aten.mul.Scalar(%x, -1.2e-38)"},
    {"aten.mul.Scalar", "2^-126", "%x: f32[2]", "%y = aten.mul.Scalar(%x, -1.1e-38)"},
    {"aten.mul.Scalar", kIn, "%x: f32[2]", "%y = aten.mul.Scalar(%x, 1e-50)"},
    {"aten.mul.Scalar", kIn, "%x: f16[2]", "%y = aten.mul.Scalar(%x, 1e-40)"},
    {"aten.mul.Tensor", kIn, "%x: f32[2]", "const %z: f32[2] = [0, 1.2e-38]\n %y = aten.mul.Tensor(%x, %z)"},
    {"aten.mul.Tensor", "2^-126", "%x: f32[2]", "const %z: f32[2] = [1, 1.1e-38]\n %y = aten.mul.Tensor(%x, %z)"},
    {"aten.mul.Tensor", "2^-126", "%x: f32[2]", "const %z: f32[2] = [1, -1e-40]\n %y = aten.mul.Tensor(%z, %x)"},
    {"aten.div.Tensor", "2^-126", "%x: f32[2]", "const %z: f32[2] = [1, -1e-40]\n %y = aten.div.Tensor(%x, %z)"},
    {"aten.add.Tensor", kIn, "%x: f32[2], %z: f32[2]", "%y = aten.add.Tensor(%x, %z, 1.2e-38)"},
    {"aten.add.Tensor", "2^-126", "%x: f32[2], %z: f32[2]", "%y = aten.add.Tensor(%x, %z, 1.1e-38)"},
    {"aten.add.Scalar", kIn, "%x: f32[2]", "%y = aten.add.Scalar(%x, 1e-40)"},
    {"aten.addmm.default", "2^-126", "%x: f32[2, 3], %w: f32[3, 4], %b: f32[4]",
     "%y = aten.addmm(%b, %x, %w, 1, 1e-40)"},
    {"aten.addmm.default", "2^-126", "%x: f32[2, 3], %w: f32[3, 4], %b: f32[4]",
     "%y = aten.addmm(%b, %x, %w, 1e-40, 1)"},
    {"aten.neg.default", kIn, "%x: f32[2]", "%y = aten.neg(%x)"},
    {"aten.pow.Tensor_Scalar", kIn, "%x: f32[2]", "%y = aten.pow.Tensor_Scalar(%x, 3)"},
    {"aten.pow.Tensor_Scalar", kIn, "%x: f16[2]", "%y = aten.pow.Tensor_Scalar(%x, 0.5)"},
    {"aten.pow.Tensor_Scalar", kIn, "%x: f32[2]", "%y = aten.pow.Tensor_Scalar(%x, -7.75)"},
    {"aten.pow.Tensor_Scalar", "exponent 2.3", "%x: f32[2]", "%y = aten.pow.Tensor_Scalar(%x, 2.3)"},
    {"aten.pow.Tensor_Scalar", "exponent 9", "%x: f32[2]", "%y = aten.pow.Tensor_Scalar(%x, 9)"},
    {"aten.pow.Tensor_Scalar", "exponent 0", "%x: f32[2]", "%y = aten.pow.Tensor_Scalar(%x, 0)"},
    {"aten.pow.Tensor_Scalar", "known only at run time", "%x: f32[2], %n: f32[s0]",
     SYMBOL "%y = aten.pow.Tensor_Scalar(%x, s0)"},
    {"aten.reciprocal.default", kIn, "%x: f32[2]", "%y = aten.reciprocal(%x)"},
    {"aten.relu.default", kIn, "%x: f32[2]", "%y = aten.relu(%x)"},
    {"aten.relu.default", "dtype", "%x: i32[2]", "%y = aten.relu(%x)"},
    {"aten.relu6.default", kIn, "%x: f32[2]", "%y = aten.relu6(%x)"},
    {"aten.relu6.default", "dtype", "%x: f64[2]", "%y = aten.relu6(%x)"},
    {"aten.round.default", kIn, "%x: f32[2]", "%y = aten.round(%x)"},
    {"aten.rsqrt.default", kIn, "%x: f32[2]", "%y = aten.rsqrt(%x)"},
    {"aten.rsub.Scalar", kIn, "%x: f32[2]", "%y = aten.rsub.Scalar(%x, 2, 3)"},
    {"aten.rsub.Scalar", "'other'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.rsub.Scalar(%x, s0)"},
    {"aten.rsub.Tensor", kIn, "%x: f32[2], %z: f32[2]", "%y = aten.rsub.Tensor(%x, %z)"},
    {"aten.rsub.Tensor", "dtype", "%x: i64[2], %z: i64[2]", "%y = aten.rsub.Tensor(%x, %z)"},
    {"aten.sigmoid.default", kIn, "%x: f16[2]", "%y = aten.sigmoid(%x)"},
    {"aten.sign.default", kIn, "%x: f16[2]", "%y = aten.sign(%x)"},
    {"aten.silu.default", kIn, "%x: f16[2]", "%y = aten.silu(%x)"},
    {"aten.sin.default", kIn, "%x: f32[2]", "%y = aten.sin(%x)"},
    {"aten.softplus.default", kIn, "%x: f16[2]", "%y = aten.softplus(%x, 2, 14)"},
    {"aten.softplus.default", "threshold", "%x: f32[2]", "%y = aten.softplus(%x, 1, 13)"},
    {"aten.softplus.default", "beta", "%x: f32[2]", "%y = aten.softplus(%x, -1)"},
    {"aten.softplus.default", "no normal number", "%x: f32[2]", "%y = aten.softplus(%x, 1e-39)"},
    {"aten.softplus.default", "reciprocal", "%x: f32[2]", "%y = aten.softplus(%x, 2e38)"},
    {"aten.softshrink.default", kIn, "%x: f32[2]", "%y = aten.softshrink(%x, 0.5)"},
    {"aten.softshrink.default", "not positive", "%x: f32[2]", "%y = aten.softshrink(%x, 0)"},
    {"aten.sqrt.default", kIn, "%x: f16[2]", "%y = aten.sqrt(%x)"},
    {"aten.square.default", kIn, "%x: f32[2]", "%y = aten.square(%x)"},
    {"aten.sub.Scalar", kIn, "%x: f32[2]", "%y = aten.sub.Scalar(%x, 2)"},
    {"aten.sub.Scalar", "'other'", "%x: f32[2], %n: f32[s0]", SYMBOL "%y = aten.sub.Scalar(%x, s0)"},
    {"aten.sub.Tensor", kIn, "%x: f32[2], %z: f32[2]", "%y = aten.sub.Tensor(%x, %z, 0.5)"},
    {"aten.sub.Tensor", "'alpha'", "%x: f32[2], %z: f32[2], %n: f32[s0]", SYMBOL "%y = aten.sub.Tensor(%x, %z, s0)"},
    {"aten.tanh.default", kIn, "%x: f16[2]", "%y = aten.tanh(%x)"},
    {"aten.threshold.default", kIn, "%x: f16[2]", "%y = aten.threshold(%x, 0.1, 20)"},
    {"aten.threshold.default", kIn, "%x: f32[2]", "%y = aten.threshold(%x, 0, 0)"},
    {"aten.threshold.default", "exact differences", "%x: f32[2]", "%y = aten.threshold(%x, 1e-35, 0)"},
    {"aten.trunc.default", kIn, "%x: f32[2]", "%y = aten.trunc(%x)"},
    // windows
    {"aten._adaptive_avg_pool2d.default", kIn, "%x: f32[1, 3, 6, 6]", "%y = aten._adaptive_avg_pool2d(%x, [2, 3])"},
    {"aten._adaptive_avg_pool2d.default", kIn, "%x: f16[1, 3, 7, 6]", "%y = aten._adaptive_avg_pool2d(%x, [2, 16])"},
    {"aten._adaptive_avg_pool2d.default", "different sizes", "%x: f32[1, 3, 35, 6]",
     "%y = aten._adaptive_avg_pool2d(%x, [17, 3])"},
    {"aten.adaptive_avg_pool2d.default", kIn, "%x: f32[1, 3, 20, 30]", "%y = aten.adaptive_avg_pool2d(%x, [1, 1])"},
    {"aten.adaptive_avg_pool2d.default", "without batch", "%x: f32[3, 6, 6]",
     "%y = aten.adaptive_avg_pool2d(%x, [1, 1])"},
    {"aten._upsample_nearest_exact2d.vec", kIn, "%x: f32[1, 3, 4, 5]",
     "%y = aten._upsample_nearest_exact2d.vec(%x, [8, 15], none)"},
    {"aten._upsample_nearest_exact2d.vec", "whole number", "%x: f32[1, 3, 4, 5]",
     "%y = aten._upsample_nearest_exact2d.vec(%x, [8, 14], none)"},
    {"aten.upsample_nearest2d.vec", kIn, "%x: f32[1, 3, 4, 5]", "%y = aten.upsample_nearest2d.vec(%x, [8, 15], none)"},
    {"aten.upsample_nearest2d.vec", "whole number", "%x: f32[1, 3, 4, 5]",
     "%y = aten.upsample_nearest2d.vec(%x, [8, 14], none)"},
    {"aten.upsample_bilinear2d.vec", kIn, "%x: f32[1, 3, 4, 5]",
     "%y = aten.upsample_bilinear2d.vec(%x, [7, 14], true, none)"},
    {"aten.upsample_bilinear2d.vec", "scale factor", "%x: f32[1, 3, 5, 5]",
     "%y = aten.upsample_bilinear2d.vec(%x, none, false, [1.5, 1.5])"},
    {"aten.avg_pool3d.default", kIn, "%x: f32[1, 3, 6, 6, 6]",
     "%y = aten.avg_pool3d(%x, [2, 3, 2], [2, 2, 2], [1, 1, 0])"},
    {"aten.avg_pool3d.default", "ceil_mode", "%x: f32[1, 3, 6, 6, 6]",
     "%y = aten.avg_pool3d(%x, [3, 3, 3], [2, 2, 2], [1, 1, 1], true, true)"},
    {"aten.avg_pool3d.default", "more than one size", "%x: f32[s0, 3, s1, 6, 6]",
     SYMBOL "range s1: 2..8\n %y = aten.avg_pool3d(%x, [1, 2, 2])"},
    {"aten.max_pool3d_with_indices.default", kIn, "%x: f32[s0, 3, 7, 7, 7]",
     SYMBOL "%y, %i = aten.max_pool3d_with_indices(%x, [2, 2, 2], [1, 2, 2], [0, 1, 1], [2, 1, 1], true)"},
    {"aten.max_pool3d_with_indices.default", kIn, "%x: f32[3, 7, 7, 7]",
     "%y, %i = aten.max_pool3d_with_indices(%x, [2, 2, 2])"},
    {"aten.avg_pool2d.default", kIn, "%x: f32[3, 7, s0]", SYMBOL "%y = aten.avg_pool2d(%x, [2, 2], [1, 1], [1, 1])"},
    {"aten.upsample_bilinear2d.vec", kIn, "%x: f32[1, 3, 5, 5]",
     "%y = aten.upsample_bilinear2d.vec(%x, none, true, [1.5, 1.5])"},
    {"aten.max_pool3d_with_indices.default", "stride larger", "%x: f32[1, 3, 7, 7, 7]",
     "%y, %i = aten.max_pool3d_with_indices(%x, [2, 2, 2], [3, 2, 2])"},
    {"aten.max_pool3d_with_indices.default", "more than its first result", "%x: f32[1, 3, 6, 6, 6]",
     "%n, %y = aten.max_pool3d_with_indices(%x, [2, 2, 2])"},
    {"aten._upsample_nearest_exact3d.vec", kIn, "%x: f32[1, 3, 4, 5, 6]",
     "%y = aten._upsample_nearest_exact3d.vec(%x, [8, 15, 6], none)"},
    {"aten._upsample_nearest_exact3d.vec", "whole number", "%x: f32[1, 3, 4, 5, 6]",
     "%y = aten._upsample_nearest_exact3d.vec(%x, [8, 14, 6], none)"},
    {"aten.upsample_nearest3d.vec", kIn, "%x: f32[1, 3, 4, 5, 6]",
     "%y = aten.upsample_nearest3d.vec(%x, [8, 15, 6], none)"},
    {"aten.upsample_nearest3d.vec", "whole number", "%x: f32[1, 3, 4, 5, 6]",
     "%y = aten.upsample_nearest3d.vec(%x, [7, 15, 6], none)"},
    {"aten.upsample_trilinear3d.vec", kIn, "%x: f32[1, 3, 4, 5, 6]",
     "%y = aten.upsample_trilinear3d.vec(%x, [7, 14, 6], true, none)"},
    {"aten.upsample_trilinear3d.vec", "scale factor", "%x: f32[1, 3, 5, 5, 5]",
     "%y = aten.upsample_trilinear3d.vec(%x, none, false, [1.5, 1.5, 1.5])"},
    {"aten.avg_pool2d.default", kIn, "%x: f32[1, 3, 6, 6]", "%y = aten.avg_pool2d(%x, " POOL ", [1, 1])"},
    {"aten.avg_pool2d.default", kIn, "%x: f32[1, 3, 6, 6]",
     "%y = aten.avg_pool2d(%x, " POOL ", [1, 1], false, false, 3)"},
    {"aten.avg_pool2d.default", kIn, "%x: f32[1, 3, 6, 6]", "%y = aten.avg_pool2d(%x, [1, 1], [2, 3])"},
    {"aten.avg_pool2d.default", "one element", "%x: f32[1, 3, s0, 6]",
     SYMBOL "%y = aten.avg_pool2d(%x, [1, 1], [2, 1])"},
    {"aten.avg_pool2d.default", kIn, "%x: f32[1, 3, s0, 6]",
     SYMBOL "%y = aten.avg_pool2d(%x, [3, 3], [2, 2], [1, 1], true, false)"},
    {"aten.avg_pool2d.default", "ceil_mode", "%x: f32[1, 3, s0, 6]",
     SYMBOL "%y = aten.avg_pool2d(%x, [3, 3], [2, 2], [1, 1], true, true)"},
    {"aten.avg_pool2d.default", "entirely in the padding", "%x: f32[1, 3, s0, 6]",
     SYMBOL "%y = aten.avg_pool2d(%x, [2, 2], [2, 2], [1, 1], true, false)"},
    {"aten.avg_pool2d.default", "ceil_mode", "%x: f32[1, 3, 6, 6]",
     "%y = aten.avg_pool2d(%x, [3, 3], [2, 2], [1, 1], true, true)"},
    {"aten.max_pool2d_with_indices.default", kIn, "%x: f32[1, 3, 7, 7]",
     "%y, %i = aten.max_pool2d_with_indices(%x, " POOL ", [1, 1], [1, 1], true)"},
    {"aten.max_pool2d_with_indices.default", kIn, "%x: f32[2, s0, 6, 6]",
     "range s0: 1..3\n %y, %i = aten.max_pool2d_with_indices(%x, " POOL ")"},
    {"aten.max_pool2d_with_indices.default", kIn, "%x: f32[1, 3, 7, 7]",
     "%y, %i = aten.max_pool2d_with_indices(%x, [3, 3], [2, 2], [1, 1], [1, 2])"},
    {"aten.max_pool2d_with_indices.default", "behind the image", "%x: f32[1, 3, 3, 6]",
     "%y, %i = aten.max_pool2d_with_indices(%x, [3, 3], [3, 3], [1, 1], [1, 2], true)"},
    {"aten.max_pool2d_with_indices.default", kIn, "%x: f32[1, 3, s0, 6]",
     "range s0: 3..9\n %y, %i = aten.max_pool2d_with_indices(%x, [3, 3], [2, 2], [1, 1], [1, 2])"},
    {"aten.max_pool2d_with_indices.default", "behind the image", "%x: f32[1, 3, s0, 6]",
     "range s0: 3..9\n %y, %i = aten.max_pool2d_with_indices(%x, [2, 2], [1, 1], [1, 1], [1, 2])"},
    {"aten.max_pool2d_with_indices.default", "a number of channels known only at run time", "%x: f32[s1, s0, 6, 6]",
     "range s0: 1..3\n range s1: 1..3\n %y, %i = aten.max_pool2d_with_indices(%x, " POOL ")"},
    {"aten.max_pool2d_with_indices.default", "stride larger", "%x: f32[1, 3, 7, 7]",
     "%y, %i = aten.max_pool2d_with_indices(%x, [2, 2], [3, 3])"},
    {"aten.max_pool2d_with_indices.default", "more than its first result", "%x: f32[1, 3, 6, 6]",
     "%n, %y = aten.max_pool2d_with_indices(%x, " POOL ")"},

    // quantized
    {"wick.convert.default", kIn, "%x: f32[4]", "%y: i8[4]q(scale=0.5, zero=3) = wick.convert(%x)"},
    {"wick.convert.default", kIn, "%x: i8[s0, 4]q(range=-127..127, scale=0.5, zero=-128)",
     SYMBOL "%y: f32[s0, 4] = wick.convert(%x)"},
    {"wick.convert.default", "only int8", "%x: f32[4]", "%y: u8[4]q(scale=0.5, zero=3) = wick.convert(%x)"},
    {"wick.convert.default", "its range", "%x: f32[4]",
     "%y: i8[4]q(range=-127..127, scale=0.5, zero=3) = wick.convert(%x)"},
    {"wick.convert.default", "its range", "%x: i8[2, 4]q(blocks=[1, 0], scale=[0.5, 1], zero=[0, 0])",
     "%y: f32[2, 4] = wick.convert(%x)"},
    {"wick.convert.default", "not f32", "%x: f16[4]", "%y: i8[4]q(f16, scale=0.5, zero=3) = wick.convert(%x)"},
    {"wick.convert.default", "one quantization to another", "%x: i8[4]q(scale=0.5, zero=3)",
     "%y: i8[4]q(scale=0.25, zero=3) = wick.convert(%x)"},
    {"wick.convert.default", "more than one size", "%x: f32[s0, s1]",
     SYMBOL "range s1: 2..8\n%y: i8[s0, s1]q(scale=0.5, zero=3) = wick.convert(%x)"},
    {"aten.mul.Tensor", kIn, "%x: i8[4]q(scale=0.5, zero=3)",
     "%y: i8[4]q(scale=0.25, zero=1) = aten.mul.Tensor(%x, %x)"},
    {"aten.mul.Tensor", "does not compute on", "%x: i8[4]q(scale=0.5, zero=3)", "%y: f32[4] = aten.mul.Tensor(%x, %x)"},
    {"aten.mul.Tensor", "does not compute on", "%x: f32[4]",
     "%y: i8[4]q(scale=0.25, zero=1) = aten.mul.Tensor(%x, %x)"},
    {"aten.mul.Tensor", "does not compute on", "%x: u8[4]q(scale=0.5, zero=3)",
     "%y: u8[4]q(scale=0.5, zero=3) = aten.mul.Tensor(%x, %x)"},
    {"aten.relu.default", "does not compute on", "%x: i8[4]q(scale=0.5, zero=3)",
     "%y: i8[4]q(scale=0.25, zero=3) = aten.relu(%x)"},
};

std::string text_of(const Edge& edge) {
  return fmt::format("graph f({}) {{\n {}\n return %y\n}}", edge.inputs, edge.body);
}

// Parses; the node of the edge, or null with a failure.
const compiler::Node* parse(const Edge& edge, compiler::Function* function) {
  auto parsed = compiler::parse_graph(text_of(edge));
  if (!parsed.ok()) {
    ADD_FAILURE() << compiler::render(parsed.diag()) << text_of(edge);
    return nullptr;
  }
  *function = std::move(*parsed);
  const compiler::Value* result = function->graph->outputs[0].value;
  EXPECT_TRUE(result->producer && result->producer->is(edge.op)) << edge.op << text_of(edge);
  return result->producer;
}

void check_lowers(const compiler::Function& function, const std::string& text) {
  const auto delegate = lower(*function.graph, {});
  ASSERT_TRUE(delegate.ok()) << compiler::render(delegate.diag()) << text;
  char buffer[256];
  ErrorText error(buffer);
  Payload payload;
  ASSERT_EQ(read_payload({delegate->payload.data(), delegate->payload.size()}, &payload, &error), Error::Ok)
      << error.c_str() << text;
  std::vector<std::vector<uint32_t>> dims;
  EXPECT_EQ(check_payload(payload, nullptr, &dims, &error), Error::Ok) << error.c_str() << text;
}

TEST(Support, WhatIsInsideLowersAndWhatIsOutsideSaysWhy) {
  for (const Edge& edge : kEdges) {
    SCOPED_TRACE(text_of(edge));
    compiler::Function function;
    const compiler::Node* node = parse(edge, &function);
    if (!node) continue;
    const compiler::SymScope scope(function.graph->ranges);
    const compiler::Verdict verdict = supports(*node, {});
    if (edge.outside) {
      EXPECT_FALSE(verdict.taken);
      EXPECT_NE(verdict.reason.find(edge.outside), std::string::npos) << verdict.reason;
      continue;
    }
    EXPECT_TRUE(verdict.taken) << verdict.reason;
    if (verdict.taken) check_lowers(function, text_of(edge));
  }
}

TEST(Support, WhatBearsANoteIsRefusedByStrictNan) {
  size_t noted = 0;
  for (const Edge& edge : kEdges) {
    if (edge.outside) continue;
    SCOPED_TRACE(text_of(edge));
    compiler::Function function;
    const compiler::Node* node = parse(edge, &function);
    if (!node) continue;
    const compiler::SymScope scope(function.graph->ranges);
    compiler::TargetContext strict;
    strict.options.strict_nan = true;
    const compiler::Verdict verdict = supports(*node, strict);
    const std::string note = supports(*node, {}).reason;
    EXPECT_EQ(verdict.taken, note.empty()) << verdict.reason;
    if (note.empty()) continue;
    ++noted;
    EXPECT_EQ(verdict.reason, note + ", which --strict-nan refuses");
  }
  EXPECT_GT(noted, 20u);
}

// The node %y, in a graph that makes infinities or NaN of finite inputs, or does not.
TEST(Support, WhatLosesInfinitiesThatAModelHidesIsRefused) {
  const struct {
    const char *body, *reason;  // "": taken
  } cases[] = {
      {"%q = aten.sqrt(%x)\n %y = aten.amax(%q, [1])\n %r = aten.isnan(%y)", "makes NaN from finite inputs"},
      {"%q = aten.abs(%x)\n %y = aten.amax(%q, [1])\n %r = aten.isnan(%y)", ""},
      {"%q = aten.sqrt(%x)\n %y = aten.amax(%q, [1])\n %r = aten.neg(%y)", ""},
      {"%q = aten.reciprocal(%x)\n %y = aten.cumsum(%q, 1)\n %r = aten.neg(%y)", ""},
      {"%q = aten.log(%x)\n %y = aten.sign(%q)\n %r = aten.neg(%y)", "makes NaN from finite inputs"},
      {"%q = aten.reciprocal(%x)\n %y = aten.threshold(%q, 0.5, 2)\n %r = aten.reciprocal(%y)",
       "the model distinguishes -0 from 0"},
      {"%q = aten.reciprocal(%x)\n %y = aten.threshold(%q, 0.5, 2)\n %r = aten.clamp(%y, none, 9)", ""},
      {"%q = aten.reciprocal(%x)\n %y = aten.threshold(%q, 0.5, 2)\n %r = aten.mul.Scalar(%y, 2)", ""},
      {"%p = aten.abs(%x)\n %q = aten.reciprocal(%p)\n %y = aten.rsqrt(%q)\n %r = aten.sigmoid(%y)", ""},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.body);
    const auto function =
        compiler::parse_graph(fmt::format("graph f(%x: f32[4, 6]) {{\n {}\n return %r\n}}", test.body));
    ASSERT_TRUE(function.ok()) << compiler::render(function.diag());
    const compiler::ValueRanges ranges(*function->graph);
    compiler::TargetContext context;
    context.ranges = &ranges;
    for (const auto& node : function->graph->nodes()) {
      if (node->result()->name != "y") continue;
      const compiler::Verdict verdict = supports(*node, context);
      EXPECT_EQ(verdict.taken, std::string_view(test.reason).empty()) << verdict.reason;
      EXPECT_NE(verdict.reason.find(test.reason), std::string::npos) << verdict.reason;
    }
  }
}

TEST(Support, EveryRuleHasItsEdges) {
  std::map<std::string, std::pair<int, int>> counts;  // inside, outside
  for (const Edge& edge : kEdges) ++(edge.outside ? counts[edge.op].second : counts[edge.op].first);
  for (const OpRule* rule : all_rules()) {
    EXPECT_GT(counts[rule->op].first, 0) << rule->op << ": no case inside";
    if (rule->supports) EXPECT_GT(counts[rule->op].second, 0) << rule->op << ": no case outside";
  }
}

// An operator that a pass rewrites with others is refused with the reason that the pass found.
struct Refused {
  const char* graph;  // its last node is refused
  const char* reason;
};
constexpr Refused kRefused[] = {
    {"(%x: f32[2]) { %y = aten.erf(%x) return %y }",
     "XNNPACK has no operator for it: the library's kernels would lose precision"},
    {"(%x: f32[2, 2]) { %y = aten.tril(%x) return %y }",
     "a triangle of an input or constant, which no delegate needs to compute"},
    {"(%x: i64[2, 2]) { %y = aten.tril(%x) return %y }", "dtype i64[2, 2]; only f32 and f16 are taken"},
    {"(%x: f32[s0, 2]) { range s0: 1..8\n %y = aten.tril(%x) return %y }", "sizes known only at run time: f32[s0, 2]"},
    {"(%x: f32[2], %c: bool[2]) { %y = aten.where.self(%c, %x, %x) return %y }",
     "a select between inputs and numbers, which need not run in a delegate"},
    {"(%x: i64[2], %c: bool[2]) { %y = aten.where.self(%c, %x, %x) return %y }",
     "dtype i64[2]; only f32 and f16 are taken"},
    {"(%x: bool[2], %c: bool[2]) { %y = aten.where.self(%c, %x, %x) return %y }",
     "XNNPACK has no operator for it: the library has no booleans"},
    {"(%x: f16[2], %c: bool[2]) { %a = aten.exp(%x)\n %y = aten.where.self(%c, %a, %x) return %y }",
     "a select between f16 values, f16[2]; only selects in f32 are taken"},
    {"(%x: f32[2]) { %a = aten.exp(%x)\n %c = aten.isnan(%a)\n %y = aten.masked_fill.Scalar(%a, %c, 0) return %y }",
     "a condition computed by aten.isnan.default; only comparisons of f32 tensors and conditions made of integers are "
     "taken"},
    {"(%x: f16[2], %z: f32[2]) { %c = aten.gt.Scalar(%x, 1)\n %n = aten.logical_not(%c)\n %a = aten.exp(%z)\n %y = "
     "aten.masked_fill.Scalar(%a, %n, 0) return %y }",
     "a condition computed by aten.gt.Scalar; only comparisons of f32 tensors and conditions made of integers are "
     "taken"},
    {"(%x: f32[2]) { %a = aten.log(%x)\n %c = aten.gt.Scalar(%a, 0)\n %y = aten.masked_fill.Scalar(%x, %c, 0) return "
     "%y }",
     "a select between inputs and numbers, which need not run in a delegate"},
    {"(%x: f32[2]) { %a = aten.log(%x)\n %c = aten.gt.Scalar(%a, 0)\n %y = aten.masked_fill.Scalar(%a, %c, 0) return "
     "%y }",
     "a side of the select, or what its condition compares, may be NaN, and 0 times NaN is NaN"},
    {"(%x: i64[2]) { %y = aten._to_copy(%x, f32) return %y }",
     "a conversion of i64 to f32; only those between f32 and f16 are taken"},
    {"() { %y: i64[9] = aten.arange.start_step(0, 9, 1, i64) return %y }", "dtype i64[9]; only f32 and f16 are taken"},
    {"(%x: i64[2]) { %y = aten.bitwise_and.Tensor(%x, %x) return %y }", "dtype i64[2]; only f32 and f16 are taken"},
    {"(%x: f32[2, 3]) { %y = aten.any.dims(%x, [1]) return %y }",
     "XNNPACK has no operator for it: the library has no booleans"},
    {"(%x: i64[4]) { %y = aten.histc(%x, 4) return %y }", "dtype i64[4]; only f32 and f16 are taken"},
    {"() { %y: f32[1024, 512] = aten.full([1024, 512], 0.0, f32) return %y }",
     "a constant that the program computes instead of storing it: f32[1024, 512]"},
    {"(%x: f32[12]) { %y = aten.as_strided(%x, [3, 3], [1, 1]) return %y }",
     "strides that slices, permutes and expands cannot express"},
    {"(%x: i64[4]) { %y = aten.flip(%x, [0]) return %y }", "dtype i64[4]; only f32 and f16 are taken"},
    {"(%x: f32[64]) { %y = aten.flip(%x, [0]) return %y }", "positions at irregular distances, in more than 32 pieces"},
    {"(%x: f32[4], %i: i64[2]) { %y = aten.index_select(%x, 0, %i) return %y }",
     "XNNPACK has no operator for it: the library has no indices"},
};

TEST(Support, AnOperatorWithoutARowIsRefusedForATrueReason) {
  for (const Refused& refused : kRefused) {
    const auto function = compiler::parse_graph(std::string("graph f") + refused.graph);
    ASSERT_TRUE(function.ok()) << refused.graph << render(function.diag());
    const compiler::SymScope scope(function->graph->ranges);
    EXPECT_EQ(supports(*function->graph->nodes().back(), {}).reason, refused.reason) << refused.graph;
  }
  const auto function = compiler::parse_graph(
      "graph f(%x: f32[2], %c: bool[2]) { %a = aten.exp(%x)\n %y = aten.where.self(%c, %a, %x) return %y }");
  ASSERT_TRUE(function.ok()) << render(function.diag());
  EXPECT_EQ(supports(*function->graph->nodes().back(), {.options = {.strict_nan = true}}).reason,
            "a select by factors of 0 and 1, which --strict-nan refuses");
}

}  // namespace
}  // namespace wick::xnnpack
