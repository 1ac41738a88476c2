// Corrects the bounds of the number of elements that a broadcasting mask selects.
#pragma once
#include <vector>

#include "compiler/import/program/exported_program.h"
#include "compiler/ir/sym/sym.h"

namespace wick::compiler {

/// The exporter bounds the number of elements that a mask selects by the number of elements of `self`, even where the
/// mask broadcasts `self` to more, and asserts that bound. Raises such bounds in `ranges` and returns the assertions,
/// which eager does not make.
std::vector<Sym> widen_mask_bounds(const pt2::Graph& graph, SymRanges& ranges);

}  // namespace wick::compiler
