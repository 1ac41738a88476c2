// Compares a program on a device with the same program on the host, node by node.
#pragma once
#include "cli/call_options.h"
#include "cli/trace/node_trace.h"

namespace wick::cli {

/// Runs the program of `options` on the host, then on options.device, on the same inputs. The comparison's deviation is
/// the first instruction of the program whose results differ, or after which the device takes another path. Floats may
/// differ within `tolerance`, as between two hosts. Once floats have differed, later results may differ as far as
/// rounding flips move them. The first `max_bytes` of the host's results are kept; later results are not compared.
compiler::Result<Comparison> compare_on_device(const CallOptions& options, const Tolerance& tolerance,
                                               uint64_t max_bytes);

}  // namespace wick::cli
