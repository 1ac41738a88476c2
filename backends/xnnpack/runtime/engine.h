// The interface of an engine, which executes a checked payload. The delegate knows nothing else of it. C++17.
#pragma once
#include <memory>
#include <vector>

#include "backends/xnnpack/payload/payload.h"
#include "backends/xnnpack/runtime/live_nodes.h"
#include "backends/xnnpack/runtime/payload_constants.h"
#include "wick/backend.h"

namespace wick::xnnpack {

/// Dims of every value of a payload, as check_payload works them out.
using ValueDims = std::vector<std::vector<uint32_t>>;

/// An engine may read this many bytes beyond the end of an argument that a node reads, and of a constant.
constexpr size_t kReadBeyondBytes = 16;

/// The input of an engine: the live nodes of a checked payload, in their order. Payload and constants outlive the
/// engine; `nodes` is there for `build` only.
struct EngineInput {
  const Payload& payload;
  const LiveNodes& nodes;
  PayloadConstants& constants;
};

/// Memory of an argument of the delegate. bf16 arguments are fp32 here.
struct Binding {
  uint32_t external_id;
  void* data;
};

/// Why an engine could not do what it was asked for. The text is static.
struct EngineFailure {
  Error error = Error::Ok;
  const char* text = "";
  bool failed() const { return error != Error::Ok; }
};

/// The delegate calls `build` once, then `reshape` when sizes change, `bind` when sizes or memory change, and `run`.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Prepares the nodes for `dims`, the largest that there will be: packs weights, takes memory.
  /// Errors: DelegateInvalidCompatibility (a constant is missing or has a wrong size, the engine lacks a node, it works
  /// out other sizes than `dims`), DelegateMemoryAllocationFailed; with text.
  virtual Error build(const BackendInit& context, const EngineInput& input, const ValueDims& dims) = 0;
  /// From now on the values have these dims, which check_payload worked out.
  /// Errors: NotSupported; Internal if the engine works out other sizes. Then `reshape` has to succeed before `bind`.
  virtual EngineFailure reshape(const ValueDims& dims) = 0;
  /// Where all arguments lie until the next call; outputs overlap nothing. Errors: Internal.
  virtual EngineFailure bind(Span<const Binding> bindings) = 0;
  /// Executes the nodes. Allocates nothing. Errors: Internal.
  virtual EngineFailure run() = 0;
  /// Tells the tracer that `build` was given, if any, how long each node of the last run took.
  virtual void report_times() = 0;
};

/// The engine of this build; null if there is no memory.
std::unique_ptr<Engine> make_engine();

}  // namespace wick::xnnpack
