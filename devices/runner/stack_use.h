// Measures how much stack a piece of code takes: paints the free part before it, and counts the remaining paint after
// it.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {
extern uint32_t process_stack_bottom, process_stack_top;
}

namespace wick::device {

class StackUse {
 public:
  /// Paints the stack below the frame of the caller.
  __attribute__((noinline)) StackUse() {
    top_ = reinterpret_cast<uint32_t*>(__builtin_frame_address(0)) - kOwnWords;
    for (volatile uint32_t* p = bottom(); p < top_; ++p) *p = kPaint;
  }
  /// The most bytes of stack that were used since then.
  size_t bytes() const {
    const volatile uint32_t* p = bottom();
    while (p < top_ && *p == kPaint) ++p;
    return static_cast<size_t>(reinterpret_cast<uintptr_t>(top_) - reinterpret_cast<uintptr_t>(p));
  }

 private:
  // Above the guard (devices/board/start.cpp).
  static volatile uint32_t* bottom() { return &process_stack_bottom + 4096 / sizeof(uint32_t); }
  static constexpr uint32_t kPaint = 0xC5A35C3A;
  static constexpr size_t kOwnWords = 16;  // stack of the painting loop itself
  uint32_t* top_;
};

}  // namespace wick::device
