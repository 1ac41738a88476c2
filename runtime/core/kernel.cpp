#include "wick/kernel.h"

#include <string.h>

#include "runtime/core/check_argument.h"
#include "wick/tensor_memory.h"

namespace wick {
namespace {

/// What a signature letter accepts.
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

bool check_tensor(KernelContext& context, const Tensor& tensor, bool writable) {
  if (!tensor.data && tensor.numel != 0) {
    context.fail(Error::InvalidState, "a tensor argument has no memory");
    return false;
  }
  if (writable && tensor.read_only && tensor.numel != 0) {
    context.fail(Error::InvalidProgram, "an output argument lies in constant memory");
    return false;
  }
  return true;
}

bool check_tensors(KernelContext& context, Span<Tensor*> tensors, bool may_be_null, bool writable) {
  for (Tensor* tensor : tensors) {
    if (!tensor) {
      if (may_be_null) continue;
      context.fail(Error::InvalidType, "a list holds None where a tensor is wanted");
      return false;
    }
    if (!check_tensor(context, *tensor, writable)) return false;
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

Span<Tensor* const> tensors_of(const EValue& value) {
  switch (value.tag) {
    case Tag::tensor: return {&value.tensor, 1};
    case Tag::tensor_list:
    case Tag::optional_tensor_list: return {value.tensors().data(), value.tensors().size()};
    default: return {};
  }
}

bool check_scalar(KernelContext& context, const EValue& value, bool optional) {
  const bool number = value.tag == Tag::integer || value.tag == Tag::real || value.tag == Tag::boolean;
  if (number || (optional && value.is_none())) return true;
  context.fail(Error::InvalidType, "an argument is not a number");
  return false;
}

}  // namespace

bool check_argument(KernelContext& context, char c, EValue& value) {
  if (c == 's' || c == 'r') return check_scalar(context, value, c == 'r');
  if (c == 'v') {
    if (value.tag == Tag::int_list) return unbox(context, *value.int_list);
    if (value.tag == Tag::tensor) return check_tensor(context, *value.tensor, false);
    if (value.tag == Tag::tensor_list || value.tag == Tag::optional_tensor_list) {
      return check_tensors(context, value.tensors(), value.tag == Tag::optional_tensor_list, false);
    }
    return true;
  }
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
  switch (value.tag) {
    case Tag::tensor: return check_tensor(context, *value.tensor, letter->writable);
    case Tag::tensor_list:
    case Tag::optional_tensor_list: return check_tensors(context, value.tensors(), c == 'l', letter->writable);
    case Tag::int_list: return unbox(context, *value.int_list);
    default: return true;
  }
}

bool check_outputs(KernelContext& context, const char* signature, Span<EValue* const> args) {
  for (size_t i = 0; signature[i] != '\0'; ++i) {
    if (signature[i] != 'o' && signature[i] != 'O') continue;
    for (const Tensor* out : tensors_of(*args[i])) {
      if (!out || out->dynamism == ShapeDynamism::fixed) continue;
      for (size_t k = 0; signature[k] != '\0'; ++k) {
        if (k == i) continue;
        for (const Tensor* other : tensors_of(*args[k])) {
          if (other != out) continue;
          context.fail(Error::InvalidProgram, "an output whose sizes may change is another argument, too");
          return false;
        }
      }
    }
  }
  return true;
}

void* KernelContext::allocate_temp(size_t size_bytes, size_t alignment) {
  // A kernel may ask for nothing and still wants to tell the answer from failure.
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

bool check_arguments(KernelContext& context, const char* signature, Span<EValue*> args) {
  // The signature leaves the return slot out.
  if (args.size() != strlen(signature) + 1) {
    context.fail(Error::InvalidProgram, "the number of arguments is not the operator's");
    return false;
  }
  for (size_t i = 0; signature[i] != '\0'; ++i) {
    if (!check_argument(context, signature[i], *args[i])) return false;
  }
  return check_outputs(context, signature, Span<EValue* const>(args.data(), args.size()));
}

}  // namespace wick
