#include "compiler/passes/match/guarded_chain.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr size_t kMaxNodes = 8;

struct Row {
  std::string_view op;
  double (*curve)(double x, double y);  // of arguments 0 and 1
};
constexpr Row kRows[] = {
    {"aten.abs.default", [](double x, double) { return std::abs(x); }},
    {"aten.add.Scalar", [](double x, double y) { return x + y; }},
    {"aten.add.Tensor", [](double x, double y) { return x + y; }},
    {"aten.cos.default", [](double x, double) { return std::cos(x); }},
    {"aten.div.Scalar", [](double x, double y) { return x / y; }},
    {"aten.div.Tensor", [](double x, double y) { return x / y; }},
    {"aten.exp.default", [](double x, double) { return std::exp(x); }},
    {"aten.expm1.default", [](double x, double) { return std::expm1(x); }},
    {"aten.log.default", [](double x, double) { return std::log(x); }},
    {"aten.log10.default", [](double x, double) { return std::log10(x); }},
    {"aten.log1p.default", [](double x, double) { return std::log1p(x); }},
    {"aten.log2.default", [](double x, double) { return std::log2(x); }},
    {"aten.mul.Scalar", [](double x, double y) { return x * y; }},
    {"aten.mul.Tensor", [](double x, double y) { return x * y; }},
    {"aten.neg.default", [](double x, double) { return -x; }},
    {"aten.pow.Tensor_Scalar", [](double x, double y) { return std::pow(x, y); }},
    {"aten.reciprocal.default", [](double x, double) { return 1 / x; }},
    {"aten.rsqrt.default", [](double x, double) { return 1 / std::sqrt(x); }},
    {"aten.rsub.Scalar", [](double x, double y) { return y - x; }},
    {"aten.sin.default", [](double x, double) { return std::sin(x); }},
    {"aten.sqrt.default", [](double x, double) { return std::sqrt(x); }},
    {"aten.sub.Scalar", [](double x, double y) { return x - y; }},
    {"aten.sub.Tensor", [](double x, double y) { return x - y; }},
};

const Row* row_of(const Node& node) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return node.is(r.op); });
  return row == std::end(kRows) ? nullptr : row;
}

// Summands have a factor of 1: canonicalize makes a product of others.
bool is_plain(const Node& node) {
  if (node.op->parsed->find("alpha") < 0) return true;
  const auto alpha = number_of(node.arg("alpha"), DType::f64);
  return alpha && alpha->is(1);
}

bool collect(const Value* value, Bounds& bounds, std::vector<const Node*>& nodes) {
  if (value->dtype() != DType::f32) return false;
  if (bounds.is_number(value)) return true;
  const Node* node = value->producer;
  if (!node || nodes.size() >= kMaxNodes) return false;
  if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return true;
  if (!row_of(*node) || !is_plain(*node)) return false;
  for (const Value* operand : node->operands()) {
    if (!operand->type.is_tensor() || !collect(operand, bounds, nodes)) return false;
  }
  nodes.push_back(node);
  return nodes.size() <= kMaxNodes;
}

bool all_finite(const std::vector<const Node*>& nodes, double leaf) {
  std::unordered_map<const Value*, double> known;  // looked up only
  for (const Node* node : nodes) {
    double at[2] = {0, 0};
    for (size_t i = 0; i < std::min<size_t>(2, node->args().size()); ++i) {
      if (const Value* x = tensor_at(*node, i)) {
        const auto found = known.find(x);
        at[i] = found == known.end() ? leaf : found->second;
      } else {
        const auto number = number_of(node->arg(i), DType::f64);
        if (!number) return false;
        at[i] = number->real;
      }
    }
    const double y = row_of(*node)->curve(at[0], at[1]);
    if (!std::isfinite(y)) return false;
    known[node->result()] = y;
  }
  return true;
}

}  // namespace

std::optional<GuardedChain> guarded_chain(const Value* end, Bounds& bounds) {
  GuardedChain chain;
  chain.end = end;
  if (!collect(end, bounds, chain.nodes)) return std::nullopt;
  for (const double number : {1.0, 0.5, 2.0, 0.0, -1.0}) {
    chain.safe = number;
    if (all_finite(chain.nodes, number)) return chain;
  }
  return std::nullopt;
}

Value* rebuilt(Builder& b, const GuardedChain& chain, const std::function<Value*(Value*)>& leaf) {
  std::unordered_map<const Value*, Value*> made;  // looked up only
  for (const Node* node : chain.nodes) {
    Args args = node->args();
    for (Arg& arg : args) {
      if (!arg.is<Value*>()) continue;
      const auto [known, is_new] = made.try_emplace(arg.as<Value*>());
      if (is_new) known->second = leaf(arg.as<Value*>());
      arg = known->second;
    }
    made[node->result()] = b.call(node->op->name(), std::move(args));
  }
  return made.at(chain.end);
}

}  // namespace wick::compiler
