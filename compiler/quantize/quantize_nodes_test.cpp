#include "compiler/quantize/quantize_nodes.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

// The quantization that the producer of %y states, as the text of a type.
std::string stated(const std::string& method_plans, const std::string& inputs = "%q: i8[2, 4], %x: f32[2, 4]") {
  auto function = parse_graph("graph f(" + inputs + ") {\n" + method_plans + "\n  return %y\n}\n");
  if (!function.ok()) return render(function.diag());
  const Node& node = *function->graph->nodes().back();
  TensorType type = converts(node, Conversion::quantize) ? node.result()->tensor() : node.tensor("input")->tensor();
  type.quantization = stated_quantization(node);
  return to_text(Type::of(type));
}

const char kChannels[] = "const %s: f32[2] = [0.5, 0.25] const %z: i64[2] = [0, 1]\n";
const char kGroups[] = "const %s: f32[2, 2] = [0.5, 0.25, 1.0, 2.0] const %z: i8[2, 2] = [0, 1, 2, 3]\n";

TEST(QuantizeNodes, FormsOfPt2e) {
  EXPECT_EQ(stated("%y: f32[2, 4] = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -128, 127, i8)"),
            "i8[2, 4]q(scale=0.5, zero=3)");
  EXPECT_EQ(stated("%y: f16[2, 4] = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, -127, 127, i8, f16)"),
            "i8[2, 4]q(f16, range=-127..127, scale=0.5, zero=3)");
  EXPECT_EQ(stated("%y: u8[2, 4] = quantized_decomposed.quantize_per_tensor(%x, 0.5, 128, 0, 255, u8)"),
            "u8[2, 4]q(scale=0.5, zero=128)");
  EXPECT_EQ(stated("%y: i16[2, 4] = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, -32767, 32767, i16)"),
            "i16[2, 4]q(range=-32767..32767, scale=0.5, zero=0)");
  EXPECT_EQ(stated("const %s: f64[] = [0.5] const %z: i64[] = [3]\n"
                   "%y: i8[2, 4] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8)"),
            "i8[2, 4]q(scale=0.5, zero=3)");
  EXPECT_EQ(stated(std::string(kChannels) +
                   "%y: f32[2, 4] = quantized_decomposed.dequantize_per_channel(%q, %s, %z, 0, -127, 127, i8)"),
            "i8[2, 4]q(range=-127..127, blocks=[1, 0], scale=f32[0.5, 0.25], zero=[0, 1])");
  EXPECT_EQ(stated("const %s: f32[4] = [1.0, 2.0, 3.0, 4.0]\n"
                   "%y: f32[2, 4] = quantized_decomposed.dequantize_per_channel(%q, %s, none, -1, -127, 127, i8)"),
            "i8[2, 4]q(range=-127..127, blocks=[0, 1], scale=f32[1, 2, 3, 4], zero=i8[0, 0, 0, 0])");
  for (const char* axis : {"0", "1", "-1"}) {
    EXPECT_EQ(stated(std::string("const %s: f32[1] = [0.5] const %z: i64[1] = [3]\n"
                                 "%y: f32[2, 4] = quantized_decomposed.dequantize_per_channel(%q, %s, %z, ") +
                     axis + ", -127, 127, i8)"),
              "i8[2, 4]q(range=-127..127, scale=f32 0.5, zero=3)")
        << "one scale for all channels: " << axis;
  }
  EXPECT_EQ(stated("const %s: f32[1] = [0.5] const %z: i64[1] = [3]\n"
                   "%y: i8[2, s0] = quantized_decomposed.quantize_per_channel(%x, %s, %z, 1, -127, 127, i8)",
                   "%x: f32[2, s0]"),
            "i8[2, s0]q(range=-127..127, scale=f32 0.5, zero=3)");
  EXPECT_EQ(stated("const %s: f64[1] = [0.5]\n"
                   "%y: f32[2, 4] = quantized_decomposed.dequantize_per_channel(%q, %s, none, 0, -127, 127, i8)"),
            "i8[2, 4]q(range=-127..127, blocks=[1, 0], scale=[0.5, 0.5], zero=i8[0, 0])");
  EXPECT_EQ(stated(std::string(kGroups) +
                   "%y: f32[2, 4] = quantized_decomposed.dequantize_per_channel_group(%q, %s, %z, -8, 7, i8, 2, f32)"),
            "i8[2, 4]q(range=-8..7, blocks=[1, 2], scale=f32[0.5, 0.25, 1, 2], zero=i8[0, 1, 2, 3])");
  EXPECT_EQ(stated("const %s: f64[2, 1] = [0.5, 0.25] const %z: i64[2, 1] = [0, 1]\n"
                   "%y: f32[2, 4] = quantized_decomposed.dequantize_per_token(%q, %s, %z, -128, 127, i8, f32)"),
            "i8[2, 4]q(blocks=[1, 0], scale=[0.5, 0.25], zero=[0, 1])");
}

TEST(QuantizeNodes, FormsOfTorchao) {
  EXPECT_EQ(stated(std::string(kGroups) + "%y: f32[2, 4] = torchao.dequantize_affine(%q, [1, 2], %s, %z, i8, -8, 7)"),
            "i8[2, 4]q(range=-8..7, affine, blocks=[1, 2], scale=f32[0.5, 0.25, 1, 2], zero=i8[0, 1, 2, 3])");
  EXPECT_EQ(stated("const %s: f32[] = [0.5]\n%y: f32[2, 4] = torchao.dequantize_affine(%q, [2, -1], %s, none, i8)"),
            "i8[2, 4]q(affine, scale=f32 0.5, zero=i8 0)");
  EXPECT_EQ(stated("const %s: f32[1] = [0.5]\n%y: i8[s0, 4] = torchao.quantize_affine(%x, [s0, 4], %s, none, i8)",
                   "%x: f32[s0, 4]"),
            "i8[s0, 4]q(affine, scale=f32 0.5, zero=i8 0)");
  EXPECT_EQ(stated("const %s: f32[1] = [0.5]\n%y: i8[1, 4] = torchao.quantize_affine(%x, [1, 4], %s, none, i8)",
                   "%x: f32[1, 4]"),
            "i8[1, 4]q(affine, blocks=[1, 0], scale=f32 0.5, zero=i8 0)");
}

TEST(QuantizeNodes, ParametersThatMakeNoSenseSayNothing) {
  for (const char* method_plans :
       {"%y: f32[2, 4] = quantized_decomposed.dequantize_per_tensor(%q, 0.0, 3, -128, 127, i8)",
        "%y: f32[2, 4] = quantized_decomposed.dequantize_per_tensor(%q, -0.5, 3, -128, 127, i8)",
        "%y: f32[2, 4] = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 3, 0, 255, i8)",
        "const %s: f32[3] = [0.5, 0.25, 1.0]\n%y: f32[2, 4] = torchao.dequantize_affine(%q, [1, -1], %s, none, i8)",
        "const %s: f32[2] = [0.5, 0.25]\n%y: f32[2, 4] = torchao.dequantize_affine(%q, [1, 3], %s, none, i8)",
        "const %s: i32[] = [1]\n%y: f32[2, 4] = torchao.dequantize_affine(%q, [2, -1], %s, none, i8)"}) {
    EXPECT_EQ(stated(method_plans), "i8[2, 4]") << method_plans;
  }
  EXPECT_EQ(stated("%y: f32[2, 4] = torchao.dequantize_affine(%q, [2, -1], %s, none, i8)", "%q: i8[2, 4], %s: f32[]"),
            "i8[2, 4]")
      << "known only at run time";
}

TEST(QuantizeNodes, TypesInOneLine) {
  auto function = parse_graph(
      "graph f(%q: i8[5], %x: i8[4]q(scale=0.5, zero=3), %b: f32[4]) {\n"
      "  const %s: f32[5] = [1.0, 2.0, 3.0, 4.0, 5.0]\n"
      "  %y: f32[5] = quantized_decomposed.dequantize_per_channel(%q, %s, none, 0, -127, 127, i8)\n"
      "  %z: i8[4]q(scale=0.25, zero=0) = aten.add.Tensor(%x, %b)\n"
      "  %n: f32[4] = aten.neg(%b)\n"
      "  return %y, %z, %n\n}\n");
  ASSERT_TRUE(function.ok()) << render(function.diag());
  std::vector<std::string> texts;
  for (const auto& node : function->graph->nodes()) texts.push_back(quantization_text(*node));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"i8[5]q(range=-127..127, blocks=[1], scale=f32[...], zero=i8[...]) -> f32[5]",
                                      "i8[4]q(scale=0.5, zero=3), f32[4] -> i8[4]q(scale=0.25, zero=0)", ""}));
}

// "quantize group scales zero_points" of an operator that converts.
std::string form_text(const ConversionForm& form) {
  constexpr const char* kConversions[] = {"choose", "quantize", "dequantize"};
  constexpr const char* kBlocks[] = {"whole", "channel", "group", "row", "stated"};
  std::string text = kConversions[static_cast<int>(form.conversion)];
  text.append(" ").append(kBlocks[static_cast<int>(form.blocks)]);
  if (form.family == Quantization::Family::affine) text.append(" affine");
  for (const std::string_view name : {form.scale, form.zero, form.dtype}) {
    if (!name.empty()) text.append(" ").append(name);
  }
  return text;
}

TEST(QuantizeNodes, RowsSayWhichOperatorsConvertAndHow) {
  const std::map<std::string_view, std::string> wanted = {
      {"quantized_decomposed.choose_qparams.tensor", "choose whole"},
      {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", "choose row"},
      {"quantized_decomposed.dequantize_per_channel.default", "dequantize channel scales zero_points out_dtype"},
      {"quantized_decomposed.dequantize_per_channel_group.default", "dequantize group scales zero_points output_dtype"},
      {"quantized_decomposed.dequantize_per_tensor.default", "dequantize whole scale zero_point out_dtype"},
      {"quantized_decomposed.dequantize_per_tensor.tensor", "dequantize whole scale zero_point out_dtype"},
      {"quantized_decomposed.dequantize_per_token.default", "dequantize row scales zero_points output_dtype"},
      {"quantized_decomposed.quantize_per_channel.default", "quantize channel scales zero_points"},
      {"quantized_decomposed.quantize_per_channel_group.default", "quantize group scales zero_points"},
      {"quantized_decomposed.quantize_per_tensor.default", "quantize whole scale zero_point"},
      {"quantized_decomposed.quantize_per_tensor.tensor", "quantize whole scale zero_point"},
      {"quantized_decomposed.quantize_per_token.default", "quantize row scales zero_points"},
      {"torchao.choose_qparams_affine.default", "choose stated affine"},
      {"torchao.dequantize_affine.default", "dequantize stated affine scale zero_point output_dtype"},
      {"torchao.quantize_affine.default", "quantize stated affine scale zero_point"},
  };
  std::map<std::string_view, std::string> found;
  for (const OpDef* op : all_ops()) {
    Node node;
    node.op = op;
    if (const ConversionForm* form = conversion_of(node)) found[op->name()] = form_text(*form);
  }
  EXPECT_EQ(found, wanted);
}

TEST(QuantizeNodes, OtherOperatorsConvertNothing) {
  auto function = parse_graph("graph f(%x: f32[4]) {\n  %y: i8[4] = aten._to_copy(%x, i8)\n  return %y\n}\n");
  ASSERT_TRUE(function.ok());
  EXPECT_EQ(conversion_of(*function->graph->nodes().front()), nullptr);
  EXPECT_EQ(stated_quantization(*function->graph->nodes().front()), nullptr);
}

}  // namespace
}  // namespace wick::compiler
