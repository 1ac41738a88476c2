#include "compiler/ops/families.h"

namespace wick::compiler {

std::vector<Family> op_families() {
  return {
#define WICK_OP_FAMILY(Name) {k##Name##Rows, k##Name##Count},
#include "compiler/ops/families.inc"
#undef WICK_OP_FAMILY
  };
}

}  // namespace wick::compiler
