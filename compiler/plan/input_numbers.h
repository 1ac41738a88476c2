// How a program uses the elements of a method's inputs. Tools that make random inputs ask for it.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

struct InputNumbers {
  std::vector<Sym> elements;  // for each in row-major order, the number with symbols that the program reads from it,
                              // else 0; [] if none
  Sym below = 0;              // the elements are indices below this size; 0: they are no indices
};

/// Follows views, selects, slices and conversions of an integer tensor. Nothing for other inputs.
InputNumbers numbers_in(const Value& input);

}  // namespace wick::compiler
