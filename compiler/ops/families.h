// The tables of all operator families.
#pragma once
#include <stddef.h>

#include <vector>

#include "compiler/ir/op_def.h"

namespace wick::compiler {

#define WICK_OP_FAMILY(Name)          \
  extern const OpDef k##Name##Rows[]; \
  extern const size_t k##Name##Count;
WICK_OP_FAMILY(Activation)
WICK_OP_FAMILY(Alias)
WICK_OP_FAMILY(Attention)
WICK_OP_FAMILY(Audio)
WICK_OP_FAMILY(Backward)
WICK_OP_FAMILY(Control)
WICK_OP_FAMILY(Convolution)
WICK_OP_FAMILY(Creation)
WICK_OP_FAMILY(Detection)
WICK_OP_FAMILY(Einsum)
WICK_OP_FAMILY(Factorization)
WICK_OP_FAMILY(HigherOrder)
WICK_OP_FAMILY(Indexing)
WICK_OP_FAMILY(InPlace)
WICK_OP_FAMILY(LanguageModel)
WICK_OP_FAMILY(LinearAlgebra)
WICK_OP_FAMILY(Loss)
WICK_OP_FAMILY(Movement)
WICK_OP_FAMILY(Normalization)
WICK_OP_FAMILY(Numeric)
WICK_OP_FAMILY(Padding)
WICK_OP_FAMILY(PointwiseBinary)
WICK_OP_FAMILY(PointwiseUnary)
WICK_OP_FAMILY(Pooling)
WICK_OP_FAMILY(Quantized)
WICK_OP_FAMILY(Random)
WICK_OP_FAMILY(Recurrent)
WICK_OP_FAMILY(Reduction)
WICK_OP_FAMILY(Resize)
WICK_OP_FAMILY(Special)
WICK_OP_FAMILY(Spectral)
WICK_OP_FAMILY(Transformer)
WICK_OP_FAMILY(View)
WICK_OP_FAMILY(Window)
#undef WICK_OP_FAMILY

struct Family {
  const OpDef* rows;
  size_t count;
};

/// The row of `aten::add_.Tensor(Tensor(a!) self, ..) -> Tensor(a!)` from that of `aten::add.Tensor(Tensor self, ..)`,
/// which is kAlsoInPlace and parsed.
OpDef in_place_form(const OpDef& row);

/// Every table, in the order of this file.
std::vector<Family> op_families();

}  // namespace wick::compiler
