// Stacks on one OS thread that run in turns. C++17, part of the text of a twin library.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define WICK_TWIN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_TWIN_ASAN 1
#endif
#endif
#ifdef WICK_TWIN_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom, size_t* old_size);
void __asan_unpoison_memory_region(const volatile void* address, size_t size);
}
#endif

#if defined(__x86_64__)
// Saves the callee-saved registers, and the stack pointer in *from. Then continues where `to` was saved.
asm(R"(
.text
.p2align 4
.hidden wick_twin_switch
.globl wick_twin_switch
.type wick_twin_switch, @function
wick_twin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size wick_twin_switch, .-wick_twin_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.hidden wick_twin_switch
.globl wick_twin_switch
.type wick_twin_switch, %function
wick_twin_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size wick_twin_switch, .-wick_twin_switch
)");
#else
#define WICK_TWIN_UCONTEXT 1
#include <ucontext.h>
#endif
#ifndef WICK_TWIN_UCONTEXT
extern "C" __attribute__((visibility("hidden"))) void wick_twin_switch(void** from, void* to);
#endif

namespace wick_twin {

/// Where a stack has stopped.
struct Place {
#ifdef WICK_TWIN_UCONTEXT
  ucontext_t context;
#else
  void* stack_pointer = nullptr;
#endif
  const void* stack_bottom = nullptr;
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;  // of AddressSanitizer
};

/// Continues at `to`. Returns when something switches back to `from`.
inline void switch_place(Place& from, Place& to) {
#ifdef WICK_TWIN_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
#ifdef WICK_TWIN_UCONTEXT
  swapcontext(&from.context, &to.context);
#else
  wick_twin_switch(&from.stack_pointer, to.stack_pointer);
#endif
#ifdef WICK_TWIN_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

/// To be called first on a new stack: `creator` is the place that switched to it.
inline void arrive(Place& creator) {
#ifdef WICK_TWIN_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &creator.stack_bottom, &creator.stack_bytes);
#else
  static_cast<void>(creator);
#endif
}

/// Stacks of one size, each with an inaccessible page below it. They take two mappings each, and a process has a
/// limited number of these.
class Stacks {
 public:
#ifdef WICK_TWIN_ASAN
  static constexpr size_t kBytes = size_t{512} << 10;
#else
  static constexpr size_t kBytes = size_t{128} << 10;
#endif
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks() { release(); }

  /// At least `count` stacks. False if the system has no memory.
  bool reserve(size_t count) {
    if (count <= count_) return true;
    release();
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t each = kBytes + page_;
    void* const base =
        mmap(nullptr, each * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return false;
    base_ = static_cast<char*>(base);
    count_ = count;
    for (size_t i = 0; i < count; ++i) {
      if (mprotect(base_ + i * each, page_, PROT_NONE) == 0) continue;
      release();
      return false;
    }
    return true;
  }
  void release() {
    if (base_) munmap(base_, (kBytes + page_) * count_);
    base_ = nullptr;
    count_ = 0;
  }
  size_t count() const { return count_; }

  /// Sets `place` to the beginning of entry() on stack `index`.
  void begin(size_t index, Place& place, void (*entry)()) {
    char* const bottom = base_ + index * (kBytes + page_) + page_;
    place = Place();
    place.stack_bottom = bottom;
    place.stack_bytes = kBytes;
#ifdef WICK_TWIN_ASAN
    __asan_unpoison_memory_region(bottom, kBytes);
#endif
#ifdef WICK_TWIN_UCONTEXT
    getcontext(&place.context);
    place.context.uc_stack.ss_sp = bottom;
    place.context.uc_stack.ss_size = kBytes;
    place.context.uc_link = nullptr;
    makecontext(&place.context, entry, 0);
#elif defined(__x86_64__)
    // Six registers, entry() as return address, and no address for entry() to return to.
    void** const top = reinterpret_cast<void**>(bottom + kBytes) - 8;
    for (int i = 0; i < 8; ++i) top[i] = nullptr;
    top[6] = reinterpret_cast<void*>(entry);
    place.stack_pointer = top;
#else
    void** const top = reinterpret_cast<void**>(bottom + kBytes) - 20;
    for (int i = 0; i < 20; ++i) top[i] = nullptr;
    top[11] = reinterpret_cast<void*>(entry);
    place.stack_pointer = top;
#endif
  }

 private:
  char* base_ = nullptr;
  size_t count_ = 0, page_ = 0;
};

}  // namespace wick_twin
