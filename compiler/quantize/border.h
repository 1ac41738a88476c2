// The border of a quantized model: whether its caller passes and gets real numbers or quantized elements. C++20.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/quantization.h"

namespace wick::compiler {

/// The form of those inputs and outputs of a method that are quantized.
struct Border {
  enum class Kind : uint8_t { as_exported, real, elements } kind = Kind::as_exported;
  std::optional<DType> dtype;  // elements: the dtype that they must have; none: any
};

/// "", "float", "integer", "int8", "uint8" or "int16"; nullopt for another word.
std::optional<Border> border_of(std::string_view word);
std::string to_text(const Border& border);

/// Moves the conversions at the border out of the graph or into it.
///   elements: before: q = quantize(x, s, z); .. return dequantize(p, u, v)    after: q is the input; return p
///   real:     before: d = dequantize(q, s, z); .. return p: i8                after: q = quantize(x, s, z); return
///   dequantize(p)
/// Views between an input and its quantize node, or a dequantize node and an output, move elements instead. Integers
/// that stand for no real numbers (indices, masks) stay; so do inputs that nothing reads. Keeps: every value inside.
/// Errors: unsupported_model, naming every input and output that is not quantized there with one scale, or not as
/// `dtype`; `method` is its name in the message.
Status set_border(Graph& graph, const Border& border, std::string_view method);

/// For each input and output, the quantization of its elements. For real numbers, the one that an input is quantized to
/// first or that an output was dequantized from last. Null if it is unknown or has more than one scale.
struct BorderQuantization {
  std::vector<std::shared_ptr<const Quantization>> inputs, outputs;
};
BorderQuantization border_quantization(Graph& graph);

}  // namespace wick::compiler
