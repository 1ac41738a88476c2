#include "cli/explain/print_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/explain/print_delegate.h"
#include "cli/text/table.h"
#include "compiler/support/diag.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::JsonWriter;
using compiler::printable;
using compiler::printable_sentence;

std::string count_text(double count) { return fmt::format("{:.0f}", std::round(count)); }
std::string count_text(uint64_t count) { return count == 0 ? "" : std::to_string(count); }

std::string instructions_text(const compiler::CallCost& cost) {
  return cost.is_known ? count_text(cost.instructions()) : "?";
}

// --- nodes ---

std::string float_text(const FloatCost& cost) {
  return fmt::format("; on floats: {}{} instructions, {} of them conversions, {} bytes of floats",
                     cost.is_known ? "" : "at least ", count_text(cost.instructions + cost.conversion_instructions),
                     count_text(cost.conversion_instructions), cost.bytes);
}

void print_nodes(const MethodExplained& method) {
  if (method.nodes.empty()) return;
  const auto outside = std::count_if(method.nodes.begin(), method.nodes.end(),
                                     [](const NodeRow& row) { return row.where == "portable"; });
  const std::string form =  // backends of form "kernels" make no delegates
      method.delegates == 0 ? "on backends"
                            : fmt::format("in {} delegate{}", method.delegates, method.delegates == 1 ? "" : "s");
  const size_t inside = method.nodes.size() - static_cast<size_t>(outside);
  fmt::print("{}", heading(fmt::format("method {}: {} node{} {}, {} outside", printable(method.name), inside,
                                       inside == 1 ? "" : "s", form, outside)));
  Table table({"node", "runs on", "why", "source", "module"});
  for (const NodeRow& row : method.nodes) {
    table.row({row.what, row.where, row.why + (row.outside ? float_text(*row.outside) : ""), printable(row.source, 60),
               printable(row.module, 60)});
  }
  fmt::print("{}", table.text());
}

// --- graph breaks ---

std::string bytes_text(const std::optional<uint64_t>& bytes) {
  return bytes ? fmt::format("{} bytes", *bytes) : "bytes without a bound";
}

// Equal operators with equal reasons share a row, which says how many there are and where the first one is.
void print_break(const MethodExplained& method, const compiler::DelegateBreak& found) {
  const std::string body = found.body_of.empty() ? "" : fmt::format(" in a body of {}", printable(found.body_of, 60));
  fmt::print("{}", heading(fmt::format("method {}: graph break between delegates {} and {}{}", printable(method.name),
                                       found.before, found.after, body)));
  Table table({"node", ">count", "why", "source", "module"});
  std::vector<std::pair<const compiler::NodeVerdict*, size_t>> rows;
  for (const compiler::NodeVerdict& node : found.nodes) {
    const auto same = [&](const auto& row) {
      return row.first->op == node.op && row.first->reason == node.reason && row.first->help == node.help;
    };
    const auto row = std::find_if(rows.begin(), rows.end(), same);
    if (row == rows.end())
      rows.emplace_back(&node, 1);
    else
      ++row->second;
  }
  for (const auto& [node, count] : rows) {
    table.row({node->op, std::to_string(count), compiler::with_help(node->reason, node->help),
               printable(node->source, 60), printable(node->module, 60)});
  }
  fmt::print("{}", table.text());
  fmt::print("  each run: {} leave delegate {}, {} enter delegate {}\n", bytes_text(found.cost.bytes_out), found.before,
             bytes_text(found.cost.bytes_in), found.after);
  fmt::print(
      "  if these nodes were inside, they would join {} nodes before and {} behind: {} delegate{} in place of {}\n",
      found.cost.nodes_before, found.cost.nodes_after, found.cost.delegates_if_inside,
      found.cost.delegates_if_inside == 1 ? "" : "s", found.cost.delegates_now);
}

// --- instructions ---

void print_plain_rows(const MethodExplained& method) {
  Table table({">", "operator", "runs on", "why", "source", "module"});
  for (size_t i = 0; i < method.rows.size(); ++i) {
    const InstructionRow& row = method.rows[i];
    table.row({fmt::format("{}", i), printable(row.what, 80), printable(row.where, 40), printable_sentence(row.why),
               printable(row.source, 60), printable(row.module, 60)});
  }
  fmt::print("{}", table.text());
}

void print_costs(const MethodExplained& method) {
  Table table({">", "operator", "kernel", ">MACs", ">constants", ">scratch", ">alive", ">instructions", "why", "source",
               "module"});
  for (size_t i = 0; i < method.rows.size(); ++i) {
    const InstructionRow& row = method.rows[i];
    const compiler::CallCost none, &cost = row.cost ? *row.cost : none;
    table.row({fmt::format("{}", i), printable(row.what, 80), row.cost ? cost.variant : printable(row.where, 40),
               count_text(cost.macs), count_text(cost.constant_bytes), count_text(cost.scratch_bytes),
               count_text(row.live_bytes), row.cost ? instructions_text(cost) : "", printable_sentence(row.why),
               printable(row.source, 60), printable(row.module, 60)});
  }
  table.row({"", "(executor)", "", "", "", "", "", instructions_text(method.totals.executor), "", "", ""});
  fmt::print("{}", table.text());
  const CostTotals& totals = method.totals;
  fmt::print("  predicted for {}: {} instructions{}; {} MACs, {} bytes of constants, {} of scratch at most\n",
             method.cost_model, count_text(totals.instructions),
             totals.not_known == 0 ? "" : fmt::format(", without {} calls of unknown cost", totals.not_known),
             totals.macs, totals.constant_bytes, totals.largest_scratch_bytes);
  if (method.conversions.conversion_instructions > 0) {
    fmt::print("  of these {} convert between floats and integers\n",
               count_text(method.conversions.conversion_instructions));
  }
}

void print_arena(const MethodExplained& method) {
  const Peak peak = peak_of(method.arena);
  fmt::print("{}{}",
             heading(fmt::format("arena of {}: {} bytes, lower bound {} bytes", printable(method.name),
                                 method.arena.arena_bytes, method.arena.lower_bound_bytes)),
             to_text(method.arena));
  if (!method.arena.above_lower_bound.empty()) fmt::print("{}\n", method.arena.above_lower_bound);
  fmt::print("{}",
             heading(fmt::format("peak at {}: {} bytes alive", place_text(method, peak.instruction), peak.live_bytes)));
  Table owners({">bytes", ">offset", "holds"});
  for (const ArenaBlock* block : peak.owners) {
    owners.row({fmt::format("{}", block->size_bytes), fmt::format("{}", block->offset), printable(block->label, 80)});
  }
  fmt::print("{}", owners.text());
  if (method.unbounded.empty()) return;
  Table unbounded({"without an upper bound", "memory of the caller's allocator"});
  for (const compiler::UnboundedValue& value : method.unbounded)
    unbounded.row({printable(value.name, 60), value.memory});
  fmt::print("\n{}", unbounded.text());
}

void print_buffers(const MethodExplained& method) {
  if (method.buffers.empty()) return;
  fmt::print("{}", heading(fmt::format("method {}: mutable buffers", printable(method.name))));
  Table table({"buffer", ">bytes", "kept by", "why"});
  for (const compiler::BufferPlace& buffer : method.buffers) {
    table.row({printable(buffer.name, 60), fmt::format("{}", buffer.size_bytes),
               buffer.backend.empty() ? "the program" : buffer.backend, printable_sentence(buffer.reason)});
  }
  fmt::print("{}", table.text());
}

// --- JSON ---

void write_buffers(const MethodExplained& method, JsonWriter& json) {
  json.key("buffers");
  json.array();
  for (const compiler::BufferPlace& buffer : method.buffers) {
    json.object();
    json.field("name", buffer.name);
    json.field("bytes", buffer.size_bytes);
    json.field("backend", buffer.backend);
    json.field("why", buffer.reason);
    json.end();
  }
  json.end();
}

void write_arena(const MethodExplained& method, JsonWriter& json) {
  const ArenaPicture& arena = method.arena;
  const Peak peak = peak_of(arena);
  json.field("arena_bytes", arena.arena_bytes);
  json.field("arena_lower_bound_bytes", arena.lower_bound_bytes);
  json.field("above_lower_bound", arena.above_lower_bound);
  json.field("peak_instruction", static_cast<uint64_t>(peak.instruction));
  json.field("peak_live_bytes", peak.live_bytes);
  json.field("peak_place", place_text(method, peak.instruction));
  json.key("peak_holds");
  json.array();
  for (const ArenaBlock* block : peak.owners) json.value(block->label);
  json.end();
  json.key("arena");
  json.array();
  for (const ArenaBlock& block : arena.blocks) {
    json.object();
    json.field("label", block.label);
    json.field("offset", block.offset);
    json.field("bytes", block.size_bytes);
    json.field("first", static_cast<uint64_t>(block.first));
    json.field("last", static_cast<uint64_t>(block.last));
    json.field("state", block.state);
    json.end();
  }
  json.end();
}

template <typename Row>
void write_place(const Row& row, JsonWriter& json) {
  json.field("op", row.what);
  json.field("runs_on", row.where);
  json.field("why", row.why);
  json.field("source", row.source);
  json.field("module", row.module);
}

void write_cost(const FloatCost& cost, JsonWriter& json) {
  json.object();
  json.field("instructions", std::round(cost.instructions));
  json.field("conversion_instructions", std::round(cost.conversion_instructions));
  json.field("bytes", cost.bytes);
  json.field("is_known", cost.is_known);
  json.end();
}

void write_nodes(const MethodExplained& method, JsonWriter& json) {
  json.key("nodes");
  json.array();
  for (const NodeRow& row : method.nodes) {
    json.object();
    write_place(row, json);
    json.field("macs", row.cost.macs);
    json.field("constant_bytes", row.cost.constant_bytes);
    json.field("scratch_bytes", row.cost.scratch_bytes);
    if (row.outside) {
      json.key("on_floats");
      write_cost(*row.outside, json);
    }
    json.end();
  }
  json.end();
}

void write_breaks(const MethodExplained& method, JsonWriter& json) {
  json.key("graph_breaks");
  json.array();
  for (const compiler::DelegateBreak& found : method.breaks) {
    json.object();
    json.field("before", static_cast<uint64_t>(found.before));
    json.field("after", static_cast<uint64_t>(found.after));
    json.field("body_of", found.body_of);
    json.key("nodes");
    json.array();
    for (const compiler::NodeVerdict& node : found.nodes) {
      json.object();
      json.field("op", node.op);
      json.field("why", node.reason);
      json.field("help", node.help);
      json.field("source", node.source);
      json.field("module", node.module);
      json.end();
    }
    json.end();
    json.field("bytes_out", found.cost.bytes_out);
    json.field("bytes_in", found.cost.bytes_in);
    json.field("nodes_before", static_cast<uint64_t>(found.cost.nodes_before));
    json.field("nodes_after", static_cast<uint64_t>(found.cost.nodes_after));
    json.field("delegates_now", static_cast<uint64_t>(found.cost.delegates_now));
    json.field("delegates_if_inside", static_cast<uint64_t>(found.cost.delegates_if_inside));
    json.end();
  }
  json.end();
}

void write_cost(const compiler::CallCost& cost, JsonWriter& json) {
  json.field("kernel", cost.variant);
  json.field("macs", cost.macs);
  json.field("constant_bytes", cost.constant_bytes);
  json.field("scratch_bytes", cost.scratch_bytes);
  json.key("instructions");
  if (cost.is_known)
    json.value(std::round(cost.instructions()));
  else
    json.null();
  json.key("terms");
  json.array();
  for (const compiler::CostTerm& term : cost.terms) {
    json.object();
    json.field("name", term.name);
    json.field("count", term.count);
    json.field("instructions", term.instructions);
    json.end();
  }
  json.end();
}

void write_rows(const MethodExplained& method, JsonWriter& json) {
  json.key("instructions");
  json.array();
  for (const InstructionRow& row : method.rows) {
    json.object();
    write_place(row, json);
    json.field("alive_bytes", row.live_bytes);
    if (row.cost) write_cost(*row.cost, json);
    json.end();
  }
  json.end();
}

void write_totals(const MethodExplained& method, JsonWriter& json) {
  if (method.cost_model.empty()) return;
  json.field("predicted_for", method.cost_model);
  json.key("totals");
  json.object();
  json.field("instructions", std::round(method.totals.instructions));
  json.key("executor");
  json.object();
  write_cost(method.totals.executor, json);
  json.end();
  json.field("calls_of_unknown_cost", static_cast<uint64_t>(method.totals.not_known));
  json.field("macs", method.totals.macs);
  json.field("constant_bytes", method.totals.constant_bytes);
  json.field("largest_scratch_bytes", method.totals.largest_scratch_bytes);
  json.end();
  json.key("conversions");
  write_cost(method.conversions, json);
}

}  // namespace

std::string place_text(const MethodExplained& method, uint32_t instruction) {
  std::string text = fmt::format("instruction {}", instruction);
  if (instruction >= method.rows.size()) return text;
  const InstructionRow& row = method.rows[instruction];
  text += " (" + printable(row.what, 80);
  for (const std::string& part : {row.module, row.source}) text += part.empty() ? "" : ", " + printable(part, 60);
  return text + ")";
}

void print_tables(const MethodExplained& method) {
  print_nodes(method);
  for (const compiler::DelegateBreak& found : method.breaks) print_break(method, found);
  print_buffers(method);
  for (const std::string& line : compiler::sharing_text(method.name, method.shared_states)) fmt::print("{}\n", line);
  fmt::print("{}", heading(fmt::format("method {}: {} instructions, {} copies", printable(method.name),
                                       method.rows.size(), method.copies)));
  if (method.cost_model.empty())
    print_plain_rows(method);
  else
    print_costs(method);
  for (const auto& [index, report] : method.delegate_reports) print_delegate(index, report);
  print_arena(method);
}

void print_json(const std::vector<MethodExplained>& methods) {
  JsonWriter json;
  json.object();
  json.field("schema", "wick.explain.1");
  json.key("methods");
  json.array();
  for (const MethodExplained& method : methods) {
    json.object();
    json.field("name", method.name);
    json.field("copies", static_cast<uint64_t>(method.copies));
    json.field("delegates", static_cast<uint64_t>(method.delegates));
    write_totals(method, json);
    write_nodes(method, json);
    write_breaks(method, json);
    write_buffers(method, json);
    compiler::write_shared_states(method.shared_states, json);
    write_rows(method, json);
    write_delegates(method, json);
    write_arena(method, json);
    json.end();
  }
  json.end();
  json.end();
  fmt::print("{}\n", json.text());
}

}  // namespace wick::cli
