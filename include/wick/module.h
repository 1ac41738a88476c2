// A program with its memory, ready to be called: the convenient interface for machines with an operating system. C++17.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "wick/bundled_program.h"
#include "wick/method.h"

namespace wick {

/// Row-major elements that own their memory.
struct HostTensor {
  DType dtype = DType::f32;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> bytes;
};

/// An input or output of a method.
struct HostValue {
  Tag tag = Tag::none;  // none, tensor, integer, real, boolean or string
  HostTensor tensor;
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::string string;

  HostValue() = default;
  HostValue(HostTensor t) : tag(Tag::tensor), tensor(std::move(t)) {}
  static HostValue of_int(int64_t v) {
    HostValue h;
    h.tag = Tag::integer;
    h.integer = v;
    return h;
  }
  static HostValue of_real(double v) {
    HostValue h;
    h.tag = Tag::real;
    h.real = v;
    return h;
  }
  static HostValue of_bool(bool v) {
    HostValue h;
    h.tag = Tag::boolean;
    h.boolean = v;
    return h;
  }
};

struct ModuleOptions {
  std::vector<KernelTable> kernels;  // searched in order; the operators on plain numbers are always there
  std::vector<const Backend*> backends;
  std::vector<std::string> data_paths;  // .ptd files
  int num_threads = 1;                  // 0: the physical cores that affinity and CPU quota leave to the process
  IsaLevel max_isa = IsaLevel::avx512;  // used if the machine's own level, or WICK_CPU's, is not lower
  uint64_t seed = 0;
  uint64_t max_instructions = 10'000'000;
  uint64_t max_memory_bytes = uint64_t{16} << 30;    // host memory for all of one method: arenas, outputs,
                                                     // scratch, delegates, values without an upper bound
  uint64_t max_unbounded_bytes = uint64_t{4} << 30;  // the part of it for all values without an upper bound together
  std::string device;                                // DelegateOptions::device
  bool allow_device_code = true;                     // DelegateOptions::allow_device_code
  const Tracer* tracer = nullptr;
};

/// Bytes that a module keeps for a method besides its file: arenas, outputs outside the arenas, and scratch memory
/// (twice the largest tensor). Values without an upper bound do not count, nor do arenas on a device of one of
/// `backends`. Saturates at the largest uint64.
uint64_t memory_bytes(const MethodMeta& method, Span<const Backend* const> backends = {});

struct ModuleError {
  Error code = Error::Ok;
  std::string message;
  ErrorKind kind = ErrorKind::none;
};

/// Loads methods on first use and keeps their state (mutable buffers) between calls. A module is one session
/// (DelegateOptions): its methods share the state that delegates hold. Each method has its own arenas,
/// zeroed at load. Use it from one thread at a time.
class Module {
 public:
  /// Maps the file: a .pte, or a .bpte, whose program it takes. Null, with `error` filled in, if the file cannot be
  /// read or is not a valid program.
  static std::unique_ptr<Module> load(const std::string& path, const ModuleOptions& options, ModuleError* error);
  /// Copies the bytes of such a file.
  static std::unique_ptr<Module> load(Span<const uint8_t> bytes, const ModuleOptions& options, ModuleError* error);
  ~Module();

  const Program& program() const;
  /// The test sets of a .bpte; null for a .pte.
  const BundledProgram* bundled() const;
  IsaLevel isa() const;
  /// The method, loaded if it was not yet; null on error. Owned by the module.
  Method* method(const std::string& name, ModuleError* error);
  /// Runs a method; `outputs` is replaced. False on error, which names the instruction.
  bool execute(const std::string& method, const std::vector<HostValue>& inputs, std::vector<HostValue>* outputs,
               ModuleError* error);
  bool forward(const std::vector<HostValue>& inputs, std::vector<HostValue>* outputs, ModuleError* error) {
    return execute("forward", inputs, outputs, error);
  }

 private:
  struct State;
  explicit Module(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wick
