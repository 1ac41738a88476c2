#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "cli/command.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::printable;

// A flag with an optional value is named FLAG{DEFAULT}; --help shows FLAG.
class Formatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return name.substr(0, name.find('{'));
  }
};

// The edit distance: characters to insert, delete or replace (Levenshtein 1966).
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// "did you mean X? " for the nearest name, if one is near.
std::string suggestion(const std::string& text, const std::vector<std::string>& names) {
  constexpr size_t kNear = 3;
  const auto nearest = std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(text, a) < distance(text, b);
  });
  return nearest != names.end() && distance(text, *nearest) < kNear ? fmt::format("did you mean {}? ", *nearest) : "";
}

Diag unknown_argument(const CLI::App& app, const CLI::App* command, const std::string& text) {
  std::vector<std::string> names;
  if (text.starts_with("-")) {
    const CLI::App& owner = command ? *command : app;
    for (const CLI::App* each : {&owner, &app}) {
      for (const CLI::Option* option : each->get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      }
    }
    const std::string wick = command ? "wick " + command->get_name() : "wick";
    return Diag(Code::usage, fmt::format("{} has no option '{}'", wick, printable(text)))
        .with_help(fmt::format("{}{} --help lists them", suggestion(text.substr(0, text.find('=')), names), wick));
  }
  if (command)
    return Diag(Code::usage, fmt::format("wick {} takes no argument '{}'", command->get_name(), printable(text)))
        .with_help(fmt::format("wick {} --help", command->get_name()));
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return Diag(Code::usage, fmt::format("there is no command '{}'", printable(text)))
      .with_help(suggestion(text, names) + "wick --help lists them");
}

// CLI11 looks for missing arguments first, but an unknown option or command is the likelier mistake.
Diag diag_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App* command = chosen.empty() ? nullptr : chosen.front();
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (missing || dynamic_cast<const CLI::ExtrasError*>(&error)) {
    for (const std::string& text : app.remaining(true)) {
      if (!missing || !command || text.starts_with("-")) return unknown_argument(app, command, text);
    }
  }
  if (missing && !command) return Diag(Code::usage, "no command is given").with_help("wick --help lists them");
  if (!missing) {
    const std::string help = command ? fmt::format("wick {} --help", command->get_name()) : "wick --help";
    return Diag(Code::usage, error.what()).with_help(help);
  }
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_required() || option->count() != 0) continue;
    return Diag(Code::usage, fmt::format("wick {} needs {}", command->get_name(), option->get_name()))
        .with_help(fmt::format("{}: {}", option->get_name(), option->get_description()));
  }
  return Diag(Code::usage, error.what());
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
Option Option::takes(const char* value) {
  option_->type_name(value);
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
  const auto check = [low, high](const std::string& text) {
    int value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string();
    return fmt::format("'{}' is not a number from {} to {}", printable(text), low, high);
  };
  option_->check(check)->type_name(fmt::format("{}..{}", low, high));
  return *this;
}
Option Option::not_negative() {
  const auto check = [](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= 0) return std::string();
    return fmt::format("'{}' is not a number of 0 or more", printable(text));
  };
  option_->check(check);
  return *this;
}
Option Option::one_of(std::initializer_list<const char*> words) {
  const std::vector<std::string> known(words.begin(), words.end());
  const auto check = [known](const std::string& text) {
    if (std::find(known.begin(), known.end(), text) != known.end()) return std::string();
    return fmt::format("'{}' is none of {}", printable(text), fmt::join(known, ", "));
  };
  option_->check(check)->type_name(fmt::format("{}", fmt::join(known, "|")));
  return *this;
}
Option Option::as_size() {
  const auto convert = [](std::string& text) {
    std::string size = text;
    try {
      CLI::AsSizeValue(false)(size);
      text = size;
      return std::string();
    } catch (const CLI::ValidationError&) {
      return fmt::format("'{}' is no size: write bytes, or a unit as in 256KB", printable(text));
    }
  };
  option_->transform(CLI::Validator(convert, ""))->type_name("BYTES");
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
  return Option(app_->add_option(names, value, help)->type_name("N"));
}
Option Command::option(const std::string& names, int64_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help)->type_name("N"));
}
Option Command::option(const std::string& names, uint64_t& value, const std::string& help) {
  // Conversion would take -1 as 2^64 - 1.
  const auto check = [](const std::string& text) {
    return text.starts_with('-') ? fmt::format("'{}' is not a number of 0 or more", printable(text)) : std::string();
  };
  return Option(app_->add_option(names, value, help)->type_name("N")->check(CLI::Validator(check, "")));
}
Option Command::option(const std::string& names, double& value, const std::string& help) {
  return Option(app_->add_option(names, value, help)->type_name("NUMBER"));
}
Option Command::option(const std::string& names, std::optional<double>& value, const std::string& help) {
  return Option(app_->add_option(names, value, help)->type_name("NUMBER"));
}
void Command::flag(const std::string& name, bool& value, const std::string& help) { app_->add_flag(name, value, help); }
void Command::flag(const std::string& name, std::vector<std::string>& values, const char* takes, const char* alone,
                   const std::string& help) {
  app_->add_flag(fmt::format("{}{{{}}}", name, alone), values, help)->type_name(fmt::format("[={}]", takes));
}

CommandLine::CommandLine(const char* description, const char* name, const char* version, const char* footer)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->formatter(std::make_shared<Formatter>());
  app_->set_version_flag("--version", version, "Print the version");
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
    *exit_code = report(diag_of(*app_, error));
  }
  return false;
}

}  // namespace wick::cli
