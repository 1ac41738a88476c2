#include "wick/kernel.h"

#include <string.h>

#include "runtime/core/check_argument.h"
#include "wick/tensor_memory.h"

namespace wick {
namespace {

/// The values that a signature letter accepts.
struct Letter {
  char letter;
  Tag tag;
  bool optional;
  bool writable;
};

constexpr Letter kLetters[] = {
    {'T', Tag::tensor, false, false},
    {'t', Tag::tensor, true, false},
    {'o', Tag::tensor, false, true},
    {'L', Tag::tensor_list, false, false},
    {'l', Tag::optional_tensor_list, false, false},
    {'O', Tag::tensor_list, false, true},
    {'i', Tag::integer, false, false},
    {'j', Tag::integer, true, false},
    {'f', Tag::real, false, false},
    {'e', Tag::real, true, false},
    {'b', Tag::boolean, false, false},
    {'c', Tag::boolean, true, false},
    {'I', Tag::int_list, false, false},
    {'J', Tag::int_list, true, false},
    {'F', Tag::real_list, true, false},
    {'B', Tag::bool_list, false, false},
    {'S', Tag::string, false, false},
    {'Z', Tag::string, true, false},
};

const Letter* letter_of(char c) {
  for (const Letter& each : kLetters) {
    if (each.letter == c) return &each;
  }
  return nullptr;
}

/// The tensors of a tensor or of a list, whose items may be null. Empty for other values.
Span<Tensor* const> tensors_of(const EValue& value) {
  if (value.tag == Tag::tensor) return {&value.tensor, 1};
  if (value.tag != Tag::tensor_list && value.tag != Tag::optional_tensor_list) return {};
  return {value.tensor_list.data, value.tensor_list.size};
}

size_t count_uses(Span<EValue*> args, const Tensor* tensor) {
  size_t uses = 0;
  for (const EValue* arg : args) {
    for (const Tensor* each : tensors_of(*arg)) uses += each == tensor;
  }
  return uses;
}

bool check_tensors(KernelContext& context, const EValue& value, bool may_be_null, bool writable, Span<EValue*> args) {
  for (const Tensor* tensor : tensors_of(value)) {
    if (!tensor) {
      if (may_be_null) continue;
      context.fail(Error::InvalidType, "a list holds None where a tensor is wanted");
    } else if (tensor->numel != 0 && !tensor->data) {
      context.fail(Error::InvalidState, "a tensor argument has no memory");
    } else if (writable && tensor->read_only && tensor->numel != 0) {
      context.fail(Error::InvalidProgram, "an output argument lies in constant memory");
    } else if (writable && tensor->dynamism != ShapeDynamism::fixed && count_uses(args, tensor) != 1) {
      context.fail(Error::InvalidProgram, "an output whose sizes may change is another argument, too");
    } else {
      continue;
    }
    return false;
  }
  return true;
}

bool unbox(KernelContext& context, IntListValue& list) {
  for (size_t i = 0; i < list.size; ++i) {
    if (list.items[i]->tag != Tag::integer) {
      context.fail(Error::InvalidType, "an element of an int list is not an int");
      return false;
    }
    list.unboxed[i] = list.items[i]->integer;
  }
  return true;
}

bool check_scalar(KernelContext& context, const EValue& value, bool optional) {
  const bool number = value.tag == Tag::integer || value.tag == Tag::real || value.tag == Tag::boolean;
  if (number || (optional && value.is_none())) return true;
  context.fail(Error::InvalidType, "an argument is not a number");
  return false;
}

}  // namespace

bool check_argument(KernelContext& context, const char* signature, Span<EValue*> args, size_t index) {
  const char c = signature[index];
  EValue& value = *args[index];
  if (c == 's' || c == 'r') return check_scalar(context, value, c == 'r');
  bool may_be_null = value.tag == Tag::optional_tensor_list, writable = false;
  if (c != 'v') {
    const Letter* letter = letter_of(c);
    if (!letter) {
      context.fail(Error::Internal, "a kernel's signature has an unknown letter");
      return false;
    }
    if (letter->optional && value.is_none()) return true;
    if (value.tag != letter->tag && !(c == 'l' && value.tag == Tag::tensor_list)) {
      context.fail(Error::InvalidType, "an argument has a different type than the operator takes");
      return false;
    }
    may_be_null = c == 'l';
    writable = letter->writable;
  }
  if (value.tag == Tag::int_list) return unbox(context, *value.int_list);
  return check_tensors(context, value, may_be_null, writable, args);
}

void* KernelContext::allocate_temp(size_t size_bytes, size_t alignment) {
  // Null means failure, so a request for 0 bytes gets a valid address.
  alignas(64) static uint8_t nothing[64];
  if (size_bytes == 0) return nothing;
  const uintptr_t base = reinterpret_cast<uintptr_t>(temp_.data());
  const size_t misaligned = static_cast<size_t>((base + temp_used_) & (alignment - 1));
  const size_t padding = misaligned == 0 ? 0 : alignment - misaligned;
  const size_t available = temp_.size() - temp_used_;
  if (padding > available || size_bytes > available - padding) {
    void* scratch = memory_ && alignment <= 64 ? memory_->take_scratch(size_bytes) : nullptr;
    if (scratch) return scratch;
    fail(Error::OutOfResources, "temp memory is too small");
    return nullptr;
  }
  void* result = temp_.data() + temp_used_ + padding;
  temp_used_ += padding + size_bytes;
  if (temp_used_ > temp_peak_) temp_peak_ = temp_used_;
  return result;
}

void KernelContext::free_scratch() { memory_->free_scratch(); }

const char* form_of(const char* signature, size_t num_letters) {
  for (;;) {
    const char* end = signature;
    while (*end != '\0' && *end != '|') ++end;
    if (static_cast<size_t>(end - signature) == num_letters) return signature;
    if (*end == '\0') return nullptr;
    signature = end + 1;
  }
}

bool check_arguments(KernelContext& context, const char* signature, Span<EValue*> args) {
  // The signature leaves the return slot out.
  const char* form = args.empty() ? nullptr : form_of(signature, args.size() - 1);
  if (!form) {
    context.fail(Error::InvalidProgram, "the number of arguments is not the operator's");
    return false;
  }
  args = args.subspan(0, args.size() - 1);
  for (size_t i = 0; i < args.size(); ++i) {
    if (!check_argument(context, form, args, i)) return false;
  }
  return true;
}

}  // namespace wick
