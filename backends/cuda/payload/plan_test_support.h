// A small plan with an example of everything. Tests only.
#pragma once
#include <string>

#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

inline FormulaStep constant(int64_t value) { return {FormulaOp::constant, value}; }
inline FormulaStep symbol(int64_t index) { return {FormulaOp::symbol, index}; }
inline FormulaStep op(FormulaOp op) { return {op, 0}; }

/// A plan under construction. Items are numbered in the order of the calls.
struct PlanBuilder {
  Plan plan;

  uint32_t formula(Formula steps) {
    plan.formulas.push_back(std::move(steps));
    return static_cast<uint32_t>(plan.formulas.size()) - 1;
  }
  uint32_t number(int64_t value) { return formula({constant(value)}); }
  uint32_t buffer(const Buffer& buffer) {
    plan.buffers.push_back(buffer);
    return static_cast<uint32_t>(plan.buffers.size()) - 1;
  }
  uint32_t constant_buffer(const std::string& data, uint64_t size_bytes) {
    Buffer made;
    made.space = Space::constant;
    made.size_bytes = size_bytes;
    made.data = data;
    return buffer(made);
  }
  uint32_t state_buffer(const std::string& name, uint64_t size_bytes, const std::string& data = "") {
    Buffer made;
    made.space = Space::state;
    made.size_bytes = size_bytes;
    made.data = data;
    made.state = name;
    plan.state_bytes += (size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    return buffer(made);
  }
  /// A buffer at the end of the arena.
  uint32_t arena_buffer(uint64_t size_bytes) {
    Buffer made;
    made.size_bytes = size_bytes;
    made.offset = plan.arena_bytes;
    plan.arena_bytes += (size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    return buffer(made);
  }
  /// An input or output with its buffer.
  uint32_t argument(Space space, DType dtype, const std::vector<uint32_t>& sizes) {
    Interface tensor;
    tensor.dtype = dtype;
    tensor.sizes = sizes;
    for (size_t d = 0; d < sizes.size(); ++d) tensor.dim_order.push_back(static_cast<uint8_t>(d));
    std::vector<Interface>& list = space == Space::input ? plan.inputs : plan.outputs;
    Buffer made;
    made.space = space;
    made.index = static_cast<uint32_t>(list.size());
    list.push_back(tensor);
    std::vector<FormulaRange> ranges(plan.formulas.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      (void)range_of(plan.formulas[i], {plan.symbols.data(), plan.symbols.size()}, &ranges[i]);
    }
    (void)upper_bytes({ranges.data(), ranges.size()}, tensor, &made.size_bytes);
    return buffer(made);
  }
  uint32_t kernel(const std::string& name, const std::vector<ParameterKind>& parameters, uint32_t threads = 32) {
    Kernel made;
    made.name = name;
    made.block = {threads, 1, 1};
    made.parameters = parameters;
    plan.kernels.push_back(made);
    return static_cast<uint32_t>(plan.kernels.size()) - 1;
  }
  PlanNode& launch(uint32_t kernel, uint32_t blocks, const std::vector<Argument>& arguments) {
    PlanNode node;
    node.kernel = kernel;
    const uint32_t one = number(1);
    node.grid = {blocks, one, one};
    node.arguments = arguments;
    plan.nodes.push_back(node);
    return plan.nodes.back();
  }
  PlanNode& copy(Argument to, Argument from, uint32_t size) {
    PlanNode node;
    node.kind = NodeKind::copy;
    node.size = size;
    node.arguments = {to, from};
    plan.nodes.push_back(node);
    return plan.nodes.back();
  }
  PlanNode& fill(Argument to, uint32_t size, uint8_t value) {
    PlanNode node;
    node.kind = NodeKind::fill;
    node.size = size;
    node.value = value;
    node.arguments = {to};
    plan.nodes.push_back(node);
    return plan.nodes.back();
  }
};

inline Argument reads(uint32_t buffer, uint32_t offset = kNone) {
  return {ParameterKind::pointer, buffer, offset, false};
}
inline Argument writes(uint32_t buffer, uint32_t offset = kNone) {
  return {ParameterKind::pointer, buffer, offset, true};
}
inline Argument int32(uint32_t formula) { return {ParameterKind::int32, formula, kNone, false}; }
inline Argument int64(uint32_t formula) { return {ParameterKind::int64, formula, kNone, false}; }

/// y[s0, 8] = f(x[s0, 8]) with a weight, a state, intermediates and a check.
inline Plan some_plan() {
  PlanBuilder b;
  b.plan.method = "forward";
  b.plan.partition = 2;
  b.plan.producer = "wick 0.1.0";
  b.plan.model = 0x0123456789abcdef;
  b.plan.driver_version = 13000;
  b.plan.symbols.push_back({"s0", 1, 64, 0, 0});
  const uint32_t s0 = b.formula({symbol(0)}), eight = b.number(8);
  const uint32_t bytes = b.formula({symbol(0), constant(32), op(FormulaOp::multiply)});
  const uint32_t blocks =
      b.formula({symbol(0), constant(3), op(FormulaOp::add), constant(4), op(FormulaOp::floor_divide)});
  const uint32_t half = b.number(1024), status_bytes = b.number(4);
  const uint32_t x = b.argument(Space::input, DType::f32, {s0, eight});
  const uint32_t y = b.argument(Space::output, DType::f32, {s0, eight});
  const uint32_t w = b.constant_buffer("weight", 256), state = b.state_buffer("cache", 512, "cache.start");
  const uint32_t temp = b.arena_buffer(4096), status = b.arena_buffer(4);
  b.plan.status_buffer = status;
  b.plan.checks.push_back({"an index is out of bounds in embedding (model.py:3)"});
  b.plan.modules = {{90, false, "code.90"}, {80, true, "code.ptx"}};
  const uint32_t k = b.kernel("scale", {ParameterKind::pointer, ParameterKind::pointer, ParameterKind::pointer,
                                        ParameterKind::int32, ParameterKind::int64});
  b.plan.kernels[k].dynamic_shared_bytes = 1024;
  b.plan.kernels[k].has_barriers = true;
  b.plan.kernels[k].schedule = "warp per row";
  b.plan.kernels[k].arithmetic = Arithmetic::f64;
  b.copy(writes(temp, half), reads(x), bytes).debug_handle = 7;
  b.fill(writes(status), status_bytes, 0);
  b.launch(k, blocks, {reads(w), reads(temp, half), writes(y), int32(s0), int64(bytes)}).after = {0, 1};
  b.plan.nodes[2].debug_handle = 9;
  b.plan.nodes[2].flops = 1000;
  b.plan.nodes[2].read_bytes = 2000;
  b.plan.nodes[2].written_bytes = 3000;
  b.copy(writes(state), reads(w), b.number(256)).after = {2};
  return b.plan;
}

/// some_plan that requires a multiple of 4 rows, at least 8 and fewer than 64.
inline Plan plan_with_requirements() {
  PlanBuilder b{some_plan()};
  const uint32_t s0 = b.formula({symbol(0)}), rest = b.formula({symbol(0), constant(4), op(FormulaOp::modulo)});
  const uint32_t zero = b.number(0), eight = b.number(8), most = b.number(63);
  b.plan.requirements = {{rest, zero, zero, "the rest in view (model.py:4)"},
                         {s0, eight, kNone, "the kernel in conv (model.py:5)"},
                         {s0, kNone, most, "the pad in pad (model.py:6)"}};
  return b.plan;
}

}  // namespace wick::cuda
