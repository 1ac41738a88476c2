#include "runtime/exec/prim_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace wick {
namespace {

struct Outcome {
  Error error;
  EValue value;
};

/// Runs `op` with these arguments and a result slot.
Outcome run(const std::string& op, std::vector<EValue> values) {
  values.emplace_back();
  std::vector<EValue*> args;
  for (EValue& value : values) args.push_back(&value);
  for (const Kernel& kernel : prim_kernels()) {
    if (op != kernel.name) continue;
    KernelContext context({}, nullptr, nullptr);
    const Span<EValue*> span(args.data(), args.size());
    if (check_arguments(context, kernel.signature, span)) kernel.fn(context, span);
    return {context.error(), values.back()};
  }
  return {Error::OperatorMissing, {}};
}

EValue i(int64_t v) { return EValue::of_int(v); }
EValue f(double v) { return EValue::of_real(v); }
EValue b(bool v) { return EValue::of_bool(v); }

void expect_int(const std::string& op, std::vector<EValue> args, int64_t wanted) {
  const Outcome outcome = run("executorch_prim::" + op, std::move(args));
  EXPECT_EQ(outcome.error, Error::Ok) << op;
  EXPECT_EQ(outcome.value.tag, Tag::integer) << op;
  EXPECT_EQ(outcome.value.integer, wanted) << op;
}
void expect_real(const std::string& op, std::vector<EValue> args, double wanted) {
  const Outcome outcome = run("executorch_prim::" + op, std::move(args));
  EXPECT_EQ(outcome.error, Error::Ok) << op;
  EXPECT_EQ(outcome.value.tag, Tag::real) << op;
  EXPECT_EQ(outcome.value.real, wanted) << op;
}
void expect_bool(const std::string& op, std::vector<EValue> args, bool wanted) {
  const Outcome outcome = run("executorch_prim::" + op, std::move(args));
  EXPECT_EQ(outcome.error, Error::Ok) << op;
  EXPECT_EQ(outcome.value.tag, Tag::boolean) << op;
  EXPECT_EQ(outcome.value.boolean, wanted) << op;
}
void expect_error(const std::string& op, std::vector<EValue> args, Error wanted) {
  EXPECT_EQ(run("executorch_prim::" + op, std::move(args)).error, wanted) << op;
}

TEST(PrimOps, ArithmeticKeepsIntsWhole) {
  expect_int("add.Scalar", {i(2), i(3)}, 5);
  expect_int("sub.Scalar", {i(2), i(3)}, -1);
  expect_int("mul.Scalar", {i(-4), i(3)}, -12);
  expect_real("add.Scalar", {i(2), f(0.5)}, 2.5);
  expect_real("mul.Scalar", {f(2), f(0.5)}, 1);
  expect_error("add.Scalar", {i(INT64_MAX), i(1)}, Error::InvalidArgument);
  expect_error("mul.Scalar", {i(INT64_MIN), i(-1)}, Error::InvalidArgument);
  expect_error("add.Scalar", {b(true), i(1)}, Error::InvalidType);
}

TEST(PrimOps, DivisionRoundsAsItsNameSays) {
  expect_int("floordiv.Scalar", {i(-7), i(2)}, -4);
  expect_int("floordiv.Scalar", {i(7), i(-2)}, -4);
  expect_int("floordiv.Scalar", {i(-8), i(2)}, -4);
  expect_int("floordiv.Scalar", {i(7), i(2)}, 3);
  expect_real("floordiv.Scalar", {f(-7), i(2)}, -4);
  expect_int("floordiv.int", {i(-7), i(2)}, -3);
  expect_int("mod.int", {i(-7), i(2)}, -1);
  expect_int("mod.Scalar", {i(INT64_MIN), i(-1)}, 0);
  expect_real("truediv.Scalar", {i(7), i(2)}, 3.5);
  for (const char* op : {"floordiv.Scalar", "floordiv.int", "mod.int", "truediv.Scalar"}) {
    expect_error(op, {i(1), i(0)}, Error::InvalidArgument);
  }
  expect_error("floordiv.Scalar", {i(INT64_MIN), i(-1)}, Error::InvalidArgument);
  expect_error("floordiv.int", {i(INT64_MIN), i(-1)}, Error::InvalidArgument);
}

TEST(PrimOps, ComparesNumbersAndBools) {
  expect_bool("eq.Scalar", {i(2), f(2)}, true);
  expect_bool("gt.Scalar", {i(2), i(1)}, true);
  expect_bool("lt.Scalar", {i(2), i(1)}, false);
  expect_bool("ge.Scalar", {f(2), i(2)}, true);
  expect_bool("le.Scalar", {b(true), b(false)}, false);
  // Not equal as int64, equal as doubles.
  expect_bool("eq.Scalar", {i(INT64_MAX), i(INT64_MAX - 1)}, false);
  expect_error("eq.Scalar", {b(true), i(1)}, Error::InvalidType);
}

TEST(PrimOps, ConvertsAndRounds) {
  expect_int("sym_max.Scalar", {i(2), i(5)}, 5);
  expect_int("sym_min.Scalar", {i(2), i(5)}, 2);
  expect_real("sym_float.Scalar", {i(2)}, 2);
  expect_int("sym_int.Scalar", {f(-2.7)}, -2);
  expect_int("neg.Scalar", {i(2)}, -2);
  expect_real("neg.Scalar", {f(2)}, -2);
  expect_int("ceil.Scalar", {f(-2.5)}, -2);
  expect_int("ceil.Scalar", {f(2.1)}, 3);
  expect_int("trunc.Scalar", {f(-2.7)}, -2);
  for (const double half : {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4999, 4503599627370497.0}) {
    expect_int("round.Scalar", {f(half)}, static_cast<int64_t>(std::nearbyint(half)));
  }
  expect_bool("sym_not.Scalar", {b(true)}, false);
  expect_int("sym_ite.Scalar", {b(true), i(1), i(2)}, 1);
  expect_real("sym_ite.Scalar", {b(false), i(1), f(2)}, 2);
  expect_error("trunc.Scalar", {f(1e19)}, Error::InvalidArgument);
  expect_error("ceil.Scalar", {f(std::nan(""))}, Error::InvalidArgument);
  expect_error("trunc.Scalar", {i(1)}, Error::InvalidType);
}

struct Matrix {
  int32_t sizes[2];
  int32_t strides[2];
  uint8_t dim_order[2] = {0, 1};
  std::vector<float> data;
  Tensor tensor;
  Matrix(int32_t rows, int32_t columns, ShapeDynamism dynamism = ShapeDynamism::fixed)
      : sizes{rows, columns}, data(static_cast<size_t>(rows * columns)) {
    tensor.rank = 2;
    tensor.dynamism = dynamism;
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.dim_order = dim_order;
    tensor.data = data.data();
    EXPECT_EQ(compute_layout(tensor), Error::Ok);
    tensor.capacity_bytes = tensor.nbytes();
  }
};

TEST(PrimOps, AskTensorsForSizesAndElements) {
  Matrix matrix(2, 3);
  EXPECT_EQ(run("aten::sym_size.int", {EValue::of_tensor(&matrix.tensor), i(1)}).value.integer, 3);
  EXPECT_EQ(run("aten::sym_size.int", {EValue::of_tensor(&matrix.tensor), i(-2)}).value.integer, 2);
  EXPECT_EQ(run("aten::sym_size.int", {EValue::of_tensor(&matrix.tensor), i(2)}).error, Error::InvalidArgument);
  EXPECT_EQ(run("aten::sym_numel", {EValue::of_tensor(&matrix.tensor)}).value.integer, 6);
  EXPECT_EQ(run("aten::_local_scalar_dense", {EValue::of_tensor(&matrix.tensor)}).error, Error::InvalidArgument);
  Matrix one(1, 1);
  one.data[0] = 2.5f;
  EXPECT_EQ(run("aten::_local_scalar_dense", {EValue::of_tensor(&one.tensor)}).value.real, 2.5);
}

EValue int_list(IntListValue& list) {
  EValue value;
  value.tag = Tag::int_list;
  value.int_list = &list;
  return value;
}

Error view(Matrix& self, Matrix& out, int64_t rows, int64_t columns) {
  EValue a = i(rows);
  EValue c = i(columns);
  EValue* items[] = {&a, &c};
  int64_t unboxed[2];
  IntListValue sizes = {items, unboxed, 2};
  EValue arguments[] = {EValue::of_tensor(&self.tensor), int_list(sizes), EValue::of_tensor(&out.tensor)};
  EValue* args[] = {&arguments[0], &arguments[1], &arguments[2]};
  KernelContext context({}, nullptr, nullptr);
  for (const Kernel& kernel : prim_kernels()) {
    if (std::string(kernel.name) != kViewOperator) continue;
    if (check_arguments(context, kernel.signature, Span<EValue*>(args))) kernel.fn(context, Span<EValue*>(args));
  }
  return context.error();
}

TEST(PrimOps, ViewsHaveTheElementsOfTheirOperand) {
  Matrix self(2, 3);
  Matrix out(3, 2, ShapeDynamism::upper_bound);
  self.tensor.read_only = true;
  EXPECT_EQ(view(self, out, -1, 1), Error::Ok);
  EXPECT_EQ(out.sizes[0], 6);
  EXPECT_EQ(out.tensor.data, self.data.data());
  EXPECT_TRUE(out.tensor.read_only);
  EXPECT_EQ(view(self, out, 2, 2), Error::InvalidArgument);
  EXPECT_EQ(view(self, out, -1, -1), Error::InvalidArgument);
  EXPECT_EQ(view(self, out, -1, 4), Error::InvalidArgument);
  Matrix fixed(3, 2);
  EXPECT_EQ(view(self, fixed, 3, 2), Error::Ok);
  EXPECT_EQ(view(self, fixed, 6, 1), Error::NotSupported);
}

TEST(PrimOps, CopyIndexGrowsTheResultRowByRow) {
  Matrix out(2, 3, ShapeDynamism::upper_bound);
  int32_t sizes[] = {3};
  int32_t strides[] = {1};
  const uint8_t dim_order[] = {0};
  float row[] = {1, 2, 3};
  Tensor src;
  src.rank = 1;
  src.sizes = sizes;
  src.strides = strides;
  src.dim_order = dim_order;
  src.data = row;
  ASSERT_EQ(compute_layout(src), Error::Ok);
  KernelContext context({}, nullptr, nullptr);
  for (int64_t index : {0, 1, 2}) {
    EValue arguments[] = {EValue::of_tensor(&out.tensor), EValue::of_tensor(&src), i(index)};
    EValue* args[] = {&arguments[0], &arguments[1], &arguments[2]};
    for (const Kernel& kernel : prim_kernels()) {
      if (std::string(kernel.name) != "executorch_prim::et_copy_index.tensor") continue;
      if (check_arguments(context, kernel.signature, Span<EValue*>(args))) kernel.fn(context, Span<EValue*>(args));
    }
    EXPECT_EQ(context.error(), index < 2 ? Error::Ok : Error::OutOfResources);
    EXPECT_EQ(out.sizes[0], index == 0 ? 1 : 2);
  }
  EXPECT_EQ(out.data, (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

}  // namespace
}  // namespace wick
