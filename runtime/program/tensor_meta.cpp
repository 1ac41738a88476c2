#include "runtime/program/reader.h"
#include "runtime/program/tensor_layout.h"

namespace wick {
namespace {

/// The alignment of elements in files and arenas.
size_t alignment_of(DType dtype) {
  const size_t bytes = dtype_size_bytes(dtype);
  return bytes < 8 ? bytes : 8;
}

/// The sub-range of a segment that starts at offsets[index].
Error read_subsegment(const FileView& view, const pte::SubsegmentOffsets& list, uint32_t index, size_t nbytes,
                      Span<const uint8_t>* bytes, const char** why) {
  if (index >= size_of(list.offsets())) return *why = "data index out of range", Error::InvalidArgument;
  if (list.segment_index() >= size_of(view.root->segments())) {
    return *why = "data segment index out of range", Error::InvalidProgram;
  }
  const Span<const uint8_t> segment = segment_bytes(view, list.segment_index());
  const uint64_t offset = list.offsets()->Get(index);
  if (offset > segment.size() || nbytes > segment.size() - offset) {
    return *why = "data beyond its segment", Error::InvalidArgument;
  }
  *bytes = segment.subspan(static_cast<size_t>(offset), nbytes);
  return Error::Ok;
}

Error read_constant(const FileView& view, uint32_t index, TensorMeta* meta, const char** why) {
  const pte::SubsegmentOffsets* constants = view.root->constant_segment();
  if (size_of(constants ? constants->offsets() : nullptr) > 0) {
    const Error error = read_subsegment(view, *constants, index, meta->nbytes, &meta->bytes, why);
    if (error != Error::Ok) return error;
  } else {
    const auto* buffers = view.root->constant_buffer();
    if (index >= size_of(buffers)) return *why = "constant index out of range", Error::InvalidArgument;
    const Span<const uint8_t> storage = span_of(buffers->Get(index)->storage());
    if (storage.size() < meta->nbytes) return *why = "constant shorter than its tensor", Error::InvalidArgument;
    meta->bytes = storage.subspan(0, meta->nbytes);
  }
  const size_t alignment = alignment_of(meta->dtype);
  if (reinterpret_cast<uintptr_t>(meta->bytes.data()) % alignment != 0) {
    return *why = "constant not aligned to its element size", Error::InvalidProgram;
  }
  return Error::Ok;
}

void read_extra(const pte::Tensor& tensor, TensorMeta* meta) {
  const pte::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  if (!extra) return;
  if (extra->fully_qualified_name()) meta->name = extra->fully_qualified_name()->c_str();
  meta->external = extra->location() == pte::TensorDataLocation::EXTERNAL;
  meta->device_type = static_cast<uint8_t>(extra->device_type());
  meta->device_index = extra->device_index();
}

Error read_planned(const FileView& view, const pte::Tensor& tensor, TensorMeta* meta, const char** why) {
  const pte::AllocationDetails& place = *tensor.allocation_info();
  meta->storage = Storage::planned;
  if (place.memory_id() == 0) return *why = "memory id 0", Error::InvalidArgument;
  meta->arena = place.memory_id() - 1;
  meta->arena_offset = static_cast<uint64_t>(place.memory_offset_high()) << 32 | place.memory_offset_low();
  const size_t alignment = alignment_of(meta->dtype);
  if (meta->arena_offset % alignment != 0) return *why = "arena offset not aligned", Error::InvalidProgram;
  meta->initialized = meta->external || tensor.data_buffer_idx() != 0;
  if (!meta->initialized || meta->external) return Error::Ok;
  const auto* segments = view.root->mutable_data_segments();
  if (size_of(segments) == 0) return *why = "the program has no mutable data", Error::NotFound;
  return read_subsegment(view, *segments->Get(0), tensor.data_buffer_idx(), meta->nbytes, &meta->bytes, why);
}

/// The tensor gets memory when it gets a shape, so it starts without elements: a size without a bound is stated as 0.
Error read_unbounded(const pte::Tensor& tensor, TensorMeta* meta, const char** why) {
  meta->dynamism = ShapeDynamism::unbounded;
  read_extra(tensor, meta);
  if (tensor.allocation_info()) return *why = "unbounded, but planned", Error::InvalidProgram;
  if (meta->external || tensor.data_buffer_idx() != 0)
    return *why = "unbounded, but with stored bytes", Error::InvalidProgram;
  if (meta->numel != 0) return *why = "unbounded, but with elements at its stated sizes", Error::NotSupported;
  return Error::Ok;
}

}  // namespace

bool measure_shape(TensorMeta* meta, const char** why) {
  const size_t element_bytes = dtype_size_bytes(meta->dtype);
  if (element_bytes == 0) return *why = "unknown dtype", false;
  const size_t rank = meta->sizes.size();
  if (rank > kMaxRank) return *why = "rank above 16", false;
  if (meta->dim_order.size() != rank) return *why = "dim order and sizes differ in length", false;

  // The tensor is only used for this check; sizes are not written.
  int32_t strides[kMaxRank];
  Tensor layout;
  layout.dtype = meta->dtype;
  layout.rank = static_cast<uint8_t>(rank);
  layout.sizes = const_cast<int32_t*>(meta->sizes.data());
  layout.strides = strides;
  layout.dim_order = meta->dim_order.data();
  if (compute_layout(layout) != Error::Ok) return *why = "bad size, 2^31 elements or more, or bad dim order", false;
  meta->numel = layout.numel;
  if (meta->numel > (SIZE_MAX / 2) / element_bytes) return *why = "too many bytes", false;
  meta->nbytes = meta->numel * element_bytes;
  return true;
}

Error read_tensor(const FileView& view, const pte::Tensor& tensor, TensorMeta* meta, const char** why) {
  *why = "";
  if (!tensor.sizes() || !tensor.dim_order()) return *why = "sizes or dim order are missing", Error::InvalidProgram;
  meta->dtype = static_cast<DType>(tensor.scalar_type());
  meta->sizes = span_of(tensor.sizes());
  meta->dim_order = span_of(tensor.dim_order());
  if (!measure_shape(meta, why)) return Error::InvalidProgram;
  if (tensor.storage_offset() != 0) return *why = "storage offset is not 0", Error::NotSupported;
  if (tensor.layout() != 0) return *why = "layout is not strided", Error::NotSupported;
  switch (tensor.shape_dynamism()) {
    case pte::ShapeDynamism::STATIC: meta->dynamism = ShapeDynamism::fixed; break;
    case pte::ShapeDynamism::DYNAMIC_BOUND: meta->dynamism = ShapeDynamism::upper_bound; break;
    case pte::ShapeDynamism::DYNAMIC_UNBOUND: return read_unbounded(tensor, meta, why);
    default: return *why = "unknown shape dynamism", Error::InvalidProgram;
  }
  read_extra(tensor, meta);
  if (meta->external && !meta->name) return *why = "external without a name", Error::InvalidExternalData;
  if (tensor.allocation_info()) return read_planned(view, tensor, meta, why);
  if (meta->external) {
    meta->storage = Storage::constant;
    return Error::Ok;
  }
  if (tensor.data_buffer_idx() == 0) return Error::Ok;
  meta->storage = Storage::constant;
  return read_constant(view, tensor.data_buffer_idx(), meta, why);
}

Error describe_tensor(const TensorMeta& meta, int32_t* sizes, int32_t* strides, Tensor* tensor) {
  tensor->dtype = meta.dtype;
  tensor->rank = static_cast<uint8_t>(meta.sizes.size());
  tensor->sizes = sizes;
  tensor->strides = strides;
  tensor->dim_order = meta.dim_order.data();
  for (size_t d = 0; d < meta.sizes.size(); ++d) sizes[d] = meta.sizes[d];
  return compute_layout(*tensor);
}

}  // namespace wick
