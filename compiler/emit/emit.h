// Method plans to .pte bytes (and .ptd): deterministic, constants stored once and taken straight from the mapped .pt2.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/emit/file_pieces.h"
#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

struct EmitOptions {
  bool external_weights = false;  // named constants go to the .ptd
};

struct EmittedProgram {
  FilePieces pte;
  FilePieces ptd;               // empty unless external_weights and a constant has a name
  uint64_t constant_bytes = 0;  // of constants and initial values in both files, each counted once, without padding
};

/// Sorts methods by name, as stock does. Equal constants of all methods are stored once.
Result<EmittedProgram> emit(const std::vector<MethodPlan>& methods, const EmitOptions& options);

/// Key of the program's named data that tells tools about inputs, outputs and symbolic sizes (JSON, docs/formats.md).
constexpr char kMetadataKey[] = "wick.metadata";

/// The JSON under kMetadataKey.
std::string metadata_json(const std::vector<const MethodPlan*>& methods);

}  // namespace wick::compiler
