// Blob -> payload. Nothing in the blob is believed: regions, then FlatBuffers' verifier, then indices.
#include <string.h>

#include <algorithm>

#include "backends/xnnpack/payload/payload_generated.h"
#include "backends/xnnpack/payload/payload_header.h"
#include "backends/xnnpack/payload/payload_nodes.h"
#include "common/checked.h"
#include "common/float16.h"
#include "schema/header.h"

namespace wick::xnnpack {
namespace {

using flatbuffers::uoffset_t;

// The least number of bytes that each of these takes in a blob, including its entry in a list. A blob may name one
// table many times, but not more often than it could hold separate tables, so that work and memory stay linear in its
// size.
constexpr size_t kNodeBytes = 24, kValueBytes = 24, kConstantBytes = 12;

template <typename T>
uoffset_t count(const flatbuffers::Vector<T>* list) {
  return list ? list->size() : 0;
}

// Where the parts of a blob lie.
struct Parts {
  size_t tables_offset = 0, tables_size = 0;
  size_t region_offset = 0, region_size = 0;
};

Error locate(Span<const uint8_t> blob, Parts* parts, ErrorText* text) {
  if (!schema::has_magic(blob.data(), blob.size(), schema::kIdentifierOffset, kHeaderMagic)) {
    parts->tables_size = blob.size();
    return blob.size() >= 8 ? Error::Ok : refuse(text, "the payload is shorter than 8 bytes");
  }
  if (blob.size() < kHeaderLength) return refuse(text, "the payload ends inside its header");
  const uint8_t* header = blob.data();
  const size_t length = static_cast<size_t>(header[8] | header[9] << 8);
  parts->tables_offset = schema::read_u32(header + 10);
  parts->tables_size = schema::read_u32(header + 14);
  parts->region_offset = schema::read_u32(header + 18);
  const uint64_t region_size = schema::read_u64(header + 22);
  if (length < kHeaderLength || parts->tables_offset < length) {
    return refuse(text, "the payload's header is too short");
  }
  if (parts->tables_size < 8 || !range_fits(parts->tables_offset, parts->tables_size, blob.size())) {
    return refuse(text, "the payload's tables lie outside it");
  }
  if (parts->region_offset < parts->tables_offset + parts->tables_size) {
    return refuse(text, "the payload's constants lie before the end of its tables");
  }
  if (!range_fits(parts->region_offset, region_size, blob.size())) {
    return refuse(text, "the payload's constants lie outside it");
  }
  parts->region_size = static_cast<size_t>(region_size);
  return Error::Ok;
}

class Reader {
 public:
  Reader(Span<const uint8_t> blob, const Parts& parts, Payload* payload, ErrorText* text)
      : blob_(blob), parts_(parts), payload_(*payload), text_(text) {
    budget_ = static_cast<uint64_t>(parts.tables_size) + parts.tables_size / 4 + 4096;
  }

  Error run() {
    Error error = verify();
    if (error != Error::Ok) return error;
    if (!graph_->xnodes() || !graph_->xvalues()) return refuse(text_, "the payload has no nodes or no values");
    payload_.num_externals = graph_->num_externs();
    error = constants();
    payload_.values.reserve(std::min<uint64_t>(graph_->xvalues()->size(), budget_ / kValueBytes));
    for (uoffset_t i = 0; error == Error::Ok && i < graph_->xvalues()->size(); ++i) error = value(i);
    externals();
    payload_.nodes.reserve(std::min<uint64_t>(graph_->xnodes()->size(), budget_ / kNodeBytes));
    for (uoffset_t i = 0; error == Error::Ok && i < graph_->xnodes()->size(); ++i) error = node(i);
    return error == Error::Ok ? check_indices(payload_, text_) : error;
  }

 private:
  bool spend(size_t items, size_t each_bytes) {
    if (items > budget_ / each_bytes) return false;
    budget_ -= items * each_bytes;
    return true;
  }
  Error overspent() { return refuse(text_, "tables refer to more items than a payload of this size can hold"); }
  bool copy(const flatbuffers::Vector<uint32_t>* list, std::vector<uint32_t>* out) {
    if (!spend(count(list), sizeof(uint32_t))) return false;
    out->resize(count(list));
    for (uoffset_t i = 0; i < count(list); ++i) (*out)[i] = list->Get(i);
    return true;
  }
  // A list whose length is stated beside it.
  Error dims(const char* what, size_t index, uint32_t rank, const flatbuffers::Vector<uint32_t>* list,
             std::vector<uint32_t>* out) {
    if (rank > kMaxRank || count(list) != rank) {
      return refuse(text_, what, " ", static_cast<uint64_t>(index), ": a list of ", static_cast<uint64_t>(count(list)),
                    " sizes for rank ", rank, " (6 at most)");
    }
    return copy(list, out) ? Error::Ok : overspent();
  }

  Error verify();
  Error constants();
  Error inline_constants(const flatbuffers::Vector<flatbuffers::Offset<xnn::Buffer>>& buffers);
  Error value(uoffset_t index);
  void externals();
  Error tensor(size_t index, const xnn::TensorValue& tensor, PayloadValue* value);
  Error quantization(size_t index, const xnn::QuantizedTensorValue& table, Quantization* out);
  Error scales(size_t index, const flatbuffers::Vector<float>* list, uint32_t constant, Quantization* out);
  Error bf16_scales(const flatbuffers::Vector<uint16_t>& list, Quantization* out);
  Error node(uoffset_t index);
  Error shape_node(size_t index, const void* table, NodeLayout layout, PayloadNode* node);

  Span<const uint8_t> blob_;
  Parts parts_;
  Payload& payload_;
  ErrorText* text_;
  uint64_t budget_ = 0;
  std::vector<uint64_t> aligned_;  // the tables, where the blob's are misaligned
  const uint8_t* tables_ = nullptr;
  const xnn::Graph* graph_ = nullptr;
};

Error Reader::verify() {
  const uint8_t* tables = blob_.data() + parts_.tables_offset;
  const size_t size = parts_.tables_size;
  if (!schema::has_magic(tables, size, schema::kIdentifierOffset, kIdentifier) &&
      !schema::has_magic(tables, size, schema::kIdentifierOffset, kOldIdentifier)) {
    return refuse(text_, "the payload's tables are neither XN01 nor XN00");
  }
  if (size >= FLATBUFFERS_MAX_BUFFER_SIZE) return refuse(text_, "the payload's tables take 2 GiB or more");
  // The verifier checks offsets only: numbers are aligned if the tables are.
  if (reinterpret_cast<uintptr_t>(tables) % alignof(uint64_t) != 0) {
    aligned_.resize((size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    memcpy(aligned_.data(), tables, size);
    tables = reinterpret_cast<const uint8_t*>(aligned_.data());
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 64;
  options.max_tables = static_cast<uoffset_t>(size / 2 + 64);
  flatbuffers::Verifier verifier(tables, size, options);
  if (!verifier.VerifyBuffer<xnn::Graph>(nullptr)) return refuse(text_, "the payload's tables are corrupt");
  tables_ = tables;
  graph_ = flatbuffers::GetRoot<xnn::Graph>(tables);
  return Error::Ok;
}

Error Reader::constants() {
  const auto* entries = graph_->constant_data();
  if (!entries && graph_->constant_buffer()) return inline_constants(*graph_->constant_buffer());
  payload_.region = blob_.subspan(parts_.region_offset, parts_.region_size);
  if (!spend(count(entries), kConstantBytes)) return overspent();
  payload_.constants.resize(count(entries));
  for (uoffset_t i = 1; i < count(entries); ++i) {
    const xnn::ConstantDataOffset& entry = *entries->Get(i);
    PayloadConstant& constant = payload_.constants[i];
    constant.size_bytes = entry.size();
    if (!entry.named_key()) {
      constant.offset = entry.offset();
      continue;
    }
    if (entry.named_key()->size() == 0) return refuse(text_, "constant ", i, " has an empty name");
    if (!spend(entry.named_key()->size(), 1)) return overspent();
    constant.key.assign(entry.named_key()->c_str(), entry.named_key()->size());
  }
  return Error::Ok;
}

// The old form: bytes inside the tables. Entry 0 is reserved there, too.
Error Reader::inline_constants(const flatbuffers::Vector<flatbuffers::Offset<xnn::Buffer>>& buffers) {
  payload_.region = blob_.subspan(parts_.tables_offset, parts_.tables_size);
  if (!spend(buffers.size(), kConstantBytes)) return overspent();
  payload_.constants.resize(buffers.size());
  for (uoffset_t i = 1; i < buffers.size(); ++i) {
    const flatbuffers::Vector<uint8_t>* storage = buffers.Get(i)->storage();
    if (!storage) continue;
    payload_.constants[i].offset = static_cast<uint64_t>(storage->Data() - tables_);
    payload_.constants[i].size_bytes = storage->size();
  }
  return Error::Ok;
}

Error Reader::value(uoffset_t index) {
  if (!spend(1, kValueBytes)) return overspent();
  const xnn::Value& table = *graph_->xvalues()->Get(index);
  payload_.values.emplace_back();
  PayloadValue& value = payload_.values.back();
  if (table.xvalue_union_type() == xnn::ValueUnion::TensorValue && table.xvalue_union()) {
    return tensor(index, *table.xvalue_union_as_TensorValue(), &value);
  }
  if (table.xvalue_union_type() != xnn::ValueUnion::QuantizedTensorValue || !table.xvalue_union() ||
      !table.xvalue_union_as_QuantizedTensorValue()->tensor_value()) {
    return refuse(text_, "value ", index, " is of an unknown kind");
  }
  const xnn::QuantizedTensorValue& quantized = *table.xvalue_union_as_QuantizedTensorValue();
  const Error error = tensor(index, *quantized.tensor_value(), &value);
  return error == Error::Ok ? quantization(index, quantized, &value.quantization) : error;
}

Error Reader::tensor(size_t index, const xnn::TensorValue& tensor, PayloadValue* value) {
  const uint64_t i = index;
  if (tensor.datatype() <= 0 || tensor.datatype() > static_cast<int16_t>(DataType::bf16)) {
    return refuse(text_, "value ", i, " is of unknown data type ", static_cast<int32_t>(tensor.datatype()));
  }
  if (tensor.dq_datatype() != 0) {
    return refuse(text_, "value ", i, " is quantized on input in the form of XN00 (dq_datatype), which is not taken: ",
                  "export the model with a newer ExecuTorch");
  }
  if (tensor.id_out() != index) return refuse(text_, "value ", i, " says that it is value ", tensor.id_out());
  if (tensor.flags() > 3) return refuse(text_, "value ", i, " has unknown flags");
  value->type = static_cast<DataType>(tensor.datatype());
  value->constant = tensor.constant_buffer_idx();
  value->external_id = tensor.external_id();
  value->is_input = tensor.flags() & 1;
  value->is_output = tensor.flags() & 2;
  return dims("value", index, tensor.num_dims(), tensor.dims(), &value->dims);
}

// The lists in the tables may be in any order, and stock does not read them: the external ids decide.
void Reader::externals() {
  for (uint32_t id = 0; id < payload_.values.size(); ++id) {
    const PayloadValue& value = payload_.values[id];
    if (value.is_input) payload_.input_ids.push_back(id);
    if (value.is_output) payload_.output_ids.push_back(id);
  }
  const auto by_external_id = [this](uint32_t a, uint32_t b) {
    return payload_.values[a].external_id < payload_.values[b].external_id;
  };
  std::stable_sort(payload_.input_ids.begin(), payload_.input_ids.end(), by_external_id);
  std::stable_sort(payload_.output_ids.begin(), payload_.output_ids.end(), by_external_id);
}

Error Reader::scales(size_t index, const flatbuffers::Vector<float>* list, uint32_t constant, Quantization* out) {
  out->scale_constant = constant;
  if (constant != 0) return Error::Ok;
  if (count(list) == 0) return refuse(text_, "value ", static_cast<uint64_t>(index), " has no scales");
  if (!spend(list->size(), sizeof(float))) return overspent();
  for (uoffset_t i = 0; i < list->size(); ++i) out->inline_scales.push_back(list->Get(i));
  return Error::Ok;
}

// Old tables list them beside fp32 ones, which do not count then.
Error Reader::bf16_scales(const flatbuffers::Vector<uint16_t>& list, Quantization* out) {
  if (!spend(list.size(), sizeof(float))) return overspent();
  for (const uint16_t scale : list) out->inline_scales.push_back(float_from_bits(uint32_t{scale} << 16));
  return Error::Ok;
}

Error Reader::quantization(size_t index, const xnn::QuantizedTensorValue& table, Quantization* out) {
  if (table.quant_params()) {
    switch (table.quant_params_type()) {
      case xnn::QuantParams::PerTensorQuant: {
        const auto& q = *table.quant_params_as_PerTensorQuant();
        out->kind = Quantization::Kind::per_tensor;
        out->scale = q.scale();
        out->zero_point = q.zero_point();
        return Error::Ok;
      }
      case xnn::QuantParams::PerChannelQuant: {
        const auto& q = *table.quant_params_as_PerChannelQuant();
        out->kind = Quantization::Kind::per_channel;
        out->channel_dim = q.channel_dim();
        return scales(index, q.scale(), q.scale_buffer_idx(), out);
      }
      case xnn::QuantParams::PerTokenDynamicQuant: {
        const int32_t num_dims = table.quant_params_as_PerTokenDynamicQuant()->num_nonbatch_dims();
        out->kind = Quantization::Kind::per_token;
        out->num_nonbatch_dims = static_cast<uint32_t>(num_dims);
        return Error::Ok;
      }
      case xnn::QuantParams::PerChannelGroupQuant: {
        const auto& q = *table.quant_params_as_PerChannelGroupQuant();
        out->kind = Quantization::Kind::per_group;
        out->channel_dim = q.channel_dim();
        out->group_size = static_cast<uint32_t>(q.group_size());
        if (q.scale_buffer_idx() == 0 && count(q.scale_bf16()) != 0) return bf16_scales(*q.scale_bf16(), out);
        return scales(index, q.scale(), q.scale_buffer_idx(), out);
      }
      case xnn::QuantParams::NONE: break;
    }
  }
  return refuse(text_, "value ", static_cast<uint64_t>(index), " is quantized in an unknown way");
}

void read_convolution(const xnn::Convolution& t, PayloadNode* n) {
  n->window.pad_top = t.padding_top();
  n->window.pad_right = t.padding_right();
  n->window.pad_bottom = t.padding_bottom();
  n->window.pad_left = t.padding_left();
  n->window.kernel[0] = t.kernel_height();
  n->window.kernel[1] = t.kernel_width();
  n->window.stride[0] = t.subsampling_height();
  n->window.stride[1] = t.subsampling_width();
  n->window.dilation[0] = t.dilation_height();
  n->window.dilation[1] = t.dilation_width();
  n->window.adjustment[0] = t.adjustment_height();
  n->window.adjustment[1] = t.adjustment_width();
  n->groups = t.groups();
  n->group_input_channels = t.group_input_channels();
  n->group_output_channels = t.group_output_channels();
  n->inputs[0] = t.input1_id();
  n->inputs[1] = t.filter_id();
  n->inputs[2] = t.bias_id();
  n->output = t.output_id();
  n->flags = t.flags();
}

template <typename T>
void read_window(const T& t, PayloadNode* n) {
  n->window.pad_top = t.padding_top();
  n->window.pad_right = t.padding_right();
  n->window.pad_bottom = t.padding_bottom();
  n->window.pad_left = t.padding_left();
  n->window.kernel[0] = t.pooling_height();
  n->window.kernel[1] = t.pooling_width();
  n->inputs[0] = t.input_id();
  n->flags = t.flags();
}

void read_pooling(const xnn::Pooling& t, PayloadNode* n) {
  read_window(t, n);
  n->window.stride[0] = t.stride_height();
  n->window.stride[1] = t.stride_width();
  n->window.dilation[0] = t.dilation_height();
  n->window.dilation[1] = t.dilation_width();
  n->output = t.output_id();
}

void read_arg_max(const xnn::ArgMaxPooling& t, PayloadNode* n) {
  read_window(t, n);
  n->output = t.output_value_id();
  n->output_index = t.output_index_id();
}

void read_concatenate(const xnn::Concatenate& t, size_t num_inputs, PayloadNode* n) {
  const uint32_t ids[] = {t.input1_id(), t.input2_id(), t.input3_id(), t.input4_id(), t.input5_id()};
  for (size_t i = 0; i < num_inputs; ++i) n->inputs[i] = ids[i];
  n->axis = t.axis();
  n->output = t.output_id();
  n->flags = t.flags();
}

// Tables with one input and one output.
template <typename T>
const T& read_unary(const void* table, PayloadNode* n) {
  const T& t = *static_cast<const T*>(table);
  n->inputs[0] = t.input_id();
  n->output = t.output_id();
  n->flags = t.flags();
  return t;
}

Error Reader::shape_node(size_t index, const void* table, NodeLayout layout, PayloadNode* n) {
  if (layout == NodeLayout::transpose) {
    const auto& t = read_unary<xnn::Transpose>(table, n);
    return dims("node", index, t.num_dims(), t.perm(), &n->first);
  }
  if (layout == NodeLayout::reshape) {
    const auto& t = read_unary<xnn::Reshape>(table, n);
    return dims("node", index, t.num_dims(), t.new_shape(), &n->first);
  }
  if (layout == NodeLayout::slice) {
    const auto& t = read_unary<xnn::Slice>(table, n);
    const Error error = dims("node", index, t.num_dims(), t.offsets(), &n->first);
    return error == Error::Ok ? dims("node", index, t.num_dims(), t.sizes(), &n->second) : error;
  }
  const auto& t = read_unary<xnn::ConstantPad>(table, n);
  n->value = t.padding_value();
  const Error error = dims("node", index, count(t.pre_paddings()), t.pre_paddings(), &n->first);
  return error == Error::Ok ? dims("node", index, count(t.post_paddings()), t.post_paddings(), &n->second) : error;
}

Error Reader::node(uoffset_t index) {
  if (!spend(1, kNodeBytes)) return overspent();
  const xnn::Node& table = *graph_->xnodes()->Get(index);
  const void* t = table.xnode_union();
  payload_.nodes.emplace_back();
  PayloadNode* n = &payload_.nodes.back();
  n->type = static_cast<NodeType>(table.xnode_union_type());
  const bool known = static_cast<size_t>(n->type) < kNumNodeTypes && row_of(n->type).layout != NodeLayout::none;
  if (!known || !t) {
    return refuse(text_, "node ", index, " is of type ", static_cast<uint32_t>(n->type), ", which nothing executes");
  }
  n->debug_handle = table.debug_handle();
  if (table.output_min_max()) {
    n->output_min = table.output_min_max()->output_min();
    n->output_max = table.output_min_max()->output_max();
  }
  const NodeRow& row = row_of(n->type);
  switch (row.layout) {
    case NodeLayout::none: break;
    case NodeLayout::unary: read_unary<xnn::Unary>(t, n); break;
    case NodeLayout::binary: {
      const auto& binary = *static_cast<const xnn::Binary*>(t);
      n->inputs[0] = binary.input1_id();
      n->inputs[1] = binary.input2_id();
      n->output = binary.output_id();
      n->flags = binary.flags();
      break;
    }
    case NodeLayout::fully_connected: {
      const auto& linear = *static_cast<const xnn::FullyConnected*>(t);
      n->inputs[0] = linear.input1_id();
      n->inputs[1] = linear.filter_id();
      n->inputs[2] = linear.bias_id();
      n->output = linear.output_id();
      n->flags = linear.flags();
      break;
    }
    case NodeLayout::convolution: read_convolution(*static_cast<const xnn::Convolution*>(t), n); break;
    case NodeLayout::pooling: read_pooling(*static_cast<const xnn::Pooling*>(t), n); break;
    case NodeLayout::arg_max_pooling: read_arg_max(*static_cast<const xnn::ArgMaxPooling*>(t), n); break;
    case NodeLayout::concatenate: read_concatenate(*static_cast<const xnn::Concatenate*>(t), row.num_inputs, n); break;
    case NodeLayout::sloped: n->value = read_unary<xnn::Sloped>(t, n).value(); break;
    case NodeLayout::resize: {
      const auto& resize = read_unary<xnn::ResizeBilinear>(t, n);
      n->first = {resize.new_height(), resize.new_width()};
      break;
    }
    case NodeLayout::transpose:
    case NodeLayout::reshape:
    case NodeLayout::slice:
    case NodeLayout::constant_pad: return shape_node(index, t, row.layout, n);
  }
  return Error::Ok;
}

}  // namespace

Error read_payload(Span<const uint8_t> blob, Payload* payload, ErrorText* text) {
  *payload = Payload();
  Parts parts;
  const Error error = locate(blob, &parts, text);
  return error == Error::Ok ? Reader(blob, parts, payload, text).run() : error;
}

}  // namespace wick::xnnpack
