// Walks the nodes of one exported graph and builds the functional one. Internal to the importer.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "compiler/import/archive/storage.h"
#include "compiler/import/program/exported_program.h"
#include "compiler/ir/graph.h"

namespace wick::compiler {

struct SubclassValue;
/// The meaning of a name of the exported graph: memory, an integer (or truth value) known as an expression, a number
/// read at run time, or a tensor subclass.
struct Binding {
  RefPtr ref;                  // tensor
  std::optional<Sym> integer;  // SymInt or SymBool
  Value* scalar = nullptr;     // float
  std::shared_ptr<const SubclassValue> subclass = nullptr;
};
using Scope = std::map<std::string, Binding, std::less<>>;

/// A parameter that is a tensor subclass, and the tensors inside it.
struct SubclassValue {
  std::string fqn;
  const pt2::Subclass* type;
  Scope inner;  // by attribute
};

/// Operators the file uses and Wick has no OpDef for: name -> count and first sources.
struct MissingOps {
  struct Use {
    size_t count = 0;
    std::vector<std::string> sources;
  };
  std::map<std::string, Use, std::less<>> uses;
  void add(std::string_view target, const pt2::Origin& origin);
  Status status() const;
};

/// "torch.ops.aten.add.Tensor" -> "aten.add.Tensor".
std::string_view op_name(std::string_view target);

/// Collects every operator of `graph` and its sub-graphs that Wick does not know.
void find_missing(const pt2::Graph& graph, MissingOps& missing);

/// The name of a tensor, or of a number that is not a literal; else "".
std::string argument_name(const pt2::Argument& arg);

class GraphReader {
 public:
  GraphReader(const pt2::Graph& source, Graph& graph, Scope scope);

  /// Imports all nodes; afterwards outputs can be resolved.
  void read_nodes();
  /// The graph output as the IR has it. Reads aliases at their newest version.
  GraphOutput output(const pt2::Argument& arg);
  /// Fails for a tensor subclass, which only few operators can read.
  const Binding& binding(std::string_view name) const;
  const Binding& any_binding(std::string_view name) const;
  Value* tensor_value(std::string_view name);

  static TensorType tensor_type(const pt2::TensorMeta& meta);
  static Sym to_sym(const pt2::SymInt& sym);

 private:
  void read_node(const pt2::Node& node);
  void read_operator(const pt2::Node& node, const OpDef& def);
  void read_in_place(const pt2::Node& node, const OpDef& def, Node* made);
  void read_mutating(const pt2::Node& node, const OpDef& def);
  bool read_updating(const pt2::Node& node, const OpDef& def);
  void read_effect(const pt2::Node& node);
  void read_out_dtype(const pt2::Node& node);
  void read_auto_functionalized(const pt2::Node& node);
  Binding mutated_view(const pt2::Node& node, const std::string& argument, const std::vector<RefPtr>& bases);
  void read_into_out(const pt2::Node& node, const OpDef& functional);
  bool read_scalar_node(const pt2::Node& node);
  Sym recorded(std::string_view value) const;
  Binding size_of(const pt2::Node& node, std::string_view name);
  Binding element_of(const pt2::Node& node, std::string_view name);
  std::optional<Sym> rounded_size(std::string_view function, const std::string& result) const;
  Binding python_number(const pt2::Node& node, std::string_view name);
  Binding arithmetic(const pt2::Node& node, std::string_view name, Args numbers);
  void assert_equal(const Sym& read, const Sym& wanted, DType dtype);
  Value* power(std::string_view function, const Args& numbers);
  struct AutocastRegion {
    DType dtype;
    bool on_cpu;
  };
  void read_wrapped(const pt2::Node& node, size_t graph_index, size_t first_operand,
                    std::optional<AutocastRegion> autocast);
  static std::optional<AutocastRegion> autocast_region(const pt2::Node& node);
  void cast_operands(const std::string& result, const OpDef& def, Args& args);
  /// Arguments and sub-graphs of a control flow node.
  struct ControlFlow {
    Args args;
    std::vector<std::unique_ptr<Graph>> graphs;
  };
  void read_control_flow(const pt2::Node& node);
  ControlFlow control_flow(const pt2::Node& node, std::string_view name);
  Args operand_list(const pt2::Node& node, size_t index);
  Args carried_tensors(const pt2::Node& node, size_t index);
  void read_inner_tensor(const pt2::Node& node);
  std::unique_ptr<Graph> read_subgraph(const pt2::Graph& source, const Args& operands);

  Arg tensor_of_number(Arg arg, const OpDef& def);
  Args arguments(const pt2::Node& node, const OpDef& def);
  Arg argument(const pt2::Argument& arg, const ArgSpec& spec);
  Arg scalar_argument(std::string_view name);
  Sym integer(const pt2::Argument& arg);
  Arg number(const pt2::Argument& arg);
  Value* complex_constant(const pt2::ComplexArg& number, const std::vector<std::optional<Arg>>& operands);
  const OpDef* without_complex_numbers(const OpDef* def, Args& args);
  const OpDef* with_factors(const OpDef& def, Args& args);
  const OpDef* of_parts(const OpDef& def, Args& args, int number);
  Node* make_node(const pt2::Node& node, const OpDef& def, Args args, size_t results);
  void infer(const pt2::Node& node, Node* made, const std::vector<std::string>& names);
  std::vector<std::string> output_names(const pt2::Node& node) const;
  /// A tensor operand of a node, with its name in the file.
  struct Operand {
    std::string name;
    Value* value = nullptr;
    RefPtr ref;  // null: it has no name, or the node reads another value
    std::optional<Placement> placement;
  };
  std::vector<Operand> operands_of(const pt2::Node& node, const Node& made);
  std::optional<Placement> placement_of(std::string_view name) const;
  // Whether the file records one device for both tensors: one that was moved to another has memory of its own.
  bool on_one_device(std::string_view a, std::string_view b) const;
  void place(std::string_view name, const Binding& binding) const;
  void bind_results(const pt2::Node& node, Node* made, const std::vector<std::string>& names);
  RefPtr shared_ref(const Operand& operand, const Sharing& sharing, std::string_view name, Value* result);
  void read_strided(const pt2::Node& node, const OpDef& def, Args args);
  void bind(const std::string& name, Binding binding) {
    place(name, binding);
    scope_[name] = std::move(binding);
  }
  OriginPtr origin_of(const pt2::Node& node);

  const pt2::Graph& source_;
  Graph& graph_;
  Scope scope_;
  Builder builder_;
  std::optional<AutocastRegion> autocast_;
};

}  // namespace wick::compiler
