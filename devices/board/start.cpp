// Start-up of a bare Cortex-M: sets vectors, enables floating point, initialises .data and .bss, then calls main on the
// process stack. That stack lies at the bottom of its memory. Below it is no memory, or a guard, so an overflow is a
// fault. Handlers have a stack of their own.
#include <stdint.h>

#include "devices/board/fault.h"
#include "devices/board/semihosting.h"

extern "C" {
extern uint32_t handler_stack_top, process_stack_bottom, process_stack_top, data_source, data_begin, data_end,
    bss_begin, bss_end;
int main(void);
void _init(void) {}
void _fini(void) {}
}

namespace wick::board {
namespace {

constexpr uintptr_t kCcr = 0xE000ED14, kCfsr = 0xE000ED28, kHfsr = 0xE000ED2C, kMmfar = 0xE000ED34, kBfar = 0xE000ED38,
                    kCpacr = 0xE000ED88;
constexpr uint32_t kTrapDivisionByZero = 1u << 4;
// Bits of CFSR for a fault while the processor saved registers: memory management, bus, stack limit.
constexpr uint32_t kStackingFailed = 1u << 4 | 1u << 12 | 1u << 20;
constexpr int kFaultStatus = 99;
// The guard at the bottom of the process stack, without access.
constexpr uint32_t kGuardBytes = 4096;

volatile uint32_t& word(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

FaultHandler handler = nullptr;

/// The registers that the processor pushes when it takes an exception.
struct Frame {
  uint32_t r0, r1, r2, r3, r12, lr, pc, xpsr;
};

Fault collect(const Frame* frame, const uint32_t* saved) {
  Fault fault;
  uint32_t xpsr = 0;
  asm volatile("mrs %0, ipsr" : "=r"(xpsr));
  fault.exception = xpsr & 0x1FF;
  fault.cfsr = word(kCfsr);
  fault.hfsr = word(kHfsr);
  fault.mmfar = word(kMmfar);
  fault.bfar = word(kBfar);
  fault.sp = reinterpret_cast<uint32_t>(frame);
  fault.stack_exhausted = fault.sp < reinterpret_cast<uint32_t>(&process_stack_bottom) + kGuardBytes ? 1 : 0;
  for (int i = 0; i < 8; ++i) fault.r[4 + i] = saved[i];
  if ((fault.cfsr & kStackingFailed) != 0) return fault;
  fault.has_frame = 1;
  fault.sp += sizeof(Frame);
  fault.r[0] = frame->r0;
  fault.r[1] = frame->r1;
  fault.r[2] = frame->r2;
  fault.r[3] = frame->r3;
  fault.r[12] = frame->r12;
  fault.lr = frame->lr;
  fault.pc = frame->pc;
  fault.xpsr = frame->xpsr;
  return fault;
}

// Boards with a v7-M core ignore accesses to memory that does not exist.
void guard_stack() {
#if __ARM_ARCH < 8
  constexpr uintptr_t kNumber = 0xE000ED98, kBase = 0xE000ED9C, kAttributes = 0xE000EDA0, kControl = 0xE000ED94;
  constexpr uint32_t kGuardSizeField = 11;  // 2 to the power of 11 + 1 bytes
  constexpr uint32_t kNeverExecute = 1u << 28, kEnable = 1, kOtherMemoryAsUsual = 1u << 2;
  word(kNumber) = 0;
  word(kBase) = reinterpret_cast<uint32_t>(&process_stack_bottom);
  word(kAttributes) = kNeverExecute | kGuardSizeField << 1 | kEnable;
  word(kControl) = kOtherMemoryAsUsual | kEnable;
  asm volatile("dsb\n isb" ::: "memory");
#endif
}

void print_word(const char* name, uint32_t value) {
  char text[] = "00000000";
  for (int i = 7; i >= 0; --i, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  print(name);
  print(text);
}

}  // namespace

void set_fault_handler(FaultHandler chosen) { handler = chosen; }

extern "C" __attribute__((noreturn, used)) void report_fault(const Frame* frame, const uint32_t* saved) {
  const Fault fault = collect(frame, saved);
  if (handler) handler(fault);
  print_word("fault: pc ", fault.pc);
  print_word(" lr ", fault.lr);
  print_word(" cfsr ", fault.cfsr);
  print_word(" hfsr ", fault.hfsr);
  print("\n");
  exit(kFaultStatus);
}

// r0: the frame, on the stack that was in use; r1: r4 to r11. Instructions that every core has.
extern "C" __attribute__((naked, used)) void fault_entry(void) {
  asm volatile(
      "mov r1, lr\n"
      "movs r2, #4\n"
      "mrs r0, msp\n"
      "tst r1, r2\n"
      "beq 1f\n"
      "mrs r0, psp\n"
      "1:\n"
      "sub sp, #32\n"
      "str r4, [sp]\n"
      "str r5, [sp, #4]\n"
      "str r6, [sp, #8]\n"
      "str r7, [sp, #12]\n"
      "mov r1, r8\n"
      "str r1, [sp, #16]\n"
      "mov r1, r9\n"
      "str r1, [sp, #20]\n"
      "mov r1, r10\n"
      "str r1, [sp, #24]\n"
      "mov r1, r11\n"
      "str r1, [sp, #28]\n"
      "mov r1, sp\n"
      "ldr r2, =report_fault\n"
      "bx r2\n"
      ".ltorg\n");
}

extern "C" __attribute__((noreturn, used)) void start(void) {
  // Full access to coprocessors 10 and 11, the floating-point and vector unit, where there is one.
  word(kCpacr) |= 0xFu << 20;
  word(kCcr) |= kTrapDivisionByZero;
  asm volatile("dsb\n isb" ::: "memory");
  const uint32_t* source = &data_source;
  for (uint32_t* p = &data_begin; p < &data_end; ++p) *p = *source++;
  for (uint32_t* p = &bss_begin; p < &bss_end; ++p) *p = 0;
  guard_stack();
  exit(main());
}

extern "C" __attribute__((naked, noreturn, used)) void reset(void) {
  asm volatile(
      "ldr r0, =process_stack_top\n"
      "msr psp, r0\n"
      "movs r0, #2\n"
      "msr control, r0\n"
      "isb\n"
      "ldr r0, =start\n"
      "bx r0\n"
      ".ltorg\n");
}

using Vector = const void*;
__attribute__((section(".vectors"), used)) const Vector vectors[16] = {
    &handler_stack_top,
    reinterpret_cast<Vector>(reset),
    reinterpret_cast<Vector>(fault_entry),  // NMI
    reinterpret_cast<Vector>(fault_entry),  // hard fault
    reinterpret_cast<Vector>(fault_entry),  // memory management
    reinterpret_cast<Vector>(fault_entry),  // bus fault
    reinterpret_cast<Vector>(fault_entry),  // usage fault
    reinterpret_cast<Vector>(fault_entry),  // secure fault
    nullptr,
    nullptr,
    nullptr,
    reinterpret_cast<Vector>(fault_entry),  // supervisor call
    reinterpret_cast<Vector>(fault_entry),  // debug monitor
    nullptr,
    reinterpret_cast<Vector>(fault_entry),  // PendSV
    reinterpret_cast<Vector>(fault_entry),  // SysTick
};

}  // namespace wick::board
