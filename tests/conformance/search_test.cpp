// Tests searchsorted in programs for stock, whose kernels lack it: its decomposition must find the same positions as
// eager's binary search.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/random.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/text/text.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"

namespace wick::conformance::search_test {
namespace {

// Eager's binary search. Comparisons with NaN are false, so NaN moves the search to the right.
int64_t position_of(const std::vector<double>& sorted, double x, bool right) {
  int64_t low = 0, high = static_cast<int64_t>(sorted.size());
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const double at = sorted[static_cast<size_t>(middle)];
    (right ? at > x : at >= x) ? high = middle : low = middle + 1;
  }
  return low;
}

// Small numbers, so that some are equal. Some floats are NaN or infinite.
std::vector<double> numbers(DType dtype, size_t count, uint64_t seed) {
  std::vector<double> out;
  for (uint64_t i = 0; i < count; ++i) {
    const auto random = philox4x32(seed, i);
    const auto& words = random.words;
    const double infinity = std::numeric_limits<double>::infinity();
    double value = static_cast<double>(static_cast<int32_t>(words[0] % 17) - 8);
    if (is_floating(dtype)) {
      value /= 2;
      if (words[1] % 16 == 0) value = words[2] % 2 == 0 ? infinity : -infinity;
      if (words[1] % 16 == 1) value = std::numeric_limits<double>::quiet_NaN();
    }
    out.push_back(value);
  }
  return out;
}

template <typename T>
void append(std::vector<uint8_t>& bytes, T value) {
  bytes.resize(bytes.size() + sizeof(T));
  std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
}

HostTensor tensor_of(DType dtype, const std::vector<double>& values, const std::vector<int32_t>& sizes) {
  HostTensor out;
  out.dtype = dtype;
  out.sizes = sizes;
  for (const double value : values) {
    if (dtype == DType::f32) append(out.bytes, static_cast<float>(value));
    if (dtype == DType::f64) append(out.bytes, value);
    if (dtype == DType::i32) append(out.bytes, static_cast<int32_t>(value));
    if (dtype == DType::i64) append(out.bytes, static_cast<int64_t>(value));
  }
  return out;
}

std::vector<int64_t> integers_of(const HostTensor& tensor) {
  std::vector<int64_t> out(tensor.bytes.size() / dtype_size_bytes(tensor.dtype));
  for (size_t i = 0; i < out.size(); ++i) {
    int32_t narrow = 0;
    if (tensor.dtype == DType::i64) {
      std::memcpy(&out[i], tensor.bytes.data() + 8 * i, 8);
    } else {
      std::memcpy(&narrow, tensor.bytes.data() + 4 * i, 4);
      out[i] = narrow;
    }
  }
  return out;
}

struct Search {
  DType dtype;
  int32_t length;              // boundaries in a row
  int32_t rows;                // rows of boundaries; 0: the boundaries are a vector
  std::vector<int32_t> sizes;  // sizes of the values
  bool right, int32, sorted, by_sorter;
  int32_t longest = -1;  // upper bound of `length` if it is dynamic; -1: static
};

void check(const Search& s, uint64_t seed) {
  const std::string dtype(dtype_name(s.dtype)), result = s.int32 ? "i32" : "i64";
  const auto list = [](const std::vector<int32_t>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); };
  const std::vector<int32_t> table = s.rows == 0 ? std::vector<int32_t>{s.length} : std::vector{s.rows, s.length};
  const bool is_dynamic = s.longest >= 0;
  const std::string length_text = is_dynamic ? "s0" : std::to_string(s.length);
  const std::string table_text = s.rows == 0 ? "[" + length_text + "]" : fmt::format("[{}, {}]", s.rows, length_text);
  const std::string text = fmt::format(
      "graph f(%b: {0}{1}, %x: {0}{2}{3}) {{\n{8}  %y: {4}{2} = aten.searchsorted.Tensor(%b, %x, {5}, {6}, none, {7})\n"
      "  return %y\n}}",
      dtype, table_text, list(s.sizes), s.by_sorter ? ", %s: i64" + table_text : "", result, s.int32, s.right,
      s.by_sorter ? "%s" : "none", is_dynamic ? fmt::format("  range s0: 0..{}\n", s.longest) : "");
  auto function = compiler::parse_graph(text);
  ASSERT_TRUE(function.ok()) << compiler::render(function.diag()) << text;
  function->name = "forward";
  std::vector<compiler::Function> functions;
  functions.push_back(std::move(*function));
  compiler::CompileOptions options;
  options.profile = compiler::Profile::stock;
  auto compiled = compiler::compile(std::move(functions), options);
  ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());

  size_t count = 1;
  for (const int32_t size : s.sizes) count *= static_cast<size_t>(size);
  const size_t rows = static_cast<size_t>(std::max(s.rows, 1)), length = static_cast<size_t>(s.length);
  const std::vector<double> values = numbers(s.dtype, count, seed);
  std::vector<double> boundaries, stored, order;
  for (size_t r = 0; r < rows; ++r) {
    std::vector<double> row = numbers(s.dtype, length, seed + 1000 + r);
    const auto before = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
    if (s.sorted) std::sort(row.begin(), row.end(), before);
    boundaries.insert(boundaries.end(), row.begin(), row.end());
    for (size_t i = 0; i < length; ++i) {
      order.push_back(static_cast<double>(length - 1 - i));
      stored.push_back(s.by_sorter ? row[length - 1 - i] : row[i]);
    }
  }
  std::vector<HostValue> inputs = {tensor_of(s.dtype, stored, table), tensor_of(s.dtype, values, s.sizes)};
  if (s.by_sorter) inputs.push_back(tensor_of(DType::i64, order, table));
  const std::vector<uint8_t> program = compiled->program.pte.join();
  EXPECT_LT(program.size(), 128u << 10) << "constants that grow with the number of boundaries";
  ModuleOptions module_options;
  module_options.kernels = {portable_kernels()};
  ModuleError error;
  std::vector<HostValue> outputs;
  const auto module = Module::load({program.data(), program.size()}, module_options, &error);
  ASSERT_TRUE(module) << error.message;
  ASSERT_TRUE(module->forward(inputs, &outputs, &error)) << error.message;

  std::vector<int64_t> wanted;
  for (size_t i = 0; i < count; ++i) {
    const size_t row = s.rows == 0 ? 0 : i / (count / rows);
    const auto first = boundaries.begin() + static_cast<std::ptrdiff_t>(row * length);
    const std::vector<double> own(first, first + static_cast<std::ptrdiff_t>(length));
    wanted.push_back(position_of(own, values[i], s.right));
  }
  EXPECT_EQ(outputs[0].tensor.sizes, s.sizes);
  EXPECT_EQ(integers_of(outputs[0].tensor), wanted) << text << "\nseed " << seed;
}

TEST(Search, StepsFindThePositionsOfEager) {
  uint64_t seed = 0;
  for (const int32_t length : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 31, 32, 33, 100}) {
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
      for (const std::vector<int32_t>& sizes : {std::vector<int32_t>{}, {0}, {9}, {2, 9}, {3, 1, 4}}) {
        const bool right = seed % 2 == 0, int32 = seed % 3 == 0, sorted = seed % 7 != 0, by_sorter = seed % 5 == 0;
        check({dtype, length, 0, sizes, right, int32, sorted, by_sorter}, seed);
        if (sizes.size() == 2) check({dtype, length, 2, sizes, !right, int32, sorted, by_sorter}, seed);
        ++seed;
      }
    }
  }
}

TEST(Search, StepsFindThePositionsAmongAsManyBoundariesAsThereAre) {
  uint64_t seed = 0;
  for (const int32_t longest : {1, 7, 8, 100}) {
    for (const int32_t length : {0, 1, 2, 3, 5, 7, 8, 64, 99, 100}) {
      if (length > longest) continue;
      for (const int32_t rows : {0, 2}) {
        check({seed % 2 == 0 ? DType::f32 : DType::i64,
               length,
               rows,
               {2, 5},
               seed % 3 == 0,
               seed % 4 == 0,
               seed % 5 != 0,
               seed % 7 == 0,
               longest},
              seed);
        ++seed;
      }
    }
  }
}

// Lengths on both sides of the largest one that is searched as a tree, and far beyond.
TEST(Search, LongSequencesNeedNoLargeConstants) {
  uint64_t seed = 0;
  for (const int32_t length : {4094, 4095, 4096, 4097, 100000}) {
    for (const int32_t rows : {0, 2}) {
      check({seed % 2 == 0 ? DType::f32 : DType::i64, length, rows, {2, 9}, seed % 3 == 0, seed % 4 == 0, true, false},
            seed);
      ++seed;
    }
  }
}

TEST(Search, NothingIsBeforeAnyValueWithoutBoundaries) {
  check({DType::f32, 0, 0, {5}, false, false, true, false}, 0);
  check({DType::i64, 0, 2, {2, 3}, true, true, true, false}, 0);
}

}  // namespace
}  // namespace wick::conformance::search_test
