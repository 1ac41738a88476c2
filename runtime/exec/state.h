// The objects that a loaded method keeps in its method arena. Shared by the files of this folder only.
#pragma once
#include "wick/method.h"

namespace wick {

/// An instruction with its indices resolved.
struct Instruction {
  InstructionKind kind;
  bool fits;             // kernel: its arguments, which do not change their kind or memory, fit the signature
  bool refreshes_lists;  // move: its destination is an item of a tensor list
  uint32_t num_args;
  uint32_t target;  // kernel: operator; delegate: delegate; jump_false: instruction
  union {
    EValue** args;  // kernel, delegate
    struct {
      EValue* from;  // move, jump_false (condition), free
      EValue* to;    // move
    } move;
  };
};

struct InstructionList {
  Instruction* data;
  uint32_t size;
};

/// The tensors of a list, and the values that the list names. A move may retarget these values, and overwrite the value
/// of the list itself.
struct ListBinding {
  Tensor** tensors;
  EValue** items;  // null = None
  size_t size;
};

/// Where a tensor's memory was at load: view instructions retarget tensors, and the next execution starts from here.
struct Home {
  void* data;
  size_t capacity_bytes;
  bool read_only;
};

/// A tensor input. A move may have put another tensor into its value; `tensor` is the input's own.
struct InputSlot {
  Tensor* tensor;  // null if the input is no tensor
  bool is_set;
};

struct BoundDelegate {
  const Backend* backend;
  void* handle;
};

/// Never moves: the context points at the random state.
struct Method::State {
  State(const MethodMeta& method, const MemoryPlan& memory, const MethodOptions& options)
      : meta(method),
        tracer(options.tracer),
        max_instructions(options.max_instructions),
        random{options.seed, 0},
        context(memory.temp, &random, options.parallelism, options.isa,
                method.num_unbounded() != 0 ? options.unbounded : nullptr) {}
  /// The memory of values without an upper bound; null: there are none.
  TensorMemory* unbounded() const { return context.memory(); }

  MethodMeta meta;
  const Tracer* tracer;
  uint64_t max_instructions;
  RandomState random;
  KernelContext context;
  MethodError last_error;

  EValue* values = nullptr;
  Tensor* tensors = nullptr;
  uint32_t num_tensors = 0;
  Home* homes = nullptr;             // null if no instruction makes views
  const Kernel** kernels = nullptr;  // by operator
  BoundDelegate* delegates = nullptr;
  uint32_t num_delegates = 0;  // initialised ones
  InstructionList* chains = nullptr;
  ListBinding* lists = nullptr;
  uint32_t num_lists = 0;
  InputSlot* inputs = nullptr;
  Tensor** outputs = nullptr;  // tensors the outputs had at load; null if no tensor
};

/// Points the entries of a tensor list at the tensors its items hold now.
void refresh_list(const ListBinding& binding);

}  // namespace wick
