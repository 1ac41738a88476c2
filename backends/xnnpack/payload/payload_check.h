// The checks behind check_payload, one function per family of nodes. Not for other folders.
#pragma once
#include "backends/xnnpack/payload/payload_nodes.h"

namespace wick::xnnpack {

/// Elements of a value are fewer than this.
constexpr uint64_t kMaxElements = uint64_t{1} << 31;

/// One node during the walk: the dims of its inputs are known, those of its outputs are to be found.
class NodeCheck {
 public:
  /// `takes_empty`: dims may be 0.
  NodeCheck(const Payload& payload, size_t index, std::vector<Dims>* dims, ErrorText* text, bool takes_empty = false)
      : node(payload.nodes[index]),
        payload_(payload),
        index_(index),
        dims_(*dims),
        text_(text),
        takes_empty_(takes_empty) {}

  const PayloadNode& node;

  const PayloadValue& input(size_t i) const { return payload_.values[node.inputs[i]]; }
  const Dims& dims(size_t i) const { return dims_[node.inputs[i]]; }
  const PayloadValue& output() const { return payload_.values[node.output]; }
  const PayloadValue& value(uint32_t id) const { return payload_.values[id]; }
  bool has_input(size_t i) const { return node.inputs[i] != kNoValue; }
  bool is_constant(size_t i) const { return input(i).constant != 0; }
  bool is_output(DataType type) const { return output().type == type; }

  /// Sets the dims of the output (or of another value). Refuses kMaxElements or more elements, and zero dims unless it
  /// takes them.
  Error set_output(Dims dims) { return set(node.output, static_cast<Dims&&>(dims)); }
  Error set(uint32_t id, Dims dims);

  /// Refuses a type outside the mask, and outputs of another type than the inputs.
  Error same_types(uint32_t allowed);
  /// Refuses quantized outputs with another scale or zero point than input `i`.
  Error same_quantization(size_t i);
  Error rank_is(size_t i, size_t rank);

  /// "node 3 (conv_2d): .."
  template <typename... Parts>
  Error fail(Parts... parts) {
    if (text_) text_->append("node ", static_cast<uint64_t>(index_), " (", name_of(node.type), "): ");
    return refuse(text_, parts...);
  }

 private:
  const Payload& payload_;
  size_t index_;
  std::vector<Dims>& dims_;
  ErrorText* text_;
  bool takes_empty_;
};

constexpr uint32_t bit_of(DataType type) { return uint32_t{1} << static_cast<uint32_t>(type); }
// The runtime half computes bf16 in fp32.
constexpr uint32_t kFloats = bit_of(DataType::fp32) | bit_of(DataType::fp16) | bit_of(DataType::bf16);
constexpr uint32_t kNativeFloats = bit_of(DataType::fp32) | bit_of(DataType::fp16);
constexpr uint32_t kBytes = bit_of(DataType::qint8) | bit_of(DataType::quint8);
const char* name_of(DataType type);

bool is_scale(float scale);
bool equal_quantization(const Quantization& a, const Quantization& b);
/// Elements of `dims`; kMaxElements where there are that many or more.
uint64_t count_of(const Dims& dims);

/// Type, quantization and elements of every value.
Error check_values(const Payload& payload, ErrorText* text);

Error check_binary(NodeCheck& node);
Error check_prelu(NodeCheck& node);
Error check_unary(NodeCheck& node);
Error check_sloped(NodeCheck& node);
Error check_clamp(NodeCheck& node);
Error check_convert(NodeCheck& node);
Error check_softmax(NodeCheck& node);
Error check_transpose(NodeCheck& node);
Error check_reshape(NodeCheck& node);
Error check_slice(NodeCheck& node);
Error check_constant_pad(NodeCheck& node);
Error check_concatenate(NodeCheck& node);
Error check_copy(NodeCheck& node);
Error check_fully_connected(NodeCheck& node);
Error check_batch_matrix_multiply(NodeCheck& node);
Error check_convolution(NodeCheck& node);
Error check_depthwise(NodeCheck& node);
Error check_transposed_convolution(NodeCheck& node);
Error check_pooling(NodeCheck& node);
Error check_arg_max_pooling(NodeCheck& node);
Error check_global_pooling(NodeCheck& node);
Error check_resize(NodeCheck& node);

/// Types and sizes of filter and bias. `channels` is the filter's dim that counts output channels.
enum class Gemm : uint8_t { fully_connected = 1, convolution = 2, depthwise = 4, transposed = 8 };
Error check_weights(NodeCheck& node, Gemm kind, size_t channels);

}  // namespace wick::xnnpack
