#include "runtime/firmware/caller_memory.h"

namespace wick {

Error check_memory(const char* name, Span<uint8_t> memory, uint64_t needed, uint32_t alignment, ErrorText& text) {
  if (needed == 0) return Error::Ok;
  const bool is_small = memory.size() < needed;
  if (!is_small && memory.data() && reinterpret_cast<uintptr_t>(memory.data()) % alignment == 0) return Error::Ok;
  const Error error = is_small ? Error::OutOfResources : Error::InvalidArgument;
  text.clear();
  text.append("the ", name, is_small ? " is too small [" : " is null or misaligned [", error_name(error), "]");
  return error;
}

}  // namespace wick
