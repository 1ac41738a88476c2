// The blob of an XNNPACK delegate: the graph it holds, its writer and its checked reader. C++17, both halves.
// Format: docs/formats.md, "XNNPACK payload".
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "wick/error_text.h"
#include "wick/span.h"
#include "wick/status.h"

namespace wick::xnnpack {

constexpr char kBackendId[] = "XnnpackBackend";
constexpr uint32_t kNoValue = UINT32_MAX;  // an absent bias, an absent external id
constexpr size_t kMaxRank = 6;
constexpr uint32_t kMaxExternals = 4096;

/// Numbers of the payload; the library numbers some of them differently.
enum class DataType : uint8_t {
  invalid,
  fp32,
  fp16,
  qint8,    // per tensor
  quint8,   // per tensor
  qint32,   // per tensor: bias of static int8
  qcint8,   // per channel: weights
  qcint32,  // per channel: bias
  qcint4,   // per channel, two elements a byte, the even column low, stored value = element + 8
  qdint8,   // per row, quantized at run time
  qbint4,   // per group of columns, as qcint4, bf16 scales
  qpint8,
  int32,
  pfp32,
  bf16,
};

/// Members of the payload's node union.
enum class NodeType : uint8_t {
  none,
  add,
  fully_connected,
  softmax,
  sigmoid,
  static_transpose,
  clamp,
  conv_2d,
  div,
  static_resize_bilinear_2d,
  static_constant_pad,
  avg_pooling_2d,
  minimum,
  depthwise_conv_2d,
  max_pooling_2d,
  multiply,
  subtract,
  floor,
  convert,
  global_avg_pooling_2d,
  static_reshape,
  arg_max_pooling_2d,
  square_root,
  ceiling,
  hardswish,
  leaky_relu,
  maximum,
  negate,
  square,
  elu,
  abs,
  prelu,
  concatenate_2,
  concatenate_3,
  concatenate_4,
  static_slice,
  scaled_dot_product_attention,  // no runtime executes it
  batch_matrix_multiply,
  concatenate_5,
  conv_transpose_2d,
  reciprocal_square_root,
  log,
  gelu,
  tanh,
  exp,
  sin,
  copy,
  cos,
};
constexpr size_t kNumNodeTypes = static_cast<size_t>(NodeType::cos) + 1;
/// "fully_connected".
const char* name_of(NodeType type);
/// Tensors that a node of this type reads: 1 for unary ones, 2 or 3 (with bias, which may be absent) .. 5.
size_t num_inputs(NodeType type);
/// Whether the library's kernel keeps pointers to the pixels of its input from one call to the next, and renews them
/// only for another height or width, although they depend on the number of channels, too.
bool keeps_pointers(NodeType type);

enum NodeFlags : uint32_t {
  kTransposeWeights = 0x1,  // fully_connected: filter [ic, oc]; batch_matrix_multiply: rhs [.., n, k]
  kAlignCorners = 0x8,
  kKeepDims = 0x40,
  kZeroOfNone = 0x10000000,  // global_avg_pooling_2d: the mean of no elements is 0, for it becomes a sum; else NaN.
                             // Only Wick's runtime knows it
  kZeroPointOfLeast = 0x20000000,  // convert to int8 by rows: the zero point is -128 - round(least / scale), as torchao
                                   // has it. Only Wick's library knows it
  kZeroRows = 0x40000000,          // softmax: rows of minus infinity give 0. Only Wick's library knows it
};

struct Quantization {
  enum class Kind : uint8_t { none, per_tensor, per_channel, per_token, per_group } kind = Kind::none;
  float scale = 0;  // per_tensor
  int32_t zero_point = 0;
  int32_t channel_dim = 0;           // per_channel, per_group
  uint32_t group_size = 0;           // per_group
  uint32_t num_nonbatch_dims = 0;    // per_token
  uint32_t scale_constant = 0;       // index into Payload::constants: f32 (per_channel) or bf16 (per_group) scales
  std::vector<float> inline_scales;  // read from files that hold the scales in the table; then scale_constant is 0
};

struct PayloadValue {
  DataType type = DataType::fp32;
  std::vector<uint32_t> dims;       // row-major; rank 0 is written as [1]; upper bounds where dynamic
  uint32_t constant = 0;            // index into Payload::constants; 0: not a constant
  uint32_t external_id = kNoValue;  // position among the delegate's arguments: inputs, then outputs
  bool is_input = false, is_output = false;
  Quantization quantization;
};

/// One node; which fields count depends on the type.
struct PayloadNode {
  NodeType type = NodeType::none;
  // fully_connected, conv_*: input, filter, bias (or kNoValue). prelu: input, slope. concatenate_n: n values.
  uint32_t inputs[5] = {kNoValue, kNoValue, kNoValue, kNoValue, kNoValue};
  uint32_t output = kNoValue;
  uint32_t output_index = kNoValue;  // arg_max_pooling_2d
  uint32_t flags = 0;
  uint32_t debug_handle = 0;
  float output_min = -std::numeric_limits<float>::infinity();
  float output_max = std::numeric_limits<float>::infinity();

  struct Window {  // conv_*, *_pooling_2d; height before width
    uint32_t pad_top = 0, pad_right = 0, pad_bottom = 0, pad_left = 0;
    uint32_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1};
    uint32_t adjustment[2] = {0, 0};  // conv_transpose_2d: rows, columns added at the end
  } window;
  uint32_t groups = 1, group_input_channels = 0, group_output_channels = 0;  // conv_*
  /// static_transpose: permutation; static_reshape: new shape (0 = inferred, at most one); static_slice: offsets,
  /// sizes; static_constant_pad: before, after; static_resize_bilinear_2d: height, width in `first`.
  std::vector<uint32_t> first, second;
  uint32_t axis = 0;  // concatenate_n
  float value = 0;    // static_constant_pad: padding; elu: alpha; leaky_relu: slope
};

/// Bytes that live outside the tables: in the program's named data (`key`), or in the blob's own region (offset, size).
struct PayloadConstant {
  std::string key;          // "": in the region
  uint64_t offset = 0;      // in the region
  uint64_t size_bytes = 0;  // of named ones only a statement, 0 if unknown: what the name yields decides
};

/// Sizes of a value, known.
using Dims = std::vector<uint32_t>;

struct Payload {
  std::vector<PayloadValue> values;        // id = index
  std::vector<PayloadNode> nodes;          // in execution order
  std::vector<PayloadConstant> constants;  // entry 0 is reserved
  std::vector<uint32_t> input_ids, output_ids;
  uint32_t num_externals = 0;
  Span<const uint8_t> region;  // constants inside the blob; points into it
};

/// The blob of a payload whose constants are all named: header, tables, padding. Same payload, same bytes.
/// Requires: what check_payload asks.
std::vector<uint8_t> write_payload(const Payload& payload);

/// Reads a blob. Errors: DelegateInvalidCompatibility, with text, for a broken layout, an index out of range, an
/// unknown node type, a rank above kMaxRank, a size that overflows. What is left to check_payload: whether the nodes
/// make sense.
Error read_payload(Span<const uint8_t> blob, Payload* payload, ErrorText* text);

/// Size in bytes of the element storage of a value (int4 packed by rows); false on overflow.
bool size_of(const PayloadValue& value, uint64_t* size_bytes);

/// Works out the dims of each value, node by node, for given dims of the external inputs (in the order of `input_ids`).
/// If `input_dims` is null, these are the dims in `payload.values`, and outputs must have the declared dims, else the
/// declared rank. On the way it checks everything that the library does not check itself: values read before they are
/// written or written twice, ranks, channel counts, permutations, slices inside their input, broadcasting, windows
/// larger than their padded input, dtypes of operands, quantization parameters, products. Declared dims of intermediate
/// values do not count.
/// Errors: DelegateInvalidCompatibility, with text naming the node.
Error check_payload(const Payload& payload, const std::vector<std::vector<uint32_t>>* input_dims,
                    std::vector<std::vector<uint32_t>>* dims, ErrorText* text);

/// One dimension of an image that windows of a max pooling move over, of which one dimension is dilated.
struct DilatedWindows {
  uint64_t size, pad_before, stride, dilation;
};
/// If a tap of a dilated window lies in the padding, the library reads instead the window's first tap after the leading
/// padding. Whether that tap is in the image for each of `count` windows. Requires: 0 < count, and no window lies
/// entirely in the leading padding.
bool stay_in_image(const DilatedWindows& windows, uint64_t count);

}  // namespace wick::xnnpack
