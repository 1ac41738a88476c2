#include "wick/tensor.h"

#include "wick/tensor_memory.h"

namespace wick {
namespace {

constexpr uint64_t kNumelLimit = uint64_t{1} << 31;

/// The number of elements of a tensor of these sizes, and the same number with sizes of 0 counted as 1 (from which
/// strides are made). False if a size is negative or the second number reaches 2^31.
bool count_elements(Span<const int32_t> sizes, uint64_t* numel, uint64_t* extent) {
  *numel = 1;
  *extent = 1;
  for (int32_t size : sizes) {
    if (size < 0) return false;
    *numel *= static_cast<uint64_t>(size);
    *extent *= size == 0 ? 1 : static_cast<uint64_t>(size);
    if (*extent >= kNumelLimit) return false;
  }
  return true;
}

bool is_permutation(const uint8_t* dim_order, size_t rank) {
  uint32_t seen = 0;
  for (size_t k = 0; k < rank; ++k) {
    if (dim_order[k] >= rank || (seen >> dim_order[k] & 1)) return false;
    seen |= 1u << dim_order[k];
  }
  return true;
}

void write_strides(Tensor& tensor) {
  int32_t stride = 1;
  for (size_t k = tensor.rank; k-- > 0;) {
    const uint8_t dim = tensor.dim_order[k];
    tensor.strides[dim] = stride;
    if (tensor.sizes[dim] > 1) stride *= tensor.sizes[dim];
  }
}

}  // namespace

Error compute_layout(Tensor& tensor) {
  uint64_t numel;
  uint64_t extent;
  if (tensor.rank > kMaxRank || !count_elements(tensor.shape(), &numel, &extent)) return Error::InvalidProgram;
  if (!is_permutation(tensor.dim_order, tensor.rank)) return Error::InvalidProgram;
  tensor.numel = static_cast<size_t>(numel);
  write_strides(tensor);
  return Error::Ok;
}

Error resize(Tensor& tensor, Span<const int32_t> sizes) {
  if (sizes.size() != tensor.rank) return Error::NotSupported;
  size_t agreeing = 0;
  while (agreeing < sizes.size() && sizes[agreeing] == tensor.sizes[agreeing]) ++agreeing;
  if (agreeing == sizes.size()) return Error::Ok;
  if (tensor.dynamism == ShapeDynamism::fixed) return Error::NotSupported;
  uint64_t numel;
  uint64_t extent;
  if (!count_elements(sizes, &numel, &extent)) return Error::OutOfResources;
  const size_t element_bytes = dtype_size_bytes(tensor.dtype);
  if (element_bytes == 0) return Error::OutOfResources;
  if (numel > tensor.capacity_bytes / element_bytes) {
    if (tensor.dynamism != ShapeDynamism::unbounded || numel > SIZE_MAX / element_bytes) return Error::OutOfResources;
    auto& unbounded = static_cast<UnboundedTensor&>(tensor);
    if (!unbounded.memory->grow(unbounded, static_cast<size_t>(numel) * element_bytes))
      return Error::MemoryAllocationFailed;
  }
  for (size_t i = 0; i < sizes.size(); ++i) tensor.sizes[i] = sizes[i];
  tensor.numel = static_cast<size_t>(numel);
  write_strides(tensor);
  return Error::Ok;
}

bool is_contiguous(const Tensor& tensor) {
  if (tensor.numel <= 1) return true;
  int32_t stride = 1;
  for (size_t dim = tensor.rank; dim-- > 0;) {
    if (tensor.sizes[dim] == 1) continue;
    if (tensor.strides[dim] != stride) return false;
    stride *= tensor.sizes[dim];
  }
  return true;
}

bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  for (size_t dim = 0; dim < a.rank; ++dim) {
    if (a.sizes[dim] != b.sizes[dim]) return false;
    if (a.numel > 1 && a.sizes[dim] > 1 && a.strides[dim] != b.strides[dim]) return false;
  }
  return true;
}

}  // namespace wick
