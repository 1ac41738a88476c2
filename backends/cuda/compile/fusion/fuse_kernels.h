// Fuses kernels of a lowered graph. C++20.
#pragma once
#include "backends/cuda/compile/fusion/kernel_list.h"

namespace wick::cuda {

// The rules in the order in which they run. Each sees what the earlier ones have left.

/// Parts of a larger tensor: if a kernel only copies the results of other kernels into one buffer (a cat, a region that
/// is replaced), those kernels store them there themselves. If others read a part too, its kernel stores it twice.
///   before: a[i] = f(i)  |  b[i] = g(i)  |  y[i] = i < n ? a[i] : b[i - n]
///   after:  y[i] = f(i)  |  y[n + i] = g(i)
/// The copy stays for elements of y that no such kernel computes. It stays as a whole if a map that reads it can be
/// fused with it.
void place_parts(KernelList& kernels);

/// Two kernels that reduce the columns of the same rows, if only the second one reads the results of the first one,
/// each row its own: `silu(x * gate) * (x * up)`.
///   before: a[n] = sum_k f(n, k)  |  b[n] = g(sum_k h(n, k), a[n])
///   after:  b[n] = g(sum_k h(n, k), sum_k f(n, k))
/// Not for kernels by tiles: these have one sum of products each.
void join_sums(KernelList& kernels);

/// Two maps over equal loops, if the second one reads of the first one's results only those of its own thread.
///   before: c[n] = f(n)  |  h[n] = g(c[n], n)
///   after:  one kernel stores both; c only if others read it
void chain_maps(KernelList& kernels);

/// Maps that read the results of a reduction. An element may need the results of up to four rows; each row of the new
/// kernel then reduces as many rows of the old one.
///   before: a[n] = sum_k f(n, k)  |  y[p(n)] = g(a[n], a[n + 32])  |  ..
///   after:  one kernel, which stores y, ..
/// One thread of a row computes the maps, so they must read and write little compared with the columns of the row.
void absorb_readers(KernelList& kernels);

/// A line: the reduced and mapped elements of a single row of a few thousand elements, which up to three kernels read.
/// Each block of these kernels computes it again. This saves a launch, and the blocks read the line's operands from the
/// same cache as they would read the line.
///   before: y[k] = norm of x[k]  |  b[n] = sum_k y[k] * w[n, k]
///   after:  each block of b computes y in shared memory
void add_prologues(KernelList& kernels);

/// Maps over equal loops that do not depend on each other, and are so small that the launch takes longest.
///   before: a[i] = f(i)  |  b[i] = g(i)
///   after:  one kernel stores both
void join_maps(KernelList& kernels);

/// Matmuls of one row with packed integers that follow each other and do not depend on each other: they share a launch.
///   before: q[n] = ..  |  k[n] = ..  |  v[n] = ..
///   after:  one launch of the blocks of all three
void put_beside(KernelList& kernels);

void fuse_kernels(LoweredGraph& graph);

}  // namespace wick::cuda
