// Controls of the stand-in for the CUDA driver: settings that make it fail, and counts of calls and objects. C++17;
// part of the text of a twin library.
#pragma once
#include <cstdint>

extern "C" {
/// Changes a setting; the environment does the same before the first call: WICK_TWIN="no_device=1,architecture=80".
///   stub, no_device       the driver does not start
///   driver_version        13000
///   devices               2: how many there are, all the same one
///   architecture          90: compute capability
///   shared_bytes          232448: of a block, at most
///   kernel_threads        1024: of a block, at most, for every kernel
///   memory_bytes          2^30: of a device
///   newer_ptx             PTX is refused as too new
///   no_jit                there is nothing to compile PTX with
///   out_of_memory_at      the n-th allocation from now on fails
///   launch_fails_at       the n-th kernel from now on fails; then the context is unusable
///   illegal_address_at    the same with another error
///   no_pinned_memory      the host has none
///   no_push               the context cannot be made current
///   graph_in_order        nodes of a graph run as they were added, not in the last order that is allowed
__attribute__((visibility("default"))) void wick_twin_set(const char* name, int64_t value);
/// Forgets settings, counts and faults.
__attribute__((visibility("default"))) void wick_twin_reset();
/// Objects that are alive: bytes, objects, images, stacks (of threads). Calls since the last reset: allocations,
/// launches, copies, copies_to_device, copies_to_host, pinned_copies (those with pinned memory), graphs,
/// graph_launches, node_changes, pointer_checks.
__attribute__((visibility("default"))) uint64_t wick_twin_count(const char* name);
/// Whether this thread is inside a function of the driver.
__attribute__((visibility("default"))) bool wick_twin_is_running();
}
