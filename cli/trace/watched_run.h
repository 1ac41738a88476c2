// Runs small programs for what watches them instruction by instruction.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compiler/testing/pipeline.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"

namespace wick::cli {

/// Runs a graph with one input %x of these elements, watched from its first instruction on.
template <typename Watcher>
void run_watched(const std::string& body, const std::vector<int32_t>& sizes, const std::vector<float>& elements,
                 Watcher& watcher) {
  std::string list;
  for (const int32_t size : sizes) list += (list.empty() ? "" : ", ") + std::to_string(size);
  auto pipeline = testing::Pipeline::from_text("graph forward(%x: f32[" + list + "]) {\n" + body + "}");
  const compiler::CompileResult* compiled = pipeline.compiled();
  ASSERT_NE(compiled, nullptr) << pipeline.failures();
  const std::vector<uint8_t> pte = compiled->program.pte.join();
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.tracer = watcher.tracer();
  ModuleError error;
  const auto module = Module::load({pte.data(), pte.size()}, options, &error);
  ASSERT_NE(module, nullptr) << error.message;
  watcher.watch(*module->program().find_method("forward"));
  std::vector<uint8_t> bytes(elements.size() * sizeof(float));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  std::vector<HostValue> outputs;
  ASSERT_TRUE(module->forward({HostTensor{DType::f32, sizes, std::move(bytes)}}, &outputs, &error)) << error.message;
}

}  // namespace wick::cli
