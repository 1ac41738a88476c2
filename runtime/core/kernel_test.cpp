#include "wick/kernel.h"

#include <gtest/gtest.h>

#include <vector>

namespace wick {
namespace {

class CheckArguments : public testing::Test {
 protected:
  Error check(const char* signature, std::vector<EValue> values) {
    values.emplace_back();  // return slot
    std::vector<EValue*> args;
    for (EValue& value : values) args.push_back(&value);
    KernelContext context({}, nullptr, nullptr);
    const bool ok = check_arguments(context, signature, {args.data(), args.size()});
    EXPECT_EQ(ok, context.ok());
    return context.error();
  }
  static EValue list(Tag tag, Tensor** tensors, size_t size) {
    EValue value;
    value.tag = tag;
    value.tensor_list.data = tensors;
    value.tensor_list.size = size;
    return value;
  }
};

TEST_F(CheckArguments, TheNumberOfArgumentsSelectsTheForm) {
  const EValue i = EValue::of_int(1), b = EValue::of_bool(true);
  for (const char* signature : {"ib|b|ibi", "b|ibi|ib"}) {
    EXPECT_EQ(check(signature, {b}), Error::Ok);
    EXPECT_EQ(check(signature, {i, b}), Error::Ok);
    EXPECT_EQ(check(signature, {i, b, i}), Error::Ok);
    EXPECT_EQ(check(signature, {i}), Error::InvalidType);
    EXPECT_EQ(check(signature, {b, b}), Error::InvalidType);
    EXPECT_EQ(check(signature, {i, b, b}), Error::InvalidType);
    EXPECT_EQ(check(signature, {}), Error::InvalidProgram);
    EXPECT_EQ(check(signature, {i, b, i, b}), Error::InvalidProgram);
  }
  EXPECT_EQ(check("i|", {}), Error::Ok);
  EXPECT_EQ(check("", {}), Error::Ok);
}

TEST_F(CheckArguments, TakesTheTagOfTheLetter) {
  const EValue none;
  const EValue i = EValue::of_int(1);
  const EValue f = EValue::of_real(1);
  const EValue b = EValue::of_bool(true);
  struct Row {
    char letter;
    bool none, integer, real, boolean;
  };
  for (const Row& row :
       {Row{'i', 0, 1, 0, 0}, Row{'j', 1, 1, 0, 0}, Row{'s', 0, 1, 1, 1}, Row{'r', 1, 1, 1, 1}, Row{'f', 0, 0, 1, 0},
        Row{'e', 1, 0, 1, 0}, Row{'b', 0, 0, 0, 1}, Row{'c', 1, 0, 0, 1}, Row{'v', 1, 1, 1, 1}, Row{'T', 0, 0, 0, 0},
        Row{'t', 1, 0, 0, 0}, Row{'L', 0, 0, 0, 0}, Row{'l', 0, 0, 0, 0}, Row{'I', 0, 0, 0, 0}, Row{'J', 1, 0, 0, 0},
        Row{'F', 1, 0, 0, 0}, Row{'B', 0, 0, 0, 0}, Row{'S', 0, 0, 0, 0}, Row{'Z', 1, 0, 0, 0}, Row{'O', 0, 0, 0, 0}}) {
    const char signature[] = {row.letter, 0};
    EXPECT_EQ(check(signature, {none}), row.none ? Error::Ok : Error::InvalidType) << row.letter;
    EXPECT_EQ(check(signature, {i}), row.integer ? Error::Ok : Error::InvalidType) << row.letter;
    EXPECT_EQ(check(signature, {f}), row.real ? Error::Ok : Error::InvalidType) << row.letter;
    EXPECT_EQ(check(signature, {b}), row.boolean ? Error::Ok : Error::InvalidType) << row.letter;
  }
  EXPECT_EQ(check("?", {i}), Error::Internal);
  EXPECT_EQ(check("ii", {i}), Error::InvalidProgram);
  EXPECT_EQ(check("", {i}), Error::InvalidProgram);
}

TEST_F(CheckArguments, WantsMemoryBehindTensors) {
  float data = 0;
  Tensor tensor;
  tensor.numel = 1;
  EXPECT_EQ(check("T", {EValue::of_tensor(&tensor)}), Error::InvalidState);
  tensor.data = &data;
  EXPECT_EQ(check("T", {EValue::of_tensor(&tensor)}), Error::Ok);
  EXPECT_EQ(check("o", {EValue::of_tensor(&tensor)}), Error::Ok);
  tensor.read_only = true;
  EXPECT_EQ(check("T", {EValue::of_tensor(&tensor)}), Error::Ok);
  EXPECT_EQ(check("o", {EValue::of_tensor(&tensor)}), Error::InvalidProgram);
  Tensor* items[] = {&tensor};
  EXPECT_EQ(check("O", {list(Tag::tensor_list, items, 1)}), Error::InvalidProgram);
  Tensor empty;
  EXPECT_EQ(check("T", {EValue::of_tensor(&empty)}), Error::Ok);
}

TEST_F(CheckArguments, AnOutputIsNoOtherArgumentUnlessItsSizesAreFixed) {
  float data[2] = {};
  Tensor out, other;
  for (Tensor* tensor : {&out, &other}) {
    tensor->numel = 1;
    tensor->data = data;  // the plan decides which tensors share memory
  }
  Tensor *with_out[] = {&other, &out}, *without[] = {&other, &other}, *with_none[] = {&other, nullptr};
  const EValue o = EValue::of_tensor(&out), x = EValue::of_tensor(&other);
  for (const ShapeDynamism dynamism : {ShapeDynamism::fixed, ShapeDynamism::upper_bound, ShapeDynamism::unbounded}) {
    out.dynamism = dynamism;
    const Error same = dynamism == ShapeDynamism::fixed ? Error::Ok : Error::InvalidProgram;
    for (const char* signature : {"TTo", "Tto", "Tvo", "oTT", "Too"}) {
      const size_t at = signature[0] == 'o' ? 0 : 2;
      for (size_t k = 0; k < 3; ++k) {
        std::vector<EValue> args(3, x);
        args[at] = o;
        EXPECT_EQ(check(signature, args), Error::Ok) << signature;
        args[k] = o;
        EXPECT_EQ(check(signature, args), k == at ? Error::Ok : same) << signature << " " << k;
      }
    }
    EXPECT_EQ(check("Lo", {list(Tag::tensor_list, without, 2), o}), Error::Ok);
    EXPECT_EQ(check("Lo", {list(Tag::tensor_list, with_out, 2), o}), same);
    EXPECT_EQ(check("lo", {list(Tag::optional_tensor_list, with_none, 2), o}), Error::Ok);
    EXPECT_EQ(check("vo", {list(Tag::optional_tensor_list, with_out, 2), o}), same);
    EXPECT_EQ(check("TO", {o, list(Tag::tensor_list, with_out, 2)}), same);
    EXPECT_EQ(check("TO", {x, list(Tag::tensor_list, with_out, 2)}), Error::Ok);
  }
}

TEST_F(CheckArguments, KnowsWhichListsMayHoldNone) {
  float data = 0;
  Tensor tensor;
  tensor.numel = 1;
  tensor.data = &data;
  Tensor* items[] = {&tensor, nullptr};
  EXPECT_EQ(check("L", {list(Tag::tensor_list, items, 1)}), Error::Ok);
  EXPECT_EQ(check("L", {list(Tag::tensor_list, items, 2)}), Error::InvalidType);
  EXPECT_EQ(check("L", {list(Tag::optional_tensor_list, items, 1)}), Error::InvalidType);
  EXPECT_EQ(check("l", {list(Tag::optional_tensor_list, items, 2)}), Error::Ok);
  EXPECT_EQ(check("l", {list(Tag::tensor_list, items, 2)}), Error::Ok);
}

TEST_F(CheckArguments, RefreshesIntLists) {
  EValue a = EValue::of_int(5);
  EValue b = EValue::of_int(6);
  EValue* items[] = {&a, &b};
  int64_t unboxed[2] = {};
  IntListValue ints = {items, unboxed, 2};
  EValue value;
  value.tag = Tag::int_list;
  value.int_list = &ints;
  EXPECT_EQ(check("I", {value}), Error::Ok);
  EXPECT_EQ(unboxed[0], 5);
  b = EValue::of_int(9);
  EXPECT_EQ(check("v", {value}), Error::Ok);
  EXPECT_EQ(unboxed[1], 9);
  b = EValue::of_real(9);
  EXPECT_EQ(check("J", {value}), Error::InvalidType);
}

TEST(KernelContext, HandsOutAlignedTempMemoryUntilItIsUsedUp) {
  alignas(64) static uint8_t memory[256];
  KernelContext context(Span<uint8_t>(memory + 1, 255), nullptr, nullptr);
  uint8_t* first = static_cast<uint8_t*>(context.allocate_temp(10));
  EXPECT_EQ(first, memory + 64);
  EXPECT_EQ(context.allocate_temp(3, 16), memory + 80);
  EXPECT_NE(context.allocate_temp(0), nullptr);
  EXPECT_EQ(context.allocate_temp(129), nullptr);
  EXPECT_EQ(context.error(), Error::OutOfResources);
  context.reset();
  EXPECT_TRUE(context.ok());
  EXPECT_EQ(context.allocate_temp(192), memory + 64);
  EXPECT_EQ(context.allocate_temp(SIZE_MAX), nullptr);
}

}  // namespace
}  // namespace wick
