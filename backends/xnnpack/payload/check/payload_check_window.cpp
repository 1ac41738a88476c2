// Nodes over images [n, h, w, c]: convolutions, pooling, resizing.
#include <algorithm>

#include "backends/xnnpack/payload/payload_check.h"

namespace wick::xnnpack {
namespace {

// Pointers that the library keeps for one image: elements of a window times pixels of the result.
constexpr uint64_t kMaxPointers = uint64_t{1} << 30;
constexpr uint32_t kMaxResized = 1 << 24;

// One of the two dims of a window over an image.
struct Axis {
  uint64_t size, pad_before, pad_after, kernel, stride, dilation;
  uint64_t padded() const { return size + pad_before + pad_after; }
  uint64_t extent() const { return (kernel - 1) * dilation + 1; }
};

Axis axis_of(const PayloadNode& node, const Dims& in, size_t i) {
  const PayloadNode::Window& w = node.window;
  // Stock writes 0 for averages, which have no dilation.
  const bool undilated = node.type == NodeType::avg_pooling_2d && w.dilation[i] == 0;
  return {in[1 + i],   i == 0 ? w.pad_top : w.pad_left, i == 0 ? w.pad_bottom : w.pad_right, w.kernel[i],
          w.stride[i], undilated ? 1 : w.dilation[i]};
}

Error check_axis(NodeCheck& node, const Axis& axis) {
  if (axis.kernel == 0 || axis.stride == 0 || axis.dilation == 0) return node.fail("a kernel, stride or dilation of 0");
  if (axis.padded() >= kMaxElements || axis.extent() >= kMaxElements) return node.fail("a window too large");
  return Error::Ok;
}

// Rows or columns of the result of a window that moves over the padded image.
Error slide(NodeCheck& node, const Axis& axis, uint64_t* out) {
  const Error error = check_axis(node, axis);
  if (error != Error::Ok) return error;
  if (axis.extent() > axis.padded()) {
    return node.fail("a window over ", axis.extent(), " of ", axis.padded(), " rows or columns");
  }
  *out = (axis.padded() - axis.extent()) / axis.stride + 1;
  return Error::Ok;
}

Error set_image(NodeCheck& node, const uint64_t size[2], uint32_t channels) {
  const PayloadNode::Window& w = node.node.window;
  // Every factor is below 2^31.
  const uint64_t window = uint64_t{w.kernel[0]} * w.kernel[1];
  if (window >= kMaxPointers || size[0] * size[1] >= kMaxPointers || window * size[0] * size[1] >= kMaxPointers) {
    return node.fail("too many elements in all windows together");
  }
  return node.set_output({node.dims(0)[0], static_cast<uint32_t>(size[0]), static_cast<uint32_t>(size[1]), channels});
}

Error slide_both(NodeCheck& node, uint64_t size[2]) {
  for (size_t i = 0; i < 2; ++i) {
    const Error error = slide(node, axis_of(node.node, node.dims(0), i), &size[i]);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

// Checks the channels of a convolution: the input's last dim, and the dims of the filter.
Error check_channels(NodeCheck& node, uint64_t in, uint64_t out, const uint64_t (&filter)[4]) {
  if (node.node.groups == 0 || in == 0 || out == 0) return node.fail("no groups or channels");
  if (node.dims(0)[3] != in) return node.fail("an input of ", node.dims(0)[3], " channels for ", in);
  for (size_t i = 0; i < 4; ++i) {
    if (node.dims(1)[i] == filter[i]) continue;
    return node.fail("dim ", static_cast<uint64_t>(i), " of the filter is ", node.dims(1)[i], ", not ", filter[i]);
  }
  return Error::Ok;
}

Error check_ranks(NodeCheck& node) {
  const Error error = node.rank_is(0, 4);
  return error == Error::Ok ? node.rank_is(1, 4) : error;
}

bool has_adjustment(const PayloadNode& node) { return node.window.adjustment[0] || node.window.adjustment[1]; }

// Filter [oc, kh, kw, ic / groups].
Error check_grouped(NodeCheck& node, Gemm kind) {
  const PayloadNode& n = node.node;
  Error error = check_ranks(node);
  if (error == Error::Ok) error = check_weights(node, kind, 0);
  if (error != Error::Ok) return error;
  const uint64_t out = uint64_t{n.groups} * n.group_output_channels;
  return check_channels(node, uint64_t{n.groups} * n.group_input_channels, out,
                        {out, n.window.kernel[0], n.window.kernel[1], n.group_input_channels});
}

}  // namespace

bool stay_in_image(const DilatedWindows& windows, uint64_t count) {
  const uint64_t before = windows.pad_before % windows.dilation, last = (count - 1) * windows.stride;
  if (last >= before && last - before >= windows.size) return false;
  if (before == 0) return true;
  // Windows whose second element is the first in the image.
  const uint64_t second = std::min(count - 1, (before - 1) / windows.stride) * windows.stride;
  return second + windows.dilation - before < windows.size;
}

Error check_convolution(NodeCheck& node) {
  Error error = check_grouped(node, Gemm::convolution);
  if (error != Error::Ok) return error;
  if (has_adjustment(node.node)) return node.fail("an adjustment, which only transposed convolutions have");
  uint64_t size[2];
  error = slide_both(node, size);
  return error == Error::Ok ? set_image(node, size, node.dims(1)[0]) : error;
}

// Filter [1, kh, kw, oc]; every group has one input channel.
Error check_depthwise(NodeCheck& node) {
  const PayloadNode& n = node.node;
  Error error = check_ranks(node);
  if (error == Error::Ok) error = check_weights(node, Gemm::depthwise, 3);
  if (error != Error::Ok) return error;
  if (n.group_input_channels != 1) return node.fail("groups of ", n.group_input_channels, " input channels, not 1");
  if (has_adjustment(n)) return node.fail("an adjustment, which only transposed convolutions have");
  const uint64_t out = uint64_t{n.groups} * n.group_output_channels;
  error = check_channels(node, n.groups, out, {1, n.window.kernel[0], n.window.kernel[1], out});
  uint64_t size[2];
  if (error == Error::Ok) error = slide_both(node, size);
  return error == Error::Ok ? set_image(node, size, node.dims(1)[3]) : error;
}

Error check_transposed_convolution(NodeCheck& node) {
  Error error = check_grouped(node, Gemm::transposed);
  if (error != Error::Ok) return error;
  const PayloadNode::Window& w = node.node.window;
  // In this case the library computes every stride-th row in one pass. Its count underflows if the result has fewer
  // rows than the stride.
  const bool by_stride =
      w.dilation[0] <= 1 && w.dilation[1] <= 1 && w.stride[0] <= w.kernel[0] && w.stride[1] <= w.kernel[1];
  uint64_t size[2];
  for (size_t i = 0; i < 2; ++i) {
    const Axis axis = axis_of(node.node, node.dims(0), i);
    error = check_axis(node, axis);
    if (error != Error::Ok) return error;
    if (w.adjustment[i] >= w.stride[i])
      return node.fail("an adjustment of ", w.adjustment[i], ", not below the stride");
    // Every factor is below 2^32, their sum below 2^64.
    const uint64_t full = (axis.size - 1) * axis.stride + w.adjustment[i] + axis.extent();
    const uint64_t cut = axis.pad_before + axis.pad_after;
    size[i] = full - cut;
    if (by_stride && full < cut + axis.stride) return node.fail("a result smaller than its stride");
    if (full <= cut) return node.fail("a result without rows or columns");
    if (size[i] >= kMaxElements) return node.fail("a result too large");
  }
  return set_image(node, size, node.dims(1)[0]);
}

Error check_pooling(NodeCheck& node) {
  const PayloadNode::Window& w = node.node.window;
  const bool is_max = node.node.type == NodeType::max_pooling_2d;
  Error error = node.same_types(is_max ? kFloats | kBytes : kFloats);
  if (error == Error::Ok) error = node.same_quantization(0);
  if (error == Error::Ok) error = node.rank_is(0, 4);
  uint64_t size[2];
  if (error == Error::Ok) error = slide_both(node, size);
  if (error != Error::Ok) return error;
  if (w.kernel[0] == 1 && w.kernel[1] == 1) return node.fail("a window of one element");
  const bool dilated = w.dilation[0] > 1 || w.dilation[1] > 1;
  for (size_t i = 0; i < 2; ++i) {
    const Axis axis = axis_of(node.node, node.dims(0), i);
    if (is_max && axis.stride > axis.kernel) return node.fail("a stride larger than the window");
    if (!is_max && axis.dilation != 1) return node.fail("a dilated average");
    if (axis.pad_before >= axis.extent() || axis.pad_after >= axis.extent())
      return node.fail("a window of padding only");
    if (dilated && !stay_in_image({axis.size, axis.pad_before, axis.stride, axis.dilation}, size[i]))
      return node.fail("a dilated window that begins behind the image");
  }
  return set_image(node, size, node.dims(0)[3]);
}

// Windows do not overlap. Elements left over at the end are ignored.
Error check_arg_max_pooling(NodeCheck& node) {
  const PayloadNode::Window& w = node.node.window;
  if (node.input(0).type != DataType::fp32 || !node.is_output(DataType::fp32)) return node.fail("takes fp32 only");
  if (node.value(node.node.output_index).type != DataType::int32) return node.fail("the indices are not int32");
  Error error = node.rank_is(0, 4);
  if (error != Error::Ok) return error;
  uint64_t size[2];
  for (size_t i = 0; i < 2; ++i) {
    Axis axis = axis_of(node.node, node.dims(0), i);
    axis.stride = axis.kernel;
    axis.dilation = 1;
    error = slide(node, axis, &size[i]);
    if (error != Error::Ok) return error;
    if (axis.pad_before >= axis.kernel || axis.pad_after >= axis.kernel) return node.fail("a window of padding only");
  }
  if (w.kernel[0] == 1 && w.kernel[1] == 1) return node.fail("a window of one element");
  error = set_image(node, size, node.dims(0)[3]);
  if (error != Error::Ok) return error;
  return node.set(node.node.output_index,
                  {node.dims(0)[0], static_cast<uint32_t>(size[0]), static_cast<uint32_t>(size[1]), node.dims(0)[3]});
}

// The mean over the two dims before the last, of any rank from 3 on.
Error check_global_pooling(NodeCheck& node) {
  const Error error = node.same_types(kFloats | kBytes);
  if (error != Error::Ok) return error;
  const Dims& in = node.dims(0);
  const size_t rank = in.size();
  if (rank < 3) return node.fail("an input of rank ", static_cast<uint64_t>(rank), ", below 3");
  Dims out(in.begin(), in.end() - 3);
  if (node.node.flags & kKeepDims) out.insert(out.end(), 2, 1);
  out.push_back(in.back());
  return node.set_output(static_cast<Dims&&>(out));
}

Error check_resize(NodeCheck& node) {
  Error error = node.same_types(kFloats | kBytes);
  if (error == Error::Ok) error = node.same_quantization(0);
  if (error == Error::Ok) error = node.rank_is(0, 4);
  if (error != Error::Ok) return error;
  const Dims& in = node.dims(0);
  const Dims& size = node.node.first;
  if (size.size() != 2) return node.fail("no new height and width");
  for (size_t i = 0; i < 2; ++i) {
    if (size[i] == 0 || size[i] >= kMaxResized || in[1 + i] >= kMaxResized)
      return node.fail("a size of 0, or too large");
  }
  return node.set_output({in[0], size[0], size[1], in[3]});
}

}  // namespace wick::xnnpack
