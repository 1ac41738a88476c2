// OpFacts: what a row says about its operator besides the schema, for passes, analyses and backends. Facts are joined
// with `|`, as in  kPointwise | kOverwrites | Binary::add | ranges::add
#pragma once
#include <cstdint>
#include <string_view>

namespace wick::compiler {

class Node;
class Builder;
class Value;
class Args;
struct RangeCall;
struct ValueRange;
struct Passing;
struct SharingCall;
struct Sharing;

enum OpFlags : uint64_t {
  kPure = 0,
  kView = 1u << 0,           // the result may share the storage of argument 0; elements are moved, never changed
  kRandom = 1u << 1,         // draws from the random state: never folded, merged or dropped as duplicate
  kEffect = 1u << 2,         // has an effect besides its results (assert): never dropped
  kInPlace = 1u << 3,        // writes the argument marked (a!); exists only during import: replaced by `functional`
  kNoStock = 1u << 4,        // stock ExecuTorch has no kernel of this name: profile stock refuses it
  kIdentity = 1u << 5,       // returns argument 0 unchanged (in inference): erased by canonicalize
  kDataDependent = 1u << 6,  // result sizes depend on element values
  kComputed = 1u << 7,       // has a value the compiler computes itself (prim ops on scalars)
  kOverwrites = 1u << 8,     // element i of argument 0 is read before or when element i of the result is written, or
                             // argument 0 is copied first: the result may lie exactly over argument 0
  kIterative = 1u << 9,      // sweeps over its matrices many times: costs far more than a matmul of their size
  kPointwise = 1u << 10,  // element i of the only result depends only on elements i of the tensor operands, by the same
                          // rule for all i; they are arguments of tensor type and broadcast to the result
  kCommutative = 1u << 11,  // swapping the first two operands changes nothing, except which of two NaNs results
  kMutates = 1u << 12,      // eager and the kernel write arguments, Tensor(a!). A node is pure: the new values of these
                            // arguments are its last results, and the kernel writes them where the arguments lie
  kLlmLibrary = 1u << 13,   // stock's kernel is in its library of operators for language models, which a program links
                            // beside its own kernels: profile stock decomposes
  kNoResult = 1u << 14,     // kMutates: its own result has no defined contents (eager leaves it uninitialised)
  kScratch = 1u << 15,      // memory that its only reader overwrites: planned, but no instruction writes it

  // Elements.
  kMoves = 1u << 16,  // data movement: each element of the first result is an element of an operand, or a fill value
  kSelectsElements =
      1u << 17,            // not kMoves, but each element of the first result is an element of an operand, or a bound
  kWhole = 1u << 18,       // each element of the result is a whole number, infinite or NaN; whole numbers do not change
  kIdempotent = 1u << 19,  // f(f(x)) = f(x), NaN and the sign of zero too
  kNonNegative = 1u << 20,   // elements of the result are positive, +0 or NaN
  kReduction = 1u << 21,     // reduces dimensions; the reduction of one element is that element, but a sum loses -0
  kReinterprets = 1u << 22,  // kView: the same bytes as elements of another dtype
  kStorage = 1u << 23,   // sizes, strides and offset refer to the storage of argument 0; in the IR, where every operand
                         // is in row-major order, to its elements
  kPermutes = 1u << 24,  // kView: reorders the dimensions
  kQuantizes = 1u << 25,               // turns real numbers into integers
  kDequantizes = 1u << 26,             // turns those integers into real numbers
  kFakeQuantizes = uint64_t{1} << 32,  // rounds real numbers to those that integers represent
  kWeightedSum = 1u << 27,             // constant operands are weights: assumed to be finite, like inputs
  kScores = 1u << 28,  // may stand between a matmul and a softmax: the result is finite if the operands are

  // NaN, infinities, signs of zero.
  kPassesNan = 1u << 29,                      // NaN stays NaN, or spreads
  kPassesInfinity = 1u << 30,                 // an infinity stays one, or becomes NaN
  kTestsForNan = uint64_t{1} << 31,           // its result tells whether the operand holds NaN
  kDependsOnZeroSign = uint64_t{1} << 33,     // f(-0) and f(0) are different numbers (1 / x)
  kDependsOnZeroSignOf1 = uint64_t{1} << 34,  // the same, of operand 1
  kNoNegativeZero = uint64_t{1} << 35,        // no element of the result is -0
  kElements = uint64_t{1} << 37,              // reads and writes the stored elements of quantized tensors
  kPartwise = uint64_t{1} << 36,              // does the same to the real and to the imaginary parts of complex numbers
  kBackendOnly = uint64_t{1} << 40,           // from a backend (add_ops sets it): no other backend is asked about it
  kFills = uint64_t{1} << 38,                 // makes a tensor filled with its only scalar argument
  kAlsoInPlace = uint64_t{1} << 39,           // eager has it in place too: add_.Tensor beside add.Tensor
  kPassesBoth = (1u << 29) | (1u << 30),      // kPassesNan and kPassesInfinity
  kMayUnderflow = uint64_t{1} << 43,  // may turn numbers of ordinary size into subnormal ones, below 2^-126 (e^-90)
  kKeepsZero = uint64_t{1} << 44,     // the result is, or may be, 0 or very small where an operand is (tanh, a select).
                                      // Not stated for kMoves, kSelectsElements, sums, and if the curve shows it
  kDependsOnSubnormals = uint64_t{1} << 45,  // gives different numbers for 0 and for subnormal operands (lgamma). Not
                                             // stated with kDependsOnZeroSign or if the curve shows it

  // Kernels.
  kExactKernel = uint64_t{1} << 46,  // kNoStock; the decomposition is less exact than the kernel: only profile stock
                                     // and backends without this operator decompose
  kNoComplexInStock = uint64_t{1} << 41,  // stock's kernel computes no complex numbers, eager does
  kNoKernel = uint64_t{1} << 42,  // neither kernel nor decomposition: instructions of the program compute it, or
                                  // a pass writes it as other operators
};

constexpr OpFlags operator|(OpFlags a, OpFlags b) { return OpFlags(uint64_t{a} | uint64_t{b}); }

/// Upper bound of a result's magnitude. L is the largest magnitude among the operands.
enum class Growth : uint8_t {
  unknown,
  keeps,      // at most L
  gate,       // at most 6
  unit,       // at most 1
  one,        // at most 2 if the operands are finite
  little,     // at most L + 1 if the operands are finite
  six_times,  // at most L, unless the intermediate value 6 * L overflows
  between,    // at most the larger bound among the arguments; L counts too if one bound is absent
  sum,        // the sum of the operands' bounds
  product,
  power,     // no bound
  total,     // the sum of all elements of operand 0
  matrices,  // a matmul or a norm: assumed to stay below overflow if the operands that are not constants have bounds
};

/// The binary function that the operator computes of arguments 0 and 1, tensors or numbers. In add, sub and rsub
/// argument 2 (alpha) multiplies one term.
enum class Binary : uint8_t {
  none,
  add,
  sub,
  rsub,
  mul,
  div,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  conjunction,  // `and` of bools; bitwise for integers
  disjunction,
};

constexpr bool is_comparison(Binary function) { return function >= Binary::eq && function <= Binary::ge; }

/// The operator only clamps argument 0 to [low, high]. `low_arg` and `high_arg` name arguments that, unless None,
/// replace these bounds.
struct Clamp {
  double low = -__builtin_inf(), high = __builtin_inf();
  const char *low_arg = nullptr, *high_arg = nullptr;

  explicit constexpr operator bool() const { return low_arg || low > -__builtin_inf(); }
};

/// The data movement of argument 0, for operators that map dimensions to dimensions.
enum class Movement : uint8_t { none, view, permute, expand, slice, select, roll, index_select };

/// The arguments of a matmul, by index. right == 0: the operator is no matmul.
struct Gemm {
  uint8_t left = 0, right = 0;
  int8_t term = -1;    // the argument that is added; -1: none
  uint8_t rank = 0;    // rank of `right`; 0: any
  bool turns = false;  // `right` is transposed

  explicit constexpr operator bool() const { return right != 0; }
};

/// The operator adds a multiple of op(argument 1, argument 2) to argument 0.
struct Summand {
  const char* op = nullptr;
};

inline constexpr Gemm kMatrices{0, 1, -1, 2}, kBatches{0, 1, -1, 3}, kAnyMatrices{0, 1}, kLinear{0, 1, 2, 2, true},
    kMatricesAndTerm{1, 2, 0, 2}, kBatchesAndTerm{1, 2, 0, 3};

/// The dtype in which eager reads the numbers of a call: Scalar arguments, and numbers in the place of a tensor.
enum class Numbers : uint8_t {
  any,       // as they are
  wrap,      // arguments 0 and 1: in the dtype that the operator computes in, integers modulo 2^bits; others: as `fit`
  fit,       // in the dtype of the result; eager refuses a number beyond its range
  fit_wide,  // as `fit`, but in f32 if the result is a 16-bit float
};

/// The range of the results (compiler/ir/value_range.h). Null: any finite number if operands and number arguments are
/// finite; also infinities or NaN if one of them may be infinite or NaN. Overflow does not count (ValueRange).
/// Functions that give NaN or an infinity for ordinary numbers (acos, 1 / x) need a rule, at least ranges::unknown.
using RangeFn = ValueRange (*)(const RangeCall& call);
/// Whether NaN and infinities in operand `index` reach the result. Needed only where kPassesNan and kPassesInfinity
/// cannot express it.
using PassingFn = Passing (*)(const Node& node, size_t index);
/// The operator as a function of two numbers, arguments 0 and 1.
using CurveFn = double (*)(double x, double y);
/// The operand in whose memory a result lies in eager (compiler/ir/sharing.h): a write to one is then seen through the
/// other. Null: the result always has memory of its own.
using SharesFn = Sharing (*)(const SharingCall& call);
/// The viewed tensor after a write through the view: `before`, with the viewed elements replaced by `after`. `view`:
/// the view's arguments; argument 0 is not read. Null if the view may reach an element of `before` twice.
using WriteFn = Value* (*)(Builder& builder, const Args& view, Value* before, Value* after);

struct OpFacts {
  OpFlags flags = kPure;
  RangeFn range = nullptr;
  PassingFn passing = nullptr;
  CurveFn curve = nullptr;
  SharesFn shares = nullptr;
  WriteFn write = nullptr;
  Growth growth = Growth::unknown;
  Binary binary = Binary::none;
  Movement movement = Movement::none;
  Gemm gemm = {};
  Summand summand = {};
  Clamp clamp = {};
  Numbers numbers = Numbers::any;

  constexpr OpFacts() = default;
  constexpr OpFacts(OpFlags answer) : flags(answer) {}
  constexpr OpFacts(RangeFn answer) : range(answer) {}
  constexpr OpFacts(PassingFn answer) : passing(answer) {}
  constexpr OpFacts(CurveFn answer) : curve(answer) {}
  constexpr OpFacts(SharesFn answer) : shares(answer) {}
  constexpr OpFacts(WriteFn answer) : write(answer) {}
  constexpr OpFacts(Growth answer) : growth(answer) {}
  constexpr OpFacts(Binary answer) : binary(answer) {}
  constexpr OpFacts(Movement answer) : movement(answer) {}
  constexpr OpFacts(Gemm answer) : gemm(answer) {}
  constexpr OpFacts(Summand answer) : summand(answer) {}
  constexpr OpFacts(Clamp answer) : clamp(answer) {}
  constexpr OpFacts(Numbers answer) : numbers(answer) {}
};

/// If both answer the same question, the later answer counts.
constexpr OpFacts operator|(OpFacts a, const OpFacts& b) {
  a.flags = a.flags | b.flags;
  if (b.range) a.range = b.range;
  if (b.passing) a.passing = b.passing;
  if (b.curve) a.curve = b.curve;
  if (b.shares) a.shares = b.shares;
  if (b.write) a.write = b.write;
  if (b.growth != Growth::unknown) a.growth = b.growth;
  if (b.binary != Binary::none) a.binary = b.binary;
  if (b.movement != Movement::none) a.movement = b.movement;
  if (b.gemm) a.gemm = b.gemm;
  if (b.summand.op) a.summand = b.summand;
  if (b.clamp) a.clamp = b.clamp;
  if (b.numbers != Numbers::any) a.numbers = b.numbers;
  return a;
}
/// For two plain enumerators: the overload above is found only if one operand is an OpFacts.
constexpr OpFacts operator|(OpFlags a, const OpFacts& b) { return OpFacts(a) | b; }

}  // namespace wick::compiler
