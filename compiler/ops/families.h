// The tables of all operator families.
#pragma once
#include <stddef.h>

#include <vector>

#include "compiler/ir/op_def.h"

namespace wick::compiler {

#define WICK_OP_FAMILY(Name)          \
  extern const OpDef k##Name##Rows[]; \
  extern const size_t k##Name##Count;
#include "compiler/ops/families.inc"
#undef WICK_OP_FAMILY

struct Family {
  const OpDef* rows;
  size_t count;
};

/// Makes the row of `aten::add_.Tensor(Tensor(a!) self, ..) -> Tensor(a!)` from that of
/// `aten::add.Tensor(Tensor self, ..)`, which must be kAlsoInPlace and parsed.
OpDef in_place_form(const OpDef& row);

/// Every table, in the order of families.inc.
std::vector<Family> op_families();

}  // namespace wick::compiler
