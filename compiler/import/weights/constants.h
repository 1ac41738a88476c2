// Stored tensors as values: dense constants pointing into the file, strides turned into views.
#pragma once
#include "compiler/import/program/exported_program.h"
#include "compiler/ir/builder.h"

namespace wick::compiler {

/// A constant (or state) with the payload's logical contents. A dense payload is mapped, a dense permuted one is mapped
/// and permuted by a view, stride 0 becomes an expand; anything else is copied: `copied_bytes` counts against
/// Limits::expanded_bytes.
Value* constant_from_payload(const pt2::Payload& payload, std::string_view name, std::string_view fqn, Builder& builder,
                             uint64_t& copied_bytes);

/// The payload's contents as row-major bytes: in the file if they are dense there, else a copy.
ConstantData dense_data(const pt2::Payload& payload, uint64_t& copied_bytes);

}  // namespace wick::compiler
