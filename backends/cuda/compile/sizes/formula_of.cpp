#include "backends/cuda/compile/sizes/formula_of.h"

#include <set>

#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::Sym;
using compiler::SymOp;

namespace {

FormulaOp formula_op(SymOp op) {
  switch (op) {
    case SymOp::sum: return FormulaOp::add;
    case SymOp::product: return FormulaOp::multiply;
    case SymOp::floor_div: return FormulaOp::floor_divide;
    case SymOp::mod: return FormulaOp::modulo;
    case SymOp::max: return FormulaOp::maximum;
    case SymOp::min: return FormulaOp::minimum;
    case SymOp::eq: return FormulaOp::equal;
    case SymOp::ne: return FormulaOp::not_equal;
    case SymOp::lt: return FormulaOp::less;
    case SymOp::le: return FormulaOp::less_equal;
    case SymOp::logical_and: return FormulaOp::logical_and;
    case SymOp::logical_or: return FormulaOp::logical_or;
    case SymOp::logical_not: return FormulaOp::logical_not;
    case SymOp::where: return FormulaOp::select;
    default: break;
  }
  compiler::fail(compiler::Code::internal, "cuda: a symbolic operator without a formula");
}

void append(const Sym& sym, const SymbolFormulas& symbols, Formula& out) {
  if (sym.is_const()) {
    out.push_back({FormulaOp::constant, sym.value()});
    return;
  }
  const compiler::SymNode& node = *sym.node();
  if (node.op == SymOp::symbol) {
    const auto found = symbols.find(node.name);
    if (found == symbols.end())
      compiler::fail(compiler::Code::internal, "cuda: the size " + node.name + " is none of an input");
    out.insert(out.end(), found->second.begin(), found->second.end());
    return;
  }
  append(node.args[0], symbols, out);
  if (node.op == SymOp::logical_not) out.push_back({FormulaOp::logical_not, 0});
  if (node.op == SymOp::where) {
    append(node.args[1], symbols, out);
    append(node.args[2], symbols, out);
    out.push_back({FormulaOp::select, 0});
    return;
  }
  for (size_t i = 1; i < node.args.size(); ++i) {
    append(node.args[i], symbols, out);
    out.push_back({formula_op(node.op), 0});
  }
}

}  // namespace

Formula formula_of(const Sym& size, const SymbolFormulas& symbols) {
  Formula out;
  append(size, symbols, out);
  return out;
}

bool is_computable(const Sym& size) {
  std::set<std::string, std::less<>> names;
  collect_symbols(size, names);
  std::vector<Symbol> symbols;
  SymbolFormulas values;
  for (const std::string& name : names) {
    const compiler::SymRange range = compiler::SymScope::range(Sym::symbol(name));
    values[name] = {{FormulaOp::symbol, static_cast<int64_t>(symbols.size())}};
    symbols.push_back({name, range.min, range.max, 0, 0});
  }
  FormulaRange found;
  return range_of(formula_of(size, values), {symbols.data(), symbols.size()}, &found) == nullptr;
}

}  // namespace wick::cuda
