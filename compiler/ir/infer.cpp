#include "compiler/ir/infer.h"

#include <utility>

#include "compiler/ir/quantization.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

enum class SeenAs : uint8_t { numbers, elements };

// Hides the quantization of a node's operands while it lives.
class Unquantized {
 public:
  Unquantized(const Node& node, SeenAs seen) {
    for (Value* value : node.operands()) {
      TensorType& type = value->type.tensor;
      if (!type.quantization) continue;
      const DType seen_dtype = seen == SeenAs::numbers ? type.quantization->real : type.dtype;
      stored_.push_back({value, std::exchange(type.dtype, seen_dtype), std::exchange(type.quantization, nullptr)});
    }
  }
  Unquantized(const Unquantized&) = delete;
  ~Unquantized() {
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
  const Unquantized scope(node, SeenAs::numbers);
  node.op->infer(node);
}

void infer_elements(Node& node) {
  const Unquantized scope(node, SeenAs::elements);
  node.op->infer(node);
}

std::vector<Type> inferred_types(Node& node) {
  std::vector<Type> types;
  for (const Value* value : node.results()) types.push_back(value->type);
  // Some shape functions keep the recorded types of the results. These must be types of numbers, like those of the
  // operands.
  for (Value* value : node.results()) {
    if (node.op->has(kElements) || !value->type.is_tensor()) continue;
    value->type.tensor.dtype = value->type.tensor.real_dtype();
    value->type.tensor.quantization = nullptr;
  }
  const auto swap_types = [&] {
    for (size_t i = 0; i < types.size(); ++i) std::swap(types[i], node.result(i)->type);
  };
  try {
    infer_types(node);
  } catch (const Failure&) {
    swap_types();
    throw;
  }
  swap_types();
  return types;
}

bool may_be_stored_as(const OpDef& op, const Type& inferred, const Type& stated) {
  if (inferred.kind != stated.kind) return false;
  return inferred.tensor.dtype == (op.has(kElements) ? stated.tensor.dtype : stated.tensor.real_dtype());
}

}  // namespace wick::compiler
