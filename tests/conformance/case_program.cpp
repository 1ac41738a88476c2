#include "tests/conformance/case_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/importer.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"

namespace wick::conformance {
namespace {

namespace pt2 = compiler::pt2;
using compiler::Result;

pt2::TensorMeta meta_of(const CaseTensor& tensor) {
  pt2::TensorMeta meta;
  meta.dtype = tensor.value.dtype;
  for (const int32_t size : tensor.value.sizes) meta.sizes.push_back({size, nullptr});
  for (const int64_t stride : tensor.strides) meta.strides.push_back({stride, nullptr});
  return meta;
}

pt2::SymInt symbol(int64_t size) {
  auto expr = std::make_shared<pt2::SymExpr>();
  expr->text = fmt::format("Symbol('s{}', positive=True, integer=True)", size);
  expr->hint = size;
  return {0, expr};
}

// Every size above 1 becomes a symbol. Equal sizes share one.
void make_dynamic(pt2::ExportedProgram& program, pt2::TensorMeta& meta, bool bounded) {
  for (pt2::SymInt& size : meta.sizes) {
    if (size.value < 2) continue;
    auto& range = program.range_constraints[fmt::format("s{}", size.value)];
    range.min = 2;
    if (bounded) range.max = size.value * 2;
    size = symbol(size.value);
  }
}

void add_output(pt2::ExportedProgram& program, pt2::Argument arg) {
  program.graph.outputs.push_back(arg);
  program.output_specs.push_back({pt2::OutputKind::user_output, std::move(arg), ""});
}

// What the file records about the results: static sizes; sizes with symbols in them; nothing; sizes of which the one
// that depends on values is an unbounded symbol.
enum class Recorded { sizes, symbols, nothing, size_by_values };

bool is_data_dependent(const Case& test) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  return def && def->has(compiler::kDataDependent);
}

// The dimension of a result whose size depends on values of the operands.
size_t dim_by_values(const Case& test, size_t rank) {
  for (const pt2::NamedArgument& input : test.inputs) {
    const auto* dim = input.name == "dim" ? std::get_if<int64_t>(&input.arg) : nullptr;
    if (dim) return static_cast<size_t>(*dim < 0 ? *dim + static_cast<int64_t>(rank) : *dim);
  }
  return 0;
}

void make_size_unbounded(pt2::ExportedProgram& program, const Case& test, pt2::TensorMeta& meta) {
  const size_t dim = dim_by_values(test, meta.sizes.size());
  if (dim >= meta.sizes.size()) return;
  const std::string name = fmt::format("u{}", program.range_constraints.size());
  auto expr = std::make_shared<pt2::SymExpr>();
  expr->text = fmt::format("Symbol('{}', integer=True, nonnegative=True)", name);
  program.range_constraints[name].min = 0;
  meta.sizes[dim] = {0, expr};
}

// The number of elements that a mask selects depends on its values: the exporter records it as a symbol.
bool selects_by_mask(const Case& test) {
  if (!test.op.starts_with("aten.index.Tensor")) return false;
  for (const auto& [name, tensor] : test.tensors) {
    if (name != test.tensors[0].first && tensor.value.dtype == DType::boolean) return true;
  }
  return false;
}

// With dynamic sizes nothing is recorded for operators with a shape function: it infers the sizes.
Recorded what_to_record(const Case& test, Operands operands) {
  if (operands == Operands::untyped_results) return Recorded::nothing;
  if (operands == Operands::unbounded_inputs && is_data_dependent(test)) return Recorded::size_by_values;
  if (operands != Operands::dynamic_inputs && operands != Operands::unbounded_inputs) return Recorded::sizes;
  if (selects_by_mask(test)) return Recorded::symbols;
  const compiler::OpDef* def = compiler::find_op(test.op);
  return def && def->infer ? Recorded::nothing : Recorded::symbols;
}

// A size of a result that equals a size of an input becomes the input's symbol. Any other size becomes the new symbol
// u0 if `by_values`.
void make_symbolic(pt2::ExportedProgram& program, pt2::TensorMeta& meta, bool by_values) {
  for (pt2::SymInt& size : meta.sizes) {
    if (program.range_constraints.count(fmt::format("s{}", size.value))) {
      size = symbol(size.value);
    } else if (by_values) {
      auto expr = std::make_shared<pt2::SymExpr>();
      expr->text = "Symbol('u0', integer=True, nonnegative=True)";
      program.range_constraints["u0"] = {0, 2 * size.value + 100};
      size = {0, expr};
    }
  }
}

// The names of the node's results for return `index`, as the kind of argument that the return has.
pt2::Argument result_argument(pt2::ExportedProgram& program, const Case& test, size_t index, Recorded recorded) {
  const Expected& expected = test.expect[index];
  switch (expected.kind) {
    case Expected::Kind::none: return pt2::NoneArg{};
    case Expected::Kind::number: {
      const std::string name = fmt::format("r{}", index);
      if (expected.number.tag == Tag::real) {
        add_output(program, pt2::SymFloatArg{name, 0});
        program.graph.sym_float_values[name] = {};
        return pt2::SymFloatArg{name, 0};
      }
      if (test.op.starts_with("aten.sym_")) {
        program.graph.sym_int_values[name] = {expected.number.integer, nullptr};  // torch records the known value
      } else {
        auto expr = std::make_shared<pt2::SymExpr>();
        expr->text = "Symbol('u0', integer=True)";
        program.graph.sym_int_values[name] = {0, expr};
        program.range_constraints["u0"] = {};
      }
      add_output(program, pt2::SymIntArg{name, 0});
      return pt2::SymIntArg{name, 0};
    }
    default: break;
  }
  pt2::TensorsArg list;
  for (size_t i = 0; i < expected.tensors.size(); ++i) {
    const std::string name =
        expected.kind == Expected::Kind::tensor ? fmt::format("r{}", index) : fmt::format("r{}_{}", index, i);
    add_output(program, pt2::TensorArg{name});
    list.names.push_back(name);
    if (recorded == Recorded::nothing) continue;
    pt2::TensorMeta& meta = program.graph.tensor_values[name] = meta_of(expected.tensors[i]);
    if (recorded == Recorded::size_by_values) make_size_unbounded(program, test, meta);
    if (recorded == Recorded::symbols) make_symbolic(program, meta, selects_by_mask(test));
  }
  if (expected.kind == Expected::Kind::tensors) return list;
  return pt2::TensorArg{list.names[0]};
}

// Adds one tensor for each return, without types: eager refuses the call, so nothing is known about its results.
void add_unknown_results(pt2::ExportedProgram& program, pt2::Node& node, const std::string& op) {
  const compiler::OpDef* def = compiler::find_op(op);
  const size_t count = def ? def->parsed->returns.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("r{}", i);
    if (def && def->parsed->returns[i] == compiler::ReturnType::tensor_list)
      node.outputs.push_back(pt2::TensorsArg{{name}});
    else
      node.outputs.push_back(pt2::TensorArg{name});
    add_output(program, pt2::TensorArg{name});
  }
}

pt2::Payload payload_of(const std::string& name, const CaseTensor& tensor) {
  pt2::Payload payload;
  payload.path_name = name;
  payload.bytes = {tensor.value.bytes.data(), tensor.value.bytes.size()};
  payload.dtype = tensor.value.dtype;
  payload.sizes.assign(tensor.value.sizes.begin(), tensor.value.sizes.end());
  payload.strides.resize(payload.sizes.size());
  int64_t stride = 1;
  for (size_t d = payload.sizes.size(); d-- > 0; stride *= payload.sizes[d]) payload.strides[d] = stride;
  return payload;
}

// Makes the dimensions of tensor number `tensor` that `size` names the symbol s0.
void make_dynamic(pt2::ExportedProgram& program, pt2::TensorMeta& meta, size_t tensor, const OneSize& size) {
  for (const auto& [number, dim] : size.places) {
    if (number != tensor) continue;
    program.range_constraints["s0"] = {size.min, size.max};
    const int64_t hint = meta.sizes[dim].value;
    auto expr = std::make_shared<pt2::SymExpr>();
    expr->text = "Symbol('s0', positive=True, integer=True)";
    expr->hint = hint;
    meta.sizes[dim] = {0, expr};
  }
}

pt2::ExportedProgram program_of(const Case& test, Operands operands, const OneSize* one_size = nullptr) {
  pt2::ExportedProgram program;
  size_t number = 0;
  for (const auto& [name, tensor] : test.tensors) {
    const bool constant =
        operands == Operands::constants || (operands == Operands::first_input && name != test.tensors[0].first);
    const pt2::InputKind kind = constant ? pt2::InputKind::tensor_constant : pt2::InputKind::user_input;
    program.graph.inputs.push_back(pt2::TensorArg{name});
    program.input_specs.push_back({kind, pt2::TensorArg{name}, kind == pt2::InputKind::user_input ? "" : name, true});
    program.graph.tensor_values[name] = meta_of(tensor);
    const bool is_unbounded = operands == Operands::unbounded_inputs && !is_data_dependent(test);
    if (operands == Operands::dynamic_inputs || is_unbounded)
      make_dynamic(program, program.graph.tensor_values[name], !is_unbounded);
    if (one_size && !constant) make_dynamic(program, program.graph.tensor_values[name], number, *one_size);
    if (constant) program.constants[name] = payload_of(name, tensor);
    ++number;
  }
  pt2::Node node;
  node.target = "torch.ops." + test.op;
  node.name = "r0";
  node.inputs = test.inputs;
  if (test.error) {
    add_unknown_results(program, node, test.op);
  } else {
    for (size_t i = 0; i < test.expect.size(); ++i)
      node.outputs.push_back(
          result_argument(program, test, i, one_size ? Recorded::nothing : what_to_record(test, operands)));
  }
  program.graph.nodes.push_back(std::move(node));
  return program;
}

void replace_name(pt2::Argument& arg, const std::string& name, const std::string& by) {
  if (auto* tensor = std::get_if<pt2::TensorArg>(&arg)) {
    if (tensor->name == name) tensor->name = by;
  } else if (auto* list = std::get_if<pt2::TensorsArg>(&arg)) {
    std::replace(list->names.begin(), list->names.end(), name, by);
  }
}

Result<CompiledCase> compile_program(const pt2::ExportedProgram& program, const compiler::CompileOptions& options,
                                     const std::function<void(compiler::Graph&)>& change) {
  ASSIGN_OR_RETURN(compiler::Function function, compiler::import_program(program, "forward"));
  CompiledCase out;
  RETURN_IF_ERROR(compiler::optimize(function, options, &out.partition));
  if (change) change(*function.graph);
  compiler::PartitionReport partition = std::move(out.partition);
  ASSIGN_OR_RETURN(out, write_case(function, options.profile));
  out.partition = std::move(partition);
  return out;
}

}  // namespace

Result<compiler::Function> import_case(const Case& test, Operands operands) {
  return compiler::import_program(program_of(test, operands), "forward");
}

std::vector<size_t> chain_operands(const Case& test) {
  std::vector<size_t> out;
  if (test.error || test.expect.size() != 1 || test.expect[0].kind != Expected::Kind::tensor) return out;
  const HostTensor& result = test.expect[0].tensors[0].value;
  for (size_t i = 0; i < test.tensors.size(); ++i) {
    const HostTensor& operand = test.tensors[i].second.value;
    if (operand.dtype == result.dtype && operand.sizes == result.sizes) out.push_back(i);
  }
  return out;
}

Result<compiler::Function> import_chain(const Case& test, size_t operand, size_t length) {
  pt2::ExportedProgram program = program_of(test, Operands::inputs);
  const pt2::Node call = program.graph.nodes[0];
  const pt2::TensorMeta meta = program.graph.tensor_values["r0"];
  std::string last = "r0";
  for (size_t i = 1; i < length; ++i) {
    pt2::Node node = call;
    for (pt2::NamedArgument& input : node.inputs) replace_name(input.arg, test.tensors[operand].first, last);
    last = node.name = fmt::format("r0_{}", i);
    node.outputs = {pt2::TensorArg{last}};
    program.graph.tensor_values[last] = meta;
    program.graph.nodes.push_back(std::move(node));
  }
  program.graph.outputs = {pt2::TensorArg{last}};
  program.output_specs = {{pt2::OutputKind::user_output, pt2::TensorArg{last}, ""}};
  return compiler::import_program(program, "forward");
}

Result<CompiledCase> compile_case(const Case& test, compiler::Profile profile, Operands operands) {
  compiler::CompileOptions options;
  options.profile = profile;
  return compile_case(test, options, operands);
}

Result<CompiledCase> compile_case(const Case& test, const compiler::CompileOptions& options, Operands operands,
                                  const std::function<void(compiler::Graph&)>& change) {
  return compile_program(program_of(test, operands), options, change);
}

Result<CompiledCase> compile_case(const Case& test, const compiler::CompileOptions& options, Operands operands,
                                  const OneSize& size) {
  return compile_program(program_of(test, operands, &size), options, nullptr);
}

Result<CompiledCase> write_case(const compiler::Function& function, compiler::Profile profile) {
  CompiledCase out;
  compiler::LinearizeOptions linearize_options;
  linearize_options.stock_only = profile == compiler::Profile::stock;
  ASSIGN_OR_RETURN(compiler::MethodPlan plan, compiler::linearize(function, linearize_options));
  compiler::plan_memory(plan);
  RETURN_IF_ERROR(compiler::verify_plan(plan));
  out.mutated_inputs = plan.mutated_inputs;
  std::vector<compiler::MethodPlan> methods;
  methods.push_back(std::move(plan));
  ASSIGN_OR_RETURN(const compiler::EmittedProgram emitted, compiler::emit(methods, {}));
  out.pte = emitted.pte.join();
  return out;
}

}  // namespace wick::conformance
