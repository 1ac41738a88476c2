// A partition becomes kernels: each value is a function of indices, an unfinished kernel's result, or a buffer. C++20.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/compile/expression/expression.h"
#include "backends/cuda/compile/joined_linears.h"
#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/compile/sizes/size_requirements.h"
#include "backends/cuda/compile/state/state_writes.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/target.h"

namespace wick::cuda {

using compiler::Node;
using compiler::Sizes;
using compiler::Value;

/// The element of a tensor at these indices, one per dimension, in the type scalar_type(dtype).
using Element = std::function<ExpressionPtr(const Indices&)>;

/// What holds a tensor's elements.
struct KernelBuffer {
  enum class Kind : uint8_t { input, output, constant, state, arena, random } kind = Kind::arena;
  uint32_t index = 0;               // input, output: which one
  compiler::ConstantData constant;  // state: what it is at first; none: zeros
  std::string state;                // its name
  DType dtype = DType::f32;
  Sym elements;
  bool in_parts = false;  // kernels that write it do not write the same elements
  Sym guarded = 0;        // in parts: how many elements stores write that have guards
};

/// Where a condition or loop of the model begins, goes on or ends among the kernels. Marks are nested.
struct ControlMark {
  enum class Kind : uint8_t {
    choose,     // kernels of the first branch follow
    otherwise,  // those of the second
    loop,       // those that compute the condition
    body,       // those that run while it holds
    repeat,     // those that run `rounds` times
    end,
  } kind = Kind::end;
  size_t at = 0;               // before this kernel
  uint32_t condition = 0;      // choose, body: a buffer that holds one bool
  Sym rounds;                  // repeat
  std::vector<uint32_t> kept;  // repeat: buffers of which each round writes a part
  const Node* node = nullptr;
};

/// What the sizes of a call must be, and what is said if they are not.
struct CallRequirement {
  SizeRequirement sizes;
  std::string message;
  size_t mark = SIZE_MAX;  // where the part of a condition or loop begins that asks for them; none: each call does
};

/// A kernel that copies results of earlier kernels into its buffer, and how those would store them there themselves
/// (fusion/place_parts.cpp).
struct JoinedParts {
  struct Part {
    size_t kernel = 0;  // stores the part
    uint32_t from = 0;  // in this buffer
    Store store;        // the same element in its place
  };
  size_t copy = 0;  // the kernel that copies
  std::vector<Part> parts;
  std::optional<LoopKernel> rest;  // stores the other elements; nothing: there are none
  Sym rest_elements = 0;           // how many these are
};

/// What a partition becomes, before schedules, texts and offsets.
struct LoweredGraph {
  ExpressionPool pool;
  compiler::SymRanges ranges;  // of sizes and loop variables
  std::vector<KernelBuffer> buffers;
  std::vector<LoopKernel> kernels;  // in the order of execution
  std::vector<ControlMark> marks;   // in order
  std::vector<JoinedParts> joins;
  std::vector<CallRequirement> requirements;
  std::vector<std::string> checks;  // messages of data-dependent refusals; calls name them as {check N}
  uint32_t random = UINT32_MAX;     // the buffer of the seed and the first block, of graphs that draw random numbers
  std::vector<Sym> random_blocks;   // that each node takes which draws some, in order
  bool allows_tf32 = false;         // tiles of f32 may round factors to TF32
  bool has_warpgroups = false;      // the target has matrix instructions of four warps
  std::vector<const Node*> views;   // that are other strides of a buffer: no kernel computes them
};

/// A kernel that a rule is making. `rows` and `columns` are the loop variables as indices.
struct Draft {
  LoopKernel kernel;
  Indices rows, columns;
};

struct LoweringOptions {
  /// Each view of a buffer is copied, to a buffer where its elements lie as in the one it views: kernels read other
  /// memory in the same way, and results are the same bits.
  bool materializes_views = false;
};

/// Walks a graph and asks the rule of each node (ops/op_rule.h) what its results are. Fusion happens here:
///   - A function of indices is computed wherever it is read, unless several nodes read it and computing it again costs
///     more than reading it.
///   - A kernel's result stays unfinished while its only reader is a function of the elements that the kernel has in
///     registers; the reader becomes part of the kernel.
class Lowering {
 public:
  Lowering(const compiler::Graph& graph, LoweredGraph& out, LoweringOptions options = {});
  void run();

  ExpressionPool& pool() { return out_.pool; }
  /// The element of a tensor at these indices.
  ExpressionPtr element(const Value* value, const Indices& at);
  /// The same as a function that rules can keep.
  Element elements_of(const Value* value);
  /// A number among the arguments of a node: a literal, a size, or a tensor of one element.
  ExpressionPtr scalar(const compiler::Arg& arg, ScalarType type);

  /// Says what a result of the current node is. `to_result` turns indices of the first operand into those of the result
  /// where the node moves elements one to one; null: equal sizes are equal indices, and views keep the order.
  using IndexMap = std::function<Indices(const Indices&)>;
  void define(const Value* result, Element element, IndexMap to_result = nullptr);
  /// The result is operand `of` with other strides, if that one is in memory; else as define.
  void define_view(const Value* result, const Value* of, IndexMap to_operand, IndexMap to_result = nullptr);

  /// Before define(): elements of the result are those of `parts` where their indices lead, and those of `rest`
  /// elsewhere.
  struct Rest {
    Sizes sizes;         // of its loops
    IndexMap to_result;  // of their variables
    Element element;     // at them
    Element guard;       // which of them count; null: all
  };
  struct Join {
    std::vector<std::pair<const Value*, IndexMap>> parts;
    /// What is besides those parts that `placed` names, each by its number; nothing: no element.
    std::function<std::optional<Rest>(const std::vector<bool>& placed)> rest;
  };
  void join_parts(const Value* result, Join join) { joins_[result] = std::move(join); }

  Draft draft(const Sizes& rows, const Sizes& columns);
  /// A draft that goes on with the unfinished kernel of an operand, which norms rows of `depth` elements: its rows and
  /// one more loop, its column, and `element`, that of the operand. Nothing if the operand is no such kernel's, or if
  /// tiles would not pay for the norms, which each of them computes again. `factor`: what the rows are multiplied by;
  /// null: constants of the operand's dtype.
  struct AfterNorm {
    Draft draft;
    ExpressionPtr element;
  };
  std::optional<AfterNorm> draft_after_norm(const Value* operand, const Value* factor, const Sym& depth,
                                            const Sym& more_rows);
  /// A loop of its own, besides rows and columns.
  Loop new_loop(const Sym& extent);
  /// `guard`: which columns count; null: all.
  ExpressionPtr reduce(Draft& draft, ReductionKind kind, ExpressionPtr element, ExpressionPtr guard = nullptr);
  /// The position of an arg reduction that reduce() made.
  ExpressionPtr position(const Draft& draft, ExpressionPtr reduced);
  /// `result` at `at` (made of the draft's indices) is `element`. Each result of the current node that is read needs
  /// one.
  struct DraftResult {
    const Value* result;
    Indices at;
    ExpressionPtr element;
  };
  void finish(Draft draft, std::vector<DraftResult> results);

  /// For kernels that write a result in their own way: gives it a buffer, from which later nodes read it.
  /// finish_stores() ends such a kernel.
  uint32_t place(const Value* result);
  /// The same, filled with the elements of another tensor of these sizes. If that is a mutable buffer, which becomes
  /// `result`, it is that buffer, and nothing is copied. `written`: which elements are about to change, in terms of
  /// fresh loop variables; none: any.
  uint32_t place_copy(const Value* result, const Value* source, const Indices& written = {});
  /// Whether the result of the current node lies over its operand `self`, a mutable buffer or a part of one.
  bool is_in_place(const Value* result) const { return writes_.over.count(result) > 0; }
  /// A result in place: the elements of `source` replace those that `to_result` names, each another one. `written` as
  /// above.
  void replace_elements(const Value* result, const Value* source, const IndexMap& to_result, const Indices& written);
  /// The element of a placed result, while it is written.
  void store_at(Draft& draft, uint32_t buffer, const Value* result, const Indices& at, ExpressionPtr element,
                ExpressionPtr guard = nullptr);
  void finish_stores(Draft draft);
  /// A buffer in the arena for what kernels of the current node hand to each other.
  uint32_t scratch(DType dtype, const Sym& elements);
  /// A constant that the node brings with it.
  uint32_t table(const std::vector<int32_t>& numbers);

  /// The layers that the current node is lowered with; null: none.
  const JoinedLinears* joined() const;
  /// A constant that the graph does not have: its element at a linear index.
  std::function<ExpressionPtr(ExpressionPtr at)> constant_elements(compiler::ConstantData data, DType dtype);
  /// Ends the kernel of joined layers: `element` at `at`, along the last dimension of all results side by side.
  void finish_joined(Draft draft, const JoinedLinears& joined, const Indices& at, ExpressionPtr element);

  // Nodes with graphs (lowering_control.cpp). Results and carried values have one place each, in which every branch and
  // round puts them.
  void lower_cond(const Node& node);
  void lower_while(const Node& node);
  void lower_scan(const Node& node, size_t num_carried);

  /// Makes sure that reading an element of the value costs one load.
  void store(const Value* value);
  /// The same if computing an element takes more than `operations`.
  void store_if_expensive(const Value* value, size_t operations);

  /// Whether an image's channels are innermost in memory; bring_channels_last() makes it so by a copy, where the image
  /// is among those that convolutions want so (layout/channels_last.h).
  bool has_channels_last(const Value* value);
  void bring_channels_last(const Value* value);
  /// The elements of a constant whose dimensions lie in another order.
  Element permuted_constant(const Value* value, const std::vector<int64_t>& order);

  Indices indices_of(const Sizes& sizes);  // fresh loop variables
  /// Of an operand that broadcasts to a tensor of sizes `wide` of which an element stands at `at`. Sizes of the operand
  /// may turn out to be 1 at run time.
  Indices broadcast(const Value& operand, const Indices& at, const Sizes& wide);
  Indices split(ExpressionPtr linear, const Sizes& sizes);
  ExpressionPtr join(const Indices& at, const Sizes& sizes);
  /// Random numbers for the current node: the seed, and which block of the stream is its first. It takes `blocks`, as
  /// the portable kernel does (common/random.h).
  struct Draw {
    ExpressionPtr seed, first;  // i64
  };
  Draw draw_blocks(const Sym& blocks);
  /// A refusal that depends on data: the call fails with a message that names the current node.
  uint32_t add_check(std::string_view what = "an index is out of bounds");
  /// An index that was read from a tensor, as an index into `size` elements. One outside fails the check. `wraps`:
  /// negative ones count from the end.
  ExpressionPtr checked_index(ExpressionPtr position, const Sym& size, bool wraps, uint32_t check);

 private:
  enum class Stage : uint8_t { function, unfinished, stored };
  struct Unfinished {
    LoopKernel kernel;
    Indices at;  // of the value, made of the kernel's loop variables
    ExpressionPtr element = nullptr;
    bool per_column = false;
  };
  struct Home {
    uint32_t buffer = 0;
    Sym offset;
    Sizes strides;
  };
  struct Tensor : Home {  // which counts if it is stored
    Stage stage = Stage::function;
    Element element;
    std::unique_ptr<Unfinished> unfinished;
    size_t calls = 0, loads = 0;  // of one element
    /// Of integers in memory that take fewer bytes: each reader converts them again.
    bool narrow = false;
  };
  Tensor& tensor(const Value* value);
  ExpressionPtr offset_of(const Home& home, const Indices& at);
  void add_inputs();
  void add_constant(const Value* value);
  bool add_packed(const Value* value);
  uint32_t constant_buffer(compiler::ConstantData data, DType dtype, Sym elements);
  bool reads_narrow() const;
  void lower_node(const Node& node);
  void store_outputs();
  void lower_graph(const compiler::Graph& graph, const std::vector<uint32_t>& carried = {});
  void bind(const Value* inner, const Value* outer);
  void bind_carried(const compiler::Graph& graph, const std::vector<uint32_t>& buffers);
  void store_for_graphs(const std::vector<Value*>& operands);
  uint32_t new_buffer(DType dtype, Sym elements);
  uint32_t condition_of(const Value* value);
  void write_to(uint32_t buffer, const Value* value, ExpressionPtr first = nullptr);
  void write_number(uint32_t buffer, ExpressionPtr number);
  std::vector<uint32_t> begin_carried(const Node& node, const std::vector<Value*>& initial);
  void carry(const compiler::Graph& body, const std::vector<uint32_t>& buffers);
  bool reads_buffer(const Value* value, uint32_t buffer);
  bool may_write_in_place(const compiler::Graph& body, const std::vector<uint32_t>& buffers, size_t index);
  void mark(ControlMark::Kind kind, uint32_t condition = 0);
  void store_unfinished_operands(const char* why);
  /// `why` says why the value is not computed where it is read; reports show it.
  void store_because(const Value* value, std::string why);
  /// Adds the functions that an operand, or each of them, is made of as of now to the nodes that the kernel computes.
  void add_inlined(const Value* operand, LoopKernel& kernel) const;
  void add_inlined(const Node& node, LoopKernel& kernel) const;
  std::string who_reads(const Value* value) const;
  std::string refusal(std::string_view what) const;    // with the current node and its place in the model
  static std::string cost_of(const Tensor& measured);  // "an element takes 2 operations and 1 load"
  std::string of_node(const char* does) const;         // "aten.sum.dim_IntList DOES"
  void materialize(const Value* view);
  bool stored_as_view(const Value* result, const Value* of, const IndexMap& to_operand);
  bool are_matrices(const Value* operand, const Value* factor);
  Draft loops_over(const Sizes& rows, const Sizes& columns);
  bool absorb(const Value* result, const Value* operand, const Element& element, const IndexMap& to_result);
  const Indices& indices_to_measure(const Sizes& sizes);
  void measure(const Value* value, Tensor& tensor);
  size_t readers(const Value* value) const;
  uint32_t buffer_for(const Value* value);
  void set_stored(const Value* value, uint32_t buffer);
  void emit(LoopKernel kernel);

  // Images with their channels innermost (layout/lowering_layout.cpp).
  void set_stored_by_layout(const Value* value, uint32_t buffer);
  ExpressionPtr place_of(const Value* value, const Indices& at);
  void order_loops(LoopKernel& kernel) const;

  // Results that could be stored in their places in others (lowering_joins.cpp).
  struct StoredResult {
    size_t kernel = 0;
    uint32_t buffer = 0;
    Indices at;  // of the value, made of the kernel's loop variables
  };
  void note_stored(const Value* value, uint32_t buffer, Indices at);
  void note_view(const Value* view, const Value* of, const IndexMap& to_operand, const IndexMap& to_result);
  bool find_parts(const Value* part, const std::function<Store(const Indices& at, ExpressionPtr value)>& placed,
                  std::vector<JoinedParts::Part>& found);
  void note_join(const Value* joined);

  // Mutable buffers (lowering_state.cpp).
  void add_states();
  const Home& home_of(const Value* value);
  uint32_t place_over(const Value* result);
  bool has_readers_left(const Value* value, const Node* but) const;
  bool may_overlap(uint32_t state, ExpressionPtr a, ExpressionPtr b) const;
  bool reads_state(const std::vector<ExpressionPtr>& expressions, uint32_t state, ExpressionPtr written) const;
  void keep_what_is_read(const Value* over, const Indices& written, const Value* source);
  void save(const Value* value);
  std::vector<compiler::StateUpdate> updates_left() const;
  bool can_replace(const compiler::StateUpdate& update, const std::vector<compiler::StateUpdate>& all);
  void store_updates();
  void store_together(std::vector<compiler::StateUpdate> updates);
  struct NotKnown {};  // an unfinished kernel does not have this element in registers

  const compiler::Graph& graph_;
  LoweredGraph& out_;
  const LoweringOptions options_;
  const std::map<const Node*, std::shared_ptr<const JoinedLinears>> joined_;
  std::map<const Value*, Tensor> tensors_;
  std::map<const Value*, std::vector<uint32_t>> outputs_;  // which outputs a value is
  std::map<const Value*, size_t> inner_outputs_;           // of graphs inside nodes: how often a value is one
  const compiler::Graph* lowered_;  // the graph that is lowered now: graph_, or one inside its nodes
  StateWrites writes_;
  std::map<uint32_t, const Value*> states_;  // by buffer: mutable ones, and carried values of the loop
  std::map<const Value*, StoredResult> stored_results_;
  std::map<const Value*, Join> joins_;
  std::map<const Value*, Home> homes_;         // of values that moved when their buffer was written
  std::map<const Value*, size_t> new_values_;  // of buffers that are not written in place: of how many
  std::set<const Node*> done_;                 // nodes whose results are defined
  std::map<std::tuple<const Value*, std::vector<uint32_t>, uint32_t>, ExpressionPtr> known_;
  std::map<std::vector<int64_t>, Indices> measured_at_;  // by the upper bounds of sizes
  std::set<const Value*> channels_last_;
  std::set<uint32_t> channels_last_buffers_;
  const Node* node_ = nullptr;
  uint32_t loops_ = 0;
};

}  // namespace wick::cuda
