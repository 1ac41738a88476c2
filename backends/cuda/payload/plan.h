// What a CUDA delegate executes: device code, buffers, and a list of launches with their dependencies. C++17, both
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
/// What every device of compute capability 8.0 or newer takes.
constexpr uint32_t kMaxBlockThreads = 1024, kMaxBlockDepth = 64;
constexpr uint32_t kMaxGridX = INT32_MAX, kMaxGridYZ = 65535;
constexpr uint32_t kMaxSharedBytes = 227 << 10;
constexpr uint32_t kMaxParameterBytes = 4096;
/// Of the buffer that says where the stream of random numbers stands.
constexpr uint64_t kRandomBytes = 16;
/// The most conditions and loops inside each other.
constexpr size_t kMaxNesting = 16;
/// The most numbers on the stack while a formula is computed.
constexpr size_t kMaxFormulaDepth = 32;

/// A number that is known when the delegate is called: a size of an input. The input's formula for that size is this
/// symbol alone.
struct Symbol {
  std::string name;  // "s0"
  int64_t min = 0, max = 0;
  uint32_t input = 0, dim = 0;  // it is size `dim` of input `input`
};

enum class FormulaOp : uint8_t {
  constant,  // pushes `value`
  symbol,    // pushes symbol number `value`
  add,       // the others replace the two numbers on top by one
  multiply,
  floor_divide,  // rounds down
  modulo,        // the sign of the divisor
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

/// An integer computed from symbols by a stack machine. One number is left at the end.
using Formula = std::vector<FormulaStep>;

/// Where a buffer lies. Each output has one buffer, each input at most one.
enum class Space : uint8_t {
  constant,  // read-only, filled at load from named data; shared by all delegates with equal bytes
  state,     // kept between calls, one copy per session; starts as zeros or as `data`
  arena,     // of one call: intermediates and workspaces
  input,     // memory of input `index`
  output,    // memory of output `index`
};

struct Buffer {
  Space space = Space::arena;
  uint64_t size_bytes = 0;  // arena: what it may take; input, output: upper_bytes(); else its exact size
  uint64_t offset = 0;      // arena: where it begins; else 0. State has no offsets: methods share single buffers of it
  uint32_t index = 0;       // input, output: which one; else 0
  std::string data;         // constant, state: key of the named data, of exactly size_bytes; state: "" = zeros
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

/// Which units of a device a kernel's sums and products keep busy: what explain predicts times from.
enum class Arithmetic : uint8_t {
  f32,
  f64,
  matrix_f16,        // matrix instructions with factors of 16 bits and sums in f32
  matrix_tf32,       // the same with factors of f32 that are rounded to TF32
  matrix_warpgroup,  // as matrix_f16, by instructions of four warps
};

struct Kernel {
  std::string name;      // in the module
  std::string schedule;  // how threads share the work, to read: "warp per row"
  Arithmetic arithmetic = Arithmetic::f32;
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  std::vector<ParameterKind> parameters;
  bool has_barriers = false;  // threads of a block wait for each other
};

struct Argument {
  ParameterKind kind = ParameterKind::pointer;
  uint32_t index = 0;       // pointer: a buffer; integers: a formula
  uint32_t offset = kNone;  // pointer: a formula for the bytes after the buffer's begin; none: 0
  bool writes = false;      // pointer: the kernel writes there; not to constants and inputs
};

enum class NodeKind : uint8_t {
  launch,
  copy,  // size bytes from arguments[1] to arguments[0], which do not overlap
  fill,  // size bytes at arguments[0] become `value`
  // The nodes behind these belong to them, in two parts: up to `first_end`, and from there up to `second_end`.
  choose,  // one part runs: the first if the byte at arguments[0] is not 0, else the second
  loop,    // the first part, and while it leaves another byte than 0 at arguments[0] the second and again the first
  repeat,  // the first part, `size` times; there is no second
};
constexpr bool is_control(NodeKind kind) { return kind >= NodeKind::choose; }

/// One step. It may begin when the nodes in `after` are done, which belong to the same part of the same node.
struct PlanNode {
  NodeKind kind = NodeKind::launch;
  uint32_t kernel = 0;                       // launch
  std::array<uint32_t, 3> grid = {0, 0, 0};  // launch: formulas, blocks in x, y, z; a product of 0: nothing happens
  uint32_t size = kNone;                     // copy, fill: a formula, bytes; repeat: a formula
  uint8_t value = 0;                         // fill
  uint32_t first_end = 0, second_end = 0;    // choose, loop, repeat: numbers of later nodes, or of none
  std::vector<Argument> arguments;
  std::vector<uint32_t> after;    // numbers of earlier nodes, ascending
  uint32_t debug_handle = kNone;  // which node of the model, for profiles
  /// At the upper bounds: what explain shows. Bytes that are read or written more than once count once.
  uint64_t flops = 0, read_bytes = 0, written_bytes = 0;
};

/// A data-dependent refusal: a kernel sets a bit of the status words if an index of the user is out of bounds. Check
/// number n is bit n % 32 of word n / 32.
struct Check {
  std::string message;  // the whole refusal, with the operator and its place in the model
};

/// What sizes must be for a node of the model to have a meaning: a number within bounds, which are inclusive.
struct Requirement {
  uint32_t found = 0;                  // a formula
  uint32_t low = kNone, high = kNone;  // formulas; none: no bound on this side
  std::string message;                 // what is wrong otherwise, with the operator and its place in the model
  /// Of a node in a branch or a body: it must be met when that part of this condition or loop begins. None: in each
  /// call.
  uint32_t node = kNone;
  bool is_second = false;
};

struct Plan {
  std::string method;
  uint32_t partition = 0;
  std::string producer;         // the compiler and its version: "wick 0.1.0"
  uint64_t model = 0;           // a hash of the model: programs of equal models have the same
  uint32_t driver_version = 0;  // the oldest driver that takes the modules, as cuDriverGetVersion counts: 13000
  std::vector<Symbol> symbols;
  std::vector<Formula> formulas;
  std::vector<Buffer> buffers;
  std::vector<Interface> inputs, outputs;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<PlanNode> nodes;
  std::vector<Check> checks;
  /// A call of other sizes fails before anything runs, or before the part runs that asks for them.
  std::vector<Requirement> requirements;
  /// The arena buffer of the status words (uint32), if there are checks. Its bytes belong to no other buffer. The
  /// runtime sets them to 0 before the first call, and again after a call in which a kernel has set a bit.
  uint32_t status_buffer = kNone;
  /// The arena buffer of counts (uint32) by which blocks find out who is the last one of a tile, if there are such
  /// kernels. Its bytes belong to no other buffer, and only launches have it as an argument: each kernel finds its
  /// counts at 0 and leaves them so. The runtime sets them to 0 before the first call, and again after a call that
  /// failed.
  uint32_t counters_buffer = kNone;
  /// Of a plan that draws random numbers: the arena buffer of two words of 64 bits, the seed and the number of the
  /// first block of its stream (common/random.h) that a call may use, and a formula for how many blocks a call takes.
  /// Its bytes belong to no other buffer, and no node writes there: the runtime does, before each call.
  uint32_t random_buffer = kNone, random_blocks = kNone;
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;  // of the state buffers together, each rounded up to kBufferAlignment
};

/// The plan as bytes: FlatBuffers, plan.fbs. Equal plans give equal bytes.
std::vector<uint8_t> write_plan(const Plan& plan);
/// Reads untrusted bytes and checks everything that executing the plan relies on (check_plan). Takes memory in
/// proportion to the bytes. Errors, with what was found in `text` (may be null): InvalidProgram;
/// DelegateInvalidCompatibility for bytes that are no plan, or one of another version.
Error read_plan(Span<const uint8_t> bytes, Plan* plan, ErrorText* text);
/// The checks of read_plan alone: indices, formulas over the whole range of their symbols (overflow, division by zero,
/// sign), buffers inside their spaces, arguments inside their buffers, limits of kernels and grids, conditions and
/// loops inside each other, dependencies on earlier nodes of the same part only. Formulas are bounded by interval
/// arithmetic: range_of says what it finds.
Error check_plan(const Plan& plan, ErrorText* text);
/// A dump to read and to compare, of a plan that check_plan accepts.
std::string plan_text(const Plan& plan);
/// Plan::model as 16 hexadecimal digits.
std::string model_text(uint64_t model);
/// A formula of such a plan in infix form: "((s0 + 3) // 4)".
std::string formula_text(const Plan& plan, uint32_t formula);

/// The value of a formula. Only for formulas that check_plan accepted and symbols in their ranges.
int64_t evaluate(const Formula& formula, Span<const int64_t> symbols);

struct FormulaRange {
  int64_t low = 0, high = 0;
};

/// Bounds of a formula for all values of its symbols. Null if all is well; else what is wrong with it: an unknown
/// symbol, a stack that runs empty, a result that int64 does not hold, a divisor that may be 0.
const char* range_of(const Formula& formula, Span<const Symbol> symbols, FormulaRange* range);
/// Bytes of an input or output, each of its sizes at the upper end of its range; `ranges` are those of all formulas.
/// False if a size is no formula, may be negative or 2^31, or if there may be 2^31 elements or more.
bool upper_bytes(Span<const FormulaRange> ranges, const Interface& tensor, uint64_t* size_bytes);

}  // namespace wick::cuda
