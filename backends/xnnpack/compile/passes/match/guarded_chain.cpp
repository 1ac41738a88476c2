#include "backends/xnnpack/compile/passes/match/guarded_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Bounds;
using compiler::Builder;
using compiler::Node;
using compiler::Value;

namespace {

constexpr size_t kMaxNodes = 8;

// Terms of a sum have a factor of 1: canonicalize turns others into products.
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
  if (!node->op->facts.curve || !is_plain(*node)) return false;
  for (const Value* operand : node->operands()) {
    if (!operand->type.is_tensor() || !collect(operand, bounds, nodes)) return false;
  }
  nodes.push_back(node);
  return nodes.size() <= kMaxNodes;
}

bool all_finite(const std::vector<const Node*>& nodes, double leaf) {
  std::unordered_map<const Value*, double> known;  // never iterated
  for (const Node* node : nodes) {
    double at[2] = {0, 0};
    for (size_t i = 0; i < std::min<size_t>(2, node->args().size()); ++i) {
      if (const Value* x = node->tensor_or_null(i)) {
        const auto found = known.find(x);
        at[i] = found == known.end() ? leaf : found->second;
      } else {
        const auto number = number_of(node->arg(i), DType::f64);
        if (!number) return false;
        // As a backend may read it: subnormals as zero.
        at[i] = std::abs(number->real) < std::numeric_limits<float>::min() ? 0 : number->real;
      }
    }
    const double y = node->op->facts.curve(at[0], at[1]);
    if (!(std::abs(y) <= std::numeric_limits<float>::max())) return false;
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
  std::unordered_map<const Value*, Value*> made;  // never iterated
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

}  // namespace wick::xnnpack
