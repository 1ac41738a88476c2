// Internal to emit: where the segments of a program lie.
#pragma once
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/emit/file_pieces.h"

namespace wick::compiler {

constexpr uint64_t kSegmentAlignment = 128;

inline uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// Bytes from an offset on.
struct ByteRange {
  uint64_t offset, size;
  friend auto operator<=>(const ByteRange&, const ByteRange&) = default;
};

/// The segments of a program: the rows of its segment table, in the order of their offsets, and the bytes that they
/// describe. A row may be a range of another.
struct Segments {
  std::vector<ByteRange> rows;
  std::vector<std::pair<uint64_t, const FilePieces*>> pieces;  // by offset
  uint64_t end = 0;

  uint32_t count() const { return static_cast<uint32_t>(rows.size()); }
  uint64_t next_offset() const { return align_up(end, kSegmentAlignment); }
  void add(const FilePieces& bytes) {
    rows.push_back({next_offset(), bytes.size_bytes});
    add_unlisted(bytes);
  }
  void add_unlisted(const FilePieces& bytes) {
    pieces.emplace_back(next_offset(), &bytes);
    end = next_offset() + bytes.size_bytes;
  }
  void add_range(uint64_t base, uint64_t offset, uint64_t size) { rows.push_back({base + offset, size}); }
};

}  // namespace wick::compiler
