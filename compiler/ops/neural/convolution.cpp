// Convolutions. All forms become aten.convolution.
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

struct ConvArgs {
  Ints stride, padding, dilation, output_padding;
  bool transposed = false;
  Sym groups = 1;
};

// Output sizes of a batched convolution. weight: [out, in / groups, k..], transposed [in, out / groups, k..].
Sizes conv_sizes(const Value* x, const Value* weight, const Value* bias, const ConvArgs& args) {
  if (weight->rank() < 3) reject("convolution: the weight needs at least one spatial dimension");
  const size_t spatial = weight->rank() - 2;
  if (x->rank() != spatial + 2)
    reject(fmt::format("convolution: input rank {} with weight rank {}", x->rank(), weight->rank()));
  const Ints stride = repeat_to(args.stride, spatial, "stride"), padding = repeat_to(args.padding, spatial, "padding");
  const Ints dilation = repeat_to(args.dilation, spatial, "dilation");
  const Ints extra =
      args.transposed ? repeat_to(args.output_padding, spatial, "output_padding") : Ints(spatial, Sym(0));
  if (!args.groups.is_const() || args.groups.value() <= 0) reject("convolution: groups must be positive");
  const Sym in_channels = args.transposed ? weight->sizes()[0] : weight->sizes()[1] * args.groups;
  const Sym out_channels = args.transposed ? weight->sizes()[1] * args.groups : weight->sizes()[0];
  require_equal(x->sizes()[1], in_channels, "convolution: input channels");
  for (const Sym& channels : {in_channels, out_channels}) {
    if (channels.is_const() && channels.value() % args.groups.value() != 0)
      reject("convolution: groups do not divide the channels");
  }
  if (bias) {
    require_rank(bias, 1, "convolution: bias");
    require_equal(bias->sizes()[0], out_channels, "convolution: bias size");
  }
  if (x->dtype() != weight->dtype()) reject("convolution: input and weight differ in dtype");
  Sizes out{x->sizes()[0], out_channels};
  for (size_t i = 0; i < spatial; ++i) {
    const Sym &in = x->sizes()[i + 2], &kernel = weight->sizes()[i + 2];
    if (padding[i].is_const() && padding[i].value() < 0) reject("convolution: padding is negative");
    if (args.transposed) {
      if (stride[i].is_const() && stride[i].value() <= 0) reject("convolution: stride must be positive");
      out.push_back((in - 1) * stride[i] - padding[i] * 2 + dilation[i] * (kernel - 1) + extra[i] + 1);
      if (out.back().is_const() && out.back().value() < 0) reject("convolution: the output size is negative");
    } else {
      out.push_back(window_size(in, padding[i], kernel, stride[i], dilation[i], false));
    }
  }
  return out;
}

void infer_convolution(Node& node) {
  const Value *x = node.tensor("input"), *weight = node.tensor("weight");
  ConvArgs args{node.ints("stride"),         node.ints("padding"),       node.ints("dilation"),
                node.ints("output_padding"), node.boolean("transposed"), node.integer("groups")};
  set_result(node, x->dtype(), conv_sizes(x, weight, node.optional_tensor("bias"), args));
}

// (a + bi) * (c + di) = (ac - bd) + (ad + bc)i. Eager converts a bias of another dtype to that of the input.
Results decompose_complex_convolution(Builder& b, Node& node) {
  Value *x = node.tensor("input"), *weight = node.tensor("weight"), *bias = node.optional_tensor("bias");
  if (!is_complex(x->dtype())) {
    if (!bias || bias->dtype() == x->dtype()) return {};
    Args args = node.args();
    args[2] = b.cast(bias, x->dtype());
    return {b.call("aten.convolution", std::move(args))};
  }
  Compose c(b);
  const auto part = [&](Value* of, int64_t index) {
    return b.select(b.call("aten.view_as_real", {of}), static_cast<int64_t>(of->rank()), index);
  };
  const auto convolve = [&](int64_t of_x, int64_t of_weight, Arg summand) {
    Args args(node.args().begin(), node.args().end());
    args[0] = part(x, of_x);
    args[1] = part(weight, of_weight);
    args[2] = std::move(summand);
    return b.call("aten.convolution", std::move(args));
  };
  const auto part_of_bias = [&](int64_t index) { return bias ? Arg(part(bias, index)) : Arg(None{}); };
  Value* real = c.sub(convolve(0, 0, part_of_bias(0)), convolve(1, 1, None{}));
  Value* imaginary = c.add(convolve(0, 1, part_of_bias(1)), convolve(1, 0, None{}));
  return {b.call("aten.view_as_complex", {c.stack({real, imaginary}, static_cast<int64_t>(x->rank()))})};
}

// Padding by the word "same": (left, right) per spatial dimension, or "valid".
struct NamedPadding {
  Ints left, extra_right;
};
NamedPadding named_padding(const Node& node, const Value* weight, const Ints& dilation, const Ints& stride) {
  const std::string word = node.string("padding");
  const size_t spatial = weight->rank() - 2;
  NamedPadding out{Ints(spatial, Sym(0)), Ints(spatial, Sym(0))};
  if (word == "valid") return out;
  if (word != "same") reject("padding must be 'same' or 'valid'");
  for (size_t i = 0; i < spatial; ++i) {
    if (!stride[i].is(1)) reject("padding 'same' needs stride 1");
    const Sym total = dilation[i] * (weight->sizes()[i + 2] - 1);
    out.left[i] = floor_div(total, 2);
    out.extra_right[i] = total - out.left[i] * 2;
  }
  return out;
}

bool has_named_padding(const Node& node) {
  const int index = node.op->parsed->find("padding");
  return node.op->parsed->args[static_cast<size_t>(index)].type == ArgType::string;
}

ConvArgs read_args(const Node& node, size_t spatial) {
  ConvArgs args;
  args.stride = repeat_to(node.ints("stride"), spatial, "stride");
  args.dilation = repeat_to(node.ints("dilation"), spatial, "dilation");
  args.groups = node.integer("groups");
  args.transposed = node.op->parsed->find("output_padding") >= 0;
  args.output_padding =
      args.transposed ? repeat_to(node.ints("output_padding"), spatial, "output_padding") : Ints(spatial, Sym(0));
  if (!has_named_padding(node)) args.padding = repeat_to(node.ints("padding"), spatial, "padding");
  return args;
}

// Unbatched inputs get a batch of 1.
void infer_conv(Node& node) {
  const Value *x = node.tensor("input"), *weight = node.tensor("weight");
  if (weight->rank() < 3) reject("convolution: the weight needs at least one spatial dimension");
  const size_t spatial = weight->rank() - 2;
  ConvArgs args = read_args(node, spatial);
  Value batched;
  batched.type = x->type;
  Sizes& sizes = batched.type.tensor.sizes;
  const bool unbatched = x->rank() == spatial + 1;
  if (unbatched) sizes.insert(sizes.begin(), Sym(1));
  if (has_named_padding(node) && sizes.size() == spatial + 2) {
    const NamedPadding pad = named_padding(node, weight, args.dilation, args.stride);
    for (size_t i = 0; i < spatial; ++i) sizes[i + 2] = sizes[i + 2] + pad.extra_right[i];
    args.padding = pad.left;
  }
  Sizes out = conv_sizes(&batched, weight, node.optional_tensor("bias"), args);
  if (unbatched) out.erase(out.begin());
  set_result(node, x->dtype(), std::move(out));
}

Results decompose_conv(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("input"), *weight = node.tensor("weight");
  const size_t spatial = weight->rank() - 2;
  ConvArgs args = read_args(node, spatial);
  const bool unbatched = x->rank() == spatial + 1;
  if (unbatched) x = b.unsqueeze(x, 0);
  if (has_named_padding(node)) {
    const NamedPadding pad = named_padding(node, weight, args.dilation, args.stride);
    args.padding = pad.left;
    Ints pairs;
    bool any = false;
    for (size_t i = spatial; i-- > 0;) {
      pairs.push_back(0);
      pairs.push_back(pad.extra_right[i]);
      any = any || !pad.extra_right[i].is(0);
    }
    if (any) x = c.pad(x, std::move(pairs));
  }
  Value* out = b.call("aten.convolution", {x, weight, node.arg("bias"), args.stride, args.padding, args.dilation,
                                           args.transposed, args.output_padding, args.groups});
  return {unbatched ? b.squeeze(out, 0) : out};
}

Results decompose_generic(Builder& b, Node& node) {
  Args args(node.args().begin(), node.args().begin() + 9);
  return {b.call("aten.convolution", std::move(args))};
}

// input [time, batch, in], weight [k, in, out]
void infer_conv_tbc(Node& node) {
  const Value *x = node.tensor("self"), *weight = node.tensor("weight");
  require(x->rank() == 3 && weight->rank() == 3, "conv_tbc: the input and the weight need three dimensions");
  const Sym time = window_size(x->sizes()[0], node.integer("pad"), weight->sizes()[0], 1, 1, false);
  set_result(node, x->dtype(), {time, x->sizes()[1], weight->sizes()[2]});
}
Results decompose_conv_tbc(Builder& b, Node& node) {
  Compose c(b);
  Value *x = node.tensor("self"), *weight = node.tensor("weight");
  Value* out = c.call("aten.conv1d", {b.permute(x, {1, 2, 0}), b.permute(weight, {2, 1, 0}), node.arg("bias"), Ints{1},
                                      Ints{node.integer("pad")}, Ints{1}, Sym(1)});
  return {b.permute(out, {2, 0, 1})};
}

}  // namespace

const OpDef kConvolutionRows[] = {
    {"aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] "
     "dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
     infer_convolution, decompose_complex_convolution, "aten::convolution.out",
     kPassesBoth | kWeightedSum | kNoNegativeZero | Growth::matrices,
     Cases("f32[1, 2, 8], f32[3, 2, 3], f32[3], [1], [0], [1], false, [0], 1",
           "f32[1, 3, 4, 4], f32[3, 2, 2, 2], None, [2, 2], [0, 0], [1, 1], true, [0, 0], 1",
           "f32[1, 3, 4, 5], f32[3, 2, 3, 3], None, [2], [1], [1], true, [1], 1"),
     &kManyTerms},
    {"aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] "
     "dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool "
     "cudnn_enabled, bool allow_tf32) -> Tensor",
     infer_convolution, decompose_generic, nullptr, kPure,
     Cases("f32[1, 3, 5, 5], f32[4, 3, 3, 3], f32[4], [1, 1], [1, 1], [1, 1], false, [0, 0], 1, false, false, true, "
           "true"),
     &kManyTerms},
    {"aten::convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
     "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
     infer_convolution, decompose_generic},
    {"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], "
     "SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[2, 4, 10], f32[2, 4, 3]", "f32[2, 8], f32[3, 2, 3], f32[3], [1], [1], [1], 1",
           "f32[1, 2, 8], f32[3, 2, 3], f32[3], [1], [0], [1], 1", "c64[2, 4, 10], c64[3, 4, 3]"),
     &kManyTerms},
    {"aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", infer_conv_tbc, decompose_conv_tbc,
     nullptr, kPure, Cases("f32[5, 2, 3], f32[2, 3, 4], f32[4]", "f32[4, 1, 2], f32[3, 2, 3], f32[3], 1"), &kManyTerms},
    {"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], "
     "SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[1, 4, 6, 8], f32[1, 4, 3, 3]", "f16[1, 3, 5, 5], f16[4, 3, 3, 3], f16[4]",
           "f32[1, 1, 5, 5], f32[1, 1, 3, 3], None, [1, 1], [0, 0], [1, 1], 1",
           "c64[1, 4, 4, 5], c64[6, 2, 3, 2], c64[6], [1, 2], [1, 0], [1, 1], 2"),
     &kManyTerms},
    {"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, "
     "0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[1, 2, 4, 4, 6], f32[1, 2, 2, 2, 2], None, [2, 2, 2]",
           "f32[1, 2, 4, 5, 6], f32[3, 2, 2, 3, 3], f32[3], [1, 1, 1], [0, 1, 1], [1, 1, 1], 1"),
     &kManyTerms},
    {"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str "
     "padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure, Cases("f32[1, 2, 7], f32[3, 2, 4], None, [1], same, [2]"),
     &kManyTerms},
    {"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str "
     "padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[1, 2, 5, 6], f32[3, 2, 3, 4], f32[3], [1, 1], same",
           "f32[1, 4, 6, 8], f32[4, 1, 3, 3], None, [1, 1], same, [1, 1], 4",
           "f32[1, 2, 5, 6], f32[3, 2, 3, 4], f32[3], [1, 1], valid"),
     &kManyTerms},
    {"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str "
     "padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[1, 2, 3, 4, 5], f32[3, 2, 2, 3, 3], f32[3], [1, 1, 1], same",
           "f32[1, 2, 3, 4, 5], f32[3, 2, 2, 3, 3], None, [1, 1, 1], valid"),
     &kManyTerms},
    {"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
     "padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[2, 4, 10], f32[4, 2, 3]", "f32[1, 3, 5], f32[3, 2, 4], f32[2], [2], [1]"), &kManyTerms},
    {"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
     "padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[1, 4, 6, 8], f32[4, 1, 3, 3], None, [2, 2], [0, 0], [1, 1]",
           "f32[1, 3, 4, 4], f32[3, 2, 2, 2], f32[2], [2, 2], [0, 0], [0, 0], 1, [1, 1]"),
     &kManyTerms},
    {"aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
     "SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) "
     "-> Tensor",
     infer_conv, decompose_conv, nullptr, kPure,
     Cases("f32[1, 2, 4, 4, 6], f32[2, 1, 2, 2, 2]", "f32[1, 2, 2, 3, 3], f32[2, 2, 2, 2, 2], None, [2, 2, 2]"),
     &kManyTerms},
};
const size_t kConvolutionCount = std::size(kConvolutionRows);

}  // namespace wick::compiler
