// The nodes of a plan with the values of one call: addresses, grids, sizes. C++17.
#pragma once
#include <vector>

#include "backends/cuda/payload/plan.h"
#include "backends/cuda/runtime/device.h"

namespace wick::cuda {

/// A node, ready for the driver.
struct Work {
  NodeKind kind = NodeKind::launch;
  DriverFunction* function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  size_t first_argument = 0;
  uint64_t size_bytes = 0;         // copy, fill: bytes; repeat: rounds
  bool is_empty = false;           // has nothing to do
  bool touches_arguments = false;  // accesses arguments of the delegate: its parameters change with their addresses
};

class WorkList {
 public:
  /// Keeps references: both arguments must outlive the list. `functions`: one for each kernel.
  WorkList(const Plan& plan, const std::vector<DriverFunction*>& functions);

  /// The address of a buffer. Takes effect with the next update.
  void set_address(size_t buffer, DevicePtr address) { addresses_[buffer] = address; }
  DevicePtr address(size_t buffer) const { return addresses_[buffer]; }
  /// Computes everything again. `values`: those of the formulas.
  void update(Span<const int64_t> values);
  /// Computes addresses again in nodes that access arguments of the delegate.
  void update_arguments(Span<const int64_t> values);
  /// Whether each access to an argument of the delegate is inside it. `bytes`: the current size of each buffer.
  bool arguments_fit(Span<const uint64_t> bytes, Span<const int64_t> values) const;

  size_t size() const { return work_.size(); }
  const Work& operator[](size_t index) const { return work_[index]; }
  KernelNodeParams kernel_params(size_t index);
  MemcpyParams copy_params(size_t index) const;
  MemsetParams fill_params(size_t index) const;
  /// The address of the byte that a condition or loop depends on.
  DevicePtr condition(size_t index) const { return numbers_[work_[index].first_argument]; }
  /// Starts the node (a launch, copy or fill) on a stream.
  DriverStatus start(const Driver& driver, size_t index, DriverStream* stream);
  /// "node 3, kernel 'scale'".
  std::string text_of(size_t index) const;

 private:
  void update_node(size_t index, Span<const int64_t> values);

  const Plan& plan_;
  std::vector<Work> work_;
  std::vector<DevicePtr> addresses_;  // of buffers
  std::vector<uint64_t> numbers_;     // arguments of all nodes; an int32 is in the first half
  std::vector<void*> parameters_;     // the addresses of numbers_, as the driver takes them
};

}  // namespace wick::cuda
