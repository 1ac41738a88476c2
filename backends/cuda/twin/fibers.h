// The functions of the launcher that the host vocabulary of kernels calls. C++17, part of the text of a twin library.
#pragma once
#include <cstddef>
#include <cstdint>

#include "backends/cuda/twin/twin_kernels.h"

// Kernels and launcher are two objects of one library.
#pragma GCC visibility push(hidden)
namespace wick_twin {

/// The thread that runs now.
struct Current {
  Dim3 thread, block, grid, threads;
  uint32_t number;  // of the thread in its block, x first
};
extern Current current;

/// Waits until all threads of the block wait at the same place. `operation` and `line` name it in reports.
void block_wait(const char* operation, int line);
bool block_any(bool predicate, int line);
/// The same for the warp.
void warp_wait(const char* operation, int line);
/// Gives `value` (at most kSlotBytes) to the warp and waits for all lanes. Returns the values of all lanes, one slot
/// each, valid until the lane's next exchange.
constexpr size_t kSlotBytes = 128;
void* exchange(const char* operation, int line, const void* value, size_t value_bytes);

/// Memory of the block: the same for each thread that passes the same site. Filled with NaN at first.
void* shared_memory(const void* site, size_t size_bytes);
void* dynamic_shared_memory();
uint32_t dynamic_shared_bytes();

/// Copies of `size_bytes` (at most 16): `valid_bytes` from `global`, then zeros. They happen when they are waited for;
/// until then the target holds NaN.
void copy_async(void* shared, const void* global, uint32_t size_bytes, uint32_t valid_bytes);
void copy_async_commit();
void copy_async_wait(uint32_t pending_groups);

/// The current thread accesses `size_bytes` at an address that is no multiple of them.
void report_misaligned(uint64_t size_bytes, int line);
/// The current thread's matrix instruction is wrong; `what`: the predicate of the message.
void report_product(const char* what, int line);

}  // namespace wick_twin
#pragma GCC visibility pop
