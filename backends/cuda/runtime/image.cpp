#include "backends/cuda/runtime/image.h"

#include <string.h>

#include "common/checked.h"

namespace wick::cuda {
namespace {

// Positions of fields of ELF64, little-endian.
constexpr size_t kHeaderBytes = 64, kProgramEntryBytes = 56, kSectionEntryBytes = 64;
constexpr uint16_t kMachineCuda = 190;
constexpr uint32_t kSectionWithoutBytes = 8;

template <typename T>
T read(Span<const uint8_t> bytes, uint64_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Whether a table of `count` entries is inside the bytes. An absent table has no entries.
bool table_fits(Span<const uint8_t> bytes, uint64_t offset, uint16_t count, uint16_t entry, size_t wanted) {
  return count == 0 || (entry == wanted && range_fits(offset, uint64_t{count} * entry, bytes.size()));
}

bool sections_fit(Span<const uint8_t> bytes, uint64_t offset, uint16_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = offset + i * kSectionEntryBytes;
    if (read<uint32_t>(bytes, at + 4) == kSectionWithoutBytes) continue;
    if (!range_fits(read<uint64_t>(bytes, at + 24), read<uint64_t>(bytes, at + 32), bytes.size())) return false;
  }
  return true;
}

bool segments_fit(Span<const uint8_t> bytes, uint64_t offset, uint16_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = offset + i * kProgramEntryBytes;
    if (!range_fits(read<uint64_t>(bytes, at + 8), read<uint64_t>(bytes, at + 32), bytes.size())) return false;
  }
  return true;
}

}  // namespace

const char* check_cubin(Span<const uint8_t> bytes, uint32_t architecture) {
  constexpr uint8_t kStart[] = {0x7f, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little-endian */};
  if (bytes.size() < kHeaderBytes || memcmp(bytes.data(), kStart, sizeof kStart) != 0) return "it is no ELF file";
  if (read<uint16_t>(bytes, 18) != kMachineCuda) return "it is for another kind of machine";
  if ((read<uint32_t>(bytes, 48) >> 8 & 0xff) != architecture) return "it is for another architecture than stated";
  const uint64_t segments = read<uint64_t>(bytes, 32), sections = read<uint64_t>(bytes, 40);
  const uint16_t num_segments = read<uint16_t>(bytes, 56), num_sections = read<uint16_t>(bytes, 60);
  if (!table_fits(bytes, segments, num_segments, read<uint16_t>(bytes, 54), kProgramEntryBytes) ||
      !table_fits(bytes, sections, num_sections, read<uint16_t>(bytes, 58), kSectionEntryBytes)) {
    return "its tables lie outside it";
  }
  if (!sections_fit(bytes, sections, num_sections) || !segments_fit(bytes, segments, num_segments)) {
    return "a part of it lies outside it";
  }
  return nullptr;
}

const char* check_ptx(Span<const uint8_t> bytes) {
  if (bytes.empty()) return "it is empty";
  return memchr(bytes.data(), 0, bytes.size() - 1) ? "it is no text" : nullptr;
}

}  // namespace wick::cuda
