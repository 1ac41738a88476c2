// What the elements of a method's inputs are to the program. Tools that make random inputs ask for it.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

struct InputNumbers {
  std::vector<Sym> elements;  // in row-major order: the number with symbols that the program reads, else 0; [] if none
  Sym below = 0;              // the elements are indices into so many; 0: they are no indices
};

/// Through views, selects, slices and conversions. Of a tensor of integers; of others: nothing.
InputNumbers numbers_in(const Value& input);

}  // namespace wick::compiler
