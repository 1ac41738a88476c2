#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "cli/command.h"
#include "cli/explain/memory_advice.h"
#include "cli/output_files.h"
#include "cli/size_flags.h"
#include "cli/target_flags.h"
#include "cli/text/progress.h"
#include "cli/text/text.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/text/text.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/file_map.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Status;

struct CompileFlags {
  std::vector<std::string> inputs;
  std::string output, backends = compiler::default_targets(), profile = "auto", io, report, external_weights, dump_ir;
  std::vector<std::string> skip_passes;
  SizeFlags size_flags;
  TargetFlags target_flags;
  uint64_t max_arena = UINT64_MAX, max_file = UINT64_MAX;
  std::vector<std::string> share_state;
  bool no_share_state = false, caller_io = false, strict_nan = false, require_full_delegation = false, json = false;
};

void write_unbounded(const compiler::MethodReport& method, compiler::JsonWriter& json) {
  json.key("unbounded");
  json.array();
  for (const compiler::UnboundedValue& value : method.unbounded) {
    json.object();
    json.field("name", value.name);
    json.field("memory", value.memory);
    json.end();
  }
  json.end();
}

std::string report_json(const compiler::CompileResult& result, const std::vector<std::string>& advice,
                        double compile_ms) {
  compiler::JsonWriter json;
  json.object();
  json.field("schema", "wick.compile.1");
  json.key("methods");
  json.array();
  for (const compiler::MethodReport& method : result.methods) {
    json.object();
    json.field("name", method.name);
    json.field("delegates", static_cast<uint64_t>(method.delegates));
    json.field("kernels", static_cast<uint64_t>(method.kernels));
    json.key("outside");
    json.array();
    for (const compiler::NodeVerdict& verdict : method.outside) {
      json.object();
      json.field("op", verdict.op);
      json.field("reason", verdict.reason);
      json.field("help", verdict.help);
      json.field("module", verdict.module);
      json.field("source", verdict.source);
      json.end();
    }
    json.end();
    json.field("arena_bytes", method.arena_bytes);
    json.field("arena_lower_bound_bytes", method.arena_lower_bound_bytes);
    json.field("above_lower_bound", method.above_lower_bound);
    json.field("device_arena_bytes", method.device_arena_bytes);
    write_unbounded(method, json);
    compiler::write_shared_states(method.shared_states, json);
    for (const auto& [key, list] : {std::pair("not_stock", &method.not_stock), std::pair("notes", &method.notes)}) {
      json.key(key);
      json.array();
      for (const std::string& item : *list) json.value(item);
      json.end();
    }
    json.key("stages");
    json.array();
    for (const compiler::StageTime& stage : method.stages) {
      json.object();
      json.field("name", stage.stage);
      json.field("ms", static_cast<double>(stage.time_ns) / 1e6);
      json.end();
    }
    json.end();
    json.end();
  }
  json.end();
  json.field("constant_bytes", result.constant_bytes);
  json.field("file_bytes", result.file_bytes);
  json.field("emit_ms", static_cast<double>(result.emit_ns) / 1e6);
  json.field("compile_ms", compile_ms);
  json.key("advice");
  json.array();
  for (const std::string& sentence : advice) json.value(sentence);
  json.end();
  json.end();
  return json.text() + "\n";
}

Status dump(const std::string& folder, std::string_view method, int number, std::string_view stage,
            const compiler::Graph& graph) {
  const std::string text = compiler::to_text(graph, method);
  return compiler::write_file(fmt::format("{}/{}.{:02}.{}.ir", folder, method, number, stage),
                              Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

// `files`: those that the targets write.
Status write_outputs(const compiler::CompileResult& result, const CompileFlags& flags, const std::string& report,
                     std::vector<compiler::FileWriter>& files) {
  if (result.program.ptd.size_bytes > 0) {
    ASSIGN_OR_RETURN(compiler::FileWriter weights, compiler::begin_file(flags.external_weights, result.program.ptd));
    files.push_back(std::move(weights));
  } else if (!flags.external_weights.empty()) {
    fmt::print(stderr, "note: no weight has a name, so {} is not written\n", flags.external_weights);
  }
  if (!flags.report.empty()) {
    ASSIGN_OR_RETURN(compiler::FileWriter text, compiler::FileWriter::open(flags.report, report.size()));
    RETURN_IF_ERROR(text.append({reinterpret_cast<const uint8_t*>(report.data()), report.size()}));
    files.push_back(std::move(text));
  }
  ASSIGN_OR_RETURN(compiler::FileWriter program, compiler::begin_file(flags.output, result.program.pte));
  files.push_back(std::move(program));
  return compiler::finish_all(files);
}

Status check_budgets(const compiler::CompileResult& result, const CompileFlags& flags,
                     const std::vector<std::string>& advice) {
  std::vector<std::string> found;
  for (const compiler::MethodReport& method : result.methods) {
    if (method.arena_bytes > flags.max_arena) {
      found.push_back(fmt::format("the arena of method '{}' has {} bytes, --max-arena allows {}", method.name,
                                  method.arena_bytes, flags.max_arena));
    }
  }
  const auto has_unbounded = [](const compiler::MethodReport& method) { return !method.unbounded.empty(); };
  const auto unbounded = std::find_if(result.methods.begin(), result.methods.end(), has_unbounded);
  if (flags.max_arena != UINT64_MAX && unbounded != result.methods.end()) {
    found.push_back(
        fmt::format("method '{}' has values without an upper bound ({}), so --max-arena does not limit its "
                    "memory; --max-size N does",
                    unbounded->name, unbounded->unbounded[0].name));
  }
  if (result.file_bytes > flags.max_file)
    found.push_back(fmt::format("the program has {} bytes, --max-file allows {}", result.file_bytes, flags.max_file));
  if (found.empty()) return {};
  Diag diag(Code::budget, found[0]);
  diag.notes.assign(found.begin() + 1, found.end());
  diag.notes.insert(diag.notes.end(), advice.begin(), advice.end());
  return std::move(diag).with_help(
      "wick explain shows what is alive at the peak; --report shows what the file contains");
}

Status write_report(const CompileFlags& flags, const std::string& text) {
  if (flags.report.empty()) return {};
  return compiler::write_file(flags.report,
                              Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

bool has_text(Span<const uint8_t> bytes, size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() && std::equal(text.begin(), text.end(), bytes.begin() + at);
}

// Includes the options of backends that name files (--twin).
Status check_compile_files(const CompileFlags& flags, const std::vector<compiler::TargetRequest>& targets) {
  std::vector<OutputFile> outputs = {
      {"-o", flags.output, "ExecuTorch program", [](Span<const uint8_t> bytes) { return has_text(bytes, 4, "ET"); }},
      {"--external-weights", flags.external_weights, "file of weights",
       [](Span<const uint8_t> bytes) { return has_text(bytes, 4, "FT"); }},
      {"--report", flags.report, "JSON", [](Span<const uint8_t> bytes) { return has_text(bytes, 0, "{"); }}};
  for (const compiler::TargetRequest& request : targets) {
    for (const auto& [name, value] : request.settings) {
      for (const compiler::TargetOption& option : request.target->options.list) {
        if (option.name == name && std::string_view(option.takes) == "FILE")
          outputs.push_back({"--" + name, value, option.replaces, option.may_replace});
      }
    }
  }
  std::vector<std::string> inputs;
  for (const std::string& input : flags.inputs) inputs.push_back(split_method(input).second);
  return check_outputs(outputs, inputs);
}

// The estimate of the steps: most graphs are stable after three rounds of passes.
compiler::Result<compiler::CompileResult> compile_with_progress(const std::vector<compiler::CompileInput>& inputs,
                                                                compiler::CompileOptions& options) {
  Progress progress("compiling");
  const size_t per_method = 2 + 3 * compiler::pass_table().size();
  const size_t all = inputs.size() * per_method + 2;
  size_t done = 0, methods = 0;
  options.on_begin = [&](std::string_view stage) {
    if (stage == "import") done = per_method * methods++;
    if (stage == "linearize") done = per_method * methods - 1;
    progress.update(stage, done++, all);
  };
  return compiler::compile(inputs, options);
}

// Advice on making the program fit its budget; empty if it fits.
std::vector<std::string> advise(const compiler::CompileResult& result, const CompileFlags& flags,
                                const std::vector<compiler::CompileInput>& inputs,
                                const compiler::CompileOptions& options) {
  const bool fits =
      std::all_of(result.methods.begin(), result.methods.end(),
                  [&](const compiler::MethodReport& method) { return method.arena_bytes <= flags.max_arena; });
  if (fits && result.file_bytes <= flags.max_file) return {};
  return memory_advice(result, {flags.max_arena, flags.max_file}, options.targets,
                       [&](const std::vector<compiler::TargetRequest>& targets) {
                         compiler::CompileOptions other = options;
                         other.on_stage = nullptr;
                         other.on_begin = nullptr;
                         other.targets = targets;
                         std::vector<compiler::FileWriter> dropped;
                         other.files = &dropped;
                         return compiler::compile(inputs, other);
                       });
}

// Prints a line to stderr for each reason why nodes stay outside delegates, and for each reason why nodes differ
// because of an option. The report lists all nodes.
void print_reasons(const compiler::MethodReport& method) {
  std::map<std::pair<std::string, std::string>, size_t> outside, asked_for;
  for (const compiler::NodeVerdict& verdict : method.outside)
    ++outside[{verdict.op, compiler::with_help(verdict.reason, verdict.help)}];
  for (const compiler::NodeVerdict& verdict : method.nodes) {
    if (verdict.asked_for) ++asked_for[{verdict.op, verdict.reason}];
  }
  for (const auto& [what, count] : outside)
    fmt::print(stderr, "note: outside: {} x {}: {}\n", count, what.first, what.second);
  for (const auto& [what, count] : asked_for) fmt::print(stderr, "note: {} x {}: {}\n", count, what.first, what.second);
}

void print_unbounded(const compiler::MethodReport& method) {
  if (method.unbounded.empty()) return;
  std::string names;
  for (size_t i = 0; i < method.unbounded.size() && i < 3; ++i)
    names += fmt::format("{}{}", i ? ", " : "", method.unbounded[i].name);
  fmt::print(
      stderr,
      "note: {} value{} without an upper bound ({}{}): the program needs a runtime with an allocator; --max-size "
      "N plans their memory\n",
      method.unbounded.size(), method.unbounded.size() == 1 ? "" : "s", names,
      method.unbounded.size() > 3 ? ", .." : "");
}

void print_result(const compiler::CompileResult& result, const CompileFlags& flags, double compile_ms) {
  for (const compiler::MethodReport& method : result.methods) {
    fmt::print("{}: {}{} kernel calls, arena {} bytes (lower bound {})\n", method.name,
               flags.backends == "portable"
                   ? ""
                   : fmt::format("{} delegate{}, ", method.delegates, method.delegates == 1 ? "" : "s"),
               method.kernels, method.arena_bytes, method.arena_lower_bound_bytes);
    print_reasons(method);
    print_unbounded(method);
    for (const std::string& line : compiler::sharing_text(method.name, method.shared_states))
      fmt::print(stderr, "note: {}\n", line);
    for (const std::string& note : method.notes) fmt::print(stderr, "note: {}\n", note);
    if (!method.above_lower_bound.empty()) fmt::print(stderr, "note: {}\n", method.above_lower_bound);
    for (const std::string& name : method.not_stock)
      fmt::print(stderr, "note: stock ExecuTorch has no kernel for this, so Wick's is used: {}\n", name);
  }
  const std::string constants =
      result.program.ptd.size_bytes > 0
          ? fmt::format("{} of weights in {}", result.program.ptd.size_bytes, flags.external_weights)
          : fmt::format("of which {} constants", result.constant_bytes);
  fmt::print("{}: {} bytes, {}; compiled in {:.1f} ms\n", flags.output, result.file_bytes, constants, compile_ms);
}

constexpr const char* kAllStates = "(all)";  // --share-state without names

compiler::Result<compiler::StateSharing> sharing_of(const CompileFlags& flags) {
  compiler::StateSharing sharing;
  if (flags.no_share_state) {
    if (!flags.share_state.empty()) {
      return Diag(Code::usage, "--share-state and --no-share-state cannot both be given").with_help("leave out one");
    }
    sharing.rule = compiler::StateSharing::Rule::none;
  }
  for (const std::string& list : flags.share_state) {
    if (list == kAllStates) {
      sharing.rule = compiler::StateSharing::Rule::all;
      continue;
    }
    for (size_t start = 0; start <= list.size();) {
      const size_t end = std::min(list.find(',', start), list.size());
      if (end == start) {
        return Diag(Code::usage, "--share-state has an empty name")
            .expected(list, "names of mutable buffers, separated by commas");
      }
      sharing.names.push_back(list.substr(start, end - start));
      start = end + 1;
    }
  }
  return sharing;
}

int compile_command(const CompileFlags& flags) {
  std::vector<compiler::CompileInput> inputs;
  for (const std::string& input : flags.inputs) {
    auto [method, path] = split_method(input);
    inputs.push_back({method, path});
  }
  compiler::CompileOptions options;
  options.profile = flags.profile == "stock"    ? compiler::Profile::stock
                    : flags.profile == "native" ? compiler::Profile::native
                                                : compiler::Profile::automatic;
  compiler::Result<compiler::StateSharing> share_state = sharing_of(flags);
  if (!share_state.ok()) return report(share_state.diag());
  options.share_state = std::move(*share_state);
  options.caller_io = flags.caller_io;
  options.border = compiler::border_of(flags.io).value_or(compiler::Border());
  options.external_weights = !flags.external_weights.empty();
  options.skip_passes = flags.skip_passes;
  options.strict_nan = flags.strict_nan;
  options.require_full_delegation = flags.require_full_delegation;
  compiler::Result<std::vector<compiler::TargetRequest>> targets = flags.target_flags.find(flags.backends);
  if (!targets.ok()) return report(targets.diag());
  options.targets = std::move(*targets);
  if (Status status = check_compile_files(flags, options.targets); !status.ok()) return report(status.diag());
  if (Status status = flags.size_flags.read(options.import); !status.ok()) return report(status.diag());
  Status dumped;
  int stage_number = 0;
  if (!flags.dump_ir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(flags.dump_ir, error);
    options.on_stage = [&](std::string_view method, std::string_view stage, const compiler::Graph& graph) {
      if (stage == "import") stage_number = 0;
      if (dumped.ok()) dumped = dump(flags.dump_ir, method, stage_number++, stage, graph);
    };
  }
  // A program is useless without its weights or its twin, so no file appears before the bytes of all files are written.
  std::vector<compiler::FileWriter> files;
  options.files = &files;
  const auto start = std::chrono::steady_clock::now();
  compiler::Result<compiler::CompileResult> result = compile_with_progress(inputs, options);
  if (!result.ok()) return report(result.diag());
  const double compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!dumped.ok()) return report(dumped.diag());
  const std::vector<std::string> advice = advise(*result, flags, inputs, options);
  const std::string json = report_json(*result, advice, compile_ms);
  if (const Status over = check_budgets(*result, flags, advice); !over.ok()) {
    // The report shows what is too large, so it is written first.
    if (Status status = write_report(flags, json); !status.ok()) return report(status.diag());
    return report(over.diag());
  }
  if (Status status = write_outputs(*result, flags, json, files); !status.ok()) return report(status.diag());
  if (flags.json) {
    std::fputs(json.c_str(), stdout);
    return 0;
  }
  print_result(*result, flags, compile_ms);
  return 0;
}

}  // namespace

void add_compile(CommandLine& line) {
  auto flags = std::make_shared<CompileFlags>();
  Command command =
      line.command("compile", "Compile .pt2 files to one .pte program", [flags] { return compile_command(*flags); });
  command.footer("Options of backends (the first value is the default):\n" + compiler::target_options_help() +
                 "\nExamples:\n"
                 "  wick compile model.pt2 -o model.pte\n"
                 "  wick compile prefill=a.pt2 decode=b.pt2 -o llm.pte\n"
                 "  wick compile model.pt2 -o model.pte --report report.json --max-arena 262144");
  command.option("inputs", flags->inputs, "[METHOD=]FILE.pt2; without METHOD it is the method 'forward'")
      .takes("FILE")
      .required();
  command.option("-o,--output", flags->output, "the .pte to write").takes("FILE").required();
  add_backend_option(command, flags->backends);
  flags->target_flags.add_to(command);
  command
      .option("--profile", flags->profile,
              "kernels to use. auto: stock's where they exist, else Wick's; stock: only stock's; native: Wick's where "
              "faster")
      .one_of({"auto", "stock", "native"})
      .shows_default();
  command.flag("--share-state", flags->share_state, "NAME,..", kAllStates,
               "methods share all mutable buffers of the same name, dtype, shape and initial value, or these; by "
               "default only methods of one model do, which have equal parameters");
  command.flag("--no-share-state", flags->no_share_state, "each method has its own mutable buffers");
  command
      .option("--io", flags->io,
              "what the caller passes where inputs and outputs are quantized. float: numbers; int8, uint8, int16: "
              "elements, without the quantize at an input and the dequantize at an output; integer: elements of any "
              "dtype; default: as exported")
      .one_of({"float", "integer", "int8", "uint8", "int16"});
  command.flag("--caller-io", flags->caller_io,
               "inputs and outputs lie in memory of the caller, such as a device's, and are not copied");
  command.option("--report", flags->report, "write the report as JSON to this file").takes("FILE");
  command.option("--external-weights", flags->external_weights, "write named weights to this .ptd file").takes("FILE");
  command.option("--dump-ir", flags->dump_ir, "write the IR after each stage to this folder").takes("DIR");
  command.option("--skip-pass,--disable-pass", flags->skip_passes, "leave out the pass of this name; may repeat")
      .takes("NAME");
  command.flag("--strict-nan", flags->strict_nan,
               "backends refuse nodes that would treat NaN or infinity differently from eager");
  command.flag("--require-full-delegation", flags->require_full_delegation,
               "exit code 6 if a node is outside all delegates, with the reason for each");
  flags->size_flags.add_to(command);
  command
      .option("--max-arena", flags->max_arena,
              "bytes, or such as 256KB (1024 bytes each); exit code 6 if a method needs a larger arena")
      .as_size();
  command.option("--max-file", flags->max_file, "as --max-arena, for the program's file").as_size();
  command.flag("--json", flags->json, "print the report as JSON");
}

}  // namespace wick::cli
