// Lowers graphs and runs them on the twin. Tests only.
#pragma once
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backends/cuda/compile/report.h"
#include "backends/cuda/payload/plan.h"
#include "common/float16.h"
#include "common/random.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/text/text.h"
#include "tests/support/scratch_folder.h"
#include "wick/cuda_backend.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"

namespace wick::cuda {
using compiler::CompileResult;

inline std::vector<uint8_t> program_of(const std::string& text, const std::string& backend,
                                       const compiler::TargetSettings& settings, CompileResult* result) {
  auto function = compiler::parse_graph(text);
  EXPECT_TRUE(function.ok()) << compiler::render(function.diag());
  if (!function.ok()) return {};
  function->name = "forward";
  std::vector<compiler::Function> functions;
  functions.push_back(std::move(*function));
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets(backend, settings);
  auto compiled = compiler::compile(std::move(functions), options);
  EXPECT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
  if (!compiled.ok()) return {};
  *result = std::move(*compiled);
  return result->program.pte.join();
}

inline std::vector<HostValue> outputs_of(const std::vector<uint8_t>& program, const std::vector<HostValue>& inputs,
                                         const std::string& device, bool after_zeros = false) {
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&cuda_backend()};
  options.device = device;
  ModuleError error;
  std::vector<HostValue> outputs;
  const auto module = wick::Module::load({program.data(), program.size()}, options, &error);
  EXPECT_TRUE(module) << error.message;
  if (module && after_zeros) {
    std::vector<HostValue> zeros = inputs;
    for (HostValue& value : zeros) std::fill(value.tensor.bytes.begin(), value.tensor.bytes.end(), uint8_t{0});
    (void)module->forward(zeros, &outputs, &error);  // some graphs refuse zeros
  }
  if (module) {
    EXPECT_TRUE(module->forward(inputs, &outputs, &error)) << error.message;
  }
  return outputs;
}

// The payload without the model's hash: the rest is what it makes a device do.
inline std::vector<uint8_t> without_model(const std::vector<uint8_t>& payload) {
  Plan plan;
  EXPECT_EQ(read_plan({payload.data(), payload.size()}, &plan, nullptr), Error::Ok);
  EXPECT_NE(plan.model, 0u);
  plan.model = 0;
  return write_plan(plan);
}

// The nodes that stay outside of delegates, with operator and reason.
inline std::vector<std::pair<std::string, std::string>> outside_of(const std::string& text) {
  CompileResult result;
  EXPECT_FALSE(program_of(text, "cuda", {{"gpu", "none"}}, &result).empty());
  std::vector<std::pair<std::string, std::string>> nodes;
  for (const auto& method : result.methods) {
    for (const auto& node : method.outside) nodes.emplace_back(node.op, node.reason);
  }
  return nodes;
}

inline double element(const HostTensor& tensor, size_t index) {
  if (tensor.dtype == DType::f32) {
    float value;
    std::memcpy(&value, &tensor.bytes[4 * index], 4);
    return static_cast<double>(value);
  }
  uint16_t bits;
  std::memcpy(&bits, &tensor.bytes[2 * index], 2);
  return static_cast<double>(tensor.dtype == DType::f16 ? Half::to_float(bits)
                                                        : float_from_bits(static_cast<uint32_t>(bits) << 16));
}

// Multiples of 1 / 64 between -1 and 1: all floating dtypes hold them exactly.
inline HostTensor numbers(DType dtype, const std::vector<int32_t>& sizes, uint64_t seed) {
  HostTensor out;
  out.dtype = dtype;
  out.sizes.assign(sizes.begin(), sizes.end());
  size_t count = 1;
  for (const int32_t size : sizes) count *= static_cast<size_t>(size);
  for (size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(static_cast<int>(philox4x32(seed, i).words[0] % 129) - 64) / 64.0f;
    const uint16_t half = dtype == DType::f16 ? Half::from_float(value) : BFloat16::from_float(value);
    uint8_t bytes[4];
    std::memcpy(bytes, dtype == DType::f32 ? static_cast<const void*>(&value) : &half, dtype_size_bytes(dtype));
    out.bytes.insert(out.bytes.end(), bytes, bytes + dtype_size_bytes(dtype));
  }
  return out;
}

inline HostTensor integers(const std::vector<int64_t>& values, const std::vector<int32_t>& sizes) {
  HostTensor out;
  out.dtype = DType::i64;
  out.sizes = sizes;
  out.bytes.resize(values.size() * sizeof(int64_t));
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}

class CudaLower : public ::testing::Test {
 protected:
  // Compiles a graph that must become one delegate.
  void compile(const std::string& text) {
    text_ = text;
    ++twins_;  // opened libraries stay open, so each needs another name
    program_ = program_of(text, "cuda", {{"gpu", "none"}, {"twin", twin()}}, &result_);
    ASSERT_FALSE(program_.empty());
    ASSERT_EQ(result_.methods[0].delegates, 1u);
    for (const auto& node : result_.methods[0].outside) ADD_FAILURE() << node.op << ": " << node.reason;
    const auto& payload = result_.method_plans[0].delegates[0]->payload;
    ASSERT_EQ(read_plan({payload.data(), payload.size()}, &plan_, nullptr), Error::Ok);
  }

  // Compares with the portable kernels; `error` is relative to the largest element.
  void expect_like_portable(const std::vector<HostValue>& inputs, double error) {
    CompileResult ignored;
    const auto want = outputs_of(program_of(text_, "portable", {}, &ignored), inputs, "");
    const auto got = outputs_of(program_, inputs, "cuda-twin=" + twin());
    ASSERT_EQ(got.size(), want.size());
    expect_same_bits_in_every_order(inputs, got);
    for (size_t i = 0; i < want.size(); ++i) {
      const HostTensor &a = got[i].tensor, &b = want[i].tensor;
      ASSERT_EQ(a.sizes, b.sizes);
      double largest = 0, worst = 0;
      size_t nans = 0;
      for (size_t k = 0; k < b.bytes.size() / dtype_size_bytes(b.dtype); ++k) {
        largest = std::max(largest, std::fabs(element(b, k)));
        worst = std::max(worst, std::fabs(element(a, k) - element(b, k)));
        if (std::isnan(element(a, k)) != std::isnan(element(b, k))) ++nans;
      }
      EXPECT_EQ(nans, 0u) << "NaN on one side";
      EXPECT_LE(worst, error * largest);
      EXPECT_GT(largest, 0);
    }
  }

  // Compares results that are not rounded with those of the portable kernels, bit by bit.
  void expect_bits_of_portable(const std::vector<HostValue>& inputs) {
    CompileResult ignored;
    const auto want = outputs_of(program_of(text_, "portable", {}, &ignored), inputs, "");
    const auto got = outputs_of(program_, inputs, "cuda-twin=" + twin());
    ASSERT_EQ(got.size(), want.size());
    ASSERT_FALSE(want.empty());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].tensor.sizes, want[i].tensor.sizes);
      EXPECT_EQ(got[i].tensor.bytes, want[i].tensor.bytes) << "result " << i;
    }
    expect_same_bits_in_every_order(inputs, got);
  }

  // The call must fail with a message that contains `words`.
  void expect_error(const std::vector<HostValue>& inputs, const std::string& words) {
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&cuda_backend()};
    options.device = "cuda-twin=" + twin();
    ModuleError error;
    std::vector<HostValue> outputs;
    const auto module = wick::Module::load({program_.data(), program_.size()}, options, &error);
    ASSERT_TRUE(module) << error.message;
    EXPECT_FALSE(module->forward(inputs, &outputs, &error));
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
  }

  // Runs threads in every order. A kernel that lacks a barrier, or that depends on which block is done first, gives
  // other bits; so does a call if the one before leaves counters of blocks that are not 0.
  void expect_same_bits_in_every_order(const std::vector<HostValue>& inputs, const std::vector<HostValue>& first) {
    void* const library = dlopen(twin().c_str(), RTLD_NOW);  // the library that runs
    ASSERT_NE(library, nullptr);
    const auto set_order = reinterpret_cast<void (*)(uint32_t, uint64_t)>(dlsym(library, "wick_twin_set_order"));
    for (const uint32_t order : {1u, 2u, 0u}) {
      set_order(order, 7);
      const bool is_pure = plan_.state_bytes == 0 && plan_.random_buffer == kNone;
      const auto again = outputs_of(program_, inputs, "cuda-twin=" + twin(), is_pure);
      ASSERT_EQ(again.size(), first.size());
      for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(again[i].tensor.bytes, first[i].tensor.bytes);
    }
    dlclose(library);
  }

  size_t launches() const {
    size_t count = 0;
    for (const PlanNode& node : plan_.nodes) count += node.kind == NodeKind::launch;
    return count;
  }
  const std::string& kernel_text(size_t number) const {
    return static_cast<const Kept*>(result_.method_plans[0].delegates[0]->kept.get())->kernels[number].text;
  }
  std::string twin() const { return folder_.file(fmt::format("twin{}.so", twins_)); }

  testing::ScratchFolder folder_;
  size_t twins_ = 0;
  std::string text_;
  std::vector<uint8_t> program_;
  CompileResult result_;
  Plan plan_;
};

}  // namespace wick::cuda
