#include "backends/xnnpack/runtime/xnn/library_graph.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backends/xnnpack/runtime/runtime_nodes.h"
#include "wick/xnnpack_backend.h"

namespace wick::xnnpack {
namespace {

constexpr size_t kPageBytes = 4096;

Error fail(const BackendInit& context, Error error, const char* message) {
  if (context.text()) context.text()->append(message);
  return error;
}

size_t element_bytes(DataType type) {
  switch (type) {
    case DataType::fp16:
    case DataType::bf16: return 2;
    case DataType::fp32:
    case DataType::qint32:
    case DataType::qcint32:
    case DataType::int32: return 4;
    default: return 1;
  }
}

/// A bias and its kind may be absent: then `value` is kNoValue.
void append_value(std::string* text, const Payload& payload, const Dims& dims, uint32_t value) {
  const auto number = [&](uint64_t n) { *text += std::to_string(n) + ','; };
  const auto real = [&](float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    number(bits);
  };
  if (value == kNoValue) {
    *text += "-;";
    return;
  }
  const PayloadValue& v = payload.values[value];
  number(static_cast<uint64_t>(v.type));
  const Quantization& q = v.quantization;
  number(static_cast<uint64_t>(q.kind));
  real(q.scale);
  number(static_cast<uint32_t>(q.zero_point));
  number(static_cast<uint32_t>(q.channel_dim));
  number(q.group_size);
  number(q.num_nonbatch_dims);
  // The sizes of activations do not matter to packed weights.
  if (v.constant != 0) {
    for (const uint32_t dim : dims[value]) number(dim);
  }
  *text += ';';
}

uint64_t count_of(const std::vector<uint32_t>& dims) {
  uint64_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  return count;
}

/// Multiplications of a node, or what takes as long. Reshapes take nothing.
uint64_t work_of(const PayloadNode& node, const Dims& dims) {
  constexpr uint64_t kPerElement = 16;  // memory is slower than arithmetic
  const uint64_t outputs = count_of(dims[node.output]);
  switch (node.type) {
    case NodeType::static_reshape: return 0;
    case NodeType::fully_connected:
    case NodeType::batch_matrix_multiply:
      return outputs * (dims[node.inputs[0]].empty() ? 1 : dims[node.inputs[0]].back());
    case NodeType::conv_2d:
    case NodeType::depthwise_conv_2d:
    case NodeType::conv_transpose_2d:
      return outputs * node.window.kernel[0] * node.window.kernel[1] * node.group_input_channels;
    default: return outputs * kPerElement;
  }
}

}  // namespace

bool pays_threads(const Payload& payload, const Dims& dims) {
  constexpr double kWorth = 1 << 19;  // some ten microseconds
  double work = 0, waits = 0;
  for (const PayloadNode& node : payload.nodes) {
    const uint64_t each = work_of(node, dims);
    work += static_cast<double>(each);
    waits += each != 0 ? 1 : 0;
  }
  return work >= kWorth * waits;
}

bool can_read_beyond(const void* data, size_t size_bytes) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + size_bytes;
  if (end % kPageBytes != 0 && end % kPageBytes <= kPageBytes - XNN_EXTRA_BYTES) return true;
  // The bytes lie on another page. The kernel tells whether it is there; where it may not be asked, the answer is no.
  char bytes[XNN_EXTRA_BYTES];
  const iovec local = {bytes, sizeof bytes};
  const iovec remote = {reinterpret_cast<void*>(end), sizeof bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof bytes);
}

LibraryGraph::~LibraryGraph() {
  if (graph_) xnn_delete_subgraph(graph_);
  if (runtime_) xnn_delete_runtime(runtime_);
}

Error LibraryGraph::fail_value(uint32_t value, const char* message) {
  if (context_->text()) context_->text()->append("value ", value, ": ", message);
  return Error::DelegateInvalidCompatibility;
}

Span<uint8_t> LibraryGraph::own(size_t size_bytes) {
  owned_.emplace_back(size_bytes + XNN_EXTRA_BYTES);
  return {owned_.back().data(), size_bytes};
}

Span<const uint8_t> LibraryGraph::safe_to_read(Span<const uint8_t> bytes, size_t alignment) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0 && can_read_beyond(bytes.data(), bytes.size())) {
    return bytes;
  }
  const Span<uint8_t> copy = own(bytes.size());
  if (!bytes.empty()) memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

Error LibraryGraph::resolve(uint32_t index, Span<const uint8_t>* bytes) {
  Constant& constant = constants_[index];
  if (!constant.resolved) {
    const PayloadConstant& said = payload_->constants[index];
    if (said.key.empty()) {
      if (said.offset > payload_->region.size() || said.size_bytes > payload_->region.size() - said.offset) {
        return fail(*context_, Error::DelegateInvalidCompatibility, "a constant lies outside the payload");
      }
      constant.bytes = payload_->region.subspan(static_cast<size_t>(said.offset), static_cast<size_t>(said.size_bytes));
    } else {
      const Result<Span<const uint8_t>> found = context_->named_data(said.key.c_str());
      if (!found.ok()) {
        if (context_->text()) {
          context_->text()->append("the data named ", said.key.c_str(),
                                   " is neither in the program nor in a .ptd file");
        }
        return Error::DelegateInvalidCompatibility;
      }
      constant.bytes = *found;
    }
    constant.resolved = true;
  }
  *bytes = constant.bytes;
  return Error::Ok;
}

Error LibraryGraph::constant_data(uint32_t value, Span<const uint8_t>* bytes) {
  const PayloadValue& v = payload_->values[value];
  const Error error = resolve(v.constant, bytes);
  if (error != Error::Ok) return error;
  uint64_t size = 0;
  if (!size_of(v, &size) || size != bytes->size()) {
    if (context_->text()) {
      context_->text()->append("value ", value, ": its constant has ", static_cast<uint64_t>(bytes->size()),
                               " bytes, not ", size);
    }
    return Error::DelegateInvalidCompatibility;
  }
  if (v.type == DataType::bf16) {
    const Span<uint8_t> wide = own(bytes->size() * 2);
    for (size_t i = 0; i < bytes->size() / 2; ++i) {
      memset(wide.data() + 4 * i, 0, 2);
      memcpy(wide.data() + 4 * i + 2, bytes->data() + 2 * i, 2);
    }
    *bytes = wide;
  } else {
    *bytes = safe_to_read(*bytes, element_bytes(v.type));
  }
  return Error::Ok;
}

Error LibraryGraph::scale_data(uint32_t value, uint64_t count, size_t element, Span<const uint8_t>* bytes) {
  const Quantization& q = payload_->values[value].quantization;
  if (q.scale_constant == 0) {
    if (q.inline_scales.size() != count) return fail_value(value, "the number of its scales does not fit");
    const Span<uint8_t> copy = own(static_cast<size_t>(count) * element);
    for (size_t i = 0; i < count; ++i) {
      float scale = q.inline_scales[i];
      if (element == 2) {
        // Old files hold groups' scales as fp32; half a unit of bf16, then truncation, rounds them.
        scale *= 1.00389105f;
        memcpy(copy.data() + 2 * i, reinterpret_cast<const uint8_t*>(&scale) + 2, 2);
      } else {
        memcpy(copy.data() + 4 * i, &scale, 4);
      }
    }
    *bytes = copy;
    return Error::Ok;
  }
  const Error error = resolve(q.scale_constant, bytes);
  if (error != Error::Ok) return error;
  if (bytes->size() != count * element) {
    if (context_->text()) {
      context_->text()->append("value ", value, ": its scales have ", static_cast<uint64_t>(bytes->size()),
                               " bytes, not ", count * element);
    }
    return Error::DelegateInvalidCompatibility;
  }
  *bytes = safe_to_read(*bytes, element);
  return Error::Ok;
}

bool LibraryGraph::same_storage(uint32_t a, uint32_t b) const {
  const PayloadValue &x = payload_->values[a], &y = payload_->values[b];
  return x.type == y.type && x.quantization.kind == y.quantization.kind &&
         x.quantization.scale == y.quantization.scale && x.quantization.zero_point == y.quantization.zero_point &&
         (*dims_)[a] == (*dims_)[b];
}

uint32_t LibraryGraph::representative(uint32_t value) const {
  while (alias_[value] != value) value = alias_[value];
  return value;
}

/// Leaves out nodes that nothing reads, and copies that can be spared: the library's own removal of nodes is not sound
/// in all builds.
void LibraryGraph::select_nodes() {
  const std::vector<PayloadNode>& nodes = payload_->nodes;
  std::vector<bool> wanted(payload_->values.size());
  for (uint32_t v = 0; v < payload_->values.size(); ++v) {
    alias_[v] = v;
    wanted[v] = payload_->values[v].is_output;
  }
  std::vector<uint32_t> readers(payload_->values.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    const PayloadNode& node = nodes[i];
    is_live_[i] = wanted[node.output] || (node.output_index != kNoValue && wanted[node.output_index]);
    if (!is_live_[i]) continue;
    wanted[node.output] = true;
    if (node.output_index != kNoValue) wanted[node.output_index] = true;
    for (const uint32_t input : node.inputs) {
      if (input == kNoValue) continue;
      wanted[input] = true;
      ++readers[input];
    }
  }
  const auto is_internal = [&](uint32_t v) {
    const PayloadValue& value = payload_->values[v];
    return !value.is_input && !value.is_output && value.constant == 0;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PayloadNode& node = nodes[i];
    if (!is_live_[i] || node.type != NodeType::copy || !same_storage(node.inputs[0], node.output)) continue;
    const uint32_t from = representative(node.inputs[0]);
    if (is_internal(node.output)) {
      alias_[node.output] = from;
    } else if (is_internal(from)) {
      alias_[from] = node.output;  // its producer writes the output itself
    } else {
      continue;
    }
    is_live_[i] = false;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!is_live_[i]) continue;
    is_written_[representative(nodes[i].output)] = true;
    if (nodes[i].output_index != kNoValue) is_written_[representative(nodes[i].output_index)] = true;
    for (const uint32_t input : nodes[i].inputs) {
      if (input != kNoValue) is_read_[representative(input)] = true;
    }
  }
}

xnn_status LibraryGraph::define_quantized(uint32_t value, const size_t* dims, const void* data, uint32_t external_id,
                                          uint32_t flags) {
  const PayloadValue& v = payload_->values[value];
  const Quantization& q = v.quantization;
  const xnn_datatype type = library_type(v.type);
  const size_t rank = (*dims_)[value].size();
  const size_t channel = static_cast<size_t>(q.channel_dim);
  // 4-bit weights are stored with 8 added.
  const int32_t zero_point = v.type == DataType::qcint4 || v.type == DataType::qbint4 ? 8 : 0;
  uint32_t* id = &ids_[value];
  switch (q.kind) {
    case Quantization::Kind::none:
      return xnn_define_tensor_value(graph_, type, rank, dims, data, external_id, flags, id);
    case Quantization::Kind::per_tensor:
      return xnn_define_quantized_tensor_value(graph_, type, q.zero_point, q.scale, rank, dims, data, external_id,
                                               flags, id);
    case Quantization::Kind::per_channel:
      return xnn_define_channelwise_quantized_tensor_value_v2(graph_, type, zero_point,
                                                              reinterpret_cast<const float*>(scales_[value].data()),
                                                              rank, channel, dims, data, external_id, flags, id);
    case Quantization::Kind::per_group:
      return xnn_define_blockwise_quantized_tensor_value(graph_, type, zero_point,
                                                         reinterpret_cast<const uint16_t*>(scales_[value].data()), rank,
                                                         channel, q.group_size, dims, data, external_id, flags, id);
    case Quantization::Kind::per_token:
      return xnn_define_dynamically_quantized_tensor_value(graph_, type, rank, q.num_nonbatch_dims, dims, external_id,
                                                           flags, id);
  }
  return xnn_status_invalid_parameter;
}

Error LibraryGraph::define_value(uint32_t value) {
  const PayloadValue& v = payload_->values[value];
  const std::vector<uint32_t>& shape = (*dims_)[value];
  const std::vector<size_t> dims(shape.begin(), shape.end());
  if (library_type(v.type) == xnn_datatype_invalid) return fail_value(value, "the library lacks its element type");
  if (v.constant != 0) {
    Error error = constant_data(value, &data_[value]);
    const Quantization& q = v.quantization;
    if (error == Error::Ok && q.kind == Quantization::Kind::per_channel) {
      if (q.channel_dim < 0 || static_cast<size_t>(q.channel_dim) >= shape.size()) {
        return fail_value(value, "its channel dimension is out of range");
      }
      error = scale_data(value, shape[static_cast<size_t>(q.channel_dim)], sizeof(float), &scales_[value]);
    } else if (error == Error::Ok && q.kind == Quantization::Kind::per_group) {
      uint64_t elements = 1;
      for (const size_t dim : dims) elements *= dim;
      if (q.group_size == 0 || q.channel_dim < 0) return fail_value(value, "its groups are not valid");
      // The library's kernels for lesser processors load what is not aligned as if it were.
      if (!xnnpack_has_all_kernels()) return fail_value(value, "4-bit weights in blocks take AVX2, FMA and F16C");
      error = scale_data(value, elements / q.group_size, sizeof(uint16_t), &scales_[value]);
    }
    if (error != Error::Ok) return error;
  }
  const uint32_t flags =
      (v.is_input ? XNN_VALUE_FLAG_EXTERNAL_INPUT : 0) | (v.is_output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : 0);
  const xnn_status status = define_quantized(value, dims.data(), v.constant != 0 ? data_[value].data() : nullptr,
                                             flags != 0 ? v.external_id : XNN_INVALID_VALUE_ID, flags);
  return status == xnn_status_success ? Error::Ok : fail_value(value, "the library refuses it");
}

void LibraryGraph::describe_weights(const PayloadNode& node) {
  switch (node.type) {
    case NodeType::fully_connected:
    case NodeType::conv_2d:
    case NodeType::depthwise_conv_2d:
    case NodeType::conv_transpose_2d: break;
    default: return;
  }
  const uint32_t filter = node.inputs[1], bias = node.inputs[2];
  if (payload_->values[filter].constant == 0) return;
  if (bias != kNoValue && payload_->values[bias].constant == 0) return;
  WeightsSource source;
  for (const uint32_t n :
       {static_cast<uint32_t>(node.type), node.flags, node.groups, node.group_input_channels,
        node.group_output_channels, node.window.kernel[0], node.window.kernel[1], node.window.stride[0],
        node.window.stride[1], node.window.dilation[0], node.window.dilation[1], node.window.pad_top,
        node.window.pad_right, node.window.pad_bottom, node.window.pad_left}) {
    source.parameters += std::to_string(n) + ',';
  }
  for (const uint32_t value : {node.inputs[0], filter, bias, node.output}) {
    append_value(&source.parameters, *payload_, *dims_, value);
  }
  source.filter = data_[filter];
  source.filter_scales = scales_[filter];
  if (bias != kNoValue) {
    source.bias = data_[bias];
    source.bias_scales = scales_[bias];
  }
  weights_.describe(source);
}

Error LibraryGraph::fail_node(const PayloadNode& node, xnn_status status) {
  if (context_->text()) {
    context_->text()->append("node ", static_cast<uint64_t>(&node - payload_->nodes.data()), " (", name_of(node.type),
                             "): the XNNPACK library refuses it: ", status_text(status));
  }
  return Error::DelegateInvalidCompatibility;
}

Error LibraryGraph::define_node(const PayloadNode& node) {
  // The library takes it and then writes to a table that it never made.
  if (node.type == NodeType::conv_transpose_2d && payload_->values[node.inputs[0]].type == DataType::qdint8) {
    return fail_node(node, xnn_status_unsupported_parameter);
  }
  const xnn_status status = xnnpack::define_node(graph_, node, ids_);
  if (status != xnn_status_success) return fail_node(node, status);
  if (!tracer_) return Error::Ok;
  defined_.push_back(node);
  if (adds_clamp(node)) {
    defined_.push_back(node);
    defined_.back().type = NodeType::clamp;
  }
  return Error::Ok;
}

Error LibraryGraph::define_nodes() {
  for (size_t i = 0; i < payload_->nodes.size(); ++i) {
    if (!is_live_[i]) continue;
    const PayloadNode& node = payload_->nodes[i];
    const Error error = define_node(node);
    if (error != Error::Ok) return error;
    describe_weights(node);
  }
  return Error::Ok;
}

Error LibraryGraph::make_runtime() {
  const BackendInit& context = *context_;
  if (context.parallelism() && pays_threads(*payload_, *dims_)) {
    pool_ = shared_pool(context.parallelism()->num_threads());
  }
  const uint32_t flags = tracer_ ? XNN_FLAG_BASIC_PROFILING : 0;
  const xnn_status status =
      xnn_create_runtime_v4(graph_, weights_.provider(), workspace_.get(), pool_.get(), flags, &runtime_);
  if (status != xnn_status_success) {
    runtime_ = nullptr;
    if (context.text()) context.text()->append("the XNNPACK library cannot build the graph: ", status_text(status));
    return status == xnn_status_out_of_memory ? Error::DelegateMemoryAllocationFailed
                                              : Error::DelegateInvalidCompatibility;
  }
  if (tracer_) {
    times_ = std::make_unique<OperatorTimes>();
    if (!times_->init(runtime_, defined_)) times_.reset();
    defined_.clear();
  }
  return Error::Ok;
}

/// Packed, weights take a little more.
size_t LibraryGraph::bytes_of_constants() const {
  size_t sum = 0;
  for (const Constant& constant : constants_) sum += constant.bytes.size();
  return sum + sum / 8;
}

Error LibraryGraph::build(const BackendInit& context, const Payload& payload, const Dims& dims) {
  context_ = &context;
  payload_ = &payload;
  dims_ = &dims;
  if (context.tracer() && context.tracer()->delegate_event) tracer_ = context.tracer();
  const size_t num_values = payload.values.size();
  constants_.assign(payload.constants.size(), {});
  data_.assign(num_values, {});
  scales_.assign(num_values, {});
  is_live_.assign(payload.nodes.size(), false);
  is_read_.assign(num_values, false);
  is_written_.assign(num_values, false);
  alias_.assign(num_values, 0);
  ids_.assign(num_values, XNN_INVALID_VALUE_ID);

  if (xnn_initialize(&library_allocator()) != xnn_status_success) {
    return fail(context, Error::DelegateInvalidCompatibility, "the XNNPACK library does not support this processor");
  }
  workspace_ = shared_workspace(context.instance());
  constexpr size_t kManyNodes = 128, kBytesPerNode = 4096;
  if (payload.nodes.size() >= kManyNodes) arena_ = std::make_unique<Arena>(payload.nodes.size() * kBytesPerNode);
  const ArenaScope scope(arena_.get());
  if (!workspace_ || xnn_create_subgraph(payload.num_externals, 0, &graph_) != xnn_status_success) {
    return fail(context, Error::DelegateMemoryAllocationFailed, "no memory for the graph");
  }
  select_nodes();
  for (uint32_t v = 0; v < num_values; ++v) {
    const PayloadValue& value = payload.values[v];
    const bool is_external = value.is_input || value.is_output;
    if (representative(v) != v || (!is_external && !is_read_[v] && !is_written_[v])) continue;
    const Error error = define_value(v);
    if (error != Error::Ok) return error;
  }
  weights_.expect(bytes_of_constants());
  for (uint32_t v = 0; v < num_values; ++v) ids_[v] = ids_[representative(v)];
  Error error = define_nodes();
  if (error == Error::Ok) error = make_runtime();
  if (error != Error::Ok) return error;
  xnn_delete_subgraph(graph_);
  graph_ = nullptr;
  weights_.finish();
  if (arena_) arena_->trim();
  context_ = nullptr;
  payload_ = nullptr;
  dims_ = nullptr;
  return Error::Ok;
}

}  // namespace wick::xnnpack
