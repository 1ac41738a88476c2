// The text form of the IR, both ways.
//
//   graph forward(%x: f32[1, 3, s0, 8]) {
//     range s0: 2..1024
//     const %w: f32[16, 3, 3, 3] "conv.weight" = ...
//     state %count: i64[] "count" = [3]
//     %y: f32[1, 16, s0, 8] = aten.conv2d(%x, %w, none, [1, 1], [1, 1])  @ "conv" "model.py:3"
//     %z: i64[] = aten.add.Tensor(%count, 1)
//     update %count = %z
//     return %y
//   }
//
// Trailing arguments equal to the schema's default are left out, as is an overload "default". Constants of up to 16
// elements show their values; of larger ones the text keeps only the type ("= ..."), and reading gives zeros. Types are
// exact: a quantization shows all its scales and zero points. Delegates stand in front of the nodes, in the order of
// their numbers, each with the size of its payload in bytes: delegate "ID" 1024
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "compiler/ir/graph.h"

namespace wick::compiler {

struct PrintOptions {
  bool origins = true;               // the @ part
  size_t max_numbers = kAllNumbers;  // as in to_text(Type); with fewer, the text may not parse
};

std::string to_text(const Graph& graph, std::string_view name, const PrintOptions& options = {});
std::string to_text(const Node& node, const PrintOptions& options = {});
std::string to_text(const Arg& arg);

/// Reads one graph. Types of results are inferred. A type written in the text must agree with the inferred one, as in
/// verify(), and then replaces it: sizes that an exporter states may say more than inferred ones. A symbol may replace
/// an inferred number only if its range is that number. Errors: corrupt_file with line and column; sizes are bounded
/// (1e6 nodes, 1e8 bytes of constants).
Result<Function> parse_graph(std::string_view text);

/// Whether the ranks are equal, and all sizes that are constant in both. Symbolic sizes are not compared: one size may
/// be written in several ways.
bool sizes_agree(const Sizes& a, const Sizes& b);

/// Checks every invariant: names and uses, schema of each node, inferred types equal recorded ones, outputs and
/// updates. A violation is our bug, hence Code::internal, unless the graph came from text.
Status verify(const Graph& graph);

/// Whether sizes that the graph states as numbers also follow from the operands. An exporter may state a size that does
/// not hold for all accepted sizes. False if the arguments are not valid.
bool sizes_follow(const Node& node);

}  // namespace wick::compiler
