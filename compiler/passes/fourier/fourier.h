// Discrete Fourier transforms of pairs along one dimension. C++20.
#pragma once
#include "compiler/passes/fourier/pair.h"
#include "compiler/passes/pass.h"

namespace wick::compiler {

/// y_k = scale * sum of x_j (cos - i sin)(2 pi j k / points), backward (cos + i sin), for the first `rows` of k. The
/// sum runs over the elements that the dimension has, which are `points` or fewer.
struct Fourier {
  size_t dim = 0;
  Sym rows, points;
  double scale = 1;
  bool forward = true;
};

/// Whether a transform of so many points becomes one of these:
///   - one matmul with a matrix of cosines and one of sines, of up to 512 points;
///   - such matmuls of the factors of its points, of up to TargetFacts::max_transform_points;
///   - with TargetFacts::takes_parts_of_complex, if points or their factors are not known or too large, matrices that
///     the program computes, or a convolution with a chirp (Bluestein), which is a transform of a power of two.
/// A SymScope with the graph's ranges is open.
bool becomes_matmuls(const Sym& points, const TargetFacts& facts);
/// Whether the transform needs one more dimension for intermediate values.
bool splits_dimension(const Sym& points);

Pair transformed(Builder& b, const Pair& x, const Fourier& fourier);
/// The real part of a backward transform. The first points / 2 + 1 elements of the spectrum are given; the others
/// mirror them.
Value* transformed_to_real(Builder& b, const Pair& x, const Fourier& fourier);

}  // namespace wick::compiler
