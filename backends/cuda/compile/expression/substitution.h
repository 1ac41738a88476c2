// Replaces parts of expressions. C++20.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "backends/cuda/compile/kernel/loop_kernel.h"

namespace wick::cuda {

/// Replaces variables, loads and results of reductions. Folds selects whose condition becomes constant, and loads whose
/// guard does.
class Substitution {
 public:
  using Variables = std::map<std::string, Sym, std::less<>>;
  /// Replaces a load or the result of a reduction, in which variables are replaced already; null: it stays.
  using Replace = std::function<ExpressionPtr(ExpressionPtr)>;

  Substitution(ExpressionPool& pool, Variables variables, Replace replace = nullptr)
      : pool_(pool), variables_(std::move(variables)), replace_(std::move(replace)) {}

  ExpressionPtr of(ExpressionPtr expression);
  Reduction of(Reduction reduction);
  Store of(Store store);

 private:
  ExpressionPtr made(ExpressionPtr expression);
  ExpressionPtr call(const Expression& expression, std::vector<ExpressionPtr> args);
  ExpressionPtr load(const Expression& expression, const std::vector<ExpressionPtr>& args);

  ExpressionPool& pool_;
  const Variables variables_;
  const Replace replace_;
  std::map<ExpressionPtr, ExpressionPtr> known_;
};

/// The value that a load of the stored element gives.
ExpressionPtr as_loaded(ExpressionPool& pool, const Store& store);

}  // namespace wick::cuda
