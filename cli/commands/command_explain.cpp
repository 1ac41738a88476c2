#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/explain/print_explanation.h"
#include "cli/output_files.h"
#include "cli/program/program_report.h"
#include "cli/program/program_session.h"
#include "cli/size_flags.h"
#include "cli/target_flags.h"
#include "compiler/support/file_map.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::FileMap;
using compiler::Result;
using compiler::Status;

struct ExplainFlags {
  std::string file, backends = compiler::default_targets(), svg;
  TargetFlags target_flags;
  SizeFlags size_flags;
  bool strict_nan = false, json = false;
};

Result<std::vector<MethodExplained>> explain_file(const std::string& path, const compiler::CompileOptions& options) {
  ASSIGN_OR_RETURN(FileMap map, FileMap::open(path));
  switch (kind_of(map.bytes())) {
    case FileKind::pt2: {
      ASSIGN_OR_RETURN(compiler::CompileResult result,
                       compiler::compile(std::vector<compiler::CompileBytes>{{"forward", path, map.bytes()}}, options));
      return explain(result, options.targets);
    }
    case FileKind::pte: {
      ASSIGN_OR_RETURN(Session session, Session::open(path, {}));
      return explain(session.program(), options.targets);
    }
    default: break;
  }
  return no_program(path, map.bytes());
}

Status explain_command(const ExplainFlags& flags) {
  RETURN_IF_ERROR(check_outputs({{"--svg", flags.svg}}, {flags.file}));
  compiler::CompileOptions options;
  ASSIGN_OR_RETURN(options.targets, flags.target_flags.find(flags.backends));
  RETURN_IF_ERROR(flags.size_flags.read(options.import));
  options.strict_nan = flags.strict_nan;
  options.for_report = true;
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
  for (const MethodExplained& method : methods) print_tables(method);
  return {};
}

}  // namespace

void add_explain(CommandLine& line) {
  auto flags = std::make_shared<ExplainFlags>();
  Command command =
      line.command("explain", "Show where each node runs and why, and what occupies the arena when", [flags] {
        const Status status = explain_command(*flags);
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
  add_backend_option(command, flags->backends);
  flags->target_flags.add_to(command);
  command.flag("--strict-nan", flags->strict_nan,
               "backends refuse nodes that would treat NaN or infinity differently from eager");
  flags->size_flags.add_to(command);
  command.option("--svg", flags->svg, "draw the arena over time as SVG, to this file").takes("FILE");
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
