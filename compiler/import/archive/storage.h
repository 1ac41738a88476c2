// Functionalisation while importing: which names of the exported graph share memory, and what a write to one means for
// the others.
#pragma once
#include <memory>
#include <vector>

#include "compiler/ir/builder.h"

namespace wick::compiler {

/// One pure view: `op` applied to what step `before` gives (argument 0 of `args` is a placeholder).
struct ViewStep {
  const OpDef* op;
  Args args;
  int32_t before;  // in VersionedStorage::views; -1: the storage itself
};

/// The memory behind one or more tensors of the exported program: a fresh result, an input or a buffer.
struct VersionedStorage {
  Value* current;               // the newest version
  Value* initial;               // the first
  uint32_t version = 0;         // writes so far
  std::vector<ViewStep> views;  // of all names; a step comes after the one before it
};

/// What a tensor name stands for: a chain of views of a storage, named by its last step (-1: no view). Reading a name
/// after the storage was written replays the chain.
struct TensorRef {
  std::shared_ptr<VersionedStorage> storage;
  int32_t last = -1;
  Value* cached = nullptr;
  uint32_t cached_version = 0;
};
using RefPtr = std::shared_ptr<TensorRef>;

/// A name for memory of its own.
RefPtr fresh_ref(Value* value);
/// The value a name has now.
Value* read(TensorRef& ref, Builder& builder);
/// Gives the memory behind `ref` new contents there (same dtype and sizes as read(ref)); every alias sees them.
/// Throws Failure(unsupported_model) for a write through a view that has no inverse (an expanded dimension).
void write(TensorRef& ref, Value* value, Builder& builder);
/// The name of `result`, computed by pure views from read(base). If `result`
/// does not come from `base` by views alone, it is fresh memory.
RefPtr view_ref(TensorRef& base, Value* base_value, Value* result);

}  // namespace wick::compiler
