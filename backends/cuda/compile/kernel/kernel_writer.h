// Expressions as C text, with the parameters and local constants that they need. C++20.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/compile/kernel/loop_text.h"

namespace wick::cuda {

const char* storage_name(DType dtype);
const char* type_name(ScalarType type);
std::string number_text(double number, ScalarType type);
Sym extent_of(const std::vector<Loop>& loops);

/// Lines of a kernel, and the local constants that they have defined. Constants of `outer` are visible.
struct Scope {
  std::string text, indent;
  Scope* outer = nullptr;
  /// Symbols that this scope defines: expressions that mention none of them belong to `outer`.
  std::set<std::string, std::less<>> symbols;
  /// Whether it defines what the reductions give.
  bool has_results = false;
  std::map<ExpressionPtr, std::string> names;

  void line(const std::string& text_of_line) { text += indent + text_of_line + "\n"; }
};

class KernelWriter {
 public:
  KernelWriter(LoweredGraph& graph, const LoopKernel& kernel) : graph_(graph), kernel_(kernel) { name_variables(); }

 protected:
  /// The text of an expression in a scope; what takes an operation becomes a local constant of the outermost scope that
  /// has all its symbols.
  std::string value(Scope& scope, ExpressionPtr expression);
  void write_store(Scope& scope, const Store& store, const std::string& condition);
  /// Lines that decode a linear number into loop variables; the innermost loop runs fastest.
  void write_split(Scope& scope, const std::vector<Loop>& loops, const std::string& linear);
  std::string text(const Sym& sym);
  const std::string& name_of(const Loop& loop) const { return names_.at(std::string(loop.variable.symbol_name())); }
  /// What the text of a reduction's result is.
  virtual std::string result_text(ExpressionPtr reduced) const = 0;
  /// Completes the source: parameters and the type of indices. `extra`: linear numbers that must fit an index.
  KernelSource finish(std::string body, const Sym& extra);
  static std::string stored_as(DType dtype, const std::string& value);

  LoweredGraph& graph_;
  const LoopKernel& kernel_;
  KernelSource source_;

 public:
  virtual ~KernelWriter() = default;

 private:
  void name_variables();
  bool belongs_outside(const Scope& scope, ExpressionPtr expression);
  std::string load_text(Scope& scope, ExpressionPtr e);
  std::string call_text(Scope& scope, ExpressionPtr e);
  std::string parameter(uint32_t buffer, bool writes);
  std::string status_parameter();
  bool needs_wide_index(const Sym& extra) const;

  struct Mentions {
    std::set<std::string, std::less<>> symbols;
    bool results = false;
  };
  const Mentions& mentions(ExpressionPtr expression);
  std::map<ExpressionPtr, Mentions> mentions_;
  std::map<std::string, std::string, std::less<>> names_;
  std::vector<std::string> sizes_;
  size_t locals_ = 0;
};

}  // namespace wick::cuda
