// One row per operator: what is taken, how its tensors lie in memory, what it becomes. C++20.
#pragma once
#include "backends/xnnpack/compile/order.h"
#include "compiler/partition/target.h"

namespace wick::xnnpack {

class Lowering;

/// How the orders of a node's operands and of its first result hang together.
struct LayoutRule {
  enum class Kind : uint8_t {
    any,      // operands and result in one order, which is free; lower ranks are aligned at the end
    last,     // as any, with dimension `dim` innermost
    fixed,    // operand 0 and the result in `order`
    permute,  // the operand's bytes seen through `perm`
    view,     // the operand's bytes where its order allows that, otherwise both are plain
    select,   // the operand's order without dimension `dim`
    reduce,   // the dimensions of `reduced` lie side by side in the operand
    matmul,   // plain; the last two dimensions of operand 1 may be swapped
  } kind = Kind::any;
  size_t dim = 0;
  Order order = {};
  std::vector<int64_t> perm = {};
  std::vector<bool> reduced = {};
  bool keep_dims = true;  // reduce: the reduced dimensions stay, with size 1
};

/// How many sizes of a tensor may be known only at run time.
enum class Unknown : uint8_t { none, one, any };

struct OpRule {
  const char* op;
  /// Beyond what supports.cpp asks of every node. Null: nothing.
  compiler::Verdict (*supports)(const compiler::Node& node, const compiler::TargetOptions& options);
  LayoutRule (*layout)(const compiler::Node& node);
  void (*lower)(Lowering& lowering, const compiler::Node& node);
  Unknown unknown = Unknown::none;  // of each operand and of the result
  /// The last payload node can clamp its result.
  bool takes_range = false;
  /// `supports` looks at dtypes and results itself.
  bool any_dtype = false;
};

/// The row of an operator, or null.
const OpRule* find_rule(const compiler::Node& node);
/// All rows, sorted by operator.
const std::vector<const OpRule*>& all_rules();

/// Whether the backend takes a node, all conditions together.
compiler::Verdict supports(const compiler::Node& node, const compiler::TargetOptions& options);

/// Sizes of a tensor.
Dims dims_of(const compiler::Value& value);
/// Tensor operands in argument order, without absent ones; lists are spelled out.
std::vector<compiler::Value*> tensor_operands(const compiler::Node& node);

}  // namespace wick::xnnpack
