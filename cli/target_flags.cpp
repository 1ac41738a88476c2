#include "cli/target_flags.h"

namespace wick::cli {

void TargetFlags::add_to(Command& command) {
  for (const compiler::TargetOption* flag : compiler::target_flags())
    command.option(std::string("--") + flag->name, values_[flag->name], flag->help)
        .takes(flag->choices[0] == '\0' ? "TEXT" : flag->choices);
}

compiler::Result<std::vector<compiler::TargetRequest>> TargetFlags::find(const std::string& backends) const {
  compiler::TargetSettings given;
  for (const auto& [name, value] : values_) {
    if (!value.empty()) given.emplace_back(name, value);
  }
  return compiler::find_targets(backends, given);
}

}  // namespace wick::cli
