#include "compiler/ops/math/reduction_operands.h"

#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {

bool converts_first(const Node& node) {
  const DType to = node.result()->dtype();
  return is_16_bit(to) && node.tensor("self")->dtype() != to;
}

std::vector<Value*> of_converted(Builder& b, Node& node) {
  Args args = node.args();
  args[0] = b.cast(node.tensor("self"), node.result()->dtype());
  return {b.call(node.op->name(), std::move(args))};
}

Value* with_an_element(Compose& c, Value* x, const std::vector<int64_t>& dims, double element) {
  Ints pairs(2 * x->rank(), Sym(0));  // (left, right) for each dimension, the last dimension first
  bool any = false;
  for (const int64_t dim : dims) {
    if (SymScope::range(x->sizes()[static_cast<size_t>(dim)]).min > 0) continue;
    pairs[2 * (x->rank() - 1 - static_cast<size_t>(dim)) + 1] = Sym(1);
    any = true;
  }
  return any ? c.pad(x, std::move(pairs), element) : x;
}

}  // namespace wick::compiler
