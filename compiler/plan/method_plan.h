// The plan of one method: values, instructions and the memory behind them. Emission turns it into bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/delegate.h"
#include "compiler/ir/graph.h"
#include "compiler/plan/input_numbers.h"
#include "compiler/plan/shared_states.h"

namespace wick::compiler {

/// A block of memory that one or more tensors share: an arena range, or stored bytes.
struct Storage {
  enum class Kind : uint8_t {
    arena,
    constant,
    state,
    none,
    unbounded
  } kind = Kind::arena;     // none: a tensor whose pointer comes at run time; unbounded: from the caller's allocator
  uint64_t size_bytes = 0;  // at upper bounds
  ConstantData data;        // constant: bytes; state: initial value (empty = zeros)
  // Lifetime in instructions, both ends included; states live throughout.
  uint32_t first = 0, last = 0;
  bool used = false;
  uint64_t offset = 0;     // in the arena
  bool shared = false;     // state: lies in the arena that all methods share
  bool on_device = false;  // arena: lies in the one of MethodPlan::device
  std::string label;       // who asked for it, for the memory report
};

struct PlannedTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;      // upper bounds where dynamic, 0 there if unbounded
  std::vector<uint8_t> dim_order;  // one entry per dimension
  bool dynamic = false;
  bool unbounded = false;     // no upper bound, or one of 2^31 elements and more: its storage is `unbounded` or `none`
  uint32_t storage = 0;       // index into MethodPlan::storages
  uint64_t offset_bytes = 0;  // inside the storage
  std::string name;           // fully qualified name of a parameter or buffer
};
struct IndexList {
  enum class Kind : uint8_t { ints, tensors, optional_tensors } kind;
  std::vector<int32_t> items;  // value indices; -1 = None
};
/// One value of the method, in the order of the file.
using PlannedValue =
    std::variant<std::monostate, int64_t, double, bool, std::string, PlannedTensor, IndexList, Reals, Bools>;

struct Instruction {
  enum class Kind : uint8_t { kernel, delegate, move, jump_false, free } kind = Kind::kernel;
  uint32_t op = 0;  // kernel: index into MethodPlan::operators; delegate: into MethodPlan::delegates
  // kernel: value indices; delegate: those of its inputs, then of its outputs; move: from, to; jump_false: condition,
  // destination instruction; free: an unbounded tensor that nobody reads any more
  std::vector<int32_t> args;
  OriginPtr origin;
  std::string check;  // of an instruction that only fails: what did not hold
};

struct Operator {
  std::string name, overload;
};

/// Why a copy is in the program, for explain.
struct CopyReason {
  uint32_t instruction;
  std::string reason;
};

struct MethodPlan {
  std::string name;
  std::vector<PlannedValue> values;
  std::vector<int32_t> inputs, outputs;
  std::vector<Operator> operators;
  std::vector<std::shared_ptr<const Delegate>> delegates;  // in the order of their first call
  std::vector<Instruction> instructions;
  std::vector<Storage> storages;
  std::string in_spec, out_spec;
  // Facts the file keeps for tools:
  std::vector<std::string> input_names;
  std::vector<std::string> input_types;     // text form with symbols, "" for literals
  std::vector<InputNumbers> input_numbers;  // of each input
  std::vector<int32_t> mutated_inputs;      // the leading outputs: which input each belongs to
  std::vector<int32_t> output_leaves;       // leaf number of each output after the mutated inputs
  /// The quantization of inputs, and of outputs after the mutated inputs (quantize/border.h); empty or null: none.
  std::vector<std::shared_ptr<const Quantization>> input_quantization, output_quantization;
  std::string border;  // text of a Border
  SymRanges ranges;
  std::vector<Sym> rules;  // conditions on sizes that the program checks at its start
  std::vector<std::string>
      not_stock;  // operators stock ExecuTorch has no kernel for, or "NAME (why it cannot run the call)"; sorted
  std::vector<std::string> notes;         // of the import, for the user
  std::vector<std::string> prepared_for;  // Target::prepared_for; the file says so
  std::vector<CopyReason> copies;
  std::vector<SharedState> shared_states;
  uint64_t arena_bytes = 0, arena_lower_bound_bytes = 0;
  uint64_t shared_arena_bytes = 0;  // a second arena, the same memory for every method; 0 if there is none
  DeviceTag device;                 // of the last arena; host: no arena is on a device
  uint64_t device_arena_bytes = 0;
};

}  // namespace wick::compiler
