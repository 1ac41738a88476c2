// Programs that run on a device or on their twin. Tests only.
//
//   WICK_CUDA_DEVICE=cuda:0   the device; without it, tests that need one say "skipped"
//   WICK_CUDA_GPU=sm_90       targets of the device code, as --gpu takes them; all by default
#pragma once
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/runtime/device.h"
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {

enum class Place : uint8_t { twin, device };
inline std::string place_name(const ::testing::TestParamInfo<Place>& info) {
  return info.param == Place::twin ? "OnTheTwin" : "OnADevice";
}

inline const char* device_of_environment() {
  return std::getenv("WICK_CUDA_DEVICE");  // NOLINT(concurrency-mt-unsafe)
}

/// A compiled program, and the device that it runs on.
struct DeviceProgram {
  std::string device;  // "cuda:0", "cuda-twin=FILE"
  std::vector<uint8_t> bytes;
  std::vector<Plan> plans;  // of all delegates
};

inline std::vector<compiler::Function> functions_of(const std::vector<std::string>& texts) {
  std::vector<compiler::Function> functions;
  for (const std::string& text : texts) {
    auto function = compiler::parse_graph(text);
    EXPECT_TRUE(function.ok()) << compiler::render(function.diag());
    if (function.ok()) functions.push_back(std::move(*function));
  }
  return functions;
}

/// `gpu`: targets; "": those of the environment.
inline DeviceProgram compile_for(Place place, std::vector<compiler::Function> functions, const std::string& gpu = "") {
  DeviceProgram program;
  compiler::TargetSettings settings;
  if (place == Place::twin) {
    static const testing::ScratchFolder folder;
    static size_t twins = 0;  // opened libraries stay open, so each needs another name
    const std::string library = folder.file(fmt::format("twin{}.so", twins++));
    program.device = "cuda-twin=" + library;
    settings = {{"gpu", "none"}, {"twin", library}};
  } else {
    program.device = device_of_environment();
    const char* const chosen = std::getenv("WICK_CUDA_GPU");  // NOLINT(concurrency-mt-unsafe)
    if (!gpu.empty() || chosen) settings = {{"gpu", gpu.empty() ? chosen : gpu}};
  }
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cuda", settings);
  options.caller_io = true;
  options.share_state.rule = compiler::StateSharing::Rule::all;
  auto compiled = compiler::compile(std::move(functions), options);
  EXPECT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
  if (!compiled.ok()) return program;
  for (const auto& method : compiled->method_plans) {
    for (const auto& delegate : method.delegates) {
      program.plans.emplace_back();
      EXPECT_EQ(read_plan({delegate->payload.data(), delegate->payload.size()}, &program.plans.back(), nullptr),
                Error::Ok);
    }
  }
  program.bytes = compiled->program.pte.join();
  return program;
}

inline std::vector<uint8_t> compile_portable(const std::vector<std::string>& texts) {
  compiler::CompileOptions options;
  options.share_state.rule = compiler::StateSharing::Rule::all;
  auto compiled = compiler::compile(functions_of(texts), options);
  EXPECT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
  return compiled.ok() ? compiled->program.pte.join() : std::vector<uint8_t>();
}

/// Null, with the reason, if loading fails. `device`: "" for the portable kernels.
inline std::unique_ptr<wick::Module> load(const std::vector<uint8_t>& bytes, const std::string& device,
                                          ModuleError* error, uint64_t seed = 0, const Tracer* tracer = nullptr) {
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&cuda_backend()};
  options.device = device;
  options.seed = seed;
  options.tracer = tracer;
  return wick::Module::load({bytes.data(), bytes.size()}, options, error);
}
inline std::unique_ptr<wick::Module> open(const DeviceProgram& program, uint64_t seed = 0) {
  ModuleError error;
  auto module = load(program.bytes, program.device, &error, seed);
  EXPECT_TRUE(module) << error.message;
  return module;
}

inline std::vector<HostValue> results_of(wick::Module& module, const std::string& method,
                                         const std::vector<HostValue>& inputs) {
  std::vector<HostValue> out;
  ModuleError error;
  EXPECT_TRUE(module.execute(method, inputs, &out, &error)) << error.message;
  return out;
}
/// The first output; without elements if the call has failed.
inline HostTensor result_of(wick::Module& module, const std::string& method, const std::vector<HostValue>& inputs) {
  const auto results = results_of(module, method, inputs);
  return results.empty() ? HostTensor() : results[0].tensor;
}
inline void expect_same(const std::vector<HostValue>& got, const std::vector<HostValue>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].tensor.sizes, want[i].tensor.sizes);
    EXPECT_TRUE(got[i].tensor.bytes == want[i].tensor.bytes) << "result " << i;
  }
}

/// Tests that run in both places.
class CudaDevice : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (!is_device()) return;
    if (!device_of_environment()) GTEST_SKIP() << "no device: WICK_CUDA_DEVICE names none";
    char buffer[400];
    ErrorText why(buffer);
    ASSERT_TRUE(is_cuda_available(device_of_environment(), &why)) << why.c_str();
  }
  static bool is_device() { return GetParam() == Place::device; }
  /// Methods are named like their graphs.
  static DeviceProgram compile(const std::vector<std::string>& texts) {
    return compile_for(GetParam(), functions_of(texts));
  }
};

/// A tensor in memory of the device.
struct DeviceTensor {
  DType dtype = DType::f32;
  std::vector<int32_t> sizes;
  void* data = nullptr;
};

/// A program that uses the driver's own interface: memory of the device and of the host, and a stream.
class Caller {
 public:
  /// If `has_stream` is false, uses the context's default stream.
  explicit Caller(const DeviceProgram& program, bool has_stream = true, unsigned flags = kStreamNonBlocking) {
    Failure failure;
    device_ = Device::open(device_or_default(program.device.c_str()), &failure);
    EXPECT_TRUE(device_) << failure.text;
    const ContextScope current(*device_);
    if (has_stream) ok(driver().stream_create(&stream_, flags));
  }
  ~Caller() {
    const ContextScope current(*device_);
    wait();
    for (void* each : host_) ok(driver().host_free(each));
    for (const DevicePtr each : memory_) ok(driver().memory_free(each));
    if (stream_) ok(driver().stream_destroy(stream_));
  }
  Caller(const Caller&) = delete;

  Device& device() { return *device_; }
  void* stream() const { return stream_; }
  void* allocate(size_t size_bytes) {
    const ContextScope current(*device_);
    DevicePtr address = 0;
    ok(driver().memory_allocate(&address, size_bytes));
    memory_.push_back(address);
    return reinterpret_cast<void*>(address);
  }
  /// Pinned memory, which the device accesses directly.
  void* allocate_on_host(size_t size_bytes) {
    const ContextScope current(*device_);
    void* address = nullptr;
    ok(driver().host_allocate(&address, size_bytes));
    host_.push_back(address);
    return address;
  }
  /// Memory that holds `values` once the stream has copied them. Does not wait.
  template <typename T>
  void* place(const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    void *const from = allocate_on_host(bytes), *const to = allocate(bytes);
    std::memcpy(from, values.data(), bytes);
    copy_to_device(to, from, bytes);
    return to;
  }
  void copy_to_device(void* to, const void* from, size_t size_bytes) {
    const ContextScope current(*device_);
    ok(driver().copy_to_device(reinterpret_cast<uintptr_t>(to), from, size_bytes, stream_));
  }
  /// Reads memory of the device. Waits for the stream.
  template <typename T>
  std::vector<T> read(const void* from, size_t count) {
    std::vector<T> values(count);
    const ContextScope current(*device_);
    ok(driver().copy_to_host(values.data(), reinterpret_cast<uintptr_t>(from), count * sizeof(T), stream_));
    ok(driver().stream_wait(stream_));
    return values;
  }
  void wait() {
    const ContextScope current(*device_);
    ok(driver().stream_wait(stream_));
  }
  size_t free_bytes() {
    const ContextScope current(*device_);
    size_t free = 0, total = 0;
    ok(driver().memory_info(&free, &total));
    return free;
  }
  const Driver& driver() const { return device_->driver(); }

 private:
  void ok(DriverStatus status) { EXPECT_EQ(status, kSuccess) << driver().text_of(status); }

  std::shared_ptr<Device> device_;
  DriverStream* stream_ = nullptr;
  std::vector<DevicePtr> memory_;
  std::vector<void*> host_;
};

inline Error set_input(Method& method, size_t index, const DeviceTensor& input) {
  std::vector<int32_t> strides(input.sizes.size(), 1);
  std::vector<uint8_t> order;
  size_t count = 1;
  for (size_t i = input.sizes.size(); i-- > 0;) {
    strides[i] = static_cast<int32_t>(count);
    count *= static_cast<size_t>(input.sizes[i]);
    order.insert(order.begin(), static_cast<uint8_t>(i));
  }
  std::vector<int32_t> sizes = input.sizes;
  Tensor tensor;
  tensor.dtype = input.dtype;
  tensor.rank = static_cast<uint8_t>(sizes.size());
  tensor.sizes = sizes.data();
  tensor.strides = strides.data();
  tensor.dim_order = order.data();
  tensor.data = input.data;
  tensor.numel = count;
  tensor.capacity_bytes = count * dtype_size_bytes(input.dtype);
  return method.set_input(index, tensor);
}

/// Starts a call on the stream of a CudaStreamScope. `outputs`: memory of each output, with its size in bytes.
inline Error begin(Method& method, const std::vector<DeviceTensor>& inputs,
                   const std::vector<std::pair<void*, size_t>>& outputs) {
  Error error = Error::Ok;
  for (size_t i = 0; error == Error::Ok && i < inputs.size(); ++i) error = set_input(method, i, inputs[i]);
  for (size_t i = 0; error == Error::Ok && i < outputs.size(); ++i)
    error = method.set_output_memory(i, outputs[i].first, outputs[i].second);
  return error == Error::Ok ? method.execute() : error;
}

}  // namespace wick::cuda
