// A checked ExecuTorch program (.pte) or external data file (.ptd) in memory. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "wick/error_text.h"
#include "wick/evalue.h"
#include "wick/span.h"
#include "wick/status.h"
#include "wick/tensor.h"

namespace wick {

// Tables of the file; defined by the schema.
namespace pte {
struct Program;
struct ExecutionPlan;
}  // namespace pte
namespace ptd {
struct FlatTensor;
}

struct LoadOptions {
  ErrorText* text = nullptr;  // where a failure is explained; may be null
};

/// Who provides the bytes of a tensor value.
enum class Storage : uint8_t {
  unbound,   // the caller (inputs, outputs), a view instruction, or an allocator if the shape is unbounded
  constant,  // the program file or a .ptd file
  planned,   // an arena
};

/// A tensor value as the file states it.
struct TensorMeta {
  DType dtype = DType::f32;
  ShapeDynamism dynamism = ShapeDynamism::fixed;
  Storage storage = Storage::unbound;
  bool external = false;     // bytes come from a .ptd file under `name`
  bool initialized = false;  // planned, and filled at load with `bytes` or from a .ptd file
  uint8_t device_type = 0;   // DeviceType of schema/program.fbs
  int8_t device_index = 0;
  uint32_t arena = 0;  // planned: index into the planned arenas
  uint64_t arena_offset = 0;
  size_t numel = 0;
  size_t nbytes = 0;  // at the stored sizes: upper bounds if dynamic, 0 for a size without a bound
  Span<const int32_t> sizes;
  Span<const uint8_t> dim_order;
  Span<const uint8_t> bytes;   // constant or initial bytes inside the program file
  const char* name = nullptr;  // fully qualified name or null
};

/// Any value as the file states it. Lists hold value indices of the same method.
struct ValueMeta {
  Tag tag = Tag::none;
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  Span<const char> string;        // NUL follows
  Span<const int64_t> int_items;  // indices of int values
  Span<const double> reals;
  Span<const bool> bools;
  Span<const int32_t> tensor_items;  // value indices; -1 = None in an optional list
  TensorMeta tensor;
};

enum class InstructionKind : uint8_t { kernel = 1, delegate = 2, move = 3, jump_false = 4, free = 5 };

struct InstructionMeta {
  InstructionKind kind = InstructionKind::free;
  uint32_t target = 0;       // kernel: operator; delegate: delegate; jump_false: instruction; move: value written
  uint32_t value = 0;        // jump_false: condition; move: value read; free: value
  Span<const int32_t> args;  // kernel, delegate: value indices
};

/// Registry key of an operator: `name` if the overload is empty, else "name.overload".
struct OperatorName {
  const char* name = "";
  const char* overload = "";
  bool equals(const char* key) const;
  void append_to(ErrorText& text) const;
};

struct CompileSpec {
  const char* key;
  Span<const uint8_t> value;
};

struct DelegateMeta {
  const char* id = "";
  Span<const uint8_t> payload;
  size_t num_specs = 0;
};

struct FrameMeta {
  const char* filename;  // "" where the file has none
  int32_t line;
  const char* name;
  const char* context;
};

/// Key of the named data that states what a program was prepared for: facts "KEY=VALUE", separated by spaces.
constexpr char kPreparedForKey[] = "wick.prepared_for";

class Program;

/// One method of a loaded program. Indices must be below the matching count. Valid while the program is.
class MethodMeta {
 public:
  MethodMeta(const Program* program, const pte::ExecutionPlan* plan) : program_(program), plan_(plan) {}
  const Program& program() const { return *program_; }
  const char* name() const;
  const char* input_spec() const;  // encoded container structure, "" if absent
  const char* output_spec() const;

  size_t num_values() const;
  ValueMeta value(size_t index) const;
  /// Values without an upper bound.
  size_t num_unbounded() const;
  /// The value's tag alone: cheap.
  Tag tag(size_t index) const;
  size_t num_inputs() const;
  size_t num_outputs() const;
  uint32_t input(size_t index) const;  // value index
  uint32_t output(size_t index) const;
  ValueMeta input_value(size_t index) const { return value(input(index)); }
  ValueMeta output_value(size_t index) const { return value(output(index)); }

  size_t num_arenas() const;
  uint64_t arena_bytes(size_t index) const;
  uint8_t arena_device(size_t index) const;  // DeviceType of schema/program.fbs

  size_t num_operators() const;
  OperatorName op(size_t index) const;
  size_t num_delegates() const;
  DelegateMeta delegate(size_t index) const;
  CompileSpec compile_spec(size_t delegate, size_t index) const;

  size_t num_chains() const;
  size_t num_instructions(size_t chain) const;
  InstructionMeta instruction(size_t chain, size_t index) const;
  /// Python frames of an instruction, innermost last; 0 if the file has none.
  size_t num_frames(size_t chain, size_t instruction) const;
  FrameMeta frame(size_t chain, size_t instruction, size_t index) const;
  /// For an instruction that can only fail: the condition that is violated when it is reached. Null for all others.
  const char* check_message(size_t chain, size_t instruction) const;

 private:
  const Program* program_;
  const pte::ExecutionPlan* plan_;
};

/// A program in which every offset, index, size and range was checked. Borrows the file, which must outlive it.
class Program {
 public:
  /// `file` starts at a multiple of 16 bytes.
  /// Errors: InvalidArgument (misaligned, bad range), InvalidProgram (corrupt), NotSupported, MemoryAllocationFailed
  /// (a tensor exceeds its arena), NotFound (a segment or payload is missing). No allocation.
  static Result<Program> load(Span<const uint8_t> file, const LoadOptions& options = {});
  /// Requires: load() took a file with exactly these bytes; `file` starts at a multiple of 16 bytes. Checks nothing.
  static Program checked_before(Span<const uint8_t> file);

  size_t num_methods() const;
  MethodMeta method(size_t index) const;
  /// NotFound if no method has this name.
  Result<MethodMeta> find_method(const char* name) const;

  size_t num_segments() const;
  Span<const uint8_t> segment(size_t index) const;
  /// Blobs for delegates, by key.
  size_t num_named_data() const;
  const char* named_data_key(size_t index) const;
  Span<const uint8_t> named_data(size_t index) const;
  Result<Span<const uint8_t>> find_named_data(const char* key) const;

  Span<const uint8_t> file() const { return file_; }
  /// Bytes of the tables, header included.
  uint64_t tables_bytes() const { return tables_bytes_; }
  uint64_t segment_base() const { return segment_base_; }
  const pte::Program* root() const { return root_; }

 private:
  Program() = default;
  Span<const uint8_t> file_;
  uint64_t tables_bytes_ = 0;
  uint64_t segment_base_ = 0;
  const pte::Program* root_ = nullptr;
};

/// Named tensors outside the program (.ptd). Borrows the file.
class DataMap {
 public:
  /// Errors: InvalidArgument (misaligned), InvalidExternalData (corrupt). No allocation.
  static Result<DataMap> load(Span<const uint8_t> file, const LoadOptions& options = {});

  struct Entry {
    const char* key = "";
    bool is_tensor = false;  // else an opaque blob
    DType dtype = DType::u8;
    Span<const int32_t> sizes;
    Span<const uint8_t> dim_order;
    Span<const uint8_t> bytes;
  };
  size_t size() const;
  Entry entry(size_t index) const;
  /// NotFound if there is none.
  Result<Entry> find(const char* key) const;

 private:
  DataMap() = default;
  Span<const uint8_t> file_;
  uint64_t segment_base_ = 0;
  bool sorted_ = false;  // by key
  const ptd::FlatTensor* root_ = nullptr;
};

}  // namespace wick
