// Measures how much stack a call uses: the free part is painted before the call, and the paint that is left is counted
// afterwards. C++17.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick::cortex_m {

inline uint32_t* stack_pointer() {
  uint32_t* sp;
  asm volatile("mov %0, sp" : "=r"(sp));
  return sp;
}

/// `sp`: the stack pointer of the function that makes the call.
class StackDepth {
 public:
  __attribute__((noinline)) explicit StackDepth(uint32_t* sp) : sp_(sp) {
    for (volatile uint32_t* p = sp - kWords; p < sp - kOwnWords; ++p) *p = kPaint;
  }
  /// Bytes of stack used, at least those of kOwnWords; those of kWords if the call went deeper.
  __attribute__((noinline)) size_t bytes() const {
    const volatile uint32_t* p = sp_ - kWords;
    while (p < sp_ - kOwnWords && *p == kPaint) ++p;
    return static_cast<size_t>(sp_ - p) * sizeof(uint32_t);
  }

 private:
  static constexpr size_t kWords = 1024, kOwnWords = 24;  // the latter: used by this class's functions
  static constexpr uint32_t kPaint = 0xC5A35C3A;
  uint32_t* sp_;
};

}  // namespace wick::cortex_m
