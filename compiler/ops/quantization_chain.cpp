#include "compiler/ops/quantization_chain.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace wick::compiler {
namespace {

// One row for each family.
struct Names {
  std::string_view choose, quantize, dequantize;
};
constexpr Names kFamilies[] = {
    {"quantized_decomposed.choose_qparams.tensor", "quantized_decomposed.quantize_per_tensor.tensor",
     "quantized_decomposed.dequantize_per_tensor.tensor"},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     "quantized_decomposed.quantize_per_token.default", "quantized_decomposed.dequantize_per_token.default"},
    {"torchao.choose_qparams_affine.default", "torchao.quantize_affine.default", "torchao.dequantize_affine.default"},
};

bool has(const Node& node, std::string_view name) { return node.op->parsed->find(name) >= 0; }

Value* value_at(const Node& node, std::string_view name, std::string_view plural) {
  const Arg& arg = node.arg(has(node, plural) ? plural : name);
  return arg.is<Value*>() ? arg.as<Value*>() : nullptr;
}

bool reads_parameters(const Node& node, const Node& choose) {
  return value_at(node, "scale", "scales") == choose.result(0) &&
         value_at(node, "zero_point", "zero_points") == choose.result(1);
}

// Blocks of one row each.
bool has_row_blocks(const Node& node) {
  const Ints blocks = node.ints("block_size");
  const Value* x = node.tensor("input");
  return !blocks.empty() && blocks.size() == x->rank() &&
         std::all_of(blocks.begin(), blocks.end() - 1, [](const Sym& size) { return size.is(1); }) &&
         (blocks.back() == x->sizes().back() || blocks.back().is(-1));
}

std::optional<QuantizationChain> chain_before(const Node& dequantize, const Names& names) {
  QuantizationChain chain;
  chain.dequantize = const_cast<Node*>(&dequantize);
  chain.quantize = dequantize.tensor("input")->producer;
  if (!chain.quantize || !chain.quantize->is(names.quantize)) return {};
  const Value* scale = value_at(*chain.quantize, "scale", "scales");
  chain.choose = scale ? scale->producer : nullptr;
  if (!chain.choose || !chain.choose->is(names.choose)) return {};
  chain.x = chain.quantize->tensor("input");
  if (chain.choose->tensor("input") != chain.x || dequantize.result()->dtype() != chain.x->dtype() ||
      chain.quantize->result()->dtype() != DType::i8)
    return {};
  if (has(*chain.choose, "mapping_type")) {
    const std::string mapping = chain.choose->string("mapping_type");
    chain.symmetric = mapping == "SYMMETRIC";
    if (!chain.symmetric && mapping != "ASYMMETRIC") return {};
  }
  if (!reads_parameters(*chain.quantize, *chain.choose) || !reads_parameters(dequantize, *chain.choose)) return {};
  chain.by_rows = !names.choose.ends_with(".tensor");
  if (has(*chain.choose, "block_size")) {
    for (const Node* node : {chain.choose, chain.quantize, chain.dequantize}) {
      if (!has_row_blocks(*node)) return {};
    }
  }
  return chain;
}

const Node* reader(const Value* value, std::string_view name) {
  for (const Node* user : value->users()) {
    if (user->is(name)) return user;
  }
  return nullptr;
}

}  // namespace

double least_scale(const Node& choose) {
  if (has(choose, "eps") && !choose.is_none("eps")) return choose.real("eps");
  if (!has(choose, "eps")) return 0x1p-23;
  // torchao's default is the smallest normal number.
  const DType dtype = choose.tensor("input")->dtype();
  return dtype == DType::f16 ? 0x1p-14 : dtype == DType::f64 ? 0x1p-1022 : 0x1p-126;
}

std::optional<QuantizationChain> quantization_chain(const Node& node) {
  for (const Names& names : kFamilies) {
    const Node* last = node.is(names.dequantize) ? &node : nullptr;
    const Node* middle = node.is(names.quantize) ? &node : nullptr;
    if (node.is(names.choose)) middle = reader(node.result(), names.quantize);
    if (middle) last = reader(middle->result(), names.dequantize);
    if (!last) continue;
    const auto chain = chain_before(*last, names);
    if (!chain) return {};
    return chain->choose == &node || chain->quantize == &node || last == &node ? chain : std::nullopt;
  }
  return {};
}

}  // namespace wick::compiler
