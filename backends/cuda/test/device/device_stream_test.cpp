// Streams, sessions, memory, threads and processes. Statements X2, X3, X4, M4, M6 of docs/cuda_proofs.md.
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "backends/cuda/test/device/device_test_support.h"
#include "cli/arrays/npz.h"
#include "compiler/support/file_map.h"

namespace wick::cuda {
namespace {

class CudaDeviceStreams : public CudaDevice {
 protected:
  // A sequence: the next numbers, the sums of all so far, and the negated previous numbers.
  static constexpr char kSequence[] = R"(graph forward(%x: i64[1000]) {
  state %s: i64[1000] "s" = ...
  %m: i64[1000] = aten.mul.Scalar(%x, 1103515245)
  %a: i64[1000] = aten.add.Scalar(%m, 12345)
  %y: i64[1000] = aten.remainder.Scalar(%a, 2147483648)
  %n: i64[1000] = aten.add.Tensor(%s, %y)
  %c: i64[1000] = aten.neg(%x)
  update %s = %n
  return %y, %n, %c
})";
  static constexpr size_t kCount = 1000, kBytes = kCount * sizeof(int64_t);
  using Numbers = std::vector<int64_t>;

  static Numbers first(int64_t from) {
    Numbers values(kCount);
    for (size_t i = 0; i < kCount; ++i) values[i] = from + static_cast<int64_t>(i);
    return values;
  }
  static Numbers next(Numbers values) {
    for (int64_t& value : values) value = (value * 1103515245 + 12345) % 2147483648;
    return values;
  }
  std::vector<compiler::FileMap> files_;  // constants are in their memory
  static DeviceTensor tensor(void* data) { return {DType::i64, {static_cast<int32_t>(kCount)}, data}; }
};
INSTANTIATE_TEST_SUITE_P(, CudaDeviceStreams, ::testing::Values(Place::twin, Place::device), place_name);

/// A module whose calls read the outputs of the previous call.
class Sequence {
 public:
  using Numbers = std::vector<int64_t>;
  Sequence(const DeviceProgram& program, Caller& memory, const Numbers& from)
      : module_(open(program)), memory_(memory), bytes_(from.size() * sizeof(int64_t)), count_(from.size()) {
    ModuleError error;
    method_ = module_ ? module_->method("forward", &error) : nullptr;
    EXPECT_TRUE(method_) << error.message;
    data_[0] = memory_.place(from);
    for (int i = 1; i < 3; ++i) data_[i] = memory_.allocate(bytes_);
    for (void*& each : others_) each = memory_.allocate(bytes_);
  }
  /// A call on the scope's stream. Does not wait.
  void step() {
    void *const from = data_[calls_ % 3], *const to = data_[(calls_ + 1) % 3];
    ++calls_;
    if (!method_) return;
    const DeviceTensor x = {DType::i64, {static_cast<int32_t>(count_)}, from};
    ASSERT_EQ(begin(*method_, {x}, {{to, bytes_}, {others_[0], bytes_}, {others_[1], bytes_}}), Error::Ok)
        << method_->last_error().message;
  }
  Numbers last() { return memory_.read<int64_t>(data_[calls_ % 3], count_); }
  Numbers other(size_t index) { return memory_.read<int64_t>(others_[index], count_); }

 private:
  std::unique_ptr<wick::Module> module_;
  Caller& memory_;
  size_t bytes_, count_, calls_ = 0;
  Method* method_ = nullptr;
  void *data_[3] = {}, *others_[2] = {};
};

// X3: calls on one stream without a wait between them; each has other pointers.
TEST_P(CudaDeviceStreams, GraphsFollowPointersInTheOrderOfTheStream) {
  const DeviceProgram program = compile({kSequence});
  Caller own(program), blocking(program, true, 0), standard(program, false);
  for (Caller* caller : {&own, &blocking, &standard}) {
    Numbers want = first(7), sum(kCount), before(kCount);
    Sequence sequence(program, *caller, want);
    for (int i = 0; i < 20; ++i) {
      {
        const CudaStreamScope scope(caller->stream());
        sequence.step();
      }
      for (size_t k = 0; k < kCount; ++k) before[k] = -want[k];
      want = next(want);
      for (size_t k = 0; k < kCount; ++k) sum[k] += want[k];
    }
    EXPECT_TRUE(sequence.last() == want);
    EXPECT_TRUE(sequence.other(0) == sum);
    EXPECT_TRUE(sequence.other(1) == before);
  }
}

// X3: two sessions and two streams alternate. Each session gives the same as alone.
TEST_P(CudaDeviceStreams, SessionsAndStreamsTakeTurns) {
  const DeviceProgram program = compile({kSequence});
  Caller memory(program), other(program);
  Numbers want[2] = {first(1), first(100000)}, sums[2] = {Numbers(kCount), Numbers(kCount)};
  Sequence sessions[] = {Sequence(program, memory, want[0]), Sequence(program, memory, want[1])};
  memory.wait();
  for (int i = 0; i < 24; ++i) {
    for (int s = 0; s < 2; ++s) {
      {
        const CudaStreamScope scope(((i + s) / 3 % 2 ? other : memory).stream());
        sessions[s].step();
      }
      want[s] = next(want[s]);
      for (size_t k = 0; k < kCount; ++k) sums[s][k] += want[s][k];
    }
  }
  other.wait();
  for (int s = 0; s < 2; ++s) {
    EXPECT_TRUE(sessions[s].last() == want[s]) << "session " << s;
    EXPECT_TRUE(sessions[s].other(0) == sums[s]) << "session " << s;
  }
}

// A call with host tensors waits for earlier calls that nobody has waited for.
TEST_P(CudaDeviceStreams, TensorsOfTheHostAndOfTheDeviceTakeTurns) {
  const DeviceProgram program = compile({kSequence});
  Caller caller(program);
  const auto module = open(program);
  ModuleError error;
  Method* const method = module->method("forward", &error);
  ASSERT_TRUE(method) << error.message;
  Numbers want = first(9), sum(kCount), on_host[4] = {want, sum, sum, sum};
  void* on_device[4] = {caller.place(want)};
  for (int i = 1; i < 4; ++i) on_device[i] = caller.allocate(kBytes);
  for (int i = 0; i < 12; ++i) {
    for (size_t k = 0; k < kCount; ++k) sum[k] += next(want)[k];
    if (i % 3 == 2) {
      ASSERT_EQ(begin(*method, {tensor(on_host[0].data())},
                      {{on_host[1].data(), kBytes}, {on_host[2].data(), kBytes}, {on_host[3].data(), kBytes}}),
                Error::Ok)
          << method->last_error().message;
      EXPECT_TRUE(on_host[1] == next(want)) << "call " << i;
      EXPECT_TRUE(on_host[2] == sum) << "call " << i;
      continue;
    }
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(begin(*method, {tensor(on_device[0])},
                    {{on_device[1], kBytes}, {on_device[2], kBytes}, {on_device[3], kBytes}}),
              Error::Ok)
        << method->last_error().message;
  }
}

/// Greedy decoding with device tensors: the output of a call is the input of the next one.
class Decoder {
 public:
  Decoder(const DeviceProgram& program, Caller& memory, const std::vector<int64_t>& prompt, size_t steps)
      : module_(open(program)), memory_(memory), length_(static_cast<int32_t>(prompt.size())) {
    ModuleError error;
    prefill_ = module_->method("prefill", &error);
    decode_ = module_->method("decode", &error);
    EXPECT_TRUE(prefill_ && decode_) << error.message;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < length_; ++i) positions.push_back(i);
    prompt_ = memory_.place(prompt);
    positions_ = memory_.place(positions);
    for (size_t i = 0; i < 2 * steps; ++i) slots_.push_back(memory_.allocate(sizeof(int64_t)));
  }
  void step() {
    Method* const method = done_ == 0 ? prefill_ : decode_;
    if (!method) return;
    std::vector<DeviceTensor> inputs = {{DType::i64, {1, length_}, prompt_}, {DType::i64, {length_}, positions_}};
    if (done_ != 0) inputs = {{DType::i64, {1, 1}, slots_[2 * done_ - 2]}, {DType::i64, {1}, slots_[2 * done_ - 1]}};
    ASSERT_EQ(begin(*method, inputs, {{slots_[2 * done_], 8}, {slots_[2 * done_ + 1], 8}}), Error::Ok)
        << method->last_error().message;
    ++done_;
  }
  std::vector<int64_t> tokens() {
    std::vector<int64_t> out;
    for (size_t i = 0; i < done_; ++i) out.push_back(memory_.read<int64_t>(slots_[2 * i], 1)[0]);
    return out;
  }

 private:
  std::unique_ptr<wick::Module> module_;
  Caller& memory_;
  int32_t length_;
  Method *prefill_ = nullptr, *decode_ = nullptr;
  void *prompt_ = nullptr, *positions_ = nullptr;
  std::vector<void*> slots_;  // token, position
  size_t done_ = 0;
};

// Two sessions alternate, on streams that alternate too: they give eager's tokens.
TEST_P(CudaDeviceStreams, DecodersGiveEagersTokens) {
  const std::string folder = "tests/fixtures/decoder/";
  std::vector<compiler::Function> functions;
  for (const char* name : {"prefill", "decode"}) {
    auto file = compiler::FileMap::open(folder + name + ".pt2");
    ASSERT_TRUE(file.ok());
    auto function = compiler::import_bytes({name, std::string(name) + ".pt2", file->bytes()});
    ASSERT_TRUE(function.ok()) << compiler::render(function.diag());
    functions.push_back(std::move(*function));
    files_.push_back(std::move(*file));
  }
  const DeviceProgram program = compile_for(GetParam(), std::move(functions));
  auto arrays = cli::read_arrays(folder + "tokens.npz");
  ASSERT_TRUE(arrays.ok());
  std::map<std::string, std::vector<int64_t>> values;
  for (const cli::NamedArray& array : *arrays) {
    values[array.name].resize(array.bytes.size() / sizeof(int64_t));
    std::memcpy(values[array.name].data(), array.bytes.data(), array.bytes.size());
  }
  const size_t steps = values["tokens"].size();
  Caller memory(program), other(program);
  Decoder decoders[] = {Decoder(program, memory, values["prompt"], steps),
                        Decoder(program, memory, values["other_prompt"], steps)};
  for (size_t i = 0; i < steps; ++i) {
    Caller& caller = i / 2 % 2 ? other : memory;
    for (Decoder& decoder : decoders) {
      const CudaStreamScope scope(caller.stream());
      decoder.step();
    }
    caller.wait();  // the next input is written on this stream
  }
  EXPECT_EQ(decoders[0].tokens(), values["tokens"]);
  EXPECT_EQ(decoders[1].tokens(), values["other_tokens"]);
}

// X4
TEST_P(CudaDeviceStreams, HostPointersAreRefused) {
  const DeviceProgram program = compile({kSequence});
  Caller caller(program);
  const auto module = open(program);
  ModuleError error;
  Method* const method = module->method("forward", &error);
  ASSERT_TRUE(method) << error.message;
  std::vector<std::pair<void*, size_t>> outputs;
  for (int i = 0; i < 3; ++i) outputs.emplace_back(caller.allocate(kBytes), kBytes);
  struct alignas(16) Aligned {
    int64_t values[kCount];
  };
  const auto plain = std::make_unique<Aligned>();
  void* const x = caller.place(first(1));
  const CudaStreamScope scope(caller.stream());
  for (void* host : {static_cast<void*>(plain->values), caller.allocate_on_host(kBytes)}) {
    EXPECT_EQ(begin(*method, {tensor(host)}, outputs), Error::InvalidArgument);
    const std::string words = method->last_error().message;
    EXPECT_NE(words.find("input 0 of the delegate is host memory"), std::string::npos) << words;
    const auto good = outputs[2];
    outputs[2].first = host;
    EXPECT_EQ(begin(*method, {tensor(x)}, outputs), Error::InvalidArgument);
    EXPECT_NE(std::string(method->last_error().message).find("is host memory"), std::string::npos);
    outputs[2] = good;
  }
  ASSERT_EQ(begin(*method, {tensor(x)}, outputs), Error::Ok) << method->last_error().message;
  EXPECT_TRUE(caller.read<int64_t>(outputs[0].first, kCount) == next(first(1)));
}

// X2: allocations on the device; cuda_runtime_test counts those on the host.
TEST_P(CudaDeviceStreams, NothingIsAllocatedAfterWarmUp) {
  const DeviceProgram program = compile({kSequence});
  Caller caller(program);
  Numbers want = first(5);
  Sequence sequence(program, caller, want);
  const auto on_host = open(program);
  size_t before = 0;
  for (int i = 0; i < 105; ++i) {
    if (i == 5) {
      caller.wait();
      before = caller.free_bytes();
    }
    const HostTensor result = result_of(*on_host, "forward", {integers(want, {kCount})});
    const CudaStreamScope scope(caller.stream());
    sequence.step();
    want = next(want);
    ASSERT_TRUE(result.bytes == integers(want, {kCount}).bytes) << "call " << i;
  }
  caller.wait();
  EXPECT_EQ(caller.free_bytes(), before);
  EXPECT_TRUE(sequence.last() == want);
}

constexpr size_t kWeights = size_t{8} << 20, kWeightBytes = kWeights * sizeof(float);

/// y = the sum of x and a constant of 32 MiB, row by row.
std::vector<compiler::Function> function_with_weights() {
  auto functions = functions_of({R"(graph forward(%x: f32[8, 1048576]) {
  %y: f32[8, 1048576] = aten.add.Tensor(%x, %x)
  return %y
})"});
  auto values = std::make_shared<std::vector<float>>(kWeights);
  for (size_t i = 0; i < kWeights; ++i) (*values)[i] = static_cast<float>(i % 4096);
  compiler::Graph& graph = *functions.at(0).graph;
  const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(values->data()), kWeightBytes);
  compiler::Value* const weights =
      graph.add_constant(graph.inputs[0].value->tensor(), compiler::ConstantData(bytes, values), "w", "w");
  graph.set_arg(graph.nodes().front().get(), 1, weights);
  return functions;
}

// M4, M6: two modules of one program share their constants. The last user frees them, whichever it is.
TEST_P(CudaDeviceStreams, ConstantsAreSharedAndGivenBack) {
  const DeviceProgram program = compile_for(GetParam(), function_with_weights());
  Caller caller(program);
  const std::vector<float> x(kWeights, 0.5f);
  void* const from = caller.place(x);
  void* const to = caller.allocate(kWeightBytes);
  const auto run = [&](wick::Module& module) {
    ModuleError error;
    Method* const method = module.method("forward", &error);
    ASSERT_TRUE(method) << error.message;
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(begin(*method, {{DType::f32, {8, kWeights / 8}, from}}, {{to, kWeightBytes}}), Error::Ok)
        << method->last_error().message;
    const auto sums = caller.read<float>(to, kWeights);
    for (const size_t i : {size_t{0}, size_t{4095}, kWeights - 1})
      EXPECT_EQ(sums[i], static_cast<float>(i % 4096) + 0.5f);
  };
  // Code and the driver's own memory are allocated in pieces of unknown size.
  constexpr size_t kSlack = kWeightBytes / 4;
  run(*open(program));
  for (const bool first_goes_first : {true, false}) {
    const size_t nothing = caller.free_bytes();
    auto one = open(program);
    run(*one);
    const size_t once = caller.free_bytes();
    EXPECT_GE(nothing, once + kWeightBytes);
    auto two = open(program);
    run(*two);
    EXPECT_GE(caller.free_bytes() + kSlack, once);
    (first_goes_first ? one : two).reset();
    EXPECT_LE(caller.free_bytes(), once + kSlack);
    run(first_goes_first ? *two : *one);
    (first_goes_first ? two : one).reset();
    EXPECT_GE(caller.free_bytes() + kSlack, nothing);
  }
}

TEST_P(CudaDeviceStreams, ThreadsHaveModulesOfTheirOwn) {
  const DeviceProgram program = compile({kSequence});
  const auto work = [&](int64_t from) {
    const auto module = open(program);
    ASSERT_TRUE(module);
    Numbers want = first(from), sum(kCount);
    for (int i = 0; i < 50; ++i) {
      const auto results = results_of(*module, "forward", {integers(want, {kCount})});
      want = next(want);
      for (size_t k = 0; k < kCount; ++k) sum[k] += want[k];
      ASSERT_EQ(results.size(), 3u);
      ASSERT_TRUE(results[0].tensor.bytes == integers(want, {kCount}).bytes) << "call " << i;
      ASSERT_TRUE(results[1].tensor.bytes == integers(sum, {kCount}).bytes) << "call " << i;
    }
  };
  std::thread one(work, 3), two(work, 30000);
  one.join();
  two.join();
}

TEST_P(CudaDeviceStreams, ProcessesUseTheDeviceAtTheSameTime) {
  const std::string command =
      fmt::format("/proc/{}/exe --gtest_filter=CudaDeviceStreams.ThreadsHaveModulesOfTheirOwn/{} 2>&1", getpid(),
                  is_device() ? "OnADevice" : "OnTheTwin");
  FILE* const children[] = {popen(command.c_str(), "r"), popen(command.c_str(), "r")};
  for (FILE* child : children) {
    ASSERT_NE(child, nullptr);
    std::string printed;
    char buffer[4096];
    for (size_t size = 0; (size = fread(buffer, 1, sizeof buffer, child)) > 0;) printed.append(buffer, size);
    EXPECT_EQ(pclose(child), 0) << printed;
    EXPECT_NE(printed.find("[  PASSED  ] 1 test"), std::string::npos) << printed;
  }
}

}  // namespace
}  // namespace wick::cuda
