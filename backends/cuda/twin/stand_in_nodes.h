// Parameters of graph nodes, as callers pass them to the driver, and the operations that they ask for. C++17, part of
// the text of a twin library.
#pragma once
#include "backends/cuda/twin/stand_in_state.h"

namespace wick_stand_in {

/// The layouts of CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D and CUDA_MEMSET_NODE_PARAMS.
struct KernelNode {
  void* function;
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
  void** extra;
};
struct CopyEnd {
  size_t x_bytes, y, z, level;
  unsigned memory_type;
  void* host;
  uint64_t device;
  void *array, *reserved;
  size_t pitch, height;
};
struct CopyNode {
  CopyEnd source, destination;
  size_t width_bytes, height, depth;
};
struct FillNode {
  uint64_t destination;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;
};

/// Reads as many parameters as the kernel has.
inline int make_launch(const KernelNode& node, Operation* operation) {
  Function* const function = static_cast<Function*>(node.function);
  const unsigned *grid = node.grid, *block = node.block;
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (!function || threads == 0 || threads > 1024 || block[2] > 64 || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 ||
      grid[1] > 65535 || grid[2] > 65535 || node.shared_bytes > function->max_dynamic_shared_bytes) {
    return invalid_value;
  }
  operation->kind = Operation::launch;
  operation->function = function;
  operation->grid = {grid[0], grid[1], grid[2]};
  operation->block = {block[0], block[1], block[2]};
  operation->shared_bytes = node.shared_bytes;
  const char* sizes = function->kernel->parameter_bytes;
  for (size_t i = 0; sizes[i]; ++i) {
    uint64_t number = 0;
    std::memcpy(&number, node.parameters[i], static_cast<size_t>(sizes[i] - '0'));
    operation->numbers.push_back(number);
  }
  return success;
}

/// Whether one end of a copy describes one row on a device.
inline bool is_row(const CopyEnd& end, size_t width_bytes) {
  constexpr unsigned kDevice = 2;
  constexpr size_t kMaxPitch = INT32_MAX;
  return end.memory_type == kDevice && end.x_bytes == 0 && end.height >= 1 &&
         (end.pitch == 0 || (end.pitch >= width_bytes && end.pitch <= kMaxPitch));
}

inline int make_copy(const CopyNode& node, Operation* operation) {
  if (node.width_bytes == 0 || node.height != 1 || node.depth != 1 || !is_row(node.source, node.width_bytes) ||
      !is_row(node.destination, node.width_bytes)) {
    return invalid_value;
  }
  operation->kind = Operation::copy;
  operation->to = node.destination.device;
  operation->from = node.source.device;
  operation->size_bytes = node.width_bytes;
  return success;
}

inline int make_fill(const FillNode& node, Operation* operation) {
  if (node.element_bytes != 1 || node.value > 255 || node.width == 0 || node.height != 1) return invalid_value;
  operation->kind = Operation::fill;
  operation->to = node.destination;
  operation->value = static_cast<unsigned char>(node.value);
  operation->size_bytes = node.width;
  return success;
}

}  // namespace wick_stand_in
