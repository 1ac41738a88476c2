// The parts of reading an exported program. Internal to the importer.
#pragma once
#include <string_view>

#include "compiler/import/program/exported_program.h"
#include "compiler/import/program/exported_program_json.h"

namespace wick::compiler::pt2 {

Status read(const Json& at, TensorMeta& out);
Status read(const Json& at, Argument& out);
Status read(const Json& at, Graph& out);
Status read(const Json& at, InputSpec& out);
Status read(const Json& at, OutputSpec& out);

/// Module path and source line from a node's metadata strings; "" for an absent one.
Origin read_origin(std::string_view nn_module_stack, std::string_view stack_trace);

/// Reads the payload config of `folder` ("weights" or "constants") and locates and checks each payload.
/// `unchecked` collects entries that have no checksum.
Status read_payloads(const Archive& archive, std::string_view model_name, std::string_view folder,
                     const ReadOptions& options, Map<Payload>& out, std::vector<std::string>& unchecked);

/// Checks names, tables, signature and payloads against each other. Errors: corrupt_file, unsupported_model.
Status check_program(const ExportedProgram& program);

}  // namespace wick::compiler::pt2
