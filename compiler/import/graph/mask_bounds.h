// Bounds of selections by a mask that broadcasts.
#pragma once
#include <vector>

#include "compiler/import/program/exported_program.h"
#include "compiler/ir/sym/sym.h"

namespace wick::compiler {

/// The exporter bounds the elements that a mask selects by those of `self`, also where the mask broadcasts it to more,
/// and asserts that bound. Raises such bounds in `ranges` and returns the assertions, which eager does not make.
std::vector<Sym> widen_mask_bounds(const pt2::Graph& graph, SymRanges& ranges);

}  // namespace wick::compiler
