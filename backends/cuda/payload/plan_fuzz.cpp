// Reads any bytes as a plan. A plan that passes is printed, evaluated at both ends of its symbols, written and read
// again. The mutator changes numbers of readable plans, so that the checks after the reader are reached.
#include <stdlib.h>
#include <string.h>

#include <random>

#include "backends/cuda/payload/plan.h"

namespace {

using namespace wick;
using namespace wick::cuda;

#ifdef WICK_FUZZ
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

std::vector<uint32_t*> numbers_of(Plan& plan) {
  std::vector<uint32_t*> numbers = {&plan.status_buffer, &plan.random_buffer, &plan.random_blocks,
                                    &plan.counters_buffer};
  for (Symbol& symbol : plan.symbols) numbers.insert(numbers.end(), {&symbol.input, &symbol.dim});
  for (Requirement& each : plan.requirements)
    numbers.insert(numbers.end(), {&each.found, &each.low, &each.high, &each.node});
  for (Buffer& buffer : plan.buffers) numbers.push_back(&buffer.index);
  for (Interface& tensor : plan.inputs) {
    for (uint32_t& size : tensor.sizes) numbers.push_back(&size);
  }
  for (Kernel& kernel : plan.kernels) {
    for (uint32_t& size : kernel.block) numbers.push_back(&size);
    numbers.push_back(&kernel.dynamic_shared_bytes);
  }
  for (PlanNode& node : plan.nodes) {
    numbers.insert(numbers.end(), {&node.kernel, &node.size, &node.first_end, &node.second_end, &node.grid[0],
                                   &node.grid[1], &node.grid[2]});
    for (Argument& argument : node.arguments) numbers.insert(numbers.end(), {&argument.index, &argument.offset});
    for (uint32_t& earlier : node.after) numbers.push_back(&earlier);
  }
  return numbers;
}

// Changes names, initial values and sizes of states. Their sum may or may not fit.
void change_states(Plan& plan, std::minstd_rand& random) {
  for (Buffer& buffer : plan.buffers) {
    switch (random() % 12) {
      case 0: buffer.space = buffer.space == Space::state ? Space::arena : Space::state; break;
      case 1: buffer.state = random() % 2 ? "cache" : ""; break;
      case 2: buffer.data = random() % 2 ? "cache.start" : ""; break;
      case 3: buffer.offset = 0; break;
      case 4: buffer.size_bytes = random() % 2 ? random() % 5000 : uint64_t{1} << (random() % 64); break;
      default: break;
    }
  }
  if (random() % 4 == 0) return;
  plan.state_bytes = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space == Space::state)
      plan.state_bytes += (buffer.size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  }
}

void change(Plan& plan, std::minstd_rand& random) {
  const std::vector<uint32_t*> numbers = numbers_of(plan);
  uint32_t& number = *numbers[random() % numbers.size()];
  switch (random() % 9) {
    case 7: change_states(plan, random); break;
    case 0: number += 1; break;
    case 1: number -= 1; break;
    case 2: number = *numbers[random() % numbers.size()]; break;
    case 3: number = static_cast<uint32_t>(random()); break;
    case 4:
      for (Formula& formula : plan.formulas) {
        if (random() % 4 || formula.empty()) continue;
        FormulaStep& step = formula[random() % formula.size()];
        step.op = static_cast<FormulaOp>(random() % 17);
        if (step.op > FormulaOp::symbol)
          step.value = 0;
        else if (random() % 2)
          step.value = static_cast<int64_t>(random() % 5) - 2;
      }
      break;
    case 5:
      for (Symbol& symbol : plan.symbols) symbol.max = random() % 2 ? INT32_MAX : static_cast<int64_t>(random() % 100);
      break;
    case 6:
      if (!plan.nodes.empty()) plan.nodes[random() % plan.nodes.size()].kind = static_cast<NodeKind>(random() % 7);
      for (Requirement& each : plan.requirements) each.is_second = random() % 2;
      break;
    default:
      for (Buffer& buffer : plan.buffers) {
        if (random() % 4 == 0) buffer.size_bytes = random() % 3 ? random() % 5000 : UINT64_MAX - random() % 2;
        if (random() % 4 == 0) buffer.offset = random() % 20 * 256;
      }
  }
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  Plan plan;
  if (seed % 4 == 0 || read_plan({data, size}, &plan, nullptr) != Error::Ok) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (size_t count = 1 + random() % 3; count > 0; --count) change(plan, random);
  const std::vector<uint8_t> bytes = write_plan(plan);
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char buffer[256];
  ErrorText text(buffer);
  Plan plan, copy;
  if (read_plan({data, size}, &plan, &text) != Error::Ok) return 0;
  const std::string shown = plan_text(plan);
  for (const bool at_end : {false, true}) {
    std::vector<int64_t> symbols;
    for (const Symbol& symbol : plan.symbols) symbols.push_back(at_end ? symbol.max : symbol.min);
    for (const Formula& formula : plan.formulas) {
      FormulaRange range;
      if (range_of(formula, {plan.symbols.data(), plan.symbols.size()}, &range)) abort();
      const int64_t value = evaluate(formula, {symbols.data(), symbols.size()});
      if (value < range.low || value > range.high) abort();
    }
  }
  const std::vector<uint8_t> bytes = write_plan(plan);
  if (read_plan({bytes.data(), bytes.size()}, &copy, &text) != Error::Ok || plan_text(copy) != shown) abort();
  return 0;
}
