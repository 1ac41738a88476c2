// Loads and executes any plan on the stand-in for the driver, in a program with the arguments and data that the plan
// needs. Launches are removed, because a plan does not determine what a kernel does with its pointers. Loops are
// bounded. The stand-in watches copies, fills and the bytes between allocations.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "backends/cuda/test/runtime_test_support.h"

namespace {

using namespace wick;
using namespace wick::cuda;

/// Removes launches. Nodes keep their numbers: a launch becomes an empty copy. False if that is not possible.
bool drop_launches(Plan& plan) {
  plan.formulas.push_back({{FormulaOp::constant, 0}});
  const uint32_t zero = static_cast<uint32_t>(plan.formulas.size()) - 1;
  const auto is_writable = [&](const Buffer& buffer) {
    return buffer.space == Space::arena && &buffer - plan.buffers.data() != static_cast<ptrdiff_t>(plan.random_buffer);
  };
  const auto arena = std::find_if(plan.buffers.begin(), plan.buffers.end(), is_writable);
  for (PlanNode& node : plan.nodes) {
    if (node.kind != NodeKind::launch) continue;
    if (arena == plan.buffers.end()) return false;
    PlanNode nothing;
    nothing.kind = NodeKind::fill;
    nothing.size = zero;
    nothing.arguments = {writes(static_cast<uint32_t>(arena - plan.buffers.begin()))};
    nothing.after = node.after;
    node = nothing;
  }
  plan.kernels.clear();
  plan.modules.clear();
  return true;
}

// Nothing computes conditions, so a loop with a condition would not end: its condition is read once. Other loops get
// two rounds.
void bound_loops(Plan& plan) {
  for (PlanNode& node : plan.nodes) {
    if (node.kind == NodeKind::loop) node.kind = NodeKind::choose;
    if (node.kind != NodeKind::repeat) continue;
    Formula rounds = plan.formulas[node.size];
    rounds.push_back({FormulaOp::constant, 2});
    rounds.push_back({FormulaOp::minimum, 0});
    node.size = static_cast<uint32_t>(plan.formulas.size());
    plan.formulas.push_back(std::move(rounds));
  }
}

uint64_t bytes_of_data(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Buffer& buffer : plan.buffers) bytes += buffer.space == Space::arena ? 0 : buffer.size_bytes;
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TestDriver* driver = new TestDriver;
  Plan plan;
  if (read_plan({data, size}, &plan, nullptr) != Error::Ok || !drop_launches(plan)) return 0;
  if (bytes_of_data(plan) > (1 << 20) || plan.arena_bytes > (1 << 20)) return 0;
  bound_loops(plan);
  TestDelegate delegate;
  delegate.plan = plan;
  delegate.named.clear();
  for (const Buffer& buffer : plan.buffers) {
    const auto is_known = [&](const auto& named) { return named.first == buffer.data; };
    if (buffer.data.empty() || std::any_of(delegate.named.begin(), delegate.named.end(), is_known)) continue;
    delegate.named.emplace_back(buffer.data, std::string(buffer.size_bytes, 'x'));
  }
  {
    // Two methods of one session share the plan's states.
    const int session = 0;
    TestRun run(delegate, *driver), other(delegate, *driver);
    run.options().delegates.session = other.options().delegates.session = &session;
    if (run.load() != Error::Ok) return 0;
    if (other.load() != Error::Ok) abort();
    Method& method = run.harness().method();
    for (int call = 0; call < 3; ++call) {
      for (size_t i = 0; i < method.meta().num_inputs(); ++i) {
        if (const Tensor* tensor = method.input_in_place(i)) memset(tensor->data, call, tensor->nbytes());
      }
      (void)method.execute();
    }
  }
  if (driver->count("objects") != 0) abort();
  return 0;
}
