#include "runtime/module/device_arenas.h"

#include <string.h>

#include <vector>

namespace wick {
namespace {

class Checker {
 public:
  Checker(const MethodMeta& method, Span<const Backend* const> backends, ErrorText* text)
      : method_(method), backends_(backends), text_(text) {}

  Error run() {
    owners_.assign(method_.num_values(), nullptr);
    for (size_t i = 0; i < owners_.size(); ++i) {
      if (method_.tag(i) != Tag::tensor) continue;
      const TensorMeta tensor = method_.value(i).tensor;
      if (tensor.storage != Storage::planned) continue;
      owners_[i] = backend_of_arena(method_, tensor.arena, backends_);
      if (owners_[i] && tensor.initialized) return fail_value(i, "has an initial value");
    }
    Error error = values();
    for (size_t chain = 0; error == Error::Ok && chain < method_.num_chains(); ++chain) {
      for (size_t i = 0; error == Error::Ok && i < method_.num_instructions(chain); ++i)
        error = instruction(method_.instruction(chain, i));
    }
    return error;
  }

 private:
  Error fail_value(size_t index, const char* what) {
    if (text_) text_->append("value ", static_cast<uint64_t>(index), " lies on a device and ", what);
    return Error::InvalidProgram;
  }
  bool is_on_device(int64_t index) const { return index >= 0 && owners_[static_cast<size_t>(index)]; }

  Error values() {
    for (size_t i = 0; i < method_.num_inputs(); ++i) {
      if (owners_[method_.input(i)]) return fail_value(method_.input(i), "is an input");
    }
    for (size_t i = 0; i < method_.num_outputs(); ++i) {
      if (owners_[method_.output(i)]) return fail_value(method_.output(i), "is an output");
    }
    for (size_t i = 0; i < owners_.size(); ++i) {
      const Tag tag = method_.tag(i);
      if (tag != Tag::tensor_list && tag != Tag::optional_tensor_list) continue;
      for (const int32_t item : method_.value(i).tensor_items) {
        if (is_on_device(item)) return fail_value(static_cast<size_t>(item), "is in a list");
      }
    }
    return Error::Ok;
  }

  Error instruction(const InstructionMeta& instruction) {
    switch (instruction.kind) {
      case InstructionKind::kernel:
        for (const int32_t arg : instruction.args) {
          if (is_on_device(arg)) return fail_value(static_cast<size_t>(arg), "is an argument of a kernel");
        }
        return Error::Ok;
      case InstructionKind::delegate: {
        const char* id = method_.delegate(instruction.target).id;
        for (const int32_t arg : instruction.args) {
          if (is_on_device(arg) && strcmp(owners_[static_cast<size_t>(arg)]->id, id) != 0)
            return fail_value(static_cast<size_t>(arg), "is an argument of another backend's delegate");
        }
        return Error::Ok;
      }
      case InstructionKind::move:
        if (owners_[instruction.value]) return fail_value(instruction.value, "is moved");
        if (owners_[instruction.target]) return fail_value(instruction.target, "is moved to");
        return Error::Ok;
      case InstructionKind::jump_false:
        return owners_[instruction.value] ? fail_value(instruction.value, "is a condition") : Error::Ok;
      case InstructionKind::free:
        return owners_[instruction.value] ? fail_value(instruction.value, "is freed") : Error::Ok;
    }
    return Error::Ok;
  }

  const MethodMeta& method_;
  Span<const Backend* const> backends_;
  ErrorText* text_;
  std::vector<const Backend*> owners_;  // by value: the backend on whose device it lies
};

}  // namespace

Error DeviceArena::allocate(const Backend& backend, const DelegateOptions& options, uint64_t size_bytes,
                            ErrorText* text) {
  const Error error = backend.allocate_arena(options, size_bytes, text, &memory_);
  if (error == Error::Ok) backend_ = &backend;
  return error;
}

const Backend* backend_of_arena(const MethodMeta& method, size_t arena, Span<const Backend* const> backends) {
  const uint8_t device = method.arena_device(arena);
  for (const Backend* backend : backends) {
    if (device != 0 && backend->device_type == device) return backend;
  }
  return nullptr;
}

Error check_device_arenas(const MethodMeta& method, Span<const Backend* const> backends, ErrorText* text) {
  return Checker(method, backends, text).run();
}

}  // namespace wick
