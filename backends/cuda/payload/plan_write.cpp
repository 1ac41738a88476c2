// Writes a plan as bytes.
#include "backends/cuda/payload/plan.h"
#include "backends/cuda/payload/plan_generated.h"

namespace wick::cuda {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <typename T>
using List = Offset<flatbuffers::Vector<Offset<T>>>;

Offset<flatbuffers::String> string_of(FlatBufferBuilder& fbb, const std::string& text) {
  return text.empty() ? 0 : fbb.CreateString(text);
}

/// A list of tables; no list if there are no items.
template <typename T, typename Items, typename F>
List<T> list(FlatBufferBuilder& fbb, const Items& items, F write) {
  if (items.empty()) return 0;
  std::vector<Offset<T>> offsets;
  offsets.reserve(items.size());
  for (const auto& item : items) offsets.push_back(write(item));
  return fbb.CreateVector(offsets);
}

template <typename T>
Offset<flatbuffers::Vector<T>> numbers(FlatBufferBuilder& fbb, const std::vector<T>& items) {
  return items.empty() ? 0 : fbb.CreateVector(items);
}

List<fb::Interface> interfaces(FlatBufferBuilder& fbb, const std::vector<Interface>& items) {
  return list<fb::Interface>(fbb, items, [&](const Interface& tensor) {
    const auto sizes = numbers(fbb, tensor.sizes);
    const auto dim_order = numbers(fbb, tensor.dim_order);
    return fb::CreateInterface(fbb, static_cast<int8_t>(tensor.dtype), sizes, dim_order);
  });
}

Offset<fb::Formula> write_formula(FlatBufferBuilder& fbb, const Formula& formula) {
  std::vector<fb::FormulaStep> steps;
  steps.reserve(formula.size());
  for (const FormulaStep& step : formula) steps.emplace_back(step.value, static_cast<uint8_t>(step.op));
  return fb::CreateFormula(fbb, fbb.CreateVectorOfStructs(steps));
}

Offset<fb::Buffer> write_buffer(FlatBufferBuilder& fbb, const Buffer& buffer) {
  const auto data = string_of(fbb, buffer.data), state = string_of(fbb, buffer.state);
  return fb::CreateBuffer(fbb, static_cast<uint8_t>(buffer.space), buffer.size_bytes, buffer.offset, buffer.index, data,
                          state);
}

Offset<fb::Kernel> write_kernel(FlatBufferBuilder& fbb, const Kernel& kernel) {
  const auto name = string_of(fbb, kernel.name), schedule = string_of(fbb, kernel.schedule);
  std::vector<uint8_t> parameters;
  parameters.reserve(kernel.parameters.size());
  for (const ParameterKind kind : kernel.parameters) parameters.push_back(static_cast<uint8_t>(kind));
  return fb::CreateKernel(fbb, name, kernel.block[0], kernel.block[1], kernel.block[2], kernel.dynamic_shared_bytes,
                          numbers(fbb, parameters), kernel.has_barriers, schedule,
                          static_cast<uint8_t>(kernel.arithmetic));
}

Offset<fb::Node> write_node(FlatBufferBuilder& fbb, const PlanNode& node) {
  std::vector<fb::Argument> arguments;
  arguments.reserve(node.arguments.size());
  for (const Argument& each : node.arguments) {
    arguments.emplace_back(each.index, each.offset, static_cast<uint8_t>(each.kind), each.writes ? 1 : 0);
  }
  const auto structs = arguments.empty() ? 0 : fbb.CreateVectorOfStructs(arguments);
  const auto after = numbers(fbb, node.after);
  return fb::CreateNode(fbb, static_cast<uint8_t>(node.kind), node.kernel, node.grid[0], node.grid[1], node.grid[2],
                        node.size, node.value, structs, after, node.debug_handle, node.flops, node.read_bytes,
                        node.written_bytes, node.first_end, node.second_end);
}

}  // namespace

std::vector<uint8_t> write_plan(const Plan& plan) {
  FlatBufferBuilder fbb;
  const auto method = string_of(fbb, plan.method), producer = string_of(fbb, plan.producer);
  const auto symbols = list<fb::Symbol>(fbb, plan.symbols, [&](const Symbol& symbol) {
    const auto name = string_of(fbb, symbol.name);
    return fb::CreateSymbol(fbb, name, symbol.min, symbol.max, symbol.input, symbol.dim);
  });
  const auto formulas =
      list<fb::Formula>(fbb, plan.formulas, [&](const Formula& formula) { return write_formula(fbb, formula); });
  const auto buffers =
      list<fb::Buffer>(fbb, plan.buffers, [&](const Buffer& buffer) { return write_buffer(fbb, buffer); });
  const auto inputs = interfaces(fbb, plan.inputs), outputs = interfaces(fbb, plan.outputs);
  const auto modules = list<fb::Module>(fbb, plan.modules, [&](const Module& module) {
    const auto data = string_of(fbb, module.data);
    return fb::CreateModule(fbb, module.architecture, module.is_ptx, data, module.is_exact);
  });
  const auto kernels =
      list<fb::Kernel>(fbb, plan.kernels, [&](const Kernel& kernel) { return write_kernel(fbb, kernel); });
  const auto nodes = list<fb::Node>(fbb, plan.nodes, [&](const PlanNode& node) { return write_node(fbb, node); });
  const auto checks =
      list<flatbuffers::String>(fbb, plan.checks, [&](const Check& check) { return fbb.CreateString(check.message); });
  const auto requirements = list<fb::Requirement>(fbb, plan.requirements, [&](const Requirement& each) {
    return fb::CreateRequirement(fbb, fbb.CreateString(each.message), each.found, each.low, each.high, each.node,
                                 each.is_second);
  });
  fbb.Finish(
      fb::CreatePlan(fbb, method, plan.partition, producer, plan.driver_version, symbols, formulas, buffers, inputs,
                     outputs, modules, kernels, nodes, checks, plan.status_buffer, plan.arena_bytes, plan.state_bytes,
                     plan.random_buffer, plan.random_blocks, requirements, plan.counters_buffer, plan.model),
      fb::PlanIdentifier());
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

}  // namespace wick::cuda
