#include "backends/cortex_m/compile/passes/layers/moved_constant.h"

#include <algorithm>

#include "compiler/analysis/data_movement.h"
#include "compiler/analysis/evaluate.h"
#include "compiler/ir/decompose.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/quantize/quantize_nodes.h"
#include "compiler/support/limits.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Builder;
using compiler::ConstantData;
using compiler::Graph;
using compiler::Node;
using compiler::NumberList;
using compiler::Quantization;
using compiler::Sizes;
using compiler::TensorType;
using compiler::Value;

namespace {

constexpr int64_t kMaxGrowth = 4;

int64_t static_count(const Value& value) { return is_static(value.sizes()) ? numel(value.sizes()).value() : -1; }

// The nodes that move `value`, last one first; `base` becomes the value that they move.
std::vector<const Node*> moves_of(const Value& value, const Value** base) {
  std::vector<const Node*> moves;
  *base = &value;
  while (!is_constant_numbers(**base) && (*base)->producer && compiler::moves_data(*(*base)->producer)) {
    moves.push_back((*base)->producer);
    *base = compiler::moved(*moves.back());
  }
  return moves;
}

// Applies the moves to a tensor, then a view and a permute. Nullopt: no kernel can do it.
class Mover {
 public:
  Mover(std::vector<const Node*> moves, Sizes sizes, const std::vector<int64_t>& perm)
      : moves_(std::move(moves)), sizes_(std::move(sizes)) {
    for (const int64_t dim : perm) perm_.push_back(dim);
  }

  std::optional<compiler::HostTensor> run(TensorType type, ConstantData data) const {
    return moved_elements(std::move(type), std::move(data), [&](Builder& b, Value* x) {
      for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) x = call_on(b, **move, x);
      return b.call("aten.permute", {b.reshape(x, sizes_), perm_});
    });
  }

 private:
  std::vector<const Node*> moves_;
  Sizes sizes_;
  compiler::Ints perm_;
};

// The index of each element's quantization block.
std::vector<int32_t> block_numbers(const Sizes& sizes, const Quantization& q) {
  std::vector<int32_t> out(static_cast<size_t>(numel(sizes).value()));
  std::vector<int64_t> at(sizes.size());
  for (int32_t& number : out) {
    int64_t block = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (q.blocks[i] != 0) block = block * (sizes[i].value() / q.blocks[i]) + at[i] / q.blocks[i];
    }
    number = static_cast<int32_t>(block);
    for (size_t i = at.size(); i > 0; --i) {
      if (++at[i - 1] < sizes[i - 1].value()) break;
      at[i - 1] = 0;
    }
  }
  return out;
}

// The block of each position along dimension `dim`. Nullopt: it depends on other dimensions, too.
std::optional<std::vector<size_t>> blocks_along(const std::vector<int32_t>& blocks, const Sizes& sizes, size_t dim) {
  size_t inner = 1;
  for (size_t i = dim + 1; i < sizes.size(); ++i) inner *= static_cast<size_t>(sizes[i].value());
  const auto size = static_cast<size_t>(sizes[dim].value());
  std::vector<size_t> out(size);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto block = static_cast<size_t>(blocks[i]);
    const size_t at = i / inner % size;
    if (i < size * inner && i % inner == 0) out[at] = block;
    if (out[at] != block) return {};
  }
  return out;
}

NumberList chosen(const NumberList& list, const std::vector<size_t>& blocks) {
  std::vector<double> out;
  for (const size_t block : blocks) out.push_back(list[block]);
  return NumberList::of(list.dtype, out);
}

// Elements as floats, before they are moved.
std::vector<float> dequantized(const Value& elements, const Quantization& q) {
  const std::vector<int32_t> blocks = block_numbers(elements.sizes(), q);
  const auto numbers_of = [&](const auto& list) {
    std::vector<float> out;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto block = static_cast<size_t>(blocks[i]);
      const auto steps = static_cast<float>(list[i] - q.zero_points[block]);
      out.push_back(steps * static_cast<float>(q.scales[block]));
    }
    return out;
  };
  switch (elements.dtype()) {
    case DType::i8: return numbers_of(compiler::layout::elements_of<int8_t>(elements));
    case DType::i16: return numbers_of(compiler::layout::elements_of<int16_t>(elements));
    case DType::i32: return numbers_of(compiler::layout::elements_of<int32_t>(elements));
    default: return {};
  }
}

std::shared_ptr<const Quantization> moved_quantization(const Mover& mover, const Value& elements, const Quantization& q,
                                                       const Sizes& sizes) {
  auto out = std::make_shared<Quantization>(q);
  out->blocks.assign(sizes.size(), 0);
  if (q.is_per_tensor()) return out;
  TensorType type = elements.tensor();
  type.dtype = DType::i32;
  const auto moved = mover.run(type, compiler::layout::own(block_numbers(elements.sizes(), q)));
  if (!moved) return nullptr;
  std::vector<int32_t> blocks(moved->data.size_bytes() / sizeof(int32_t));
  moved->data.read(0, moved->data.size_bytes(), reinterpret_cast<uint8_t*>(blocks.data()));
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const auto along = blocks_along(blocks, sizes, dim);
    if (!along) continue;
    out->blocks[dim] = 1;
    out->scales = chosen(q.scales, *along);
    out->zero_points = chosen(q.zero_points, *along);
    return out;
  }
  return nullptr;
}

// The moved constant as floats, for scales that no layer takes. Null: dequantizing does not support the dtype.
Value* moved_floats(Builder& b, const Mover& mover, const Value& elements, const Quantization& q) {
  std::vector<float> numbers = q.real == DType::f32 ? dequantized(elements, q) : std::vector<float>();
  if (numbers.empty()) return nullptr;
  TensorType type = elements.tensor();
  type.dtype = DType::f32;
  const auto moved = mover.run(type, compiler::layout::own(std::move(numbers)));
  return moved ? b.constant(moved->type, moved->data, elements.name) : nullptr;
}

}  // namespace

bool grows_too_much(const Value& constant, const Value& moved) {
  const int64_t before = static_count(constant), after = static_count(moved);
  return before < 0 || after < 0 || after > kMaxGrowth * before;
}

Value* call_on(Builder& b, const Node& node, Value* x) {
  Args args = node.args();
  args[0] = x;
  return b.call(node.op->name(), std::move(args));
}

std::optional<compiler::HostTensor> moved_elements(TensorType type, ConstantData data, const MoveFn& move) {
  type.quantization = nullptr;
  Graph graph;
  Builder b(graph, nullptr);
  compiler::GraphOutput output;
  output.value = move(b, b.constant(std::move(type), std::move(data), "x"));
  graph.add_output(std::move(output));
  const auto has_kernel = [](const Node& inner) { return compiler::can_evaluate(inner); };
  compiler::HostValues values;
  compiler::EvaluateOptions options;
  options.max_result_bytes = compiler::limits().folding_bytes;
  if (!compiler::decompose(graph, has_kernel).ok() || !compiler::evaluate_graph(graph, values, options).ok()) return {};
  return std::get<compiler::HostTensor>(values.at(graph.outputs[0].value));
}

bool is_constant_numbers(const Value& value) {
  return (value.is_constant() && !value.is_quantized()) || compiler::stored_constant(value).has_value();
}

bool is_moved_constant(const Value& value) {
  const Value* base = nullptr;
  moves_of(value, &base);
  return is_constant_numbers(*base);
}

Value* moved_constant(Builder& b, const Value& value, const Sizes& sizes, const std::vector<int64_t>& perm) {
  const Value* base = nullptr;
  const Mover mover(moves_of(value, &base), sizes, perm);
  const auto stored = compiler::stored_constant(*base);
  const Value& elements = stored ? *stored->elements : *base;
  if (static_count(elements) == 0 || static_count(value) == 0 || grows_too_much(elements, value) ||
      !elements.tensor().dim_order.empty())
    return nullptr;
  const auto moved = mover.run(elements.tensor(), elements.data);
  if (!moved) return nullptr;
  TensorType type = moved->type;
  if (stored) type.quantization = moved_quantization(mover, elements, *stored->quantization, type.sizes);
  const bool of_rows =
      type.quantization && (type.quantization->is_per_tensor() || type.quantization->channel_dim() == 0);
  if (stored && !of_rows) return moved_floats(b, mover, elements, *stored->quantization);
  Value* out = b.constant(type, moved->data, elements.name);
  if (!stored) return out;
  Value* numbers = b.call("wick.convert", {out});
  numbers->type = compiler::Type::of(type.quantization->real, type.sizes);
  return numbers;
}

}  // namespace wick::cortex_m
