#include "tests/cortex_m/quantized_fixtures.h"

#include <gtest/gtest.h>

#include "compiler/support/diag.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/interop/fixture_files.h"
#include "wick/backends.h"

namespace wick::cortex_m {
namespace {

const std::filesystem::path kPrograms = "tests/fixtures/cortex_m_quantized", kStock = "tests/fixtures/cortex_m";

HostValue value_of(const cli::NamedArray& array) {
  return HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes};
}

void add_stock_arrays(const std::string& name, QuantizedProgram* program) {
  const std::vector<interop::FixtureCall> calls = interop::fixture_calls(kStock, name + ".mve");
  if (calls.size() != 1) {
    ADD_FAILURE() << name << " has neither inputs of its own nor a program by stock's flow";
    return;
  }
  program->has_stock = true;
  for (const cli::NamedArray& array : calls[0].inputs) program->inputs.push_back(value_of(array));
  for (size_t i = 0;; ++i) {
    const cli::NamedArray* eager = interop::find_array(calls[0].outputs, "eager" + std::to_string(i));
    if (!eager) break;
    program->eager.push_back(value_of(*eager));
  }
}

}  // namespace

std::vector<std::string> quantized_program_names() {
  std::vector<std::string> names = interop::program_names(kPrograms, ".gz");
  for (std::string& name : names) name = std::filesystem::path(name).stem().string();
  return names;
}

bool has_stock_program(const std::string& name) { return std::filesystem::exists(kStock / (name + ".mve.pte")); }

std::optional<QuantizedProgram> quantized_program(const std::string& name) {
  auto fixture = testing::expand_fixture((kPrograms / (name + ".wfix.gz")).string());
  if (!fixture.ok()) {
    ADD_FAILURE() << compiler::render(fixture.diag());
    return {};
  }
  QuantizedProgram program;
  program.pt2 = std::move(fixture->pt2);
  if (fixture->steps.empty()) {
    add_stock_arrays(name, &program);
    return program;
  }
  for (const cli::NamedArray& array : fixture->steps[0].inputs) program.inputs.push_back(value_of(array));
  for (const testing::SampledArray& output : fixture->steps[0].outputs) {
    EXPECT_EQ(output.every, 1) << "an output of more than 4096 elements is not whole";
    program.eager.push_back(value_of(output.array));
  }
  return program;
}

std::optional<uint64_t> stock_memory_bytes(const std::string& name, const std::string& isa) {
  const std::filesystem::path path = kStock / (name + "." + isa + ".pte");
  if (!std::filesystem::exists(path)) return {};
  ModuleOptions options;
  for (const KernelTable& table : all_kernels()) options.kernels.push_back(table);
  ModuleError error;
  const auto module = Module::load(path.string(), options, &error);
  if (!module) {
    ADD_FAILURE() << error.message;
    return {};
  }
  return memory_bytes(*module->program().find_method("forward"));
}

std::vector<HostValue> run_stock_program(const std::string& name, const std::vector<HostValue>& inputs) {
  ModuleOptions options;
  for (const KernelTable& table : all_kernels()) options.kernels.push_back(table);
  ModuleError error;
  std::vector<HostValue> outputs;
  const auto module = Module::load((kStock / (name + ".mve.pte")).string(), options, &error);
  if (!module || !module->forward(inputs, &outputs, &error)) ADD_FAILURE() << error.message;
  return outputs;
}

}  // namespace wick::cortex_m
