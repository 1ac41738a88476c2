// The engine of XNNPACK: a checked payload as a graph and a runtime of the library. C++17.
#pragma once
#include <xnnpack.h>

#include <memory>
#include <vector>

#include "backends/xnnpack/runtime/engine.h"
#include "backends/xnnpack/runtime/xnn/library_memory.h"
#include "backends/xnnpack/runtime/xnn/operator_times.h"
#include "backends/xnnpack/runtime/xnn/packed_weights.h"
#include "backends/xnnpack/runtime/xnn/shared_resources.h"

namespace wick::xnnpack {

/// Owns what the library needs besides the program's file. bf16 values are fp32 inside.
class LibraryEngine final : public Engine {
 public:
  LibraryEngine() = default;
  ~LibraryEngine() override;
  LibraryEngine(const LibraryEngine&) = delete;
  LibraryEngine& operator=(const LibraryEngine&) = delete;

  Error build(const BackendInit& context, const EngineInput& input, const ValueDims& dims) override;
  EngineFailure reshape(const ValueDims& dims) override;
  EngineFailure bind(Span<const Binding> bindings) override;
  EngineFailure run() override;
  void report_times() override {
    if (times_) times_->report(*tracer_);
  }

 private:
  /// The arguments that stay the same while `build` runs.
  struct Build {
    const BackendInit& context;
    const EngineInput& input;
    const ValueDims& dims;
  };
  /// The images of a convolution over an input quantized at run time, as the library counted them last.
  struct Images {
    uint32_t count, height, width;
  };
  /// The input sizes of a node that keeps pointers, when the library made the pointers last.
  struct Pixels {
    uint32_t height, width, channels;
  };
  Error define_values(const Build& build);
  Error define_value(const Build& build, uint32_t value);
  xnn_status define_tensor(const Build& build, uint32_t value, const PayloadConstants::Bytes& constant);
  Error define_nodes(const Build& build);
  Error define_node(const Build& build, const PayloadNode& node);
  void describe_weights(const Build& build, const PayloadNode& node);
  Error make_runtime(const Build& build);
  Error plan_memory(const Build& build);
  bool keeps_images(const ValueDims& dims);
  bool keeps_channels(const ValueDims& dims);
  bool propagate(const ValueDims& dims);
  uint32_t find_other_shape(const ValueDims& dims) const;

  const Payload* payload_ = nullptr;
  xnn_subgraph_t graph_ = nullptr;                  // while `build` runs
  std::vector<PayloadConstants::Bytes> constants_;  // by value
  std::vector<uint32_t> ids_;                       // by value
  std::vector<uint32_t> externals_;                 // values that are arguments
  std::vector<PayloadNode> defined_;  // what the library's graph consists of, in this order; only for a tracer

  std::unique_ptr<Arena> arena_;  // of the library's descriptions of many nodes
  PackedWeights weights_;
  std::shared_ptr<pthreadpool> pool_;
  std::shared_ptr<xnn_workspace> workspace_;
  xnn_runtime_t runtime_ = nullptr;
  std::vector<Images> images_;
  std::vector<Pixels> pixels_;
  bool lost_pixels_ = false;  // the library stopped while it renewed them
  ValueDims first_dims_;      // where there are images
  std::vector<xnn_external_value> bindings_;
  const Tracer* tracer_ = nullptr;
  std::unique_ptr<OperatorTimes> times_;
};

/// Are the nodes large enough, on average, that handing parts of them to other threads costs less than it saves? Every
/// node waits for all threads: some microseconds, and far more when other processes want the cores.
bool pays_threads(const Payload& payload, const ValueDims& dims);

}  // namespace wick::xnnpack
