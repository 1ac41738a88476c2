// The stored bytes of a program: equal contents are stored once, each aligned.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "compiler/emit/emit.h"

namespace wick::compiler {

class ConstantPool {
 public:
  /// Offset of `data` in the segment, a multiple of `alignment` (a power of two); stored now if no equal bytes are.
  uint64_t add(const ConstantData& data, uint64_t alignment = 16);
  /// Offset of stored bytes equal to these, at a multiple of `alignment`.
  std::optional<uint64_t> find(const ConstantData& data, uint64_t alignment) const;
  /// Index into offsets() for a position in the segment.
  uint32_t index_of(uint64_t offset);
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  uint64_t size_bytes() const { return pieces_.size_bytes; }
  /// Bytes of the entries, without padding.
  uint64_t data_bytes() const { return data_bytes_; }
  FilePieces& pieces() { return pieces_; }

 private:
  FilePieces pieces_;
  uint64_t data_bytes_ = 0;
  std::vector<uint64_t> offsets_{0};  // entry 0 is reserved by the format
  std::map<uint64_t, uint32_t> index_by_offset_;
  struct Entry {
    ConstantData data;
    uint64_t offset;
  };
  std::multimap<uint64_t, Entry> by_hash_;
  std::set<size_t> sizes_;  // of all entries: a constant of a new size is new, without a hash
};

}  // namespace wick::compiler
