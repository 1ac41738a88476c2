#include "wick/module.h"

#include <gtest/gtest.h>
#include <string.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "runtime/exec/method_harness.h"
#include "runtime/platform/cores.h"

namespace wick {
namespace {

HostTensor tensor_of(std::vector<int32_t> sizes, std::vector<float> values) {
  HostTensor tensor{DType::f32, std::move(sizes), {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::vector<float> floats_of(const HostValue& value) {
  std::vector<float> values(value.tensor.bytes.size() / sizeof(float));
  memcpy(values.data(), value.tensor.bytes.data(), value.tensor.bytes.size());
  return values;
}

std::unique_ptr<Module> load(TestProgram& program, ModuleError* error, int num_threads = 1) {
  ModuleOptions options;
  options.kernels = {KernelTable(kTestKernels)};
  options.num_threads = num_threads;
  return Module::load(program.build().span(), options, error);
}

TEST(Module, RunsAProgramThatExecuTorchWrote) {
  ModuleOptions options;
  options.kernels = {KernelTable(kTestKernels)};
  ModuleError error;
  const auto module = Module::load("tests/fixtures/stock/1.5/add.pte", options, &error);
  ASSERT_TRUE(module) << error.message;
  const MethodMeta meta = module->program().method(0);
  ASSERT_EQ(meta.num_inputs(), 2u);
  std::vector<HostValue> inputs;
  for (size_t i = 0; i < 2; ++i) {
    const TensorMeta wanted = meta.input_value(i).tensor;
    std::vector<float> values(wanted.numel);
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k + 1) * (i == 0 ? 1.0f : 10.0f);
    inputs.push_back(tensor_of({wanted.sizes.begin(), wanted.sizes.end()}, values));
  }
  std::vector<HostValue> outputs;
  ASSERT_TRUE(module->forward(inputs, &outputs, &error)) << error.message;
  ASSERT_EQ(outputs.size(), 1u);
  const std::vector<float> sum = floats_of(outputs[0]);
  for (size_t k = 0; k < sum.size(); ++k) EXPECT_EQ(sum[k], static_cast<float>(k + 1) * 11.0f);
}

TEST(Module, GivesNoMoreMemoryThanAllowed) {
  ModuleOptions options;
  options.kernels = {KernelTable(kTestKernels)};
  options.max_memory_bytes = 16;
  ModuleError error;
  const auto module = Module::load("tests/fixtures/stock/1.5/add.pte", options, &error);
  ASSERT_TRUE(module) << error.message;
  EXPECT_EQ(module->method("forward", &error), nullptr);
  EXPECT_EQ(error.code, Error::MemoryAllocationFailed);
  EXPECT_NE(error.message.find("more than max_memory_bytes = 16"), std::string::npos) << error.message;
}

/// Records how it is loaded.
struct SeenByBackend {
  int num_threads = 0;
  uint64_t budget = 0;
  bool took_all = false, took_more = false;
  std::string device;
  const void* session = nullptr;
  bool allows_device_code = true;
  static SeenByBackend& get() {
    static SeenByBackend seen;
    return seen;
  }
};
constexpr Backend kSeeing = {"Seeing",
                             [](BackendInit& context, Span<const uint8_t>, void**) {
                               SeenByBackend& seen = SeenByBackend::get();
                               seen.num_threads = context.parallelism() ? context.parallelism()->num_threads() : 1;
                               seen.budget = context.heap_budget();
                               seen.took_all = context.take_heap(seen.budget);
                               seen.took_more = context.take_heap(1);
                               seen.device = context.device();
                               seen.session = context.session();
                               seen.allows_device_code = context.allows_device_code();
                               return Error::Ok;
                             },
                             [](KernelContext&, void*, Span<EValue*>) {}, nullptr};

TEST(Module, TellsBackendsWhatThreadsAndMemoryAreLeft) {
  TestProgram program;
  program.inputs = {program.planned(DType::f32, {4})};
  program.outputs = program.inputs;
  program.delegate_call(program.delegate("Seeing", {1}), program.inputs);
  const auto file = program.build();
  ModuleOptions options;
  options.backends = {&kSeeing};
  options.num_threads = 0;
  options.max_memory_bytes = 1000;
  ModuleError error;
  const auto module = Module::load(file.span(), options, &error);
  ASSERT_TRUE(module) << error.message;
  const uint64_t own = memory_bytes(module->program().method(0));
  ASSERT_NE(module->method("forward", &error), nullptr) << error.message;
  const SeenByBackend& seen = SeenByBackend::get();
  EXPECT_EQ(seen.num_threads, usable_cores());
  EXPECT_EQ(seen.budget, 1000 - own);
  EXPECT_TRUE(seen.took_all);
  EXPECT_FALSE(seen.took_more);
}

TEST(Module, TellsBackendsWhichDeviceAndSessionTheyServe) {
  TestProgram program;
  program.inputs = {program.planned(DType::f32, {4})};
  program.outputs = program.inputs;
  program.delegate_call(program.delegate("Seeing", {1}), program.inputs);
  const auto file = program.build();
  const SeenByBackend& seen = SeenByBackend::get();
  ModuleOptions options;
  options.backends = {&kSeeing};
  ModuleError error;
  const auto first = Module::load(file.span(), options, &error);
  ASSERT_NE(first->method("forward", &error), nullptr) << error.message;
  const void* session = seen.session;
  EXPECT_NE(session, nullptr);
  EXPECT_EQ(seen.device, "");
  EXPECT_TRUE(seen.allows_device_code);
  options.device = "toy:1";
  options.allow_device_code = false;
  const auto second = Module::load(file.span(), options, &error);
  ASSERT_NE(second->method("forward", &error), nullptr) << error.message;
  EXPECT_NE(seen.session, session);
  EXPECT_EQ(seen.device, "toy:1");
  EXPECT_FALSE(seen.allows_device_code);
}

TEST(Module, KeepsStateBetweenCalls) {
  TestProgram program;
  const int32_t x = program.planned(DType::f32, {2});
  const int32_t state = program.planned(DType::f32, {2});
  const int32_t one = program.integer(1);
  program.call(program.op("aten::add", "out"), {state, x, one, state, state});
  program.inputs = {x};
  program.outputs = {state, one};
  ModuleError error;
  const auto module = load(program, &error, 2);
  ASSERT_TRUE(module) << error.message;
  std::vector<HostValue> outputs;
  for (float run = 1; run <= 3; ++run) {
    ASSERT_TRUE(module->forward({tensor_of({2}, {1, 2})}, &outputs, &error)) << error.message;
    // The state starts as zeros.
    EXPECT_EQ(floats_of(outputs[0]), (std::vector<float>{run, 2 * run}));
    EXPECT_EQ(outputs[1].integer, 1);
  }
}

TEST(Module, ConvertsDimOrdersAtTheBorder) {
  TestProgram program;
  const TestTensor unplanned = {.sizes = {2, 3}, .dim_order = {1, 0}};
  const int32_t x = program.tensor(unplanned);
  const int32_t one = program.integer(1);
  const int32_t out = program.tensor(unplanned);
  program.call(program.op("aten::add", "out"), {x, x, one, out, out});
  program.inputs = {x};
  program.outputs = {out};
  ModuleError error;
  const auto module = load(program, &error);
  ASSERT_TRUE(module) << error.message;
  std::vector<HostValue> outputs;
  ASSERT_TRUE(module->forward({tensor_of({2, 3}, {1, 2, 3, 4, 5, 6})}, &outputs, &error)) << error.message;
  EXPECT_EQ(floats_of(outputs[0]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  const Tensor& inside = *module->method("forward", &error)->output(0).tensor;
  EXPECT_EQ(inside.as<float>()[1], 8);
}

TEST(Module, SaysWhatItFoundAndWanted) {
  TestProgram program;
  program.inputs = {program.planned(DType::f32, {2, 3})};
  ModuleError error;
  const auto module = load(program, &error);
  ASSERT_TRUE(module) << error.message;
  std::vector<HostValue> outputs;
  EXPECT_FALSE(module->forward({}, &outputs, &error));
  EXPECT_EQ(error.message, "method forward takes 1 inputs, 0 are given");
  EXPECT_FALSE(module->forward({tensor_of({3, 2}, std::vector<float>(6))}, &outputs, &error));
  EXPECT_EQ(error.message,
            "input 0: input has a different shape than the fixed one [NotSupported]: found f32[3,2], wanted f32[2,3]");
  EXPECT_FALSE(module->forward({tensor_of({2, 3}, std::vector<float>(5))}, &outputs, &error));
  EXPECT_EQ(error.message, "input 0: found f32[2,3] of 20 bytes, wanted f32[2,3]");
  EXPECT_FALSE(module->forward({HostValue::of_int(3)}, &outputs, &error));
  EXPECT_EQ(error.message, "input 0: input has a different type [InvalidArgument]");
  EXPECT_FALSE(module->execute("backward", {}, &outputs, &error));
  EXPECT_EQ(error.message, "the program has no method backward");
  EXPECT_EQ(Module::load("tests/none.pte", {}, &error), nullptr);
  EXPECT_EQ(error.message, "tests/none.pte: No such file or directory");
  EXPECT_EQ(error.code, Error::AccessFailed);
}

constexpr Backend kRefusing = {"Refusing",
                               [](BackendInit&, Span<const uint8_t>, void**) { return Error::NotSupported; },
                               [](KernelContext&, void*, Span<EValue*>) {}, nullptr};
constexpr Backend kFailing = {
    "Failing", [](BackendInit&, Span<const uint8_t>, void**) { return Error::Ok; },
    [](KernelContext& context, void*, Span<EValue*>) { context.fail(Error::InvalidArgument, "no"); }, nullptr};

/// The kind of error with which calling `forward` of the program without inputs ends.
ErrorKind kind_of_call(const std::function<void(TestProgram&)>& fill, uint64_t max_memory_bytes = 1 << 20) {
  TestProgram program;
  fill(program);
  ModuleOptions options;
  options.kernels = {KernelTable(kTestKernels)};
  options.backends = {&kRefusing, &kFailing};
  options.max_memory_bytes = max_memory_bytes;
  ModuleError error;
  const auto module = Module::load(program.build().span(), options, &error);
  std::vector<HostValue> outputs;
  if (module) (void)module->forward({}, &outputs, &error);
  return error.kind;
}

TEST(Module, SaysWhatIsAtFault) {
  const auto calls_backend = [](const char* id) {
    return [id](TestProgram& program) {
      const int32_t x = program.planned(DType::f32, {2});
      program.delegate_call(program.delegate(id, {1}), {x});
    };
  };
  EXPECT_EQ(kind_of_call([](TestProgram&) {}), ErrorKind::none);
  EXPECT_EQ(kind_of_call([](TestProgram& program) { program.op("aten::foo", "out"); }), ErrorKind::missing_operator);
  EXPECT_EQ(kind_of_call(calls_backend("Nobody")), ErrorKind::missing_backend);
  EXPECT_EQ(kind_of_call(calls_backend("Refusing")), ErrorKind::delegate_failed);
  EXPECT_EQ(kind_of_call(calls_backend("Failing")), ErrorKind::delegate_failed);
  EXPECT_EQ(kind_of_call([](TestProgram& program) { program.tensor({.sizes = {1}, .external = true, .name = "w"}); }),
            ErrorKind::missing_data);
  EXPECT_EQ(kind_of_call([](TestProgram& program) { program.planned(DType::f32, {64}); }, 16),
            ErrorKind::out_of_memory);
  EXPECT_EQ(kind_of_call([](TestProgram& program) { program.inputs = {program.integer(1)}; }),
            ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of_call([](TestProgram& program) { program.jump_false(program.integer(0), 0); }),
            ErrorKind::execution_failed);
  EXPECT_EQ(kind_of_call([](TestProgram& program) {
              program.arena_sizes = {0, 16};
              program.tensor({.sizes = {100}, .memory_id = 1});
            }),
            ErrorKind::corrupt_file)
      << "its tensor exceeds its arena: more memory would not help";
  ModuleError error;
  EXPECT_EQ(Module::load("tests/none.pte", {}, &error), nullptr);
  EXPECT_EQ(error.kind, ErrorKind::unreadable_file);
}

/// A device that hands out host memory and records where arguments lie.
struct ToyDevice {
  std::vector<uint8_t> memory;
  std::vector<bool> is_inside;  // arguments of all calls
  int num_arenas = 0;
  static ToyDevice& get() {
    static ToyDevice device;
    return device;
  }
};
constexpr Backend kOnDevice = {
    "OnDevice",
    [](BackendInit&, Span<const uint8_t>, void**) { return Error::Ok; },
    [](KernelContext&, void*, Span<EValue*> args) {
      ToyDevice& device = ToyDevice::get();
      for (const EValue* arg : args) {
        const auto* data = static_cast<const uint8_t*>(arg->tensor->data);
        device.is_inside.push_back(data >= device.memory.data() && data < device.memory.data() + device.memory.size());
      }
    },
    nullptr,
    1,
    [](const DelegateOptions& options, uint64_t size_bytes, ErrorText* text, DeviceMemory* memory) {
      if (strcmp(options.device, "toy:full") == 0) {
        text->append("toy:full has no memory");
        return Error::DelegateMemoryAllocationFailed;
      }
      ToyDevice& device = ToyDevice::get();
      device.memory.assign(size_bytes + 16, 7);
      ++device.num_arenas;
      uint8_t* data = device.memory.data();
      *memory = {data + (16 - reinterpret_cast<uintptr_t>(data) % 16) % 16, size_bytes, &device};
      return Error::Ok;
    },
    [](void* owner) { --static_cast<ToyDevice*>(owner)->num_arenas; }};

/// Calls a program that has the value `on_device` in an arena on a device, and `on_host`; `fill` does the rest.
ModuleError error_of_device_program(const std::function<void(TestProgram&, int32_t on_host, int32_t on_device)>& fill,
                                    const std::string& device = "", const Backend* other = &kFailing) {
  TestProgram program;
  const int32_t on_host = program.planned(DType::f32, {4});
  program.arena_sizes.push_back(16);
  program.device_arenas = {2};
  fill(program, on_host, program.tensor({.sizes = {4}, .memory_id = 2}));
  ModuleOptions options;
  options.kernels = {KernelTable(kTestKernels)};
  options.backends = {other, &kOnDevice};
  options.device = device;
  ModuleError error;
  const auto module = Module::load(program.build().span(), options, &error);
  std::vector<HostValue> outputs;
  ToyDevice::get().is_inside.clear();
  if (module) (void)module->forward({}, &outputs, &error);
  EXPECT_LE(ToyDevice::get().num_arenas, 1);
  return error;
}

TEST(Module, DelegatesHandValuesOnInMemoryOfTheirDevice) {
  const auto two_calls = [](TestProgram& program, int32_t on_host, int32_t on_device) {
    program.delegate_call(program.delegate("OnDevice", {1}), {on_host, on_device});
    program.delegate_call(program.delegate("OnDevice", {1}), {on_device, on_host});
  };
  EXPECT_EQ(error_of_device_program(two_calls).kind, ErrorKind::none);
  EXPECT_EQ(ToyDevice::get().is_inside, (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(ToyDevice::get().num_arenas, 0);
  const ModuleError full = error_of_device_program(two_calls, "toy:full");
  EXPECT_EQ(full.kind, ErrorKind::out_of_memory);
  EXPECT_EQ(full.message, "method forward: toy:full has no memory");
}

TEST(Module, MemoryOfADeviceIsNoneOfTheHost) {
  TestProgram program;
  const int32_t on_host = program.planned(DType::f32, {4});
  program.arena_sizes.push_back(1 << 20);
  program.device_arenas = {2};
  program.delegate_call(program.delegate("OnDevice", {1}), {on_host, program.tensor({.sizes = {4}, .memory_id = 2})});
  const auto file = program.build();
  ModuleOptions options;
  options.backends = {&kOnDevice};
  options.max_memory_bytes = 1000;
  ModuleError error;
  const auto module = Module::load(file.span(), options, &error);
  ASSERT_TRUE(module) << error.message;
  const MethodMeta method = module->program().method(0);
  EXPECT_EQ(memory_bytes(method), memory_bytes(method, {options.backends.data(), 1}) + (1 << 20));
  EXPECT_NE(module->method("forward", &error), nullptr) << error.message;
  options.backends.clear();
  const auto without = Module::load(file.span(), options, &error);
  ASSERT_TRUE(without) << error.message;
  EXPECT_EQ(without->method("forward", &error), nullptr);
  EXPECT_EQ(error.kind, ErrorKind::out_of_memory) << error.message;
}

TEST(Module, NobodyButItsDelegatesTouchesADevice) {
  const auto message = [](const std::function<void(TestProgram&, int32_t, int32_t)>& fill) {
    const ModuleError error = error_of_device_program(fill);
    EXPECT_EQ(error.kind, ErrorKind::corrupt_file) << error.message;
    return error.message;
  };
  const std::string begin = "method forward: value 1 lies on a device and ";
  EXPECT_EQ(message([](TestProgram& program, int32_t, int32_t value) { program.inputs = {value}; }),
            begin + "is an input");
  EXPECT_EQ(message([](TestProgram& program, int32_t, int32_t value) { program.outputs = {value}; }),
            begin + "is an output");
  EXPECT_EQ(message([](TestProgram& program, int32_t, int32_t value) { (void)program.tensor_list({value}); }),
            begin + "is in a list");
  EXPECT_EQ(
      message([](TestProgram& program, int32_t, int32_t value) { (void)program.optional_tensor_list({-1, value}); }),
      begin + "is in a list");
  EXPECT_EQ(message([](TestProgram& program, int32_t host, int32_t value) {
              program.call(program.op("aten::add", "out"), {host, value, host, host, host});
            }),
            begin + "is an argument of a kernel");
  EXPECT_EQ(message([](TestProgram& program, int32_t, int32_t value) {
              program.delegate_call(program.delegate("Failing", {1}), {value});
            }),
            begin + "is an argument of another backend's delegate");
  EXPECT_EQ(message([](TestProgram& program, int32_t host, int32_t value) { program.move(host, value); }),
            begin + "is moved to");
  EXPECT_EQ(message([](TestProgram& program, int32_t host, int32_t value) { program.move(value, host); }),
            begin + "is moved");
  EXPECT_EQ(message([](TestProgram& program, int32_t, int32_t value) { program.jump_false(value, 0); }),
            begin + "is a condition");
  const float initial[4] = {};
  EXPECT_EQ(message([&](TestProgram& program, int32_t, int32_t) {
              const uint32_t data = program.add_mutable(initial, sizeof initial);
              (void)program.tensor({.sizes = {4}, .memory_id = 2, .data_index = data});
            }),
            "method forward: value 2 lies on a device and has an initial value");
}

TEST(Module, RefusesArenasThatTheMachineDoesNotHave) {
  TestProgram program;
  program.arena_sizes = {0, int64_t{1} << 60};
  ModuleOptions options;
  options.kernels = {KernelTable(kTestKernels)};
  options.max_memory_bytes = UINT64_MAX;
  ModuleError error;
  const auto module = Module::load(program.build().span(), options, &error);
  ASSERT_TRUE(module) << error.message;
  EXPECT_EQ(module->method("forward", &error), nullptr);
  EXPECT_EQ(error.code, Error::MemoryAllocationFailed);
  EXPECT_EQ(error.message, "no memory for arena 0 of 1152921504606846976 bytes");
}

}  // namespace
}  // namespace wick
