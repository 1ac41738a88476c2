#include "compiler/ir/quantization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

Result<Function> parse(const std::string& type, const std::string& rest = "return %x") {
  return parse_graph("graph f(%x: " + type + ") {\n  " + rest + "\n}\n");
}

// The type after parsing and printing, or the error.
std::string printed(const std::string& type) {
  const auto function = parse(type);
  return function.ok() ? to_text(function->graph->inputs[0].value->type) : render(function.diag());
}

TEST(Quantization, TextComesBackAsItWas) {
  for (const char* type :
       {"i8[1, 8]q(scale=0.5, zero=3)", "u8[s0, 8]q(scale=0.1, zero=128)", "i8[]q(scale=1, zero=0)",
        "i8[2, 3, 4, 5]{0,2,3,1}q(range=-127..127, scale=1e-05, zero=0)", "i16[4]q(f16, scale=f16 0.5, zero=i32 0)",
        "i8[2, 4]q(blocks=[1, 0], scale=f32[0.5, 0.25], zero=[0, 1])",
        "i8[2, 4]q(range=-8..7, affine, blocks=[1, 2], scale=f32[0.5, 0.25, 1, 2], zero=i8[0, 1, 2, -3])",
        "i32[3]q(blocks=[1], scale=[0.5, 0.25, 0.125], zero=[0, 0, 0])",
        "i8[0, 4]q(blocks=[0, 1], scale=[1, 2, 3, 4], zero=[0, 0, 0, 0])",
        "i8[s0, 4]q(blocks=[1, 0], at_run_time=asymmetric, least=1.1920928955078125e-07)",
        "i8[4]q(f16, affine, at_run_time=symmetric, least=0, scale=f16, zero=i8)"}) {
    EXPECT_EQ(printed(type), type);
  }
}

// Numbers that differ in the last bit of their dtype, and lists just shorter and longer than messages show in full.
TEST(Quantization, ListsOfAnyLengthComeBackBitForBit) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const size_t count : {16u, 17u, 1000u}) {
      std::vector<double> scales(count), zeros(count);
      for (size_t i = 0; i < count; ++i) {
        scales[i] = std::ldexp(1 + static_cast<double>(i % 128) / 128, static_cast<int>(i % 9) - 5);
        if (dtype == DType::f32 || dtype == DType::f64) scales[i] /= 3;
        zeros[i] = static_cast<double>(i % 256) - 128;
      }
      auto q = std::make_shared<Quantization>();
      q->blocks = {1, 0};
      q->scales = NumberList::of(dtype, scales);
      q->zero_points = NumberList::of(DType::i32, zeros);
      TensorType type{DType::i8, {static_cast<int64_t>(count), 2}, {}};
      type.quantization = q;
      Graph graph;
      const auto bytes = std::make_shared<std::vector<uint8_t>>(2 * count);
      GraphOutput output;
      output.value = graph.add_constant(type, {Span<const uint8_t>(bytes->data(), bytes->size()), bytes}, "w", "w");
      graph.add_output(std::move(output));
      const std::string text = to_text(graph, "f");
      const auto read = parse_graph(text);
      ASSERT_TRUE(read.ok()) << render(read.diag());
      EXPECT_EQ(to_text(*read->graph, "f"), text);
      EXPECT_TRUE(read->graph->constants().front()->tensor() == type);
      EXPECT_EQ(to_text(Type::of(type)).find("[...]") != std::string::npos, count > kFewNumbers);
    }
  }
}

TEST(Quantization, TextThatNoTensorCanHaveIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"f32[4]q(scale=1, zero=0)", "a quantization of integers only"},
      {"u64[4]q(scale=1, zero=0)", "a quantization of integers only"},
      {"i8[4]q()", "a word"},
      {"i8[4]q(scale=1)", "0 parameters for 1 blocks"},
      {"i8[4]q(scale=0, zero=0)", "a scale of 0"},
      {"i8[4]q(scale=-1, zero=0)", "a scale of -1"},
      {"i8[4]q(scale=inf, zero=0)", "a dtype"},
      {"i8[4]q(scale=[nan], zero=0)", "a scale of nan"},
      {"i8[4]q(scale=i32 1, zero=0)", "scales that are not floats"},
      {"i8[4]q(scale=1, zero=f32[inf])", "a zero point of inf"},
      {"i8[4]q(scale=1, zero=i8 300)", "numbers that i8 holds"},
      {"i8[4]q(scale=1, zero=0.5)", "numbers that i64 holds"},
      {"i8[4]q(range=-129..127, scale=1, zero=0)", "a range outside that of its dtype"},
      {"i8[4]q(range=5..5, scale=1, zero=0)", "a range outside that of its dtype"},
      {"i8[4]q(i8, scale=1, zero=0)", "real numbers of a dtype that is not floating"},
      {"i8[4]q(blocks=[1, 1], scale=1, zero=0)", "blocks of a different rank"},
      {"i8[4]q(blocks=[3], scale=[1], zero=[0])", "blocks that do not divide the sizes"},
      {"i8[4]q(blocks=[-1], scale=[1], zero=[0])", "blocks that do not divide the sizes"},
      {"i8[s0]q(blocks=[1], scale=[1], zero=[0])", "blocks that do not divide the sizes"},
      {"i8[4]q(blocks=[1], scale=[1, 2, 3], zero=[0, 0, 0, 0])", "3 parameters for 4 blocks"},
      {"i8[4294967296, 4294967296]q(blocks=[1, 1], scale=[1], zero=[0])", "blocks that do not divide the sizes"},
      {"i8[32]q(blocks=[1], scale=[...], zero=[...])", "a number"},
      {"i8[4]q(blocks=[1], at_run_time=symmetric, least=0)", "other blocks than rows"},
      {"i8[4]q(at_run_time=sometimes)", "asymmetric"},
      {"i8[4]q(at_run_time=symmetric, least=-1)", "a least scale below 0"},
      {"i8[4]q(at_run_time=symmetric, scale=0.5)", "parameters of unknown dtypes"},
      {"i8[4]q(least=1)", "a part of a quantization"},
      {"i8[4]q(colour=1)", "a part of a quantization"},
  };
  for (const auto& [type, wanted] : cases) {
    const auto function = parse(type);
    ASSERT_FALSE(function.ok()) << type;
    EXPECT_NE(render(function.diag()).find(wanted), std::string::npos) << type << "\n" << render(function.diag());
  }
}

TEST(Quantization, OperatorsComputeOnTheNumbers) {
  const char kLinear[] =
      "graph f(%x: i8[2, 4]q(scale=0.5, zero=3), %w: i8[3, 4]q(blocks=[1, 0], scale=[1, 2, 3], zero=[0, 0, 0])) {\n"
      "  %y: i8[2, 3]q(range=0..127, scale=0.25, zero=-1) = aten.linear(%x, %w)\n"
      "  %z: f32[2, 3] = aten.relu(%y)\n"
      "  return %z\n"
      "}\n";
  auto function = parse_graph(kLinear);
  ASSERT_TRUE(function.ok()) << render(function.diag());
  EXPECT_TRUE(verify(*function->graph).ok());
  EXPECT_EQ(to_text(*function->graph, "f"), kLinear);
  Value* y = function->graph->nodes().front()->result();
  Builder builder(*function->graph, nullptr);
  EXPECT_EQ(builder.call("aten.relu", {y})->dtype(), DType::f32);
  EXPECT_EQ(y->dtype(), DType::i8) << "the shape function has seen floats, the value stays what it is";
  EXPECT_EQ(y->tensor().real_dtype(), DType::f32);
}

TEST(Quantization, ResultsAreStoredAsTheirTypeSays) {
  const std::string x = "i8[4]q(scale=0.5, zero=3)";
  EXPECT_TRUE(parse(x, "%y: i8[4]q(scale=1, zero=0) = aten.relu(%x)\n  return %y").ok());
  EXPECT_TRUE(parse(x, "%y: i8[4]q(scale=1, zero=0) = wick.convert(%x)\n  return %y").ok());
  EXPECT_FALSE(parse(x, "%y: i8[4] = aten.relu(%x)\n  return %y").ok()) << "numbers, not elements, come out";
  EXPECT_FALSE(parse(x, "%y: i8[4]q(f16, scale=1, zero=0) = aten.relu(%x)\n  return %y").ok()) << "other numbers";
}

TEST(Quantization, SomeOperatorsReadElementsAsTheyAreStored) {
  const std::string x = "i8[4]q(scale=0.5, zero=3)";
  const char kRead[] =
      "%y: f32[4] = quantized_decomposed.dequantize_per_tensor(%x, 2.0, 0, -128, 127, i8)\n  return %y";
  EXPECT_TRUE(parse(x, kRead).ok());
}

TEST(Quantization, TheVerifierNamesWhatDoesNotHold) {
  auto function = parse("i8[4]q(scale=0.5, zero=3)", "%y: f32[4] = aten.relu(%x)\n  return %y");
  ASSERT_TRUE(function.ok());
  Value* x = function->graph->inputs[0].value;
  auto changed = std::make_shared<Quantization>(*x->tensor().quantization);
  changed->scales = NumberList::of(DType::f64, {0.5, 0.5});
  x->type.tensor.quantization = changed;
  const Status status = verify(*function->graph);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(render(status.diag()).find("%x is i8[4]q(scale=[0.5, 0.5], zero=3), with 2 parameters for 1 blocks"),
            std::string::npos)
      << render(status.diag());
}

TEST(Quantization, AnUpdateKeepsTheNumbers) {
  const char kState[] =
      "graph f(%%x: i8[4]q(scale=0.5, zero=3)) {\n  state %%s: i8[4]q(scale=%s, zero=3) \"s\" = ...\n"
      "  update %%s = %%x\n  return %%x\n}\n";
  for (const char* scale : {"0.5", "0.25"}) {
    char text[256];
    snprintf(text, sizeof text, kState, scale);
    auto function = parse_graph(text);
    ASSERT_TRUE(function.ok()) << render(function.diag());
    EXPECT_EQ(verify(*function->graph).ok(), scale == std::string("0.5"));
  }
}

TEST(Quantization, NumbersAreComparedNotTheirForm) {
  const auto of = [](const char* type) {
    auto function = parse(type);
    EXPECT_TRUE(function.ok()) << render(function.diag());
    return function->graph->inputs[0].value->tensor();
  };
  const TensorType a = of("i8[4]q(scale=0.5, zero=3)"), b = of("i8[4]q(affine, scale=f32 0.5, zero=i8 3)"),
                   c = of("i8[4]q(scale=0.25, zero=3)"), d = of("i8[4]q(scale=0.5, zero=3)");
  EXPECT_TRUE(same_numbers(*a.quantization, *b.quantization));
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(same_numbers(*a.quantization, *c.quantization));
  EXPECT_NE(a.quantization, d.quantization);
  EXPECT_TRUE(a == d);
}

const DType kNumberTypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::u8,
                              DType::i8,  DType::i16,  DType::i32, DType::i64};

TEST(NumberList, ItsRangeIsThatOfAllNumbers) {
  for (const DType dtype : kNumberTypes) {
    const bool is_unsigned = dtype == DType::u8;
    for (const size_t count : {1, 2, 7, 300}) {
      std::vector<double> numbers;
      for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i * 37 % 101) - (is_unsigned ? 0 : 50));
      const NumberList list = NumberList::of(dtype, numbers);
      EXPECT_EQ(list.all(), numbers);
      const NumberFacts& range = list.range();
      EXPECT_TRUE(range.finite && range.whole);
      EXPECT_EQ(range.least, *std::min_element(numbers.begin(), numbers.end())) << dtype_name(dtype) << count;
      EXPECT_EQ(range.largest, *std::max_element(numbers.begin(), numbers.end())) << dtype_name(dtype) << count;
      EXPECT_EQ(list.are_all(numbers[0]), count == 1);
    }
    if (!is_floating(dtype)) continue;
    EXPECT_FALSE(NumberList::of(dtype, {2, 0.5, -3}).range().whole);
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double special : {infinity, -infinity, std::nan(""), -std::nan("")}) {
      EXPECT_FALSE(NumberList::of(dtype, {1, special}).range().finite) << dtype_name(dtype) << special;
      EXPECT_FALSE(NumberList::of(dtype, {special}).are_all(special));
    }
  }
}

TEST(NumberList, ARepeatedNumberIsAListWithoutBytes) {
  for (const DType dtype : kNumberTypes) {
    const NumberList list = NumberList::repeat(dtype, 3, 100'000), other = NumberList::repeat(dtype, 3, 100'000);
    EXPECT_EQ(list.size(), 100'000u);
    EXPECT_NE(list.data.depth(), 0u) << "its bytes are in memory";
    EXPECT_EQ(list[99'999], 3);
    EXPECT_TRUE(list.are_all(3));
    EXPECT_EQ(list.all(), std::vector<double>(100'000, 3));
    EXPECT_TRUE(same_bytes(list.data, other.data));
  }
}

TEST(NumberList, PartsEndWhenTheReaderHasEnough) {
  const NumberList list = NumberList::repeat(DType::f32, 1, 100'000);
  size_t seen = 0;
  list.for_each_part([&](Span<const double> part) {
    seen += part.size();
    return false;
  });
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, 100'000u);
}

// Rows of ones in f32. Counts how many are read.
class CountedOnes final : public ComputedRows {
 public:
  explicit CountedOnes(size_t count) : ComputedRows(count, sizeof(float), 1) {}
  void compute(size_t, size_t count, uint8_t* out) const override {
    const float one = 1;
    for (size_t i = 0; i < count; ++i) memcpy(out + i * sizeof one, &one, sizeof one);
    num_read += count;
  }
  mutable size_t num_read = 0;
};

TEST(Quantization, ParametersAreReadOnceHoweverOftenTypesAreChecked) {
  const size_t count = 10'000;
  const auto ones = std::make_shared<const CountedOnes>(count);
  const NumberList scales{DType::f32, ConstantData(ones, {})};
  for (int round = 0; round < 20; ++round) {
    auto q = std::make_shared<Quantization>();
    q->blocks = {1, 32};
    q->scales = scales;
    q->zero_points = NumberList::repeat(DType::i8, 0, count);
    TensorType type{DType::i8, {100, 3200}, {}, q};
    EXPECT_EQ(refuse_quantization(type), "");
    EXPECT_TRUE(same_numbers(*q, *type.quantization));
  }
  EXPECT_EQ(ones->num_read, count);
}

TEST(Quantization, ChannelsAndBlocks) {
  Quantization q;
  q.blocks = {0, 1, 0};
  EXPECT_EQ(q.channel_dim(), 1u);
  EXPECT_FALSE(q.is_per_tensor());
  EXPECT_EQ(q.block_sizes({2, 3, 4}), (std::vector<int64_t>{2, 1, 4}));
  q.blocks = {1, 32};
  EXPECT_FALSE(q.channel_dim());
  q.blocks = {0, 0};
  EXPECT_FALSE(q.channel_dim());
  EXPECT_TRUE(q.is_per_tensor());
}

}  // namespace
}  // namespace wick::compiler
