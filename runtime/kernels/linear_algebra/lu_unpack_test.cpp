#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

struct Results {
  TestTensor p, l, u;
};

Results results(DType dtype, std::vector<int32_t> p, std::vector<int32_t> l, std::vector<int32_t> u) {
  return {make_out(dtype, std::move(p)), make_out(dtype, std::move(l)), make_out(dtype, std::move(u))};
}

Error unpack(const TestTensor& lu, const TestTensor& pivots, Results& out, bool data = true, bool permute = true) {
  return call("aten::lu_unpack.out", {lu, pivots, data, permute, out.p, out.l, out.u});
}

// All results are those of eager PyTorch.
TEST(LuUnpack, GivesPermutationAndTrianglesInEveryDtype) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::i32,
                      DType::i64, DType::c64, DType::c128}) {
    TestTensor lu = make(dtype, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), pivots = make(DType::i32, {2}, {2, 2});
    Results out = results(dtype, {2, 2}, {2, 2}, {2, 4});
    ASSERT_EQ(unpack(lu, pivots, out), Error::Ok) << dtype_name(dtype);
    EXPECT_TRUE(equals(out.p, {0, 1, 1, 0})) << dtype_name(dtype);
    EXPECT_TRUE(equals(out.l, {1, 0, 5, 1})) << dtype_name(dtype);
    EXPECT_TRUE(equals(out.u, {1, 2, 3, 4, 0, 6, 7, 8})) << dtype_name(dtype);
  }
  TestTensor lu = make(DType::boolean, {2, 2}, {0, 1, 1, 0}), pivots = make(DType::i32, {2}, {2, 2});
  Results out = results(DType::boolean, {2, 2}, {2, 2}, {2, 2});
  ASSERT_EQ(unpack(lu, pivots, out), Error::Ok);
  EXPECT_TRUE(equals(out.p, {0, 1, 1, 0}));
  EXPECT_TRUE(equals(out.l, {1, 0, 1, 1}));
  EXPECT_TRUE(equals(out.u, {0, 1, 0, 0}));
}

TEST(LuUnpack, TallMatricesHaveAPermutationOfAllRows) {
  TestTensor lu = make(DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), pivots = make(DType::i32, {2}, {2, 2});
  Results out = results(DType::f32, {4, 4}, {4, 2}, {2, 2});
  pivots.tensor.as<int32_t>()[0] = 3;
  pivots.tensor.as<int32_t>()[1] = 3;
  ASSERT_EQ(unpack(lu, pivots, out), Error::Ok);
  EXPECT_TRUE(equals(out.p, {0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(equals(out.l, {1, 0, 3, 1, 5, 6, 7, 8}));
  EXPECT_TRUE(equals(out.u, {1, 2, 0, 4}));
}

TEST(LuUnpack, KeepsNanInfinityAndTheSignOfZero) {
  TestTensor lu = make(DType::f32, {2, 2}, {NAN, INFINITY, -0.0, -0.0}), pivots = make(DType::i32, {2}, {1, 2});
  Results out = results(DType::f32, {2, 2}, {2, 2}, {2, 2});
  ASSERT_EQ(unpack(lu, pivots, out), Error::Ok);
  EXPECT_TRUE(equals(out.p, {1, 0, 0, 1}));
  EXPECT_TRUE(equals(out.l, {1, 0, -0.0, 1}));
  EXPECT_TRUE(equals(out.u, {NAN, INFINITY, 0, -0.0}));
}

TEST(LuUnpack, BatchesInAnotherDimOrderAreUnpackedMatrixByMatrix) {
  TestTensor lu = make(DType::f64, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, {2, 0, 1}),
             pivots = make(DType::i32, {2, 2}, {2, 2, 1, 2}, {1, 0});
  Results out = {make_out(DType::f64, {2, 2, 2}, {1, 2, 0}), make_out(DType::f64, {2, 2, 2}, {2, 1, 0}),
                 make_out(DType::f64, {2, 2, 2})};
  ASSERT_EQ(unpack(lu, pivots, out), Error::Ok);
  EXPECT_TRUE(equals(out.p, {0, 1, 1, 0, 1, 0, 0, 1}));
  EXPECT_TRUE(equals(out.l, {1, 0, 3, 1, 1, 0, 7, 1}));
  EXPECT_TRUE(equals(out.u, {1, 2, 0, 4, 5, 6, 0, 8}));
}

TEST(LuUnpack, WhatIsNotUnpackedIsEmpty) {
  TestTensor lu = make(DType::f32, {2, 2}, {1, 2, 3, 4}), pivots = make(DType::i32, {2}, {2, 2}),
             unused = make(DType::i64, {3}, {7, 8, 9});
  Results only_p = results(DType::f32, {2, 2}, {0}, {0});
  ASSERT_EQ(unpack(lu, pivots, only_p, false), Error::Ok);
  EXPECT_TRUE(equals(only_p.p, {0, 1, 1, 0}));
  Results only_factors = results(DType::f32, {0}, {2, 2}, {2, 2});
  ASSERT_EQ(unpack(lu, unused, only_factors, true, false), Error::Ok);
  EXPECT_TRUE(equals(only_factors.u, {1, 2, 0, 4}));
}

TEST(LuUnpack, EmptyMatricesHaveTheIdentityOfTheirRows) {
  TestTensor none = make_out(DType::i32, {0}), no_columns = make_out(DType::f32, {2, 0}),
             no_rows = make_out(DType::f32, {0, 2});
  Results out = results(DType::f32, {2, 2}, {2, 0}, {0, 0});
  ASSERT_EQ(unpack(no_columns, none, out), Error::Ok);
  EXPECT_TRUE(equals(out.p, {1, 0, 0, 1}));
  Results nothing = results(DType::f32, {0, 0}, {0, 0}, {0, 2});
  EXPECT_EQ(unpack(no_rows, none, nothing), Error::Ok);
}

TEST(LuUnpack, WrongArgumentsAreRefused) {
  TestTensor lu = make(DType::f32, {2, 2}, {1, 2, 3, 4}), vector = make(DType::f32, {2}, {1, 2}),
             u16 = make(DType::u16, {2, 2}, {1, 2, 3, 4}), pivots = make(DType::i32, {2}, {1, 2}),
             wide = make(DType::i64, {2}, {1, 2}), three = make(DType::i32, {3}, {1, 2, 2}),
             rows = make(DType::i32, {1, 2}, {1, 2}), zero = make(DType::i32, {2}, {0, 2}),
             large = make(DType::i32, {2}, {1, 3}), least = make(DType::i32, {2}, {-2147483648.0, 2});
  Results out = results(DType::f32, {2, 2}, {2, 2}, {2, 2}), small = results(DType::f32, {2, 2}, {2, 1}, {2, 2}),
          other = results(DType::f64, {2, 2}, {2, 2}, {2, 2}),
          unsigned_out = results(DType::u16, {2, 2}, {2, 2}, {2, 2});
  EXPECT_EQ(unpack(vector, pivots, out), Error::InvalidArgument);
  EXPECT_EQ(unpack(u16, pivots, unsigned_out), Error::InvalidType);
  EXPECT_EQ(unpack(lu, wide, out), Error::InvalidType);
  EXPECT_EQ(unpack(lu, pivots, other), Error::InvalidType);
  for (const TestTensor* wrong : {&three, &rows, &zero, &large, &least})
    EXPECT_EQ(unpack(lu, *wrong, out), Error::InvalidArgument);
  EXPECT_EQ(unpack(lu, pivots, small), Error::NotSupported);
}

}  // namespace
}  // namespace wick::test
