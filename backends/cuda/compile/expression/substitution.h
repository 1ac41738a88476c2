// Expressions with parts of them replaced. C++20.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "backends/cuda/compile/kernel/loop_kernel.h"

namespace wick::cuda {

/// Replaces variables, and loads and results of reductions. Selections whose condition becomes known are made, and
/// loads whose guard does, too.
class Substitution {
 public:
  using Variables = std::map<std::string, Sym, std::less<>>;
  /// What stands for a load or a result, whose variables are replaced already; null: itself.
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

/// The value of a store as a load of the element gives it.
ExpressionPtr as_loaded(ExpressionPool& pool, const Store& store);

}  // namespace wick::cuda
