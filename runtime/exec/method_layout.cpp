#include "runtime/exec/method_layout.h"

#include "runtime/exec/prim_ops.h"

namespace wick {
namespace {

#if UINTPTR_MAX == UINT32_MAX
constexpr bool equal(const ObjectSize& a, const ObjectSize& b) {
  return a.size_bytes == b.size_bytes && a.alignment == b.alignment;
}
#define ARRAY(field, type, kind, count) \
  static_assert(equal(kObjectSizes.kind, k32BitObjectSizes.kind), "k32BitObjectSizes says something else");
#include "runtime/exec/method_objects.inc"
#undef ARRAY
#endif

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
  counts.values = method.num_values();
  counts.inputs = method.num_inputs();
  counts.outputs = method.num_outputs();
  counts.operators = method.num_operators();
  counts.delegates = method.num_delegates();
  counts.chains = method.num_chains();
  for (size_t i = 0; i < method.num_values(); ++i) {
    switch (method.tag(i)) {
      case Tag::tensor: {
        const TensorMeta tensor = method.value(i).tensor;
        ++(tensor.dynamism == ShapeDynamism::unbounded ? counts.unbounded : counts.tensors);
        counts.dims += tensor.sizes.size();
        break;
      }
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

Layout lay_out(const Counts& counts, uint8_t* base) {
  Carver carver(base);
  Layout layout;
  struct alignas(alignof(Method::State)) StateBytes {
    uint8_t bytes[sizeof(Method::State)];
  };
#define ARRAY(field, type, kind, count) layout.field = carver.take<type>(count);
#include "runtime/exec/method_objects.inc"
#undef ARRAY
  layout.size_bytes = carver.used();
  return layout;
}

}  // namespace wick
