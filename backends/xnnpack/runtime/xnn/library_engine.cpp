#include "backends/xnnpack/runtime/xnn/library_engine.h"

#include <string.h>

#include <new>

#include "backends/xnnpack/runtime/xnn/library_nodes.h"
#include "wick/xnnpack_backend.h"

namespace wick::xnnpack {

static_assert(XNN_EXTRA_BYTES <= kReadBeyondBytes);
static_assert(XNN_MAX_TENSOR_DIMS == kMaxRank);

namespace {

constexpr uint32_t kNone = UINT32_MAX;

template <typename... Parts>
Error fail(const BackendInit& context, Error error, Parts... parts) {
  if (context.text()) context.text()->append(parts...);
  return error;
}

Error fail_value(const BackendInit& context, uint32_t value, const char* message) {
  return fail(context, Error::DelegateInvalidCompatibility, "value ", value, ": ", message);
}

/// A bias and its kind may be absent: then `value` is kNoValue.
void append_value(std::string* text, const Payload& payload, const ValueDims& dims, uint32_t value) {
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

/// The work of a node, in multiplications. Reshapes cost nothing.
uint64_t work_of(const PayloadNode& node, const ValueDims& dims) {
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

bool pays_threads(const Payload& payload, const ValueDims& dims) {
  constexpr double kWorth = 1 << 19;  // some ten microseconds
  double work = 0, waits = 0;
  for (const PayloadNode& node : payload.nodes) {
    const uint64_t each = work_of(node, dims);
    work += static_cast<double>(each);
    waits += each != 0 ? 1 : 0;
  }
  return work >= kWorth * waits;
}

LibraryEngine::~LibraryEngine() {
  // The library frees one buffer per image of the last sizes. It allocated those of the first sizes, so sets these
  // again.
  if (runtime_ && !images_.empty()) (void)propagate(first_dims_);
  if (graph_) xnn_delete_subgraph(graph_);
  if (runtime_) xnn_delete_runtime(runtime_);
}

xnn_status LibraryEngine::define_tensor(const Build& build, uint32_t value, const PayloadConstants::Bytes& constant) {
  const PayloadValue& v = payload_->values[value];
  const Quantization& q = v.quantization;
  const xnn_datatype type = library_type(v.type);
  const std::vector<size_t> sizes(build.dims[value].begin(), build.dims[value].end());
  const size_t rank = sizes.size(), channel = static_cast<size_t>(q.channel_dim);
  const size_t* dims = sizes.data();
  const void* data = v.constant != 0 ? constant.data.data() : nullptr;
  const uint32_t flags =
      (v.is_input ? XNN_VALUE_FLAG_EXTERNAL_INPUT : 0) | (v.is_output ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT : 0);
  const uint32_t external_id = flags != 0 ? v.external_id : XNN_INVALID_VALUE_ID;
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
                                                              reinterpret_cast<const float*>(constant.scales.data()),
                                                              rank, channel, dims, data, external_id, flags, id);
    case Quantization::Kind::per_group:
      return xnn_define_blockwise_quantized_tensor_value(
          graph_, type, zero_point, reinterpret_cast<const uint16_t*>(constant.scales.data()), rank, channel,
          q.group_size, dims, data, external_id, flags, id);
    case Quantization::Kind::per_token:
      return xnn_define_dynamically_quantized_tensor_value(graph_, type, rank, q.num_nonbatch_dims, dims, external_id,
                                                           flags, id);
  }
  return xnn_status_invalid_parameter;
}

Error LibraryEngine::define_value(const Build& build, uint32_t value) {
  const PayloadValue& v = payload_->values[value];
  if (library_type(v.type) == xnn_datatype_invalid) {
    return fail_value(build.context, value, "the library lacks its element type");
  }
#ifdef WICK_SYSTEM_XNNPACK
  // Without Wick's edits the library's kernels for older processors use aligned loads for data that is not aligned.
  if (v.constant != 0 && v.quantization.kind == Quantization::Kind::per_group && !xnnpack_has_all_kernels()) {
    return fail_value(build.context, value, "4-bit weights in blocks take AVX2, FMA and F16C");
  }
#endif
  if (v.constant != 0) {
    const Error error = build.input.constants.find(build.context, value, build.dims[value], &constants_[value]);
    if (error != Error::Ok) return error;
  }
  const xnn_status status = define_tensor(build, value, constants_[value]);
  return status == xnn_status_success ? Error::Ok : fail_value(build.context, value, "the library refuses it");
}

Error LibraryEngine::define_values(const Build& build) {
  const LiveNodes& nodes = build.input.nodes;
  for (uint32_t v = 0; v < payload_->values.size(); ++v) {
    const bool is_external = payload_->values[v].is_input || payload_->values[v].is_output;
    if (is_external) externals_.push_back(v);
    if (nodes.representative(v) != v || (!is_external && !nodes.is_read(v) && !nodes.is_written(v))) continue;
    const Error error = define_value(build, v);
    if (error != Error::Ok) return error;
  }
  for (uint32_t v = 0; v < ids_.size(); ++v) ids_[v] = ids_[nodes.representative(v)];
  return Error::Ok;
}

void LibraryEngine::describe_weights(const Build& build, const PayloadNode& node) {
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
    append_value(&source.parameters, *payload_, build.dims, value);
  }
  source.filter = constants_[filter].data;
  source.filter_scales = constants_[filter].scales;
  if (bias != kNoValue) {
    source.bias = constants_[bias].data;
    source.bias_scales = constants_[bias].scales;
  }
  weights_.describe(source);
}

Error LibraryEngine::define_node(const Build& build, const PayloadNode& node) {
  // The library accepts the node and then writes to a table that it never allocated.
  const bool has_no_table =
      node.type == NodeType::conv_transpose_2d && payload_->values[node.inputs[0]].type == DataType::qdint8;
  const xnn_status status = has_no_table ? xnn_status_unsupported_parameter : xnnpack::define_node(graph_, node, ids_);
  if (status != xnn_status_success) {
    return fail(build.context, Error::DelegateInvalidCompatibility, "node ",
                static_cast<uint64_t>(&node - payload_->nodes.data()), " (", name_of(node.type),
                "): the XNNPACK library refuses it: ", status_text(status));
  }
  if (!tracer_) return Error::Ok;
  defined_.push_back(node);
  if (adds_clamp(node)) {
    defined_.push_back(node);
    defined_.back().type = NodeType::clamp;
  }
  return Error::Ok;
}

Error LibraryEngine::define_nodes(const Build& build) {
  for (size_t i = 0; i < payload_->nodes.size(); ++i) {
    if (!build.input.nodes.is_live(i)) continue;
    const PayloadNode& node = payload_->nodes[i];
    const Error error = define_node(build, node);
    if (error != Error::Ok) return error;
    describe_weights(build, node);
  }
  return Error::Ok;
}

Error LibraryEngine::make_runtime(const Build& build) {
  const BackendInit& context = build.context;
  if (context.parallelism() && pays_threads(*payload_, build.dims)) {
    pool_ = shared_pool(context.parallelism()->num_threads());
  }
  const uint32_t flags = tracer_ ? XNN_FLAG_BASIC_PROFILING : 0;
  const xnn_status status =
      xnn_create_runtime_v4(graph_, weights_.provider(), workspace_.get(), pool_.get(), flags, &runtime_);
  if (status != xnn_status_success) {
    runtime_ = nullptr;
    const Error error = status == xnn_status_out_of_memory ? Error::DelegateMemoryAllocationFailed
                                                           : Error::DelegateInvalidCompatibility;
    return fail(context, error, "the XNNPACK library cannot build the graph: ", status_text(status));
  }
  if (tracer_) {
    times_ = std::make_unique<OperatorTimes>();
    if (!times_->init(runtime_, defined_)) times_.reset();
    defined_.clear();
  }
  return Error::Ok;
}

/// Plans for the largest dims, so that calls allocate nothing.
Error LibraryEngine::plan_memory(const Build& build) {
  (void)keeps_images(build.dims);
  (void)keeps_channels(build.dims);
  if (!images_.empty()) first_dims_ = build.dims;
  constexpr Error kError = Error::DelegateInvalidCompatibility;
  if (!propagate(build.dims)) return fail(build.context, kError, "the XNNPACK library cannot work out the shapes");
  const uint32_t other = find_other_shape(build.dims);
  if (other == kNone) return Error::Ok;
  return fail_value(build.context, other, "the XNNPACK library gives it a different shape");
}

Error LibraryEngine::build(const BackendInit& context, const EngineInput& input, const ValueDims& dims) {
  const Build build = {context, input, dims};
  payload_ = &input.payload;
  if (context.tracer() && context.tracer()->delegate_event) tracer_ = context.tracer();
  constants_.assign(payload_->values.size(), {});
  ids_.assign(payload_->values.size(), XNN_INVALID_VALUE_ID);
  if (xnn_initialize(&library_allocator()) != xnn_status_success) {
    return fail(context, Error::DelegateInvalidCompatibility, "the XNNPACK library does not support this processor");
  }
  workspace_ = shared_workspace(context.instance());
  constexpr size_t kManyNodes = 128, kBytesPerNode = 4096;
  if (payload_->nodes.size() >= kManyNodes) arena_ = std::make_unique<Arena>(payload_->nodes.size() * kBytesPerNode);
  {
    const ArenaScope scope(arena_.get());
    if (!workspace_ || xnn_create_subgraph(payload_->num_externals, 0, &graph_) != xnn_status_success) {
      return fail(context, Error::DelegateMemoryAllocationFailed, "no memory for the graph");
    }
    Error error = define_values(build);
    if (error != Error::Ok) return error;
    const size_t constant_bytes = input.constants.size_bytes();
    weights_.expect(constant_bytes + constant_bytes / 8);  // packed, they take a little more
    error = define_nodes(build);
    if (error == Error::Ok) error = make_runtime(build);
    if (error != Error::Ok) return error;
    xnn_delete_subgraph(graph_);
    graph_ = nullptr;
    weights_.finish();
    bindings_.reserve(externals_.size());
    if (arena_) arena_->trim();
  }
  return plan_memory(build);
}

/// The library keeps one buffer per image for the padding of convolutions over inputs quantized at run time. It
/// allocates them when the image size changes. It frees one per current image when the size changes again, and at the
/// end, so their number must be the same then. Fewer images than at first do no harm while their size stays.
bool LibraryEngine::keeps_images(const ValueDims& dims) {
  std::vector<Images> next;
  for (const PayloadNode& node : payload_->nodes) {
    const std::vector<uint32_t>& in = dims[node.inputs[0]];
    if (node.type != NodeType::conv_2d || payload_->values[node.inputs[0]].type != DataType::qdint8) continue;
    next.push_back({in[0], in[1], in[2]});
    if (images_.size() < next.size()) continue;  // the first call
    const Images& last = images_[next.size() - 1];
    const bool same_size = last.height == in[1] && last.width == in[2];
    if (same_size ? in[0] > last.count : in[0] != last.count) return false;
    next.back().count = last.count;
  }
  images_ = std::move(next);
  return true;
}

/// Whether each node that keeps pointers has as many channels as when it made them, or makes new ones.
bool LibraryEngine::keeps_channels(const ValueDims& dims) {
  if (lost_pixels_) return false;
  std::vector<Pixels> next;
  for (const PayloadNode& node : payload_->nodes) {
    if (!keeps_pointers(node.type)) continue;
    const std::vector<uint32_t>& in = dims[node.inputs[0]];
    const Pixels* last = next.size() < pixels_.size() ? &pixels_[next.size()] : nullptr;
    if (last && last->height == in[1] && last->width == in[2] && last->channels != in[3]) return false;
    next.push_back({in[1], in[2], in[3]});
  }
  pixels_ = std::move(next);
  return true;
}

/// Hands the inputs' dims to the library.
bool LibraryEngine::propagate(const ValueDims& dims) {
  for (const uint32_t value : externals_) {
    if (!payload_->values[value].is_input) continue;
    size_t sizes[XNN_MAX_TENSOR_DIMS] = {};
    for (size_t i = 0; i < dims[value].size(); ++i) sizes[i] = dims[value][i];
    if (xnn_reshape_external_value(runtime_, payload_->values[value].external_id, dims[value].size(), sizes) !=
        xnn_status_success) {
      return false;
    }
  }
  return xnn_reshape_runtime(runtime_) == xnn_status_success;
}

/// An output to which the library gives other dims, or kNone.
uint32_t LibraryEngine::find_other_shape(const ValueDims& dims) const {
  for (const uint32_t value : externals_) {
    if (payload_->values[value].is_input) continue;
    size_t rank = 0, sizes[XNN_MAX_TENSOR_DIMS] = {};
    const xnn_status status = xnn_get_external_value_shape(runtime_, payload_->values[value].external_id, &rank, sizes);
    bool same = status == xnn_status_success && rank == dims[value].size();
    for (size_t i = 0; same && i < rank; ++i) same = sizes[i] == dims[value][i];
    if (!same) return value;
  }
  return kNone;
}

EngineFailure LibraryEngine::reshape(const ValueDims& dims) {
  if (!keeps_images(dims)) {
    return {Error::NotSupported,
            "the XNNPACK library cannot change number and size of the images of a convolution that is quantized at run "
            "time"};
  }
  if (!keeps_channels(dims)) {
    return {
        Error::NotSupported,
        "the XNNPACK library cannot change the number of channels of a max pooling or resize whose height and width "
        "stay"};
  }
  if (!propagate(dims)) {
    for (Images& images : images_) images.height = 0;  // not known any more
    lost_pixels_ = !pixels_.empty();
    return {Error::NotSupported, "the XNNPACK library does not take these input sizes"};
  }
  if (find_other_shape(dims) != kNone) return {Error::Internal, "the XNNPACK library gives a value a different shape"};
  return {};
}

EngineFailure LibraryEngine::bind(Span<const Binding> bindings) {
  bindings_.resize(bindings.size());
  for (size_t i = 0; i < bindings.size(); ++i) bindings_[i] = {bindings[i].external_id, bindings[i].data};
  if (xnn_setup_runtime_v2(runtime_, bindings_.size(), bindings_.data()) == xnn_status_success) return {};
  return {Error::Internal, "the XNNPACK library cannot set up its operators"};
}

EngineFailure LibraryEngine::run() {
  if (xnn_invoke_runtime(runtime_) == xnn_status_success) return {};
  return {Error::Internal, "the XNNPACK library failed"};
}

std::unique_ptr<Engine> make_engine() { return std::unique_ptr<Engine>(new (std::nothrow) LibraryEngine); }

}  // namespace wick::xnnpack
