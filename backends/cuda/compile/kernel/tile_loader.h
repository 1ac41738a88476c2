// How the elements of a factor's tile come to shared memory. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {

enum class TileLoad : uint8_t {
  copies,    // asynchronous copies of 16 bytes, straight from global memory
  words,     // the same of 4 bytes: elements of f32 that lie apart
  chunks,    // 16 bytes are computed at once, from vectors, and held in registers
  elements,  // computed one by one, held in registers while the tiles before are multiplied
};

/// One factor of a sum of products and its tiles: `lines` lines and `depth` steps of the sum.
struct TileFactor {
  const char* name = "";                     // of its tiles and of the functions that load them
  const char *line = "m", *step = "k";       // linear numbers of a line and a step
  std::vector<Loop> line_loops, step_loops;  // what these numbers count
  std::string step_end;                      // steps from here on are zeros
  ExpressionPtr element = nullptr;
  DType dtype = DType::f32;  // of elements in shared memory
  uint32_t lines = 0, depth = 0;
  bool along_k = false;        // rows of the tile are lines, neighbours along the steps; else rows are steps
  bool reads_norms = false;    // of its line
  bool spreads_steps = false;  // four steps of one line lie in different banks, as TF32 fragments read them
  bool is_swizzled = false;    // as a warpgroup's instructions read it
  TileLoad load = TileLoad::elements;

  bool is_copied() const { return load == TileLoad::copies || load == TileLoad::words; }
  uint32_t rows() const { return along_k ? lines : depth; }
  uint32_t width() const { return along_k ? depth : lines; }
  uint32_t chunk() const;     // elements in 16 bytes
  std::string size() const;   // of a tile in elements, as text
  std::string place() const;  // the function that finds an element at a row and column of a tile, as text
};

/// The dtype bf16 or f16 if the factor has no more bits than that, else f32.
DType bits_of_factor(ExpressionPtr factor);
/// Whether rows of its tile should be lines, by how the factor lies in memory.
bool lies_along_steps(const TileFactor& factor);
/// The way of loading, by how the factor lies in memory.
TileLoad choose_load(LoweredGraph& graph, const TileFactor& factor);

/// A writer of kernels that multiply tiles. Functions of the text, for a factor named m:
///   load_m(tile, line, step)   starts to fill a tile; or, if it is computed,
///   fetch_m(line, step)        computes its elements, and
///   keep_m(tile)               writes them to shared memory
class TileWriter : public KernelWriter {
 protected:
  using KernelWriter::KernelWriter;

  void write_loader(const TileFactor& factor, uint32_t threads);
  /// Calls of these functions. Before the arithmetic of another tile, and after it.
  void start_load(const char* indent, const TileFactor& factor, const std::string& tile, const std::string& line,
                  const std::string& step);
  void finish_load(const char* indent, const TileFactor& factor, const std::string& tile);
  /// Tile number `slot` of a factor's ring.
  static std::string in_ring(const TileFactor& factor, const char* slot);

  Scope block_;

 private:
  Scope at_element(const TileFactor& factor);
  /// The condition under which a line and a step are not behind the last ones; "": always.
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
