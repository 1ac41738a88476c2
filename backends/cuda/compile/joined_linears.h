// Finds linear layers that read the same operand, to compute them by one kernel. C++20.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// Two or more linear layers, in the order of the graph. One matrix can hold their constant weights, one below the
/// other.
struct JoinedLinears {
  std::vector<const compiler::Node*> members;
  std::vector<const compiler::Value*> weights, biases;  // of each layer; it may have no bias
  bool has_bias = false;                                // any layer has one
  std::string why;                                      // the reason for reports
};

/// The joined layers by member, also those in branches and bodies of loops. A layer stays apart if its result is an
/// output, or if its only reader would become part of its kernel: results of joined layers are in memory before
/// anything reads them.
std::map<const compiler::Node*, std::shared_ptr<const JoinedLinears>> find_joined_linears(const compiler::Graph& graph);

/// The members' weights, [sum of outputs, inputs].
compiler::ConstantData joined_weights(const JoinedLinears& joined);
/// The members' biases, [sum of outputs]. For layers without one it is -0, which changes no sum.
compiler::ConstantData joined_biases(const JoinedLinears& joined);

}  // namespace wick::cuda
