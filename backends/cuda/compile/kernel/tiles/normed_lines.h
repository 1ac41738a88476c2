// Matmuls in which the lines of one factor are normed, such as a layer norm before a linear layer. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/tile_loader.h"

namespace wick::cuda {

/// A writer of kernels that multiply tiles of two factors. The elements of one factor may depend on norms of their
/// line, which are the kernel's reductions before the last one.
class NormedLineWriter : public TileWriter {
 protected:
  using TileWriter::TileWriter;

  size_t num_norms() const { return kernel_.reductions.size() - 1; }
  /// Hoists parts of the factor's element into values per line (numbers_): the largest f32 subexpressions that read a
  /// norm and do not depend on the step, such as a mean. The element then reads value i as reduction number
  /// kernel_.reductions.size() + i.
  void hoist_values_of_lines(TileFactor& factor);
  /// Writes the values of the tile's lines, as norm0, norm1 .., to shared memory before the loaders that read them.
  void write_norms(const TileFactor& factor, uint32_t threads);
  /// Whether write_panel() can write this factor.
  static bool fits_panel(const TileFactor& factor);
  /// Writes the normed elements of the tile's lines to shared memory: `width` steps from k_begin on.
  void write_panel(const TileFactor& factor, uint32_t width, uint32_t threads);
  /// The text of a norm's result, or of a value per line.
  std::string norm_text(ExpressionPtr reduced, const TileFactor& factor) const;

  const TileFactor* panel_ = nullptr;   // the factor whose steps all stay in shared memory; null: none
  std::vector<ExpressionPtr> numbers_;  // values for each line of the normed factor

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
