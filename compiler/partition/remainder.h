// What a target leaves of a graph: the graph as it was, with the target's part in place.
#pragma once
#include "compiler/ir/clone.h"
#include "compiler/partition/partition.h"

namespace wick::compiler {

/// `copy` is a clone of `graph` that the passes of a target have prepared and that was partitioned for it alone;
/// `sources` comes from clone(), `taken` from the partition's report. Moves what the target took into `graph`, in place
/// of the nodes it was made from. All others stay as they were, as if nobody had prepared anything. Where no node of
/// `graph` computes what the target's part or an output needs, the nodes of the copy that do come along.
///
/// Returns false, with `graph` in no state to be used, where that is not possible: nodes that draw random numbers or
/// whose sizes depend on data would have to run twice or change their order. The copy is then the remainder.
bool put_back(Graph& graph, const Graph& copy, const OriginMap& sources, const Taken& taken);

}  // namespace wick::compiler
