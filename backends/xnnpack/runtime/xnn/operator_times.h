// The library's measurements of its operators, reported by nodes of the payload. C++17.
#pragma once
#include <xnnpack.h>

#include <string>
#include <vector>

#include "backends/xnnpack/payload/payload.h"
#include "wick/method.h"

namespace wick::xnnpack {

/// Which of `nodes` each operator of the library executes: the library has one per node, in their order, but merges
/// some clamps, paddings and copies into their neighbours. Empty if the two lists do not fit. Quadratic only in merges.
std::vector<uint32_t> match_operators(const std::vector<NodeType>& nodes, const std::vector<std::string>& operators);

/// The clock of one delegate. Works for runtimes made with XNN_FLAG_BASIC_PROFILING.
class OperatorTimes {
 public:
  /// `nodes`: those that the runtime was made of, in their order. False if the library says something unexpected.
  bool init(xnn_runtime_t runtime, const std::vector<PayloadNode>& nodes);
  /// After a run: an event per operator. The library counts whole microseconds.
  void report(const Tracer& tracer);

 private:
  struct Operator {
    std::string name;
    const char* kind;
    uint32_t debug_handle;
  };
  xnn_runtime_t runtime_ = nullptr;
  std::vector<Operator> operators_;
  std::vector<uint64_t> times_us_;
};

}  // namespace wick::xnnpack
