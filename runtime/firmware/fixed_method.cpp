#include "runtime/firmware/fixed_method.h"

#include <string.h>

#include <new>

#include "runtime/firmware/caller_memory.h"

namespace wick {
namespace {

EValue value_of(const FixedConstant& constant) {
  EValue value;
  value.tag = constant.tag;
  switch (constant.tag) {
    case Tag::integer: value.integer = constant.integer; break;
    case Tag::boolean: value.boolean = constant.integer != 0; break;
    case Tag::real: value.real = constant.real; break;
    // Kernels read lists only.
    case Tag::int_list:
      value.int_list = const_cast<IntListValue*>(static_cast<const IntListValue*>(constant.data));
      break;
    case Tag::real_list: value.real_list = {static_cast<const double*>(constant.data), constant.size}; break;
    case Tag::bool_list: value.bool_list = {static_cast<const bool*>(constant.data), constant.size}; break;
    case Tag::string: value.string = {static_cast<const char*>(constant.data), constant.size}; break;
    default: break;
  }
  return value;
}

}  // namespace

Error FixedMethod::load(const FixedTables& tables, const FixedMemory& memory, Span<const KernelTable> kernels) {
  values_ = nullptr;
  ErrorText text(text_);
  const size_t needed = state_bytes(tables.tensors.size(), tables.constants.size());
  Error error = check_memory("arena", memory.arena, memory.arena.size(), 16, text);
  if (error == Error::Ok) error = check_memory("state memory", memory.state, needed, 16, text);
  if (error == Error::Ok) error = check_memory("scratch memory", memory.scratch, memory.scratch.size(), 64, text);
  if (error != Error::Ok) return error;
  tables_ = tables;
  kernels_ = kernels;
  scratch_ = memory.scratch;
  random_ = RandomState();
  const size_t count = tables.tensors.size();
  EValue* values = reinterpret_cast<EValue*>(memory.state.data());
  EValue* value = values + count;
  for (const FixedConstant& constant : tables.constants) new (value++) EValue(value_of(constant));
  Tensor* tensor = reinterpret_cast<Tensor*>(value);
  if (!memory.arena.empty()) memset(memory.arena.data(), 0, memory.arena.size());
  for (size_t i = 0; i < count; ++i, ++tensor) {
    const FixedTensor& row = tables.tensors[i];
    new (tensor) Tensor();
    tensor->dtype = row.dtype;
    tensor->rank = row.rank;
    tensor->read_only = row.constant;
    tensor->sizes = const_cast<int32_t*>(row.sizes);
    tensor->strides = const_cast<int32_t*>(row.strides);
    tensor->dim_order = row.dim_order;
    tensor->numel = row.numel;
    tensor->capacity_bytes = tensor->nbytes();
    if (!row.constant && row.offset + uint64_t{tensor->capacity_bytes} > memory.arena.size())
      return check_memory("arena", {}, 1, 1, text);
    tensor->data = row.constant ? const_cast<uint8_t*>(tables.bytes) + row.offset : memory.arena.data() + row.offset;
    if (row.initialized) memcpy(tensor->data, tables.bytes + row.initial, tensor->capacity_bytes);
    new (values + i) EValue(EValue::of_tensor(tensor));
  }
  values_ = values;
  return Error::Ok;
}

const Kernel& FixedMethod::kernel(size_t index) const {
  const KernelTable* table = kernels_.begin();
  for (; index >= table->size(); ++table) index -= table->size();
  return (*table)[index];
}

Error FixedMethod::run() {
  if (!values_) {
    ErrorText text(text_);
    text.append("the method is not loaded [", error_name(Error::InvalidState), "]");
    return Error::InvalidState;
  }
  KernelContext context(scratch_, &random_, nullptr);
  for (size_t i = 0; i < tables_.calls.size(); ++i) {
    const FixedCall& call = tables_.calls[i];
    const uint16_t* index = tables_.args + call.first_arg;
    EValue* args[kMaxArgs];
    for (size_t k = 0; k < call.num_args; ++k) args[k] = values_ + index[k];
    context.reset();
    kernel(call.kernel).fn(context, {args, call.num_args});
    if (!context.ok()) return fail(i, context.error(), context.message());
  }
  return Error::Ok;
}

void* FixedMethod::elements(Span<const uint16_t> ports, size_t index) const {
  if (!values_ || index >= ports.size() || ports[index] == FixedTables::kNoTensor) return nullptr;
  return values_[ports[index]].tensor->data;
}

Error FixedMethod::fail(size_t call, Error error, const char* message) {
  ErrorText text(text_);
  text.append("instruction ", static_cast<uint32_t>(call), ": ", message, " [", error_name(error), "]");
  return error;
}

}  // namespace wick
