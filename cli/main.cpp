#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "compiler/support/failure.h"
#include "compiler/support/limits.h"

namespace {

constexpr char kExitCodes[] =
    "Exit codes: 0 ok, 1 internal error, 2 usage or inputs that do not fit, 3 unsupported model, 4 corrupt or "
    "incompatible file "
    "or a check that failed while running, 5 numeric mismatch, 6 budget or gate failed.";

// The library looks for missing arguments first; a flag or command that does not exist is the likelier mistake.
std::string message_of(const CLI::App& app, const CLI::ParseError& error) {
  if (!dynamic_cast<const CLI::RequiredError*>(&error)) return error.what();
  for (const std::string& text : app.remaining(true)) {
    if (text.starts_with("-") || app.get_subcommands().empty())
      return fmt::format("The following argument was not expected: {}", text);
  }
  return error.what();
}

int run(int argc, char** argv) {
  CLI::App app{"Wick compiles PyTorch programs (.pt2) to ExecuTorch programs (.pte), looks into them and runs them.",
               "wick"};
  app.set_version_flag("--version", "wick 0.1.0");
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  app.fallthrough();
  std::vector<std::string> limit_texts;
  app.add_option("--limit", limit_texts, "NAME=N: raise (or lower) a limit on what a file may ask for; may repeat")
      ->allow_extra_args(false);
  wick::cli::Action action;
  wick::cli::add_compile(app, action);
  wick::cli::add_run(app, action);
  wick::cli::add_bench(app, action);
  wick::cli::add_profile(app, action);
  wick::cli::add_inspect(app, action);
  wick::cli::add_explain(app, action);
  wick::cli::add_verify(app, action);
  wick::cli::add_ops(app, action);
  wick::cli::add_opt(app, action);
  wick::cli::add_compare(app, action);
  wick::cli::add_test_lower(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    wick::compiler::Diag diag(wick::compiler::Code::usage, message_of(app, error));
    diag.help = "wick --help, or wick COMMAND --help";
    return wick::cli::report(diag);
  }
  wick::compiler::Limits limits;
  for (const std::string& text : limit_texts) {
    const wick::compiler::Status status = set_limit(text, limits);
    if (!status.ok()) return wick::cli::report(status.diag());
  }
  const wick::compiler::LimitScope scope(limits);
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const wick::compiler::Failure& failure) {
    return wick::cli::report(failure.diag);
  } catch (const std::bad_alloc&) {
    return wick::cli::report({wick::compiler::Code::limit, "out of memory"});
  } catch (const std::exception& error) {
    return wick::cli::report({wick::compiler::Code::internal, error.what()});
  }
}
