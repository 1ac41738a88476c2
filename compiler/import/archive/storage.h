// Functionalisation while importing: which names of the exported graph share memory, and what a write to one means for
// the others.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/sharing.h"

namespace wick::compiler {

/// How eager changes stored elements when it reads them through a chain of views. Only real and imag view the parts of
/// a conjugate.
struct ElementSigns {
  bool conjugated = false, negated = false;
  bool parts_of_conjugate = false;  // the last step is view_as_real of a conjugate: part 1 is negated
};

/// One pure view: `op` applied to the result of step `before` (argument 0 of `args` is a placeholder).
struct ViewStep {
  const OpDef* op;
  Args args;
  int32_t before;  // in VersionedStorage::views; -1: the storage itself
  ElementSigns signs = {};
};

struct MaybeShared;

/// The memory behind one or more tensors of the exported program: a fresh result, an input or a buffer.
struct VersionedStorage {
  Value* current;               // the newest version
  Value* initial;               // the first
  uint32_t version = 0;         // writes so far
  std::vector<ViewStep> views;  // of all names; each step comes after its `before`
  /// The layout of `current` as the file records it; nullopt: unknown.
  std::optional<Placement> placement = std::nullopt;
  std::vector<std::shared_ptr<MaybeShared>> links = {};
  /// Why the contents are unknown; "": they are `current`.
  std::string doubt = "";
};

/// A result that lies in the memory of another tensor, or in memory of its own, depending on sizes.
struct MaybeShared {
  std::weak_ptr<VersionedStorage> base, result;
  std::optional<int32_t> view;  // step of `base` that is the result if memory is shared; nullopt: no views express it
  std::optional<Sym> when;      // whether it is shared, a truth value; nullopt: unknown
  std::string doubt;            // error message if the answer is needed but unknown
};

/// The meaning of a tensor name: a chain of views of a storage, given by its last step (-1: no view). Reading a name
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
/// The value a name has now. Throws Failure(unsupported_model) if that depends on whether memory is shared, and this is
/// not known.
Value* read(TensorRef& ref, Builder& builder);
/// Gives the memory behind `ref` new contents there (same dtype and sizes as read(ref)); every alias sees them; a
/// tensor that may be an alias sees them under its condition. Throws Failure(unsupported_model) for a write through a
/// view that has no inverse (an expanded dimension).
void write(TensorRef& ref, Value* value, Builder& builder);
/// The name of `result`, computed by pure views from read(base). Null if `result` does not come from `base` by views
/// alone.
RefPtr view_ref(TensorRef& base, Value* base_value, Value* result);
/// The name of `result`, which shares the memory of `base` if `when` is true (nullopt: unknown). `doubt` is the error
/// message of a read that needs the answer if it is unknown.
RefPtr maybe_shared_ref(TensorRef& base, Value* base_value, Value* result, std::optional<Sym> when, std::string doubt);
ElementSigns signs_of(const TensorRef& ref);
/// The steps from the storage to `ref`, in order.
std::vector<const ViewStep*> chain_of(const TensorRef& ref);
/// Applies `steps` to `value`, in order.
Value* apply(const std::vector<const ViewStep*>& steps, Value* value, Builder& builder);

}  // namespace wick::compiler
