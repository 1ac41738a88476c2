// Expressions as C text, with the parameters and local constants that they need. C++20.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

const char* storage_name(DType dtype);
std::string number_text(double number, ScalarType type);
/// An element in memory, as it is computed with.
std::string element_of(DType dtype, const std::string& element);

// Of reductions: the functor that combines two values, whether values carry positions, what an empty one gives, and the
// type of its value.
const char* combiner(ReductionKind kind);
bool is_positioned(ReductionKind kind);
std::string first_value(const Reduction& reduction);
std::string type_of(const Reduction& reduction);

/// Lines of a kernel, and the local constants that they have defined. Constants of `outer` are visible.
struct Scope {
  std::string text, indent;
  Scope* outer = nullptr;
  /// Symbols that this scope defines: expressions that mention none of them belong to `outer`.
  std::set<std::string, std::less<>> symbols;
  /// Whether it defines what the reductions give.
  bool has_results = false;
  /// Whether each element of a group within it has results of its own.
  bool has_results_of_elements = false;
  std::map<ExpressionPtr, std::string> names;

  void line(const std::string& text_of_line) { text += indent + text_of_line + "\n"; }
  /// While a loop or a function within the scope is written, constants of the scope itself go before it.
  void open_inner() { constants_at = text.size(); }
  void close_inner() { constants_at = std::string::npos; }
  void constant(const std::string& text_of_line) {
    if (constants_at == std::string::npos) return line(text_of_line);
    const std::string added = indent + text_of_line + "\n";
    text.insert(constants_at, added);
    constants_at += added.size();
  }
  size_t constants_at = std::string::npos;
};

class KernelWriter {
 public:
  KernelWriter(LoweredGraph& graph, const LoopKernel& kernel) : graph_(graph), kernel_(kernel) { name_variables(); }

 protected:
  /// The text of an expression in a scope; what takes an operation becomes a local constant of the outermost scope that
  /// has all its symbols.
  std::string value(Scope& scope, ExpressionPtr expression);
  void write_store(Scope& scope, const Store& store, const std::string& condition);
  /// A loop over `e` for a group of `count` neighbours along a loop, whose variable is in `outer` that of the first
  /// one. What `body` reads of `roots` side by side in memory is loaded at once.
  void write_group(Scope& outer, const Loop& loop, uint32_t count, std::vector<ExpressionPtr> roots,
                   const std::function<void(Scope& inner)>& body);
  /// What each thread has loaded before: `text` is that of a vector for groups, else of an element as it is computed
  /// with.
  void hold(ExpressionPtr load, const std::string& text) { held_[load] = text; }
  /// Loads what lies side by side of what the roots read, each run at once.
  void hold_runs(Scope& scope, const std::vector<ExpressionPtr>& roots);
  /// The stores of such a group, each of them at once.
  void write_group_stores(Scope& outer, const Loop& loop, uint32_t count, const std::vector<Store>& stores);
  /// Takes the element of column number `number` into a reduction's value `acc`.
  void write_accumulation(Scope& column, const Reduction& reduction, const std::string& acc, const std::string& number);
  /// Lines that decode a linear number into loop variables; the innermost loop runs fastest.
  void write_split(Scope& scope, const std::vector<Loop>& loops, const std::string& linear);
  std::string text(const Sym& sym);
  /// Names a variable of the kernel that is no loop of its own.
  void name_variable(const Sym& variable, const std::string& text) {
    names_[std::string(variable.symbol_name())] = text;
  }
  const std::string& name_of(const Loop& loop) const { return names_.at(std::string(loop.variable.symbol_name())); }
  /// What the text of a reduction's result is.
  virtual std::string result_text(ExpressionPtr reduced) const = 0;
  /// Completes the source: parameters and the type of indices. `extra`: linear numbers that must fit an index.
  KernelSource finish(std::string body, const Sym& extra);
  /// Loads `count` neighbours, of which the load is the first.
  void define_vector(Scope& outer, ExpressionPtr load, uint32_t count, const std::string& name);
  static std::string stored_as(DType dtype, const std::string& value);
  std::string stored_text(Scope& scope, const Store& store);
  std::string parameter(uint32_t buffer, bool writes);
  /// Runs the kernel's prologues, by all threads of a block (loop_text.cpp).
  void write_prologues(Scope& scope, uint32_t threads);
  /// The stores of a part of the rows, of which `row` is the number; the thread for which `condition` holds does them.
  void write_part(Scope& scope, const RowPart& part, const std::string& row, const std::string& condition);
  /// Begins what warps do for rows, of which each takes one: names the row's number `row`. Blocks with prologues are
  /// few: warps take rows until there are no more. Returns whether that is a loop, which the caller closes.
  /// `lanes`: of each row, if several share a warp; their number is a multiple of those of a warp.
  bool begin_rows_of_warps(Scope& scope, const Sym& rows, uint32_t threads, const std::string& row,
                           uint32_t lanes = 32);
  /// Goes on with the parameters and names of another writer, which writes no more until it goes on from this one.
  void goes_on_from(KernelWriter& other);
  /// source_.counters u32 numbers that are 0 when the kernel begins and when it ends.
  std::string counters_parameter();

  LoweredGraph& graph_;
  const LoopKernel& kernel_;
  KernelSource source_;

 public:
  virtual ~KernelWriter() = default;

 private:
  void write_prologue(Scope& scope, const LoopKernel& prologue, const std::string& name, uint32_t threads);
  void name_variables();
  bool belongs_outside(const Scope& scope, ExpressionPtr expression);
  std::string load_text(Scope& scope, ExpressionPtr e);
  void load_vector(Scope& outer, Scope& inner, ExpressionPtr load, uint32_t count);
  std::string call_text(Scope& scope, ExpressionPtr e);
  std::string status_parameter();
  std::string check_parameter(uint32_t number);
  void add_once(KernelParameter::Kind kind);
  bool needs_wide_index(const Sym& extra) const;

  struct Mentions {
    std::set<std::string, std::less<>> symbols;
    bool results = false;
  };
  const Mentions& mentions(ExpressionPtr expression);
  std::map<ExpressionPtr, Mentions> mentions_;
  std::map<std::string, std::string, std::less<>> names_;
  std::map<uint32_t, std::string> in_shared_memory_;
  std::map<ExpressionPtr, std::string> held_;
  std::vector<std::string> sizes_;
  size_t locals_ = 0;
};

}  // namespace wick::cuda
