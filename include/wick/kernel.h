// How kernels are written, named and passed to the executor. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "wick/evalue.h"
#include "wick/span.h"
#include "wick/status.h"

namespace wick {

/// Splits work over threads. The default context runs everything on the caller's thread.
class Parallelism {
 public:
  using Body = void (*)(void* state, int64_t begin, int64_t end);
  virtual int num_threads() const = 0;
  /// Calls body over disjoint ranges that cover [0, count), each at least `grain` long (but the last), and waits.
  virtual void parallel_for(int64_t count, int64_t grain, Body body, void* state) = 0;

 protected:
  ~Parallelism() = default;
};

/// Counter-based random state of a loaded program: Philox4x32-10 keyed by the seed.
struct RandomState {
  uint64_t seed = 0;
  uint64_t offset = 0;  // blocks consumed
};

/// Which build of the hot loops a kernel may use. `baseline` is plain C++ in one fixed order without contraction. It
/// gives the same bits on every host, and the compiler folds constants with it.
enum class IsaLevel : uint8_t { baseline = 0, avx2 = 1, avx512 = 2 };

class TensorMemory;

/// The services that a kernel may use while it runs: scratch memory, random state, threads, reports of errors.
class KernelContext {
 public:
  /// `memory` (may be null) provides scratch memory for which `temp` is too small.
  KernelContext(Span<uint8_t> temp, RandomState* random, Parallelism* parallelism, IsaLevel isa = IsaLevel::baseline,
                TensorMemory* memory = nullptr)
      : temp_(temp), random_(random), parallelism_(parallelism), memory_(memory), isa_(isa) {}

  /// Reports failure. The first report wins; the kernel should then return. `message` is a literal: what was found and
  /// wanted.
  void fail(Error error, const char* message) {
    if (error_ == Error::Ok) {
      error_ = error;
      message_ = message;
    }
  }
  bool ok() const { return error_ == Error::Ok; }
  Error error() const { return error_; }
  const char* message() const { return message_; }

  /// Scratch memory, uninitialised, valid until the kernel returns. Null (and failed with OutOfResources) if there is
  /// too little.
  void* allocate_temp(size_t size_bytes, size_t alignment = 64);
  template <typename T>
  T* allocate_temp_array(size_t count) {
    return count > SIZE_MAX / sizeof(T)
               ? (fail(Error::OutOfResources, "temp size overflows"), nullptr)
               : static_cast<T*>(allocate_temp(count * sizeof(T), alignof(T) < 64 ? 64 : alignof(T)));
  }
  /// Bytes that one allocate_temp of the default alignment gets without `memory`. Kernels use it to choose block sizes.
  size_t temp_available() const {
    const size_t left = temp_.size() - temp_used_;
    const size_t padding = (0 - reinterpret_cast<uintptr_t>(temp_.data() + temp_used_)) & 63;
    return padding < left ? left - padding : 0;
  }
  /// The most bytes, with alignment padding, that were allocated at one time.
  size_t temp_peak_bytes() const { return temp_peak_; }
  TensorMemory* memory() const { return memory_; }
  RandomState& random() { return *random_; }
  IsaLevel isa() const { return isa_; }
  int num_threads() const { return parallelism_ ? parallelism_->num_threads() : 1; }
  /// fn(begin, end) over disjoint ranges covering [0, count).
  template <typename F>
  void parallel_for(int64_t count, int64_t grain, F&& fn) {
    if (!parallelism_ || count <= grain) {
      if (count > 0) fn(static_cast<int64_t>(0), count);
      return;
    }
    parallelism_->parallel_for(
        count, grain, [](void* state, int64_t begin, int64_t end) { (*static_cast<F*>(state))(begin, end); }, &fn);
  }
  /// Must be called between instructions. Releases temp memory and clears the error.
  void reset() {
    if (memory_) free_scratch();
    temp_used_ = 0;
    error_ = Error::Ok;
    message_ = "";
  }

 private:
  void free_scratch();

  Span<uint8_t> temp_;
  size_t temp_used_ = 0;
  size_t temp_peak_ = 0;
  RandomState* random_;
  Parallelism* parallelism_;
  TensorMemory* memory_;
  IsaLevel isa_;
  Error error_ = Error::Ok;
  const char* message_ = "";
};

/// A kernel reads its inputs from args in schema order. The out tensors follow, then the repeated return slot. The
/// executor checks args against the row's signature, so a kernel need not check tags. It must check dtypes, ranks,
/// sizes and indices. It allocates only through the context. Whatever the values of its arguments, it writes only to
/// its outputs. It changes no tags: only a kernel without out tensors writes a value, the return slot.
using KernelFn = void (*)(KernelContext& context, Span<EValue*> args);

/// One row of a kernel table.
///   name       registry key as stock spells it: "aten::add.out", "aten::copy_", "executorch_prim::et_view.default"
///   signature  one letter per argument, without the return slot; forms of other lengths follow after '|':
///              T tensor   t Tensor?   L Tensor[]   l Tensor?[]   o out tensor   O list of out tensors
///              i int      j int?      s Scalar     r Scalar?     f float        e float?
///              b bool     c bool?     I int[]      J int[]?      F float[]?     B bool[]    S str   Z str?   v any
///              value
struct Kernel {
  const char* name;
  const char* signature;
  KernelFn fn;
};

/// Kernels in order of preference: if two rows have the same name, the first wins.
struct KernelTable : Span<const Kernel> {
  using Span<const Kernel>::Span;
  constexpr KernelTable() = default;
  constexpr KernelTable(Span<const Kernel> rows, const char* facts = "") : Span<const Kernel>(rows), built_for(facts) {}

  /// Facts "KEY=VALUE" about what the kernels are built for, separated by spaces. A key may have several values. A
  /// program that was prepared for another value of the key is refused (docs/formats.md, "Prepared for").
  const char* built_for = "";
};

/// True if args (return slot included) fit `signature`; refreshes the unboxed elements of int lists. Otherwise fails
/// the context with InvalidProgram (count; an output in constant memory; an output with dynamic sizes that is another
/// argument as well), InvalidType (tag) or InvalidState (tensor without memory).
bool check_arguments(KernelContext& context, const char* signature, Span<EValue*> args);

}  // namespace wick
