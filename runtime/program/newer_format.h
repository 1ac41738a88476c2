// Programs of a newer version of the format. Hosted runtimes ask; the core does not know.
#pragma once
#include "wick/program.h"

namespace wick {

/// The newest version of the tables that this runtime knows. Stock has never written another one, nor looks at it.
constexpr uint32_t kKnownProgramVersion = 0;

/// The version that the program states.
uint32_t program_version(const Program& program);

/// The name of a table with fields that this runtime does not know and that could change what the program computes;
/// null if there is none. Unknown fields of source lines and pytrees do not count.
const char* table_with_unknown_fields(const Program& program);

}  // namespace wick
