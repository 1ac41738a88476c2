// Fixed-position bytes of .pte and .ptd files around their FlatBuffers tables. Little-endian.
// C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace wick {
namespace schema {

constexpr size_t kIdentifierOffset = 4;  // after the root offset
constexpr size_t kIdentifierSize = 4;
constexpr char kProgramIdentifier[] = "ET12";
constexpr char kFlatTensorIdentifier[] = "FT01";
constexpr char kBundledProgramIdentifier[] = "BP08";

/// Where the extended header starts: right after the identifier.
constexpr size_t kHeaderOffset = 8;

// .pte: magic, u32 length, u64 program_size, u64 segment_base_offset [, u64 segment_data_size]; see ExtendedHeader.
constexpr char kProgramHeaderMagic[] = "eh00";
constexpr uint32_t kProgramHeaderMinLength = 24;
constexpr uint32_t kProgramHeaderLength = 32;

// .ptd: magic, u32 length, u64 flatbuffer_offset, u64 flatbuffer_size, u64 segment_base_offset, u64 segment_data_size.
constexpr char kFlatTensorHeaderMagic[] = "FH01";
constexpr uint32_t kFlatTensorHeaderLength = 40;

/// The smallest file a stock loader takes.
constexpr size_t kMinProgramFileSize = 64;
/// Alignment of the start of the file in memory.
constexpr size_t kFileAlignment = 16;

/// Name of the stack frame of an instruction that only fails; its context says what did not hold.
constexpr char kCheckFrame[] = "wick.check";

struct ExtendedHeader {
  uint32_t length;               // bytes from the magic on; larger than known is legal
  uint64_t program_size;         // FlatBuffers region from byte 0, header included
  uint64_t segment_base_offset;  // absolute; 0 if the file has no segments
  uint64_t segment_data_size;    // 0 in 24-byte headers
};

struct FlatTensorHeader {
  uint32_t length;
  uint64_t flatbuffer_offset;  // the padded header length
  uint64_t flatbuffer_size;    // before the header was inserted
  uint64_t segment_base_offset;
  uint64_t segment_data_size;
};

inline uint32_t read_u32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}
inline uint64_t read_u64(const uint8_t* p) { return read_u32(p) | static_cast<uint64_t>(read_u32(p + 4)) << 32; }

inline bool has_magic(const uint8_t* file, size_t size, size_t offset, const char* magic) {
  return size >= offset + 4 && memcmp(file + offset, magic, 4) == 0;
}

}  // namespace schema
}  // namespace wick
