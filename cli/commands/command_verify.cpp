#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/arrays/npz.h"
#include "cli/command.h"
#include "cli/program/program_session.h"
#include "cli/text/text.h"
#include "compiler/driver/compile.h"
#include "compiler/import/archive/archive.h"
#include "compiler/import/program/exported_program.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/file_map.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::FileMap;
using compiler::Result;

/// The facts that were verified: kind of file, and text.
struct Facts {
  std::string kind, text;
};

Result<Facts> verify_program(const std::string& path, const std::vector<std::string>& data) {
  SessionOptions options;
  options.data_paths = data;
  options.num_threads = 1;
  ASSIGN_OR_RETURN(Session session, Session::open(path, options));
  const Program& program = session.program();
  RETURN_IF_ERROR(read_facts(program));
  size_t instructions = 0;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const MethodMeta method = program.method(i);
    RETURN_IF_ERROR(session.prepare(method.name()));
    for (size_t chain = 0; chain < method.num_chains(); ++chain) instructions += method.num_instructions(chain);
  }
  return Facts{session.bundled() ? "bpte" : "pte",
               fmt::format("{} methods, {} instructions, {} segments", program.num_methods(), instructions,
                           program.num_segments())};
}

Result<Facts> verify_data(const std::string& path, Span<const uint8_t> bytes) {
  char buffer[1024];
  ErrorText text(buffer);
  const auto map = DataMap::load(bytes, {&text});
  if (!map.ok())
    return Diag(Code::corrupt_file, fmt::format("the data file is damaged [{}]", error_name(map.error())))
        .at_file(path)
        .note(text.c_str());
  uint64_t total = 0;
  for (size_t i = 0; i < map->size(); ++i) total += map->entry(i).bytes.size();
  return Facts{"ptd", fmt::format("{} entries, {} of data", map->size(), bytes_text(total))};
}

Result<Facts> verify_model(const std::string& path, Span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(compiler::pt2::Archive archive, compiler::pt2::Archive::open(bytes, path));
  for (const compiler::pt2::Entry& entry : archive.entries()) RETURN_IF_ERROR(archive.check_crc(entry));
  ASSIGN_OR_RETURN(compiler::Function function, compiler::import_bytes({"forward", path, bytes}));
  RETURN_IF_ERROR(compiler::verify(*function.graph));
  return Facts{"pt2", fmt::format("{} archive entries, {} nodes, {} constants", archive.entries().size(),
                                  function.graph->num_nodes(), function.graph->constants().size())};
}

Result<Facts> verify_arrays(const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<NamedArray> arrays, read_arrays(path));
  uint64_t total = 0;
  for (const NamedArray& array : arrays) total += array.bytes.size();
  return Facts{path.ends_with(".npy") ? "npy" : "npz",
               fmt::format("{} arrays, {} of data", arrays.size(), bytes_text(total))};
}

Result<Facts> verify_text(Span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ASSIGN_OR_RETURN(compiler::Function function, compiler::parse_graph(text));
  RETURN_IF_ERROR(compiler::verify(*function.graph));
  return Facts{"ir", fmt::format("graph '{}', {} nodes", function.name, function.graph->num_nodes())};
}

Result<Facts> verify_file(const std::string& path, const std::vector<std::string>& data) {
  ASSIGN_OR_RETURN(FileMap map, FileMap::open(path));
  if (path.ends_with(".npz") || path.ends_with(".npy")) return verify_arrays(path);
  if (path.ends_with(".ir")) return verify_text(map.bytes());
  switch (kind_of(map.bytes())) {
    case FileKind::pte: return verify_program(path, data);
    case FileKind::ptd: return verify_data(path, map.bytes());
    case FileKind::pt2: return verify_model(path, map.bytes());
    case FileKind::other: break;
  }
  if (path.ends_with(".pte") || path.ends_with(".bpte")) return verify_program(path, data);
  if (path.ends_with(".ptd")) return verify_data(path, map.bytes());
  if (path.ends_with(".pt2")) return verify_model(path, map.bytes());
  const bool npy =
      map.bytes().size() >= 6 && std::string_view(reinterpret_cast<const char*>(map.bytes().data()), 6) == "\x93NUMPY";
  if (npy) return verify_arrays(path);
  if (compiler::pt2::is_native_graph(map.bytes())) return compiler::pt2::native_graph().at_file(path);
  return Diag(Code::incompatible_file, "unknown kind of file")
      .at_file(path)
      .with_help("wick verify takes .pte, .bpte, .ptd, .pt2, .npz, .npy and .ir");
}

int verify_command(const std::vector<std::string>& files, const std::vector<std::string>& data, bool as_json) {
  compiler::JsonWriter json;
  json.object();
  json.field("schema", "wick.verify.1");
  json.key("files");
  json.array();
  int exit_code = 0;
  for (const std::string& path : files) {
    Result<Facts> facts = verify_file(path, data);
    json.object();
    json.field("file", path);
    json.field("ok", facts.ok());
    if (facts.ok()) {
      json.field("kind", facts->kind);
      json.field("facts", facts->text);
      if (!as_json) fmt::print("{}: ok ({}: {})\n", path, facts->kind, facts->text);
    } else {
      if (facts.diag().where.file.empty()) facts.diag().where.file = path;
      json.field("code", compiler::code_name(facts.diag().code));
      json.field("message", facts.diag().message);
      exit_code = std::max(exit_code, report(facts.diag()));
    }
    json.end();
  }
  json.end();
  json.end();
  if (as_json) fmt::print("{}\n", json.text());
  return exit_code;
}

}  // namespace

void add_verify(CommandLine& line) {
  struct Flags {
    std::vector<std::string> files, data;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  Command command = line.command("verify", "Check files without running anything",
                                 [flags] { return verify_command(flags->files, flags->data, flags->json); });
  command.footer(
      "Prints \"ok\" with facts, or the error, for each file. The exit code is the largest of all files.\n"
      "Examples:\n"
      "  wick verify model.pt2 model.pte input.npz\n"
      "  wick verify model.pte --data weights.ptd --json");
  command.option("files", flags->files, ".pte, .bpte, .ptd, .pt2, .npz, .npy or .ir files").takes("FILE").required();
  command.option("--data", flags->data, "a .ptd file with weights of the .pte; may repeat")
      .takes("FILE")
      .one_at_a_time();
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
