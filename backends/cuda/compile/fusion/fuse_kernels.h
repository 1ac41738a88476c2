// Kernels of a lowered graph that become one. C++20.
#pragma once
#include "backends/cuda/compile/fusion/kernel_list.h"

namespace wick::cuda {

// Rules are in the order in which they run: each finds what those before it have left.

/// What a kernel only copies, from buffers of several others to one, those store there themselves: the parts of a cat,
/// a region of a tensor that is replaced. If others read a part too, its kernel stores it twice.
///   before: a[i] = f(i)  |  b[i] = g(i)  |  y[i] = i < n ? a[i] : b[i - n]       after: y[i] = f(i)  |  y[n + i] =
///   g(i)
/// The copy stays for the other elements of y, and as a whole if a map that reads those can become part of it.
void place_parts(KernelList& kernels);

/// Two kernels reduce columns of the same rows, and only the second one reads what the first one stores, each row its
/// own: `silu(x * gate) * (x * up)`.
///   before: a[n] = sum_k f(n, k)  |  b[n] = g(sum_k h(n, k), a[n])       after: b[n] = g(sum_k h, sum_k f)
/// Tiles stay: they have one product each.
void join_sums(KernelList& kernels);

/// Of two maps over equal loops, the second one reads what the first one stores, each thread its own elements.
///   before: c[n] = f(n)  |  h[n] = g(c[n], n)       after: one kernel stores both; c only if others read it
void chain_maps(KernelList& kernels);

/// Maps that read elements of the rows that a kernel reduces become part of it. An element may need up to four of the
/// rows: then each row of the new kernel is as many of the old one.
///   before: a[n] = sum_k f(n, k)  |  y[p(n)] = g(a[n], a[n + 32])  |  ..       after: one kernel, which stores y, ..
/// What a map reads and writes is little beside the columns of a row: one thread of a row does it.
void absorb_readers(KernelList& kernels);

/// A line that kernels read, each in its own blocks: its few thousand elements come from the same cache as a line in
/// memory would, and its kernel and the gap behind it are saved.
///   before: y[k] = norm of x[k]  |  b[n] = sum_k y[k] * w[n, k]       after: each block of b computes y in shared
///   memory
void add_prologues(KernelList& kernels);

/// Maps over equal loops that do not depend on each other, and are so small that starting them takes longest.
///   before: a[i] = f(i)  |  b[i] = g(i)       after: one kernel stores both
void join_maps(KernelList& kernels);

/// Products of one row with packed integers that do not depend on each other, and follow each other: blocks of one
/// launch.
///   before: q[n] = ..  |  k[n] = ..  |  v[n] = ..       after: one launch of the blocks of all three
void put_beside(KernelList& kernels);

void fuse_kernels(LoweredGraph& graph);

}  // namespace wick::cuda
