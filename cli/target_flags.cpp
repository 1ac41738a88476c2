#include "cli/target_flags.h"

#include <algorithm>

#include "backends/compile_table.h"

namespace wick::cli {
namespace {

// Names of the backends for which `wanted` holds.
template <typename Wanted>
std::string backends_with(const Wanted& wanted) {
  std::string names;
  for (const compiler::Target* target : compiler::known_targets()) {
    if (wanted(*target)) names += (names.empty() ? "" : ", ") + std::string(target->name);
  }
  return names;
}

std::string backends_with_flag(std::string_view name) {
  return backends_with([&](const compiler::Target& target) {
    return std::any_of(target.options.list.begin(), target.options.list.end(),
                       [&](const compiler::TargetOption& option) { return option.is_flag && option.name == name; });
  });
}

}  // namespace

Option add_backend_option(Command& command, std::string& value) {
  const std::string names = backends_with([](const compiler::Target&) { return true; });
  return command
      .option("--backend", value,
              "backends in order of preference, NAME[:KEY=VALUE,..], separated by commas; names: " + names +
                  "; portable is always last")
      .takes("LIST")
      .shows_default();
}

bool is_switch(const compiler::TargetOption& flag) { return std::string_view(flag.choices) == "off|on"; }

void TargetFlags::add_to(Command& command) {
  for (const compiler::TargetOption* flag : compiler::target_flags()) {
    const std::string name = std::string("--") + flag->name;
    const std::string help = "(" + backends_with_flag(flag->name) + ") " + flag->help;
    if (is_switch(*flag))
      command.flag(name, switches_[flag->name], help);
    else
      command.option(name, values_[flag->name], help).takes(compiler::values_of(*flag));
  }
}

compiler::Result<std::vector<compiler::TargetRequest>> TargetFlags::find(const std::string& backends) const {
  compiler::TargetSettings given;
  for (const auto& [name, value] : values_) {
    if (!value.empty()) given.emplace_back(name, value);
  }
  for (const auto& [name, is_on] : switches_) {
    if (is_on) given.emplace_back(name, "on");
  }
  return compiler::find_targets(backends, given);
}

}  // namespace wick::cli
