#include <fmt/format.h>

#include <cstdio>

#include "backends/compile_table.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "cli/text/table.h"
#include "compiler/ir/text/text.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/file_map.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::FileMap;
using compiler::Result;
using compiler::Status;

struct OptFlags {
  std::string input, output;
  std::vector<std::string> passes;
  bool list = false, no_origins = false;
};

std::vector<compiler::Pass> passes_of_backends() {
  std::vector<compiler::Pass> passes;
  for (const compiler::Target* target : compiler::known_targets())
    passes.insert(passes.end(), target->passes.own.begin(), target->passes.own.end());
  return passes;
}

int list_passes() {
  Table table({"pass", "phase", "why here"});
  std::vector<compiler::Pass> passes(compiler::pass_table().begin(), compiler::pass_table().end());
  for (const compiler::Pass& pass : passes_of_backends()) passes.push_back(pass);
  for (const compiler::Pass& pass : passes) {
    const char* phase = pass.phase == compiler::Phase::recognize  ? "recognize"
                        : pass.phase == compiler::Phase::prepare  ? "prepare"
                        : pass.phase == compiler::Phase::optimize ? "optimize"
                        : pass.phase == compiler::Phase::target   ? "target"
                                                                  : "last";
    table.row({std::string(pass.name), phase, std::string(pass.why_here)});
  }
  fmt::print("{}", table.text());
  return 0;
}

Status optimize_text(const OptFlags& flags) {
  RETURN_IF_ERROR(check_outputs({{"-o", flags.output}}, {}));
  ASSIGN_OR_RETURN(FileMap map, FileMap::open(flags.input));
  Result<compiler::Function> parsed =
      compiler::parse_graph({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()});
  if (!parsed.ok()) return std::move(parsed.diag()).at_file(flags.input);
  compiler::Function function = std::move(*parsed);
  const std::vector<compiler::Pass> own = passes_of_backends();
  compiler::PipelineOptions options;
  options.own_passes = {own.data(), own.size()};
  options.keep = [](const compiler::Node& node) { return node.op->kernel != nullptr; };
  if (flags.passes.empty()) RETURN_IF_ERROR(compiler::run_pipeline(*function.graph, options));
  for (const std::string& pass : flags.passes) RETURN_IF_ERROR(compiler::run_pass(pass, *function.graph, options));
  const std::string text = compiler::to_text(*function.graph, function.name, {!flags.no_origins});
  if (flags.output.empty()) {
    std::fputs(text.c_str(), stdout);
    return {};
  }
  return compiler::write_file(flags.output,
                              Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

int opt_command(const OptFlags& flags) {
  if (flags.list) return list_passes();
  if (flags.input.empty())
    return report(Diag(Code::usage, "no file given").with_help("wick opt FILE.ir, or wick opt --list"));
  const Status status = optimize_text(flags);
  return status.ok() ? 0 : report(status.diag());
}

}  // namespace

void add_opt(CommandLine& line) {
  auto flags = std::make_shared<OptFlags>();
  Command command =
      line.command("opt", "Run passes over the text form of a graph", [flags] { return opt_command(*flags); });
  command.footer(
      "Without --pass the whole pipeline runs. wick compile --dump-ir writes such files.\n"
      "Examples:\n"
      "  wick opt --list\n"
      "  wick opt forward.00.import.ir --pass canonicalize,dead_code\n"
      "  wick opt forward.00.import.ir -o optimized.ir");
  command.option("input", flags->input, "a graph as text").takes("FILE");
  command.option("--pass", flags->passes, "passes to run, in order, separated by commas")
      .takes("LIST")
      .separated_by(',')
      .one_at_a_time();
  command.flag("--list", flags->list, "list the passes, each with its phase and why it runs there");
  command.flag("--no-origins", flags->no_origins, "leave out module paths and source lines");
  command.option("-o,--output", flags->output, "write the text to this file; default: stdout").takes("FILE");
}

}  // namespace wick::cli
