#include "runtime/exec/method_layout.h"

#include "runtime/exec/prim_ops.h"

namespace wick {
namespace {

/// Cuts arrays off a block of memory; with a null block it only counts.
class Carver {
 public:
  explicit Carver(uint8_t* base) : base_(base) {}
  template <typename T>
  T* take(size_t count) {
    used_ = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T* result = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += static_cast<uint64_t>(count) * sizeof(T);
    return result;
  }
  /// Saturates where size_t is small.
  size_t used() const { return used_ > SIZE_MAX ? SIZE_MAX : static_cast<size_t>(used_); }

 private:
  uint8_t* base_;
  uint64_t used_ = 0;
};

}  // namespace

Counts count_objects(const MethodMeta& method) {
  Counts counts;
  for (size_t i = 0; i < method.num_values(); ++i) {
    switch (method.tag(i)) {
      case Tag::tensor:
        ++counts.tensors;
        counts.dims += method.value(i).tensor.sizes.size();
        break;
      case Tag::int_list:
        ++counts.int_lists;
        counts.int_items += method.value(i).int_items.size();
        break;
      case Tag::tensor_list:
      case Tag::optional_tensor_list:
        ++counts.tensor_lists;
        counts.tensor_items += method.value(i).tensor_items.size();
        break;
      default: break;
    }
  }
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    const size_t size = method.num_instructions(chain);
    counts.instructions += size;
    for (size_t i = 0; i < size; ++i) counts.args += method.instruction(chain, i).args.size();
  }
  for (size_t i = 0; i < method.num_operators(); ++i) counts.has_views |= method.op(i).equals(kViewOperator);
  return counts;
}

Layout lay_out(const MethodMeta& method, const Counts& counts, uint8_t* base) {
  Carver carver(base);
  Layout layout;
  struct alignas(alignof(Method::State)) StateBytes {
    uint8_t bytes[sizeof(Method::State)];
  };
  layout.state = carver.take<StateBytes>(1);
  layout.values = carver.take<EValue>(method.num_values());
  layout.tensors = carver.take<Tensor>(counts.tensors);
  layout.homes = carver.take<Home>(counts.has_views ? counts.tensors : 0);
  layout.int_lists = carver.take<IntListValue>(counts.int_lists);
  layout.unboxed = carver.take<int64_t>(counts.int_items);
  layout.int_items = carver.take<EValue*>(counts.int_items);
  layout.tensor_lists = carver.take<ListBinding>(counts.tensor_lists);
  layout.tensor_items = carver.take<EValue*>(counts.tensor_items);
  layout.tensor_pointers = carver.take<Tensor*>(counts.tensor_items);
  layout.inputs = carver.take<InputSlot>(method.num_inputs());
  layout.outputs = carver.take<Tensor*>(method.num_outputs());
  layout.kernels = carver.take<const Kernel*>(method.num_operators());
  layout.delegates = carver.take<BoundDelegate>(method.num_delegates());
  layout.chains = carver.take<InstructionList>(method.num_chains());
  layout.instructions = carver.take<Instruction>(counts.instructions);
  layout.args = carver.take<EValue*>(counts.args);
  layout.dims = carver.take<int32_t>(counts.dims * 2);
  layout.in_list = carver.take<bool>(method.num_values());
  layout.changes = carver.take<bool>(method.num_values());
  layout.size_bytes = carver.used();
  return layout;
}

}  // namespace wick
