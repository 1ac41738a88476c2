// Lowers constants: to numbers, buffers, or integers of four bits.
#include <bit>
#include <cstring>

#include "backends/cuda/compile/constant_numbers.h"
#include "backends/cuda/compile/lowering.h"
#include "common/float16.h"

namespace wick::cuda {

namespace {

double constant_element(const Value& value) {
  uint8_t bytes[8] = {};
  value.data.read(0, dtype_size_bytes(value.dtype()), bytes);
  const auto as = [&](auto zero) {
    std::memcpy(&zero, bytes, sizeof zero);
    return zero;
  };
  switch (value.dtype()) {
    case DType::boolean:
    case DType::u8: return bytes[0];
    case DType::i8: return as(int8_t{});
    case DType::i16: return as(int16_t{});
    case DType::i32: return as(int32_t{});
    case DType::f16: return Half::to_float(as(uint16_t{}));
    case DType::bf16: return std::bit_cast<float>(uint32_t{as(uint16_t{})} << 16);
    case DType::f32: return static_cast<double>(as(float{}));
    default: return as(double{});
  }
}

}  // namespace

void Lowering::add_constant(const Value* value) {
  Tensor& added = tensors_[value];
  const auto count = numel(value->sizes());
  if (count.is(0)) {  // nothing reads an element
    const ExpressionPtr none = pool().constant(0, 0, scalar_type(value->dtype()));
    added.element = [none](const Indices&) { return none; };
    return;
  }
  if (count.is(1)) {
    const ScalarType type = scalar_type(value->dtype());
    int64_t integer = 0;
    if (value->dtype() == DType::i64) value->data.read(0, sizeof integer, reinterpret_cast<uint8_t*>(&integer));
    const double real = value->dtype() == DType::i64 ? 0 : constant_element(*value);
    const ExpressionPtr number = pool().constant(
        real, value->dtype() == DType::i64 ? integer : static_cast<int64_t>(is_real(type) ? 0 : real), type);
    added.element = [number](const Indices&) { return number; };
    return;
  }
  if (value->tensor().dim_order.empty() && add_packed(value)) return;
  set_stored(value, constant_buffer(value->data, value->dtype(), count));
  const std::vector<uint8_t>& order = value->tensor().dim_order;
  Sym stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    added.strides[order[i]] = stride;
    stride = stride * value->sizes()[order[i]];
  }
}

// Stores the constant with two elements in a byte; false if that is not possible.
bool Lowering::add_packed(const Value* value) {
  std::optional<PackedConstant> packed = pack_4_bits(*value);
  if (!packed) return false;
  const Sym bytes(static_cast<int64_t>(packed->data.size_bytes()));
  const uint32_t buffer = constant_buffer(std::move(packed->data), DType::u8, bytes);
  const std::string text = packed->least < 0 ? "(nibble({0}, {1}) - 8)" : "nibble({0}, {1})";
  Tensor& made = tensors_[value];
  made.narrow = true;
  made.element = [this, value, buffer, text](const Indices& at) {
    const ExpressionPtr linear = join(at, value->sizes()), two = pool().index(2);
    const ExpressionPtr byte = pool().load(buffer, DType::u8, pool().floor_divide(linear, two));
    return pool().call(ScalarType::i32, text, {byte, pool().cast(pool().modulo(linear, two), ScalarType::i32)});
  };
  return true;
}

uint32_t Lowering::table(const std::vector<int32_t>& numbers) {
  const auto kept = std::make_shared<const std::vector<int32_t>>(numbers);
  const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(kept->data()), kept->size() * sizeof(int32_t));
  return constant_buffer(compiler::ConstantData(bytes, kept), DType::i32, static_cast<int64_t>(kept->size()));
}

uint32_t Lowering::constant_buffer(compiler::ConstantData data, DType dtype, Sym elements) {
  KernelBuffer buffer;
  buffer.kind = KernelBuffer::Kind::constant;
  buffer.constant = std::move(data);
  buffer.dtype = dtype;
  buffer.elements = std::move(elements);
  out_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(out_.buffers.size() - 1);
}

const JoinedLinears* Lowering::joined() const {
  const auto found = joined_.find(node_);
  return found == joined_.end() ? nullptr : found->second.get();
}

std::function<ExpressionPtr(ExpressionPtr)> Lowering::constant_elements(compiler::ConstantData data, DType dtype) {
  const Sym elements(static_cast<int64_t>(data.size_bytes() / dtype_size_bytes(dtype)));
  const uint32_t buffer = constant_buffer(std::move(data), dtype, elements);
  return [this, buffer, dtype](ExpressionPtr at) { return pool().load(buffer, dtype, at); };
}

void Lowering::finish_joined(Draft draft, const JoinedLinears& joined, const Indices& at, ExpressionPtr element) {
  const Value* const first = joined.members[0]->result();
  Sizes sizes = first->sizes();
  sizes.back() = 0;
  for (const Node* member : joined.members) sizes.back() = sizes.back() + member->result()->sizes().back();
  KernelBuffer all;
  all.dtype = first->dtype();
  all.elements = numel(sizes);
  out_.buffers.push_back(std::move(all));
  const auto buffer = static_cast<uint32_t>(out_.buffers.size() - 1);
  draft.kernel.row_stores.push_back({buffer, first->dtype(), join(at, sizes), element, nullptr});
  Sym offset = 0;
  for (const Node* member : joined.members) {
    set_stored(member->result(), buffer);
    Tensor& part = tensors_[member->result()];
    part.offset = offset;
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      part.strides[i] = 1;
      for (size_t inner = i + 1; inner < sizes.size(); ++inner) part.strides[i] = part.strides[i] * sizes[inner];
    }
    offset = offset + member->result()->sizes().back();
    draft.kernel.nodes.push_back(member);
    add_inlined(*member, draft.kernel);
  }
  draft.kernel.why = joined.why;
  emit(std::move(draft.kernel));
}

}  // namespace wick::cuda
