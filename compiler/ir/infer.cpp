#include "compiler/ir/infer.h"

#include <utility>

#include "compiler/ir/quantization.h"

namespace wick::compiler {
namespace {

// The operands of a node with the types of the numbers that they stand for, as long as this object lives.
class AsNumbers {
 public:
  explicit AsNumbers(const Node& node) {
    for (Value* value : node.operands()) {
      TensorType& type = value->type.tensor;
      if (!type.quantization) continue;
      const DType real = type.quantization->real;
      stored_.push_back({value, std::exchange(type.dtype, real), std::exchange(type.quantization, nullptr)});
    }
  }
  AsNumbers(const AsNumbers&) = delete;
  ~AsNumbers() {
    for (Stored& stored : stored_) {
      stored.value->type.tensor.dtype = stored.dtype;
      stored.value->type.tensor.quantization = std::move(stored.quantization);
    }
  }

 private:
  struct Stored {
    Value* value;
    DType dtype;
    std::shared_ptr<const Quantization> quantization;
  };
  std::vector<Stored> stored_;
};

}  // namespace

void infer_types(Node& node) {
  if (node.op->has(kElements)) return node.op->infer(node);
  const AsNumbers scope(node);
  node.op->infer(node);
}

bool may_be_stored_as(const OpDef& op, const Type& inferred, const Type& stated) {
  if (inferred.kind != stated.kind) return false;
  return inferred.tensor.dtype == (op.has(kElements) ? stated.tensor.dtype : stated.tensor.real_dtype());
}

}  // namespace wick::compiler
