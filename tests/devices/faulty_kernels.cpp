// The kernels of a firmware that does what no kernel may do: the first element of what it quantizes selects what, and
// the last element of each sum is wrong.
#include <cstring>

#include "devices/runner/runner.h"
#include "runtime/exec/prim_ops.h"
#include "tests/devices/faults.h"
#include "wick/cortex_m_backend.h"

namespace wick::device {
namespace {

constexpr uintptr_t kNoMemory = 0xF0000000;

// Each call takes stack, and the compiler cannot know that it ends.
__attribute__((noinline)) uint32_t exhaust_stack(volatile uint32_t* above) {
  volatile uint32_t frame[256];
  for (volatile uint32_t& word : frame) word = *above;
  if (frame[1] == 0) return 0;
  return exhaust_stack(frame) + frame[0];
}

void load_two_words(const void* address) { asm volatile("ldrd r2, r3, [%0]" ::"r"(address) : "r2", "r3", "memory"); }

constexpr char kQuantize[] = "cortex_m::quantize_per_tensor.out", kAdd[] = "cortex_m::quantized_add.out";

void call_right(const char* name, KernelContext& context, Span<EValue*> args) {
  for (const Kernel& kernel : cortex_m_kernels()) {
    if (strcmp(kernel.name, name) == 0) return kernel.fn(context, args);
  }
}

void quantize(KernelContext& context, Span<EValue*> args) {
  volatile uint32_t word = 1;
  const uint32_t* const words = args[0]->tensor->as<const uint32_t>();
  switch (static_cast<Wrong>(args[0]->tensor->as<const float>()[0])) {
    case Wrong::undefined_instruction: asm volatile("udf #0"); break;
    case Wrong::read_no_memory: word = *reinterpret_cast<volatile uint32_t*>(kNoMemory); break;
    case Wrong::unaligned: load_two_words(reinterpret_cast<const uint8_t*>(words) + 1); break;
    case Wrong::divide_by_zero: asm volatile("udiv r2, r2, %0" ::"r"(0) : "r2"); break;
    case Wrong::exhaust_stack: exhaust_stack(&word); break;
    case Wrong::never_end:
      while (word != 0) {
      }
    default: call_right(kQuantize, context, args);
  }
}

void add(KernelContext& context, Span<EValue*> args) {
  call_right(kAdd, context, args);
  const Tensor& sum = *args[args.size() - 1]->tensor;
  if (sum.numel != 0) sum.as<int8_t>()[sum.numel - 1] ^= 1;
}

constexpr Kernel kWrong[] = {{kQuantize, "Tfiiiio", quantize}, {kAdd, "TiiiTiiiiiiiio", add}};

}  // namespace

Span<const KernelTable> runner_kernels() {
  static KernelTable tables[3];
  tables[0] = KernelTable(kWrong);
  tables[1] = cortex_m_kernels();
  tables[2] = prim_kernels();
  return {tables, 3};
}

}  // namespace wick::device
