#include "tests/devices/cost_programs.h"

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m {
namespace {

std::string list(const std::vector<int>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

// %x of f32, `body` that computes %y.
CostProgram portable(const std::string& name, const std::vector<int>& x, const std::string& body) {
  return {name, fmt::format("graph f(%x: f32{}) {{\n{}  return %y\n}}", list(x), body)};
}

void add_pointwise(std::vector<CostProgram>& out) {
  const std::vector<std::vector<int>> shapes = {{1, 8, 6, 6}, {2, 16, 16, 16}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const char* op :
         {"relu", "sigmoid", "tanh", "gelu", "exp", "neg", "abs", "sqrt", "rsqrt", "sin", "log", "erf"})
      out.push_back(portable(fmt::format("{}_{}", op, i), shapes[i], fmt::format("  %y = aten.{}(%x)\n", op)));
    for (const char* op : {"add.Scalar", "mul.Scalar", "div.Scalar", "sub.Scalar"})
      out.push_back(portable(fmt::format("{}_{}", op, i), shapes[i], fmt::format("  %y = aten.{}(%x, 3)\n", op)));
    for (const char* op : {"add.Tensor", "mul.Tensor", "div.Tensor", "sub.Tensor", "maximum", "minimum"}) {
      for (const char* other : {"%x", "%c"}) {
        out.push_back(
            portable(fmt::format("{}_{}_{}", op, i, other + 1), shapes[i],
                     fmt::format("  const %c: f32[{}, 1, 1]\n  %y = aten.{}(%x, {})\n", shapes[i][1], op, other)));
      }
    }
    out.push_back(portable(fmt::format("clamp_{}", i), shapes[i], "  %y = aten.clamp(%x, 0.0, 6.0)\n"));
  }
}

void add_others(std::vector<CostProgram>& out) {
  const std::pair<const char*, const char*> bodies[] = {
      {"mean", "  %y = aten.mean.dim(%x, [2, 3], true)\n"},
      {"mean_channels", "  %y = aten.mean.dim(%x, [1], true)\n"},
      {"sum", "  %y = aten.sum.dim_IntList(%x, [3], false)\n"},
      {"amax", "  %y = aten.amax(%x, [3], false)\n"},
      {"softmax", "  %y = aten._softmax(%x, 3, false)\n"},
      {"log_softmax", "  %y = aten._log_softmax(%x, 3, false)\n"},
      {"permute", "  %y = aten.permute(%x, [0, 2, 3, 1])\n"},
      {"cat", "  %y = aten.cat([%x, %x], 1)\n"},
      {"slice", "  %y = aten.slice.Tensor(%x, 3, 1, 5)\n"},
      {"pad", "  %y = aten.constant_pad_nd(%x, [1, 1, 1, 1], 0)\n"},
      {"avg_pool2d", "  %y = aten.avg_pool2d(%x, [2, 2], [2, 2])\n"},
      {"upsample_nearest2d", "  %y = aten.upsample_nearest2d.vec(%x, none, [2.0, 2.0])\n"},
  };
  const std::vector<std::vector<int>> shapes = {{1, 4, 6, 6}, {2, 16, 16, 16}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& [name, body] : bodies) out.push_back(portable(fmt::format("{}_{}", name, i), shapes[i], body));
    const int c = shapes[i][1];
    for (const int groups : {1, c}) {
      out.push_back(portable(
          fmt::format("convolution_{}_{}", i, groups), shapes[i],
          fmt::format("  const %w: f32[{}, {}, 3, 3]\n  %y = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], "
                      "false, [0, 0], {})\n",
                      c, c / groups, groups)));
    }
    out.push_back(portable(fmt::format("transposed_{}", i), shapes[i],
                           fmt::format("  const %w: f32[{0}, {0}, 3, 3]\n  %y = aten.convolution(%x, %w, none, [2, 2], "
                                       "[1, 1], [1, 1], true, [0, 0], 1)\n",
                                       c)));
  }
  for (const int size : {12, 64}) {
    const std::string weight = fmt::format("  const %w: f32[{0}, {0}]\n", size);
    out.push_back(portable(fmt::format("mm_{}", size), {7, size}, weight + "  %y = aten.mm(%x, %w)\n"));
    out.push_back(portable(fmt::format("linear_{}", size), {7, size}, weight + "  %y = aten.linear(%x, %w, none)\n"));
    out.push_back(portable(fmt::format("bmm_{}", size), {2, size, size}, "  %y = aten.bmm(%x, %x)\n"));
  }
}

// --- integers ---

std::string q() { return parameters(0.03125, -11); }

CostProgram quantized(const std::string& name, const std::vector<int>& x, const std::string& body) {
  return {name, fmt::format("graph f(%x: f32{}) {{\n{}{}{}  return %o\n}}", list(x), fake_quantized("d", "x", "e", q()),
                            body, fake_quantized("o", "y", "p", q()))};
}

// Of int16; `y` is the range of the result.
CostProgram of_int16(const std::string& name, const std::vector<int>& x, const std::string& body, double y) {
  const auto fake = [](const char* d, const char* value, const char* e, double scale) {
    const std::string q = parameters(scale, 0, -32768, 32767);
    return quantize_line(e, value, q, "i16") + dequantize_line(d, e, q, "i16");
  };
  return {name, fmt::format("graph f(%x: f32{}) {{\n{}{}{}  return %o\n}}", list(x),
                            fake("d", "x", "e", 0.000244140625), body, fake("o", "y", "p", y / 32768))};
}

struct Window {
  int channels, outputs, size, kernel, stride, padding, groups;
};

// With weights of four bits, unpacked a few channels at a time or not at all; of depthwise convolutions always.
void add_packed_windows(Span<const Window> windows, std::vector<CostProgram>& out) {
  for (const Window& w : windows) {
    for (const char* memory : {"", "tight_"}) {
      if (w.groups == w.channels && *memory != 0) continue;
      out.push_back(quantized(
          fmt::format("{}packed_{}_{}_{}_{}_{}_{}", memory, w.channels, w.outputs, w.size, w.kernel, w.stride,
                      w.groups),
          {1, w.channels, w.size, w.size},
          fmt::format("  const %w: i8[{}, {}, {}, {}]\n", w.outputs, w.channels / w.groups, w.kernel, w.kernel) +
              dequantize_line("v", "w", parameters(0.015625, 0, -8, 7)) +
              fmt::format("  %y = aten.convolution(%d, %v, none, [{0}, {0}], [{1}, {1}], [1, 1], false, [0, 0], {2})\n",
                          w.stride, w.padding, w.groups)));
    }
  }
}

void add_windows(std::vector<CostProgram>& out) {
  const Window windows[] = {
      {3, 8, 24, 3, 2, 1, 1},      {16, 16, 12, 3, 1, 1, 1},  {32, 40, 8, 3, 1, 1, 1},   {64, 64, 3, 1, 1, 0, 1},
      {24, 144, 10, 1, 1, 0, 1},   {144, 24, 10, 1, 1, 0, 1}, {8, 8, 16, 5, 1, 2, 1},    {16, 8, 9, 3, 1, 0, 1},
      {12, 20, 7, 3, 2, 1, 1},     {1, 16, 20, 5, 2, 2, 1},   {40, 240, 4, 1, 1, 0, 1},  {16, 16, 8, 3, 1, 1, 4},
      {8, 8, 24, 3, 1, 1, 8},      {16, 16, 24, 3, 2, 1, 16}, {64, 64, 6, 3, 1, 1, 64},  {128, 128, 3, 3, 1, 1, 128},
      {24, 24, 14, 5, 1, 2, 24},   {40, 40, 7, 5, 2, 2, 40},  {96, 96, 14, 3, 2, 1, 96}, {10, 10, 9, 3, 1, 1, 10},
      {256, 256, 3, 3, 1, 1, 256}, {16, 32, 10, 3, 1, 1, 16}, {20, 6, 5, 3, 1, 1, 1},    {512, 64, 2, 1, 1, 0, 1},
      {40, 20, 4, 3, 1, 1, 1},     {64, 64, 8, 3, 1, 1, 1},   {8, 96, 4, 3, 2, 1, 1},    {24, 4, 24, 3, 1, 1, 1},
      {1, 8, 10, 2, 1, 0, 1},      {2, 32, 4, 3, 1, 0, 1},    {48, 48, 5, 3, 1, 1, 3}};
  for (const Window& w : windows) {
    out.push_back(quantized(
        fmt::format("window_{}_{}_{}_{}_{}_{}", w.channels, w.outputs, w.size, w.kernel, w.stride, w.groups),
        {1, w.channels, w.size, w.size},
        fmt::format("  const %w: i8[{}, {}, {}, {}]\n", w.outputs, w.channels / w.groups, w.kernel, w.kernel) +
            dequantize_line("v", "w", parameters(0.015625, 0)) +
            fmt::format("  %y = aten.convolution(%d, %v, none, [{0}, {0}], [{1}, {1}], [1, 1], false, [0, 0], {2})\n",
                        w.stride, w.padding, w.groups)));
  }
  add_packed_windows(windows, out);
  const Window transposed[] = {{8, 6, 5, 3, 2, 1, 1},   {24, 16, 6, 2, 2, 0, 1}, {16, 8, 8, 4, 2, 1, 1},
                               {32, 12, 4, 3, 1, 1, 1}, {3, 5, 12, 3, 3, 0, 1},  {8, 40, 6, 2, 2, 0, 1},
                               {64, 32, 4, 2, 2, 0, 1}, {48, 24, 6, 3, 2, 1, 1}, {16, 16, 10, 2, 2, 0, 1},
                               {4, 4, 9, 2, 2, 0, 1},   {96, 20, 3, 4, 2, 1, 1}, {20, 10, 7, 5, 2, 2, 1},
                               {40, 16, 5, 4, 4, 0, 1}, {10, 24, 8, 3, 1, 1, 1}, {128, 16, 3, 2, 2, 0, 1}};
  for (const Window& w : transposed) {
    out.push_back(quantized(
        fmt::format("transposed_{}_{}_{}_{}", w.channels, w.outputs, w.kernel, w.stride),
        {1, w.channels, w.size, w.size},
        fmt::format("  const %w: i8[{}, {}, {}, {}]\n", w.channels, w.outputs, w.kernel, w.kernel) +
            dequantize_line("v", "w", parameters(0.015625, 0)) +
            fmt::format("  %y = aten.convolution(%d, %v, none, [{0}, {0}], [{1}, {1}], [1, 1], true, [0, 0], 1)\n",
                        w.stride, w.padding)));
  }
  for (const int channels : {5, 16, 40}) {
    for (const int kernel : {2, 3, 7}) {
      const std::vector<int> x = {1, channels, 14, 14};
      const std::string size = fmt::format("_{}_{}", channels, kernel),
                        body = fmt::format("(%d, [{0}, {0}], [{0}, {0}])\n", kernel);
      out.push_back(quantized("avg_pool2d" + size, x, "  %y = aten.avg_pool2d" + body));
      out.push_back(quantized("max_pool2d" + size, x, "  %y = aten.max_pool2d" + body));
      out.push_back(
          quantized("sum_pool2d" + size, x,
                    fmt::format("  %y = aten.avg_pool2d(%d, [{0}, {0}], [{0}, {0}], [0, 0], false, true, {1})\n",
                                kernel, kernel * kernel + 1)));
    }
  }
}

std::vector<float> channel_scales(int count) {
  std::vector<float> scales;
  for (int i = 0; i < count; ++i) scales.push_back(0.015625F + 0.0001F * static_cast<float>(i));
  return scales;
}

void add_matrices(std::vector<CostProgram>& out) {
  const int sizes[][3] = {{1, 64, 10}, {1, 640, 128}, {1, 33, 7},   {1, 1024, 40},
                          {8, 64, 64}, {25, 48, 96},  {4, 16, 100}, {3, 200, 5}};
  for (const auto& [rows, inner, columns] : sizes) {
    const std::string size = fmt::format("_{}_{}_{}", rows, inner, columns);
    out.push_back(quantized("linear" + size, {rows, inner},
                            fmt::format("  const %w: i8[{}, {}]\n", columns, inner) +
                                dequantize_line("v", "w", parameters(0.015625, 0)) +
                                "  %y = aten.linear(%d, %v, none)\n"));
    out.push_back(
        quantized("channels" + size, {rows, inner},
                  fmt::format("  const %w: i8[{}, {}]\n", columns, inner) +
                      constant_line("s", fmt::format("f32[{}]", columns).c_str(), channel_scales(columns)) +
                      constant_line("z", fmt::format("i64[{}]", columns).c_str(), std::vector<int>(columns, 0)) +
                      "  %v = quantized_decomposed.dequantize_per_channel(%w, %s, %z, 0, -127, 127, i8)\n"
                      "  %y = aten.linear(%d, %v, none)\n"));
    out.push_back(quantized("matmul" + size, {2, rows, inner},
                            fmt::format("  const %w: i8[2, {}, {}]\n", inner, columns) +
                                dequantize_line("v", "w", parameters(0.015625, 0)) + "  %y = aten.bmm(%d, %v)\n"));
    out.push_back(of_int16("matmul16" + size, {2, rows, inner},
                           fmt::format("  %k = aten.slice.Tensor(%d, 1, 0, {})\n  %t = aten.permute(%k, [0, 2, 1])\n"
                                       "  %y = aten.bmm(%d, %t)\n",
                                       std::min(rows, 4)),
                           inner));
    out.push_back(of_int16("softmax16" + size, {rows, inner}, "  %y = aten._softmax(%d, 1, false)\n", 1));
    out.push_back(of_int16("log_softmax16" + size, {rows, inner}, "  %y = aten._log_softmax(%d, 1, false)\n", 32));
    out.push_back(quantized("softmax" + size, {rows, inner}, "  %y = aten._softmax(%d, 1, false)\n"));
    out.push_back(quantized("log_softmax" + size, {rows, inner}, "  %y = aten._log_softmax(%d, 1, false)\n"));
    out.push_back(quantized("layer_norm" + size, {rows, inner},
                            fmt::format("  %y = aten.layer_norm(%d, [{}], none, none, 1e-05)\n", inner)));
  }
}

// Attention whole, of int16: [heads, queries, keys, features].
void add_wide_attention(std::vector<CostProgram>& out) {
  const int sizes[][4] = {{1, 8, 8, 16}, {2, 16, 16, 8}, {4, 5, 20, 32}, {1, 1, 48, 24}, {2, 24, 6, 12}};
  for (const auto& [heads, queries, keys, features] : sizes) {
    const std::string k = fmt::format("  const %w: i16[1, {}, {}, {}]\n", heads, keys, features) +
                          dequantize_line("k", "w", parameters(0.000244140625, 0, -32768, 32767), "i16");
    out.push_back(of_int16(fmt::format("attention16_{}_{}_{}_{}", heads, queries, keys, features),
                           {1, heads, queries, features}, k + "  %y = aten.scaled_dot_product_attention(%d, %k, %k)\n",
                           8));
  }
}

// With weights so small that relu and tanh are bounded.
void add_recurrent(std::vector<CostProgram>& out) {
  const std::pair<const char*, int> kinds[] = {{"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}};
  const int sizes[][4] = {{4, 1, 8, 8}, {10, 1, 24, 32}, {6, 2, 40, 16}, {3, 1, 100, 64}, {20, 1, 10, 20}};
  for (const auto& [kind, gates] : kinds) {
    const bool lstm = gates == 4;
    for (const auto& [steps, batch, inputs, cells] : sizes)
      out.push_back(quantized(
          fmt::format("{}_{}_{}_{}_{}", kind, steps, batch, inputs, cells), {steps, batch, inputs},
          fmt::format("  const %z: f32[1, {0}, {1}]\n  const %a: f32[{2}, {3}]\n  const %b: f32[{2}, {1}]\n", batch,
                      cells, gates * cells, inputs) +
              "  %i = aten.mul.Scalar(%a, 0.004)\n  %h = aten.mul.Scalar(%b, 0.004)\n" +
              fmt::format("  %y, %l{} = aten.{}.input(%d, {}, [%i, %h], false, 1, 0.0, false, false, false)\n",
                          lstm ? ", %c" : "", kind, lstm ? "[%z, %z]" : "%z")));
  }
}

void add_elements(std::vector<CostProgram>& out) {
  for (const int channels : {1, 2, 3, 5, 8, 24, 40}) {
    out.push_back(of_int16(fmt::format("resize16_{}", channels), {1, channels, channels % 2 == 1 ? 10 : 5, 7},
                           "  %y = aten.upsample_bilinear2d.vec(%d, none, false, [2.0, 2.0])\n", 8));
  }
  for (const int channels : {3, 4, 8, 12, 16, 24, 40, 64, 100}) {
    out.push_back(quantized(fmt::format("cat_{}", channels), {1, 9, 9, channels},
                            "  %l = aten.slice.Tensor(%d, 3, 0, 3)\n  %y = aten.cat([%d, %l], 3)\n"));
  }
  const std::vector<std::vector<int>> shapes = {{1, 3, 5, 7}, {1, 16, 12, 12}, {2, 8, 32, 4}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int c = shapes[i][1], w = shapes[i][3];
    const std::string channel = fmt::format("  const %g: i8[1, {}, 1, 1]\n", c) + dequantize_line("c", "g", q());
    const std::string column = fmt::format("  const %g: i8[1, 1, 1, {}]\n", w) + dequantize_line("c", "g", q());
    for (const char* op : {"add.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum"}) {
      out.push_back(quantized(fmt::format("{}_{}", op, i), shapes[i], fmt::format("  %y = aten.{}(%d, %d)\n", op)));
      if (op[0] == 'd') continue;
      out.push_back(quantized(fmt::format("{}_channel_{}", op, i), shapes[i],
                              channel + fmt::format("  %y = aten.{}(%d, %c)\n", op)));
      out.push_back(quantized(fmt::format("{}_column_{}", op, i), shapes[i],
                              column + fmt::format("  %y = aten.{}(%d, %c)\n", op)));
    }
    out.push_back(quantized(fmt::format("group_norm_{}", i), shapes[i],
                            fmt::format("  %y = aten.group_norm(%d, {})\n", c % 2 == 0 ? 2 : 1)));
    out.push_back(quantized(fmt::format("table_{}", i), shapes[i], "  %y = aten.tanh(%d)\n"));
    // Annotated behind the sum: rounding a number near 0 on the way to a steep function would show.
    const std::string sixteen_bits = parameters(0.000244140625, 0, -32768, 32767);
    out.push_back(of_int16(fmt::format("graded16_{}", i), shapes[i],
                           "  %a = aten.abs(%d)\n  %b = aten.add.Scalar(%a, 0.001)\n" +
                               quantize_line("i", "b", sixteen_bits, "i16") +
                               dequantize_line("j", "i", sixteen_bits, "i16") + "  %y = aten.rsqrt(%j)\n",
                           32));
    out.push_back(quantized(fmt::format("pad_{}", i), shapes[i], "  %y = aten.constant_pad_nd(%d, [1, 2, 1, 0], 0)\n"));
    const std::vector<int> orders[] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 2, 1, 3}, {0, 1, 3, 2}};
    for (const std::vector<int>& order : orders)
      out.push_back(quantized(fmt::format("permute_{}_{}", i, fmt::join(order, "")), shapes[i],
                              fmt::format("  %y = aten.permute(%d, {})\n", list(order))));
  }
}

}  // namespace

std::vector<CostProgram> cost_programs() {
  std::vector<CostProgram> programs;
  for (const auto add :
       {add_pointwise, add_others, add_windows, add_matrices, add_wide_attention, add_recurrent, add_elements})
    add(programs);
  return programs;
}

std::vector<uint8_t> compiled_for(const CostProgram& program, const std::string& isa, std::string* failures) {
  testing::Pipeline pipeline = testing::Pipeline::from_text(program.text);
  const char* memory = program.name.starts_with("tight") ? ",memory=tight" : "";
  pipeline.backend(backend_for(isa == "mve" ? "cortex-m55" : isa == "dsp" ? "cortex-m4" : "cortex-m3", memory));
  const compiler::CompileResult* result = pipeline.compiled();
  if (result) return result->program.pte.join();
  *failures = pipeline.failures();
  return {};
}

}  // namespace wick::cortex_m
