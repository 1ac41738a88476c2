// Single kernels on the boards beside those of CMSIS-NN: instructions of one call of the operator, its checks included.
#include <cmath>
#include <cstdlib>

#include "backends/cortex_m/test/graph_test_support.h"
#include "compiler/support/file_map.h"
#include "devices/instruction_place.h"
#include "tests/devices/board_test_support.h"
#include "tests/support/scratch_folder.h"

namespace wick::device {
namespace {

using cortex_m::constant_line, cortex_m::dequantize_line, cortex_m::parameters;

// Zero points -128 and -5: the offsets 128 and -5 of the peer's calls.
const std::string kInput = parameters(0.03125, -128), kOutput = parameters(0.0625, -5);

/// Inputs %x0, %x1, .. of f32, quantized to %d0, %d1, ..; `body` computes %y.
std::string graph(const std::vector<std::string>& inputs, const std::string& body,
                  const std::string& output = kOutput) {
  std::string head, quantized;
  for (size_t i = 0; i < inputs.size(); ++i) {
    head += fmt::format("{}%x{}: f32[{}]", i == 0 ? "" : ", ", i, inputs[i]);
    const std::string n = std::to_string(i);
    quantized += cortex_m::fake_quantized(("d" + n).c_str(), ("x" + n).c_str(), ("q" + n).c_str(),
                                          i == 0 ? kInput : parameters(0.015625, 3));
  }
  return "graph forward(" + head + ") {\n" + quantized + body + cortex_m::fake_quantized("o", "y", "p", output) +
         "  return %o\n}";
}

std::string linear(int rows, int inner, int outputs, int weight_zero = 0) {
  return graph({fmt::format("{}, {}", rows, inner)},
               fmt::format("  const %w: i8[{0}, {1}]\n  const %b: f32[{0}]\n", outputs, inner) +
                   dequantize_line("v", "w", parameters(0.015625, weight_zero)) + "  %y = aten.linear(%d0, %v, %b)\n");
}

std::string kernel_sum(int inner, int outputs) {
  return fmt::format(
      "graph forward(%x: i32[1, {0}]) {{\n  const %w: i8[{0}, {1}]\n"
      "  %s = wick_cortex_m.kernel_sum(%w, none, 3, 0)\n  %y = aten.add.Tensor(%x, %s)\n  return %y\n}}",
      outputs, inner);
}

struct Window {
  int height, width, channels, outputs, kernel_height, kernel_width, stride = 1, groups = 1;
};

// Padding as if the result had the size of the input; one scale for each output.
std::string conv(const Window& w) {
  std::vector<float> scales;
  for (int i = 0; i < w.outputs; ++i) scales.push_back(0.0078125F * static_cast<float>(1 << i % 3) * 1.3F);
  const int padding[2] = {w.kernel_height / 2, w.kernel_height == 1 ? 0 : (w.kernel_width - 1) / 2};
  return graph({fmt::format("1, {}, {}, {}", w.channels, w.height, w.width)},
               fmt::format("  const %w: i8[{0}, {1}, {2}, {3}]\n  const %b: f32[{0}]\n", w.outputs,
                           w.channels / w.groups, w.kernel_height, w.kernel_width) +
                   constant_line("s", fmt::format("f32[{}]", w.outputs).c_str(), scales) +
                   constant_line("z", fmt::format("i64[{}]", w.outputs).c_str(), std::vector<int>(scales.size(), 0)) +
                   "  %v = quantized_decomposed.dequantize_per_channel(%w, %s, %z, 0, -128, 127, i8)\n" +
                   fmt::format("  %y = aten.convolution(%d0, %v, %b, [{0}, {0}], [{1}, {2}], [1, 1], false, [0, 0], "
                               "{3})\n",
                               w.stride, padding[0], padding[1], w.groups));
}

std::string softmax(int rows, int columns) {
  return graph({fmt::format("{}, {}", rows, columns)}, "  %y = aten._softmax(%d0, 1, false)\n",
               parameters(0.00390625, -128));
}
std::string binary(const char* op) {
  return graph({"1, 32768", "1, 32768"}, fmt::format("  %y = aten.{}.Tensor(%d0, %d1)\n", op));
}
std::string pool(const char* kind, int size, int channels, int kernel) {
  return graph({fmt::format("1, {0}, {1}, {1}", channels, size)},
               fmt::format("  %y = aten.{0}_pool2d(%d0, [{1}, {1}], [{1}, {1}])\n", kind, kernel), kInput);
}
std::string transpose() { return graph({"1, 1024, 32"}, "  %y = aten.permute(%d0, [0, 2, 1])\n", kInput); }
// Of images that are channels-last in memory.
std::string pad() {
  return graph({"1, 32, 32, 32"},
               "  %n = aten.permute(%d0, [0, 3, 1, 2])\n  %m = aten.constant_pad_nd(%n, [1, 1, 1, 1], 0)\n"
               "  %y = aten.permute(%m, [0, 2, 3, 1])\n",
               kInput);
}
std::string matmul() {
  return graph({"4, 64, 64", "4, 64, 64"}, "  %t = aten.permute(%d1, [0, 2, 1])\n  %y = aten.bmm(%d0, %t)\n");
}

constexpr size_t kM55 = 0, kBoards = 3;

struct KernelRow {
  const char* name;
  std::string text;
  const char* op;
  uint64_t peer[kBoards];  // 0: not measured
  double vector_share;     // of the peer's instructions on M55

  double peer_cycles(size_t board) const {
    return static_cast<double>(peer[board]) * (board == kM55 ? 1 + vector_share : 1);
  }
};

std::vector<KernelRow> rows() {
  return {
#define KERNEL_ROW(name, text, op, m55, share, m4, m3) {name, text, op, {m55, m4, m3}, (share) / 100.0},
#include "tests/devices/peer_kernels.inc"
#undef KERNEL_ROW
  };
}

// What the operator's call took. The program has exactly one.
class KernelCounter {
 public:
  explicit KernelCounter(const Board& board) : board_(board), device_(board, *find_files(board), DeviceProgram{}) {}

  Counts count(const KernelRow& row) {
    const std::string path = compile(row);
    if (path.empty()) return {};
    const auto module = load_on_host(path);
    const MethodMeta method = *module->program().find_method("forward");
    const std::vector<HostValue> inputs = seeded_inputs(*module);
    device_.set_program({path, {}, 0, module.get()});
    Call call;
    call.method = "forward";
    call.inputs = &inputs;
    call.watch = Watch::steps;
    call.on_step = [](const StepReport&) {};
    const auto outcome = device_.call(call);
    if (!outcome.ok()) {
      ADD_FAILURE() << compiler::render(outcome.diag());
      return {};
    }
    std::vector<Counts> found;
    std::string all;
    for (size_t i = 0; i < outcome->footprint.steps.size(); ++i) {
      const std::string op = operator_text(method.op(method.instruction(0, static_cast<uint32_t>(i)).target));
      all += op + " ";
      if (op == row.op) found.push_back(outcome->footprint.steps[i].counts);
    }
    EXPECT_EQ(found.size(), 1u) << "the program is " << all;
    return found.empty() ? Counts{} : found[0];
  }

 private:
  std::string compile(const KernelRow& row) {
    testing::Pipeline pipeline = testing::Pipeline::from_text(row.text);
    pipeline.backend(cortex_m::backend_for(board_.preset));
    const compiler::CompileResult* result = pipeline.compiled();
    if (!result) {
      ADD_FAILURE() << pipeline.failures();
      return "";
    }
    const std::vector<uint8_t> bytes = result->program.pte.join();
    std::string path = folder_.file("kernel.pte");
    EXPECT_TRUE(compiler::write_file(path, {bytes.data(), bytes.size()}).ok());
    return path;
  }

  const Board& board_;
  QemuDevice device_;
  testing::ScratchFolder folder_;
};

struct Mean {
  double logs = 0;
  size_t count = 0;
  void add(double ratio) {
    logs += std::log(ratio);
    ++count;
  }
  double value() const { return std::exp(logs / static_cast<double>(count)); }
};

// docs/cortex_m_kernels.md.
class Table {
 public:
  void add(const KernelRow& row, const Counts (&ours)[kBoards]) {
    text_ += fmt::format("| {} |", row.name);
    for (size_t b = 0; b < kBoards; ++b) {
      add_ratio(ours[b].instructions, static_cast<double>(row.peer[b]));
      if (b == kM55) add_ratio(ours[b].weighted_cycles, row.peer_cycles(b));
    }
    text_ += "\n";
  }
  void add_means(const Mean (&means)[kBoards], const Mean& cycles) {
    text_ += fmt::format("| geometric mean | | | {:.2f} | | | {:.2f} | | | {:.2f} | | | {:.2f} |\n", means[0].value(),
                         cycles.value(), means[1].value(), means[2].value());
  }
  const std::string& text() const { return text_; }

 private:
  void add_ratio(uint64_t ours, double peer) {
    if (peer == 0)
      text_ += " | | |";
    else
      text_ += fmt::format(" {} | {:.0f} | {:.2f} |", ours, peer, static_cast<double>(ours) / peer);
  }

  std::string text_ =
      "# Cortex-M kernels beside CMSIS-NN\n\n"
      "Executed instructions of one call in QEMU: Wick's operator with its checks, and CMSIS-NN's function with all "
      "arguments prepared, by its best build\n(`tests/devices/peer_kernels.inc`). Weighted cycles count a vector "
      "instruction twice, and a gather or scatter once for each lane; for CMSIS-NN without gathers.\n"
      "`WICK_UPDATE_TABLE=1 build/dev/bin/device_test --gtest_filter='KernelTable.*'` writes this file.\n\n"
      "| call | M55 | CMSIS-NN | ratio | M55, weighted | CMSIS-NN | ratio | M4 | CMSIS-NN | ratio | M3 | CMSIS-NN | "
      "ratio |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
};

constexpr char kDocument[] = "docs/cortex_m_kernels.md";

/// Whether a cell of the document says what was counted: the same words, or a number within 2 %, as other versions of a
/// compiler count a little otherwise; ratios have two digits.
bool says(std::string_view cell, std::string_view counted) {
  constexpr double kBand = 0.02, kDigit = 0.011;
  char *cell_end = nullptr, *counted_end = nullptr;
  const std::string one(cell), other(counted);
  const double a = std::strtod(one.c_str(), &cell_end), b = std::strtod(other.c_str(), &counted_end);
  if (cell_end == one.c_str() || *cell_end != ' ' || *counted_end != ' ') return cell == counted;
  return std::abs(a - b) <= kBand * std::abs(b) + kDigit;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t end = text.find(at); end != std::string_view::npos; end = text.find(at)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

void expect_document(std::string_view document, std::string_view counted) {
  const std::vector<std::string_view> lines = split(document, '\n'), wanted = split(counted, '\n');
  ASSERT_EQ(lines.size(), wanted.size()) << kDocument << " has other rows; WICK_UPDATE_TABLE=1 writes it";
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view> cells = split(lines[i], '|'), found = split(wanted[i], '|');
    bool same = cells.size() == found.size();
    for (size_t c = 0; same && c < cells.size(); ++c) same = says(cells[c], found[c]);
    EXPECT_TRUE(same) << kDocument << " says\n  " << lines[i] << "\nbut counted is\n  " << wanted[i]
                      << "\nWICK_UPDATE_TABLE=1 writes it anew";
  }
}

TEST(KernelTable, CellsAreComparedAsNumbersWithinTwoPercent) {
  EXPECT_TRUE(says(" 1010 ", " 1000 "));
  EXPECT_FALSE(says(" 1030 ", " 1000 "));
  EXPECT_TRUE(says(" 0.65 ", " 0.64 "));
  EXPECT_FALSE(says(" 0.68 ", " 0.64 "));
  EXPECT_FALSE(says(" fc 1x256_64 ", " fc 1x640_128 "));
}

TEST(KernelTable, MeanIsAtMost65PercentOfCmsisNnAndTheDocumentSaysWhatIsCounted) {
  constexpr double kMostOfPeer = 0.65;
  std::vector<std::unique_ptr<KernelCounter>> counters;
  for (const Board& board : boards()) {
    const auto files = find_files(board);
    if (!files.ok() && !std::getenv("WICK_NEEDS_DEVICES")) GTEST_SKIP() << compiler::render(files.diag());
    ASSERT_TRUE(files.ok()) << compiler::render(files.diag());
    counters.push_back(std::make_unique<KernelCounter>(board));
  }
  ASSERT_EQ(counters.size(), kBoards);
  Table table;
  Mean means[kBoards], cycles;
  for (const KernelRow& row : rows()) {
    SCOPED_TRACE(row.name);
    Counts ours[kBoards];
    for (size_t b = 0; b < kBoards; ++b) {
      if (row.peer[b] == 0) continue;
      ours[b] = counters[b]->count(row);
      ASSERT_GT(ours[b].instructions, 0u);
      means[b].add(static_cast<double>(ours[b].instructions) / static_cast<double>(row.peer[b]));
      if (b == kM55) cycles.add(static_cast<double>(ours[b].weighted_cycles) / row.peer_cycles(b));
    }
    table.add(row, ours);
  }
  table.add_means(means, cycles);
  for (const Mean& mean : means) EXPECT_LE(mean.value(), kMostOfPeer) << table.text();
  EXPECT_LE(cycles.value(), kMostOfPeer) << table.text();
  if (std::getenv("WICK_UPDATE_TABLE")) {
    const Span<const uint8_t> bytes = {reinterpret_cast<const uint8_t*>(table.text().data()), table.text().size()};
    EXPECT_TRUE(compiler::write_file(kDocument, bytes).ok());
  }
  const auto document = compiler::FileMap::open(kDocument);
  ASSERT_TRUE(document.ok());
  const Span<const uint8_t> text = document->bytes();
  expect_document({reinterpret_cast<const char*>(text.data()), text.size()}, table.text());
}

}  // namespace
}  // namespace wick::device
