// Arguments no exporter writes: every kernel refuses them and leaves the memory around its tensors alone.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

using Ints = std::vector<int64_t>;
using Tensors = std::vector<TestTensor*>;
constexpr int64_t kHuge = INT64_MAX, kTiny = INT64_MIN;

#define REFUSES(...) EXPECT_EQ(call(__VA_ARGS__), Error::InvalidArgument)

TEST(HostileIndices, AreRefused) {
  TestTensor x = make(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}), out = make_out(DType::f32, {1, 2}),
             one = make(DType::f32, {1, 2}, {0});
  for (int64_t bad : {int64_t{3}, int64_t{-4}, kHuge, kTiny}) {
    TestTensor index = make_ints(DType::i64, {1}, {bad}), grid = make_ints(DType::i64, {1, 2}, {bad, 0});
    TestTensor same = make_out(DType::f32, {3, 2}), copy = make(DType::f32, {3, 2}, {0});
    REFUSES("aten::embedding.out", {x, index, -1, false, false, out});
    REFUSES("aten::index.Tensor_out", {x, Tensors{&index}, out});
    REFUSES("aten::index_put.out", {x, Tensors{&index}, one, false, same});
    REFUSES("aten::index_put_", {copy, Tensors{&index}, one, true});
    REFUSES("aten::index_select.out", {x, 0, index, out});
    REFUSES("aten::index_copy.out", {x, 0, index, one, same});
    REFUSES("aten::index_add.out", {x, 0, index, one, 1, same});
    REFUSES("aten::index_fill.int_Scalar_out", {x, 0, index, 1, same});
    REFUSES("aten::gather.out", {x, 0, grid, false, out});
    REFUSES("aten::scatter.src_out", {x, 0, grid, one, same});
    REFUSES("aten::scatter.value_out", {x, 0, grid, 1, same});
    REFUSES("aten::scatter_add.out", {x, 0, grid, one, same});
    REFUSES("aten::scatter_reduce.two_out", {x, 0, grid, one, "mean", false, same});
    REFUSES("aten::select_copy.int_out", {x, 0, bad, make_out(DType::f32, {2})});
  }
}

TEST(HostileBools, AnyByteButZeroIsTrue) {
  TestTensor x = make(DType::boolean, {3}, {0, 0, 0}), more = make(DType::boolean, {2}, {0, 0});
  TestTensor index = make_ints(DType::i64, {2}, {0, 2}), out = make_out(DType::boolean, {3});
  x.tensor.as<uint8_t>()[1] = 8;
  more.tensor.as<uint8_t>()[1] = 0x42;
  const auto expect = [&] {
    EXPECT_EQ(out.tensor.as<uint8_t>()[0], 0);
    EXPECT_NE(out.tensor.as<uint8_t>()[1], 0);
    EXPECT_EQ(out.tensor.as<uint8_t>()[2], 1);
  };
  ASSERT_EQ(call("aten::index_add.out", {x, 0, index, more, 1, out}), Error::Ok);
  expect();
  ASSERT_EQ(call("aten::scatter_add.out", {x, 0, index, more, out}), Error::Ok);
  expect();
}

TEST(HostileDims, AreRefused) {
  TestTensor x = make(DType::f32, {3, 2}, {0}), out = make_out(DType::f32, {3, 2}),
             index = make(DType::i64, {3, 2}, {0});
  TestTensor indices = make_out(DType::i64, {3, 2});
  for (int64_t dim : {int64_t{2}, int64_t{-3}, kHuge, kTiny}) {
    REFUSES("aten::permute_copy.out", {x, Ints{0, dim}, out});
    REFUSES("aten::transpose_copy.int_out", {x, dim, 0, out});
    REFUSES("aten::slice_copy.Tensor_out", {x, dim, nullptr, nullptr, 1, out});
    REFUSES("aten::cat.out", {Tensors{&x}, dim, out});
    REFUSES("aten::flip.out", {x, Ints{dim}, out});
    REFUSES("aten::gather.out", {x, dim, index, false, out});
    REFUSES("aten::sort.values", {x, dim, false, out, indices});
    REFUSES("aten::cummax.out", {x, dim, out, indices});
    REFUSES("aten::split_copy.Tensor_out", {x, 3, dim, Tensors{&out}});
    REFUSES("aten::squeeze_copy.dim_out", {x, dim, out});
    REFUSES("aten::roll.out", {x, Ints{1}, Ints{dim}, out});
  }
  REFUSES("aten::permute_copy.out", {x, Ints{0, 0}, out});
  REFUSES("aten::permute_copy.out", {x, Ints{0}, out});
  REFUSES("aten::stack.out", {Tensors{&x}, 4, out});
}

TEST(HostileSizes, AreRefused) {
  TestTensor x = make(DType::f32, {4}, {1, 2, 3, 4}), out = make_out(DType::f32, {4}),
             empty = make(DType::f32, {0}, {});
  for (int64_t bad : {int64_t{-2}, kHuge, kTiny, int64_t{1} << 31}) {
    EXPECT_NE(call("aten::view_copy.out", {x, Ints{bad}, out}), Error::Ok);
    EXPECT_NE(call("aten::expand_copy.out", {x, Ints{bad}, false, out}), Error::Ok);
    EXPECT_NE(call("aten::full.out", {Ints{bad}, 1, out}), Error::Ok);
    EXPECT_NE(call("aten::repeat.out", {x, Ints{bad}, out}), Error::Ok);
    EXPECT_NE(call("aten::constant_pad_nd.out", {x, Ints{bad, bad}, 0, out}), Error::Ok);
    EXPECT_NE(call("aten::arange.out", {bad, out}), Error::Ok);
    EXPECT_NE(call("aten::linspace.out", {0, 1, bad, out}), Error::Ok);
    EXPECT_NE(call("aten::eye.out", {bad, out}), Error::Ok);
    EXPECT_NE(call("aten::as_strided_copy.out", {x, Ints{2}, Ints{bad}, 0, out}), Error::Ok);
    EXPECT_NE(call("aten::as_strided_copy.out", {x, Ints{bad}, Ints{1}, 0, out}), Error::Ok);
    EXPECT_NE(call("aten::narrow_copy.out", {x, 0, 1, bad, out}), Error::Ok);
    EXPECT_NE(call("aten::unfold_copy.out", {x, 0, bad, 1, out}), Error::Ok);
    EXPECT_NE(call("aten::topk.values", {x, bad, 0, true, true, out, make_out(DType::i64, {4})}), Error::Ok);
    EXPECT_NE(call("aten::randperm.out", {bad, make_out(DType::i64, {4})}), Error::Ok);
    EXPECT_NE(call("aten::rand.out", {Ints{bad}, out}), Error::Ok);
  }
  REFUSES("aten::slice_copy.Tensor_out", {x, 0, 0, 4, 0, out});
  REFUSES("aten::as_strided_copy.out", {x, Ints{4}, Ints{1}, 1, out});
  REFUSES("aten::view_copy.out", {x, Ints{-1, -1}, out});
  REFUSES("aten::cat.out", {Tensors{}, 0, out});
  REFUSES("aten::stack.out", {Tensors{}, 0, out});
  REFUSES("aten::split_with_sizes_copy.out", {x, Ints{kHuge, kHuge}, 0, Tensors{&out, &empty}});
  REFUSES("aten::split_copy.Tensor_out", {x, 0, 0, Tensors{&out}});
  REFUSES("aten::reflection_pad1d.out", {make(DType::f32, {1, 2}, {1, 2}), Ints{2, 0}, make_out(DType::f32, {1, 4})});
  REFUSES("aten::pixel_shuffle.out", {make(DType::f32, {3, 1, 1}, {1, 2, 3}), 2, out});
  REFUSES("aten::bincount.out", {make(DType::i64, {1}, {-1}), nullptr, 0, make_out(DType::i64, {4})});
  REFUSES("aten::repeat_interleave.Tensor_out", {make(DType::i64, {2}, {-1, 5}), nullptr, make_out(DType::i64, {4})});
}

TEST(OutTensors, OfTheWrongShapeOrDtypeAreRefused) {
  TestTensor x = make(DType::f32, {2, 2}, {1, 2, 3, 4}), small = make_out(DType::f32, {2, 1}),
             ints = make_out(DType::i32, {2, 2});
  EXPECT_EQ(call("aten::clone.out", {x, nullptr, small}), Error::NotSupported);
  EXPECT_EQ(call("aten::clone.out", {x, nullptr, ints}), Error::InvalidType);
  TestTensor room = make_dynamic(DType::i64, {1, 2});
  EXPECT_EQ(call("aten::nonzero.out", {x, room}), Error::OutOfResources);
  REFUSES("aten::expand_copy.out", {x, Ints{3, 2}, false, make_out(DType::f32, {3, 2})});
  EXPECT_EQ(call("aten::index.Tensor_out", {x, Tensors{&x}, small}), Error::InvalidType);
}

TEST(QuantizedArguments, OutOfRangeAreRefused) {
  TestTensor x = make(DType::f32, {2}, {1, 2}), q = make_out(DType::i8, {2});
  const char* name = "quantized_decomposed::quantize_per_tensor.out";
  REFUSES(name, {x, 0.0, 0, -128, 127, DType::i8, q});
  REFUSES(name, {x, 1.0, 0, -129, 127, DType::i8, q});
  REFUSES(name, {x, 1.0, 0, 5, 4, DType::i8, q});
  EXPECT_EQ(call(name, {x, 1.0, 0, 0, 255, DType::u8, q}), Error::InvalidType);
  EXPECT_EQ(call(name, {x, 1.0, kTiny, -128, 127, DType::i8, q}), Error::Ok);
  TestTensor scales = make(DType::f32, {3}, {1}), points = make(DType::i64, {3}, {0});
  REFUSES("quantized_decomposed::quantize_per_channel.out", {x, scales, points, 0, -128, 127, DType::i8, q});
  // A scale and a zero point must both be one for all channels, or both one for each.
  TestTensor one_scale = make(DType::f32, {1}, {1}), two_scales = make(DType::f32, {2}, {1, 1}),
             one_point = make(DType::i64, {1}, {0}), two_points = make(DType::i64, {2}, {0, 0});
  REFUSES("quantized_decomposed::quantize_per_channel.out", {x, one_scale, two_points, 0, -128, 127, DType::i8, q});
  REFUSES("quantized_decomposed::quantize_per_channel.out", {x, two_scales, one_point, 0, -128, 127, DType::i8, q});
  EXPECT_EQ(
      call("quantized_decomposed::quantize_per_channel.out", {x, one_scale, one_point, 0, -128, 127, DType::i8, q}),
      Error::Ok);
  TestTensor table = make(DType::u8, {2, 1}, {1, 2}), row_scales = make(DType::f32, {2}, {1}),
             bad = make(DType::i64, {1}, {2});
  REFUSES("quantized_decomposed::embedding_4bit.out",
          {table, row_scales, nullptr, -8, 7, bad, make_out(DType::f32, {1, 2})});
}

}  // namespace
}  // namespace wick::test
