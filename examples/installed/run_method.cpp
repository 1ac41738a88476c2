// Loads method 0 of a program with memory of its own and the kernels that were linked, and says how much memory it
// takes: what a target without files and heap would do with static arrays.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "wick/method.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSpareBytes = 1 << 20;  // of delegates and of kernels' scratch

/// Zeroed and aligned; kept until the process ends.
wick::Span<uint8_t> allocate(size_t size_bytes) {
  const size_t rounded = (size_bytes / kAlignment + 1) * kAlignment;
  auto* data = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded));
  if (data == nullptr) std::abort();
  for (size_t i = 0; i < rounded; ++i) data[i] = 0;
  return {data, size_bytes};
}

int refuse(const char* what, wick::Error error, const char* text) {
  std::fprintf(stderr, "%s: %s: %s\n", what, wick::error_name(error), text);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_method MODEL.pte\n");
    return 2;
  }
  std::ifstream stream(argv[1], std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(stream), {});
  const wick::Span<uint8_t> file = allocate(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) file[i] = static_cast<uint8_t>(bytes[i]);

  char buffer[1024];
  wick::ErrorText text(buffer);
  const auto program = wick::Program::load({file.data(), file.size()}, {&text});
  if (!program.ok()) return refuse("program", program.error(), text.c_str());
  const wick::MethodMeta meta = program->method(0);
  std::vector<wick::Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta.num_arenas(); ++i) arenas.push_back(allocate(static_cast<size_t>(meta.arena_bytes(i))));

  const wick::KernelTable kernels[] = {wick::portable_kernels()};
  const wick::Backend* const backends[] = {&wick::xnnpack_backend()};
  wick::MethodOptions options;
  options.kernels = wick::Span<const wick::KernelTable>(kernels);
  options.backends = wick::Span<const wick::Backend* const>(backends);
  options.text = &text;
  const wick::MemoryPlan memory = {allocate(wick::Method::required_bytes(meta) + kSpareBytes),
                                   {arenas.data(), arenas.size()},
                                   allocate(kSpareBytes)};
  const auto method = wick::Method::load(meta, memory, options);
  if (!method.ok()) return refuse("method", method.error(), text.c_str());
  std::printf("%s: %zu kernels linked, method arena %zu bytes\n", meta.name(), kernels[0].size(),
              wick::Method::required_bytes(meta));
  return 0;
}
