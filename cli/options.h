// The commands of the tool and their options. The parser is CLI11. Only options.cpp includes it, because its templates
// take longer to compile than most commands.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wick::cli {

/// The function of the chosen command; returns the exit code.
using Action = std::function<int()>;

/// An option that was added to a command. Members refine it and return it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required();
  /// --help shows its current value as the default.
  Option shows_default();
  /// The name of the value in --help: FILE, NAME.
  Option takes(const char* value);
  /// A list takes one value for each occurrence of the option, not all values that follow.
  Option one_at_a_time();
  /// The values of a list are separated by `delimiter`, and also by giving the option again.
  Option separated_by(char delimiter);
  Option in_range(int low, int high);
  Option not_negative();
  Option one_of(std::initializer_list<const char*> words);
  /// A size in bytes, or with a unit of 1024: 256KB.
  Option as_size();

 private:
  CLI::Option* option_;
};

/// One command, or the tool itself. The variables that receive values must live until the command line has been parsed.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}
  void footer(const std::string& text);
  /// `names`: "file" (positional), "--seed", "-o,--output".
  Option option(const std::string& names, std::string& value, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& values, const std::string& help);
  Option option(const std::string& names, int& value, const std::string& help);
  Option option(const std::string& names, int64_t& value, const std::string& help);
  Option option(const std::string& names, uint64_t& value, const std::string& help);
  Option option(const std::string& names, double& value, const std::string& help);
  Option option(const std::string& names, std::optional<double>& value, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  /// A flag that may have a value, as --flag=value; `values` gets one for each time that it is given, `alone` where
  /// there is none.
  void flag(const std::string& name, std::vector<std::string>& values, const char* takes, const char* alone,
            const std::string& help);

 private:
  CLI::App* app_;
};

/// The command line: the tool's own options and its commands.
class CommandLine {
 public:
  CommandLine(const char* description, const char* name, const char* version, const char* footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;

  /// Options of the whole tool. They may also follow a command.
  Command tool();
  /// Adds a command; `run` is the action if the user chooses it.
  Command command(const char* name, const char* description, Action run);
  /// Reads the arguments. True: run action(). False: all messages were printed, and `exit_code` is set.
  bool parse(int argc, char** argv, int* exit_code);
  int run() const { return action_(); }

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
};

}  // namespace wick::cli
