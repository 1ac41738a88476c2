// Nodes that compute each element of the result from the elements at its place, and softmax.
#include <math.h>

#include "backends/xnnpack/payload/payload_check.h"

namespace wick::xnnpack {
namespace {

bool is_byte(DataType type) { return (kBytes & bit_of(type)) != 0; }

// Shapes meet at their last dims; a dim of 1 is repeated.
bool broadcast(const Dims& a, const Dims& b, Dims* out) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  *out = longer;
  const size_t skip = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    uint32_t& dim = (*out)[skip + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) return false;
    dim = shorter[i];
  }
  return true;
}

// The library turns these ratios into shifts without checking them.
Error check_ratio(NodeCheck& node, double ratio, int low, int high) {
  const double size = fabs(ratio);
  if (size >= ldexp(1, low) && size < ldexp(1, high)) return Error::Ok;
  return node.fail("the scales of operands and result are too far apart");
}

Error check_binary_scales(NodeCheck& node) {
  const double a = node.input(0).quantization.scale, b = node.input(1).quantization.scale;
  const double out = node.output().quantization.scale;
  if (node.node.type == NodeType::multiply) return check_ratio(node, a * b / out, -16, 8);
  if (node.node.type != NodeType::add && node.node.type != NodeType::subtract) return Error::Ok;
  const Error error = check_ratio(node, a / out, -10, 8);
  return error == Error::Ok ? check_ratio(node, b / out, -10, 8) : error;
}

}  // namespace

Error check_binary(NodeCheck& node) {
  Error error = node.same_types(kFloats | kBytes);
  if (error == Error::Ok && is_byte(node.output().type)) error = check_binary_scales(node);
  if (error != Error::Ok) return error;
  Dims out;
  if (!broadcast(node.dims(0), node.dims(1), &out)) return node.fail("the inputs cannot be broadcast to one shape");
  return node.set_output(static_cast<Dims&&>(out));
}

Error check_prelu(NodeCheck& node) {
  const Error error = node.same_types(kFloats);
  if (error != Error::Ok) return error;
  Dims out;
  if (!broadcast(node.dims(0), node.dims(1), &out) || out != node.dims(0)) {
    return node.fail("the slope cannot be broadcast to the input");
  }
  return node.set_output(static_cast<Dims&&>(out));
}

Error check_unary(NodeCheck& node) {
  const Error error = node.same_types(kFloats | kBytes);
  return error == Error::Ok ? node.set_output(node.dims(0)) : error;
}

Error check_clamp(NodeCheck& node) {
  Error error = node.same_types(kFloats | kBytes);
  if (error == Error::Ok && is_byte(node.output().type)) error = node.same_quantization(0);
  return error == Error::Ok ? node.set_output(node.dims(0)) : error;
}

Error check_sloped(NodeCheck& node) {
  const bool is_elu = node.node.type == NodeType::elu;
  const float value = node.node.value;
  Error error = node.same_types(kFloats | kBytes);
  if (error != Error::Ok) return error;
  if (is_elu ? !(isnormal(value) && value > 0) : !isfinite(value)) return node.fail("a bad slope");
  if (!is_elu && is_byte(node.output().type)) {
    const double ratio =
        static_cast<double>(node.input(0).quantization.scale) / static_cast<double>(node.output().quantization.scale);
    error = check_ratio(node, ratio, -8, 7);
    if (error == Error::Ok) error = check_ratio(node, ratio * static_cast<double>(value), -8, 6);
  }
  return error == Error::Ok ? node.set_output(node.dims(0)) : error;
}

Error check_softmax(NodeCheck& node) {
  const Error error = node.same_types(kFloats);
  if (error != Error::Ok) return error;
  if (node.dims(0).empty()) return node.fail("its input has rank 0");
  return node.set_output(node.dims(0));
}

Error check_convert(NodeCheck& node) {
  struct Pair {
    DataType from;
    uint32_t to;
  };
  constexpr uint32_t kDynamic = bit_of(DataType::qdint8);
  constexpr Pair kPairs[] = {
      {DataType::fp32, bit_of(DataType::fp16) | kBytes | kDynamic},
      {DataType::fp16, bit_of(DataType::fp32) | bit_of(DataType::qint8) | kDynamic},
      {DataType::bf16, kDynamic},
      {DataType::qint8, kNativeFloats | bit_of(DataType::qint8)},
      {DataType::quint8, bit_of(DataType::fp32) | bit_of(DataType::quint8)},
  };
  const PayloadValue& in = node.input(0);
  const PayloadValue& out = node.output();
  bool known = false;
  for (const Pair& pair : kPairs) known = known || (pair.from == in.type && (pair.to & bit_of(out.type)));
  if (!known) return node.fail("no conversion from ", name_of(in.type), " to ", name_of(out.type));
  if (out.type == DataType::qdint8 && out.quantization.num_nonbatch_dims > node.dims(0).size()) {
    return node.fail("quantizes over more dims than its input has");
  }
  if (is_byte(in.type) && is_byte(out.type)) {
    const double ratio = static_cast<double>(in.quantization.scale) / static_cast<double>(out.quantization.scale);
    const Error error = check_ratio(node, ratio, -8, 7);
    if (error != Error::Ok) return error;
  }
  return node.set_output(node.dims(0));
}

}  // namespace wick::xnnpack
