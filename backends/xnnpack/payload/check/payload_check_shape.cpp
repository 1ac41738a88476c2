// Nodes that move elements.
#include "backends/xnnpack/payload/payload_check.h"

namespace wick::xnnpack {
namespace {

// Elements are copied as they are.
Error check_moved(NodeCheck& node) {
  Error error = node.same_types(kFloats | kBytes);
  for (size_t i = 0; error == Error::Ok && i < num_inputs(node.node.type); ++i) error = node.same_quantization(i);
  return error;
}

}  // namespace

Error check_copy(NodeCheck& node) {
  const Error error = check_moved(node);
  return error == Error::Ok ? node.set_output(node.dims(0)) : error;
}

Error check_transpose(NodeCheck& node) {
  const Error error = check_moved(node);
  if (error != Error::Ok) return error;
  const Dims& in = node.dims(0);
  const Dims& permutation = node.node.first;
  if (in.empty() || permutation.size() != in.size()) return node.fail("the permutation is not of the input's rank");
  uint32_t seen = 0;
  Dims out;
  for (uint32_t dim : permutation) {
    if (dim >= in.size() || (seen >> dim & 1)) return node.fail("the permutation is none");
    seen |= uint32_t{1} << dim;
    out.push_back(in[dim]);
  }
  return node.set_output(static_cast<Dims&&>(out));
}

Error check_reshape(NodeCheck& node) {
  const Error error = check_moved(node);
  if (error != Error::Ok) return error;
  Dims out = node.node.first;
  uint32_t* inferred = nullptr;
  for (uint32_t& dim : out) {
    if (dim != 0) continue;
    if (inferred) return node.fail("more than one size is to be inferred");
    inferred = &dim;
    dim = 1;
  }
  const uint64_t have = count_of(node.dims(0)), known = count_of(out);
  if (inferred ? have % known != 0 : have != known)
    return node.fail("the new shape has a different number of elements");
  if (inferred) *inferred = static_cast<uint32_t>(have / known);
  return node.set_output(static_cast<Dims&&>(out));
}

Error check_slice(NodeCheck& node) {
  const Error error = check_moved(node);
  if (error != Error::Ok) return error;
  const Dims& in = node.dims(0);
  const Dims& offsets = node.node.first;
  Dims sizes = node.node.second;
  if (in.empty() || offsets.size() != in.size() || sizes.size() != in.size()) {
    return node.fail("offsets and sizes are not of the input's rank");
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (sizes[i] == 0 && offsets[i] == 0) sizes[i] = in[i];  // all of it
    if (sizes[i] == 0 || uint64_t{offsets[i]} + sizes[i] > in[i]) {
      return node.fail("dim ", static_cast<uint64_t>(i), " of ", in[i], " has no elements ", offsets[i], " to ",
                       uint64_t{offsets[i]} + sizes[i]);
    }
  }
  return node.set_output(static_cast<Dims&&>(sizes));
}

Error check_constant_pad(NodeCheck& node) {
  const Error error = check_moved(node);
  if (error != Error::Ok) return error;
  Dims out = node.dims(0);
  const Dims& before = node.node.first;
  const Dims& after = node.node.second;
  if (out.empty() || before.size() != out.size() || after.size() != out.size()) {
    return node.fail("the padding is not of the input's rank");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t dim = uint64_t{out[i]} + before[i] + after[i];
    if (dim >= kMaxElements) return node.fail("the padding is too large");
    out[i] = static_cast<uint32_t>(dim);
  }
  return node.set_output(static_cast<Dims&&>(out));
}

Error check_concatenate(NodeCheck& node) {
  const Error error = check_moved(node);
  if (error != Error::Ok) return error;
  Dims out = node.dims(0);
  const uint32_t axis = node.node.axis;
  if (axis >= out.size()) return node.fail("dim ", axis, " of ", static_cast<uint64_t>(out.size()));
  uint64_t total = out[axis];
  for (size_t i = 1; i < num_inputs(node.node.type); ++i) {
    const Dims& next = node.dims(i);
    bool fits = next.size() == out.size();
    for (size_t k = 0; fits && k < out.size(); ++k) fits = k == axis || next[k] == out[k];
    if (!fits) return node.fail("input ", node.node.inputs[i], " differs from the first in more than dim ", axis);
    total += next[axis];
  }
  if (total >= kMaxElements) return node.fail("a result of 2^31 elements or more");
  out[axis] = static_cast<uint32_t>(total);
  return node.set_output(static_cast<Dims&&>(out));
}

}  // namespace wick::xnnpack
