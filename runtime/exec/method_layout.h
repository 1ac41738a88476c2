// What a method keeps in its arena, and where. C++17.
#pragma once
#include "runtime/exec/state.h"

namespace wick {

/// How many objects of each kind a method takes.
struct Counts {
  size_t tensors = 0;
  size_t dims = 0;  // over all tensors
  size_t int_lists = 0;
  size_t int_items = 0;
  size_t tensor_lists = 0;
  size_t tensor_items = 0;
  size_t instructions = 0;
  size_t args = 0;
  bool has_views = false;
};

Counts count_objects(const MethodMeta& method);

/// The arrays of a method. Those of State are copied there; the others are pools that fill() hands out in order.
struct Layout {
  void* state;
  EValue* values;
  Tensor* tensors;
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

/// With a null base, only size_bytes means something.
Layout lay_out(const MethodMeta& method, const Counts& counts, uint8_t* base);

}  // namespace wick
