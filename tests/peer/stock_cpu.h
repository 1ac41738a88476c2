// Which instruction sets the stock runtime's kernels may use. Its libraries choose kernels by a table of features that
// one of them exports, as soon as they are loaded. WICK_CPU limits it: what is cleared there they do not use.
#pragma once
#include <string>

namespace wick::peer {

/// Why stock does not heed WICK_CPU: its table must have the known size and say of this processor what the compiler's
/// library says. "" if it does.
std::string stock_cpu_problem();

/// The instruction sets that stock's kernels use: "ssse3 sse4.1 avx ..", "baseline", or "unknown".
std::string stock_features();

}  // namespace wick::peer
