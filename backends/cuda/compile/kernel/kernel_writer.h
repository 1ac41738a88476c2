// Writes expressions as C text, with the parameters and local constants that they need. C++20.
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
/// The text of an element in memory, converted to its register type.
std::string element_of(DType dtype, const std::string& element);

// Parts of a reduction's text: the functor that combines two values, whether values carry positions, the value of an
// empty reduction, and the type of a value.
const char* combiner(ReductionKind kind);
bool is_positioned(ReductionKind kind);
std::string first_value(const Reduction& reduction);
std::string type_of(const Reduction& reduction);

/// A block of a kernel's text, and the local constants that it has defined. It also sees the constants of `outer`.
struct Scope {
  std::string text, indent;
  Scope* outer = nullptr;
  /// Symbols that this scope defines. An expression that mentions none of them is computed in `outer`.
  std::set<std::string, std::less<>> symbols;
  /// Whether this scope defines the results of the reductions.
  bool has_results = false;
  /// Whether a group of elements within this scope has a result of the reductions for each element.
  bool has_results_of_elements = false;
  std::map<ExpressionPtr, std::string> names;

  void line(const std::string& text_of_line) { text += indent + text_of_line + "\n"; }
  /// While an inner loop or function is being written, constants of this scope are inserted before it.
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
  /// The text of an expression in a scope. Each operation becomes a local constant of the outermost scope that has all
  /// symbols of the expression.
  std::string value(Scope& scope, ExpressionPtr expression);
  void write_store(Scope& scope, const Store& store, const std::string& condition);
  /// Writes a loop over `e` for a group of `count` neighbours along `loop`, whose variable in `outer` is that of the
  /// first neighbour. Loads in `roots` that are contiguous over the group become one vector load before the loop.
  void write_group(Scope& outer, const Loop& loop, uint32_t count, std::vector<ExpressionPtr> roots,
                   const std::function<void(Scope& inner)>& body);
  /// Says that each thread has loaded `load` before. `text`: a vector of the neighbours if groups read it, else the
  /// element in its register type.
  void hold(ExpressionPtr load, const std::string& text) { held_[load] = text; }
  /// Loads each run of adjacent elements that the roots read at once (load_runs.h).
  void hold_runs(Scope& scope, const std::vector<ExpressionPtr>& roots);
  /// Writes the stores of such a group: one vector store each.
  void write_group_stores(Scope& outer, const Loop& loop, uint32_t count, const std::vector<Store>& stores);
  /// Combines the element of column number `number` into a reduction's accumulator `acc`.
  void write_accumulation(Scope& column, const Reduction& reduction, const std::string& acc, const std::string& number);
  /// Decodes a linear number into loop variables; the innermost loop varies fastest.
  void write_split(Scope& scope, const std::vector<Loop>& loops, const std::string& linear);
  std::string text(const Sym& sym);
  /// Gives a name to a variable that is no loop of the kernel.
  void name_variable(const Sym& variable, const std::string& text) {
    names_[std::string(variable.symbol_name())] = text;
  }
  const std::string& name_of(const Loop& loop) const { return names_.at(std::string(loop.variable.symbol_name())); }
  /// The text of a reduction's result.
  virtual std::string result_text(ExpressionPtr reduced) const = 0;
  /// Completes the source: adds parameters and the type of indices. `extra`: the linear numbers, besides rows, columns
  /// and offsets, that must fit an index.
  KernelSource finish(std::string body, const Sym& extra);
  /// Loads `count` neighbours, the first of which is `load`, as a vector.
  void define_vector(Scope& outer, ExpressionPtr load, uint32_t count, const std::string& name);
  static std::string stored_as(DType dtype, const std::string& value);
  std::string stored_text(Scope& scope, const Store& store);
  std::string parameter(uint32_t buffer, bool writes);
  /// Writes the kernel's prologues; all threads of a block run them (loop_text.cpp).
  void write_prologues(Scope& scope, uint32_t threads);
  /// Writes the stores of a row part (RowPart). `row`: the text of the row's number. The thread for which `condition`
  /// holds stores.
  void write_part(Scope& scope, const RowPart& part, const std::string& row, const std::string& condition);
  /// Begins the text in which each warp takes a row, whose number it calls `row`. The number of blocks is limited if
  /// the kernel has prologues. If there are more rows then, warps loop over them: returns true, and the caller closes
  /// the loop. `lanes`: lanes of each row if several rows share a warp; then the number of rows is a multiple of the
  /// rows of a warp.
  bool begin_rows_of_warps(Scope& scope, const Sym& rows, uint32_t threads, const std::string& row,
                           uint32_t lanes = 32);
  /// Takes over the parameters and names of another writer. That one must not write until it takes them back in the
  /// same way.
  void takes_over_from(KernelWriter& other);
  /// The parameter for source_.counters u32 numbers, which are 0 when the kernel begins and when it ends.
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
