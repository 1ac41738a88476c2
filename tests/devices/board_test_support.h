// A board in QEMU for tests, and programs loaded on the host beside it.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "compiler/support/diag.h"
#include "devices/qemu/qemu_device.h"
#include "wick/backends.h"

namespace wick::device {

inline std::unique_ptr<Module> load_on_host(const std::string& path) {
  ModuleOptions options;
  for (const KernelTable& table : all_kernels()) options.kernels.push_back(table);
  ModuleError error;
  auto module = Module::load(path, options, &error);
  if (!module) ADD_FAILURE() << error.message;
  return module;
}

/// Seeded f32 inputs between -2.5 and 5.
inline std::vector<HostValue> seeded_inputs(const Module& module) {
  const MethodMeta method = *module.program().find_method("forward");
  std::vector<HostValue> inputs;
  uint32_t word = 1;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    const TensorMeta meta = method.input_value(i).tensor;
    HostTensor input{meta.dtype, {meta.sizes.begin(), meta.sizes.end()}, std::vector<uint8_t>(meta.nbytes)};
    for (size_t at = 0; at + sizeof(float) <= input.bytes.size(); at += sizeof(float)) {
      word = word * 1664525 + 1013904223;
      const float value = static_cast<float>(static_cast<int32_t>(word >> 8) % 121 - 40) / 16;
      memcpy(input.bytes.data() + at, &value, sizeof value);
    }
    inputs.emplace_back(std::move(input));
  }
  return inputs;
}

/// Tests that run once for each board.
class BoardTest : public ::testing::TestWithParam<Board> {
 protected:
  void SetUp() override {
    auto files = find_files(GetParam());
    if (files.ok()) {
      device_ = std::make_unique<QemuDevice>(GetParam(), *files, DeviceProgram{});
    } else if (std::getenv("WICK_NEEDS_DEVICES")) {
      FAIL() << compiler::render(files.diag());
    } else {
      GTEST_SKIP() << compiler::render(files.diag());
    }
  }

  /// Calls the method "forward" of the program.
  compiler::Result<Outcome> call(const std::string& path, Module* module, const std::vector<HostValue>& inputs,
                                 Watch watch = Watch::nothing, std::function<void(StepReport)> on_step = {}) {
    device_->set_program({path, {}, 0, module});
    Call call;
    call.method = "forward";
    call.inputs = &inputs;
    call.watch = watch;
    call.on_step = std::move(on_step);
    return device_->call(call);
  }

  std::unique_ptr<QemuDevice> device_;
};

inline std::string board_name(const ::testing::TestParamInfo<Board>& test) {
  std::string name = test.param.device;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

/// The elements or the number of a value, to compare to the byte.
inline std::vector<uint8_t> bytes_of(const HostValue& value) {
  if (value.tag == Tag::tensor) return value.tensor.bytes;
  std::vector<uint8_t> bytes(sizeof(int64_t) + sizeof(double) + 1);
  memcpy(bytes.data(), &value.integer, sizeof(int64_t));
  memcpy(bytes.data() + sizeof(int64_t), &value.real, sizeof(double));
  bytes.back() = value.boolean ? 1 : 0;
  return bytes;
}

}  // namespace wick::device
