#include "cli/command.h"
namespace wick::cli {
void add_bench(CLI::App&, Action&) {}
void add_inspect(CLI::App&, Action&) {}
void add_explain(CLI::App&, Action&) {}
void add_verify(CLI::App&, Action&) {}
void add_ops(CLI::App&, Action&) {}
void add_opt(CLI::App&, Action&) {}
void add_compare(CLI::App&, Action&) {}
}
