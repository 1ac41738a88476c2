// Constants of nothing but zero bytes. C++20.
#pragma once
#include <algorithm>

#include "compiler/ir/constant_data.h"

namespace wick::compiler {

/// Whether all bytes are 0, if there are any. Keeps nothing, and stops at the first part with another byte.
inline bool is_zero(const ConstantData& data) {
  const auto visit = [](Span<const uint8_t> part) -> Status {
    const bool zero = std::all_of(part.begin(), part.end(), [](uint8_t byte) { return byte == 0; });
    return zero ? Status() : Diag(Code::internal, "another byte");
  };
  return data.for_each_part(visit).ok();
}

}  // namespace wick::compiler
