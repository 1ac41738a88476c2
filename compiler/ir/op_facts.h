// What a row says about its operator besides the schema: the answers to what passes, analyses and backends ask. Answers
// are joined with `|`, as in  kPointwise | kOverwrites | Binary::add | ranges::add
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
  kIterative = 1u << 9,      // sweeps over its matrices many times: costs far more than a product of their size
  kPointwise = 1u << 10,  // element i of the only result depends only on elements i of the tensor operands, by the same
                          // rule for all i; they are arguments of tensor type and broadcast to the result
  kCommutative =
      1u << 11,         // the first two operands may change places: equal results, but for which NaN comes out of two
  kMutates = 1u << 12,  // eager and the kernel write arguments, Tensor(a!). A node is pure: the new values of these
                        // arguments are its last results, and the kernel writes them where the arguments lie
  kLlmLibrary = 1u << 13,  // stock's kernel is in its library of operators for language models, which a program links
                           // beside its own kernels: profile stock decomposes
  kNoResult = 1u << 14,    // kMutates: what it returns itself holds nothing (eager leaves it uninitialised)
  kScratch = 1u << 15,     // memory that its only reader overwrites: planned, but nothing computes it

  // Elements.
  kMoves = 1u << 16,  // moves data only: each element of the first result is one of an operand's, or a fill
  kSelectsElements =
      1u << 17,       // not kMoves, but each element of the first result is an element of an operand, or a bound
  kWhole = 1u << 18,  // elements of the result are whole numbers, infinite or NaN; whole numbers stay what they are
  kIdempotent = 1u << 19,    // f(f(x)) = f(x), NaN and the sign of zero too
  kNonNegative = 1u << 20,   // elements of the result are positive, +0 or NaN
  kReduction = 1u << 21,     // reduces dimensions; the reduction of one element is that element, but sums lose -0
  kReinterprets = 1u << 22,  // kView: the same bytes as elements of another dtype
  kStorage = 1u << 23,      // sizes, strides and offset count in the storage of argument 0; in the IR, where an operand
                            // lies row by row, in its elements
  kPermutes = 1u << 24,     // kView: the dimensions in another order
  kQuantizes = 1u << 25,    // makes integers of real numbers
  kDequantizes = 1u << 26,  // and real numbers of these
  kFakeQuantizes = uint64_t{1} << 32,  // real numbers, rounded to those that integers stand for
  kWeightedSum = 1u << 27,             // constant operands are weights: assumed to be finite, like inputs
  kScores = 1u << 28,  // may stand between a matmul and a softmax: the result is finite if the operands are

  // NaN, infinities, signs of zero.
  kPassesNan = 1u << 29,                      // NaN stays NaN, or spreads
  kPassesInfinity = 1u << 30,                 // an infinity stays one, or becomes NaN
  kTestsForNan = uint64_t{1} << 31,           // tells whether there is a NaN
  kDependsOnZeroSign = uint64_t{1} << 33,     // f(-0) and f(0) are different numbers (1 / x)
  kDependsOnZeroSignOf1 = uint64_t{1} << 34,  // the same, of operand 1
  kNoNegativeZero = uint64_t{1} << 35,        // no element of the result is -0
  kElements = uint64_t{1} << 37,              // reads and writes elements as they are stored, whatever they stand for
  kPartwise = uint64_t{1} << 36,              // of complex numbers: the same of their real and imaginary parts
  kBackendOnly = uint64_t{1} << 40,           // of a backend (add_ops sets it): no other backend is asked about it
  kFills = uint64_t{1} << 38,                 // a new tensor of one number, its only scalar argument
  kAlsoInPlace = uint64_t{1} << 39,           // eager has it in place too: add_.Tensor beside add.Tensor
  kPassesBoth = (1u << 29) | (1u << 30),      // both
  kMayUnderflow = uint64_t{1} << 43,          // of ordinary numbers it makes numbers above 0 and below 2^-126 (e^-90)
  kKeepsZero = uint64_t{1} << 44,  // not kMoves, kSelectsElements or a sum, and no curve says it: where an operand is 0
                                   // or very small, the result is, or may be (tanh, a select)
  kDependsOnSubnormals = uint64_t{1} << 45,  // neither kDependsOnZeroSign nor a curve says it: of 0 and of numbers
                                             // below 2^-126 it makes different numbers (lgamma)

  // Kernels.
  kExactKernel = uint64_t{1} << 46,       // kNoStock, with a decomposition that is less exact: only profile stock and
                                          // backends without this operator decompose
  kNoComplexInStock = uint64_t{1} << 41,  // stock's kernel computes no complex numbers, eager does
  kNoKernel = uint64_t{1} << 42,  // neither kernel nor decomposition: instructions of the program compute it, or
                                  // a pass writes it as other operators
};

constexpr OpFlags operator|(OpFlags a, OpFlags b) { return OpFlags(uint64_t{a} | uint64_t{b}); }

/// How large results are, for numbers of at most the largest of the operands.
enum class Growth : uint8_t {
  unknown,
  keeps,      // no larger
  gate,       // at most 6
  unit,       // at most 1
  one,        // at most 2, of finite numbers
  little,     // at most 1 larger, of finite numbers
  six_times,  // an intermediate product with 6
  between,    // what the bounds among the arguments are
  sum,        // that of the operands
  product,
  power,     // as large as any
  total,     // of all elements of operand 0
  matrices,  // no larger than that, unless a product of matrices, or a norm's sum of squares, nearly overflows
};

/// The function of arguments 0 and 1, tensors or numbers. Sums: argument 2 is the factor of a summand.
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
  conjunction,  // of bools; bitwise of integers
  disjunction,
};

constexpr bool is_comparison(Binary function) { return function >= Binary::eq && function <= Binary::ge; }

/// The operator limits argument 0 to [low, high], and does nothing else. Arguments of these names, where they are not
/// None, give the bounds instead.
struct Clamp {
  double low = -__builtin_inf(), high = __builtin_inf();
  const char *low_arg = nullptr, *high_arg = nullptr;

  explicit constexpr operator bool() const { return low_arg || low > -__builtin_inf(); }
};

/// How the elements of argument 0 move, for those that map dimensions to dimensions.
enum class Movement : uint8_t { none, view, permute, expand, slice, select, roll, index_select };

/// Which arguments of a product of matrices are what; right == 0: it is none.
struct Gemm {
  uint8_t left = 0, right = 0;
  int8_t term = -1;    // what is added
  uint8_t rank = 0;    // of `right`; 0: any
  bool turns = false;  // `right` is transposed

  explicit constexpr operator bool() const { return right != 0; }
};

/// The operator adds to argument 0 what `op` makes of arguments 1 and 2, times a number.
struct Summand {
  const char* op = nullptr;
};

inline constexpr Gemm kMatrices{0, 1, -1, 2}, kBatches{0, 1, -1, 3}, kAnyMatrices{0, 1}, kLinear{0, 1, 2, 2, true},
    kMatricesAndTerm{1, 2, 0, 2}, kBatchesAndTerm{1, 2, 0, 3};

/// In which dtype eager reads the numbers (Scalar arguments, and numbers in the place of a tensor) of a call.
enum class Numbers : uint8_t {
  any,       // as they are
  wrap,      // arguments 0 and 1 as elements of the dtype it computes in, integers modulo 2^bits; the others: fit
  fit,       // as elements of the result's dtype; eager refuses a number that is beyond it
  fit_wide,  // the same, but 16-bit floats as f32
};

/// The range of the results (compiler/ir/value_range.h). Null: for finite operands a finite number of any size, never
/// NaN; for operands that may be infinite or NaN, that too. Overflow does not count (ValueRange). Functions that make
/// NaN or an infinity of ordinary numbers (acos, 1 / x) need a rule: ranges::unknown at least.
using RangeFn = ValueRange (*)(const RangeCall& call);
/// What becomes of an element of operand `index` that is not finite, where kPassesNan and kPassesInfinity cannot say
/// it.
using PassingFn = Passing (*)(const Node& node, size_t index);
/// The operator on numbers: arguments 0 and 1.
using CurveFn = double (*)(double x, double y);
/// In whose memory a result lies in eager (compiler/ir/sharing.h): a write to one is then seen through the other. Null:
/// always in memory of its own.
using SharesFn = Sharing (*)(const SharingCall& call);
/// The version of `before` whose view is `after`; `view` are the view's arguments, 0 apart. Null where an element of
/// `before` is reached by several ways.
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
