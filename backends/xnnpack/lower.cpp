#include "backends/xnnpack/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/float16.h"
#include "compiler/support/content_hash.h"
#include "compiler/support/failure.h"

namespace wick::xnnpack {

using compiler::ConstantData;
using compiler::Delegate;
using compiler::Graph;
using compiler::Node;
using compiler::Value;

namespace {

DataType type_of(DType dtype) { return dtype == DType::f16 ? DataType::fp16 : DataType::fp32; }

// Copies the elements of a row-major tensor of sizes `dims` so that dimension perm[i] becomes dimension i.
template <typename T>
std::vector<T> permute_elements(const T* from, const Dims& dims, const std::vector<int64_t>& perm) {
  const size_t rank = dims.size();
  std::vector<int64_t> strides(rank, 1), sizes(rank), steps(rank), at(rank, 0);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = dims[static_cast<size_t>(perm[i])];
    steps[i] = strides[static_cast<size_t>(perm[i])];
  }
  std::vector<T> to(static_cast<size_t>(product(dims)));
  if (to.empty()) return to;
  const int64_t inner = rank ? sizes[rank - 1] : 1, step = rank ? steps[rank - 1] : 1;
  int64_t base = 0;
  for (size_t out = 0; out < to.size(); out += static_cast<size_t>(inner)) {
    for (int64_t i = 0; i < inner; ++i) to[out + static_cast<size_t>(i)] = from[base + i * step];
    for (size_t i = rank > 0 ? rank - 1 : 0; i-- > 0;) {
      base += steps[i];
      if (++at[i] < sizes[i]) break;
      base -= steps[i] * sizes[i];
      at[i] = 0;
    }
  }
  return to;
}

template <typename T>
ConstantData own(std::vector<T> elements) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
  const auto* bytes = reinterpret_cast<const uint8_t*>(owner->data());
  return {{bytes, owner->size() * sizeof(T)}, owner};
}

// The elements of a constant, in the order of its bytes.
template <typename T>
std::vector<T> elements_of(const Value& value) {
  std::vector<T> elements(value.data.bytes.size() / sizeof(T));
  memcpy(elements.data(), value.data.bytes.data(), elements.size() * sizeof(T));
  return elements;
}

std::vector<float> widened(const std::vector<uint16_t>& elements) {
  std::vector<float> out;
  out.reserve(elements.size());
  for (const uint16_t bits : elements) out.push_back(Half::to_float(bits));
  return out;
}

// The order in which the bytes of a constant lie.
Order stored_order(const Value& value) {
  return value.tensor().dim_order.empty() ? plain_order(value.rank()) : value.tensor().dim_order;
}

}  // namespace

std::vector<uint32_t> to_payload(const Dims& dims) {
  std::vector<uint32_t> out;
  for (const int64_t dim : dims) out.push_back(static_cast<uint32_t>(dim));
  return out;
}

compiler::Result<Delegate> lower(const Graph& graph, const compiler::TargetOptions&) {
  Delegate delegate;
  RETURN_IF_ERROR(compiler::catch_failure([&] { delegate = Lowering(graph).run(); }));
  return delegate;
}

Lowering::Lowering(const Graph& graph) : graph_(graph), layouts_(assign_layouts(graph)) {
  payload_.constants.emplace_back();
}

Delegate Lowering::run() {
  delegate_.id = kBackendId;
  scan_ranges();
  add_inputs();
  for (const auto& node : graph_.nodes()) lower_node(*node);
  add_outputs();
  drop_dead_nodes();
  char buffer[512];
  ErrorText text(buffer);
  std::vector<std::vector<uint32_t>> dims;
  const Error error = check_payload(payload_, nullptr, &dims, &text);
  if (error != Error::Ok)
    compiler::fail(compiler::Code::internal,
                   std::string("xnnpack: a partition became a payload that does not hold: ") + text.c_str());
  delegate_.payload = write_payload(payload_);
  delegate_.num_nodes = payload_.nodes.size();
  return std::move(delegate_);
}

// A node whose only reader clamps does the clamping itself.
void Lowering::scan_ranges() {
  for (const auto& node : graph_.nodes()) {
    Range range;
    if (!clamp_range(*node, &range)) continue;
    const Node* producer = tensor_operands(*node)[0]->producer;
    if (!producer || producer->result()->num_uses() != 1 || !find_rule(*producer)->takes_range) continue;
    clamps_.emplace(producer, node.get());
    absorbed_.insert(node.get());
  }
}

Range Lowering::range_of(const Node& node) const {
  Range range;
  const auto clamp = clamps_.find(&node);
  if (clamp != clamps_.end()) clamp_range(*clamp->second, &range);
  return range;
}

void Lowering::add_inputs() {
  for (const compiler::GraphInput& input : graph_.inputs) {
    const uint32_t id = value(to_payload(dims_of(*input.value)), type_of(input.value->dtype()));
    PayloadValue& placed = payload_.values[id];
    placed.is_input = true;
    placed.external_id = payload_.num_externals++;
    payload_.input_ids.push_back(id);
    places_.emplace(input.value, Place{id, plain_order(input.value->rank())});
  }
}

void Lowering::lower_node(const Node& node) {
  current_ = &node;
  type_ = type_of(node.result()->dtype());
  if (absorbed_.count(&node)) {
    set_result(node, operand(tensor_operands(node)[0], layouts_.of(node.result())));
    return;
  }
  find_rule(node)->lower(*this, node);
}

void Lowering::add_outputs() {
  for (const compiler::GraphOutput& output : graph_.outputs) {
    current_ = output.value->producer;
    type_ = type_of(output.value->dtype());
    uint32_t id = operand(output.value, plain_order(output.value->rank()));
    const PayloadValue& found = payload_.values[id];
    if (found.constant != 0 || found.is_input || found.is_output) {
      const std::vector<uint32_t> same = found.dims;
      PayloadNode node;
      node.type = NodeType::static_reshape;
      node.inputs[0] = id;
      node.first = same;
      id = add(std::move(node), same);
    }
    PayloadValue& placed = payload_.values[id];
    placed.is_output = true;
    placed.external_id = payload_.num_externals++;
    payload_.output_ids.push_back(id);
  }
}

uint32_t Lowering::operand(const Value* value, const Order& order) {
  if (value->is_constant()) return constant_operand(value, order);
  const auto [known, fresh] = operands_.try_emplace({value, order}, 0);
  if (!fresh) return known->second;
  const Place& place = places_.at(value);
  Dims dims(order.size() - value->rank(), 1);
  const Dims own = dims_of(*value);
  dims.insert(dims.end(), own.begin(), own.end());
  const uint32_t id = reordered(place.id, dims, with_leading_ones(place.order, order.size()), order);
  return operands_[{value, order}] = id;
}

uint32_t Lowering::operand(const Node& node, size_t index) {
  const Value* value = tensor_operands(node)[index];
  const LayoutRule rule = find_rule(node)->layout(node);
  // Leading ones line up lower ranks.
  if (rule.kind == LayoutRule::Kind::any) return operand(value, order(node));
  const Order own = value->is_constant() ? plain_order(value->rank()) : layouts_.of(value);
  return operand(value, Layouts::wanted(node, rule, order(node), index, own));
}

uint32_t Lowering::broadcast_operand(const Node& node, size_t index) {
  const auto operands = tensor_operands(node);
  const Value* value = operands[index];
  const bool expanded = value->producer && value->producer->is("aten.expand.default");
  if (!expanded || operands.size() != 2) return operand(node, index);
  // The other one alone gives the result its sizes; of two expanded ones the second stays as it is.
  const Value* other = operands[1 - index];
  const bool other_expanded = other->producer && other->producer->is("aten.expand.default");
  if (dims_of(*other) != dims_of(*node.result()) || (other_expanded && index == 1)) return operand(node, index);
  return operand(tensor_operands(*value->producer)[0], order(node));
}

// `id` holds a tensor of sizes `dims` in `from`; the value returned holds it in `to`.
uint32_t Lowering::reordered(uint32_t id, const Dims& dims, const Order& from, const Order& to) {
  const std::vector<uint32_t> wanted = to_payload(physical(dims, to));
  if (same_bytes(dims, from, to)) return reshape(id, wanted);
  // Dimensions that stay neighbours move as one.
  std::vector<std::vector<uint8_t>> runs;
  for (const uint8_t dim : from) {
    if (dims[dim] == 1) continue;
    bool joins = false;
    if (!runs.empty()) {
      Order essential;
      for (const uint8_t d : to) {
        if (dims[d] != 1) essential.push_back(d);
      }
      const auto last = std::find(essential.begin(), essential.end(), runs.back().back());
      joins = last + 1 != essential.end() && *(last + 1) == dim;
    }
    if (!joins) runs.emplace_back();
    runs.back().push_back(dim);
  }
  std::vector<uint32_t> merged, perm;
  for (const auto& run : runs) {
    int64_t size = 1;
    for (const uint8_t dim : run) size *= dims[dim];
    merged.push_back(static_cast<uint32_t>(size));
  }
  for (const uint8_t dim : to) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].front() == dim) perm.push_back(static_cast<uint32_t>(i));
    }
  }
  return reshape(transpose(reshape(id, merged), perm), wanted);
}

uint32_t Lowering::constant_operand(const Value* value, const Order& order) {
  Dims dims(order.size() - value->rank(), 1);
  const Dims own = dims_of(*value);
  dims.insert(dims.end(), own.begin(), own.end());
  const Order from = with_leading_ones(stored_order(*value), order.size());
  const std::vector<uint32_t> wanted = to_payload(physical(dims, order));
  if (same_bytes(dims, from, order)) return weight(value, type_of(value->dtype()), wanted);
  std::vector<int64_t> perm;
  for (const uint8_t dim : order) perm.push_back(std::find(from.begin(), from.end(), dim) - from.begin());
  return weight_permuted(value, physical(dims, from), perm, type_of(value->dtype()), wanted);
}

uint32_t Lowering::weight(const Value* value, DataType type, const std::vector<uint32_t>& dims) {
  if (type == DataType::fp32 && value->dtype() == DType::f16)
    return add_constant(own(widened(elements_of<uint16_t>(*value))), type, dims);
  return add_constant(value->data, type, dims);
}

uint32_t Lowering::weight_permuted(const Value* value, const Dims& dims, const std::vector<int64_t>& perm,
                                   DataType type, const std::vector<uint32_t>& result_dims) {
  if (value->dtype() == DType::f16) {
    const auto halves = permute_elements(elements_of<uint16_t>(*value).data(), dims, perm);
    return add_constant(type == DataType::fp16 ? own(halves) : own(widened(halves)), type, result_dims);
  }
  return add_constant(own(permute_elements(reinterpret_cast<const float*>(value->data.bytes.data()), dims, perm)), type,
                      result_dims);
}

uint32_t Lowering::constant(const std::vector<float>& elements, std::vector<uint32_t> dims, bool force_fp32) {
  if (type_ == DataType::fp32 || force_fp32) return add_constant(own(elements), DataType::fp32, std::move(dims));
  std::vector<uint16_t> halves;
  for (const float element : elements) halves.push_back(Half(element).bits);
  return add_constant(own(std::move(halves)), DataType::fp16, std::move(dims));
}

uint32_t Lowering::scalar(double value) { return constant({static_cast<float>(value)}, {1}); }

std::vector<float> Lowering::read_floats(const Value* value) const {
  return value->dtype() == DType::f16 ? widened(elements_of<uint16_t>(*value)) : elements_of<float>(*value);
}

uint32_t Lowering::add_constant(ConstantData data, DataType type, std::vector<uint32_t> dims) {
  const std::string key = fmt::format("{:016x}-{}", compiler::content_hash(data.bytes), data.bytes.size());
  auto [constant, fresh] = constants_.try_emplace(key, static_cast<uint32_t>(payload_.constants.size()));
  if (fresh) {
    payload_.constants.push_back({key, 0, 0});
    delegate_.constants.push_back({key, std::move(data)});
  }
  const std::string with_dims = fmt::format("{}:{}:{}", key, static_cast<int>(type), fmt::join(dims, ","));
  auto [known, is_new] = constant_values_.try_emplace(with_dims, 0);
  if (is_new) {
    known->second = value(dims, type);
    payload_.values[known->second].constant = constant->second;
  }
  return known->second;
}

uint32_t Lowering::value(const std::vector<uint32_t>& dims, DataType type) {
  PayloadValue fresh;
  fresh.type = type;
  fresh.dims = dims;
  payload_.values.push_back(std::move(fresh));
  return static_cast<uint32_t>(payload_.values.size() - 1);
}

uint32_t Lowering::add(PayloadNode node, const std::vector<uint32_t>& dims) {
  if (current_ && current_->origin) {
    const auto [handle, fresh] =
        handles_.try_emplace(current_->origin.get(), static_cast<uint32_t>(delegate_.origins.size()));
    if (fresh) delegate_.origins.push_back(current_->origin);
    node.debug_handle = handle->second;
  }
  node.output = value(dims);
  payload_.nodes.push_back(std::move(node));
  return payload_.nodes.back().output;
}

uint32_t Lowering::unary(NodeType type, uint32_t x) {
  PayloadNode node;
  node.type = type;
  node.inputs[0] = x;
  return add(std::move(node), std::vector<uint32_t>(dims(x)));
}

uint32_t Lowering::binary(NodeType type, uint32_t a, uint32_t b, Range range) {
  PayloadNode node;
  node.type = type;
  node.inputs[0] = a;
  node.inputs[1] = b;
  node.output_min = range.min;
  node.output_max = range.max;
  const std::vector<uint32_t>&x = dims(a), &y = dims(b);
  std::vector<uint32_t> out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const uint32_t left = i < x.size() ? x[x.size() - 1 - i] : 1, right = i < y.size() ? y[y.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = left == 1 ? right : left;
  }
  return add(std::move(node), out);
}

uint32_t Lowering::reshape(uint32_t x, const std::vector<uint32_t>& to) {
  if (dims(x) == to) return x;
  PayloadNode node;
  node.type = NodeType::static_reshape;
  node.inputs[0] = x;
  node.first = to;
  return add(std::move(node), to);
}

uint32_t Lowering::transpose(uint32_t x, const std::vector<uint32_t>& perm) {
  PayloadNode node;
  node.type = NodeType::static_transpose;
  node.inputs[0] = x;
  node.first = perm;
  std::vector<uint32_t> out;
  for (const uint32_t dim : perm) out.push_back(dims(x)[dim]);
  return add(std::move(node), out);
}

uint32_t Lowering::slice(uint32_t x, const std::vector<uint32_t>& offsets, const std::vector<uint32_t>& sizes) {
  if (sizes == dims(x)) return x;
  PayloadNode node;
  node.type = NodeType::static_slice;
  node.inputs[0] = x;
  node.first = offsets;
  node.second = sizes;
  return add(std::move(node), sizes);
}

uint32_t Lowering::concatenate(std::vector<uint32_t> parts, size_t axis) {
  constexpr size_t kMaxParts = 5;
  constexpr NodeType kTypes[] = {NodeType::concatenate_2, NodeType::concatenate_3, NodeType::concatenate_4,
                                 NodeType::concatenate_5};
  // Rounds of five: each element is copied as often as there are rounds.
  while (parts.size() > 1) {
    std::vector<uint32_t> joined;
    for (size_t at = 0; at < parts.size(); at += kMaxParts) {
      const size_t count = std::min(kMaxParts, parts.size() - at);
      if (count == 1) {
        joined.push_back(parts[at]);
        continue;
      }
      PayloadNode node;
      node.type = kTypes[count - 2];
      node.axis = static_cast<uint32_t>(axis);
      std::vector<uint32_t> out = dims(parts[at]);
      out[axis] = 0;
      for (size_t i = 0; i < count; ++i) {
        node.inputs[i] = parts[at + i];
        out[axis] += dims(parts[at + i])[axis];
      }
      joined.push_back(add(std::move(node), out));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

uint32_t Lowering::pad(uint32_t x, const std::vector<uint32_t>& before, const std::vector<uint32_t>& after,
                       float padding) {
  PayloadNode node;
  node.type = NodeType::static_constant_pad;
  node.inputs[0] = x;
  node.first = before;
  node.second = after;
  node.value = padding;
  std::vector<uint32_t> out = dims(x);
  for (size_t i = 0; i < out.size(); ++i) out[i] += before[i] + after[i];
  return add(std::move(node), out);
}

uint32_t Lowering::fully_connected(uint32_t x, uint32_t filter, uint32_t bias, uint32_t flags, Range range) {
  PayloadNode node;
  node.type = NodeType::fully_connected;
  node.inputs[0] = x;
  node.inputs[1] = filter;
  node.inputs[2] = bias;
  node.flags = flags;
  node.output_min = range.min;
  node.output_max = range.max;
  std::vector<uint32_t> out = dims(x);
  out.back() = dims(filter)[flags & kTransposeWeights ? 1 : 0];
  return add(std::move(node), out);
}

uint32_t Lowering::row_mean(uint32_t x, double offset) {
  const uint32_t columns = dims(x).back();
  const uint32_t filter = constant(std::vector<float>(columns, 1.0f / static_cast<float>(columns)), {1, columns});
  const uint32_t bias = offset == 0 ? kNoValue : scalar(offset);
  return fully_connected(x, filter, bias);
}

void Lowering::set_result(const Node& node, uint32_t id) {
  const Value* value = node.result();
  const Order& order = layouts_.of(value);
  places_[value] = {reshape(id, to_payload(physical(dims_of(*value), order))), order};
}

// Nodes that nothing reads, and the values and constants only they held, leave the payload.
void Lowering::drop_dead_nodes() {
  std::vector<bool> live(payload_.values.size());
  for (const uint32_t id : payload_.input_ids) live[id] = true;
  for (const uint32_t id : payload_.output_ids) live[id] = true;
  std::vector<PayloadNode> nodes;
  for (auto node = payload_.nodes.rbegin(); node != payload_.nodes.rend(); ++node) {
    if (!live[node->output]) continue;
    for (const uint32_t id : node->inputs) {
      if (id != kNoValue) live[id] = true;
    }
    nodes.push_back(std::move(*node));
  }
  std::reverse(nodes.begin(), nodes.end());

  std::vector<uint32_t> ids(payload_.values.size(), kNoValue);
  std::vector<uint32_t> constants(payload_.constants.size(), 0);
  Payload kept;
  std::vector<compiler::NamedConstant> blobs;
  kept.constants.emplace_back();
  for (size_t id = 0; id < live.size(); ++id) {
    if (!live[id]) continue;
    PayloadValue& value = payload_.values[id];
    if (value.constant != 0) {
      uint32_t& constant = constants[value.constant];
      if (constant == 0) {
        constant = static_cast<uint32_t>(kept.constants.size());
        kept.constants.push_back(payload_.constants[value.constant]);
        blobs.push_back(std::move(delegate_.constants[value.constant - 1]));
      }
      value.constant = constant;
    }
    ids[id] = static_cast<uint32_t>(kept.values.size());
    kept.values.push_back(std::move(value));
  }
  for (PayloadNode& node : nodes) {
    for (uint32_t& id : node.inputs) id = id == kNoValue ? kNoValue : ids[id];
    node.output = ids[node.output];
  }
  kept.nodes = std::move(nodes);
  for (const uint32_t id : payload_.input_ids) kept.input_ids.push_back(ids[id]);
  for (const uint32_t id : payload_.output_ids) kept.output_ids.push_back(ids[id]);
  kept.num_externals = payload_.num_externals;
  payload_ = std::move(kept);
  delegate_.constants = std::move(blobs);
}

}  // namespace wick::xnnpack
