// The border of a quantized model: inputs and outputs are to its caller real numbers, or the elements. C++20.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/quantization.h"

namespace wick::compiler {

/// How a method takes and gives what is quantized at its border.
struct Border {
  enum class Kind : uint8_t { as_exported, real, elements } kind = Kind::as_exported;
  std::optional<DType> dtype;  // elements: what they have to be; none: any
};

/// "", "float", "integer", "int8", "uint8" or "int16"; nullopt for another word.
std::optional<Border> border_of(std::string_view word);
std::string to_text(const Border& border);

/// Moves the border.
///   elements: before: q = quantize(x, s, z); .. return dequantize(p, u, v)    after: q is the input; return p
///   real:     before: d = dequantize(q, s, z); .. return p: i8                after: q = quantize(x, s, z); return
///   dequantize(p)
/// Views between an input and its quantize node, or a dequantize node and an output, move elements instead. Integers
/// that stand for no real numbers (indices, masks) stay; so do inputs that nothing reads. Keeps: every value inside.
/// Errors: unsupported_model, naming every input and output that is not quantized there with one scale, or not as
/// `dtype`; `method` is its name in the message.
Status set_border(Graph& graph, const Border& border, std::string_view method);

/// For each input and output: what its elements stand for; of real numbers, what they are quantized to first or were
/// dequantized from last. Null where nothing is known, or there is more than one scale.
struct BorderQuantization {
  std::vector<std::shared_ptr<const Quantization>> inputs, outputs;
};
BorderQuantization border_quantization(Graph& graph);

}  // namespace wick::compiler
