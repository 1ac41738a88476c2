// Whether stored bytes hold a tensor. Internal to the importer.
#pragma once
#include "compiler/import/program/exported_program.h"

namespace wick::compiler::pt2 {

/// Is every element of the tensor inside its bytes? `*expanded` gets the bytes that the tensor stands for beyond those
/// stored. Errors: corrupt_file; unsupported_model for a tensor without data.
Status check_extent(const Payload& tensor, uint64_t* expanded);

}  // namespace wick::compiler::pt2
