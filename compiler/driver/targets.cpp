// Reads --backend: the targets and options that it asks for.
#include <fmt/format.h>

#include <algorithm>

#include "backends/compile_table.h"
#include "compiler/driver/compile.h"

namespace wick::compiler {
namespace {

const Target* find_target(std::string_view name) {
  const auto targets = known_targets();
  const auto found = std::find_if(targets.begin(), targets.end(), [&](const Target* t) { return name == t->name; });
  return found == targets.end() ? nullptr : *found;
}

bool is_choice(std::string_view choices, std::string_view value) {
  for (;;) {
    const size_t end = choices.find('|');
    if (choices.substr(0, end) == value) return true;
    if (end == std::string_view::npos) return false;
    choices.remove_prefix(end + 1);
  }
}

Status add_setting(TargetRequest& request, std::string_view key, std::string_view value) {
  std::string known;
  for (const TargetOption& option : request.target->options.list) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", option.name);
    if (key != option.name) continue;
    if (option.choices[0] != '\0' && !is_choice(option.choices, value)) {
      return Diag(Code::usage, fmt::format("backend '{}' has no such value of '{}'", request.target->name, key))
          .expected(printable(value), option.choices);
    }
    request.settings.emplace_back(key, value);
    return {};
  }
  return Diag(Code::usage, fmt::format("backend '{}' has no such option", request.target->name))
      .expected(printable(key), known.empty() ? "no option" : known);
}

// "KEY=VALUE"
Status add_setting(TargetRequest& request, std::string_view text) {
  const size_t equals = text.find('=');
  return add_setting(request, text.substr(0, equals), equals == std::string_view::npos ? "" : text.substr(equals + 1));
}

bool has_flag(const Target& target, std::string_view name) {
  return std::any_of(target.options.list.begin(), target.options.list.end(),
                     [&](const TargetOption& option) { return option.is_flag && name == option.name; });
}

template <typename Wanted>
std::string joined_names(const Wanted& wanted) {
  std::string names;
  for (const Target* target : known_targets()) {
    if (wanted(*target)) names += fmt::format("{}{}", names.empty() ? "" : ",", target->name);
  }
  return names;
}

Diag no_target_has(std::string_view flag) {
  const std::string owners = joined_names([&](const Target& target) { return has_flag(target, flag); });
  return Diag(Code::usage, fmt::format("no requested backend has an option --{}", flag))
      .with_help("add --backend " + owners);
}

}  // namespace

Result<FirmwareTarget> firmware_target(const TargetSettings& settings, std::string_view facts) {
  FirmwareTarget all;
  for (const Target* target : known_targets()) {
    if (!target->kernels.firmware) continue;
    ASSIGN_OR_RETURN(FirmwareTarget found, target->kernels.firmware(settings, facts));
    std::vector<FirmwareKernel> kernels = std::move(all.kernels);
    kernels.insert(kernels.end(), found.kernels.begin(), found.kernels.end());
    if (all.cpu.empty()) all = std::move(found);
    all.kernels = std::move(kernels);
  }
  return all;
}

std::string default_targets() {
  return joined_names([](const Target& target) { return target.by_default; });
}

const char* values_of(const TargetOption& option) { return *option.choices ? option.choices : option.takes; }

std::string target_options_help() {
  std::string text;
  for (const Target* target : known_targets()) {
    for (const TargetOption& option : target->options.list)
      text += fmt::format("  {}:{}={}  {}\n", target->name, option.name, values_of(option), option.help);
  }
  return text;
}

Status check_settings(const TargetRequest& request) {
  if (!request.target->options.check) return {};
  TargetOptions options;
  options.settings = &request.settings;
  return request.target->options.check(options);
}

std::vector<const TargetOption*> target_flags() {
  std::vector<const TargetOption*> flags;
  for (const Target* target : known_targets()) {
    for (const TargetOption& option : target->options.list) {
      const auto same = [&](const TargetOption* flag) { return std::string_view(flag->name) == option.name; };
      if (option.is_flag && std::none_of(flags.begin(), flags.end(), same)) flags.push_back(&option);
    }
  }
  return flags;
}

// A part with "=" and no ":" is one more option of the backend before it.
Result<std::vector<TargetRequest>> find_targets(std::string_view list, const TargetSettings& flags) {
  std::vector<TargetRequest> found;
  TargetRequest* last = nullptr;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos && last && part.find('=') != std::string_view::npos) {
      RETURN_IF_ERROR(add_setting(*last, part));
      continue;
    }
    const std::string_view name = part.substr(0, colon);
    if (name == "portable" && colon == std::string_view::npos) continue;
    const Target* target = find_target(name);
    if (!target) {
      return Diag(Code::usage, fmt::format("this build has no backend '{}'", printable(name)))
          .expected(printable(name), joined_names([](const Target&) { return true; }) + ",portable");
    }
    last = &found.emplace_back(target);
    for (const auto& [key, value] : flags) {
      if (has_flag(*target, key)) RETURN_IF_ERROR(add_setting(*last, key, value));
    }
    if (colon != std::string_view::npos) RETURN_IF_ERROR(add_setting(*last, part.substr(colon + 1)));
  }
  for (const TargetRequest& request : found) RETURN_IF_ERROR(check_settings(request));
  for (const auto& [key, value] : flags) {
    if (std::none_of(found.begin(), found.end(), [&](const TargetRequest& r) { return has_flag(*r.target, key); }))
      return no_target_has(key);
  }
  return found;
}

}  // namespace wick::compiler
