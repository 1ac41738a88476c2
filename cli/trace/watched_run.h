// Runs small programs for tests of tracers, which watch each instruction.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "compiler/testing/pipeline.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"

namespace wick::cli {

/// Runs a graph with one input %x of these elements, watched from its first instruction on. Returns its outputs, none
/// after a failure.
inline std::vector<HostValue> run_watched(const std::string& body, const std::vector<int32_t>& sizes,
                                          const std::vector<float>& elements, const Tracer* tracer,
                                          const std::function<void(const MethodMeta&)>& watch) {
  std::string list;
  for (const int32_t size : sizes) list += (list.empty() ? "" : ", ") + std::to_string(size);
  auto pipeline = testing::Pipeline::from_text("graph forward(%x: f32[" + list + "]) {\n" + body + "}");
  const compiler::CompileResult* compiled = pipeline.compiled();
  EXPECT_NE(compiled, nullptr) << pipeline.failures();
  if (!compiled) return {};
  const std::vector<uint8_t> pte = compiled->program.pte.join();
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.tracer = tracer;
  ModuleError error;
  const auto module = Module::load({pte.data(), pte.size()}, options, &error);
  EXPECT_NE(module, nullptr) << error.message;
  if (!module) return {};
  watch(*module->program().find_method("forward"));
  std::vector<uint8_t> bytes(elements.size() * sizeof(float));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  std::vector<HostValue> outputs;
  EXPECT_TRUE(module->forward({HostTensor{DType::f32, sizes, std::move(bytes)}}, &outputs, &error)) << error.message;
  return outputs;
}

template <typename Watcher>
std::vector<HostValue> run_watched(const std::string& body, const std::vector<int32_t>& sizes,
                                   const std::vector<float>& elements, Watcher& watcher) {
  return run_watched(body, sizes, elements, watcher.tracer(), [&](const MethodMeta& method) { watcher.watch(method); });
}

}  // namespace wick::cli
