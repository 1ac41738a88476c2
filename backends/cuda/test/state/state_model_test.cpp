// Models with key-value caches: where the caches are, what a step writes, and decoding on streams and in sessions.
// Statements M5, V6, X2, X3 of docs/cuda_proofs.md.
#include <algorithm>

#include "backends/cuda/test/lower_test_support.h"
#include "cli/arrays/npz.h"
#include "compiler/support/file_map.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::cuda {
namespace {

class CudaStateModels : public CudaLower {
 protected:
  void compile_files(const std::vector<compiler::CompileBytes>& files, bool caller_io = false) {
    ++twins_;
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets("cuda", {{"gpu", "none"}, {"twin", twin()}});
    options.caller_io = caller_io;
    auto compiled = compiler::compile(files, options);
    ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    result_ = std::move(*compiled);
    program_ = result_.program.pte.join();
  }

  // The buffers of all methods, each of which is one delegate: their bytes, and the bytes that a call writes.
  std::vector<compiler::DelegateBuffer> held() const {
    std::vector<compiler::DelegateBuffer> out;
    const auto targets = *compiler::find_targets("cuda");
    for (size_t i = 0; i < result_.methods.size(); ++i) {
      EXPECT_EQ(result_.methods[i].delegates, 1u);
      for (const auto& node : result_.methods[i].outside) ADD_FAILURE() << node.op << ": " << node.reason;
      for (const auto& place : result_.methods[i].buffers)
        EXPECT_EQ(place.backend, "cuda") << place.name << ": " << place.reason;
      const auto report = targets[0].target->reporting.delegate(*result_.method_plans[i].delegates[0], {});
      EXPECT_TRUE(report.ok());
      out.insert(out.end(), report->buffers.begin(), report->buffers.end());
      EXPECT_EQ(report->buffers.size(), result_.methods[i].buffers.size());
    }
    return out;
  }

  // Prefill and decode of tests/fixtures/decoder.
  void compile_decoder(bool caller_io) {
    const std::string folder = "tests/fixtures/decoder/";
    auto prefill = compiler::FileMap::open(folder + "prefill.pt2"),
         decode = compiler::FileMap::open(folder + "decode.pt2");
    ASSERT_TRUE(prefill.ok() && decode.ok());
    compile_files({{"prefill", "prefill.pt2", prefill->bytes()}, {"decode", "decode.pt2", decode->bytes()}}, caller_io);
    auto arrays = cli::read_arrays(folder + "tokens.npz");
    ASSERT_TRUE(arrays.ok());
    for (const cli::NamedArray& array : *arrays) {
      std::vector<int64_t>& values = tokens_[array.name];
      values.resize(array.bytes.size() / sizeof(int64_t));
      std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    }
  }

  std::unique_ptr<wick::Module> open() const {
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&cuda_backend()};
    device_ = "cuda-twin=" + twin();
    options.device = device_;
    ModuleError error;
    auto module = wick::Module::load({program_.data(), program_.size()}, options, &error);
    EXPECT_TRUE(module) << error.message;
    return module;
  }

  mutable std::string device_;
  std::map<std::string, std::vector<int64_t>> tokens_;
};

// V6: a step of one token writes one row of each cache, and no cache is an input or output.
TEST_F(CudaStateModels, AStepWritesOneRowOfEachStaticCache) {
  for (const char* name : {"llama_static_cache", "mixtral_static_cache"}) {
    auto fixture = testing::expand_fixture(fmt::format("tests/fixtures/models/{}.wfix.gz", name));
    ASSERT_TRUE(fixture.ok());
    compile_files({{"forward", name, {fixture->pt2.data(), fixture->pt2.size()}}});
    const std::vector<compiler::DelegateBuffer> buffers = held();
    EXPECT_GE(buffers.size(), 2u) << name;
    for (const compiler::DelegateBuffer& buffer : buffers) {
      ASSERT_TRUE(buffer.written_bytes);
      if (buffer.size_bytes > 64) {
        EXPECT_LE(8 * *buffer.written_bytes, buffer.size_bytes) << name << ", " << buffer.name;
      }
    }
  }
}

/// Greedy decoding with host tensors.
class HostDecoder {
 public:
  HostDecoder(std::unique_ptr<wick::Module> module, const std::vector<int64_t>& prompt) : module_(std::move(module)) {
    std::vector<int64_t> positions;
    for (size_t i = 0; i < prompt.size(); ++i) positions.push_back(static_cast<int64_t>(i));
    const auto length = static_cast<int32_t>(prompt.size());
    call("prefill", {integers(prompt, {1, length}), integers(positions, {length})});
  }
  void step() { call("decode", {next_[0], next_[1]}); }
  const std::vector<int64_t>& tokens() const { return tokens_; }

 private:
  void call(const char* method, const std::vector<HostValue>& inputs) {
    std::vector<HostValue> outputs;
    ModuleError error;
    ASSERT_TRUE(module_->execute(method, inputs, &outputs, &error)) << error.message;
    next_ = outputs;
    tokens_.emplace_back();
    std::memcpy(&tokens_.back(), next_[0].tensor.bytes.data(), sizeof(int64_t));
  }
  std::unique_ptr<wick::Module> module_;
  std::vector<HostValue> next_;
  std::vector<int64_t> tokens_;
};

// M5: two sessions, one after the other and alternating.
TEST_F(CudaStateModels, SessionsDecodeEagersTokensInTurns) {
  compile_decoder(false);
  (void)held();
  const std::vector<int64_t>& wanted = tokens_["tokens"];
  ASSERT_EQ(wanted.size(), 16u);
  HostDecoder first(open(), tokens_["prompt"]), second(open(), tokens_["other_prompt"]);
  for (size_t i = 1; i < wanted.size(); ++i) {
    first.step();
    second.step();
  }
  EXPECT_EQ(first.tokens(), wanted);
  EXPECT_EQ(second.tokens(), tokens_["other_tokens"]);
}

// M5: a Llama in two methods, as transformers exports it for ExecuTorch: a prompt, then two tokens.
TEST_F(CudaStateModels, TransformersMethodsShareTheirStaticCaches) {
  const std::string folder = "tests/fixtures/decoder/transformers";
  auto prefill = testing::expand_fixture(folder + "_prefill.wfix.gz");
  auto decode = testing::expand_fixture(folder + "_decode.wfix.gz");
  auto arrays = cli::read_arrays(folder + ".npz");
  ASSERT_TRUE(prefill.ok() && decode.ok() && arrays.ok());
  compile_files({{"prefill", "prefill.pt2", {prefill->pt2.data(), prefill->pt2.size()}},
                 {"decode", "decode.pt2", {decode->pt2.data(), decode->pt2.size()}}});
  for (const compiler::DelegateBuffer& buffer : held()) EXPECT_GT(buffer.size_bytes, 0u);
  const auto array = [&](const std::string& name) {
    const auto found =
        std::find_if(arrays->begin(), arrays->end(), [&](const auto& each) { return each.name == name; });
    EXPECT_NE(found, arrays->end()) << name;
    return found->bytes;
  };
  const auto module = open();
  ASSERT_TRUE(module);
  int64_t position = 0;
  for (size_t i = 0; i < 3; ++i) {
    std::vector<int64_t> tokens(array(fmt::format("tokens_{}", i)).size() / sizeof(int64_t)), positions;
    std::memcpy(tokens.data(), array(fmt::format("tokens_{}", i)).data(), tokens.size() * sizeof(int64_t));
    for (size_t k = 0; k < tokens.size(); ++k) positions.push_back(position++);
    const auto length = static_cast<int32_t>(tokens.size());
    std::vector<HostValue> outputs;
    ModuleError error;
    ASSERT_TRUE(module->execute(i == 0 ? "prefill" : "decode",
                                {integers(tokens, {1, length}), integers(positions, {length})}, &outputs, &error))
        << error.message;
    HostTensor want = outputs[0].tensor;
    want.bytes = array(fmt::format("logits_{}", i));
    ASSERT_EQ(want.bytes.size(), outputs[0].tensor.bytes.size());
    for (size_t k = 0; k < want.bytes.size() / sizeof(float); ++k)
      EXPECT_NEAR(element(outputs[0].tensor, k), element(want, k), 1e-5) << "call " << i;
  }
}

/// Greedy decoding with device tensors, on a stream of the caller: the output of a call is the input of the next one.
class DeviceDecoder {
 public:
  DeviceDecoder(std::unique_ptr<wick::Module> module, CudaStream& memory, const std::vector<int64_t>& prompt,
                size_t count)
      : module_(std::move(module)), memory_(memory), count_(count), length_(static_cast<int32_t>(prompt.size())) {
    ModuleError error;
    prefill_ = module_->method("prefill", &error);
    decode_ = module_->method("decode", &error);
    EXPECT_TRUE(prefill_ && decode_) << error.message;
    std::vector<int64_t> positions;
    for (size_t i = 0; i < prompt.size(); ++i) positions.push_back(static_cast<int64_t>(i));
    const size_t bytes = prompt.size() * sizeof(int64_t);
    prompt_ = memory_.allocate(bytes);
    positions_ = memory_.allocate(bytes);
    slots_ = static_cast<uint8_t*>(memory_.allocate(32 * count));
    EXPECT_EQ(memory_.copy_to_device(prompt_, prompt.data(), bytes), Error::Ok);
    EXPECT_EQ(memory_.copy_to_device(positions_, positions.data(), bytes), Error::Ok);
    EXPECT_EQ(memory_.wait(), Error::Ok);
  }
  void start() { call(*prefill_, prompt_, {1, length_}, positions_, {length_}); }
  void step() { call(*decode_, slots_ + 32 * (done_ - 1), {1, 1}, slots_ + 32 * (done_ - 1) + 16, {1}); }
  std::vector<int64_t> tokens() {
    std::vector<int64_t> slots(4 * count_), out;
    EXPECT_EQ(memory_.copy_to_host(slots.data(), slots_, 32 * count_), Error::Ok);
    for (size_t i = 0; i < count_; ++i) out.push_back(slots[4 * i]);
    return out;
  }

 private:
  static Error set(Method& method, size_t index, void* data, std::vector<int32_t> sizes) {
    std::vector<int32_t> strides(sizes.size(), 1);
    std::vector<uint8_t> order;
    for (size_t i = 0; i < sizes.size(); ++i) order.push_back(static_cast<uint8_t>(i));
    for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    Tensor tensor;
    tensor.dtype = DType::i64;
    tensor.rank = static_cast<uint8_t>(sizes.size());
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
    tensor.dim_order = order.data();
    tensor.data = data;
    tensor.numel = static_cast<size_t>(strides[0]) * static_cast<size_t>(sizes[0]);
    tensor.capacity_bytes = tensor.numel * sizeof(int64_t);
    return method.set_input(index, tensor);
  }
  void call(Method& method, void* tokens, const std::vector<int32_t>& sizes, void* positions,
            const std::vector<int32_t>& position_sizes) {
    uint8_t* const to = slots_ + 32 * done_++;
    ASSERT_EQ(set(method, 0, tokens, sizes), Error::Ok);
    ASSERT_EQ(set(method, 1, positions, position_sizes), Error::Ok);
    ASSERT_EQ(method.set_output_memory(0, to, sizeof(int64_t)), Error::Ok);
    ASSERT_EQ(method.set_output_memory(1, to + 16, sizeof(int64_t)), Error::Ok);
    ASSERT_EQ(method.execute(), Error::Ok) << method.last_error().message;
  }

  std::unique_ptr<wick::Module> module_;
  CudaStream& memory_;
  size_t count_, done_ = 0;
  int32_t length_;
  Method *prefill_ = nullptr, *decode_ = nullptr;
  void *prompt_ = nullptr, *positions_ = nullptr;
  uint8_t* slots_ = nullptr;
};

// X2, X3: replayed graphs take new pointers in each call, and two streams and two sessions alternate. After the first
// steps nothing is allocated, and only status words are copied between host and device.
TEST_F(CudaStateModels, GraphsFollowPointersStreamsAndSessions) {
  compile_decoder(true);
  (void)held();
  CudaStream memory, other;
  ASSERT_TRUE(memory.open(("cuda-twin=" + twin()).c_str(), nullptr));
  ASSERT_TRUE(other.open(("cuda-twin=" + twin()).c_str(), nullptr));
  void* const library = dlopen(twin().c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto count = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(library, "wick_twin_count"));
  const size_t steps = tokens_["tokens"].size();
  {
    DeviceDecoder decoders[] = {DeviceDecoder(open(), memory, tokens_["prompt"], steps),
                                DeviceDecoder(open(), memory, tokens_["other_prompt"], steps)};
    uint64_t allocations = 0, uploads = 0, graphs = 0, launches = 0;
    for (size_t i = 0; i < steps; ++i) {
      if (i == 3) {
        allocations = count("allocations");
        uploads = count("copies_to_device");
        graphs = count("graphs");
        launches = count("graph_launches");
      }
      for (DeviceDecoder& decoder : decoders) {
        CudaStream& stream = (i / 2) % 2 ? memory : other;
        const CudaStreamScope scope(stream.handle());
        i == 0 ? decoder.start() : decoder.step();
        // The next call may be on the other stream, and reads what this one writes.
        ASSERT_EQ(stream.wait(), Error::Ok);
      }
    }
    EXPECT_EQ(count("allocations"), allocations);
    EXPECT_EQ(count("copies_to_device"), uploads);
    EXPECT_EQ(count("graphs"), graphs);
    EXPECT_EQ(count("graph_launches"), launches + 2 * (steps - 3));
    EXPECT_EQ(decoders[0].tokens(), tokens_["tokens"]);
    EXPECT_EQ(decoders[1].tokens(), tokens_["other_tokens"]);
  }
  dlclose(library);
}

}  // namespace
}  // namespace wick::cuda
