// A method whose shapes and calls never change: tables that `wick package` writes take the place of loading. C++17,
// freestanding.
#pragma once
#include "wick/error_text.h"
#include "wick/kernel.h"

namespace wick {

/// A tensor: its shape, and where its elements are.
struct FixedTensor {
  DType dtype;
  uint8_t rank;
  bool constant;     // in the program's bytes; else in the arena
  bool initialized;  // in the arena, and loading copies the program's bytes at `initial` there
  uint32_t numel;
  uint32_t offset, initial;
  const int32_t *sizes, *strides;
  const uint8_t* dim_order;
};

/// A value that is no tensor: integer, boolean or real; else `data` with `size` items.
struct FixedConstant {
  constexpr FixedConstant() = default;
  constexpr FixedConstant(int64_t value) : tag(Tag::integer), integer(value) {}
  constexpr FixedConstant(bool value) : tag(Tag::boolean), integer(value ? 1 : 0) {}
  constexpr FixedConstant(double value) : tag(Tag::real), real(value) {}
  constexpr FixedConstant(Tag list, const void* items, uint32_t count) : tag(list), size(count), data(items) {}

  Tag tag = Tag::none;
  uint32_t size = 0;
  union {
    int64_t integer = 0;
    double real;
    const void* data;  // an IntListValue, or items
  };
};

/// A call of a kernel. `kernel` numbers the rows of all tables, one table after the other.
struct FixedCall {
  uint16_t kernel, first_arg, num_args;
};

/// The constant part of a method. It was checked when the package was written.
struct FixedTables {
  static constexpr uint16_t kNoTensor = UINT16_MAX;

  Span<const FixedTensor> tensors;
  Span<const FixedConstant> constants;
  Span<const FixedCall> calls;
  const uint16_t* args;                  // of all calls: indices of tensors; constants are numbered after them
  Span<const uint16_t> inputs, outputs;  // tensors, or kNoTensor
  const uint8_t* bytes;                  // of the program
};

/// Memory of a fixed method; it belongs to the caller, who keeps it while the method is in use.
struct FixedMemory {
  Span<uint8_t> arena;    // 16-byte aligned
  Span<uint8_t> state;    // FixedMethod::state_bytes, 16-byte aligned
  Span<uint8_t> scratch;  // of kernels, while they run; 64-byte aligned
};

/// A variable of static storage needs no code to initialise it.
class FixedMethod {
 public:
  static constexpr size_t kMaxTextBytes = 128, kMaxArgs = 32;
  static constexpr size_t state_bytes(size_t num_tensors, size_t num_constants) {
    return ((num_tensors + num_constants) * sizeof(EValue) + num_tensors * sizeof(Tensor) + 15) / 16 * 16;
  }

  /// Sets the initial state. Borrows the tables and kernels. Errors: InvalidArgument (memory is null or misaligned),
  /// OutOfResources (too small); then the method is not loaded.
  Error load(const FixedTables& tables, const FixedMemory& memory, Span<const KernelTable> kernels);
  /// As PackagedMethod::input. Also null if the method is not loaded.
  void* input(size_t index) const { return elements(tables_.inputs, index); }
  const void* output(size_t index) const { return elements(tables_.outputs, index); }
  /// Errors: InvalidState (not loaded), and those of kernels.
  Error run();
  const char* error_text() const { return text_; }

 private:
  void* elements(Span<const uint16_t> ports, size_t index) const;
  const Kernel& kernel(size_t index) const;
  Error fail(size_t call, Error error, const char* message);

  FixedTables tables_ = {};
  Span<const KernelTable> kernels_;
  EValue* values_ = nullptr;  // tensors, then constants
  Span<uint8_t> scratch_;
  RandomState random_;
  char text_[kMaxTextBytes] = {};
};

/// Its size where pointers have 32 bits.
constexpr size_t kFixedMethodBytes32 = 216;
static_assert(sizeof(void*) != 4 || sizeof(FixedMethod) == kFixedMethodBytes32, "another size");

}  // namespace wick
