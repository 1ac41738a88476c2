// Small delegates on the stand-in for the driver. Tests only.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/payload/plan_test_support.h"
#include "runtime/exec/method_harness.h"
#include "wick/cuda_backend.h"

namespace wick::cuda {

using Floats = std::vector<float>;

template <typename T>
std::string data_of(const std::vector<T>& items) {
  return {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)};
}

/// A library in place of the driver. Each path is a separate driver.
class TestDriver {
 public:
  explicit TestDriver(std::string path = WICK_CUDA_TEST_DRIVER) : path_(std::move(path)) {
    library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    function<void()>("wick_twin_reset")();
  }
  ~TestDriver() {
    function<void()>("wick_twin_reset")();
    dlclose(library_);
  }
  TestDriver(const TestDriver&) = delete;

  std::string device() const { return "cuda-twin=" + path_; }
  void set(const char* name, int64_t value) const {
    function<void(const char*, int64_t)>("wick_twin_set")(name, value);
  }
  uint64_t count(const char* name) const { return function<uint64_t(const char*)>("wick_twin_count")(name); }
  template <typename F>
  F* function(const char* name) const {
    void* found = dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<F*>(found);
  }

 private:
  std::string path_;
  void* library_;
};

/// A fresh copy of the library, which has not been initialized.
inline std::string fresh_driver(const std::string& name) {
  const std::string path = ::testing::TempDir() + "cuda_test_driver_" + name + ".so";
  std::filesystem::copy_file(WICK_CUDA_TEST_DRIVER, path, std::filesystem::copy_options::overwrite_existing);
  return path;
}

/// The smallest cubin that is accepted: only a header. The stand-in does not need its kernels.
inline std::string cubin_for(uint8_t architecture) {
  std::string bytes(64, '\0');
  const uint8_t head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  memcpy(bytes.data(), head, sizeof head);
  bytes[18] = static_cast<char>(190);
  bytes[49] = static_cast<char>(architecture);
  return bytes;
}

/// A plan, and the data that it refers to.
struct TestDelegate : PlanBuilder {
  std::vector<std::pair<std::string, std::string>> named;
  std::string id = kBackendId;

  TestDelegate() {
    plan.method = "forward";
    plan.driver_version = 12040;
    plan.modules = {{90, false, "code"}};
    named.emplace_back("code", cubin_for(90));
  }
  uint32_t weight(const std::string& key, const Floats& values) {
    named.emplace_back(key, data_of(values));
    return constant_buffer(key, values.size() * sizeof(float));
  }

  /// A program whose method is the delegate. Arguments have their upper bounds, in planned memory or the caller's.
  schema::AlignedBytes program(bool planned = true) const {
    schema::TestProgram program;
    add_to(program, planned);
    return program.build();
  }
  void add_to(schema::TestProgram& program, bool planned = true) const {
    for (const auto& [key, bytes] : named) program.add_named_data(key.c_str(), bytes);
    std::vector<int32_t> arguments;
    for (const Interface& tensor : plan.inputs) program.inputs.push_back(value(program, tensor, planned));
    for (const Interface& tensor : plan.outputs) program.outputs.push_back(value(program, tensor, planned));
    arguments = program.inputs;
    arguments.insert(arguments.end(), program.outputs.begin(), program.outputs.end());
    program.delegate_call(program.delegate(id.c_str(), write_plan(plan)), arguments);
  }

 private:
  int32_t value(schema::TestProgram& program, const Interface& tensor, bool planned) const {
    schema::TestTensor made{.dtype = tensor.dtype, .dim_order = tensor.dim_order};
    int64_t bytes = static_cast<int64_t>(dtype_size_bytes(tensor.dtype));
    for (const uint32_t size : tensor.sizes) {
      FormulaRange range;
      (void)range_of(plan.formulas[size], {plan.symbols.data(), plan.symbols.size()}, &range);
      made.sizes.push_back(static_cast<int32_t>(range.high));
      bytes *= range.high;
      if (range.low != range.high) made.dynamism = pte::ShapeDynamism::DYNAMIC_BOUND;
    }
    if (!planned) return program.tensor(made);
    if (program.arena_sizes.size() < 2) program.arena_sizes.push_back(0);
    made.memory_id = 1;
    made.memory_offset = static_cast<uint64_t>(program.arena_sizes[1]);
    program.arena_sizes[1] += (bytes + 15) / 16 * 16;
    return program.tensor(made);
  }
};

/// A loaded delegate.
class TestRun {
 public:
  TestRun(const TestDelegate& delegate, const TestDriver& driver, bool planned = true)
      : device_(driver.device()), harness_(std::make_unique<MethodHarness>(delegate.program(planned))) {
    harness_->backends = {&cuda_backend()};
    harness_->options.delegates.device = device_.c_str();
  }
  TestRun(schema::AlignedBytes program, const TestDriver& driver)
      : device_(driver.device()), harness_(std::make_unique<MethodHarness>(std::move(program))) {
    harness_->backends = {&cuda_backend()};
    harness_->options.delegates.device = device_.c_str();
  }
  MethodHarness& harness() { return *harness_; }
  MethodOptions& options() { return harness_->options; }
  Error load() { return harness_->load(); }
  std::string text() const { return harness_->text; }
  std::string last_error() { return harness_->last_error(); }
  /// `sizes`: those of all dimensions of each input, if they are not the upper bounds.
  template <typename... T>
  Error set(const std::vector<T>&... inputs) {
    [[maybe_unused]] size_t index = 0;
    [[maybe_unused]] const auto one = [&](const auto& items) {
      Tensor* tensor = harness_->method().input_in_place(index++);
      EXPECT_EQ(tensor->nbytes(), items.size() * sizeof items[0]);
      memcpy(tensor->data, items.data(), std::min(tensor->nbytes(), items.size() * sizeof items[0]));
    };
    (one(inputs), ...);
    return Error::Ok;
  }
  template <typename... T>
  Error execute(const std::vector<T>&... inputs) {
    set(inputs...);
    return harness_->method().execute();
  }
  /// Executes with `size` as the first size of all inputs.
  Error execute_sized(int32_t size, const Floats& input) {
    const Tensor& declared = *harness_->method().value(harness_->method().meta().input(0)).tensor;
    HostTensor32 tensor({size, declared.rank > 1 ? declared.sizes[1] : 1}, input);
    if (declared.rank == 1) tensor = HostTensor32({size}, input);
    const Error error = harness_->method().set_input(0, tensor.tensor);
    return error == Error::Ok ? harness_->method().execute() : error;
  }
  Floats output(size_t index = 0) { return harness_->output(index); }

 private:
  std::string device_;
  std::unique_ptr<MethodHarness> harness_;
};

/// y = x + w, 8 floats; w is named data.
inline TestDelegate add_delegate(const std::string& key = "w", const Floats& weight = Floats(8, 0.5f)) {
  TestDelegate d;
  const uint32_t n = d.number(static_cast<int64_t>(weight.size()));
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  const uint32_t add =
      d.kernel("add", {ParameterKind::pointer, ParameterKind::pointer, ParameterKind::pointer, ParameterKind::int32});
  d.launch(add, d.number(1), {reads(x), reads(d.weight(key, weight)), writes(y), int32(n)});
  return d;
}

/// y[s0] = 3 * (2 * x[s0] + x[s0]) through the arena, s0 in 1 .. 64.
inline TestDelegate dynamic_delegate() {
  TestDelegate d;
  d.plan.symbols.push_back({"s0", 1, 64, 0, 0});
  const uint32_t n = d.formula({symbol(0)});
  const uint32_t blocks =
      d.formula({symbol(0), constant(31), op(FormulaOp::add), constant(32), op(FormulaOp::floor_divide)});
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  const uint32_t twice = d.arena_buffer(256), sum = d.arena_buffer(256);
  const uint32_t add =
      d.kernel("add", {ParameterKind::pointer, ParameterKind::pointer, ParameterKind::pointer, ParameterKind::int32});
  const uint32_t scale =
      d.kernel("scale", {ParameterKind::pointer, ParameterKind::int32, ParameterKind::pointer, ParameterKind::int64});
  d.launch(scale, blocks, {reads(x), int32(d.number(2)), writes(twice), int64(n)}).debug_handle = 4;
  d.launch(add, blocks, {reads(x), reads(twice), writes(sum), int32(n)}).after = {0};
  d.launch(scale, blocks, {reads(sum), int32(d.number(3)), writes(y), int64(n)}).after = {1};
  return d;
}

/// y[4] = table[index[4]], for a table of 8. Check 1 reports the node of a bad index.
inline TestDelegate gather_delegate() {
  TestDelegate d;
  const uint32_t n = d.number(4);
  const uint32_t index = d.argument(Space::input, DType::i64, {n}), y = d.argument(Space::output, DType::f32, {n});
  const uint32_t table = d.weight("table", {0, 1, 2, 3, 4, 5, 6, 7}), status = d.arena_buffer(4);
  d.plan.status_buffer = status;
  d.plan.checks = {{"never"}, {"an index of embedding (model.py:3) is not in 0 to 7"}};
  const uint32_t gather = d.kernel("gather", {ParameterKind::pointer, ParameterKind::pointer, ParameterKind::pointer,
                                              ParameterKind::pointer, ParameterKind::int32, ParameterKind::int32});
  d.launch(gather, d.number(1), {reads(table), reads(index), writes(y), writes(status), int32(n), int32(d.number(8))});
  return d;
}

/// y[1] = the number of calls since the counter was 0. x[1] < 0 fails the call.
inline TestDelegate arrive_delegate() {
  TestDelegate d;
  const uint32_t n = d.number(1);
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  d.plan.counters_buffer = d.arena_buffer(4);
  d.plan.status_buffer = d.arena_buffer(4);
  d.plan.checks = {{"x is negative"}};
  const uint32_t arrive = d.kernel("arrive", std::vector<ParameterKind>(4, ParameterKind::pointer));
  d.launch(arrive, n, {reads(x), writes(y), writes(d.plan.counters_buffer), writes(d.plan.status_buffer)});
  return d;
}

/// y[4] = x * (p ? 2 : 3) * 5 * 5: a condition, and a loop of two rounds.
inline TestDelegate control_delegate() {
  TestDelegate d;
  const uint32_t n = d.number(4), one = d.number(1);
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), p = d.argument(Space::input, DType::boolean, {one});
  const uint32_t y = d.argument(Space::output, DType::f32, {n}), t = d.arena_buffer(16);
  const uint32_t scale =
      d.kernel("scale", {ParameterKind::pointer, ParameterKind::int32, ParameterKind::pointer, ParameterKind::int64});
  PlanNode choose, repeat;
  choose.kind = NodeKind::choose;
  choose.arguments = {reads(p)};
  choose.first_end = 2;
  choose.second_end = 3;
  repeat.kind = NodeKind::repeat;
  repeat.size = d.number(2);
  repeat.first_end = repeat.second_end = 5;
  repeat.after = {0};
  d.plan.nodes.push_back(choose);
  d.launch(scale, one, {reads(x), int32(d.number(2)), writes(t), int64(n)});
  d.launch(scale, one, {reads(x), int32(d.number(3)), writes(t), int64(n)});
  d.plan.nodes.push_back(repeat);
  d.launch(scale, one, {reads(t), int32(d.number(5)), writes(t), int64(n)});
  d.copy(writes(y), reads(t), d.number(16)).after = {3};
  return d;
}

/// y = state += x, 4 floats.
inline TestDelegate counter_delegate(const std::string& name = "count", const std::string& initial = "",
                                     const Floats& values = {}) {
  TestDelegate d;
  const uint32_t n = d.number(4);
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  const uint32_t state = d.state_buffer(name, 16, initial);
  if (!initial.empty()) d.named.emplace_back(initial, data_of(values));
  const uint32_t add =
      d.kernel("add", {ParameterKind::pointer, ParameterKind::pointer, ParameterKind::pointer, ParameterKind::int32});
  d.launch(add, d.number(1), {reads(x), reads(state), writes(state), int32(n)});
  d.copy(writes(y), reads(state), d.number(16)).after = {0};
  return d;
}

}  // namespace wick::cuda
