// Options of backends as options of the command line.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/options.h"
#include "compiler/driver/compile.h"

namespace wick::cli {

/// Adds --backend, with the names of all backends in its help.
Option add_backend_option(Command& command, std::string& value);

/// Whether such an option is "off" or "on": its flag takes no value.
bool is_switch(const compiler::TargetOption& flag);

/// The values of such options. Lives until the command line has been parsed.
class TargetFlags {
 public:
  void add_to(Command& command);
  /// As compiler::find_targets, with the options that were given.
  compiler::Result<std::vector<compiler::TargetRequest>> find(const std::string& backends) const;

 private:
  std::map<std::string, std::string> values_;  // "": not given
  std::map<std::string, bool> switches_;
};

}  // namespace wick::cli
