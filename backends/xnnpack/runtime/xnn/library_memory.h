// Memory for the library. Touching memory for the first time is a large part of loading. So memory that is needed in
// many pieces and kept together lies in huge pages, if the system has them. C++17.
#pragma once
#include <xnnpack.h>

#include <memory>
#include <vector>

#include "runtime/platform/memory.h"

namespace wick::xnnpack {

/// Part of a larger piece of memory, which lives as long as one of its blocks.
struct Block {
  void* data = nullptr;  // aligned to 64 bytes, zeroed; null: there is no memory
  size_t size_bytes = 0;
  std::shared_ptr<Mapping> piece;
};

/// Cuts blocks out of large pieces. One thread at a time.
class BlockSource {
 public:
  /// About how many bytes will be taken: pieces are not larger, unless one block is.
  explicit BlockSource(size_t expected_bytes) : expected_bytes_(expected_bytes) {}
  Block take(size_t size_bytes);
  /// Ends taking blocks: the rest of the last piece leaves memory.
  void trim();

 private:
  std::shared_ptr<Mapping> piece_;
  size_t used_bytes_ = 0;  // of the piece
  size_t expected_bytes_;
};

/// Memory for what lives as long as one graph of the library.
class Arena {
 public:
  /// In whole huge pages; what is left of them at the end goes with `trim`.
  explicit Arena(size_t expected_bytes)
      : source_((expected_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes) {}
  void* take(size_t size_bytes);
  void trim() { source_.trim(); }

 private:
  BlockSource source_;
  std::vector<std::shared_ptr<Mapping>> pieces_;  // of the blocks
};

/// While it lives, what the library allocates on this thread comes from `arena` (null: from the heap) and stays valid
/// as long as that, freed or not.
class ArenaScope {
 public:
  explicit ArenaScope(Arena* arena);
  ~ArenaScope();
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena* before_;
};

/// For xnn_initialize. Any thread.
const xnn_allocator& library_allocator();

}  // namespace wick::xnnpack
