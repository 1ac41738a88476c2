// What the compiler knows of one operator: schema, shape function, decomposition, kernel.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/type.h"
#include "wick/span.h"

namespace wick::compiler {

class Node;
class Builder;
struct Arg;
class Args;

/// Types of schema arguments. `?` is ArgSpec::optional, a list has its own enumerator.
enum class ArgType : uint8_t {
  tensor,
  tensor_list,
  optional_tensor_list,
  integer,
  int_list,
  real,
  real_list,
  boolean,
  bool_list,
  scalar,
  string,
  dtype,
  layout,
  device,
  memory_format,
  generator,
};

struct ArgSpec {
  std::string name;
  ArgType type;
  bool optional = false;  // None is allowed
  bool keyword_only = false;
  bool has_default = false;
  bool mutated = false;      // Tensor(a!)
  bool aliased = false;      // Tensor(a): a result may share its storage
  int list_size = 0;         // int[2]: a lone int stands for that many
  std::string default_text;  // as in the schema: "1", "[1, 1]", "None", "mean"
};

enum class ReturnType : uint8_t { tensor, tensor_list, integer, real, boolean, scalar };

struct Schema {
  std::string name;  // "aten.add.Tensor", "aten.relu.default"
  std::vector<ArgSpec> args;
  std::vector<ReturnType> returns;
  /// kMutates: the arguments whose new values are the last entries of `returns`, in order.
  std::vector<size_t> mutated;
  size_t own_returns() const { return returns.size() - mutated.size(); }
  /// Index of the argument called `name`, or -1.
  int find(std::string_view name) const;
};

/// Reads "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". Throws Failure(internal).
Schema parse_schema(std::string_view text);

/// Sets the types of node.results() from its arguments. Throws Failure if the arguments are not valid for the operator.
using InferFn = void (*)(Node& node);
/// Replaces `node` by other operators through `builder` and returns the values that replace its results, in order.
/// Throws Failure; an empty vector means "not by this rule, leave it whole".
using DecomposeFn = std::vector<Value*> (*)(Builder& builder, Node& node);

enum OpFlags : uint32_t {
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
  kSweeps = 1u << 9,         // sweeps over its matrices many times: costs far more than a product of their size
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
};

/// How far a result may be from eager's: |got - want| <= max(absolute, of_largest * max |want|) + relative * |want|.
struct Tolerance {
  double relative = 0, absolute = 0, of_largest = 0;
};
/// By dtype; complex dtypes as their parts, integers and bool exactly.
struct Tolerances {
  Tolerance f16, bf16, f32, f64;
};
/// A few roundings of the dtype.
inline constexpr Tolerances kRoundings = {{2.0 / 1024, 1e-6}, {2.0 / 128, 1e-6}, {1e-5, 1e-6}, {1e-12, 1e-13}};
/// Results that add many terms: what cancels leaves an error in proportion to the largest result.
inline constexpr Tolerances kManyTerms = {
    {2.0 / 1024, 1e-6, 0.5 / 1024}, {2.0 / 128, 1e-6, 0.5 / 128}, {1e-5, 1e-6, 2.5e-6}, {1e-12, 1e-13, 2.5e-13}};

/// Calls that are tested against eager, in the form of op_case.h.
class Cases {
 public:
  constexpr Cases() = default;
  template <typename... Text>
  constexpr Cases(const Text*... texts) : texts_{texts...}, size_(sizeof...(texts)) {}
  constexpr const char* const* begin() const { return texts_; }
  constexpr const char* const* end() const { return texts_ + size_; }
  constexpr size_t size() const { return size_; }

 private:
  const char* texts_[6] = {};
  size_t size_ = 0;
};

/// One row per operator overload, in the table of its family (compiler/ops/*.cpp).
struct OpDef {
  const char* schema;
  InferFn infer = nullptr;          // null: only composites; their type is that of their decomposition
  DecomposeFn decompose = nullptr;  // null: primitive
  const char* kernel = nullptr;     // registry name of the out variant: "aten::add.out"; null: no kernel
  uint32_t flags = kPure;
  Cases cases = {};
  const Tolerances* tolerance = &kRoundings;
  const char* functional = nullptr;  // kInPlace: the operator whose result is the new value, "aten.add.Tensor"

  // Filled when the registry is built:
  const Schema* parsed = nullptr;
  bool has(OpFlags flag) const { return (flags & flag) != 0; }
  std::string_view name() const { return parsed->name; }
};

/// Makes the operators of a backend known; a table that is known already changes nothing. Thread-safe. Throws
/// Failure(internal) for a name that has a row.
void add_ops(Span<const OpDef> rows);
/// The operator of that name ("aten.add.Tensor"), or null. Thread-safe.
const OpDef* find_op(std::string_view name);
/// As find_op; an unknown name is a bug of ours.
const OpDef& op(std::string_view name);
/// All operators, sorted by name; what add_ops() adds later is in a later list.
const std::vector<const OpDef*>& all_ops();

}  // namespace wick::compiler
