// How the elements of a factor's tile get into shared memory. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {

enum class TileLoad : uint8_t {
  copies,    // asynchronous copies of 16 bytes, straight from global memory
  words,     // the same of 4 bytes: f32 elements that are not adjacent
  chunks,    // a thread computes 16 bytes at once, from vector loads, and holds them in registers
  elements,  // a thread computes single elements and holds them in registers while earlier tiles are multiplied
};

/// One factor of a sum of products, and the size of its tiles. A line is one index of the factor's rows (m or n), a
/// step one index of the sum (k). A tile has `lines` lines and `depth` steps.
struct TileFactor {
  const char* name = "";                     // suffix of the names of its tiles and of the functions that load them
  const char *line = "m", *step = "k";       // names of the linear numbers of a line and a step
  std::vector<Loop> line_loops, step_loops;  // the loops that these numbers count
  std::string step_end;                      // text of the step behind the last one; from there on steps are zeros
  ExpressionPtr element = nullptr;
  DType dtype = DType::f32;  // of elements in shared memory
  uint32_t lines = 0, depth = 0;
  // a row of the tile in memory is a line, with steps side by side; else it is a step, with lines side by side
  bool along_k = false;
  bool reads_norms = false;    // its elements depend on norms of their line
  bool spreads_steps = false;  // puts four steps of one line into different banks, as TF32 fragments read them
  bool is_swizzled = false;    // laid out as the instructions of a warpgroup read it
  TileLoad load = TileLoad::elements;

  bool is_copied() const { return load == TileLoad::copies || load == TileLoad::words; }
  uint32_t rows() const { return along_k ? lines : depth; }
  uint32_t width() const { return along_k ? depth : lines; }
  uint32_t chunk() const;     // elements in 16 bytes
  std::string size() const;   // of a tile in elements, as text
  std::string place() const;  // the vocabulary's function for the address of an element at a row and column of a tile
};

/// bf16 or f16 if each element is a value of this dtype; else f32.
DType bits_of_factor(ExpressionPtr factor);
/// Whether rows of the tile should be lines (`along_k`), judged by the factor's layout in memory.
bool lies_along_steps(const TileFactor& factor);
/// How to load the tiles, judged by the factor's layout in memory.
TileLoad choose_load(LoweredGraph& graph, const TileFactor& factor);

/// A writer of kernels that multiply tiles. It writes these functions into the text, here for a factor named m:
///   load_m(tile, line, step)   starts to fill a tile by copies. If elements are computed, there are instead
///   fetch_m(line, step)        which computes them into registers, and
///   keep_m(tile)               which writes them to shared memory.
class TileWriter : public KernelWriter {
 protected:
  using KernelWriter::KernelWriter;

  void write_loader(const TileFactor& factor, uint32_t threads);
  /// Calls of these functions: start_load() before the arithmetic of another tile, finish_load() after it.
  void start_load(const char* indent, const TileFactor& factor, const std::string& tile, const std::string& line,
                  const std::string& step);
  void finish_load(const char* indent, const TileFactor& factor, const std::string& tile);
  /// The address of tile number `slot` in a factor's ring.
  static std::string in_ring(const TileFactor& factor, const char* slot);

  Scope block_;

 private:
  Scope at_element(const TileFactor& factor);
  /// The condition under which a line and a step exist (tiles may extend past the last ones); "": always.
  std::string inside(const TileFactor& factor);
  std::string readable(Scope& scope, const TileFactor& factor);
  void begin_inside(const TileFactor& factor);
  void begin_loader(const std::string& head, uint32_t count, const char* unroll = "WICK_UNROLL");
  void write_chunks(const TileFactor& factor, uint32_t threads);
  void write_number(const TileFactor& factor, uint32_t threads, uint32_t unit);
  void write_place(const TileFactor& factor);
  void write_copies(const TileFactor& factor, uint32_t threads);
  void write_elements(const TileFactor& factor, uint32_t threads);
  void write_plain_element(const TileFactor& factor);
  void write_computed_element(const TileFactor& factor);
};

}  // namespace wick::cuda
