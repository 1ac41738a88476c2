// Linear layers that read the same operand and become one kernel. C++20.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// Two or more linear layers, in the order of the graph, whose constant weights one matrix can hold, one above the
/// other.
struct JoinedLinears {
  std::vector<const compiler::Node*> members;
  std::vector<const compiler::Value*> weights, biases;  // of each; a layer may have no bias
  bool has_bias = false;                                // any of them
  std::string why;                                      // it pays, for reports
};

/// By member, in branches and bodies of loops too. Layers stay apart if one of their results is an output, or if its
/// only reader would become part of the kernel that computes it: joined results are in memory before anything else
/// reads them.
std::map<const compiler::Node*, std::shared_ptr<const JoinedLinears>> find_joined_linears(const compiler::Graph& graph);

/// The members' weights, [sum of outputs, inputs].
compiler::ConstantData joined_weights(const JoinedLinears& joined);
/// Their biases, [sum of outputs]. Layers without one get -0, which changes no sum.
compiler::ConstantData joined_biases(const JoinedLinears& joined);

}  // namespace wick::cuda
