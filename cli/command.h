// What the subcommands share. Each command file adds itself to the parser and says what to run.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cli {

/// What the chosen subcommand does; returns the exit code.
using Action = std::function<int()>;

void add_compile(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_opt(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_test_lower(CLI::App& app, Action& action);

/// Prints the diagnostic to stderr and returns its exit code.
int report(const compiler::Diag& diag);

enum class FileKind { pt2, pte, ptd, other };
/// By content, not by name.
FileKind kind_of(Span<const uint8_t> bytes);

/// "a.pt2" or "encode=a.pt2" -> method and path. A name is letters, digits and underscores.
std::pair<std::string, std::string> split_method(const std::string& argument);

}  // namespace wick::cli
