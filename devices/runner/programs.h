// A program on the device: its file, its methods and their memory. C++17, freestanding.
#pragma once
#include "devices/protocol.h"
#include "devices/runner/stream.h"
#include "wick/method.h"

namespace wick::device {

/// The error of a load or call.
struct Problem {
  ErrorKind kind = ErrorKind::none;
  Error error = Error::Ok;
};

/// Memory that is handed out from its beginning and given back all at once.
class Memory {
 public:
  explicit Memory(Span<uint8_t> all) : all_(all) {}
  void clear() { used_ = 0; }
  size_t left() const { return all_.size() - used_; }
  /// Aligned to 64 bytes. Null if there is too little.
  uint8_t* take(uint64_t size_bytes);
  size_t mark() const { return used_; }
  void back_to(size_t mark) { used_ = mark; }

 private:
  Span<uint8_t> all_;
  size_t used_ = 0;
};

struct LoadSettings {
  uint64_t seed = 0, max_instructions = 0;
  const Tracer* tracer = nullptr;  // of all methods
  uint32_t num_files = 0;
};

class ProgramOnDevice {
 public:
  /// Upper bound of the memory of an input besides its elements.
  static constexpr size_t kInputBytes = 512;
  static constexpr size_t kMaxMethods = 64, kMaxDataFiles = 8;

  ProgramOnDevice(Span<uint8_t> memory, Span<const KernelTable> kernels) : memory_(memory), kernels_(kernels) {}
  /// Drops the last program, then reads the files whose paths the request names. `text` explains a failure.
  Problem load(const LoadSettings& settings, Reader& request, ErrorText& text);
  /// The method, loaded if it was not yet; null, with `problem` and `text`, if there is none or it cannot be loaded.
  Method* method(const char* name, Problem* problem, ErrorText& text);
  /// Memory for inputs, valid until the next call.
  Memory& memory() { return memory_; }

 private:
  Problem read_file(const char* path, Span<const uint8_t>* file, ErrorText& text);
  Problem load_files(const LoadSettings& settings, Reader& request, ErrorText& text);
  Problem reserve_temp(ErrorText& text);
  Problem load_method(size_t index, ErrorText& text);
  Problem reserve(const MethodMeta& meta, MemoryPlan* plan, ErrorText& text);
  Problem bind_outputs(Method& method, ErrorText& text);
  Problem no_memory(const char* what, uint64_t size_bytes, ErrorText& text) const;

  Memory memory_;
  Span<const KernelTable> kernels_;
  LoadSettings settings_;
  Program* program_ = nullptr;
  DataMap* data_ = nullptr;
  size_t num_data_ = 0;
  Span<uint8_t> temp_, shared_;
  Method* methods_[kMaxMethods] = {};
  char path_[kMaxTextBytes];
};

}  // namespace wick::device
