// Which model a program was compiled from.
#pragma once
#include <cstdint>
#include <functional>

#include "compiler/ir/graph.h"
#include "compiler/support/content_hash.h"
#include "wick/span.h"

namespace wick::compiler {

/// Adds a method as imported: its text without places in the source, and the bytes of its constants and states.
/// `release` is called with bytes that are no longer needed.
void add_to_hash(const Function& function, const std::function<void(Span<const uint8_t>)>& release, ContentHash& hash);

}  // namespace wick::compiler
