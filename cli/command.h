// Declarations for all commands. Each command file adds its command to the command line and says what to run.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cli {

void add_compile(CommandLine& line);
void add_run(CommandLine& line);
void add_bench(CommandLine& line);
void add_profile(CommandLine& line);
void add_inspect(CommandLine& line);
void add_explain(CommandLine& line);
void add_verify(CommandLine& line);
void add_ops(CommandLine& line);
void add_opt(CommandLine& line);
void add_package(CommandLine& line);
void add_compare(CommandLine& line);
void add_test_lower(CommandLine& line);

/// Prints the diagnostic to stderr and returns its exit code.
int report(const compiler::Diag& diag);

enum class FileKind { pt2, pte, ptd, other };  // pte: a .bpte, too
/// The kind of a file, by content, not by name.
FileKind kind_of(Span<const uint8_t> bytes);
/// The error of a file that is neither a .pte nor a .pt2.
compiler::Diag no_program(const std::string& path, Span<const uint8_t> bytes);

/// "a.pt2" or "encode=a.pt2" -> method and path. A name is letters, digits and underscores.
std::pair<std::string, std::string> split_method(const std::string& argument);

}  // namespace wick::cli
