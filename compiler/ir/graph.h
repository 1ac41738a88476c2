// The IR: functional SSA. A graph owns its nodes and values; values are immutable; storage does not exist here.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/constant_data.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/type.h"
#include "wick/span.h"

namespace wick::compiler {

class Graph;
class Node;
struct Delegate;  // delegate.h

/// Where a node comes from in the user's model.
struct Origin {
  std::string module;  // module path, "encoder.attn"
  std::string source;  // "model.py:118"
  std::string code;    // the Python line, if the file has it
  std::string node;    // node name in the exported graph
};
using OriginPtr = std::shared_ptr<const Origin>;

/// `held`: the entry value of a buffer that delegates keep in their own memory. Nobody else reads or updates it.
enum class ValueKind : uint8_t { result, input, constant, state, held };

/// One value: the result of a node, a graph input, a constant, or the entry value of mutable state (a buffer).
class Value {
 public:
  Value();
  ~Value();
  Type type;
  std::string name;  // unique in its graph, also the text form
  ValueKind kind = ValueKind::result;
  Node* producer = nullptr;  // result only
  uint32_t result_index = 0;
  std::string fqn;    // constant, state, held: the name in the user's model, "" if made by the compiler
  ConstantData data;  // constant: its bytes; state, held: the initial value (empty = zeros)
  /// In a graph made by clone(): the values of the original graph that have the same elements. Graph::replace passes
  /// them on. A pass that gives a value different elements calls forget().
  std::vector<Value*> stands_for;
  void forget() { stands_for.clear(); }

  /// state: the name by which the methods of a program know it.
  const std::string& buffer_name() const { return fqn.empty() ? name : fqn; }

  const TensorType& tensor() const { return type.tensor; }
  const Sizes& sizes() const { return type.tensor.sizes; }
  DType dtype() const { return type.tensor.dtype; }
  size_t rank() const { return type.tensor.sizes.size(); }
  bool is_constant() const { return kind == ValueKind::constant; }
  bool is_quantized() const { return type.is_tensor() && type.tensor.quantization != nullptr; }
  /// Nodes that read this value, once per read, in no particular order. Graph outputs and state updates count only in
  /// num_uses.
  const std::vector<Node*>& users() const { return users_; }
  size_t num_uses() const { return users_.size() + outside_uses_; }

 private:
  friend class Graph;
  std::vector<Node*> users_;
  uint32_t outside_uses_ = 0;
};

struct None {
  friend bool operator==(None, None) = default;
};
using Ints = SymList;
using Reals = std::vector<double>;
using Bools = std::vector<bool>;
using Values = std::vector<Value*>;  // null = None in an optional tensor list

/// One argument of a node, at the position its schema gives it. Symbolic integers are expressions, never values. A
/// `Scalar` argument is a Sym, a double, a bool, or a Value of scalar type (a number read from a tensor at run time).
/// Its copy and destruction are compiled once, in arg.cpp.
struct Arg : std::variant<None, Value*, Values, Sym, Ints, double, Reals, bool, Bools, std::string, DType> {
  Arg();
  Arg(None);
  Arg(Value* v);
  Arg(Values v);
  Arg(Sym v);
  Arg(int v);
  Arg(int64_t v);
  Arg(Ints v);
  Arg(double v);
  Arg(Reals v);
  Arg(bool v);
  Arg(Bools v);
  Arg(std::string v);
  Arg(const char* v);
  Arg(DType v);
  template <typename T>
  Arg(T*) = delete;  // a pointer must not convert to bool
  Arg(const Arg& other);
  Arg(Arg&& other) noexcept;
  Arg& operator=(const Arg& other);
  Arg& operator=(Arg&& other) noexcept;
  ~Arg();
  friend bool operator==(const Arg& a, const Arg& b);

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(*this);
  }
  template <typename T>
  const T& as() const {
    return std::get<T>(*this);
  }
};

/// The tensor in `arg`, or null.
Value* tensor_or_null(const Arg& arg);

/// Arguments of a node, in the order of its schema.
class Args : public std::vector<Arg> {
 public:
  Args();
  Args(std::initializer_list<Arg> args);
  Args(const_iterator first, const_iterator last);
  Args(const Args& other);
  Args(Args&& other) noexcept;
  Args& operator=(const Args& other);
  Args& operator=(Args&& other) noexcept;
  ~Args();
  void push_back(Arg arg);
};

class Node {
 public:
  Node();
  Node(const Node&) = delete;
  ~Node();
  const OpDef* op = nullptr;
  OriginPtr origin;                            // first of the merged origins; may be null
  std::vector<OriginPtr> more_origins;         // the others, when passes merged nodes
  std::vector<std::unique_ptr<Graph>> graphs;  // control flow: branches, bodies

  const Args& args() const { return args_; }
  const Arg& arg(size_t index) const { return args_[index]; }
  /// The argument called `name` in the schema; throws Failure(internal) if there is none.
  const Arg& arg(std::string_view name) const;
  const std::vector<Value*>& results() const { return results_; }
  Value* result(size_t index = 0) const { return results_[index]; }
  bool is(std::string_view op_name) const;
  bool is(Binary function) const { return op->facts.binary == function; }
  bool is(Movement movement) const { return op->facts.movement == movement; }
  /// All values read, in argument order, without nulls.
  std::vector<Value*> operands() const;
  /// The tensor that argument `index` holds. Null for a number, which may stand where a schema says Tensor.
  Value* tensor_or_null(size_t index) const;

  // Readers for shape functions and decompositions; each throws Failure naming the argument if it holds something else.
  Value* tensor(std::string_view name) const;
  Value* optional_tensor(std::string_view name) const;  // null for None
  Values tensors(std::string_view name) const;
  Sym integer(std::string_view name) const;
  int64_t static_integer(std::string_view name) const;  // refuses symbols
  Ints ints(std::string_view name) const;               // a lone int becomes a list of ArgSpec::list_size
  std::vector<int64_t> static_ints(std::string_view name) const;
  double real(std::string_view name) const;  // int or bool convert
  bool boolean(std::string_view name) const;
  std::string string(std::string_view name) const;
  bool is_none(std::string_view name) const;
  std::optional<DType> dtype(std::string_view name) const;

 private:
  friend class Graph;
  Args args_;
  std::vector<Value*> results_;
  std::list<std::unique_ptr<Node>>::iterator self_;
};

/// A leaf of what the user's function returns.
struct GraphOutput {
  enum class Kind : uint8_t { value, integer, real, boolean, string, none } kind = Kind::value;
  Value* value = nullptr;
  Sym integer;  // integer, boolean: may be symbolic
  double real = 0;
  std::string string;
  int leaf = -1;  // index in eager's flattened return value
};

/// buffer <- value at the end of each call (kind state), or a user's input tensor <- value (kind input).
struct StateUpdate {
  Value* target = nullptr;
  Value* value = nullptr;
};

/// A user input as the program declares it. Inputs fixed at export have no value but are checked on entry.
struct GraphInput {
  enum class Kind : uint8_t { value, integer, real, boolean, string, none } kind = Kind::value;
  Value* value = nullptr;  // kind value: a tensor, or an integer value whose expr is its symbol (dynamic int)
  int64_t integer = 0;     // kind integer / boolean
  double real = 0;
  std::string string;
  std::string name;  // argument name in Python, "x", "d_k_0"
};

/// A list of nodes in topological order with inputs, constants, state and outputs. Not copyable; clone() (clone.h)
/// makes a copy.
class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  ~Graph();

  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  std::vector<StateUpdate> updates;
  SymRanges ranges;                                        // by name of a symbol, or by the text of a derived size
  std::vector<std::shared_ptr<const Delegate>> delegates;  // wick.call_delegate names them by index

  // --- construction ---
  Value* add_input(Type type, std::string name);
  Value* add_constant(TensorType type, ConstantData data, std::string name, std::string fqn = "");
  Value* add_state(TensorType type, ConstantData initial, std::string name, std::string fqn);
  /// Appends a node before `before` (null: at the end); args are in schema order, missing trailing ones take their
  /// defaults (as literals). Results are created by `num_results` with type left for infer. Names of results are made
  /// unique from `name`.
  Node* add_node(const OpDef& op, Args args, size_t num_results, Node* before = nullptr, std::string_view name = "");
  /// Gives a node one more result.
  Value* add_result(Node* node, Type type, std::string_view name);
  void add_output(GraphOutput output);
  void add_update(Value* target, Value* value);

  // --- change ---
  void set_arg(Node* node, size_t index, Arg arg);
  /// Makes every reader of `from` (nodes, outputs, updates) read `to` instead. Throws Failure(internal) if the types
  /// differ in dtype or sizes. `to` takes the quantization of `from` if it has none.
  void replace(Value* from, Value* to);
  /// As replace, without the check: for callers that change a type on purpose.
  void replace_unchecked(Value* from, Value* to);
  /// As replace, for a `to` whose elements differ from those of `from`. `to` keeps its own `stands_for`.
  void redirect(Value* from, Value* to);
  /// Removes a node whose results have no uses.
  void erase(Node* node);
  /// Moves `node` before `before` (null: the end).
  void move(Node* node, Node* before);
  void set_output(size_t index, Value* value);
  void set_update(size_t index, Value* value);
  /// Turns a state into a held one, which delegates keep: erases its updates. The caller removes its other uses.
  void hold(Value* state);
  /// Changes the operator and all arguments of a node, keeping its results.
  void rewrite(Node* node, const OpDef& op, Args args);

  // --- walking ---
  std::list<std::unique_ptr<Node>>& nodes() { return nodes_; }
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::deque<std::unique_ptr<Value>>& values() const { return values_; }  // dead ones too
  std::vector<Value*> constants() const;                                        // with uses, in order of creation
  std::vector<Value*> states() const;                                           // in order of creation
  std::vector<Value*> held_states() const;                                      // in order of creation
  size_t num_nodes() const { return nodes_.size(); }
  /// The current nodes, in order. The list does not change while nodes are added, moved and removed.
  std::vector<Node*> node_list() const;
  std::string unique_name(std::string_view stem);
  void reserve_name(std::string_view name) { names_.try_emplace(std::string(name), 0); }
  /// Reserves all names that were ever taken in `other`.
  void reserve_names_of(const Graph& other) { names_ = other.names_; }

 private:
  Value* new_value(Type type, std::string name, ValueKind kind);
  void add_uses(Node* node, const Arg& arg);
  void remove_uses(Node* node, const Arg& arg);
  std::list<std::unique_ptr<Node>> nodes_;
  std::deque<std::unique_ptr<Value>> values_;
  std::map<std::string, uint32_t, std::less<>> names_;
};

/// A parameter or buffer of the model.
struct StoredTensor {
  std::string name;  // fully qualified
  bool is_parameter = false;
  Value* value = nullptr;  // a constant, a state, or a result of nodes that only move a constant's elements
  /// If nodes make `value`: its elements, dense. Errors: limit.
  std::function<Result<ConstantData>()> elements = nullptr;
};
struct Function {
  std::string name;
  std::unique_ptr<Graph> graph;
  std::string in_spec, out_spec;   // pytree specs as the .pt2 has them
  std::vector<std::string> notes;  // about the import, for the user
  /// All parameters and buffers, also those that nothing reads; empty if the function does not come from a file. They
  /// describe the graph as imported: the first pass makes them invalid.
  std::vector<StoredTensor> stored{};
  std::vector<std::pair<std::string, std::string>> overlaps{};  // (changed buffer, what else lies in its memory)
};
/// A program under compilation: one graph per method, in the order given.
struct Module {
  std::vector<Function> functions;
  std::shared_ptr<const void> keep_alive;  // the mapped files constants point into
};

/// Default value of a schema argument as an Arg.
Arg default_arg(const ArgSpec& spec);

/// The place of a node for diagnostics.
Where where_of(const Node& node);

/// The operands that a control-flow node passes unchanged to each of its graphs, as their last inputs. They are the
/// node's last list argument. Empty for other nodes.
Span<Value* const> captured_operands(const Node& node);

}  // namespace wick::compiler
