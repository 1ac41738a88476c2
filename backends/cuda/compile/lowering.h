// Lowers a partition to kernels: each value is a function of indices, the result of an unfinished kernel, or a buffer.
// C++20.
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

/// Memory that holds elements of tensors.
struct KernelBuffer {
  enum class Kind : uint8_t { input, output, constant, state, arena, random } kind = Kind::arena;
  uint32_t index = 0;               // number of the input or output
  compiler::ConstantData constant;  // state: its initial value; none: zeros
  std::string state;                // name of the state
  DType dtype = DType::f32;
  Sym elements;
  bool in_parts = false;  // the kernels that write it write different elements
  Sym guarded = 0;        // in parts: how many elements are written by stores that have guards
};

/// A place among the kernels where a condition or loop of the model begins, continues with its next part, or ends.
/// Marks are nested.
struct ControlMark {
  enum class Kind : uint8_t {
    choose,     // kernels of the first branch follow
    otherwise,  // kernels of the second branch follow
    loop,       // kernels that compute the condition follow
    body,       // kernels that run while the condition holds follow
    repeat,     // kernels that run `rounds` times follow
    end,
  } kind = Kind::end;
  size_t at = 0;               // the mark is before this kernel
  uint32_t condition = 0;      // choose, body: a buffer that holds one bool
  Sym rounds;                  // repeat
  std::vector<uint32_t> kept;  // repeat: buffers of which each round writes a part
  const Node* node = nullptr;
};

/// A requirement for the sizes of a call, and the message if it is not met.
struct CallRequirement {
  SizeRequirement sizes;
  std::string message;
  // If only a part of a condition or loop requires it: the mark that begins the part. SIZE_MAX: each call requires it.
  size_t mark = SIZE_MAX;
};

/// A kernel that copies results of earlier kernels into its buffer, and the stores by which these kernels would write
/// them there themselves (fusion/place_parts.cpp).
struct JoinedParts {
  struct Part {
    size_t kernel = 0;  // stores the part
    uint32_t from = 0;  // in this buffer
    Store store;        // stores the same element in the copy's buffer
  };
  size_t copy = 0;  // the kernel that copies
  std::vector<Part> parts;
  std::optional<LoopKernel> rest;  // would store the elements that are in no part; nothing: there are none
  Sym rest_elements = 0;           // the number of these elements
};

/// A lowered partition, before schedules, texts and offsets are chosen.
struct LoweredGraph {
  ExpressionPool pool;
  compiler::SymRanges ranges;  // of sizes and loop variables
  std::vector<KernelBuffer> buffers;
  std::vector<LoopKernel> kernels;  // in the order of execution
  std::vector<ControlMark> marks;   // in order
  std::vector<JoinedParts> joins;
  std::vector<CallRequirement> requirements;
  std::vector<std::string> checks;  // messages of checks that depend on data; calls refer to them as {check N}
  uint32_t random = UINT32_MAX;     // buffer of the seed and the first block, in graphs that draw random numbers
  std::vector<Sym> random_blocks;   // blocks that each node takes which draws random numbers, in order
  bool allows_tf32 = false;         // tiles of f32 may round factors to TF32
  bool has_warpgroups = false;      // the target has matrix instructions of four warps
  std::vector<const Node*> views;   // nodes that only change the strides of a buffer: no kernel computes them
};

/// A kernel that a rule is making. `rows` and `columns` are its loop variables, as indices.
struct Draft {
  LoopKernel kernel;
  Indices rows, columns;
};

struct LoweringOptions {
  /// Copies each view of a buffer to a buffer in which the elements have the same places. Kernels then read different
  /// memory by the same offsets, so results must have the same bits.
  bool materializes_views = false;
};

/// Walks a graph and asks the rule of each node (ops/op_rule.h) to define its results. Fuses nodes on the way:
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
  /// The same, as a function that rules can keep.
  Element elements_of(const Value* value);
  /// A number among the arguments of a node: a literal, a size, or a tensor of one element.
  ExpressionPtr scalar(const compiler::Arg& arg, ScalarType type);

  /// Defines a result of the current node. `to_result`: if the node moves elements one to one, maps indices of the
  /// first operand to indices of the result. If it is null, equal sizes mean equal indices, and views keep the order of
  /// elements.
  using IndexMap = std::function<Indices(const Indices&)>;
  void define(const Value* result, Element element, IndexMap to_result = nullptr);
  /// If operand `of` is in memory, the result is the same memory with other strides. Else the same as define().
  void define_view(const Value* result, const Value* of, IndexMap to_operand, IndexMap to_result = nullptr);

  /// To be called before define(): the result consists of `parts`, whose elements are at the indices that each map
  /// gives, and of `rest`.
  struct Rest {
    Sizes sizes;         // of its loops
    IndexMap to_result;  // maps the loop variables to indices of the result
    Element element;     // at the loop variables
    Element guard;       // which of the elements exist; null: all
  };
  struct Join {
    std::vector<std::pair<const Value*, IndexMap>> parts;
    /// The elements that are in none of the parts with `placed[i]`; nothing if there are none.
    std::function<std::optional<Rest>(const std::vector<bool>& placed)> rest;
  };
  void join_parts(const Value* result, Join join) { joins_[result] = std::move(join); }

  Draft draft(const Sizes& rows, const Sizes& columns);
  /// A draft that continues the unfinished kernel of `operand`, a norm of rows with `depth` elements. The draft's rows
  /// are those of the norm and one more loop, its column is the norm's, and `element` is the operand's element. Nothing
  /// if the operand is no such result, or if it is not profitable that each tile computes the norms again. `factor`:
  /// the tensor that the rows are multiplied by; null: constants of the operand's dtype.
  struct AfterNorm {
    Draft draft;
    ExpressionPtr element;
  };
  std::optional<AfterNorm> draft_after_norm(const Value* operand, const Value* factor, const Sym& depth,
                                            const Sym& more_rows);
  /// A new loop that is neither a row nor a column of a draft.
  Loop new_loop(const Sym& extent);
  /// Adds a reduction over the columns. `guard`: the columns that take part; null: all.
  ExpressionPtr reduce(Draft& draft, ReductionKind kind, ExpressionPtr element, ExpressionPtr guard = nullptr);
  /// The position that an arg reduction made by reduce() finds.
  ExpressionPtr position(const Draft& draft, ExpressionPtr reduced);
  /// `result` at the indices `at`, which are made of the draft's indices, is `element`. finish() needs one for each
  /// result of the current node that is read.
  struct DraftResult {
    const Value* result;
    Indices at;
    ExpressionPtr element;
  };
  void finish(Draft draft, std::vector<DraftResult> results);

  /// For kernels that write a result by stores of their own: gives the result a buffer, from which later nodes read it.
  /// Such a kernel ends with finish_stores().
  uint32_t place(const Value* result);
  /// The same, filled with the elements of another tensor of the same sizes. If `source` is a mutable buffer that
  /// becomes `result`, the buffer stays where it is, and nothing is copied. `written`: the elements that are about to
  /// change, in terms of fresh loop variables; none: all may change.
  uint32_t place_copy(const Value* result, const Value* source, const Indices& written = {});
  /// Whether the result of the current node is written over its operand `self`, a mutable buffer or a part of one.
  bool is_in_place(const Value* result) const { return writes_.over.count(result) > 0; }
  /// For a result in place: the elements of `source` replace different elements, at the indices that `to_result` gives.
  /// `written` as above.
  void replace_elements(const Value* result, const Value* source, const IndexMap& to_result, const Indices& written);
  /// Adds a store of an element of a placed result.
  void store_at(Draft& draft, uint32_t buffer, const Value* result, const Indices& at, ExpressionPtr element,
                ExpressionPtr guard = nullptr);
  void finish_stores(Draft draft);
  /// A buffer in the arena that kernels of the current node pass to each other.
  uint32_t scratch(DType dtype, const Sym& elements);
  /// A constant that the rule makes.
  uint32_t table(const std::vector<int32_t>& numbers);

  /// The joined layers that the current node is the first member of; null: none.
  const JoinedLinears* joined() const;
  /// Adds a constant that is not in the graph. Returns a function for its element at a linear index.
  std::function<ExpressionPtr(ExpressionPtr at)> constant_elements(compiler::ConstantData data, DType dtype);
  /// Finishes the kernel of joined layers: `element` is at `at`, where the last index counts the outputs of all layers.
  void finish_joined(Draft draft, const JoinedLinears& joined, const Indices& at, ExpressionPtr element);

  // Nodes with graphs (lowering_control.cpp). Each result and carried value has one place, where every branch and round
  // puts it.
  void lower_cond(const Node& node);
  void lower_while(const Node& node);
  void lower_scan(const Node& node, size_t num_carried);

  /// Makes sure that an element of the value costs one load.
  void store(const Value* value);
  /// The same if computing an element takes more than `operations`.
  void store_if_expensive(const Value* value, size_t operations);

  /// Whether the channels of an image are innermost in memory. bring_channels_last() makes them so by a copy, if
  /// convolutions want that for this image (layout/channels_last.h).
  bool has_channels_last(const Value* value);
  void bring_channels_last(const Value* value);
  /// Copies a constant with its dimensions in another order. Returns its elements, at the indices in that order.
  Element permuted_constant(const Value* value, const std::vector<int64_t>& order);

  Indices indices_of(const Sizes& sizes);  // fresh loop variables
  /// The indices of the element of `operand` that broadcasts to index `at` of a tensor of sizes `wide`. Sizes of the
  /// operand may turn out to be 1 at run time.
  Indices broadcast(const Value& operand, const Indices& at, const Sizes& wide);
  Indices split(ExpressionPtr linear, const Sizes& sizes);
  ExpressionPtr join(const Indices& at, const Sizes& sizes);
  /// Random numbers for the current node: the seed, and the first of `blocks` blocks of the stream, which the node
  /// takes as the portable kernel does (common/random.h).
  struct Draw {
    ExpressionPtr seed, first;  // i64
  };
  Draw draw_blocks(const Sym& blocks);
  /// Adds a check that depends on data: if it fails, the call fails with a message that names the current node.
  uint32_t add_check(std::string_view what = "an index is out of bounds");
  /// Makes an index into `size` elements of an index read from a tensor. If it is out of bounds, the check fails.
  /// `wraps`: negative indices count from the end.
  ExpressionPtr checked_index(ExpressionPtr position, const Sym& size, bool wraps, uint32_t check);

 private:
  enum class Stage : uint8_t { function, unfinished, stored };
  struct Unfinished {
    LoopKernel kernel;
    Indices at;  // indices of the value, made of the kernel's loop variables
    ExpressionPtr element = nullptr;
    bool per_column = false;
  };
  struct Home {
    uint32_t buffer = 0;
    Sym offset;
    Sizes strides;
  };
  struct Tensor : Home {  // Home: if it is stored
    Stage stage = Stage::function;
    Element element;
    std::unique_ptr<Unfinished> unfinished;
    size_t calls = 0, loads = 0;  // of one element
    /// Its elements are integers in memory that take fewer bytes: each reader converts them again.
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
  /// `why` is for reports: why the value is not computed where it is read.
  void store_because(const Value* value, std::string why);
  /// Adds the functions that an operand (or each operand of a node) is computed from now to the nodes that the kernel
  /// inlines.
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
    Indices at;  // indices of the value, made of the kernel's loop variables
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
  std::map<const Value*, std::vector<uint32_t>> outputs_;  // numbers of the outputs that a value is
  std::map<const Value*, size_t> inner_outputs_;           // for graphs inside nodes: how many outputs a value is
  const compiler::Graph* lowered_;  // the graph that is lowered now: graph_, or one inside a node
  StateWrites writes_;
  std::map<uint32_t, const Value*> states_;  // by buffer: mutable buffers, and carried values of loops
  std::map<const Value*, StoredResult> stored_results_;
  std::map<const Value*, Join> joins_;
  // where values were before their elements were copied, because their buffer was about to change
  std::map<const Value*, Home> homes_;
  // of states that are not written in place: how many new values a value is
  std::map<const Value*, size_t> new_values_;
  std::set<const Node*> done_;  // nodes whose results are defined
  std::map<std::tuple<const Value*, std::vector<uint32_t>, uint32_t>, ExpressionPtr> known_;
  std::map<std::vector<int64_t>, Indices> measured_at_;  // keyed by the upper bounds of sizes
  std::set<const Value*> channels_last_;
  std::set<uint32_t> channels_last_buffers_;
  const Node* node_ = nullptr;
  uint32_t loops_ = 0;
};

}  // namespace wick::cuda
