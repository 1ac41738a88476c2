#include "backends/xnnpack/payload/payload_empty.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <optional>

#include "backends/xnnpack/payload/payload_check.h"
#include "common/float16.h"

namespace wick::xnnpack {
namespace {

bool is_empty(const Dims& dims) { return std::find(dims.begin(), dims.end(), 0u) != dims.end(); }

/// `number` as one element of `value`.
std::vector<uint8_t> element_of(const PayloadValue& value, float number) {
  std::vector<uint8_t> bytes;
  const auto append = [&](const auto& element) {
    bytes.resize(sizeof element);
    memcpy(bytes.data(), &element, sizeof element);
  };
  const bool is_signed = value.type == DataType::qint8;
  switch (value.type) {
    case DataType::fp16: append(Half(number).bits); break;
    case DataType::bf16: {
      uint32_t bits;
      memcpy(&bits, &number, sizeof bits);
      append(static_cast<uint16_t>(bits >> 16));
      break;
    }
    case DataType::qint8:
    case DataType::quint8: {
      const float step = isnan(number) ? 0.0f : number / value.quantization.scale;
      const float low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
      const float element = nearbyintf(step) + static_cast<float>(value.quantization.zero_point);
      append(static_cast<uint8_t>(static_cast<int32_t>(std::min(std::max(element, low), high))));
      break;
    }
    default: append(number);
  }
  return bytes;
}

class Split {
 public:
  Split(const Payload& whole, NonEmptyPart* part, ErrorText* text)
      : whole_(whole), part_(*part), text_(text), unknown_(whole.values.size()) {}
  Error run(const std::vector<Dims>& input_dims);

 private:
  const Dims& dims(uint32_t value) const { return part_.dims[value]; }
  const Dims& in(const PayloadNode& node, size_t i) const { return dims(node.inputs[i]); }
  Error visit(size_t index);
  Error infer(size_t index);
  Error infer_image(size_t index);
  Error make_of_none(size_t index);
  Error concatenate(const PayloadNode& node);
  std::optional<float> uniform_result(const PayloadNode& node) const;
  void fill(const PayloadNode& node, float number);
  Error finish();
  Error fail(size_t index, const char* what) {
    return refuse(text_, "node ", static_cast<uint64_t>(index), " (", name_of(whole_.nodes[index].type), ") ", what);
  }

  const Payload& whole_;
  NonEmptyPart& part_;
  ErrorText* text_;
  std::vector<bool> unknown_;          // values that hold elements which do not exist
  std::map<uint32_t, float> uniform_;  // values whose elements are all this number
};

// Images must have rows and columns. A batch or a number of channels of 0 gives a result without elements.
Error Split::infer_image(size_t index) {
  const PayloadNode& node = whole_.nodes[index];
  const Dims from = in(node, 0);
  if (from.size() != 4 || from[1] == 0 || from[2] == 0) return fail(index, "reads an image without rows or columns");
  Dims& image = part_.dims[node.inputs[0]];
  for (const size_t i : {size_t{0}, size_t{3}}) image[i] = std::max(from[i], 1u);
  NodeCheck check(whole_, index, &part_.dims, text_);
  const Error error = row_of(node.type).check(check);
  image = from;
  if (error != Error::Ok) return error;
  for (const size_t i : {size_t{0}, size_t{3}}) {
    if (from[i] == 0) part_.dims[node.output][i] = 0;
  }
  return Error::Ok;
}

// Infers the result's dims if an operand is empty.
Error Split::infer(size_t index) {
  const PayloadNode& node = whole_.nodes[index];
  NodeCheck check(whole_, index, &part_.dims, text_, true);
  switch (row_of(node.type).layout) {
    case NodeLayout::convolution:
    case NodeLayout::pooling:
    case NodeLayout::resize: return infer_image(index);
    case NodeLayout::slice: {  // its elements may not exist
      Dims out = in(node, 0);
      if (node.second.size() != out.size()) return fail(index, "has other sizes");
      for (size_t i = 0; i < out.size(); ++i) out[i] = node.second[i] != 0 ? node.second[i] : out[i];
      return check.set_output(std::move(out));
    }
    case NodeLayout::arg_max_pooling:
    case NodeLayout::none: return fail(index, "does not take an empty input");
    default: return row_of(node.type).check(check);
  }
}

void Split::fill(const PayloadNode& node, float number) {
  if (!isnan(number)) number = std::min(std::max(number, node.output_min), node.output_max);
  uniform_[node.output] = number;
  const std::vector<uint8_t> element = element_of(whole_.values[node.output], number);
  std::vector<uint8_t> bytes;
  for (uint64_t i = count_of(dims(node.output)); i-- > 0;) bytes.insert(bytes.end(), element.begin(), element.end());
  const auto constant = static_cast<uint32_t>(part_.payload.constants.size());
  part_.payload.constants.push_back({"fill", 0, bytes.size()});
  part_.fills.emplace_back(constant, std::move(bytes));
  PayloadValue& value = part_.payload.values[node.output];
  if (!value.is_output) {
    value.constant = constant;
    return;
  }
  PayloadValue copied;
  copied.type = value.type;
  copied.quantization = value.quantization;
  copied.constant = constant;
  copied.dims = dims(node.output);
  PayloadNode copy;
  copy.type = NodeType::copy;
  copy.inputs[0] = static_cast<uint32_t>(part_.payload.values.size());
  copy.output = node.output;
  part_.payload.values.push_back(std::move(copied));
  part_.payload.nodes.push_back(std::move(copy));
}

Error Split::concatenate(const PayloadNode& node) {
  constexpr NodeType kTypes[] = {NodeType::copy, NodeType::concatenate_2, NodeType::concatenate_3,
                                 NodeType::concatenate_4};
  PayloadNode rest = node;
  std::fill(std::begin(rest.inputs), std::end(rest.inputs), kNoValue);
  size_t count = 0;
  for (size_t i = 0; i < num_inputs(node.type); ++i) {
    if (!is_empty(in(node, i))) rest.inputs[count++] = node.inputs[i];
  }
  rest.type = kTypes[count - 1];
  part_.payload.nodes.push_back(std::move(rest));
  return Error::Ok;
}

// Makes the result, which has elements although an operand is empty.
Error Split::make_of_none(size_t index) {
  const PayloadNode& node = whole_.nodes[index];
  switch (node.type) {
    case NodeType::global_avg_pooling_2d: fill(node, node.flags & kZeroOfNone ? 0.0f : NAN); return Error::Ok;
    case NodeType::fully_connected:
      if (node.inputs[2] != kNoValue) return fail(index, "adds a bias to products of no elements");
      fill(node, 0);
      return Error::Ok;
    case NodeType::batch_matrix_multiply: fill(node, 0); return Error::Ok;
    case NodeType::static_constant_pad: fill(node, node.value); return Error::Ok;
    case NodeType::concatenate_2:
    case NodeType::concatenate_3:
    case NodeType::concatenate_4:
    case NodeType::concatenate_5: return concatenate(node);
    default:
      // A slice of an empty tensor: only results without elements may depend on it.
      fill(node, 0);
      unknown_[node.output] = true;
      return Error::Ok;
  }
}

// The number that all elements of the result are, if it is known. A result computed only from NaN is NaN; the library's
// kernels may give other numbers. A mean may also be computed as a sum divided by a count.
std::optional<float> Split::uniform_result(const PayloadNode& node) const {
  const DataType type = whole_.values[node.output].type;
  const NodeLayout layout = row_of(node.type).layout;
  if ((kFloats & bit_of(type)) == 0 || layout == NodeLayout::concatenate || layout == NodeLayout::constant_pad ||
      layout == NodeLayout::arg_max_pooling) {
    return std::nullopt;
  }
  std::optional<float> first;
  for (size_t i = 0; i < num_inputs(node.type); ++i) {
    const auto found = uniform_.find(node.inputs[i]);
    if (found == uniform_.end()) continue;
    if (isnan(found->second)) return NAN;
    if (i == 0) first = found->second;
    if (i == 1 && node.type == NodeType::div && first == 0.0f && found->second == 0) return NAN;
  }
  const bool moves = layout == NodeLayout::transpose || layout == NodeLayout::reshape || node.type == NodeType::copy;
  return moves ? first : std::nullopt;
}

Error Split::visit(size_t index) {
  const PayloadNode& node = whole_.nodes[index];
  bool from_empty = false, from_unknown = false;
  for (size_t i = 0; i < num_inputs(node.type); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    from_empty |= is_empty(in(node, i));
    from_unknown |= unknown_[node.inputs[i]];
  }
  if (!from_empty) {
    NodeCheck check(whole_, index, &part_.dims, text_);
    const Error error = row_of(node.type).check(check);
    if (error != Error::Ok) return error;
    if (const std::optional<float> number = uniform_result(node)) {
      fill(node, *number);
    } else {
      part_.payload.nodes.push_back(node);
    }
  } else {
    Error error = infer(index);
    if (error == Error::Ok && !is_empty(dims(node.output))) error = make_of_none(index);
    if (error != Error::Ok) return error;
  }
  if (from_unknown) unknown_[node.output] = true;
  if (!unknown_[node.output] || !whole_.values[node.output].is_output || is_empty(dims(node.output))) return Error::Ok;
  return fail(index, "gives an output that needs an element of an empty tensor");
}

// Values without elements become values that nothing reads or writes.
Error Split::finish() {
  Payload& payload = part_.payload;
  for (size_t i = 0; i < part_.dims.size(); ++i) {
    PayloadValue& value = payload.values[i];
    if (value.constant == 0 || value.constant >= whole_.constants.size()) value.dims = part_.dims[i];
    if (!is_empty(part_.dims[i])) continue;
    std::replace(value.dims.begin(), value.dims.end(), 0u, 1u);
    value.is_input = value.is_output = false;
    value.external_id = kNoValue;
  }
  payload.input_ids.clear();
  payload.output_ids.clear();
  std::vector<uint32_t> owner(payload.num_externals, kNoValue);
  for (uint32_t i = 0; i < payload.values.size(); ++i) {
    if (payload.values[i].external_id != kNoValue) owner[payload.values[i].external_id] = i;
  }
  payload.num_externals = 0;
  for (uint32_t argument = 0; argument < owner.size(); ++argument) {
    if (owner[argument] == kNoValue) continue;
    PayloadValue& value = payload.values[owner[argument]];
    value.external_id = payload.num_externals++;
    (value.is_input ? payload.input_ids : payload.output_ids).push_back(owner[argument]);
    part_.arguments.push_back(argument);
  }
  return Error::Ok;
}

Error Split::run(const std::vector<Dims>& input_dims) {
  part_ = {};
  part_.payload = whole_;
  part_.payload.nodes.clear();
  for (const PayloadValue& value : whole_.values) part_.dims.push_back(value.dims);
  if (input_dims.size() != whole_.input_ids.size()) return refuse(text_, "a different number of inputs");
  for (size_t i = 0; i < input_dims.size(); ++i) {
    Dims& dims = part_.dims[whole_.input_ids[i]];
    if (dims.size() != input_dims[i].size()) return refuse(text_, "an input of another rank");
    dims = input_dims[i];
  }
  for (size_t i = 0; i < whole_.nodes.size(); ++i) {
    const Error error = visit(i);
    if (error != Error::Ok) return error;
  }
  return finish();
}

}  // namespace

Error non_empty_part(const Payload& payload, const std::vector<Dims>& input_dims, NonEmptyPart* part, ErrorText* text) {
  return Split(payload, part, text).run(input_dims);
}

}  // namespace wick::xnnpack
