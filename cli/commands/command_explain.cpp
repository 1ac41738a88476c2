#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/command.h"
#include "cli/program/operator_facts.h"
#include "cli/program/program_memory.h"
#include "cli/program/program_report.h"
#include "cli/program/program_session.h"
#include "cli/target_flags.h"
#include "cli/text/table.h"
#include "compiler/driver/compile.h"
#include "compiler/support/file_map.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::FileMap;
using compiler::JsonWriter;
using compiler::Result;
using compiler::Status;

struct ExplainFlags {
  std::string file, backends = compiler::default_targets(), svg;
  TargetFlags target_flags;
  bool strict_nan = false, json = false;
};

/// One instruction, or one node as the backends saw it: where it runs and why.
struct Row {
  std::string what, where, why, source, module;
  compiler::NodeCost cost = {};
};

struct MethodExplained {
  std::string name;
  std::vector<Row> rows;
  std::vector<Row> nodes;  // of a .pt2 with backends
  size_t copies = 0, delegates = 0;
  ArenaPicture arena;
};

// "650 MACs, 650 bytes of constants, 64 of scratch"
std::string cost_text(const compiler::NodeCost& cost) {
  std::vector<std::string> parts;
  if (cost.macs > 0) parts.push_back(fmt::format("{} MACs", cost.macs));
  if (cost.constant_bytes > 0) parts.push_back(fmt::format("{} bytes of constants", cost.constant_bytes));
  if (cost.scratch_bytes > 0) parts.push_back(fmt::format("{} bytes of scratch", cost.scratch_bytes));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Why, what it takes, and how what it reads and gives is quantized.
std::string with_details(const compiler::NodeVerdict& node) {
  std::string text;
  for (const std::string& part : {node.reason, cost_text(node.cost), node.quantization})
    text += part.empty() ? "" : (text.empty() ? "" : "; ") + part;
  return text;
}

std::string kernel_reason(const std::string& key) {
  if (!has_kernel(key)) return "Wick has no kernel of this name";
  if (is_of_backend(key)) return "an operator of this backend";
  return stock_has_kernel(key) ? "stock has this operator too" : "only Wick has this operator";
}

// "portable", or the name space of a backend's kernels.
std::string place_of(const std::string& key) { return is_of_backend(key) ? key.substr(0, key.find("::")) : "portable"; }

// Such a call always fails; checks that do not hold jump to it.
std::string check_reason(std::string_view message) { return fmt::format("stops the program: {}", message); }

MethodExplained explain_plan(const compiler::MethodPlan& plan) {
  MethodExplained explained;
  explained.name = plan.name;
  std::map<uint32_t, std::string> copies;
  for (const compiler::CopyReason& copy : plan.copies) copies[copy.instruction] = copy.reason;
  for (uint32_t i = 0; i < plan.instructions.size(); ++i) {
    const compiler::Instruction& instruction = plan.instructions[i];
    Row row;
    if (instruction.kind == compiler::Instruction::Kind::kernel) {
      const compiler::Operator& op = plan.operators[instruction.op];
      row.what = op.overload.empty() ? op.name : op.name + "." + op.overload;
      row.where = place_of(row.what);
      row.why = instruction.check.empty() ? kernel_reason(row.what) : check_reason(instruction.check);
    } else if (instruction.kind == compiler::Instruction::Kind::delegate) {
      const compiler::Delegate& delegate = *plan.delegates[instruction.op];
      row.what = fmt::format("delegate {}: {} nodes", instruction.op, delegate.num_nodes);
      row.where = delegate.id;
      row.why = "the nodes that the backend takes, together";
    } else {
      row.what = instruction.kind == compiler::Instruction::Kind::move ? "move" : "jump";
      row.where = "executor";
      row.why = "control flow";
    }
    if (const auto copy = copies.find(i); copy != copies.end()) {
      row.why += "; a copy: " + copy->second;
      ++explained.copies;
    }
    if (instruction.origin) {
      row.source = instruction.origin->source;
      row.module = instruction.origin->module;
    }
    explained.rows.push_back(std::move(row));
  }
  explained.delegates = plan.delegates.size();
  explained.arena = arena_picture(plan);
  return explained;
}

// Kernels of clone and copy, in place too.
bool is_copy(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('.'));
  if (kernel.ends_with('_')) kernel.remove_suffix(1);
  return kernel == "aten::clone" || kernel == "aten::copy";
}

MethodExplained explain_method(const MethodMeta& method) {
  MethodExplained explained;
  explained.name = method.name();
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      const InstructionMeta instruction = method.instruction(chain, i);
      Row row;
      row.where = "executor";
      row.why = "control flow";
      row.what = instruction_text(method, instruction);
      if (instruction.kind == InstructionKind::kernel) {
        row.what = operator_text(method.op(instruction.target));
        row.where = place_of(row.what);
        const char* check = method.check_message(chain, i);
        row.why = check ? check_reason(check) : kernel_reason(row.what);
        const bool copy = is_copy(row.what);
        explained.copies += copy;
        if (copy) row.why += "; a copy";
      } else if (instruction.kind == InstructionKind::delegate) {
        row.what = fmt::format("delegate {}", instruction.target);
        row.where = method.delegate(instruction.target).id;
        row.why = "the program requires it";
      }
      const compiler::Where where = instruction_source(method, chain, i);
      row.source = where.source;
      row.module = where.module;
      explained.rows.push_back(std::move(row));
    }
  }
  explained.delegates = method.num_delegates();
  explained.arena = arena_picture(method);
  return explained;
}

void print_nodes(const MethodExplained& method) {
  if (method.nodes.empty()) return;
  const auto outside =
      std::count_if(method.nodes.begin(), method.nodes.end(), [](const Row& row) { return row.where == "portable"; });
  const std::string form =  // backends of form kernels make no delegates
      method.delegates == 0 ? "on backends"
                            : fmt::format("in {} delegate{}", method.delegates, method.delegates == 1 ? "" : "s");
  fmt::print("{}", heading(fmt::format("method {}: {} nodes {}, {} outside", compiler::printable(method.name),
                                       method.nodes.size() - static_cast<size_t>(outside), form, outside)));
  Table table({"node", "runs on", "why", "source", "module"});
  for (const Row& row : method.nodes) {
    table.row({row.what, row.where, row.why, compiler::printable(row.source, 60), compiler::printable(row.module, 60)});
  }
  fmt::print("{}", table.text());
}

void print_method(const MethodExplained& method) {
  print_nodes(method);
  fmt::print("{}", heading(fmt::format("method {}: {} instructions, {} copies", compiler::printable(method.name),
                                       method.rows.size(), method.copies)));
  Table table({">", "operator", "runs on", "why", "source", "module"});
  for (size_t i = 0; i < method.rows.size(); ++i) {
    const Row& row = method.rows[i];
    table.row({fmt::format("{}", i), compiler::printable(row.what, 80), compiler::printable(row.where, 40),
               compiler::printable(row.why), compiler::printable(row.source, 60), compiler::printable(row.module, 60)});
  }
  fmt::print("{}", table.text());
  const Peak peak = peak_of(method.arena);
  fmt::print("{}{}",
             heading(fmt::format("arena of {}: {} bytes, lower bound {} bytes", compiler::printable(method.name),
                                 method.arena.arena_bytes, method.arena.lower_bound_bytes)),
             to_text(method.arena));
  if (!method.arena.above_lower_bound.empty()) fmt::print("{}\n", method.arena.above_lower_bound);
  fmt::print("{}", heading(fmt::format("peak at instruction {}: {} bytes alive", peak.instruction, peak.live_bytes)));
  Table owners({">bytes", ">offset", "holds"});
  for (const ArenaBlock* block : peak.owners) {
    owners.row({fmt::format("{}", block->size_bytes), fmt::format("{}", block->offset),
                compiler::printable(block->label, 80)});
  }
  fmt::print("{}", owners.text());
}

void write_arena(const ArenaPicture& arena, JsonWriter& json) {
  const Peak peak = peak_of(arena);
  json.field("arena_bytes", arena.arena_bytes);
  json.field("arena_lower_bound_bytes", arena.lower_bound_bytes);
  json.field("above_lower_bound", arena.above_lower_bound);
  json.field("peak_instruction", static_cast<uint64_t>(peak.instruction));
  json.field("peak_live_bytes", peak.live_bytes);
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

void write_rows(const char* key, const std::vector<Row>& rows, bool with_cost, JsonWriter& json) {
  json.key(key);
  json.array();
  for (const Row& row : rows) {
    json.object();
    json.field("op", row.what);
    json.field("runs_on", row.where);
    json.field("why", row.why);
    json.field("source", row.source);
    json.field("module", row.module);
    if (with_cost) {
      json.field("macs", row.cost.macs);
      json.field("constant_bytes", row.cost.constant_bytes);
      json.field("scratch_bytes", row.cost.scratch_bytes);
    }
    json.end();
  }
  json.end();
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
    write_rows("nodes", method.nodes, true, json);
    write_rows("instructions", method.rows, false, json);
    write_arena(method.arena, json);
    json.end();
  }
  json.end();
  json.end();
  fmt::print("{}\n", json.text());
}

Result<std::vector<MethodExplained>> explain_file(const std::string& path, const compiler::CompileOptions& options) {
  ASSIGN_OR_RETURN(FileMap map, FileMap::open(path));
  std::vector<MethodExplained> methods;
  switch (kind_of(map.bytes())) {
    case FileKind::pt2: {
      ASSIGN_OR_RETURN(compiler::CompileResult result,
                       compiler::compile(std::vector<compiler::CompileBytes>{{"forward", path, map.bytes()}}, options));
      for (size_t i = 0; i < result.method_plans.size(); ++i) {
        MethodExplained& explained = methods.emplace_back(explain_plan(result.method_plans[i]));
        for (const compiler::NodeVerdict& node : result.methods[i].nodes)
          explained.nodes.push_back(
              {node.op, node.where_it_runs, with_details(node), node.source, node.module, node.cost});
      }
      return methods;
    }
    case FileKind::pte: {
      ASSIGN_OR_RETURN(Session session, Session::open(path, {}));
      for (size_t i = 0; i < session.program().num_methods(); ++i)
        methods.push_back(explain_method(session.program().method(i)));
      return methods;
    }
    default: break;
  }
  return Diag(Code::incompatible_file, "this is neither a .pte nor a .pt2").at_file(path);
}

Status explain(const ExplainFlags& flags) {
  compiler::CompileOptions options;
  ASSIGN_OR_RETURN(options.targets, flags.target_flags.find(flags.backends));
  options.strict_nan = flags.strict_nan;
  ASSIGN_OR_RETURN(std::vector<MethodExplained> methods, explain_file(flags.file, options));
  if (!flags.svg.empty()) {
    if (methods.empty()) return Diag(Code::usage, "there is no method to draw");
    const std::string svg = to_svg(methods[0].arena, methods[0].name);
    RETURN_IF_ERROR(
        compiler::write_file(flags.svg, Span<const uint8_t>(reinterpret_cast<const uint8_t*>(svg.data()), svg.size())));
    if (methods.size() > 1)
      fmt::print(stderr, "note: {} shows the method '{}' only\n", flags.svg, compiler::printable(methods[0].name));
  }
  if (flags.json) {
    print_json(methods);
    return {};
  }
  for (const MethodExplained& method : methods) print_method(method);
  return {};
}

}  // namespace

void add_explain(CommandLine& line) {
  auto flags = std::make_shared<ExplainFlags>();
  Command command =
      line.command("explain", "Show where each node runs and why, and what occupies the arena when", [flags] {
        const Status status = explain(*flags);
        return status.ok() ? 0 : report(status.diag());
      });
  command.footer(
      "A .pt2 is compiled first. Each node is listed with the backend that takes it, or why none does.\n"
      "Each copy is listed with its reason.\n"
      "Examples:\n"
      "  wick explain model.pt2\n"
      "  wick explain model.pt2 --backend portable\n"
      "  wick explain model.pt2 --svg arena.svg\n"
      "  wick explain model.pte --json");
  command.option("file", flags->file, "a .pt2 or .pte").takes("FILE").required();
  command.option("--backend", flags->backends, "backends in order of preference, separated by commas")
      .takes("LIST")
      .shows_default();
  flags->target_flags.add_to(command);
  command.flag("--strict-nan", flags->strict_nan, "as in compile");
  command.option("--svg", flags->svg, "draw the arena over time as SVG, to this file").takes("FILE");
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
