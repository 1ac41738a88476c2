// A program on a device beside the same program on the host, node by node, to the byte.
#pragma once
#include "cli/call_options.h"
#include "cli/trace/node_trace.h"

namespace wick::cli {

/// Runs the program of `options` on the host, then on options.device, on the same inputs. The comparison's deviation is
/// the first instruction of the program whose results have other bytes, or after which the device takes another path.
/// Of the host's results the first `max_bytes` are kept; later ones are not compared.
compiler::Result<Comparison> compare_on_device(const CallOptions& options, uint64_t max_bytes);

}  // namespace wick::cli
