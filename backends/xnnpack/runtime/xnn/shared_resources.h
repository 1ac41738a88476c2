// Threads and scratch memory that delegates share. C++17.
#pragma once
#include <pthreadpool.h>
#include <xnnpack.h>

#include <memory>

namespace wick::xnnpack {

/// The pool of `num_threads` threads, the caller's included; null for one thread or if there are no threads to be had.
/// It ends with its last user. A parallel loop that finds the pool at work for another caller runs on its own thread:
/// no caller waits for another one.
std::shared_ptr<pthreadpool> shared_pool(int num_threads);

/// The memory in which the delegates of one loaded method keep their intermediate values; they run one after another. A
/// new one if `instance` is null. Null if there is no memory.
std::shared_ptr<xnn_workspace> shared_workspace(const void* instance);

}  // namespace wick::xnnpack
