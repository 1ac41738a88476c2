// A checked payload built with the library: its constants, its graph, its runtime. C++17.
#pragma once
#include <xnnpack.h>

#include <list>
#include <memory>
#include <vector>

#include "backends/xnnpack/payload/payload.h"
#include "backends/xnnpack/runtime/operator_times.h"
#include "backends/xnnpack/runtime/packed_weights.h"
#include "backends/xnnpack/runtime/shared_resources.h"
#include "backends/xnnpack/runtime/xnn/library_memory.h"
#include "wick/backend.h"

namespace wick::xnnpack {

using Dims = std::vector<std::vector<uint32_t>>;

/// Owns what the library needs besides the program's file, which must outlive it. bf16 values are fp32 inside.
class LibraryGraph {
 public:
  LibraryGraph() = default;
  ~LibraryGraph();
  LibraryGraph(const LibraryGraph&) = delete;
  LibraryGraph& operator=(const LibraryGraph&) = delete;

  /// Builds what `payload` says; `dims` are those that check_payload worked out. Constants stay where they are unless
  /// they are misaligned, end where reading on is no safe thing, or are widened.
  /// Errors: DelegateInvalidCompatibility (a constant is missing or has a wrong size, or the library refuses a node),
  /// DelegateMemoryAllocationFailed; with text.
  Error build(const BackendInit& context, const Payload& payload, const Dims& dims);
  xnn_runtime_t runtime() const { return runtime_; }
  /// Does a node read this value?
  bool is_read(uint32_t value) const { return is_read_[value]; }
  /// Tells of the last run; nothing unless a tracer asked for it when the graph was built.
  void report_times() {
    if (times_) times_->report(*tracer_);
  }

 private:
  struct Constant {
    Span<const uint8_t> bytes;
    bool resolved = false;
  };
  Error resolve(uint32_t index, Span<const uint8_t>* bytes);
  Error constant_data(uint32_t value, Span<const uint8_t>* bytes);
  Error scale_data(uint32_t value, uint64_t count, size_t element_bytes, Span<const uint8_t>* bytes);
  Span<const uint8_t> safe_to_read(Span<const uint8_t> bytes, size_t alignment);
  Span<uint8_t> own(size_t size_bytes);
  void select_nodes();
  uint32_t representative(uint32_t value) const;
  bool same_storage(uint32_t a, uint32_t b) const;
  Error define_value(uint32_t value);
  xnn_status define_quantized(uint32_t value, const size_t* dims, const void* data, uint32_t external_id,
                              uint32_t flags);
  Error define_nodes();
  Error define_node(const PayloadNode& node);
  void describe_weights(const PayloadNode& node);
  Error fail_node(const PayloadNode& node, xnn_status status);
  size_t bytes_of_constants() const;
  Error make_runtime();
  Error fail_value(uint32_t value, const char* message);

  const BackendInit* context_ = nullptr;  // while build runs
  const Payload* payload_ = nullptr;
  const Dims* dims_ = nullptr;
  xnn_subgraph_t graph_ = nullptr;
  std::vector<Constant> constants_;
  std::vector<Span<const uint8_t>> data_, scales_;  // by value
  std::vector<bool> is_live_;                       // by node
  std::vector<bool> is_read_, is_written_;          // by value: live nodes do
  std::vector<uint32_t> alias_, ids_;               // by value
  std::vector<PayloadNode> defined_;  // what the library's graph consists of, in this order; only for a tracer

  std::list<std::vector<uint8_t>> owned_;
  std::unique_ptr<Arena> arena_;  // of the library's descriptions of many nodes
  PackedWeights weights_;
  std::shared_ptr<pthreadpool> pool_;
  std::shared_ptr<xnn_workspace> workspace_;
  xnn_runtime_t runtime_ = nullptr;
  const Tracer* tracer_ = nullptr;
  std::unique_ptr<OperatorTimes> times_;
};

/// Are the nodes large enough, on average, that handing parts of them to other threads costs less than it saves? Every
/// node waits for all threads: some microseconds, and far more when other processes want the cores.
bool pays_threads(const Payload& payload, const Dims& dims);

/// May the library read XNN_EXTRA_BYTES beyond the end of this memory?
bool can_read_beyond(const void* data, size_t size_bytes);

}  // namespace wick::xnnpack
