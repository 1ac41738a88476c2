#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "cli/command.h"
#include "cli/output_files.h"
#include "cli/program/kernel_table_source.h"
#include "cli/program/operator_case_json.h"
#include "cli/program/operator_facts.h"
#include "cli/program/program_session.h"
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

struct OpsFlags {
  std::vector<std::string> files;
  std::string emit_table;
  bool cases = false, json = false;
};

void write_flags(JsonWriter& json, const compiler::OpDef& op) {
  constexpr std::pair<compiler::OpFlags, const char*> kNames[] = {{compiler::kView, "view"},
                                                                  {compiler::kRandom, "random"},
                                                                  {compiler::kEffect, "effect"},
                                                                  {compiler::kInPlace, "in_place"},
                                                                  {compiler::kNoStock, "no_stock"},
                                                                  {compiler::kIdentity, "identity"},
                                                                  {compiler::kDataDependent, "data_dependent"},
                                                                  {compiler::kMutates, "mutates"},
                                                                  {compiler::kLlmLibrary, "llm_library"},
                                                                  {compiler::kNoResult, "no_result"},
                                                                  {compiler::kComputed, "computed"}};
  json.key("flags");
  json.array();
  for (const auto& [flag, name] : kNames) {
    if (op.has(flag)) json.value(name);
  }
  json.end();
}

Status list_definitions(bool as_json) {
  Table table({"operator", "kernel", "stock"});
  JsonWriter json;
  json.object();
  json.field("schema", "wick.ops.cases.1");
  json.key("operators");
  json.array();
  for (const compiler::OpDef* op : compiler::all_ops()) {
    json.object();
    json.field("name", op->name());
    json.field("schema", op->schema);
    json.key("kernel");
    if (op->kernel)
      json.value(op->kernel);
    else
      json.null();
    json.field("decomposes", op->decompose != nullptr);
    write_flags(json, *op);
    if (op->functional) json.field("functional", op->functional);
    json.key("cases");
    RETURN_IF_ERROR(write_cases(json, *op));
    json.end();
    table.row({std::string(op->name()),
               op->kernel      ? op->kernel
               : op->decompose ? "(decomposed)"
                               : "",
               op->has(compiler::kNoStock)      ? "no"
               : op->has(compiler::kLlmLibrary) ? "LLM library"
                                                : "yes"});
  }
  json.end();
  json.end();
  fmt::print("{}", as_json ? json.text() + "\n" : table.text());
  return {};
}

Result<std::vector<OperatorCount>> operators_of(const std::string& path) {
  ASSIGN_OR_RETURN(FileMap map, FileMap::open(path));
  switch (kind_of(map.bytes())) {
    case FileKind::pte: {
      ASSIGN_OR_RETURN(Session session, Session::open(path, {}));
      return count_operators(session.program());
    }
    case FileKind::pt2: {
      ASSIGN_OR_RETURN(compiler::Function function, compiler::import_bytes({"forward", path, map.bytes()}));
      return count_operators(*function.graph);
    }
    default: break;
  }
  return no_program(path, map.bytes());
}

Status print_operators(const OpsFlags& flags) {
  JsonWriter json;
  json.object();
  json.field("schema", "wick.ops.1");
  json.key("files");
  json.array();
  for (const std::string& path : flags.files) {
    ASSIGN_OR_RETURN(std::vector<OperatorCount> rows, operators_of(path));
    Table table({"operator", ">count", "Wick", "stock", "kernel"});
    json.object();
    json.field("file", path);
    json.key("operators");
    json.array();
    for (const OperatorCount& row : rows) {
      json.object();
      json.field("name", row.name);
      json.field("count", row.count);
      json.field("in_wick", row.in_wick);
      json.field("in_stock", row.in_stock);
      if (!row.kernel.empty()) json.field("kernel", row.kernel);
      json.end();
      table.row({row.name, fmt::format("{}", row.count), row.in_wick ? "yes" : "NO", row.in_stock ? "yes" : "no",
                 row.kernel});
    }
    json.end();
    json.end();
    if (!flags.json) fmt::print("{}{}", heading(fmt::format("{}: {} operators", path, rows.size())), table.text());
  }
  json.end();
  json.end();
  if (flags.json) fmt::print("{}\n", json.text());
  return {};
}

Status emit_table(const OpsFlags& flags) {
  RETURN_IF_ERROR(check_outputs({{"--emit-table", flags.emit_table}}, flags.files));
  std::set<std::string> names;
  for (const std::string& path : flags.files) {
    ASSIGN_OR_RETURN(Session session, Session::open(path, {}));
    // Loading binds every operator that a method lists, whether an instruction calls it or not.
    const Program& program = session.program();
    for (size_t i = 0; i < program.num_methods(); ++i) {
      const MethodMeta method = program.method(i);
      for (size_t k = 0; k < method.num_operators(); ++k) names.insert(operator_text(method.op(k)));
    }
  }
  ASSIGN_OR_RETURN(std::string source, kernel_table_source(names));
  RETURN_IF_ERROR(compiler::write_file(
      flags.emit_table, Span<const uint8_t>(reinterpret_cast<const uint8_t*>(source.data()), source.size())));
  fmt::print(stderr, "{}: {} operators\n", flags.emit_table, names.size());
  return {};
}

int ops_command(const OpsFlags& flags) {
  if (flags.files.empty() && !flags.cases)
    return report(Diag(Code::usage, "no file given").with_help("wick ops FILE, or wick ops --cases"));
  const Status status = flags.cases                ? list_definitions(flags.json)
                        : flags.emit_table.empty() ? print_operators(flags)
                                                   : emit_table(flags);
  return status.ok() ? 0 : report(status.diag());
}

}  // namespace

void add_ops(CommandLine& line) {
  auto flags = std::make_shared<OpsFlags>();
  Command command = line.command("ops", "List the operators of a program, or all that Wick knows",
                                 [flags] { return ops_command(*flags); });
  command.footer(
      "Examples:\n"
      "  wick ops model.pte\n"
      "  wick ops model.pt2 --json\n"
      "  wick ops a.pte b.pte --emit-table kernels.cpp\n"
      "  wick ops --cases --json");
  command.option("files", flags->files, ".pte or .pt2 files").takes("FILE");
  command
      .option("--emit-table", flags->emit_table,
              "write C++ that defines wick::portable_kernels() with what the .pte files need")
      .takes("FILE");
  command.flag("--cases", flags->cases,
               "list all operators that Wick knows, with their kernels; with --json also schemas and test cases");
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
