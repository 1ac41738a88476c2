#include "compiler/passes/passes.h"
namespace wick::compiler { Result<Changed> sink_transposes(Graph&) { return Changed::no; } }
