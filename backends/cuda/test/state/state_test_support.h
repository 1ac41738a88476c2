// Programs with mutable buffers, on the twin and by the portable kernels. Tests only.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {

using Call = std::pair<std::string, std::vector<HostValue>>;  // method and inputs

class CudaState : public CudaLower {
 protected:
  // Methods "a", "b", .. of one model, or each of its own model. Graphs are named like their methods.
  static std::vector<uint8_t> compile_methods(const std::vector<std::string>& texts, const std::string& backend,
                                              const compiler::TargetSettings& settings, CompileResult* result,
                                              bool one_model = true) {
    std::vector<compiler::Function> functions;
    for (const std::string& text : texts) {
      auto function = compiler::parse_graph(text);
      EXPECT_TRUE(function.ok()) << compiler::render(function.diag());
      if (!function.ok()) return {};
      functions.push_back(std::move(*function));
      compiler::Graph& graph = *functions.back().graph;
      if (one_model)
        functions.back().stored.push_back(
            {"weight", true, graph.add_constant({DType::f32, {1}, {}}, {}, "", "weight")});
    }
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets(backend, settings);
    auto compiled = compiler::compile(std::move(functions), options);
    EXPECT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    if (!compiled.ok()) return {};
    *result = std::move(*compiled);
    return result->program.pte.join();
  }

  void compile_state(const std::vector<std::string>& texts, const std::string& backend = "cuda",
                     bool one_model = true) {
    ++twins_;
    program_ = compile_methods(texts, backend, {{"gpu", "none"}, {"twin", twin()}}, &result_, one_model);
    CompileResult ignored;
    portable_ = compile_methods(texts, "portable", {}, &ignored, one_model);
  }

  std::unique_ptr<wick::Module> open(const std::vector<uint8_t>& program, const std::string& device) const {
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&cuda_backend()};
    options.device = device;
    ModuleError error;
    auto module = wick::Module::load({program.data(), program.size()}, options, &error);
    EXPECT_TRUE(module) << error.message;
    return module;
  }
  std::unique_ptr<wick::Module> on_twin() const { return open(program_, "cuda-twin=" + twin()); }

  static std::vector<HostValue> outputs(wick::Module& module, const Call& call) {
    std::vector<HostValue> out;
    ModuleError error;
    EXPECT_TRUE(module.execute(call.first, call.second, &out, &error)) << error.message;
    return out;
  }

  // Compares with the portable kernels, bit by bit.
  void expect_like_portable_after(const std::vector<Call>& calls) {
    const auto want = open(portable_, ""), got = on_twin();
    ASSERT_TRUE(want && got);
    for (size_t i = 0; i < calls.size(); ++i) {
      const auto a = outputs(*got, calls[i]), b = outputs(*want, calls[i]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t k = 0; k < a.size(); ++k)
        EXPECT_EQ(a[k].tensor.bytes, b[k].tensor.bytes) << calls[i].first << ", call " << i << ", output " << k;
    }
  }

  Plan plan_of(size_t method, size_t delegate = 0) const {
    Plan plan;
    const auto& payload = result_.method_plans[method].delegates[delegate]->payload;
    EXPECT_EQ(read_plan({payload.data(), payload.size()}, &plan, nullptr), Error::Ok);
    return plan;
  }
  static uint64_t written_bytes(const Plan& plan) {
    uint64_t bytes = 0;
    for (const PlanNode& node : plan.nodes) bytes += node.written_bytes;
    return bytes;
  }
  static std::vector<std::string> states_of(const Plan& plan) {
    std::vector<std::string> names;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.space == Space::state) names.push_back(buffer.state);
    }
    return names;
  }
  std::string reason_outside(size_t method, const std::string& buffer) const {
    for (const compiler::BufferPlace& place : result_.methods[method].buffers) {
      if (place.name == buffer) return place.backend.empty() ? place.reason : "held";
    }
    return "no such buffer";
  }

  std::vector<uint8_t> portable_;
};

}  // namespace wick::cuda
