#include "compiler/ops/pointwise/binary.h"

#include <algorithm>

namespace wick::compiler {

const OpDef* find_binary(Binary function, std::string_view overload) {
  const auto fits = [&](const OpDef* op) {
    const std::string_view name = op->name();
    return op->facts.binary == function && name.substr(name.rfind('.') + 1) == overload;
  };
  const auto& ops = all_ops();
  const auto found = function == Binary::none ? ops.end() : std::find_if(ops.begin(), ops.end(), fits);
  return found == ops.end() ? nullptr : *found;
}

Binary mirrored(Binary function) {
  switch (function) {
    case Binary::sub: return Binary::rsub;
    case Binary::rsub: return Binary::sub;
    case Binary::div: return Binary::none;
    case Binary::lt: return Binary::gt;
    case Binary::le: return Binary::ge;
    case Binary::gt: return Binary::lt;
    case Binary::ge: return Binary::le;
    default: return function;
  }
}

Binary opposite(Binary comparison) {
  if (comparison == Binary::eq) return Binary::ne;
  return comparison == Binary::ne ? Binary::eq : Binary::none;
}

}  // namespace wick::compiler
