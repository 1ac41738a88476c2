// The objects that a method keeps in its arena, and where they lie. C++17.
#pragma once
#include "runtime/exec/state.h"

namespace wick {

/// How many objects of each kind a method takes.
struct Counts {
  size_t values = 0, inputs = 0, outputs = 0, operators = 0, delegates = 0, chains = 0;
  size_t tensors = 0;    // with an upper bound
  size_t unbounded = 0;  // tensors without one
  size_t dims = 0;       // over all tensors
  size_t int_lists = 0;
  size_t int_items = 0;
  size_t tensor_lists = 0;
  size_t tensor_items = 0;
  size_t instructions = 0;
  size_t args = 0;
  bool has_views = false;
};

Counts count_objects(const MethodMeta& method);

/// Bytes and alignment of each kind of object.
struct ObjectSize {
  size_t size_bytes, alignment;
};
struct ObjectSizes {
  ObjectSize state, value, tensor, unbounded_tensor, home, int_list, list_binding, input, delegate, instruction_list,
      instruction;
  ObjectSize pointer;
  ObjectSize int64 = {8, 8}, int32 = {4, 4}, boolean = {1, 1};
};

template <typename T>
constexpr ObjectSize size_of() {
  return {sizeof(T), alignof(T)};
}
/// The sizes in this build.
constexpr ObjectSizes kObjectSizes = {size_of<Method::State>(),   size_of<EValue>(),      size_of<Tensor>(),
                                      size_of<UnboundedTensor>(), size_of<Home>(),        size_of<IntListValue>(),
                                      size_of<ListBinding>(),     size_of<InputSlot>(),   size_of<BoundDelegate>(),
                                      size_of<InstructionList>(), size_of<Instruction>(), size_of<void*>()};
/// The sizes in builds with 32-bit pointers, such as those for Arm's microcontrollers.
constexpr ObjectSizes k32BitObjectSizes = {{168, 8}, {16, 8}, {28, 4}, {40, 4}, {12, 4}, {12, 4},
                                           {12, 4},  {8, 4},  {8, 4},  {8, 4},  {20, 4}, {4, 4}};

/// The bytes that a method with these objects takes: Method::required_bytes.
constexpr uint64_t method_bytes(const Counts& counts, const ObjectSizes& sizes) {
  uint64_t used = 0;
#define ARRAY(field, type, kind, count)                                                    \
  used = (used + sizes.kind.alignment - 1) / sizes.kind.alignment * sizes.kind.alignment + \
         static_cast<uint64_t>(count) * sizes.kind.size_bytes;
#include "runtime/exec/method_objects.inc"
#undef ARRAY
  return used;
}

/// The arrays of a method. Those of State are copied into it; the others are pools from which fill() takes objects in
/// order.
struct Layout {
  void* state;
  EValue* values;
  Tensor* tensors;
  UnboundedTensor* unbounded;
  Home* homes;
  int32_t* dims;  // sizes, then strides of each tensor
  IntListValue* int_lists;
  EValue** int_items;
  int64_t* unboxed;
  ListBinding* tensor_lists;
  EValue** tensor_items;
  Tensor** tensor_pointers;
  const Kernel** kernels;
  BoundDelegate* delegates;
  InstructionList* chains;
  Instruction* instructions;
  EValue** args;
  InputSlot* inputs;
  Tensor** outputs;
  bool* in_list;  // per value: is it an item of a tensor list?
  bool* changes;  // per value: may an instruction change its kind, or the memory of its tensor?
  size_t size_bytes;
};

/// With a null base, only size_bytes is meaningful.
Layout lay_out(const Counts& counts, uint8_t* base);

}  // namespace wick
