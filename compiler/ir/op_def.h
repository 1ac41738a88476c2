// OpDef: the row of one operator, with its schema, shape function, decomposition, kernel and facts.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/op_facts.h"
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

/// How far a result may be from eager's: |got - want| <= max(absolute, of_largest * max |want|) + relative * |want|.
struct Tolerance {
  double relative = 0, absolute = 0, of_largest = 0;
};
/// Tolerances by dtype. The parts of complex numbers have those of their own dtype; integers and bool must be equal.
struct Tolerances {
  Tolerance f16, bf16, f32, f64;
};
/// A few roundings of the dtype.
inline constexpr Tolerances kRoundings = {{2.0 / 1024, 1e-6}, {2.0 / 128, 1e-6}, {1e-5, 1e-6}, {1e-12, 1e-13}};
/// For results that add many terms: cancellation leaves an error in proportion to the largest result.
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
  OpFacts facts = kPure;
  Cases cases = {};
  const Tolerances* tolerance = &kRoundings;
  const char* functional = nullptr;  // kInPlace: the operator whose result is the new value, "aten.add.Tensor"

  // Filled when the registry is built:
  const Schema* parsed = nullptr;
  /// Whether the row has at least one of `flags`.
  bool has(OpFlags flags) const { return (facts.flags & flags) != 0; }
  std::string_view name() const { return parsed->name; }
};

/// Registers the operators of a backend. Registering a table again changes nothing. Thread-safe. Throws
/// Failure(internal) for a name that already has a row.
void add_ops(Span<const OpDef> rows);
/// The operator of that name ("aten.add.Tensor"), or null. Thread-safe.
const OpDef* find_op(std::string_view name);
/// As find_op; an unknown name is a bug of ours.
const OpDef& op(std::string_view name);
/// All operators, sorted by name; what add_ops() adds later is in a later list.
const std::vector<const OpDef*>& all_ops();

}  // namespace wick::compiler
