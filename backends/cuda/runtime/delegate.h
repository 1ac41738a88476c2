// A delegate: a plan on a device. C++17.
#pragma once
#include <memory>
#include <vector>

#include "backends/cuda/runtime/graph.h"
#include "wick/cuda_backend.h"
#include "wick/device_timer.h"
#include "wick/method.h"

namespace wick::cuda {

class Delegate {
 public:
  Delegate() = default;
  ~Delegate();
  Delegate(const Delegate&) = delete;

  Error load(BackendInit& context, Span<const uint8_t> payload);
  void execute(KernelContext& context, Span<EValue*> args);

 private:
  // load
  Failure open_device(const BackendInit& context);
  Failure load_code(const BackendInit& context);
  Failure load_image(const BackendInit& context, const Module& module);
  Failure find_function(const Kernel& kernel, DriverFunction** function);
  Failure check_parameters(const Kernel& kernel, DriverFunction* function);
  Failure place_buffers(const BackendInit& context);
  Failure place_buffer(const BackendInit& context, size_t index);
  Failure clear_words();
  Failure clear(uint32_t buffer);
  Failure make_events(const BackendInit& context);
  void number_segments();

  // execute
  bool check_arguments(KernelContext& context, Span<EValue*> args);
  bool read_symbols(KernelContext& context, Span<EValue*> args, bool* changed);
  bool check_sizes(KernelContext& context, Span<EValue*> args);
  /// Checks the requirements of a part of a condition or loop; kNone: those of the call.
  Failure check_requirements(uint32_t node, bool is_second) const;
  bool resize_outputs(KernelContext& context, Span<EValue*> args);
  Failure place_arguments(Span<EValue*> args, const CudaStreamScope* scope);
  Failure place_in_staging(Span<EValue*> args);
  Failure reserve_staging();
  Failure check_pointer(const Tensor& tensor, const std::string& what);
  Failure wait_for_last_call(DriverStream* stream);
  Failure place_random(RandomState& random, DriverStream* stream);
  Failure copy_inputs(Span<EValue*> args);
  Failure copy_outputs(Span<EValue*> args);
  Failure run(DriverStream* stream);
  Failure build_graphs(GraphCache::Entry* entry);
  /// Runs nodes `begin` up to `end` of one part. `entry`: their graphs; null: nodes are started one by one.
  Failure run_part(size_t begin, size_t end, GraphCache::Entry* entry, DriverStream* stream);
  /// Runs a part of a condition or loop, if the sizes meet its requirements.
  Failure run_part_of(size_t index, bool is_second, GraphCache::Entry* entry, DriverStream* stream);
  Failure run_segment(size_t begin, size_t end, GraphCache::Entry* entry, DriverStream* stream);
  Failure run_loop(size_t index, GraphCache::Entry* entry, DriverStream* stream);
  Failure read_condition(size_t index, DriverStream* stream, bool* condition);
  size_t end_of_segment(size_t begin, size_t end) const;
  Failure run_each(size_t begin, size_t end, DriverStream* stream);
  Failure run_timed(size_t begin, size_t end, DriverStream* stream);
  Failure report_times(size_t begin, size_t end);
  Failure run_measured(DriverStream* stream);
  Failure add_time(DeviceTimer& timer);
  Failure finish(Span<EValue*> args, const CudaStreamScope* scope, DriverStream* stream);
  Failure read_checks(DriverStream* stream);
  void give_up(KernelContext& context, const Failure& failure, DriverStream* stream);
  void fail(KernelContext& context, const Failure& failure);
  const Tensor& tensor_of(Span<EValue*> args, const Buffer& buffer) const {
    return *args[buffer.space == Space::input ? buffer.index : plan_.inputs.size() + buffer.index]->tensor;
  }
  static bool is_argument(const Buffer& buffer) {
    return buffer.space == Space::input || buffer.space == Space::output;
  }
  std::string what() const;

  static constexpr uint64_t kNotStaged = UINT64_MAX;

  std::shared_ptr<Device> device_;  // outlives the members below
  Plan plan_;
  std::vector<ContentCache<Memory>::Use> constants_;
  std::vector<std::shared_ptr<StateMemory>> states_;
  ContentCache<LoadedModule>::Use module_;
  std::vector<DriverFunction*> functions_;  // of the plan's kernels
  Memory arena_;
  Memory staging_;                  // for arguments in host memory; allocated by the first call that has some
  std::vector<uint64_t> staged_;    // the offset of each such argument in staging_, by buffer, or kNotStaged
  std::vector<bool> is_on_device_;  // by buffer: the argument of this call is in an arena of the device
  std::unique_ptr<WorkList> work_;
  GraphCache graphs_;
  DriverStream* stream_ = nullptr;
  std::shared_ptr<CallOrder> order_;  // that of the session, if the delegate has state
  const Tracer* tracer_ = nullptr;    // null if it wants no times
  std::vector<DriverEvent*> events_;  // before the first node and after each
  uint64_t reported_ns_ = 0;          // in this call
  std::vector<uint32_t> segments_;    // by node: the number of its segment, the longest run of nodes without conditions
  DriverEvent* begin_ = nullptr;      // before the first step of a call, for a DeviceTimer
  DriverEvent* end_ = nullptr;
  bool waits_for_each_ = false;
  bool has_sizes_ = false;
  std::vector<int64_t> symbols_, values_;  // values of formulas
  std::vector<uint64_t> argument_bytes_;   // by buffer
  std::vector<uint32_t> status_;           // words
  uint32_t random_words_[4] = {};          // the seed and the first block that the device has now, lower halves first
  bool has_random_words_ = false;
  char message_[512] = "";
};

}  // namespace wick::cuda
