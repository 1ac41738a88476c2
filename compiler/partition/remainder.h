// Puts the part that a target took into the original graph; the rest of the graph stays as it was.
#pragma once
#include "compiler/ir/clone.h"
#include "compiler/partition/partition.h"

namespace wick::compiler {

/// `copy` is a clone of `graph` that was prepared by a target's passes and partitioned for that target alone. `sources`
/// comes from clone(), `taken` from the partition's report. Moves what the target took into `graph`, in place of the
/// nodes it was made from. All other nodes stay as they were, as if no pass of the target had run. If no node of
/// `graph` computes a value that the target's part or an output needs, the nodes of the copy that compute it come
/// along.
///
/// Returns false if that is not possible, because nodes that draw random numbers or whose sizes depend on data would
/// run twice or in a different order. `graph` is then unusable, and the copy is the remainder.
bool put_back(Graph& graph, const Graph& copy, const OriginMap& sources, const Taken& taken);

}  // namespace wick::compiler
