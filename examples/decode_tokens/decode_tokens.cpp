// Decodes tokens greedily on a GPU, without copying anything in between:
//   decode_tokens MODEL.pte DEVICE COUNT TOKEN [TOKEN ..]        DEVICE: cuda, cuda:1, cuda-twin=FILE
// The program has two methods that share a key-value cache, which lies on the device (docs/cuda.md, "Mutable buffers"):
//   prefill(tokens i64 [1, N], positions i64 [N]) -> next token i64 [1, 1], its position i64 [1]
//   decode(token i64 [1, 1], position i64 [1])    -> next token i64 [1, 1], its position i64 [1]
// It is compiled with --caller-io, so that inputs and outputs are memory of this program. Each call reads what the last
// one wrote. Exit codes: 0, 1 a call failed, 2 bad arguments.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "wick/cuda_backend.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"

namespace {

/// Tensors of the device begin at multiples of 16 bytes.
constexpr size_t kSlotBytes = 16;

bool is_bad(wick::Error error, const char* what) {
  if (error != wick::Error::Ok) std::fprintf(stderr, "%s: %s\n", what, wick::error_name(error));
  return error != wick::Error::Ok;
}

/// An int64 tensor in memory of the device.
struct DeviceTensor {
  DeviceTensor(void* data, std::vector<int32_t> shape) : sizes(std::move(shape)), strides(sizes.size(), 1) {
    for (size_t i = 0; i < sizes.size(); ++i) order.push_back(static_cast<uint8_t>(i));
    for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    tensor.dtype = wick::DType::i64;
    tensor.rank = static_cast<uint8_t>(sizes.size());
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
    tensor.dim_order = order.data();
    tensor.data = data;
    tensor.numel = static_cast<size_t>(strides[0]) * static_cast<size_t>(sizes[0]);
    tensor.capacity_bytes = tensor.numel * sizeof(int64_t);
  }
  DeviceTensor(const DeviceTensor&) = delete;
  std::vector<int32_t> sizes, strides;
  std::vector<uint8_t> order;
  wick::Tensor tensor;
};

/// A token and its position, one slot after the other.
struct Step {
  uint8_t* at = nullptr;
  void* token() const { return at; }
  void* position() const { return at + kSlotBytes; }
};

/// Reads `tokens` at `positions` and leaves the next token and its position in `next`. Does not wait.
bool call(wick::Method& method, const DeviceTensor& tokens, const DeviceTensor& positions, const Step& next) {
  if (is_bad(method.set_input(0, tokens.tensor), "tokens") ||
      is_bad(method.set_input(1, positions.tensor), "positions"))
    return false;
  if (is_bad(method.set_output_memory(0, next.token(), sizeof(int64_t)), "next token") ||
      is_bad(method.set_output_memory(1, next.position(), sizeof(int64_t)), "next position"))
    return false;
  if (!is_bad(method.execute(), "a call")) return true;
  std::fprintf(stderr, "%s\n", method.last_error().message);
  return false;
}

wick::Method* find_method(wick::Module& module, const char* name) {
  wick::ModuleError error;
  wick::Method* method = module.method(name, &error);
  if (!method) std::fprintf(stderr, "%s\n", error.message.c_str());
  return method;
}

int decode(wick::Module& module, wick::CudaStream& stream, const std::vector<int64_t>& prompt, size_t count) {
  wick::Method *prefill = find_method(module, "prefill"), *decode = find_method(module, "decode");
  if (!prefill || !decode) return 1;
  const size_t prompt_bytes = prompt.size() * sizeof(int64_t);
  void *tokens = stream.allocate(prompt_bytes), *positions = stream.allocate(prompt_bytes);
  auto* steps = static_cast<uint8_t*>(stream.allocate(2 * kSlotBytes * count));
  if (!tokens || !positions || !steps) return std::fprintf(stderr, "too little memory on the device\n"), 1;
  std::vector<int64_t> numbers(prompt.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  if (is_bad(stream.copy_to_device(tokens, prompt.data(), prompt_bytes), "the prompt") ||
      is_bad(stream.copy_to_device(positions, numbers.data(), prompt_bytes), "its positions"))
    return 1;

  const wick::CudaStreamScope scope(stream.handle());
  const auto length = static_cast<int32_t>(prompt.size());
  Step last = {steps};
  if (!call(*prefill, {tokens, {1, length}}, {positions, {length}}, last)) return 1;
  for (size_t i = 1; i < count; ++i) {
    const Step next = {steps + 2 * kSlotBytes * i};
    if (!call(*decode, {last.token(), {1, 1}}, {last.position(), {1}}, next)) return 1;
    last = next;
  }

  std::vector<int64_t> found(2 * count * kSlotBytes / sizeof(int64_t));
  if (is_bad(stream.copy_to_host(found.data(), steps, found.size() * sizeof(int64_t)), "the tokens")) return 1;
  for (size_t i = 0; i < count; ++i)
    std::printf("%s%lld", i ? " " : "", static_cast<long long>(found[2 * i * kSlotBytes / sizeof(int64_t)]));
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 3 ? std::strtol(argv[3], nullptr, 10) : 0;
  if (argc < 5 || count < 1 || count > 1'000'000) {
    std::fprintf(stderr, "usage: decode_tokens MODEL.pte DEVICE COUNT TOKEN [TOKEN ..]\n");
    return 2;
  }
  std::vector<int64_t> prompt;
  for (int i = 4; i < argc; ++i) prompt.push_back(std::strtoll(argv[i], nullptr, 10));

  char buffer[512];
  wick::ErrorText text(buffer);
  wick::CudaStream stream;
  if (!stream.open(argv[2], &text)) return std::fprintf(stderr, "%s\n", text.c_str()), 1;
  wick::ModuleOptions options;
  options.kernels = {wick::portable_kernels()};  // checks of sizes
  options.backends = {&wick::cuda_backend()};
  options.device = argv[2];
  wick::ModuleError error;
  const auto module = wick::Module::load(argv[1], options, &error);
  if (!module) return std::fprintf(stderr, "%s\n", error.message.c_str()), 1;
  return decode(*module, stream, prompt, static_cast<size_t>(count));
}
