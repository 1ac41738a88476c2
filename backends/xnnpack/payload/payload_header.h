// Fixed-position bytes of a payload around its FlatBuffers tables. Little-endian. C++17.
#pragma once
#include <stddef.h>

namespace wick::xnnpack {

// A zero u32, the magic (where tables have their identifier), u16 length, u32 flatbuffer_offset, u32 flatbuffer_size
// (unpadded), u32 constant_offset, u64 constant_size. Tables without it are older payloads.
constexpr char kHeaderMagic[] = "XH00";
constexpr char kIdentifier[] = "XN01";
constexpr char kOldIdentifier[] = "XN00";
constexpr size_t kHeaderLength = 30;
constexpr size_t kTablesOffset = 32;  // as written

}  // namespace wick::xnnpack
