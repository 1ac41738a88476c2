#include <fmt/format.h>

#include "backends/cuda/compile/kernel/loop_text.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::SymOp;
using compiler::SymScope;

namespace {

std::string joined(const std::vector<std::string>& parts, const char* by) {
  std::string out = "(";
  for (size_t i = 0; i < parts.size(); ++i) out += (i ? by : "") + parts[i];
  return out + ")";
}

}  // namespace

std::string index_text(const Sym& sym, const std::map<std::string, std::string, std::less<>>& names) {
  if (sym.is_const()) return sym.value() < 0 ? fmt::format("({})", sym.value()) : fmt::format("{}", sym.value());
  const compiler::SymNode& node = *sym.node();
  if (node.op == SymOp::symbol) {
    const auto name = names.find(node.name);
    if (name == names.end()) compiler::fail(compiler::Code::internal, "cuda: a kernel has no name for " + node.name);
    return name->second;
  }
  std::vector<std::string> args;
  for (const Sym& arg : node.args) args.push_back(index_text(arg, names));
  // C rounds quotients towards zero, so `/` and `%` are right only for operands that are not negative.
  const auto counts_up = [&] {
    return SymScope::range(node.args[0]).min >= 0 && SymScope::range(node.args[1]).min > 0;
  };
  switch (node.op) {
    case SymOp::sum: return joined(args, " + ");
    case SymOp::product: return joined(args, " * ");
    case SymOp::floor_div:
      return counts_up() ? joined(args, " / ") : fmt::format("floor_divide<idx>({}, {})", args[0], args[1]);
    case SymOp::mod:
      return counts_up() ? joined(args, " % ") : fmt::format("floor_modulo<idx>({}, {})", args[0], args[1]);
    case SymOp::max: return fmt::format("larger<idx>({}, {})", args[0], args[1]);
    case SymOp::min: return fmt::format("smaller<idx>({}, {})", args[0], args[1]);
    case SymOp::eq: return joined(args, " == ");
    case SymOp::ne: return joined(args, " != ");
    case SymOp::lt: return joined(args, " < ");
    case SymOp::le: return joined(args, " <= ");
    case SymOp::logical_and: return joined(args, " && ");
    case SymOp::logical_or: return joined(args, " || ");
    case SymOp::logical_not: return "(!" + args[0] + ")";
    case SymOp::where: return fmt::format("({} ? {} : {})", args[0], args[1], args[2]);
    default: break;
  }
  compiler::fail(compiler::Code::internal, "cuda: no text for a symbolic operator");
}

}  // namespace wick::cuda
