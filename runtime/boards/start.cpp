// Start-up of a bare Arm microcontroller: vectors, floating point on, .data and .bss, then main. Ends through
// semihosting.
#include <stdint.h>
#include <stdlib.h>

extern "C" {
extern uint32_t stack_top, data_source, data_begin, data_end, bss_begin, bss_end;
void initialise_monitor_handles(void);  // newlib: files and exit status through the debugger or QEMU
int main(void);
void _init(void) {}
void _fini(void) {}

// A program may have its own.
__attribute__((noreturn, weak)) void fault(void) { exit(99); }

__attribute__((noreturn)) void reset(void) {
  // CPACR: full access to coprocessors 10 and 11, the floating-point and vector unit, where there is one. Before any
  // instruction that uses it.
  *reinterpret_cast<volatile uint32_t*>(0xE000ED88) |= 0xFu << 20;
  asm volatile("dsb\n isb" ::: "memory");
  const uint32_t* source = &data_source;
  for (uint32_t* p = &data_begin; p < &data_end; ++p) *p = *source++;
  for (uint32_t* p = &bss_begin; p < &bss_end; ++p) *p = 0;
  initialise_monitor_handles();
  exit(main());
}

using Vector = const void*;
__attribute__((section(".vectors"), used)) const Vector vectors[] = {
    &stack_top,
    reinterpret_cast<Vector>(reset),
    reinterpret_cast<Vector>(fault),  // NMI
    reinterpret_cast<Vector>(fault),  // hard fault
    reinterpret_cast<Vector>(fault),  // memory management
    reinterpret_cast<Vector>(fault),  // bus fault
    reinterpret_cast<Vector>(fault),  // usage fault
    reinterpret_cast<Vector>(fault),  // secure fault
};
}
