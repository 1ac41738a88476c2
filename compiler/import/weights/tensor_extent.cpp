#include "compiler/import/weights/tensor_extent.h"

#include <fmt/format.h>

#include "common/checked.h"
#include "compiler/import/damage.h"

namespace wick::compiler::pt2 {

Status check_extent(const Payload& tensor, uint64_t* expanded) {
  const uint64_t element_bytes = dtype_size_bytes(tensor.dtype);
  const uint64_t stored = tensor.bytes.size();
  uint64_t numel = 1, last = static_cast<uint64_t>(tensor.storage_offset), logical = 0, needed = 0;
  bool fits = true, empty = false;
  for (const int64_t size : tensor.sizes) empty |= size == 0;
  for (size_t i = 0; i < tensor.sizes.size() && !empty; ++i) {
    const uint64_t size = static_cast<uint64_t>(tensor.sizes[i]);
    uint64_t reach = 0;
    fits = fits && checked_mul<uint64_t>(numel, size, &numel) &&
           checked_mul<uint64_t>(size - 1, static_cast<uint64_t>(tensor.strides[i]), &reach) &&
           checked_add<uint64_t>(last, reach, &last);
  }
  if (empty) return {};
  fits = fits && checked_mul<uint64_t>(numel, element_bytes, &logical) && checked_add<uint64_t>(last, 1, &needed) &&
         checked_mul<uint64_t>(needed, element_bytes, &needed);
  if (!fits) return corrupt("the tensor is larger than 64 bits can count");
  if (stored == 0) {
    return Diag(Code::unsupported_model,
                "the tensor has no data (it was exported from the meta device or as a fake tensor)")
        .with_help("give the model real weights before export");
  }
  if (stored % element_bytes != 0) {
    return corrupt(fmt::format("{} has {} bytes, which is not a whole number of {} elements",
                               printable(tensor.path_name), stored, dtype_name(tensor.dtype)));
  }
  if (needed > stored) {
    return corrupt("the tensor reaches past the end of its data")
        .expected(fmt::format("{} bytes in {}", stored, printable(tensor.path_name)),
                  fmt::format("at least {} bytes", needed));
  }
  *expanded = logical > stored ? logical - stored : 0;
  return {};
}

}  // namespace wick::compiler::pt2
