// Values that delegates of a device pass to each other without the host.
#pragma once
#include <vector>

#include "compiler/partition/dependences.h"
#include "compiler/partition/groups/group.h"

namespace wick::compiler {

/// Which delegate reads a value, if one does.
struct DeviceReaders {
  const std::vector<uint32_t>& unit;  // the delegate of each node, or kNoGroup
  const NodeIndex& index;
};

/// The results of a delegate's nodes that both other delegates and nodes outside or the caller read. Each becomes two
/// outputs, one for either side.
Values read_on_both_sides(const std::vector<Node*>& members, uint32_t unit, const DeviceReaders& readers);

/// Redirects the readers of `from` that lie in delegates to `to`.
void redirect_delegate_readers(Graph& graph, Value* from, Value* to, const DeviceReaders& readers);

}  // namespace wick::compiler
