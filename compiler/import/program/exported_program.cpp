#include "compiler/import/program/exported_program.h"

#include <fmt/format.h>

#include "compiler/import/program/exported_program_reader.h"

namespace wick::compiler::pt2 {
namespace {

constexpr int64_t kSchemaMajor = 8;
constexpr std::string_view kModelsFolder = "models/", kJsonSuffix = ".json";

// The structures that the read() functions below fill; those that hold a pointer fill parts of the program.
struct Version {
  int64_t major = 0, minor = 0;
};

struct CallSignature {
  std::string in_spec, out_spec;
  std::vector<std::string> forward_arg_names;
};

struct Call {
  std::string fqn;
  CallSignature signature;
};

struct Signature {
  ExportedProgram* program;
};
struct Calls {
  ExportedProgram* program;
};
struct GraphModule {
  ExportedProgram* program;
};
struct FieldNames {
  std::vector<std::string> names;
};

}  // namespace

// Static rather than in an unnamed namespace: Fields and read_list() find them by argument-dependent lookup of Json.
static Status read(const Json& at, Version& out) {
  return Fields(at).required("major", out.major).required("minor", out.minor).done();
}

static Status read(const Json& at, RangeConstraint& out) {
  return Fields(at).optional("min_val", out.min).optional("max_val", out.max).done();
}

static Status read(const Json& at, Signature& out) {
  return Fields(at)
      .required("input_specs", out.program->input_specs)
      .required("output_specs", out.program->output_specs)
      .done();
}

static Status read(const Json& at, CallSignature& out) {
  return Fields(at)
      .required("in_spec", out.in_spec)
      .required("out_spec", out.out_spec)
      .optional("forward_arg_names", out.forward_arg_names)
      .done();
}

static Status read(const Json& at, Call& out) {
  return Fields(at).required("fqn", out.fqn).optional("signature", out.signature).done();
}

// Only the entry of the whole model matters.
static Status read(const Json& at, Calls& out) {
  simdjson::dom::array calls;
  if (at.element().get(calls) != simdjson::SUCCESS) return at.wrong_type("a list");
  size_t index = 0;
  for (simdjson::dom::element element : calls) {
    Call call;
    RETURN_IF_ERROR(read(Json(element, at, index++), call));
    if (!call.fqn.empty()) continue;
    out.program->in_spec = std::move(call.signature.in_spec);
    out.program->out_spec = std::move(call.signature.out_spec);
    out.program->forward_arg_names = std::move(call.signature.forward_arg_names);
    break;
  }
  return {};
}

static Status read(const Json& at, FieldNames& out) { return Fields(at).required("field_names", out.names).done(); }

static Status read(const Json& at, GraphModule& out) {
  Signature signature = {out.program};
  Calls calls = {out.program};
  Map<FieldNames> namedtuples;
  RETURN_IF_ERROR(Fields(at)
                      .required("graph", out.program->graph)
                      .required("signature", signature)
                      .required("module_call_graph", calls)
                      .optional("treespec_namedtuple_fields", namedtuples)
                      .done());
  for (auto& [name, fields] : namedtuples) out.program->namedtuple_fields.emplace(name, std::move(fields.names));
  return {};
}

namespace {

Status read_version(const Json& at, ExportedProgram& out) {
  Version version;
  RETURN_IF_ERROR(Fields(at).required("schema_version", version).optional("torch_version", out.torch_version).done());
  out.schema_major = version.major;
  out.schema_minor = version.minor;
  if (version.major == kSchemaMajor) return {};
  const std::string found =
      fmt::format("{}.{}, written by torch {}", version.major, version.minor, printable(out.torch_version));
  return at.error(Code::incompatible_file, "the program has a schema version that this build does not read")
      .expected(found, fmt::format("{}.x", kSchemaMajor))
      .with_help(version.major < kSchemaMajor ? "export the model again with torch 2.9 to 2.15"
                                              : "export the model with torch 2.15 or earlier, or update Wick");
}

Status read_program(const Json& at, ExportedProgram& out) {
  RETURN_IF_ERROR(read_version(at, out));
  GraphModule module = {&out};
  return Fields(at)
      .required("graph_module", module)
      .required("range_constraints", out.range_constraints)
      .optional("verifiers", out.verifiers)
      .optional("guards_code", out.size_rules)
      .done();
}

// Runs before the payload configs are read, so that only one JSON document is in memory at a time.
Status read_model(const Archive& archive, const Entry& entry, ExportedProgram& out) {
  RETURN_IF_ERROR(archive.check_crc(entry));
  if (!entry.has_crc()) out.unchecked_payloads.push_back(std::string(entry.name));
  const std::string shown = printable(entry.name);
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(entry.data, shown));
  return read_program(document.root(), out);
}

Status read_all(const Archive& archive, std::string_view model_name, const ReadOptions& options, ExportedProgram& out) {
  const Entry* entry = archive.find(fmt::format("{}{}{}", kModelsFolder, model_name, kJsonSuffix));
  if (!entry) {
    return Diag(Code::usage, fmt::format("the archive has no model named \"{}\"", printable(model_name)))
        .with_help("`wick inspect` lists the models of a file");
  }
  RETURN_IF_ERROR(read_model(archive, *entry, out));
  RETURN_IF_ERROR(read_payloads(archive, model_name, "weights", options, out.weights, out.unchecked_payloads));
  RETURN_IF_ERROR(read_payloads(archive, model_name, "constants", options, out.constants, out.unchecked_payloads));
  return check_program(out);
}

}  // namespace

Result<std::vector<std::string>> model_names(const Archive& archive) {
  std::vector<std::string> names;
  for (const Entry& entry : archive.entries()) {
    const size_t fixed = kModelsFolder.size() + kJsonSuffix.size();
    if (entry.name.size() <= fixed || entry.name.substr(0, kModelsFolder.size()) != kModelsFolder) continue;
    if (entry.name.substr(entry.name.size() - kJsonSuffix.size()) != kJsonSuffix) continue;
    names.emplace_back(entry.name.substr(kModelsFolder.size(), entry.name.size() - fixed));
  }
  return names;
}

Result<ExportedProgram> read_exported_program(const Archive& archive, std::string_view model_name,
                                              const ReadOptions& options) {
  ExportedProgram program;
  Status status = read_all(archive, model_name, options, program);
  if (status.ok()) return program;
  Diag& diag = status.diag();
  if (diag.where.file.empty()) diag.where.file = archive.file_name();
  return std::move(diag);
}

}  // namespace wick::compiler::pt2
