#include "cli/explain/memory_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/explain/explanation.h"
#include "cli/explain/print_explanation.h"
#include "cli/target_flags.h"

namespace wick::cli {
namespace {

using compiler::CompileResult;
using compiler::PlannedTensor;
using compiler::TargetRequest;

uint64_t largest_arena(const CompileResult& result) {
  uint64_t most = 0;
  for (const compiler::MethodReport& method : result.methods) most = std::max(most, method.arena_bytes);
  return most;
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// --- the arena ---

// A tensor that lies in a block of the arena.
const PlannedTensor* tensor_in(const compiler::MethodPlan& plan, const ArenaBlock& block) {
  for (const compiler::PlannedValue& value : plan.values) {
    const auto* tensor = std::get_if<PlannedTensor>(&value);
    if (!tensor) continue;
    const compiler::Storage& storage = plan.storages[tensor->storage];
    if (storage.kind == compiler::Storage::Kind::arena && storage.offset == block.offset &&
        storage.first == block.first && storage.size_bytes == block.size_bytes)
      return tensor;
  }
  return nullptr;
}

std::string block_text(const compiler::MethodPlan& plan, const ArenaBlock& block, uint64_t live) {
  const PlannedTensor* tensor = tensor_in(plan, block);
  const std::string type =
      tensor ? fmt::format(" {}[{}]", dtype_name(tensor->dtype), fmt::join(tensor->sizes, ", ")) : "";
  return fmt::format("{}{} {} bytes ({:.0f} %)", compiler::printable(block.label, 40), type, block.size_bytes,
                     percent(block.size_bytes, live));
}

std::string say_peak(const MethodExplained& explained, const compiler::MethodPlan& plan, const Peak& peak) {
  std::vector<std::string> parts;
  for (const ArenaBlock* block : peak.owners) {
    if (parts.size() < 4) parts.push_back(block_text(plan, *block, peak.live_bytes));
  }
  return fmt::format("the peak of method '{}' is {}, where {} bytes are alive: {}", compiler::printable(plan.name),
                     place_text(explained, peak.instruction), peak.live_bytes, fmt::join(parts, ", "));
}

// Advice about floats among the integers of a quantized model.
std::string say_floats(const compiler::MethodPlan& plan, const Peak& peak) {
  uint64_t bytes = 0, integers = 0;
  for (const ArenaBlock* block : peak.owners) {
    const PlannedTensor* tensor = tensor_in(plan, *block);
    if (tensor && tensor->dtype == DType::f32) bytes += block->size_bytes;
    if (tensor && tensor->dtype == DType::i8) integers += block->size_bytes;
  }
  if (bytes == 0 || integers == 0) return "";
  return fmt::format(
      "{} bytes of these are floats; quantized to int8 they would be {} (wick explain says of each node on floats why)",
      bytes, bytes / 4);
}

// Advice to use smaller images: tensors shrink with the area of the input.
std::string say_smaller_input(const compiler::MethodPlan& plan, uint64_t arena, uint64_t allowed) {
  for (const int32_t index : plan.inputs) {
    const auto* x = std::get_if<PlannedTensor>(&plan.values[static_cast<size_t>(index)]);
    if (!x || x->sizes.size() != 4 || x->sizes[2] < 2 || x->sizes[3] < 2) continue;
    const double factor = std::sqrt(static_cast<double>(allowed) / static_cast<double>(arena));
    const auto shrink = [&](int64_t size) { return static_cast<int64_t>(static_cast<double>(size) * factor); };
    if (shrink(x->sizes[2]) < 1 || shrink(x->sizes[3]) < 1) return "";
    return fmt::format("images of about {} x {} in place of {} x {} would fit: tensors shrink with the area",
                       shrink(x->sizes[2]), shrink(x->sizes[3]), x->sizes[2], x->sizes[3]);
  }
  return "";
}

const PlannedTensor* result_of(const compiler::MethodPlan& plan, size_t instruction) {
  const compiler::Instruction& at = plan.instructions[instruction];
  if (at.kind != compiler::Instruction::Kind::kernel || at.args.empty()) return nullptr;
  return std::get_if<PlannedTensor>(&plan.values[static_cast<size_t>(at.args.back())]);
}

uint64_t bytes_of(const compiler::MethodPlan& plan, const PlannedTensor& tensor) {
  return plan.storages[tensor.storage].size_bytes;
}

// Advice for the result of the peak instruction, if only one instruction reads it and its result is smaller: computed
// in two halves of the channels, one after the other, both take less memory.
std::string say_halves(const compiler::MethodPlan& plan, const Peak& peak) {
  const size_t at = peak.instruction;
  const PlannedTensor* result = at < plan.instructions.size() ? result_of(plan, at) : nullptr;
  if (!result || result->sizes.size() != 4 || result->sizes[1] < 2) return "";
  const int32_t value = plan.instructions[at].args.back();
  size_t readers = 0, reader = 0;
  for (size_t i = at + 1; i < plan.instructions.size(); ++i) {
    const std::vector<int32_t>& args = plan.instructions[i].args;
    if (std::find(args.begin(), args.end(), value) == args.end()) continue;
    ++readers;
    reader = i;
  }
  const PlannedTensor* next = readers == 1 ? result_of(plan, reader) : nullptr;
  if (!next || bytes_of(plan, *next) >= bytes_of(plan, *result)) return "";
  const uint64_t saved = bytes_of(plan, *result) / 2, more = bytes_of(plan, *next) / 2;
  if (more >= saved) return "";
  return fmt::format(
      "the result of the peak is read once, by instruction {} ({}), which makes {} bytes of it: computed in two halves "
      "of "
      "channels in the model, it would take {} bytes less at the peak",
      reader, plan.operators[plan.instructions[reader].op].name, bytes_of(plan, *next), saved - more);
}

void add_text(std::string text, std::vector<std::string>& out) {
  if (!text.empty()) out.push_back(std::move(text));
}

void advise_arena(const compiler::MethodPlan& plan, const MethodExplained& explained, uint64_t allowed,
                  std::vector<std::string>& out) {
  const Peak peak = peak_of(explained.arena);
  out.push_back(say_peak(explained, plan, peak));
  if (plan.arena_lower_bound_bytes <= allowed)
    out.push_back(fmt::format("no plan needs less than {} bytes, which would fit; this one has {}",
                              plan.arena_lower_bound_bytes, plan.arena_bytes));
  add_text(say_floats(plan, peak), out);
  add_text(say_halves(plan, peak), out);
  add_text(say_smaller_input(plan, plan.arena_bytes, allowed), out);
}

// --- the file ---

void advise_file(const CompileResult& result, std::vector<std::string>& out) {
  std::vector<std::pair<uint64_t, std::string>> constants;
  uint64_t linear = 0;
  for (size_t i = 0; i < result.method_plans.size(); ++i) {
    for (const compiler::Storage& storage : result.method_plans[i].storages) {
      if (storage.kind == compiler::Storage::Kind::constant) constants.emplace_back(storage.size_bytes, storage.label);
    }
    for (const compiler::NodeVerdict& node : result.methods[i].nodes) {
      if (node.op == "aten.linear.default" && node.where_it_runs != "portable") linear += node.cost.constant_bytes;
    }
  }
  std::stable_sort(constants.begin(), constants.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  for (const auto& [bytes, label] : constants) {
    if (parts.size() < 3)
      parts.push_back(fmt::format("{} {} bytes ({:.0f} %)", compiler::printable(label, 40), bytes,
                                  percent(bytes, result.file_bytes)));
  }
  out.push_back(fmt::format("constants have {} of the file's {} bytes; the largest are {}", result.constant_bytes,
                            result.file_bytes, fmt::join(parts, ", ")));
  if (linear > 0)
    out.push_back(fmt::format("linear layers hold {} bytes; with weights of four bits about {}", linear, linear / 2));
}

// --- options ---

std::vector<std::string> choices_of(const compiler::TargetOption& option) {
  std::vector<std::string> out;
  std::string_view rest = option.choices;
  while (!rest.empty()) {
    const size_t end = rest.find('|');
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return out;
}

void advise_option(const CompileResult& result, const CompileResult& other, const std::string& name,
                   const Budget& budget, std::vector<std::string>& out) {
  const uint64_t arena = largest_arena(other);
  if (arena >= largest_arena(result) && other.file_bytes >= result.file_bytes) return;
  const bool fits = arena <= budget.arena_bytes && other.file_bytes <= budget.file_bytes;
  out.push_back(fmt::format("{}: an arena of {} bytes and a file of {}{}", name, arena, other.file_bytes,
                            fits ? ", which fit" : ""));
}

// Adds the arena and file sizes that each other value of each option gives.
void advise_options(const CompileResult& result, const std::vector<TargetRequest>& targets,
                    const RecompileFn& recompile, const Budget& budget, std::vector<std::string>& out) {
  for (size_t t = 0; t < targets.size(); ++t) {
    for (const compiler::TargetOption& option : targets[t].target->options.list) {
      const std::vector<std::string> choices = choices_of(option);
      for (size_t i = 1; i < choices.size(); ++i) {
        std::vector<TargetRequest> changed = targets;
        changed[t].settings.emplace_back(option.name, choices[i]);
        if (!compiler::check_settings(changed[t]).ok()) continue;
        const compiler::Result<CompileResult> other = recompile(changed);
        const std::string name = option.is_flag
                                     ? fmt::format("--{}{}", option.name, is_switch(option) ? "" : " " + choices[i])
                                     : fmt::format("{}:{}={}", targets[t].target->name, option.name, choices[i]);
        if (other.ok()) advise_option(result, *other, name, budget, out);
      }
    }
  }
}

}  // namespace

std::vector<std::string> memory_advice(const CompileResult& result, const Budget& budget,
                                       const std::vector<TargetRequest>& targets, const RecompileFn& recompile) {
  std::vector<std::string> out;
  const compiler::Result<std::vector<MethodExplained>> explained = explain(result, targets);
  for (size_t i = 0; i < result.method_plans.size(); ++i) {
    const compiler::MethodPlan& plan = result.method_plans[i];
    if (plan.arena_bytes > budget.arena_bytes && explained.ok())
      advise_arena(plan, (*explained)[i], budget.arena_bytes, out);
  }
  if (result.file_bytes > budget.file_bytes) advise_file(result, out);
  if (!out.empty()) advise_options(result, targets, recompile, budget, out);
  return out;
}

}  // namespace wick::cli
