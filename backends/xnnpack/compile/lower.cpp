#include "backends/xnnpack/compile/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/xnnpack/compile/quantized.h"
#include "common/float16.h"
#include "compiler/support/failure.h"

namespace wick::xnnpack {

using compiler::ConstantData;
using compiler::Delegate;
using compiler::Graph;
using compiler::Node;
using compiler::Value;

namespace {

DataType type_of(DType dtype) { return dtype == DType::f16 ? DataType::fp16 : DataType::fp32; }

std::vector<float> widened(const std::vector<uint16_t>& elements) {
  std::vector<float> out;
  out.reserve(elements.size());
  for (const uint16_t bits : elements) out.push_back(Half::to_float(bits));
  return out;
}

std::vector<uint32_t> at_bounds(const Sizes& dims) {
  std::vector<uint32_t> out;
  for (const compiler::Sym& dim : dims) out.push_back(static_cast<uint32_t>(bound(dim)));
  return out;
}

}  // namespace

std::vector<uint32_t> positions(const Order& from, const Order& to) {
  std::vector<uint32_t> out;
  for (const uint8_t dim : to)
    out.push_back(static_cast<uint32_t>(std::find(from.begin(), from.end(), dim) - from.begin()));
  return out;
}

compiler::Result<Delegate> lower(const Graph& graph, const compiler::TargetContext& context) {
  Delegate delegate;
  const compiler::SymScope scope(graph.ranges);
  RETURN_IF_ERROR(compiler::catch_failure([&] { delegate = Lowering(graph, context).run(); }));
  return delegate;
}

Lowering::Lowering(const Graph& graph, const compiler::TargetContext& context)
    : graph_(graph), context_(context), layouts_(assign_layouts(graph, layout_rules())) {}

Delegate Lowering::run() {
  delegate_.id = kBackendId;
  scan_ranges();
  add_inputs();
  for (const auto& node : graph_.nodes()) lower_node(*node);
  add_outputs();
  drop_dead_nodes();
  separate_weights();
  list_constants();
  char buffer[512];
  ErrorText text(buffer);
  std::vector<std::vector<uint32_t>> dims;
  const Error error = check_payload(payload_, nullptr, &dims, &text);
  if (error != Error::Ok)
    compiler::fail(compiler::Code::internal,
                   std::string("xnnpack: the payload of a partition is not valid:  ") + text.c_str());
  delegate_.payload = write_payload(payload_);
  delegate_.num_nodes = payload_.nodes.size();
  return std::move(delegate_);
}

compiler::ValueRange Lowering::numbers_of(const Value* value) const {
  return context_.ranges ? context_.ranges->of(value) : compiler::ValueRange();
}

bool Lowering::overflows_half(const Value* value) const {
  return context_.ranges && context_.ranges->overflows_half(value);
}

// A node whose only reader is a clamp clamps its own result.
void Lowering::scan_ranges() {
  for (const auto& node : graph_.nodes()) {
    OutputRange range;
    if (!clamp_range(*node, &range)) continue;
    const Node* producer = node->operands()[0]->producer;
    if (!producer || producer->result()->num_uses() != 1 || !find_rule(*producer)->takes_range) continue;
    clamps_.emplace(producer, node.get());
    absorbed_.insert(node.get());
  }
}

OutputRange Lowering::range_of(const Node& node) const {
  OutputRange range;
  const auto clamp = clamps_.find(&node);
  if (clamp != clamps_.end()) clamp_range(*clamp->second, &range);
  return range;
}

void Lowering::add_inputs() {
  for (const compiler::GraphInput& input : graph_.inputs) {
    const uint32_t id = value(dims_of(*input.value), type_of(input.value->tensor().real_dtype()));
    PayloadValue& placed = payload_.values[id];
    declare_input(placed, input.value);
    placed.is_input = true;
    placed.external_id = payload_.num_externals++;
    payload_.input_ids.push_back(id);
    places_.emplace(input.value, Place{id, plain_order(input.value->rank())});
  }
}

void Lowering::lower_node(const Node& node) {
  current_ = &node;
  const Value* typed = node.is("aten._to_copy.default") ? node.operands()[0] : node.result();
  type_ = type_of(typed->tensor().real_dtype());
  if (absorbed_.count(&node)) {
    set_result(node, operand(node.operands()[0], layouts_.of(node.result())));
    return;
  }
  choose_precision(node);
  find_rule(node)->lower(*this, node);
  int8_result_.reset();
  dynamic_product_ = false;
  integer_weights_ = false;
}

void Lowering::add_outputs() {
  for (const compiler::GraphOutput& output : graph_.outputs) {
    current_ = output.value->producer;
    type_ = type_of(output.value->tensor().real_dtype());
    uint32_t id = operand(output.value, plain_order(output.value->rank()));
    const PayloadValue& found = payload_.values[id];
    if (found.constant != 0 || found.is_input || found.is_output) id = copy(id);
    PayloadValue& placed = payload_.values[id];
    placed.is_output = true;
    placed.external_id = payload_.num_externals++;
    payload_.output_ids.push_back(id);
  }
}

uint32_t Lowering::operand(const Value* value, const Order& order) {
  if (is_chosen_at_run_time(*value)) return chosen_operand(*value, order);
  if (stays_integers(value)) return constant_operand(value, order);
  if (const Value* constant = as_constant(value)) return constant_operand(constant, order);
  const auto [known, fresh] = operands_.try_emplace({value, order}, 0);
  if (!fresh) return known->second;
  const Place& place = places_.at(value);
  Sizes dims(order.size() - value->rank(), 1);
  const Sizes own = dims_of(*value);
  dims.insert(dims.end(), own.begin(), own.end());
  const uint32_t id = reordered(place.id, dims, with_leading_ones(place.order, order.size()), order);
  return operands_[{value, order}] = id;
}

uint32_t Lowering::operand(const Node& node, size_t index) {
  const Value* value = node.operands()[index];
  const LayoutRule rule = find_rule(node)->layout(node);
  // Operands of lower rank get leading dimensions of 1.
  if (rule.kind == LayoutRule::Kind::any) return operand(value, order(node));
  const Order own = value->is_constant() ? plain_order(value->rank()) : layouts_.of(value);
  return operand(value, Layouts::wanted(node, rule, order(node), index, *value, own));
}

uint32_t Lowering::rows_along(const Node& node, size_t dim) {
  return operand(node.operands()[0], made_last(order(node), dim));
}

uint32_t Lowering::broadcast_operand(const Node& node, size_t index) {
  const auto operands = node.operands();
  const Value* value = operands[index];
  const bool expanded = value->producer && value->producer->is("aten.expand.default");
  if (!expanded || operands.size() != 2) return operand(node, index);
  // The other operand must have all sizes of the result. If both are expanded, the second one keeps its expand.
  const Value* other = operands[1 - index];
  const bool other_expanded = other->producer && other->producer->is("aten.expand.default");
  if (dims_of(*other) != dims_of(*node.result()) || (other_expanded && index == 1)) return operand(node, index);
  return operand(value->producer->operands()[0], order(node));
}

// `id` holds a tensor of sizes `dims` in `from`; the value returned holds it in `to`.
uint32_t Lowering::reordered(uint32_t id, const Sizes& dims, const Order& from, const Order& to) {
  const Sizes wanted = physical(dims, to);
  if (same_bytes(dims, from, to)) return reshape(id, wanted);
  // With several sizes known only at run time no reshape can merge or drop dimensions.
  if (num_symbolic(dims) > 1) return transpose(move_ones(id, physical(dims, from)), positions(from, to));
  // Dimensions that stay neighbours move as one.
  std::vector<std::vector<uint8_t>> runs;
  for (const uint8_t dim : from) {
    if (dims[dim].is(1)) continue;
    bool joins = false;
    if (!runs.empty()) {
      Order essential;
      for (const uint8_t d : to) {
        if (!dims[d].is(1)) essential.push_back(d);
      }
      const auto last = std::find(essential.begin(), essential.end(), runs.back().back());
      joins = last + 1 != essential.end() && *(last + 1) == dim;
    }
    if (!joins) runs.emplace_back();
    runs.back().push_back(dim);
  }
  Sizes merged;
  std::vector<uint32_t> perm;
  for (const auto& run : runs) {
    merged.emplace_back(1);
    for (const uint8_t dim : run) merged.back() = merged.back() * dims[dim];
  }
  for (const uint8_t dim : to) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].front() == dim) perm.push_back(static_cast<uint32_t>(i));
    }
  }
  return reshape(transpose(reshape(id, merged), perm), wanted);
}

uint32_t Lowering::constant_operand(const Value* value, const Order& order) {
  Sizes dims(order.size() - value->rank(), 1);
  const Sizes own = dims_of(*value);
  dims.insert(dims.end(), own.begin(), own.end());
  // Weights of quantized values are made from row-major elements.
  const Order stored = value->is_quantized() ? plain_order(value->rank()) : stored_order(*value);
  const Order from = with_leading_ones(stored, order.size());
  const DataType type = type_of(value->tensor().real_dtype());
  const Sizes wanted = physical(dims, order);
  if (same_bytes(dims, from, order)) return weight(value, type, wanted);
  const std::vector<uint32_t> found = positions(from, order);
  const std::vector<int64_t> perm(found.begin(), found.end());
  return weight_permuted(value, physical(dims, from), perm, type, wanted);
}

uint32_t Lowering::weight(const Value* value, DataType type, const Sizes& dims) {
  if (stays_integers(value)) {
    std::vector<int64_t> same(dims.size());
    std::iota(same.begin(), same.end(), int64_t{0});
    return int8_constant(*value, dims, same, dims);
  }
  value = as_constant(value);
  if (type == DataType::fp32 && value->dtype() == DType::f16)
    return add_constant(own(widened(elements_of<uint16_t>(*value))), type, dims);
  return add_constant(value->data, type, dims);
}

uint32_t Lowering::weight_permuted(const Value* value, const Sizes& dims, const std::vector<int64_t>& perm,
                                   DataType type, const Sizes& result_dims) {
  if (stays_integers(value)) return int8_constant(*value, dims, perm, result_dims);
  // Filters of 1x1 need no copy.
  if (same_bytes(dims, plain_order(dims.size()), Order(perm.begin(), perm.end())))
    return weight(value, type, result_dims);
  value = as_constant(value);
  if (value->dtype() == DType::f16) {
    const auto halves = permute_elements(elements_of<uint16_t>(*value).data(), dims, perm);
    return add_constant(type == DataType::fp16 ? own(halves) : own(widened(halves)), type, result_dims);
  }
  return add_constant(permuted_elements(value->data, sizeof(float), dims, perm), type, result_dims);
}

uint32_t Lowering::constant(const std::vector<float>& elements, const Sizes& dims, bool force_fp32) {
  if (type_ == DataType::fp32 || force_fp32) return add_constant(own(elements), DataType::fp32, dims);
  std::vector<uint16_t> halves;
  for (const float element : elements) halves.push_back(Half(element).bits);
  return add_constant(own(std::move(halves)), DataType::fp16, dims);
}

uint32_t Lowering::scalar(double value) { return constant({static_cast<float>(value)}, {1}); }

std::vector<float> Lowering::read_floats(const Value* value) {
  value = as_constant(value);
  return value->dtype() == DType::f16 ? widened(elements_of<uint16_t>(*value)) : elements_of<float>(*value);
}

uint32_t Lowering::constant_index(ConstantData data) {
  const std::string name = fmt::format("{:016x}-{}", data.hash(), data.size_bytes());
  std::vector<uint32_t>& same_hash = constants_by_hash_[name];
  for (const uint32_t index : same_hash) {
    if (same_bytes(constants_[index - 1].data, data)) return index;
  }
  const std::string key = same_hash.empty() ? name : fmt::format("{}-{}", name, same_hash.size());
  constants_.push_back({key, std::move(data)});
  same_hash.push_back(static_cast<uint32_t>(constants_.size()));
  return same_hash.back();
}

uint32_t Lowering::add_constant(ConstantData data, DataType type, const Sizes& dims) {
  const uint32_t constant = constant_index(std::move(data));
  const std::string with_dims =
      fmt::format("{}:{}:{}", constant, static_cast<int>(type), fmt::join(at_bounds(dims), ","));
  auto [known, is_new] = constant_values_.try_emplace(with_dims, 0);
  if (is_new) {
    known->second = value(dims, type);
    payload_.values[known->second].constant = constant;
  }
  return known->second;
}

uint32_t Lowering::value(const Sizes& dims, DataType type) {
  PayloadValue fresh;
  fresh.type = type;
  fresh.dims = at_bounds(dims);
  shapes_.push_back(dims);
  payload_.values.push_back(std::move(fresh));
  return static_cast<uint32_t>(payload_.values.size() - 1);
}

uint32_t Lowering::add(PayloadNode node, const Sizes& dims) {
  node.output = value(dims);
  settle_quantization(node);
  origins_[node.output] = current_ ? current_->origin : nullptr;
  payload_.nodes.push_back(std::move(node));
  return payload_.nodes.back().output;
}

uint32_t Lowering::add_by_channel(PayloadNode node, const Sizes& result) {
  if (!keeps_pointers(node.type) || result[3].is_const()) return add(std::move(node), result);
  const Sizes from = dims(node.inputs[0]);
  const compiler::Sym images = from[0] * from[3];
  node.inputs[0] = reshape(transpose(node.inputs[0], {0, 3, 1, 2}), {images, from[1], from[2], 1});
  const uint32_t out = add(std::move(node), {images, result[1], result[2], 1});
  return transpose(reshape(out, {from[0], from[3], result[1], result[2]}), {0, 2, 3, 1});
}

uint32_t Lowering::unary(NodeType type, uint32_t x) {
  PayloadNode node;
  node.type = type;
  node.inputs[0] = x;
  return add(std::move(node), Sizes(dims(x)));
}

uint32_t Lowering::as_type(uint32_t x, DataType type) {
  type_ = type;
  return payload_.values[x].type == type ? x : unary(NodeType::convert, x);
}

uint32_t Lowering::binary(NodeType type, uint32_t a, uint32_t b, OutputRange range) {
  PayloadNode node;
  node.type = type;
  node.inputs[0] = a;
  node.inputs[1] = b;
  node.output_min = range.min;
  node.output_max = range.max;
  const Sizes &x = dims(a), &y = dims(b);
  Sizes out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const compiler::Sym left = i < x.size() ? x[x.size() - 1 - i] : 1, right = i < y.size() ? y[y.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = left.is(1) ? right : left;
  }
  return add(std::move(node), out);
}

uint32_t Lowering::fully_connected(uint32_t x, uint32_t filter, uint32_t bias, uint32_t flags, OutputRange range) {
  PayloadNode node;
  node.type = NodeType::fully_connected;
  node.inputs[0] = x;
  node.inputs[1] = filter;
  node.inputs[2] = bias;
  node.flags = flags;
  node.output_min = range.min;
  node.output_max = range.max;
  Sizes out = dims(x);
  out.back() = dims(filter)[flags & kTransposeWeights ? 1 : 0];
  return add(std::move(node), out);
}

uint32_t Lowering::row_mean(uint32_t x) {
  const int64_t columns = dims(x).back().value();
  const std::vector<float> parts(static_cast<size_t>(columns), 1.0f / static_cast<float>(columns));
  const uint32_t filter = constant(parts, {1, columns});
  return fully_connected(x, filter, kNoValue);
}

namespace {

// Sizes known only at run time may have two forms that the compiler cannot prove equal.
bool may_agree(const Sizes& a, const Sizes& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x == y || (!x.is_const() && !y.is_const());
         });
}

}  // namespace

uint32_t Lowering::as_result(const Node& node, uint32_t x) {
  return reshape(x, physical(dims_of(*node.result()), layouts_.of(node.result())));
}

void Lowering::set_result(const Node& node, uint32_t id) {
  const Value* value = node.result();
  const Order& order = layouts_.of(value);
  const Sizes wanted = physical(dims_of(*value), order);
  if (!(without_ones(dims(id)) == without_ones(wanted))) {
    if (!may_agree(dims(id), wanted))
      compiler::fail(compiler::Code::internal,
                     fmt::format("xnnpack: {} became a value of different sizes", node.op->name()));
    shapes_[id] = wanted;
  }
  id = on_scale_of(*value, id);
  places_[value] = {reshape(id, wanted), order};
}

std::vector<bool> Lowering::live_values() const {
  std::vector<bool> live(payload_.values.size());
  for (const uint32_t id : payload_.input_ids) live[id] = true;
  for (const uint32_t id : payload_.output_ids) live[id] = true;
  for (auto node = payload_.nodes.rbegin(); node != payload_.nodes.rend(); ++node) {
    if (!live[node->output]) continue;
    for (const uint32_t id : node->inputs) {
      if (id != kNoValue) live[id] = true;
    }
  }
  return live;
}

// Nodes that nothing reads, and the values only they held, leave the payload.
void Lowering::drop_dead_nodes() {
  const std::vector<bool> live = live_values();
  std::erase_if(payload_.nodes, [&](const PayloadNode& node) { return !live[node.output]; });
  number_origins();
  std::vector<uint32_t> ids(live.size(), kNoValue);
  uint32_t count = 0;
  for (size_t id = 0; id < live.size(); ++id) {
    if (!live[id]) continue;
    ids[id] = count;
    if (id != count) {
      payload_.values[count] = std::move(payload_.values[id]);
      shapes_[count] = std::move(shapes_[id]);
    }
    ++count;
  }
  payload_.values.resize(count);
  shapes_.resize(count);
  for (PayloadNode& node : payload_.nodes) {
    for (uint32_t& id : node.inputs) id = id == kNoValue ? kNoValue : ids[id];
    node.output = ids[node.output];
  }
  for (std::vector<uint32_t>* list : {&payload_.input_ids, &payload_.output_ids}) {
    for (uint32_t& id : *list) id = ids[id];
  }
}

// Numbers the origins in the order of the remaining nodes.
void Lowering::number_origins() {
  std::map<const void*, uint32_t> handles;
  for (PayloadNode& node : payload_.nodes) {
    const compiler::OriginPtr& origin = origins_.at(node.output);
    if (!origin) continue;
    const auto [handle, fresh] = handles.try_emplace(origin.get(), static_cast<uint32_t>(delegate_.origins.size()));
    if (fresh) delegate_.origins.push_back(origin);
    node.debug_handle = handle->second;
  }
}

// Lists the constants in the order of the values that hold them, the same in the payload and in the delegate.
void Lowering::list_constants() {
  std::vector<uint32_t> places(constants_.size(), 0);
  payload_.constants.emplace_back();
  for (PayloadValue& value : payload_.values) {
    for (uint32_t* index : {&value.constant, &value.quantization.scale_constant}) {
      if (*index == 0) continue;
      uint32_t& place = places[*index - 1];
      if (place == 0) {
        place = static_cast<uint32_t>(payload_.constants.size());
        payload_.constants.push_back({constants_[*index - 1].key, 0, 0});
        delegate_.constants.push_back(std::move(constants_[*index - 1]));
      }
      *index = place;
    }
  }
}

void Lowering::separate_weights() {
  const auto is_weight = [](const PayloadNode& node, size_t input) {
    const bool packs = node.type == NodeType::fully_connected || node.type == NodeType::conv_2d ||
                       node.type == NodeType::depthwise_conv_2d || node.type == NodeType::conv_transpose_2d ||
                       node.type == NodeType::batch_matrix_multiply;
    return packs && input > 0;
  };
  std::set<uint32_t> weights;
  for (const PayloadNode& node : payload_.nodes) {
    for (size_t i = 0; i < std::size(node.inputs); ++i) {
      if (node.inputs[i] != kNoValue && is_weight(node, i)) weights.insert(node.inputs[i]);
    }
  }
  std::map<uint32_t, uint32_t> plain;
  for (PayloadNode& node : payload_.nodes) {
    for (size_t i = 0; i < std::size(node.inputs); ++i) {
      const uint32_t id = node.inputs[i];
      if (id == kNoValue || is_weight(node, i) || payload_.values[id].constant == 0 || !weights.count(id)) continue;
      const auto [copy, fresh] = plain.try_emplace(id, static_cast<uint32_t>(payload_.values.size()));
      if (fresh) {
        payload_.values.push_back(PayloadValue(payload_.values[id]));
        shapes_.push_back(Sizes(shapes_[id]));
      }
      node.inputs[i] = copy->second;
    }
  }
}

}  // namespace wick::xnnpack
