// Statements to .pte bytes (and .ptd): deterministic, constants stored once and taken straight from the mapped .pt2.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// A file as a list of pieces. Some point into the mapped source file or are computed while they are written, so that
/// there is no second copy of the weights.
struct FilePieces {
  std::vector<ConstantData> pieces;
  uint64_t size_bytes = 0;

  void append(ConstantData piece);
  void append(std::vector<uint8_t> bytes);
  void pad_to(uint64_t offset);  // with zeros
  std::vector<uint8_t> join() const;
};

struct EmitOptions {
  bool external_weights = false;  // named constants go to the .ptd
};

struct EmittedProgram {
  FilePieces pte;
  FilePieces ptd;               // empty unless external_weights and a constant has a name
  uint64_t constant_bytes = 0;  // stored constants and initial values, both files
};

/// Sorts methods by name, as stock does. Equal constants of all methods are stored once.
Result<EmittedProgram> emit(const std::vector<MethodPlan>& methods, const EmitOptions& options);

/// Writes the file atomically. Errors: file_io.
Status write_pieces(const std::string& path, const FilePieces& file);

/// Key of the program's named data that tells tools about inputs, outputs and symbolic sizes (JSON, docs/formats.md).
constexpr char kMetadataKey[] = "wick.metadata";

/// That JSON.
std::string metadata_json(const std::vector<const MethodPlan*>& methods);

}  // namespace wick::compiler
