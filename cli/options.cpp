#include "cli/options.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace wick::cli {
namespace {

// The library looks for missing arguments first; a flag or command that does not exist is the likelier mistake.
std::string message_of(const CLI::App& app, const CLI::ParseError& error) {
  if (!dynamic_cast<const CLI::RequiredError*>(&error)) return error.what();
  for (const std::string& text : app.remaining(true)) {
    if (text.starts_with("-") || app.get_subcommands().empty())
      return "The following argument was not expected: " + text;
  }
  return error.what();
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}
Option Option::shows_default() {
  option_->capture_default_str();
  return *this;
}
Option Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}
Option Option::separated_by(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}
Option Option::in_range(int low, int high) {
  option_->check(CLI::Range(low, high));
  return *this;
}
Option Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}
Option Option::one_of(std::initializer_list<const char*> words) {
  option_->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
  return *this;
}
Option Option::as_size() {
  option_->transform(CLI::AsSizeValue(false));
  return *this;
}

void Command::footer(const std::string& text) { app_->footer(text); }
Option Command::option(const std::string& names, std::string& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return Option(app_->add_option(names, values, help));
}
Option Command::option(const std::string& names, int& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, int64_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, uint64_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, double& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, std::optional<double>& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
void Command::flag(const std::string& name, bool& value, const std::string& help) { app_->add_flag(name, value, help); }

CommandLine::CommandLine(const char* description, const char* name, const char* version, const char* footer)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->footer(footer);
  app_->require_subcommand(1);
  app_->failure_message(CLI::FailureMessage::help);
  app_->fallthrough();
}
CommandLine::~CommandLine() = default;

Command CommandLine::tool() { return Command(app_.get()); }

Command CommandLine::command(const char* name, const char* description, Action run) {
  CLI::App* app = app_->add_subcommand(name, description);
  app->callback([this, run = std::move(run)] { action_ = run; });
  return Command(app);
}

bool CommandLine::parse(int argc, char** argv, int* exit_code) {
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::Success& success) {
    *exit_code = app_->exit(success);
  } catch (const CLI::ParseError& error) {
    compiler::Diag diag(compiler::Code::usage, message_of(*app_, error));
    diag.help = "wick --help, or wick COMMAND --help";
    *exit_code = report(diag);
  }
  return false;
}

}  // namespace wick::cli
