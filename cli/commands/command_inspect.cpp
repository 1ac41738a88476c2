#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/program/model_report.h"
#include "cli/program/program_report.h"
#include "cli/program/program_session.h"
#include "compiler/support/file_map.h"

namespace wick::cli {
namespace {

using compiler::Diag;
using compiler::FileMap;
using compiler::Status;

struct InspectFlags {
  std::string file;
  bool json = false, instructions = false;
};

Status inspect(const InspectFlags& flags) {
  ASSIGN_OR_RETURN(FileMap map, FileMap::open(flags.file));
  const FileKind kind = kind_of(map.bytes());
  if (kind == FileKind::pt2) return print_model(flags.file, map.bytes(), flags.json);
  if (kind != FileKind::pte) {
    Diag diag = no_program(flags.file, map.bytes());
    if (diag.help.empty()) diag.help = "wick verify checks other kinds of files";
    return diag;
  }
  ASSIGN_OR_RETURN(Session session, Session::open(flags.file, {}));
  const InspectedProgram file = {flags.file, session.program(), session.bundled()};
  if (!flags.json) return print_program(file, flags.instructions);
  compiler::JsonWriter json;
  RETURN_IF_ERROR(write_program(file, flags.instructions, json));
  fmt::print("{}\n", json.text());
  return {};
}

}  // namespace

void add_inspect(CommandLine& line) {
  auto flags = std::make_shared<InspectFlags>();
  Command command = line.command("inspect", "Show what is in a .pte, .bpte or .pt2", [flags] {
    const Status status = inspect(*flags);
    return status.ok() ? 0 : report(status.diag());
  });
  command.footer(
      "Examples:\n"
      "  wick inspect model.pte\n"
      "  wick inspect model.pte --instructions\n"
      "  wick inspect model.pt2 --json");
  command.option("file", flags->file, "a .pte, .bpte or .pt2").takes("FILE").required();
  command.flag("--instructions", flags->instructions, "list the instructions of a .pte with their source lines");
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
