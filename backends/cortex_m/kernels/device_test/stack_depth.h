// How deep a call goes into the stack: the free part is painted before, and the paint that is left counted after.
// C++17.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick::cortex_m {

inline uint32_t* stack_pointer() {
  uint32_t* sp;
  asm volatile("mov %0, sp" : "=r"(sp));
  return sp;
}

/// Below `sp`, the stack pointer of the function that makes the call.
class StackDepth {
 public:
  __attribute__((noinline)) explicit StackDepth(uint32_t* sp) : sp_(sp) {
    for (volatile uint32_t* p = sp - kWords; p < sp - kOwnWords; ++p) *p = kPaint;
  }
  /// kOwnWords at least; kWords if it went deeper.
  __attribute__((noinline)) size_t bytes() const {
    const volatile uint32_t* p = sp_ - kWords;
    while (p < sp_ - kOwnWords && *p == kPaint) ++p;
    return static_cast<size_t>(sp_ - p) * sizeof(uint32_t);
  }

 private:
  static constexpr size_t kWords = 1024, kOwnWords = 24;  // of this class's functions
  static constexpr uint32_t kPaint = 0xC5A35C3A;
  uint32_t* sp_;
};

}  // namespace wick::cortex_m
