// A .pt2 as one JSON document {"program", "weights", "constants"}: the exported program and the two payload configs.
// The payloads themselves are made up to fit, so that programs of any size are small documents.
#pragma once
#include <optional>
#include <string>

#include "compiler/import/archive/archive.h"
#include "tests/fuzz/json_tree.h"
#include "tests/fuzz/random.h"

namespace wick::fuzz {

/// Bytes one payload gets at most; what a config wants beyond that makes a broken archive.
constexpr uint64_t kMaxPayloadBytes = 1 << 16;

/// Nothing unless the archive holds one program with its configs. Module paths and stack traces are left out.
std::optional<JsonTree> document_of(const compiler::pt2::Archive& archive);

/// The archive. The document may be anything.
std::string archive_of(const JsonTree& document);

/// Changes `document` in one to four places: numbers, names, operators, kinds of arguments, lists, expressions.
void mutate(JsonTree& document, Random& random);

}  // namespace wick::fuzz
