// Matrix products, and what filters and biases of products and convolutions must be.
#include "backends/xnnpack/payload/payload_check.h"

namespace wick::xnnpack {
namespace {

constexpr uint8_t kLinear = static_cast<uint8_t>(Gemm::fully_connected);
constexpr uint8_t kConvolution = static_cast<uint8_t>(Gemm::convolution);
constexpr uint8_t kDepthwise = static_cast<uint8_t>(Gemm::depthwise);
constexpr uint8_t kTransposed = static_cast<uint8_t>(Gemm::transposed);
constexpr uint8_t kAll = kLinear | kConvolution | kDepthwise | kTransposed;

struct GemmTypes {
  DataType input, filter, bias, output;
  uint8_t kinds;
};

// The types that the library release of 2024-11 computes; bf16 is computed as fp32.
constexpr GemmTypes kGemmTypes[] = {
    {DataType::fp32, DataType::fp32, DataType::fp32, DataType::fp32, kAll},
    {DataType::bf16, DataType::bf16, DataType::fp32, DataType::bf16, kLinear},
    {DataType::bf16, DataType::bf16, DataType::bf16, DataType::bf16, kLinear},
    {DataType::fp16, DataType::fp32, DataType::fp32, DataType::fp16, kAll},
    {DataType::fp16, DataType::fp16, DataType::fp16, DataType::fp16, kLinear},
    {DataType::qint8, DataType::qint8, DataType::qint32, DataType::qint8, kAll},
    {DataType::qint8, DataType::qcint8, DataType::qcint32, DataType::qint8, kAll},
    {DataType::quint8, DataType::quint8, DataType::qint32, DataType::quint8, kAll},
    {DataType::fp32, DataType::qcint8, DataType::fp32, DataType::fp32, kLinear},
    {DataType::fp32, DataType::qcint4, DataType::fp32, DataType::fp32, kLinear},
    {DataType::qdint8, DataType::qcint8, DataType::fp32, DataType::fp32, kLinear | kConvolution | kTransposed},
    {DataType::qdint8, DataType::qcint8, DataType::fp32, DataType::fp16, kLinear | kConvolution},
    {DataType::qdint8, DataType::qcint8, DataType::fp32, DataType::bf16, kLinear},
    {DataType::qdint8, DataType::qcint4, DataType::fp32, DataType::fp32, kLinear},
    {DataType::qdint8, DataType::qcint4, DataType::fp32, DataType::fp16, kLinear},
    {DataType::qdint8, DataType::qcint4, DataType::fp32, DataType::bf16, kLinear},
    {DataType::qdint8, DataType::qbint4, DataType::fp32, DataType::fp32, kLinear},
    {DataType::qdint8, DataType::qbint4, DataType::fp32, DataType::fp16, kLinear},
    {DataType::qdint8, DataType::qbint4, DataType::fp32, DataType::bf16, kLinear},
};

bool known_types(const NodeCheck& node, Gemm kind) {
  for (const GemmTypes& row : kGemmTypes) {
    if ((row.kinds & static_cast<uint8_t>(kind)) && node.input(0).type == row.input &&
        node.input(1).type == row.filter && node.is_output(row.output) &&
        (!node.has_input(2) || node.input(2).type == row.bias)) {
      return true;
    }
  }
  return false;
}

// Only an fp32 fully_connected takes a filter and a bias that are computed at run time.
Error check_static(NodeCheck& node, Gemm kind) {
  const bool may_move =
      kind == Gemm::fully_connected && node.input(0).type == DataType::fp32 && node.input(1).type == DataType::fp32;
  if (may_move) return Error::Ok;
  if (!node.is_constant(1)) return node.fail("the filter is not a constant");
  if (node.has_input(2) && !node.is_constant(2)) return node.fail("the bias is not a constant");
  return Error::Ok;
}

}  // namespace

Error check_weights(NodeCheck& node, Gemm kind, size_t channels) {
  const PayloadValue& in = node.input(0);
  const PayloadValue& filter = node.input(1);
  if (!known_types(node, kind)) {
    return node.fail("no product of ", name_of(in.type), " and ", name_of(filter.type),
                     node.has_input(2) ? " with a bias of " : "", node.has_input(2) ? name_of(node.input(2).type) : "",
                     " gives ", name_of(node.output().type));
  }
  const Error error = check_static(node, kind);
  if (error != Error::Ok) return error;
  if (filter.type == DataType::qint8 && filter.quantization.zero_point != 0) {
    return node.fail("the filter has zero point ", filter.quantization.zero_point);
  }
  const bool by_channel = filter.quantization.kind == Quantization::Kind::per_channel;
  if (by_channel && static_cast<size_t>(filter.quantization.channel_dim) != channels) {
    return node.fail("the filter is quantized along dim ", filter.quantization.channel_dim, ", not along the channels");
  }
  // The library reads the parameters of one row, or of one image.
  const uint32_t rows_of = kind == Gemm::fully_connected ? 1 : 3;
  if (in.type == DataType::qdint8 && in.quantization.num_nonbatch_dims != rows_of) {
    return node.fail("the input is quantized over ", in.quantization.num_nonbatch_dims, " dims, not ", rows_of);
  }
  if (node.has_input(2) && count_of(node.dims(2)) != node.dims(1)[channels]) {
    return node.fail("a bias of ", count_of(node.dims(2)), " elements for ", node.dims(1)[channels], " channels");
  }
  return Error::Ok;
}

Error check_fully_connected(NodeCheck& node) {
  Error error = node.rank_is(1, 2);
  if (error != Error::Ok) return error;
  const bool transposed = (node.node.flags & kTransposeWeights) != 0;
  const DataType filter = node.input(1).type;
  if (transposed && (filter == DataType::qcint4 || filter == DataType::qbint4)) {
    return node.fail("a filter of 4-bit elements cannot be transposed");
  }
  error = check_weights(node, Gemm::fully_connected, transposed ? 1 : 0);
  if (error != Error::Ok) return error;
  Dims out = node.dims(0);
  const uint32_t channels = node.dims(1)[transposed ? 0 : 1];
  if (out.empty() || out.back() != channels) {
    return node.fail("the last dim of the input is not the filter's ", channels, " channels");
  }
  out.back() = node.dims(1)[transposed ? 1 : 0];
  return node.set_output(static_cast<Dims&&>(out));
}

// [.., m, k] x [.., k, n], or [.., n, k] when transposed; leading dims are equal or 1.
Error check_batch_matrix_multiply(NodeCheck& node) {
  const Error error = node.same_types(kFloats);
  if (error != Error::Ok) return error;
  const Dims& a = node.dims(0);
  const Dims& b = node.dims(1);
  if (a.size() < 2 || b.size() < 2) return node.fail("an input is not a matrix");
  const bool transposed = (node.node.flags & kTransposeWeights) != 0;
  const uint32_t depth = transposed ? b[b.size() - 1] : b[b.size() - 2];
  if (a.back() != depth) return node.fail("rows of ", a.back(), " elements meet columns of ", depth);
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  Dims out(rank, 1);
  for (size_t i = 0; i + 2 < rank; ++i) {
    const uint32_t from_a = i + a.size() >= rank ? a[i + a.size() - rank] : 1;
    const uint32_t from_b = i + b.size() >= rank ? b[i + b.size() - rank] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) return node.fail("batches of ", from_a, " and ", from_b);
    out[i] = from_a == 1 ? from_b : from_a;
  }
  out[rank - 2] = a[a.size() - 2];
  out[rank - 1] = transposed ? b[b.size() - 2] : b[b.size() - 1];
  return node.set_output(static_cast<Dims&&>(out));
}

}  // namespace wick::xnnpack
