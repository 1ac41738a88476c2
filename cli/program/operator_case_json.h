// The test cases of an operator as JSON, for the exporter of fixtures (tests/fixtures/exporters/case_opdef.py).
#pragma once
#include "compiler/ir/op_def.h"
#include "compiler/support/json_writer.h"
#include "compiler/support/result.h"

namespace wick::cli {

/// Writes a list of cases. Errors: a case that is malformed.
compiler::Status write_cases(compiler::JsonWriter& json, const compiler::OpDef& op);

}  // namespace wick::cli
