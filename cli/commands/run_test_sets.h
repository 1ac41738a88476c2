// Runs the test sets of a .bpte.
#pragma once
#include <string>

#include "cli/program/program_session.h"
#include "compiler/support/result.h"

namespace wick::cli {

/// Runs the test sets of `method` ("": of all methods) in their order, keeping state between them as calls do, and
/// compares what they return with what they should. Prints a line for each, or one object "wick.testset.1".
/// Errors: usage (no test sets), corrupt_file (sets that do not fit their method), numeric_mismatch, naming the sets;
/// those of Session::execute.
compiler::Status run_test_sets(Session& session, const std::string& method, bool as_json);

}  // namespace wick::cli
