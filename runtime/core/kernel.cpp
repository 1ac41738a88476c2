#include "wick/kernel.h"

#include <string.h>

#include "runtime/core/check_argument.h"
#include "wick/tensor_memory.h"

namespace wick {
namespace {

/// What a signature letter accepts.
struct Letter {
  Tag tag;
  bool optional;
  bool writable;
};

bool letter_of(char c, Letter* out) {
  switch (c) {
    case 'T': *out = {Tag::tensor, false, false}; return true;
    case 't': *out = {Tag::tensor, true, false}; return true;
    case 'o': *out = {Tag::tensor, false, true}; return true;
    case 'L': *out = {Tag::tensor_list, false, false}; return true;
    case 'l': *out = {Tag::optional_tensor_list, false, false}; return true;
    case 'O': *out = {Tag::tensor_list, false, true}; return true;
    case 'i': *out = {Tag::integer, false, false}; return true;
    case 'j': *out = {Tag::integer, true, false}; return true;
    case 'f': *out = {Tag::real, false, false}; return true;
    case 'e': *out = {Tag::real, true, false}; return true;
    case 'b': *out = {Tag::boolean, false, false}; return true;
    case 'c': *out = {Tag::boolean, true, false}; return true;
    case 'I': *out = {Tag::int_list, false, false}; return true;
    case 'J': *out = {Tag::int_list, true, false}; return true;
    case 'F': *out = {Tag::real_list, true, false}; return true;
    case 'B': *out = {Tag::bool_list, false, false}; return true;
    case 'S': *out = {Tag::string, false, false}; return true;
    case 'Z': *out = {Tag::string, true, false}; return true;
    default: return false;
  }
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
  Letter letter;
  if (!letter_of(c, &letter)) {
    context.fail(Error::Internal, "a kernel's signature has an unknown letter");
    return false;
  }
  if (letter.optional && value.is_none()) return true;
  if (value.tag != letter.tag && !(c == 'l' && value.tag == Tag::tensor_list)) {
    context.fail(Error::InvalidType, "an argument has a different type than the operator takes");
    return false;
  }
  switch (value.tag) {
    case Tag::tensor: return check_tensor(context, *value.tensor, letter.writable);
    case Tag::tensor_list:
    case Tag::optional_tensor_list: return check_tensors(context, value.tensors(), c == 'l', letter.writable);
    case Tag::int_list: return unbox(context, *value.int_list);
    default: return true;
  }
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
  return true;
}

}  // namespace wick
