// A program on a device beside the same program on the host, node by node.
#pragma once
#include "cli/call_options.h"
#include "cli/trace/node_trace.h"

namespace wick::cli {

/// Runs the program of `options` on the host, then on options.device, on the same inputs. The comparison's deviation is
/// the first instruction of the program whose results differ, or after which the device takes another path. Floats may
/// differ within `tolerance`, as those of two hosts do; from then on other results by what roundings of quantized
/// values that could go either way make of them. Of the host's results the first `max_bytes` are kept; later ones are
/// not compared.
compiler::Result<Comparison> compare_on_device(const CallOptions& options, const Tolerance& tolerance,
                                               uint64_t max_bytes);

}  // namespace wick::cli
