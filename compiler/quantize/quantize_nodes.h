// Reads the nodes that quantize and dequantize, of all families that exporters write. C++20.
#pragma once
#include <memory>
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ir/quantization.h"

namespace wick::compiler {

enum class Conversion : uint8_t {
  choose,      // computes scale and zero point from numbers
  quantize,    // turns numbers into elements
  dequantize,  // turns elements into numbers
};

/// How an operator converts, read from its row. The first argument, "input", is the tensor.
struct ConversionForm {
  Conversion conversion = Conversion::choose;
  Quantization::Family family = Quantization::Family::decomposed;
  enum class Blocks : uint8_t { whole, channel, group, row, stated } blocks = Blocks::whole;
  std::string_view scale = {}, zero = {};  // names of the arguments; choose: empty, it returns them as results 0 and 1
  std::string_view dtype = {};             // dequantize: name of the argument for the dtype of the numbers
};

/// The form of a node that converts; null for all others.
const ConversionForm* conversion_of(const Node& node);
inline bool converts(const Node& node, Conversion conversion) {
  const ConversionForm* form = conversion_of(node);
  return form && form->conversion == conversion;
}

/// The quantization of the elements that a quantize node produces or a dequantize node reads. Null for other nodes, and
/// if a parameter is known only at run time or is invalid (refuse_quantization).
std::shared_ptr<const Quantization> stated_quantization(const Node& node);

/// A constant of integers and its quantization.
struct StoredConstant {
  const Value* elements = nullptr;
  std::shared_ptr<const Quantization> quantization;
};

/// The integers behind a value: the value itself if it is a constant, or the constant that a node dequantizes to it.
/// Empty for other values, and if a parameter is known only at run time or is invalid.
std::optional<StoredConstant> stored_constant(const Value& value);

/// The types of the quantized values that a node reads and gives: "i8[4]q(scale=0.5, zero=3) -> f32[4]". For a node
/// that quantizes or dequantizes, the types that it states. Lists of more than 4 numbers are "[...]". "" if nothing is
/// quantized.
std::string quantization_text(const Node& node);

/// Quantization at run time: (scale, zero) = choose(x); q = quantize(x, scale, zero); dq = dequantize(q, scale, zero)
struct QuantizationChain {
  Node *choose = nullptr, *quantize = nullptr, *dequantize = nullptr;
  Value* x = nullptr;
  bool symmetric = false;  // the zero points are 0
  bool by_rows = false;    // each row along the last dimension has parameters of its own; else the tensor has one pair
};

/// The chain to int8 that `node` is part of. Empty for other nodes.
std::optional<QuantizationChain> quantization_chain(const Node& node);

}  // namespace wick::compiler
