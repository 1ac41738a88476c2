// The interface between generated host text and the launcher of the twin. C++17; part of the text of a twin library, so
// it includes nothing of the project.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wick_twin {

/// A kernel as host code. `call` runs it for the current thread, whose indices the launcher has set.
struct TwinKernel {
  const char* name;
  void (*call)(void* const* parameters);  // as cuLaunchKernel passes them: each points to one parameter
  bool has_barriers;                      // false: threads may run one after the other, each to its end
  const char* parameter_bytes;            // the size of each parameter as a digit: "8848"
};

struct Dim3 {
  uint32_t x, y, z;
};

/// Runs all blocks of a launch. Returns null, or what is wrong with the kernel (a barrier that not all threads reach,
/// two threads that write the same shared element between barriers ..).
/// The text lives until the next launch. Launches of several host threads take turns.
const char* twin_launch(const TwinKernel& kernel, Dim3 grid, Dim3 block, uint32_t dynamic_shared_bytes,
                        void* const* parameters);

/// The stacks of threads are kept between launches, until release_stacks().
void release_stacks();
size_t count_stacks();

}  // namespace wick_twin

// Functions that a twin library exports, besides those of the driver.
extern "C" {
/// In which order the blocks of a launch and the threads of a block run: 0 ascending (as it starts), 1 descending,
/// 2 random by `seed`. A kernel without races gives the same bits in all of them.
__attribute__((visibility("default"))) void wick_twin_set_order(uint32_t order, uint64_t seed);
/// Makes launches report two threads that change the same byte of shared memory without a barrier between them. Slow.
__attribute__((visibility("default"))) void wick_twin_check_writes(bool on);
/// twin_launch() by name; grid and block: x, y, z. Returns null or what is wrong; also if there is no such kernel.
__attribute__((visibility("default"))) const char* wick_twin_launch(const char* kernel, const uint32_t* grid,
                                                                    const uint32_t* block,
                                                                    uint32_t dynamic_shared_bytes,
                                                                    void* const* parameters);
}

/// Defined by generated text, sorted by name.
extern const wick_twin::TwinKernel kTwinKernels[];
extern const uint32_t kNumTwinKernels;
