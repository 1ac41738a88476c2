// Norms of the lines of one factor of a product, such as those of a layer norm before a linear layer. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/tile_loader.h"

namespace wick::cuda {

/// A writer of kernels that multiply tiles of two factors. The elements of one of them may depend on norms of their
/// line: the kernel's reductions before the last one.
class NormedLineWriter : public TileWriter {
 protected:
  using TileWriter::TileWriter;

  size_t num_norms() const { return kernel_.reductions.size() - 1; }
  /// Takes out the largest parts of the element that norms and the line alone decide, such as a mean: numbers_, which
  /// the element reads as results behind the kernel's own.
  void take_out_numbers_of_lines(TileFactor& factor);
  /// Writes the numbers norm0, norm1 .. of the tile's lines to shared memory, ahead of loaders that read them.
  void write_norms(const TileFactor& factor, uint32_t threads);
  /// Whether write_panel() can write the factor.
  static bool fits_panel(const TileFactor& factor);
  /// Writes the tile's lines, normed, to shared memory: `width` steps from k_begin on.
  void write_panel(const TileFactor& factor, uint32_t width, uint32_t threads);
  /// What a norm's result, or a number of a line, is called where it is read.
  std::string norm_text(ExpressionPtr reduced, const TileFactor& factor) const;

  const TileFactor* panel_ = nullptr;   // the factor whose steps all stay in shared memory
  std::vector<ExpressionPtr> numbers_;  // of each line of the normed factor

 private:
  static bool reads_norm(ExpressionPtr expression);
  bool mentions_step(ExpressionPtr expression) const;
  Scope begin_line(const TileFactor& factor);
  void hold_loads(Scope& line, const TileFactor& factor);
  void begin_steps(Scope& line, const char* name, const Sym& steps, uint32_t count);
  void write_norm(Scope& line, size_t index);

  bool in_norms_ = false;
};

}  // namespace wick::cuda
