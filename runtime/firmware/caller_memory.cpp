#include "runtime/firmware/caller_memory.h"

namespace wick {

Error check_memory(const char* name, Span<uint8_t> memory, uint64_t needed, uint32_t alignment, ErrorText& text) {
  if (needed == 0) return Error::Ok;
  text.clear();
  if (memory.size() < needed) {
    text.append("the ", name, " is too small: ", static_cast<uint64_t>(memory.size()), " bytes, needs ", needed);
    return Error::OutOfResources;
  }
  if (!memory.data()) {
    text.append("the ", name, " is null");
    return Error::InvalidArgument;
  }
  if (reinterpret_cast<uintptr_t>(memory.data()) % alignment != 0) {
    text.append("the ", name, " is not ", alignment, "-byte aligned");
    return Error::InvalidArgument;
  }
  return Error::Ok;
}

}  // namespace wick
