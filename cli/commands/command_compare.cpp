#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/arrays/array_compare.h"
#include "cli/call_options.h"
#include "cli/command.h"
#include "cli/text/table.h"
#include "cli/trace/device_compare.h"
#include "cli/trace/follow_program.h"
#include "cli/trace/node_trace.h"
#include "cli/trace/rounding_flips.h"
#include "compiler/analysis/quantization_step.h"
#include "compiler/driver/compile.h"
#include "compiler/passes/pipeline.h"
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

constexpr uint64_t kTraceBytes = uint64_t{2} << 30;

struct CompareFlags : CallOptions {
  std::string model;
  Tolerance tolerance;
  bool json = false;
};

/// The upper bounds that the program was compiled with.
compiler::CompileOptions model_options(const MethodFacts& program) {
  compiler::CompileOptions options;
  options.border = program.border;
  for (const auto& [symbol, range] : program.symbols) {
    if (range.max != compiler::kUnbounded) options.import.max_sizes[symbol] = range.max;
  }
  return options;
}

/// The model compiled in memory, run on the portable kernels' baseline.
Result<std::vector<uint8_t>> compile_model(const CompareFlags& flags, Span<const uint8_t> bytes,
                                           const std::string& method, const compiler::CompileOptions& as,
                                           bool with_passes) {
  compiler::CompileOptions options = as;
  for (const compiler::Pass& pass : compiler::pass_table()) {
    if (!with_passes && pass.phase == compiler::Phase::optimize) options.skip_passes.emplace_back(pass.name);
  }
  ASSIGN_OR_RETURN(compiler::CompileResult result,
                   compiler::compile(std::vector<compiler::CompileBytes>{{method, flags.model, bytes}}, options));
  return result.program.pte.join();
}

SessionOptions options_of(const CompareFlags& flags, IsaLevel isa, const Tracer* tracer) {
  SessionOptions options = flags.session();
  options.max_isa = isa;
  options.tracer = tracer;
  return options;
}

/// Runs one method; `watch` gets its meta before the run.
template <typename Watcher>
Result<std::vector<NamedArray>> run_watched(Session& session, const std::string& method,
                                            const std::vector<HostValue>& inputs, Watcher* watcher) {
  const MethodMeta meta = session.meta(method);
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(meta));
  if (inputs.size() != meta.num_inputs())
    return Diag(Code::usage, "the two programs take different numbers of inputs").with_help("are they the same model?");
  if (watcher) watcher->watch(meta);
  std::vector<HostValue> outputs;
  RETURN_IF_ERROR(session.execute(method, inputs, &outputs));
  return output_arrays(facts, std::move(outputs));
}

/// How far quantization may move an output from the model's: by a step of its grid, or by what rounding flips do to
/// each element, whichever is more.
struct Allowance {
  double step = 0;
  std::vector<double> each;  // empty: nothing
};
using Allowances = std::map<std::string, Allowance>;  // by the name of the output

/// A run of the model on the portable kernels: its outputs, the results of each node and, if it quantizes, how far
/// rounding flips move both.
struct Reference {
  NodeRecorder nodes{kTraceBytes};
  RoundingFlipper flipper{nodes};
  std::vector<NamedArray> outputs;
  Allowances allowed;
};

/// Sets the steps of quantized outputs, as the model's graph has them.
Status allow_steps(const CompareFlags& flags, Span<const uint8_t> bytes, const std::string& method,
                   const compiler::CompileOptions& as, const Session& program, Allowances& allowed) {
  ASSIGN_OR_RETURN(const MethodFacts facts, read_facts(program.meta(method)));
  ASSIGN_OR_RETURN(compiler::Function function,
                   compiler::import_bytes({method, flags.model, bytes}, as.import, as.border));
  size_t index = 0;
  const auto note = [&](const compiler::Value* value) {
    if (index >= program.meta(method).num_outputs()) return;  // an output of another model
    double& most = allowed[output_name(facts, index++)].step;
    if (value) most = std::max(most, compiler::quantization_step(*value));
  };
  for (const compiler::StateUpdate& update : function.graph->updates) {
    if (update.target->kind == compiler::ValueKind::input) note(update.value);
  }
  for (const compiler::GraphOutput& output : function.graph->outputs) note(output.value);
  return {};
}

struct Int16 {
  bool elements = false, beyond_model = false;
};

/// How the program uses int16. `pte`: the model on the portable kernels, after Wick's passes.
Result<Int16> read_int16(const CompareFlags& flags, const MethodMeta& program, const std::vector<uint8_t>& pte,
                         const std::string& method) {
  Int16 int16;
  int16.elements = has_int16(program);
  if (!int16.elements) return int16;
  ASSIGN_OR_RETURN(Session model,
                   Session::open_bytes(pte, flags.model, options_of(flags, IsaLevel::baseline, nullptr)));
  int16.beyond_model = has_int16_beyond(operators_of(model.meta(method)), program);
  return int16;
}

/// Runs `pte`, the model as it was compiled in memory.
Status run_reference(const CompareFlags& flags, const std::vector<uint8_t>& pte, const std::string& method,
                     const std::vector<HostValue>& inputs, const Int16& int16, Reference& reference) {
  const auto run = [&](auto& watcher) -> Result<std::vector<NamedArray>> {
    ASSIGN_OR_RETURN(Session session,
                     Session::open_bytes(pte, flags.model, options_of(flags, IsaLevel::baseline, watcher.tracer())));
    return run_watched(session, method, inputs, &watcher);
  };
  ASSIGN_OR_RETURN(reference.outputs, run(reference.nodes));
  ASSIGN_OR_RETURN(Session probe,
                   Session::open_bytes(pte, flags.model, options_of(flags, IsaLevel::baseline, nullptr)));
  if (!quantizes(probe.meta(method))) return {};
  if (int16.elements && !has_int16(probe.meta(method))) reference.flipper.allow_int16();
  if (int16.beyond_model) reference.flipper.allow_tables();
  std::vector<TurnedElements> turned(reference.outputs.size());
  for (uint64_t each = 0; each < kFlippedRuns; ++each) {
    ASSIGN_OR_RETURN(const std::vector<NamedArray> flipped, run(reference.flipper));
    for (size_t i = 0; i < std::min(flipped.size(), turned.size()); ++i)
      turned[i].add(flipped[i], reference.outputs[i]);
  }
  reference.flipper.move_far();
  for (uint64_t each = 0; each < kFarRuns; ++each) {
    ASSIGN_OR_RETURN(const std::vector<NamedArray> moved, run(reference.flipper));
    for (size_t i = 0; i < std::min(moved.size(), turned.size()); ++i)
      turned[i].add_reached(moved[i], reference.outputs[i]);
  }
  for (size_t i = 0; i < turned.size(); ++i) reference.allowed[reference.outputs[i].name].each = turned[i].allowed();
  return {};
}

/// Runs the program and records the elements of quantized tensors that its kernels write.
Result<std::vector<Elements>> read_elements(const CompareFlags& flags, const std::string& method,
                                            const std::vector<HostValue>& inputs) {
  ElementRecorder program(kTraceBytes);
  ASSIGN_OR_RETURN(Session session,
                   Session::open(flags.program, options_of(flags, IsaLevel::avx512, program.tracer())));
  RETURN_IF_ERROR(run_watched(session, method, inputs, &program));
  return program.all();
}

Result<Comparison> compare_outputs(const std::vector<NamedArray>& found, const std::vector<NamedArray>& wanted,
                                   const Allowances& allowed, const Tolerance& asked) {
  if (found.size() != wanted.size()) {
    return Diag(Code::numeric_mismatch, "the two programs give different numbers of outputs")
        .expected(fmt::format("{}", found.size()), fmt::format("{}", wanted.size()));
  }
  Comparison comparison;
  for (size_t i = 0; i < found.size(); ++i) {
    Tolerance tolerance = asked;
    std::vector<double> beyond;  // what rounding flips add to the step
    const auto known = allowed.find(wanted[i].name);
    if (known != allowed.end()) {
      tolerance.of_roundings = known->second.step;
      tolerance.on_grid = known->second.step > 0;
      for (const double each : known->second.each) beyond.push_back(std::max(0.0, each - known->second.step));
    }
    comparison.outputs.push_back({wanted[i].name, compare_arrays(found[i], wanted[i], tolerance, beyond)});
  }
  return comparison;
}

/// Compares the program's outputs with those that the model gives for the program's own elements. `steps`: the
/// allowances of outputs on a grid.
Result<Comparison> compare_followed(const std::vector<NamedArray>& found, const FollowedOutputs& followed,
                                    const Allowances& steps, const Tolerance& asked) {
  Allowances allowed = steps;
  for (size_t i = 0; i < std::min(followed.outputs.size(), followed.departures.size()); ++i) {
    Allowance& allowance = allowed[followed.outputs[i].name];
    allowance.each = followed.departures[i];
    for (double& each : allowance.each) each += allowance.step;
  }
  return compare_outputs(found, followed.outputs, allowed, asked);
}

/// Runs the model on the program's own elements (follow_program) and counts where its outputs differ from `found`.
/// `steps` are the allowances of outputs on a grid.
Result<FollowedOutputs> follow(const CompareFlags& flags, const std::vector<uint8_t>& model, const std::string& method,
                               const std::vector<HostValue>& inputs, const std::vector<NamedArray>& found,
                               const Allowances& steps, bool outputs_agree) {
  ASSIGN_OR_RETURN(const std::vector<Elements> elements, read_elements(flags, method, inputs));
  FollowedOutputs nothing_to_follow;
  nothing_to_follow.mismatches = 1;
  if (elements.empty()) return nothing_to_follow;
  struct Watcher {
    std::function<void(const MethodMeta&)> watch;
  };
  const RunModel run = [&](const Tracer* tracer,
                           const std::function<void(const MethodMeta&)>& watch) -> Result<std::vector<NamedArray>> {
    Watcher watcher{watch};
    ASSIGN_OR_RETURN(Session session,
                     Session::open_bytes(model, flags.model, options_of(flags, IsaLevel::baseline, tracer)));
    return run_watched(session, method, inputs, &watcher);
  };
  const CountMismatches count = [&](const FollowedOutputs& each) -> uint64_t {
    const Result<Comparison> compared = compare_followed(found, each, steps, flags.tolerance);
    uint64_t mismatches = 0;
    for (size_t i = 0; compared.ok() && i < compared->outputs.size(); ++i) {
      const Difference& difference = compared->outputs[i].difference;
      mismatches += difference.same_type ? difference.mismatches : 1;
    }
    return mismatches;
  };
  return follow_program(elements, run, count, outputs_agree);
}

Result<Comparison> compare(const CompareFlags& flags) {
  ASSIGN_OR_RETURN(FileMap model, FileMap::open(flags.model));
  if (kind_of(model.bytes()) != FileKind::pt2)
    return Diag(Code::usage, "the first file is not a .pt2")
        .at_file(flags.model)
        .with_help("wick compare MODEL.pt2 MODEL.pte");
  ASSIGN_OR_RETURN(Session probe, Session::open(flags.program, options_of(flags, IsaLevel::avx512, nullptr)));
  ASSIGN_OR_RETURN(std::string method, probe.choose(flags.method));
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(probe.meta(method)));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(probe.meta(method), facts, flags));

  const compiler::CompileOptions as = model_options(facts);
  Reference plain, optimized;
  ASSIGN_OR_RETURN(const std::vector<uint8_t> plain_bytes, compile_model(flags, model.bytes(), method, as, false));
  ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, compile_model(flags, model.bytes(), method, as, true));
  ASSIGN_OR_RETURN(const Int16 int16, read_int16(flags, probe.meta(method), bytes, method));
  RETURN_IF_ERROR(run_reference(flags, plain_bytes, method, inputs, int16, plain));
  Allowances steps;
  RETURN_IF_ERROR(allow_steps(flags, model.bytes(), method, as, probe, steps));
  for (const auto& [name, allowance] : steps) plain.allowed[name].step = allowance.step;
  RETURN_IF_ERROR(run_reference(flags, bytes, method, inputs, int16, optimized));
  if (!optimized.nodes.is_complete())
    fmt::print(stderr, "note: the model is large; only the first 2 GiB of its intermediate results are compared\n");

  NodeComparer nodes(optimized.nodes, &optimized.flipper, flags.tolerance);
  ASSIGN_OR_RETURN(Session program, Session::open(flags.program, options_of(flags, IsaLevel::avx512, nodes.tracer())));
  ASSIGN_OR_RETURN(std::vector<NamedArray> found, run_watched(program, method, inputs, &nodes));
  ASSIGN_OR_RETURN(Comparison comparison, compare_outputs(found, plain.outputs, plain.allowed, flags.tolerance));
  comparison.nodes_compared = nodes.num_compared();
  ASSIGN_OR_RETURN(const FollowedOutputs followed,
                   follow(flags, plain_bytes, method, inputs, found, steps, comparison.ok()));
  comparison.deviation = followed.deviation;
  comparison.exact = comparison.deviation.has_value();
  if (comparison.exact) return comparison;
  if (followed.is_conclusive || (followed.ok() && !comparison.ok())) {
    ASSIGN_OR_RETURN(comparison, compare_followed(found, followed, steps, flags.tolerance));
    comparison.nodes_compared = nodes.num_compared();
    if (comparison.ok()) return comparison;
  }
  // If the outputs agree, elements that are near no quantized value of the model belong to a node that the model lacks.
  comparison.deviation = nodes.first_deviation(!comparison.ok());
  if (comparison.ok() || comparison.deviation) return comparison;

  NodeComparer passes(plain.nodes, &plain.flipper, flags.tolerance);
  ASSIGN_OR_RETURN(Session again, Session::open(flags.program, options_of(flags, IsaLevel::avx512, passes.tracer())));
  RETURN_IF_ERROR(run_watched(again, method, inputs, &passes));
  comparison.deviation = passes.first_deviation();
  comparison.passes_to_blame = true;
  return comparison;
}

void write_difference(JsonWriter& json, const Difference& difference) {
  json.field("same_type", difference.same_type);
  json.field("count", difference.count);
  json.field("mismatches", difference.mismatches);
  json.field("max_abs", difference.max_abs);
  json.field("max_rel", difference.max_rel);
  json.field("of_roundings", difference.of_roundings);
  json.key("where");
  json.array();
  for (int64_t index : difference.where) json.value(index);
  json.end();
}

void print_comparison_json(const Comparison& comparison) {
  JsonWriter json;
  json.object();
  json.field("schema", "wick.compare.2");
  json.field("ok", comparison.ok());
  json.key("outputs");
  json.array();
  for (const OutputRow& row : comparison.outputs) {
    json.object();
    json.field("name", row.name);
    json.field("ok", row.difference.ok());
    write_difference(json, row.difference);
    json.end();
  }
  json.end();
  json.field("nodes_compared", comparison.nodes_compared);
  json.key("first_deviation");
  if (comparison.deviation) {
    json.object();
    json.field("op", comparison.deviation->op);
    json.field("instruction", static_cast<uint64_t>(comparison.deviation->instruction));
    json.field("source", comparison.deviation->source);
    json.field("module", comparison.deviation->module);
    write_difference(json, comparison.deviation->difference);
    json.end();
  } else {
    json.null();
  }
  json.field("passes_to_blame", comparison.passes_to_blame);
  json.end();
  fmt::print("{}\n", json.text());
}

// With --device the only file is the program.
Result<Comparison> compare_any(CompareFlags& flags) {
  if (device::runs_in_process(flags.device)) {
    if (!flags.program.empty()) return compare(flags);
    return Diag(Code::usage, "there is only one file")
        .with_help("wick compare MODEL.pt2 MODEL.pte, or wick compare MODEL.pte --device NAME");
  }
  if (!flags.program.empty()) {
    return Diag(Code::usage, "with a board, compare takes the .pte alone: it is compared with itself on the host")
        .with_help("wick compare MODEL.pte --device " + flags.device);
  }
  flags.program = flags.model;
  return compare_on_device(flags, flags.tolerance, kTraceBytes);
}

int compare_command(CompareFlags& flags) {
  Result<Comparison> comparison = compare_any(flags);
  if (!comparison.ok()) return report(comparison.diag());
  if (flags.json) {
    print_comparison_json(*comparison);
  } else {
    Table table({"output", "", "difference"});
    for (const OutputRow& row : comparison->outputs)
      table.row({row.name, row.difference.ok() ? "ok" : "DIFFERS", to_text(row.difference)});
    fmt::print("{}{} node{} compared\n", table.text(), comparison->nodes_compared,
               comparison->nodes_compared == 1 ? "" : "s");
    if (comparison->deviation && comparison->ok()) {
      const Deviation& node = *comparison->deviation;
      fmt::print("the outputs agree; inside, instruction {} ({}, {}) is the first whose result does not: {}\n",
                 node.instruction, node.op, compiler::printable(node.source), to_text(node.difference));
    }
  }
  const bool on_device = !device::runs_in_process(flags.device);
  if (comparison->ok()) return 0;
  const char* what = comparison->outputs_ok()
                         ? "the program's outputs agree with the model's, but not its results inside"
                         : "the program's outputs differ from the model's";
  Diag diag(Code::numeric_mismatch,
            on_device ? "the results on " + flags.device + " differ from the host's" : std::string(what));
  if (comparison->deviation) {
    const Deviation& node = *comparison->deviation;
    diag.where.source = node.source;
    diag.where.module = node.module;
    diag.notes.push_back(fmt::format("the first node that deviates: instruction {}, {}: {}{}", node.instruction,
                                     node.op, to_text(node.difference),
                                     node.by_value ? ", from all that the model quantizes to this type" : ""));
  } else {
    diag.notes.push_back(
        "no node that both programs have deviates: the difference comes from a node that only one of them has");
  }
  if (comparison->passes_to_blame)
    diag.notes.push_back("the program agrees with the model after Wick's passes; without passes the result differs");
  return report(diag);
}

}  // namespace

void add_compare(CommandLine& line) {
  auto flags = std::make_shared<CompareFlags>();
  Command command = line.command("compare", "Compare a .pte with the .pt2 it was made from, node by node",
                                 [flags] { return compare_command(*flags); });
  command.footer(
      "The model runs on the portable kernels, without passes; exit code 5 if outputs differ.\n"
      "With --device and a board: compares a .pte on the board with the same .pte on the host, integers to the byte.\n"
      "Examples:\n"
      "  wick compare model.pt2 model.pte\n"
      "  wick compare model.pt2 model.pte -i input.npz --rtol 1e-3 --atol 1e-4 --json");
  command.option("model", flags->model, "the .pt2; or, if --device names a board, the .pte").takes("FILE").required();
  add_call_options(command, *flags, "compare");
  add_device_option(command, flags->device, "run the .pte; on a board, for a comparison with the host");
  add_threads_option(command, *flags);
  command.option("--rtol", flags->tolerance.relative, "relative tolerance; default: by dtype, 1e-4 for f32")
      .not_negative();
  command.option("--atol", flags->tolerance.absolute, "absolute tolerance; default: by dtype, 1e-5 for f32")
      .not_negative();
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
