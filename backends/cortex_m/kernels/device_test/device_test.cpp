// Runs each kernel of this build and its reference on seeded calls. Both must write the same bytes to the output, and
// access nothing else. Exit status: 0 all equal, 1 different, 2 a reference refuses a case, 99 a fault. If the command
// line names a broken kernel (broken_kernels.h), only that runs.
#include <stdio.h>
#include <string.h>

#include "backends/cortex_m/kernels/device_test/broken_kernels.h"
#include "backends/cortex_m/kernels/device_test/cases.h"
#include "backends/cortex_m/kernels/variants.h"
#ifndef WICK_HOST_REGIONS
#include "backends/cortex_m/kernels/device_test/stack_depth.h"
#include "devices/board/fault.h"
#include "devices/board/semihosting.h"
#endif

namespace wick::cortex_m {
namespace {

constexpr uint64_t kSeed = 20261122;
constexpr size_t kMaxOutBytes = 96 * 1024;
uint8_t expected[kMaxOutBytes];
const char* running = "";
unsigned case_index = 0;
#ifdef __clang__
constexpr size_t kMostStackBytes = 2560;
#else
constexpr size_t kMostStackBytes = 3072;
#endif
size_t stack_bytes = 0;  // largest stack use in the calls of a kernel

const Kernel* find(KernelTable table, const char* name) {
  for (const Kernel& row : table) {
    if (strcmp(row.name, name) == 0) return &row;
  }
  return nullptr;
}

/// Runs with the memory around the tensors protected; emulated accesses are slow then.
void run_closed(Call& call, const Kernel& kernel, KernelContext& context) {
#ifndef WICK_HOST_REGIONS
  const StackDepth depth(stack_pointer());
#endif
  call.regions().close(case_index);
  kernel.fn(context, call.args_and_slot());
  call.regions().open();
#ifndef WICK_HOST_REGIONS
  if (depth.bytes() > stack_bytes) stack_bytes = depth.bytes();
#endif
}

/// Returns false and prints a line if the kernel fails or writes outside of the output.
bool run(Call& call, const Kernel& kernel, uint32_t poison, bool closed) {
  const char* which = closed ? "the variant" : "the reference";
  KernelContext context({}, nullptr, nullptr);
  call.regions().poison(poison);
  if (closed)
    run_closed(call, kernel, context);
  else
    kernel.fn(context, call.args_and_slot());
  if (!context.ok()) printf("%s case %u: %s: %s\n", running, case_index, which, context.message());
  if (!call.regions().intact()) printf("%s case %u: %s writes what it may not\n", running, case_index, which);
  return context.ok() && call.regions().intact();
}

void print_call(Call& call) {
  for (const Tensor& tensor : call.tensors()) {
    printf("  tensor [");
    for (const int32_t size : tensor.shape()) printf(" %ld", static_cast<long>(size));
    printf(" ]\n");
  }
  for (const EValue* value : call.args()) {
    if (value->tag == Tag::integer) printf("  %ld", static_cast<long>(value->integer));
    for (const int64_t item : value->ints()) printf("  %ld,", static_cast<long>(item));
  }
  printf("\n");
}

bool compare(Call& call) {
  const Tensor& out = call.out();
  const uint8_t* bytes = out.as<uint8_t>();
  for (size_t i = 0; i < out.nbytes(); ++i) {
    if (bytes[i] == expected[i]) continue;
    printf("%s case %u: byte %u of %u is %d, the reference's %d\n", running, case_index, static_cast<unsigned>(i),
           static_cast<unsigned>(out.nbytes()), static_cast<int8_t>(bytes[i]), static_cast<int8_t>(expected[i]));
    print_call(call);
    return false;
  }
  return true;
}

int test(const CaseSource& source, Call& call) {
  running = source.name;
  stack_bytes = 0;
  const Kernel *reference = find(reference_kernels(), source.name), *variant = find(cortex_m_kernels(), source.name);
  for (case_index = 0; case_index < static_cast<unsigned>(source.count); ++case_index) {
    call.random = Stream(kSeed + case_index);
    call.clear(case_index % 2 == 0 ? Side::end : Side::begin);
    source.make(call);
    const size_t bytes = call.out().nbytes();
    if (bytes > kMaxOutBytes || !run(call, *reference, 2 * case_index, false)) return 2;
    memcpy(expected, call.out().data, bytes);
    if (!run(call, *variant, 2 * case_index + 1, true) || !compare(call)) return 1;
  }
  printf("%s: %u cases equal, %u bytes of stack%s\n", source.name, case_index, static_cast<unsigned>(stack_bytes),
         reference->fn == variant->fn ? " (the reference itself)" : "");
  if (stack_bytes <= kMostStackBytes) return 0;
  printf("%s takes more stack than the %u bytes that a kernel may take\n", source.name,
         static_cast<unsigned>(kMostStackBytes));
  return 1;
}

int test_all() {
  static Call call(kSeed);
  const Span<const CaseSource> families[] = {case_sources(), int4_case_sources(), int16_case_sources()};
  unsigned total = 0, kernels = 0;
  for (const Span<const CaseSource>& family : families) {
    for (const CaseSource& source : family) {
      const int status = test(source, call);
      if (status != 0) return status;
      total += case_index;
      ++kernels;
    }
  }
  printf("%u cases of %u kernels\n", total, kernels);
  for (const Kernel& row : cortex_m_kernels()) {
    bool has_cases = false;
    for (const Span<const CaseSource>& family : families) {
      for (const CaseSource& source : family) has_cases = has_cases || strcmp(source.name, row.name) == 0;
    }
    if (has_cases) continue;
    printf("%s has no cases\n", row.name);
    return 2;
  }
  return 0;
}

int test_broken(const BrokenKernel& broken) {
  static Call call(kSeed);
  running = broken.name;
  call.clear(broken.side);
  make_broken(call);
  return run(call, {broken.name, "To", broken.run}, 0, true) ? 0 : 1;
}

/// `words`: the command line; its last word may be the name of a broken kernel.
int test_named(const char* words) {
  for (const BrokenKernel& broken : broken_kernels()) {
    const size_t length = strlen(words), name_length = strlen(broken.name);
    if (length > name_length && strcmp(words + length - name_length, broken.name) == 0) return test_broken(broken);
  }
  return test_all();
}

}  // namespace
}  // namespace wick::cortex_m

#ifndef WICK_HOST_REGIONS
namespace {
void report_fault(const wick::board::Fault& fault) {
  // Switches the MPU off, so that printf can access its memory.
  *reinterpret_cast<volatile uint32_t*>(0xE000ED94) = 0;
  printf("%s case %u: a fault, CFSR %08lx HFSR %08lx at address %08lx\n", wick::cortex_m::running,
         wick::cortex_m::case_index, static_cast<unsigned long>(fault.cfsr), static_cast<unsigned long>(fault.hfsr),
         static_cast<unsigned long>(fault.mmfar));
  wick::board::exit(99);
}
}  // namespace

extern "C" int main() {
  wick::board::set_fault_handler(report_fault);
  static char words[256];
  return wick::cortex_m::test_named(wick::board::command_line(words, sizeof words) ? words : "");
}
#else
int main(int count, char** words) { return wick::cortex_m::test_named(count > 1 ? words[count - 1] : ""); }
#endif
