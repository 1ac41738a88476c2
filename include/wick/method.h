// A method of a program, bound to kernels, delegates and memory, ready to run. C++17, freestanding.
#pragma once
#include "wick/backend.h"
#include "wick/error_kind.h"
#include "wick/kernel.h"
#include "wick/program.h"
#include "wick/tensor_memory.h"

namespace wick {

/// Memory of a method. It belongs to the caller, and nothing else may touch it while the method lives.
struct MemoryPlan {
  Span<uint8_t> method;               // Method::required_bytes and what the delegates ask for; 16-byte aligned
  Span<const Span<uint8_t>> planned;  // one per arena, at least arena_bytes(i), 16-byte aligned, zeroed before load;
                                      // for arena_device(i) != 0 what Backend::allocate_arena gave, not zeroed
  Span<uint8_t> temp;                 // scratch of kernels
};

/// One instruction as hooks and errors see it.
struct InstructionInfo {
  uint32_t chain = 0;
  uint32_t index = 0;
  InstructionKind kind = InstructionKind::kernel;
  OperatorName op;           // kernel: its operator; delegate: name = backend id
  Span<EValue* const> args;  // kernel, delegate
};

/// Called around each instruction; `end` is also called if the instruction failed. `delegate_event`, if not null, is
/// called in between for each piece of work inside a delegate, if the backend can report these. Asking for this may
/// cost time.
struct Tracer {
  void (*begin)(void* state, const InstructionInfo& instruction);
  void (*end)(void* state, const InstructionInfo& instruction, Error error);
  void* state;
  void (*delegate_event)(void* state, const DelegateEvent& event) = nullptr;
};

struct MethodOptions {
  Span<const KernelTable> kernels;  // searched in order
  Span<const Backend* const> backends;
  Span<const DataMap> data;           // .ptd files, searched in order
  TensorMemory* unbounded = nullptr;  // memory of values without an upper bound; of this method only, outlives it
  Parallelism* parallelism = nullptr;
  IsaLevel isa = IsaLevel::baseline;
  uint64_t seed = 0;                         // for random operators
  uint64_t max_instructions = 10'000'000;    // per execution
  uint64_t max_delegate_bytes = UINT64_MAX;  // limit of the memory that delegates take besides the method arena
  DelegateOptions delegates;
  const Tracer* tracer = nullptr;  // must outlive the method
  ErrorText* text = nullptr;       // where a failed load is explained; used during load only
  ErrorKind* kind = nullptr;       // its kind; likewise
};

/// The error of the last call that failed. Strings are literals or lie in the program.
struct MethodError {
  Error error = Error::Ok;
  bool in_instruction = false;
  InstructionInfo instruction;  // if in_instruction
  const char* message = "";
  ErrorKind kind() const;
  void append_to(ErrorText& text) const;
};

/// Executes without allocating, unless the method has values without an upper bound: these take memory from
/// MethodOptions::unbounded. Use it from one thread at a time. Not copyable; movable.
class Method {
 public:
  /// Bytes of method arena that `method` takes, delegates aside.
  static size_t required_bytes(const MethodMeta& method);
  /// Errors: OperatorMissing (all of them are named), NotFound (a backend: all are named), MemoryAllocationFailed (an
  /// arena is too small), InvalidArgument (misaligned memory), InvalidExternalData, NotSupported (values without an
  /// upper bound, but no MethodOptions::unbounded), or the error of a backend. The program, its file and all tables
  /// must outlive the method.
  static Result<Method> load(const MethodMeta& method, const MemoryPlan& memory, const MethodOptions& options);
  Method(Method&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  ~Method();

  const MethodMeta& meta() const;
  /// Sets an input for the next execution. A tensor must have the input's dtype, rank and layout, and a shape within
  /// its bounds; its bytes are copied if the input is planned, else shared until the execution ends. Other values must
  /// equal the ones the method was exported with (doubles: |a - b| <= 1e-4 + 1e-5 |b|). Errors: InvalidArgument,
  /// InvalidType, NotSupported (another shape of a fixed input), OutOfResources (beyond the bounds).
  Error set_input(size_t index, const EValue& value);
  Error set_input(size_t index, const Tensor& tensor);
  /// A planned tensor input, to be written in place; counts as set. Null if the input has no memory of its own.
  Tensor* input_in_place(size_t index);
  /// Gives memory to an output that has no planned memory. It stays until changed. InvalidArgument if the output has
  /// its own memory, or if `size_bytes` is below the tensor's upper bound.
  Error set_output_memory(size_t index, void* data, size_t size_bytes);

  /// Runs all instructions. Every tensor input must have been set since the last execution, because its memory is
  /// reused. After an error, outputs and state are undefined.
  Error execute();
  /// Valid until the next execution.
  const EValue& output(size_t index) const;
  /// Any value, for inspection between instructions.
  const EValue& value(size_t index) const;
  const MethodError& last_error() const;
  /// The most bytes of MemoryPlan::temp that a kernel took in any execution so far.
  size_t temp_peak_bytes() const;

  struct State;

 private:
  explicit Method(State* state) : state_(state) {}
  State* state_;
};

}  // namespace wick
