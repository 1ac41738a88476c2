// A method of a program that a firmware holds. C++17, freestanding.
#pragma once
#include "wick/method.h"

namespace wick {

/// Memory of a packaged method; it belongs to the caller, who keeps it while the method is in use.
struct PackagedMemory {
  Span<uint8_t> arena;    // packaged_arena_bytes: planned arenas, inputs and outputs; 16-byte aligned
  Span<uint8_t> shared;   // buffers that methods of a program share (kSharedArena); empty if they share nothing
  Span<uint8_t> state;    // Method::required_bytes; 16-byte aligned
  Span<uint8_t> scratch;  // of kernels, while they run; 64-byte aligned
};

/// Bytes of PackagedMemory::arena. `shares`: arena kSharedArena is not part of it.
uint64_t packaged_arena_bytes(const MethodMeta& meta, bool shares);

/// A program that was checked when the package was written. A variable of static storage needs no code to initialise
/// it.
class PackagedProgram {
 public:
  /// `checked`: the digest (common/digest.h) of a file that Program::load took. Errors, with text in `text`:
  /// InvalidProgram (the bytes are others), InvalidArgument (the file does not start at a multiple of 16 bytes).
  Error load(Span<const uint8_t> file, uint64_t checked, ErrorText* text);
  /// Requires: loaded.
  const Program& get() const { return *reinterpret_cast<const Program*>(storage_); }

 private:
  alignas(Program) uint8_t storage_[sizeof(Program)] = {};
};

/// A variable of static storage needs no code to initialise it. Not movable.
class PackagedMethod {
 public:
  static constexpr size_t kMaxTextBytes = 128, kMaxArenas = 8;

  /// Loads the method anew; its state is lost. Errors: those of Method::load, OutOfResources (memory is too small, or
  /// there are more than kMaxArenas arenas), InvalidArgument (memory is null or misaligned). Then it is not loaded.
  Error load(const MethodMeta& meta, const PackagedMemory& memory, Span<const KernelTable> kernels);
  /// Where to write the elements of a tensor input before each run. Null if there is no such input, or if it is no
  /// tensor: numbers keep the values that they had when the model was exported.
  void* input(size_t index);
  /// Sets the sizes of an input whose sizes may change, for the following runs. Errors: those of resize,
  /// InvalidArgument (null or misaligned sizes, no such input), InvalidState (not loaded).
  Error set_input_sizes(size_t index, const int32_t* sizes);
  /// Runs with the elements that the inputs hold. The run reuses their memory for other values. Errors: those of
  /// Method::execute.
  Error run();
  /// Elements of a tensor, or the int64_t, double or bool of a number; null before a run.
  const void* output(size_t index) const;
  /// The `rank` sizes of a tensor; null for a number.
  const int32_t* output_sizes(size_t index) const;
  /// The message of the last call that failed; "" if none did.
  const char* error_text() const { return text_; }

 private:
  Method* method() { return reinterpret_cast<Method*>(storage_); }
  const Method* method() const { return reinterpret_cast<const Method*>(storage_); }
  Error bind_inputs(Span<uint8_t>* rest);
  Error bind_outputs(Span<uint8_t>* rest);
  Error set_inputs();
  Error fail(Error error, const char* message);

  alignas(Method) uint8_t storage_[sizeof(Method)] = {};
  Span<uint8_t> planned_[kMaxArenas];
  uint8_t* own_inputs_ = nullptr;  // of inputs without memory in the plan, one after the other
  bool loaded_ = false;
  char text_[kMaxTextBytes] = {};
};

/// Their sizes where pointers have 32 bits.
constexpr size_t kPackagedProgramBytes32 = 32, kPackagedMethodBytes32 = 204;
static_assert(sizeof(void*) != 4 || sizeof(PackagedProgram) == kPackagedProgramBytes32, "another size");
static_assert(sizeof(void*) != 4 || sizeof(PackagedMethod) == kPackagedMethodBytes32, "another size");

}  // namespace wick
