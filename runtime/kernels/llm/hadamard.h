// The Hadamard matrix of order 28. C++17, freestanding.
#pragma once

namespace wick {

/// Is the element of the matrix -1? Both indices are within [0, 28).
bool hadamard_28_is_negative(int row, int column);

}  // namespace wick
