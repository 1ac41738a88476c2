// The runtime's sources, embedded in the tool. Packages are made of them.
#pragma once
#include <cstddef>

#include "cli/package/source_text.h"

namespace wick::cli {

/// Sources and headers of the runtime and of all kernels, the headers of FlatBuffers that they include, and LICENSE.
/// Unpacked at the first call.
const SourceTree& embedded_sources();

// Made by the build.
extern const size_t kPackedSize, kUnpackedSize;
extern const unsigned char kPackedSources[];

}  // namespace wick::cli
