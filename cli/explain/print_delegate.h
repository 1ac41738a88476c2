// Prints the contents of delegates as a table and as JSON.
#pragma once
#include "cli/explain/explanation.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {

void print_delegate(size_t index, const compiler::DelegateReport& report);
/// The field "delegate_reports" of a method: one object for each delegate with a report.
void write_delegates(const MethodExplained& method, compiler::JsonWriter& json);

}  // namespace wick::cli
