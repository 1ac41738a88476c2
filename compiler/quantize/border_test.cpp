#include "compiler/quantize/border.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

// A graph with this border, as text, or the diagnostic.
std::string with_border(const std::string& text, std::string_view word) {
  auto function = parse_graph(text);
  if (!function.ok()) return render(function.diag());
  const Status status = set_border(*function->graph, border_of(word).value(), "forward");
  return status.ok() ? to_text(*function->graph, "f", {.origins = false}) : render(status.diag());
}

struct Elements {
  const char* name;
  DType dtype;
  int64_t low, high;
};
constexpr Elements kElements[] = {
    {"i8", DType::i8, -128, 127}, {"u8", DType::u8, 0, 255}, {"i16", DType::i16, -32768, 32767}};

// %TO = quantize(%FROM) and the like, of these sizes.
std::string convert(const char* what, const Elements& e, const std::string& sizes, const std::string& from,
                    const std::string& to, double scale = 0.5) {
  const bool makes = what[0] == 'q';
  return fmt::format("  %{}: {}{} = quantized_decomposed.{}_per_tensor(%{}, {}, {}, {}, {}, {})\n", to,
                     makes ? e.name : "f32", sizes, what, from, scale, e.low < 0 ? 0 : 7, e.low, e.high, e.name);
}

// Each dtype, with a view between the border and the conversion or none: elements in, elements out; and back.
TEST(SetBorder, MovesConversionsOutAndIn) {
  for (const Elements& e : kElements) {
    for (const bool views : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", e.name, views ? " with views" : ""));
      const std::string view_in = views ? "  %v: f32[4, 2] = aten.view(%x, [4, 2])\n" : "",
                        view_out = views ? "  %w: f32[8] = aten.view(%e, [8])\n" : "";
      const std::string in = views ? "v" : "x", outside = views ? "[8]" : "[4, 2]";
      const std::string real =
          "graph f(%x: f32" + outside + ") {\n" + view_in + convert("quantize", e, "[4, 2]", in, "q") +
          convert("dequantize", e, "[4, 2]", "q", "d") + "  %y: f32[4, 2] = aten.exp(%d)\n" +
          convert("quantize", e, "[4, 2]", "y", "p", 0.25) + convert("dequantize", e, "[4, 2]", "p", "e", 0.25) +
          view_out + "  return %" + (views ? "w" : "e") + "\n}";
      const char* word = e.dtype == DType::i8 ? "int8" : e.dtype == DType::u8 ? "uint8" : "int16";
      const std::string elements = with_border(real, word);
      EXPECT_EQ(elements, with_border(real, "integer"));
      EXPECT_NE(elements.find(fmt::format("graph f(%x: {}{})", e.name, outside)), std::string::npos) << elements;
      EXPECT_EQ(elements.find("quantize_per_tensor.default(%x"), std::string::npos) << elements;

      auto function = parse_graph(elements);
      ASSERT_TRUE(function.ok()) << render(function.diag()) << elements;
      const Graph& graph = *function->graph;
      EXPECT_EQ(graph.outputs[0].value->dtype(), e.dtype);
      EXPECT_EQ(to_text(graph.outputs[0].value->type), e.name + outside);
      // The numbers that the elements stand for are known, before and after.
      for (const std::string& text : {real, elements}) {
        auto known = parse_graph(text);
        const BorderQuantization q = border_quantization(*known->graph);
        ASSERT_TRUE(q.inputs[0] && q.outputs[0]) << text;
        EXPECT_EQ(q.inputs[0]->scales[0], 0.5);
        EXPECT_EQ(q.outputs[0]->scales[0], 0.25);
        EXPECT_EQ(q.inputs[0]->zero_points[0], e.low < 0 ? 0 : 7);
      }
      // Real numbers again: the conversions are back, outside the views.
      const std::string back = with_border(elements, "float");
      EXPECT_NE(back.find("graph f(%x: f32" + outside), std::string::npos) << back;
      auto again = parse_graph(back);
      ASSERT_TRUE(again.ok()) << render(again.diag()) << back;
      EXPECT_EQ(to_text(again->graph->outputs[0].value->type), "f32" + outside);
      // A second run changes nothing.
      EXPECT_EQ(with_border(elements, "integer"), elements);
      EXPECT_EQ(with_border(back, "float"), back);
      EXPECT_EQ(with_border(back, ""), back);
      // The error names inputs and outputs of another dtype.
      const std::string other = with_border(real, e.dtype == DType::i8 ? "int16" : "int8");
      EXPECT_NE(other.find(fmt::format("input 0 (x) has elements of {}", word)), std::string::npos) << other;
      EXPECT_NE(other.find(fmt::format("output 0 has elements of {}", word)), std::string::npos) << other;
    }
  }
}

TEST(SetBorder, NamesWhatIsNotQuantized) {
  const Elements& e = kElements[0];
  const auto refuses = [](const std::string& text, const std::vector<std::string>& parts) {
    const std::string found = with_border(text, "int8");
    for (const std::string& part : parts) EXPECT_NE(found.find(part), std::string::npos) << part << "\n" << found;
  };
  const std::string q = convert("quantize", e, "[4]", "x", "q"), d = convert("dequantize", e, "[4]", "q", "d");
  refuses("graph f(%x: f32[4], %z: f32[4]) {\n" + q + d + "  %y: f32[4] = aten.add.Tensor(%d, %z)\n  return %y\n}",
          {"method 'forward' cannot pass elements of int8 to its caller",
           "input 1 (z): f32[4] is not quantized at the border: aten.add.Tensor reads it as it is",
           "output 0: f32[4] is not quantized at the border: aten.add.Tensor computes it, and nothing quantizes that",
           "or leave out --io"});
  refuses("graph f(%x: f32[4]) {\n" + q + d + convert("quantize", e, "[4]", "x", "r", 0.25) +
              convert("dequantize", e, "[4]", "r", "s", 0.25) + "  return %d, %s\n}",
          {"input 0 (x): f32[4] is not quantized at the border: it is quantized in more than one way"});
  refuses(
      "graph f(%x: f32[4]) {\n" + q + d + "  return %d, %x\n}",
      {"it is also returned or kept", "output 1: f32[4] is not quantized at the border: it is an input or a constant"});
  refuses("graph f(%x: i64[4]) {\n  return %x\n}", {"no input or output is quantized"});
}

// Indices stay, and so does an input that nothing reads.
TEST(SetBorder, LeavesIntegersThatStandForThemselves) {
  const Elements& e = kElements[0];
  const std::string text = "graph f(%x: f32[4], %i: i64[2], %n: f32[3]) {\n" + convert("quantize", e, "[4]", "x", "q") +
                           convert("dequantize", e, "[4]", "q", "d") + "  %y: f32[2] = aten.index_select(%d, 0, %i)\n" +
                           convert("quantize", e, "[2]", "y", "p") + convert("dequantize", e, "[2]", "p", "o") +
                           "  return %o, %i\n}";
  const std::string found = with_border(text, "int8");
  EXPECT_NE(found.find("graph f(%x: i8[4], %i: i64[2], %n: f32[3])"), std::string::npos) << found;
  EXPECT_NE(found.find("return %p, %i"), std::string::npos) << found;
}

TEST(SetBorder, KnowsItsWords) {
  for (const char* word : {"", "float", "integer", "int8", "uint8", "int16"})
    EXPECT_EQ(to_text(*border_of(word)), word);
  EXPECT_FALSE(border_of("int32"));
}

}  // namespace
}  // namespace wick::compiler
