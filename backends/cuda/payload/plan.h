// The plan of a CUDA delegate: device code, buffers, and a list of launches with their dependencies. C++17, both
// halves. Format: docs/formats.md, "CUDA payload".
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "wick/dtype.h"
#include "wick/error_text.h"
#include "wick/span.h"
#include "wick/status.h"

namespace wick::cuda {

constexpr char kBackendId[] = "WickCudaBackend";
constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kMaxRank = 8;
/// Offsets of buffers in the arena are multiples of this; each buffer of the state begins at such an address.
constexpr uint64_t kBufferAlignment = 256;
/// The runtime passes inputs and outputs that begin at multiples of this, and refuses others.
constexpr uint64_t kArgumentAlignment = 16;
/// The most bytes of one buffer, and of a space.
constexpr uint64_t kMaxBytes = uint64_t{1} << 46;
/// Limits of a block that every device of compute capability 8.0 or newer has: threads, and threads along z.
constexpr uint32_t kMaxBlockThreads = 1024, kMaxBlockDepth = 64;
constexpr uint32_t kMaxGridX = INT32_MAX, kMaxGridYZ = 65535;
constexpr uint32_t kMaxSharedBytes = 227 << 10;
constexpr uint32_t kMaxParameterBytes = 4096;
/// Bytes of the buffer that holds the state of the random numbers (Plan::random_buffer).
constexpr uint64_t kRandomBytes = 16;
/// The most conditions and loops inside each other.
constexpr size_t kMaxNesting = 16;
/// The most numbers on the stack while a formula is computed.
constexpr size_t kMaxFormulaDepth = 32;

/// A number that is known when the delegate is called: a size of an input. The input's formula for that size is just
/// this symbol.
struct Symbol {
  std::string name;  // "s0"
  int64_t min = 0, max = 0;
  uint32_t input = 0, dim = 0;  // it is size `dim` of input `input`
};

enum class FormulaOp : uint8_t {
  constant,  // pushes `value`
  symbol,    // pushes symbol number `value`
  add,       // this and the following replace the two numbers on top by one
  multiply,
  floor_divide,  // rounded down
  modulo,        // with the sign of the divisor
  minimum,
  maximum,
  equal,  // comparisons and logic give 0 or 1
  not_equal,
  less,
  less_equal,
  logical_and,
  logical_or,
  logical_not,  // replaces one number
  select,       // replaces (condition, then, else)
};

struct FormulaStep {
  FormulaOp op = FormulaOp::constant;
  int64_t value = 0;
};

/// An integer computed from symbols by a stack machine. At the end one number is on the stack.
using Formula = std::vector<FormulaStep>;

/// The memory of a buffer. Each output has one buffer, each input at most one.
enum class Space : uint8_t {
  constant,  // read-only, filled at load from named data; shared by all delegates with equal bytes
  state,     // kept between calls, one copy per session; starts as zeros or as `data`
  arena,     // of one call: intermediates and workspaces
  input,     // memory of input `index`
  output,    // memory of output `index`
};

struct Buffer {
  Space space = Space::arena;
  uint64_t size_bytes = 0;  // arena: upper bound; input, output: upper_bytes(); else exact
  uint64_t offset = 0;      // arena: where it begins; else 0. States have none: methods share them one by one
  uint32_t index = 0;       // number of the input or output; else 0
  std::string data;         // constant, state: key of the named data, which has size_bytes bytes; state: "" = zeros
  std::string state;        // state: its name in the model; delegates of one session share state by name
};

/// A tensor as the caller passes it. Contiguous in `dim_order`.
struct Interface {
  DType dtype = DType::f32;
  std::vector<uint32_t> sizes;     // formulas, one per dimension, 0 .. 2^31 - 1
  std::vector<uint8_t> dim_order;  // outermost first
};

/// Device code for one kind of device. All modules hold the same kernels.
struct Module {
  uint32_t architecture = 0;  // 90: runs on devices of compute capability 9.x with x >= 0
  bool is_ptx = false;        // compiled by the driver: any device of at least that capability
  std::string data;           // key of the named data
  bool is_exact = false;      // a cubin for devices of exactly that capability (sm_90a)
};

enum class ParameterKind : uint8_t { pointer, int32, int64 };

/// The units of a device that limit a kernel's sums and products: `wick explain` predicts times from them.
enum class Arithmetic : uint8_t {
  f32,
  f64,
  matrix_f16,        // matrix instructions with factors of 16 bits and sums in f32
  matrix_tf32,       // the same with factors of f32 that are rounded to TF32
  matrix_warpgroup,  // as matrix_f16, by instructions of four warps
};

struct Kernel {
  std::string name;      // in the module
  std::string schedule;  // how threads share the work, for reports: "warp per row"
  Arithmetic arithmetic = Arithmetic::f32;
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<ParameterKind> parameters;
  bool has_barriers = false;  // threads of a block wait for each other
};

struct Argument {
  ParameterKind kind = ParameterKind::pointer;
  uint32_t index = 0;       // pointer: a buffer; integers: a formula
  uint32_t offset = kNone;  // pointer: a formula for the offset in bytes into the buffer; none: 0
  bool writes = false;      // pointer: the kernel writes there; never for constants and inputs
};

enum class NodeKind : uint8_t {
  launch,
  copy,  // copies `size` bytes from arguments[1] to arguments[0], which do not overlap
  fill,  // sets `size` bytes at arguments[0] to `value`
  // Conditions and loops. The nodes after one belong to it, in two parts: up to `first_end`, and from there to
  // `second_end`.
  choose,  // runs one part: the first if the byte at arguments[0] is not 0, else the second
  loop,    // runs the first part, and while the byte at arguments[0] is not 0 then, the second and the first part again
  repeat,  // runs the first part `size` times; there is no second part
};
constexpr bool is_control(NodeKind kind) { return kind >= NodeKind::choose; }

/// One step. It may begin when the nodes in `after`, which belong to the same part of the same node, are done.
struct PlanNode {
  NodeKind kind = NodeKind::launch;
  uint32_t kernel = 0;  // launch
  // launch: formulas for the blocks along x, y, z; if one is 0, nothing happens
  std::array<uint32_t, 3> grid = {0, 0, 0};
  uint32_t size = kNone;                   // copy, fill: a formula for the bytes; repeat: a formula for the rounds
  uint8_t value = 0;                       // fill
  uint32_t first_end = 0, second_end = 0;  // choose, loop, repeat: numbers of later nodes, or the number of nodes
  std::vector<Argument> arguments;
  std::vector<uint32_t> after;    // numbers of earlier nodes, ascending
  uint32_t debug_handle = kNone;  // the node of the model, for profiles
  /// For reports, with all sizes at their upper bounds. Bytes that are read or written more than once count once.
  uint64_t flops = 0, read_bytes = 0, written_bytes = 0;
};

/// A check that depends on data: a kernel sets a bit of the status words if it fails, such as for an index that is out
/// of bounds. Check number n is bit n % 32 of word n / 32.
struct Check {
  std::string message;  // the message of the failed call, with the operator and its place in the model
};

/// A requirement of a node of the model for the sizes: a number must lie within inclusive bounds.
struct Requirement {
  uint32_t found = 0;                  // a formula
  uint32_t low = kNone, high = kNone;  // formulas; none: no bound on this side
  std::string message;                 // the message if it does not, with the operator and its place in the model
  /// If the node is in a branch or body: the condition or loop. The requirement must hold when the part begins that
  /// contains the node. kNone: it must hold in each call.
  uint32_t node = kNone;
  bool is_second = false;
};

struct Plan {
  std::string method;
  uint32_t partition = 0;
  std::string producer;         // the compiler and its version: "wick 0.1.0"
  uint64_t model = 0;           // a hash of the model: equal for programs of equal models
  uint32_t driver_version = 0;  // the oldest driver that takes the modules, as cuDriverGetVersion reports it: 13000
  std::vector<Symbol> symbols;
  std::vector<Formula> formulas;
  std::vector<Buffer> buffers;
  std::vector<Interface> inputs, outputs;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<PlanNode> nodes;
  std::vector<Check> checks;
  /// If the sizes of a call do not meet one, the call fails before anything runs, or before the part runs that has it.
  std::vector<Requirement> requirements;
  /// The arena buffer of the status words (uint32), if there are checks. It shares no byte with other buffers. The
  /// runtime sets it to 0 before the first call, and again after a call in which a kernel has set a bit.
  uint32_t status_buffer = kNone;
  /// The arena buffer of counters (uint32), if there are kernels whose blocks count which of them is the last one of a
  /// tile. It shares no byte with other buffers, and only launches have it as an argument. Each kernel finds its
  /// counters at 0 and leaves them at 0. The runtime sets them to 0 before the first call, and again after a call that
  /// failed.
  uint32_t counters_buffer = kNone;
  /// For plans that draw random numbers. random_buffer: the arena buffer of two u64, the seed and the first block of
  /// the stream (common/random.h) that the call may use. random_blocks: a formula for the blocks that a call takes. The
  /// buffer shares no byte with others, and only the runtime writes it, before each call.
  uint32_t random_buffer = kNone, random_blocks = kNone;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;  // sum over the state buffers, each rounded up to kBufferAlignment
};

/// The plan as bytes (FlatBuffers, plan.fbs). Equal plans give equal bytes.
std::vector<uint8_t> write_plan(const Plan& plan);
/// Reads untrusted bytes and checks everything that executing the plan relies on (check_plan). Memory is proportional
/// to the size of the bytes. Errors, with what was found in `text` (may be null): InvalidProgram;
/// DelegateInvalidCompatibility for bytes that are no plan, or a plan of another version.
Error read_plan(Span<const uint8_t> bytes, Plan* plan, ErrorText* text);
/// The checks of read_plan alone: indices; formulas over the whole range of their symbols (overflow, division by zero,
/// sign); buffers within their spaces; arguments within their buffers; limits of kernels and grids; nesting of
/// conditions and loops; dependencies only on earlier nodes of the same part. Formulas are bounded by interval
/// arithmetic (range_of).
Error check_plan(const Plan& plan, ErrorText* text);
/// The plan as text, for reading and comparing. Requires: check_plan accepts it.
std::string plan_text(const Plan& plan);
/// Plan::model as 16 hexadecimal digits.
std::string model_text(uint64_t model);
/// A formula of such a plan in infix notation: "((s0 + 3) // 4)".
std::string formula_text(const Plan& plan, uint32_t formula);

/// The value of a formula. Requires: check_plan accepts the plan, and symbols are in their ranges.
int64_t evaluate(const Formula& formula, Span<const int64_t> symbols);

struct FormulaRange {
  int64_t low = 0, high = 0;
};

/// Bounds of a formula for all values of its symbols. Returns null, or what is wrong with the formula: an unknown
/// symbol, an empty stack, a result that does not fit int64, a divisor that may be 0.
const char* range_of(const Formula& formula, Span<const Symbol> symbols, FormulaRange* range);
/// Bytes of an input or output with each size at its upper bound; `ranges` are those of all formulas. False if a size
/// is no formula, may be negative or 2^31, or if there may be 2^31 elements or more.
bool upper_bytes(Span<const FormulaRange> ranges, const Interface& tensor, uint64_t* size_bytes);

}  // namespace wick::cuda
