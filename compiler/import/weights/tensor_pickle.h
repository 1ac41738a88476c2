// Reads the pickles that torch.save wrote into a .pt2: a tensor, or a tensor subclass with the tensors inside it.
// Internal to the importer.
#pragma once
#include <string_view>

#include "compiler/import/program/exported_program.h"

namespace wick::compiler::pt2 {

/// Reads the torch.save archive `zip`, a nested zip file, as a payload that points into it. Fills all of `out` but
/// is_param; `out.path_name` must be set. Adds to `expanded` the bytes that the tensors stand for beyond those stored.
/// Nothing is executed: the pickle may name only what the table in tensor_pickle.cpp holds. Errors: corrupt_file;
/// limit; unsupported_model for another class, function or storage.
Status read_tensor_pickle(Span<const uint8_t> zip, Payload& out, uint64_t* expanded);

}  // namespace wick::compiler::pt2
