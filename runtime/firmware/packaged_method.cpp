#include "runtime/firmware/packaged_method.h"

#include <string.h>

#include <new>

#include "common/digest.h"
#include "runtime/exec/shared_arena.h"
#include "runtime/firmware/caller_memory.h"

namespace wick {
namespace {

constexpr uint32_t kAlignment = 16, kScratchAlignment = 64;

uint64_t rounded(uint64_t size_bytes) { return (size_bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Whether neither the plan nor the file gives it memory.
bool is_unbound(const ValueMeta& value) { return value.tag == Tag::tensor && value.tensor.storage == Storage::unbound; }

/// The memory in the arena of an input that the plan gives none: its tensor, then its elements.
struct alignas(kAlignment) OwnInput {
  Tensor* tensor;
  uint8_t* elements() { return reinterpret_cast<uint8_t*>(this + 1); }
};
uint64_t own_input_bytes(const ValueMeta& value) { return sizeof(OwnInput) + rounded(value.tensor.nbytes); }

uint8_t* take(Span<uint8_t>* rest, uint64_t size_bytes) {
  if (size_bytes > rest->size()) return nullptr;
  uint8_t* taken = rest->data();
  *rest = rest->subspan(static_cast<size_t>(size_bytes), rest->size() - static_cast<size_t>(size_bytes));
  return taken;
}

}  // namespace

Error PackagedProgram::load(Span<const uint8_t> file, uint64_t checked, ErrorText* text) {
  if (reinterpret_cast<uintptr_t>(file.data()) % kAlignment != 0) {
    if (text) text->append("the program is not 16-byte aligned");
    return Error::InvalidArgument;
  }
  if (digest(file) != checked) {
    if (text) text->append("the program's bytes are not those of the package");
    return Error::InvalidProgram;
  }
  new (storage_) Program(Program::checked_before(file));
  return Error::Ok;
}

uint64_t packaged_arena_bytes(const MethodMeta& meta, bool shares) {
  uint64_t total = 0;
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    if (!shares || i != kSharedArena) total += rounded(meta.arena_bytes(i));
  }
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const ValueMeta input = meta.input_value(i);
    if (is_unbound(input)) total += own_input_bytes(input);
  }
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const ValueMeta output = meta.output_value(i);
    if (is_unbound(output)) total += rounded(output.tensor.nbytes);
  }
  return total;
}

Error PackagedMethod::fail(Error error, const char* message) {
  ErrorText text(text_);
  text.append(message, " [", error_name(error), "]");
  return error;
}

Error PackagedMethod::load(const MethodMeta& meta, const PackagedMemory& memory, Span<const KernelTable> kernels) {
  loaded_ = false;
  ErrorText text(text_);
  const bool shares = !memory.shared.empty();
  if (meta.num_arenas() > kMaxArenas) return fail(Error::OutOfResources, "the method has too many arenas");
  Error checked = check_memory("arena", memory.arena, packaged_arena_bytes(meta, shares), kAlignment, text);
  if (checked == Error::Ok && shares) {
    const uint64_t bytes = meta.num_arenas() > kSharedArena ? meta.arena_bytes(kSharedArena) : 0;
    checked = check_memory("shared arena", memory.shared, bytes, kAlignment, text);
  }
  if (checked == Error::Ok)
    checked = check_memory("scratch memory", memory.scratch, memory.scratch.size(), kScratchAlignment, text);
  if (checked != Error::Ok) return checked;
  Span<uint8_t> rest = memory.arena;
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    const size_t size_bytes = static_cast<size_t>(meta.arena_bytes(i));
    const bool is_shared = shares && i == kSharedArena;
    planned_[i] = is_shared ? memory.shared : Span<uint8_t>(take(&rest, rounded(size_bytes)), size_bytes);
    if (!is_shared && size_bytes != 0) memset(planned_[i].data(), 0, size_bytes);
  }
  MethodOptions options;
  options.kernels = kernels;
  options.text = &text;
  Result<Method> loaded = Method::load(meta, {memory.state, {planned_, meta.num_arenas()}, memory.scratch}, options);
  if (!loaded.ok()) return text.size() == 0 ? fail(loaded.error(), "loading failed") : loaded.error();
  new (storage_) Method(static_cast<Method&&>(*loaded));
  text.clear();
  Error error = bind_inputs(&rest);
  if (error == Error::Ok) error = bind_outputs(&rest);
  loaded_ = error == Error::Ok;
  return error;
}

Error PackagedMethod::bind_inputs(Span<uint8_t>* rest) {
  const MethodMeta& meta = method()->meta();
  own_inputs_ = rest->data();
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const ValueMeta input = meta.input_value(i);
    if (!is_unbound(input)) continue;
    auto* own = new (take(rest, own_input_bytes(input))) OwnInput;
    own->tensor = method()->value(meta.input(i)).tensor;
    memset(own->elements(), 0, input.tensor.nbytes);
  }
  return set_inputs();
}

Error PackagedMethod::bind_outputs(Span<uint8_t>* rest) {
  const MethodMeta& meta = method()->meta();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const ValueMeta output = meta.output_value(i);
    if (!is_unbound(output)) continue;
    uint8_t* memory = take(rest, rounded(output.tensor.nbytes));
    const Error error = method()->set_output_memory(i, memory, output.tensor.nbytes);
    if (error != Error::Ok) return fail(error, method()->last_error().message);
  }
  return Error::Ok;
}

// Marks all inputs as set, with the elements in their memory.
Error PackagedMethod::set_inputs() {
  const MethodMeta& meta = method()->meta();
  uint8_t* own = own_inputs_;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const ValueMeta input = meta.input_value(i);
    if (is_unbound(input)) {
      auto* mine = reinterpret_cast<OwnInput*>(own);
      own += own_input_bytes(input);
      Tensor given = *mine->tensor;
      given.data = mine->elements();
      const Error error = method()->set_input(i, given);
      if (error != Error::Ok) return fail(error, method()->last_error().message);
    } else if (input.tag == Tag::tensor) {
      (void)method()->input_in_place(i);
    }
  }
  return Error::Ok;
}

void* PackagedMethod::input(size_t index) {
  if (!loaded_ || index >= method()->meta().num_inputs()) return nullptr;
  const MethodMeta& meta = method()->meta();
  if (!is_unbound(meta.input_value(index))) {
    Tensor* tensor = method()->input_in_place(index);
    return tensor ? tensor->data : nullptr;
  }
  uint8_t* own = own_inputs_;
  for (size_t i = 0; i < index; ++i) {
    const ValueMeta input = meta.input_value(i);
    if (is_unbound(input)) own += own_input_bytes(input);
  }
  return reinterpret_cast<OwnInput*>(own)->elements();
}

Error PackagedMethod::set_input_sizes(size_t index, const int32_t* sizes) {
  if (!loaded_) return fail(Error::InvalidState, "the method is not loaded");
  const MethodMeta& meta = method()->meta();
  if (index >= meta.num_inputs() || meta.input_value(index).tag != Tag::tensor)
    return fail(Error::InvalidArgument, "there is no such input");
  if (!sizes || reinterpret_cast<uintptr_t>(sizes) % alignof(int32_t) != 0)
    return fail(Error::InvalidArgument, "the sizes are null or misaligned");
  Tensor* tensor = method()->input_in_place(index);
  if (!tensor) {
    uint8_t* own = static_cast<uint8_t*>(input(index)) - sizeof(OwnInput);
    tensor = reinterpret_cast<OwnInput*>(own)->tensor;
  }
  const Error error = resize(*tensor, {sizes, tensor->rank});
  return error == Error::Ok ? error : fail(error, "the input does not take these sizes");
}

Error PackagedMethod::run() {
  if (!loaded_) return fail(Error::InvalidState, "the method is not loaded");
  const Error prepared = set_inputs();
  if (prepared != Error::Ok) return prepared;
  const Error error = method()->execute();
  ErrorText text(text_);
  if (error != Error::Ok) method()->last_error().append_to(text);
  return error;
}

const void* PackagedMethod::output(size_t index) const {
  if (!loaded_ || index >= method()->meta().num_outputs()) return nullptr;
  const EValue& value = method()->output(index);
  switch (value.tag) {
    case Tag::tensor: return value.tensor->data;
    case Tag::integer: return &value.integer;
    case Tag::real: return &value.real;
    case Tag::boolean: return &value.boolean;
    default: return nullptr;
  }
}

const int32_t* PackagedMethod::output_sizes(size_t index) const {
  if (!loaded_ || index >= method()->meta().num_outputs()) return nullptr;
  const EValue& value = method()->output(index);
  return value.tag == Tag::tensor ? value.tensor->sizes : nullptr;
}

}  // namespace wick
