#include "backends/xnnpack/payload/payload_memory.h"

#include "backends/xnnpack/payload/payload_nodes.h"

namespace wick::xnnpack {
namespace {

constexpr uint64_t kPointerBytes = 8;
constexpr uint64_t kPerValue = 256;  // alignment, and what is read beyond the end
constexpr uint64_t kPerNode = 4096;

uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
uint64_t round_up(uint64_t n, uint64_t step) {
  return n > UINT64_MAX - step ? UINT64_MAX : (n + step - 1) / step * step;
}

uint64_t product_of(const Dims& dims) {
  uint64_t count = 1;
  for (uint32_t dim : dims) count = times(count, dim);
  return count;
}

/// Bytes of an element as the library holds it.
uint64_t element_bytes(DataType type) {
  switch (type) {
    case DataType::fp16: return 2;
    case DataType::qint8:
    case DataType::quint8:
    case DataType::qcint8:
    case DataType::qcint4:
    case DataType::qbint4: return 1;
    case DataType::qdint8: return 1 + 8;  // a row may be one element; it has a scale and a zero point
    default: return 4;
  }
}

class Memory {
 public:
  Memory(const Payload& payload, const std::vector<Dims>& dims) : payload_(payload), dims_(dims) {}

  uint64_t run() const {
    uint64_t total = alive();
    for (size_t v = 0; v < payload_.values.size(); ++v) {
      const PayloadValue& value = payload_.values[v];
      total = plus(total, kPerValue);
      // Constants and arguments are copied if they are misaligned or have to be widened.
      if (value.constant != 0 || value.is_input || value.is_output) total = plus(total, bytes(v));
    }
    for (const PayloadNode& node : payload_.nodes)
      total = plus(total, plus(kPerNode, plus(weights(node), windows(node))));
    return total;
  }

 private:
  uint64_t bytes(size_t value) const {
    return times(product_of(dims_[value]), element_bytes(payload_.values[value].type));
  }
  bool is_intermediate(uint32_t value) const {
    const PayloadValue& v = payload_.values[value];
    return v.constant == 0 && !v.is_input && !v.is_output;
  }
  uint64_t alive() const;
  uint64_t weights(const PayloadNode& node) const;
  uint64_t windows(const PayloadNode& node) const;

  const Payload& payload_;
  const std::vector<Dims>& dims_;
};

/// The largest number of bytes of intermediate values that are alive at one node.
uint64_t Memory::alive() const {
  const std::vector<PayloadNode>& nodes = payload_.nodes;
  std::vector<size_t> last(payload_.values.size());
  const auto each_value = [](const PayloadNode& node, auto&& fn) {
    for (size_t i = 0; i < num_inputs(node.type); ++i) {
      if (node.inputs[i] != kNoValue) fn(node.inputs[i]);
    }
    fn(node.output);
    if (node.output_index != kNoValue && node.type == NodeType::arg_max_pooling_2d) fn(node.output_index);
  };
  for (size_t i = 0; i < nodes.size(); ++i) each_value(nodes[i], [&](uint32_t v) { last[v] = i; });
  std::vector<bool> is_alive(payload_.values.size());
  uint64_t now = 0, most = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    each_value(nodes[i], [&](uint32_t v) {
      if (!is_intermediate(v) || is_alive[v]) return;
      is_alive[v] = true;
      now = plus(now, bytes(v));
    });
    // A sliced node holds two more copies of its result while it is put together.
    const bool may_be_sliced = nodes[i].type == NodeType::fully_connected || nodes[i].type == NodeType::conv_2d;
    const uint64_t here = may_be_sliced ? plus(now, times(2, bytes(nodes[i].output))) : now;
    if (here > most) most = here;
    if (now == UINT64_MAX) return now;
    each_value(nodes[i], [&](uint32_t v) {
      if (!is_alive[v] || last[v] != i) return;
      is_alive[v] = false;
      now -= bytes(v);
    });
  }
  // Room for gaps between blocks.
  return plus(most, most / 2);
}

/// Packed weights: rows and columns are rounded up to what the kernels take at once.
uint64_t Memory::weights(const PayloadNode& node) const {
  constexpr uint64_t kColumns = 64, kBytesPerColumn = 32;
  if (node.type == NodeType::batch_matrix_multiply) {
    const Dims& b = dims_[node.inputs[1]];
    uint64_t batches = 1;
    for (size_t i = 0; i + 2 < b.size(); ++i) batches = times(batches, b[i]);
    const uint64_t rows = b.size() < 2 ? 1 : b[b.size() - 2], columns = b.empty() ? 1 : b.back();
    // Either dimension may be the one that is rounded up.
    return times(batches, times(4, times(round_up(rows, kColumns), round_up(columns, kColumns))));
  }
  const bool is_linear = node.type == NodeType::fully_connected;
  if (!is_linear && node.type != NodeType::conv_2d && node.type != NodeType::depthwise_conv_2d &&
      node.type != NodeType::conv_transpose_2d) {
    return 0;
  }
  const Dims& filter = dims_[node.inputs[1]];
  const uint64_t element = element_bytes(payload_.values[node.inputs[1]].type);
  uint64_t groups = 1, outputs = 1, inputs = 1, area = 1;
  if (is_linear) {
    // [oc, ic], or [ic, oc] if transposed: rounding both covers both.
    outputs = round_up(filter.empty() ? 1 : filter.front(), kColumns);
    inputs = round_up(filter.empty() ? 1 : product_of(filter) / filter.front(), kColumns);
  } else {
    area = times(node.window.kernel[0], node.window.kernel[1]);
    if (node.type == NodeType::depthwise_conv_2d) {
      area = plus(area, 32);  // large windows go in several passes
      outputs = round_up(times(node.groups, node.group_output_channels), kColumns);
    } else {
      groups = node.groups;
      outputs = round_up(node.group_output_channels, kColumns);
      inputs = round_up(times(node.group_input_channels, element), kBytesPerColumn) / element;
    }
  }
  const uint64_t per_group = times(outputs, plus(times(times(area, inputs), element), 32));
  return times(groups, per_group);
}

/// A pointer for each element of each window over the image.
uint64_t Memory::windows(const PayloadNode& node) const {
  const Dims& out = dims_[node.output];
  if (out.size() != 4) return 0;
  const uint64_t pixels = times(round_up(out[1], 16), round_up(out[2], 16));
  switch (node.type) {
    case NodeType::conv_2d:
    case NodeType::depthwise_conv_2d:
    case NodeType::conv_transpose_2d:
    case NodeType::max_pooling_2d:
    case NodeType::avg_pooling_2d:
    case NodeType::arg_max_pooling_2d:
      return times(pixels, times(kPointerBytes, times(node.window.kernel[0], node.window.kernel[1])));
    case NodeType::static_resize_bilinear_2d: return times(pixels, 4 * kPointerBytes + 8);
    default: return 0;
  }
}

}  // namespace

uint64_t memory_of(const Payload& payload, const std::vector<Dims>& dims) { return Memory(payload, dims).run(); }

}  // namespace wick::xnnpack
