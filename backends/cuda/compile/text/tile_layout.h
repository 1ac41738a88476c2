// Kernel vocabulary: layouts of tiles in shared memory. It is arithmetic alone, so that tests can include it.
namespace wick_text {
namespace {

/// The chunks of 16 bytes that a row occupies if it has `chunks` chunks of elements. Rows are padded if this number is
/// even, except for 2, 4 and multiples of 8.
WICK_FUNCTION constexpr u32 row_chunks(u32 chunks) {
  return chunks % 8 == 0 || chunks % 2 != 0 || chunks == 2 || chunks == 4 ? chunks : chunks + 1;
}
/// The chunks that a tile occupies.
WICK_FUNCTION constexpr u32 tile_chunks(u32 rows, u32 chunks) { return rows * row_chunks(chunks); }

/// The place of chunk `chunk` of row `row`, in chunks, if a row has kChunks chunks. The chunks with one number in 8
/// rows that begin at a multiple of 8 lie in different banks.
template <u32 kChunks>
WICK_FUNCTION constexpr u32 chunk_place(u32 row, u32 chunk) {
  if (kChunks % 8 == 0) return row * kChunks + (chunk ^ row % 8);
  if (kChunks == 2 || kChunks == 4) return row * kChunks + (chunk ^ row / (8 / kChunks) % kChunks);
  return row * row_chunks(kChunks) + chunk;
}

/// The same for chunks of four elements that are read one by one: the elements of two neighbouring chunks in four rows
/// that begin at a multiple of 4 lie in different banks. kChunks: a multiple of 8.
template <u32 kChunks>
WICK_FUNCTION constexpr u32 spread_chunk_place(u32 row, u32 chunk) {
  return row * kChunks + (chunk ^ row % 4 * 2);
}

/// The place of a 16-bit element in a tile of kRows rows that instructions of a warpgroup read: blocks of 64 columns,
/// whose rows are 8 chunks each, placed by chunk_place().
template <u32 kRows>
WICK_FUNCTION constexpr u32 swizzled_place(u32 row, u32 column) {
  return column / 64 * kRows * 64 + chunk_place<8>(row, column % 64 / 8) * 8 + column % 8;
}

/// The i-th line of thread `own` among kThreads that share a tile. Along k, neighbouring threads have neighbouring
/// lines. Otherwise a thread has four neighbouring lines, then the next threads.
template <u32 kThreads, bool kAlongK>
WICK_FUNCTION constexpr u32 line_of_thread(u32 own, u32 i) {
  return kAlongK ? own + i * kThreads : (i / 4 * kThreads + own) * 4 + i % 4;
}

}  // namespace
}  // namespace wick_text
