#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/command.h"
#include "common/version.h"
#include "compiler/support/failure.h"
#include "compiler/support/limits.h"

namespace {

constexpr char kExitCodes[] =
    "wick COMMAND --help lists the options of a command, with examples.\n"
    "\n"
    "Exit codes:\n"
    "  0  ok\n"
    "  1  internal error: a bug in Wick\n"
    "  2  usage: a wrong option, a missing file, or inputs that do not fit the program\n"
    "  3  unsupported model, or a limit that --limit can raise\n"
    "  4  corrupt or incompatible file, or a check that failed at run time\n"
    "  5  numeric mismatch\n"
    "  6  a budget or a gate failed";

int run(int argc, char** argv) {
  wick::cli::CommandLine line(
      "Wick compiles PyTorch programs (.pt2) to ExecuTorch programs (.pte), inspects and runs them.", "wick",
      fmt::format("wick {}", wick::kVersion).c_str(), kExitCodes);
  std::vector<std::string> limit_texts;
  line.tool()
      .option("--limit", limit_texts, "NAME=N: raise (or lower) a limit on what a file may ask for; may repeat")
      .takes("NAME=N")
      .one_at_a_time();
  wick::cli::add_compile(line);
  wick::cli::add_run(line);
  wick::cli::add_bench(line);
  wick::cli::add_profile(line);
  wick::cli::add_inspect(line);
  wick::cli::add_explain(line);
  wick::cli::add_verify(line);
  wick::cli::add_ops(line);
  wick::cli::add_package(line);
  wick::cli::add_opt(line);
  wick::cli::add_compare(line);
  wick::cli::add_test_lower(line);
  int exit_code = 0;
  if (!line.parse(argc, argv, &exit_code)) return exit_code;
  wick::compiler::Limits limits;
  for (const std::string& text : limit_texts) {
    const wick::compiler::Status status = set_limit(text, limits);
    if (!status.ok()) return wick::cli::report(status.diag());
  }
  const wick::compiler::LimitScope scope(limits);
  return line.run();
}

// Flushes stdout: buffered text may meet a full disk only now.
int check_stdout(int exit_code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return exit_code;
  return wick::cli::report(
      wick::compiler::Diag(wick::compiler::Code::file_io, std::string("cannot write to stdout: ") + strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return check_stdout(run(argc, argv));
  } catch (const wick::compiler::Failure& failure) {
    return wick::cli::report(failure.diag);
  } catch (const std::bad_alloc&) {
    return wick::cli::report({wick::compiler::Code::limit, "out of memory"});
  } catch (const std::exception& error) {
    if (std::ferror(stdout)) return check_stdout(1);
    return wick::cli::report({wick::compiler::Code::internal, error.what()});
  }
}
