// Stock's programs on channels-last images, rewritten as ExecuTorch 1.6 writes them: contiguous tensors of sizes NHWC,
// and the operators for those. Both programs give the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "tests/fuzz/editable_program.h"
#include "tests/interop/fixture_files.h"
#include "wick/backends.h"
#include "wick/module.h"

namespace wick::nhwc_programs_test {
namespace {

using Bytes = std::vector<uint8_t>;

const std::filesystem::path kFolder = "tests/fixtures/cortex_m";

const std::map<std::string, std::string> kTwins = {
    {"cortex_m::quantized_conv2d", "cortex_m::quantized_conv2d_nhwc"},
    {"cortex_m::quantized_depthwise_conv2d", "cortex_m::quantized_depthwise_conv2d_nhwc"},
    {"cortex_m::quantized_transpose_conv2d", "cortex_m::quantized_transpose_conv2d_nhwc"},
    {"cortex_m::quantized_avg_pool2d", "cortex_m::quantized_avg_pool2d_nhwc"},
    {"cortex_m::quantized_max_pool2d", "cortex_m::quantized_max_pool2d_nhwc"},
    {"cortex_m::pad", "cortex_m::pad_contiguous"},
};
// Operators to which the order of the sizes means nothing.
const std::set<std::string> kAlike = {"cortex_m::quantize_per_tensor", "cortex_m::dequantize_per_tensor",
                                      "cortex_m::quantized_activation"};

template <typename T>
std::vector<T> as_nhwc(const std::vector<T>& nchw) {
  return {nchw[0], nchw[2], nchw[3], nchw[1]};
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

/// An activation that lies in memory as a channels-last image; dimensions of size 1 may be anywhere.
bool is_image(const pte_edit::TensorT& tensor) {
  if (tensor.sizes.size() != 4 || tensor.data_buffer_idx != 0) return false;
  std::vector<uint8_t> found, wanted;
  for (const uint8_t d : tensor.dim_order) {
    if (tensor.sizes[d] != 1) found.push_back(d);
  }
  for (const uint8_t d : {0, 2, 3, 1}) {
    if (tensor.sizes[d] != 1) wanted.push_back(d);
  }
  return found == wanted;
}

/// None if the program has other operators or no twin.
std::optional<Bytes> rewritten(const Bytes& file, std::set<std::string>* operators) {
  const fuzz::EditableProgram program = fuzz::open_program({file.data(), file.size()});
  if (!program.tables || program.tables->execution_plan.size() != 1) return {};
  pte_edit::ExecutionPlanT& plan = *program.tables->execution_plan[0];
  bool has_twin = false;
  for (const auto& op : plan.operators) {
    const auto twin = kTwins.find(op->name);
    if (twin == kTwins.end() && !kAlike.count(op->name)) return {};
    if (twin == kTwins.end()) continue;
    has_twin = true;
    operators->insert(twin->second);
    op->name = twin->second;
  }
  for (const auto& value : plan.values) {
    pte_edit::TensorT* tensor = value->val.AsTensor();
    if (!tensor || !is_image(*tensor)) continue;
    tensor->sizes = as_nhwc(tensor->sizes);
    tensor->dim_order = {0, 1, 2, 3};
  }
  if (!has_twin) return {};
  return fuzz::write_program(program);
}

/// Elements in the order of memory of channels-last.
HostTensor to_nhwc(const HostTensor& nchw) {
  if (nchw.sizes.size() != 4) return nchw;
  HostTensor out{nchw.dtype, as_nhwc(nchw.sizes), Bytes(nchw.bytes.size())};
  const size_t item = dtype_size_bytes(nchw.dtype);
  const size_t channels = static_cast<size_t>(nchw.sizes[1]);
  const size_t pixels = static_cast<size_t>(nchw.sizes[2]) * static_cast<size_t>(nchw.sizes[3]);
  for (size_t i = 0; i * item < nchw.bytes.size(); ++i) {
    const size_t pixel = i % pixels, channel = i / pixels % channels, image = i / pixels / channels;
    const size_t to = (image * pixels + pixel) * channels + channel;
    std::copy_n(nchw.bytes.data() + i * item, item, out.bytes.data() + to * item);
  }
  return out;
}

std::vector<HostValue> run(const Bytes& file, const std::vector<HostValue>& inputs) {
  ModuleOptions options;
  for (const KernelTable& table : all_kernels()) options.kernels.push_back(table);
  ModuleError error;
  std::vector<HostValue> outputs;
  const auto module = Module::load(Span<const uint8_t>(file.data(), file.size()), options, &error);
  if (!module || !module->forward(inputs, &outputs, &error)) ADD_FAILURE() << error.message;
  return outputs;
}

TEST(CortexMNhwcPrograms, GiveTheBytesOfThoseOnChannelsLastImages) {
  std::set<std::string> operators;
  int programs = 0;
  for (const std::string& name : interop::program_names(kFolder, ".pte")) {
    SCOPED_TRACE(name);
    const Bytes nchw = read_file(kFolder / (name + ".pte"));
    const std::optional<Bytes> nhwc = rewritten(nchw, &operators);
    if (!nhwc) continue;
    ++programs;
    std::vector<HostValue> inputs, moved;
    const std::vector<interop::FixtureCall> calls = interop::fixture_calls(kFolder, name);
    ASSERT_EQ(calls.size(), 1u);
    for (const cli::NamedArray& array : calls[0].inputs) {
      inputs.push_back(HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes});
      moved.push_back(to_nhwc(inputs.back().tensor));
    }
    const std::vector<HostValue> wanted = run(nchw, inputs), found = run(*nhwc, moved);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const HostTensor expected = to_nhwc(wanted[i].tensor);
      EXPECT_EQ(found[i].tensor.sizes, expected.sizes);
      EXPECT_EQ(found[i].tensor.bytes, expected.bytes);
    }
  }
  EXPECT_GE(programs, 20);
  EXPECT_EQ(operators.size(), kTwins.size());
}

}  // namespace
}  // namespace wick::nhwc_programs_test
