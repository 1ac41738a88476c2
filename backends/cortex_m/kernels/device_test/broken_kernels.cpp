#include "backends/cortex_m/kernels/device_test/broken_kernels.h"

namespace wick::cortex_m {
namespace {

/// Copies, and also reads or writes the byte at `read` or `write` bytes from the first one.
void copy(Span<EValue*> args, const int32_t* read, const int32_t* write) {
  const Tensor& x = *args[0]->tensor;
  volatile const int8_t* from = x.as<int8_t>();
  volatile int8_t* to = args[1]->tensor->as<int8_t>();
  for (size_t i = 0; i < x.numel; ++i) to[i] = from[i];
  if (read != nullptr) to[0] = from[*read];
  if (write != nullptr) to[*write] = 0;
}

constexpr int32_t kBytes = 13, kBehind = kBytes, kBefore = -1;

void read_behind(KernelContext&, Span<EValue*> args) { copy(args, &kBehind, nullptr); }
void read_before(KernelContext&, Span<EValue*> args) { copy(args, &kBefore, nullptr); }
void write_behind(KernelContext&, Span<EValue*> args) { copy(args, nullptr, &kBehind); }
void write_before(KernelContext&, Span<EValue*> args) { copy(args, nullptr, &kBefore); }
void write_operand(KernelContext&, Span<EValue*> args) {
  copy(args, nullptr, nullptr);
  volatile int8_t* operand = args[0]->tensor->as<int8_t>();
  operand[0] = static_cast<int8_t>(operand[0] + 1);
}

constexpr BrokenKernel kBroken[] = {{"read_behind", Side::end, read_behind},
                                    {"read_before", Side::begin, read_before},
                                    {"write_behind", Side::end, write_behind},
                                    {"write_before", Side::begin, write_before},
                                    {"write_operand", Side::end, write_operand}};

}  // namespace

Span<const BrokenKernel> broken_kernels() { return Span<const BrokenKernel>(kBroken); }

void make_broken(Call& call) {
  call.add_int8({kBytes});
  call.add_out(DType::i8, {kBytes});
}

}  // namespace wick::cortex_m
