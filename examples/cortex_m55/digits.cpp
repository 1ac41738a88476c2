// Runs one image through the digits model on a bare Cortex-M55 and compares the logits with the host's. Files come
// through semihosting from the folder that QEMU or the debugger runs in: digits.pte, input.npz, expected.npz (stored,
// one f32 array). Exit status: 0 equal within 1e-5, 1 different, 2 a file cannot be used, 3 the runtime refuses.
#include <stdio.h>
#include <string.h>

#include "wick/method.h"
#include "wick/portable_kernels.h"

namespace {

constexpr size_t kMaxFileBytes = 256 * 1024, kArenaBytes = 128 * 1024, kMaxValues = 64;
constexpr float kTolerance = 1e-5f;

// All memory that the runtime gets.
__attribute__((section(".bulk"), aligned(16))) uint8_t program_file[kMaxFileBytes];
__attribute__((section(".bulk"), aligned(16))) uint8_t npz_file[4096];
__attribute__((section(".bulk"), aligned(16))) uint8_t method_memory[64 * 1024];
__attribute__((section(".bulk"), aligned(16))) uint8_t arena[kArenaBytes];
__attribute__((section(".bulk"), aligned(16))) uint8_t temp[256 * 1024];
char error_buffer[512];

size_t read_file(const char* path, uint8_t* memory, size_t capacity) {
  FILE* file = fopen(path, "rb");
  if (file == nullptr) {
    printf("cannot open %s\n", path);
    return 0;
  }
  const size_t size = fread(memory, 1, capacity, file);
  fclose(file);
  return size;
}

/// The elements of the only array of a stored .npz: behind the .npy header that its magic bytes begin.
size_t read_floats(const char* path, float* out, size_t max_count) {
  const size_t size = read_file(path, npz_file, sizeof npz_file);
  for (size_t at = 0; at + 10 <= size; ++at) {
    if (memcmp(npz_file + at, "\x93NUMPY", 6) != 0) continue;
    const size_t begin = at + 10 + (npz_file[at + 8] | static_cast<size_t>(npz_file[at + 9]) << 8);
    if (begin > size || size - begin < max_count * sizeof(float)) break;
    memcpy(out, npz_file + begin, max_count * sizeof(float));
    return max_count;
  }
  printf("%s holds no stored array of %u floats\n", path, static_cast<unsigned>(max_count));
  return 0;
}

int refuse(const char* step, wick::Error error, const char* text) {
  printf("%s: %s: %s\n", step, wick::error_name(error), text);
  return 3;
}

int compare(const wick::Tensor& output) {
  float expected[kMaxValues];
  if (output.dtype != wick::DType::f32 || output.numel > kMaxValues)
    return refuse("output", wick::Error::InvalidType, "");
  if (read_floats("expected.npz", expected, output.numel) == 0) return 2;
  float largest = 0;
  for (size_t i = 0; i < output.numel; ++i) {
    const float difference = __builtin_fabsf(output.as<float>()[i] - expected[i]);
    if (__builtin_isnan(difference)) {
      printf("logit %u is not a number\n", static_cast<unsigned>(i));
      return 1;
    }
    if (difference > largest) largest = difference;
  }
  // newlib's printf without %f needs no heap: parts in 1e9.
  printf("%u logits differ by at most %ld e-9\n", static_cast<unsigned>(output.numel),
         static_cast<long>(largest * 1e9f));
  return largest <= kTolerance ? 0 : 1;
}

int run() {
  const size_t size = read_file("digits.pte", program_file, sizeof program_file);
  if (size == 0) return 2;
  wick::ErrorText text(error_buffer);
  wick::LoadOptions load_options;
  load_options.text = &text;
  const auto program = wick::Program::load({program_file, size}, load_options);
  if (!program) return refuse("program", program.error(), text.c_str());
  const wick::MethodMeta meta = program->method(0);
  if (meta.num_arenas() != 1 || meta.arena_bytes(0) > sizeof arena) {
    return refuse("arena", wick::Error::MemoryAllocationFailed, "the program needs more");
  }
  const wick::Span<uint8_t> planned[] = {{arena, static_cast<size_t>(meta.arena_bytes(0))}};
  const wick::MemoryPlan memory = {{method_memory, sizeof method_memory}, {planned, 1}, {temp, sizeof temp}};
  const wick::KernelTable tables[] = {wick::portable_kernels()};
  wick::MethodOptions options;
  options.kernels = {tables, 1};
  options.text = &text;
  memset(arena, 0, sizeof arena);
  auto method = wick::Method::load(meta, memory, options);
  if (!method) return refuse("method", method.error(), text.c_str());

  wick::Tensor* input = method->input_in_place(0);
  if (input == nullptr) return refuse("input", wick::Error::NotSupported, "it has no memory of its own");
  if (read_floats("input.npz", input->as<float>(), input->numel) == 0) return 2;
  const wick::Error error = method->execute();
  if (error != wick::Error::Ok) return refuse("execute", error, method->last_error().message);
  return compare(*method->output(0).tensor);
}

}  // namespace

extern "C" int main() { return run(); }
