#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/package/package_files.h"
#include "compiler/driver/compile.h"
#include "compiler/support/file_map.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::JsonWriter;
using compiler::Status;
namespace fs = std::filesystem;

constexpr uint64_t kNone = UINT64_MAX;

struct PackageFlags {
  PackageOptions options;
  std::string folder, cpu, isa;
  uint64_t max_arena = kNone, max_file = kNone, max_flash = kNone, scratch = kNone;
  bool force = false, json = false;
};

std::optional<uint64_t> given(uint64_t value) { return value == kNone ? std::nullopt : std::optional(value); }

Status check_folder(const PackageFlags& flags) {
  std::error_code error;
  if (!fs::exists(flags.folder, error)) return {};
  if (!fs::is_directory(flags.folder, error))
    return Diag(Code::usage, "the package would replace a file")
        .at_file(flags.folder)
        .with_help("give -o another name");
  if (flags.force || fs::is_empty(flags.folder, error)) return {};
  return Diag(Code::usage, "the folder is not empty")
      .at_file(flags.folder)
      .with_help("give -o another name, or --force to write into it");
}

Status write_files(const std::string& folder, const std::map<std::string, std::string>& files) {
  for (const auto& [path, text] : files) {
    const fs::path file = fs::path(folder) / path;
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error)
      return Diag(Code::file_io, "cannot make a folder: " + error.message()).at_file(file.parent_path().string());
    RETURN_IF_ERROR(compiler::write_file(
        file.string(), Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
  }
  return {};
}

void write_list(JsonWriter& json, const char* name, const std::vector<std::string>& items) {
  json.key(name);
  json.array();
  for (const std::string& item : items) json.value(item);
  json.end();
}

std::string package_json(const PackageFlags& flags, const PackagePlan& plan, size_t num_files) {
  JsonWriter json;
  json.object();
  json.field("schema", "wick.package.1");
  json.field("name", plan.name);
  json.field("folder", flags.folder);
  json.field("files", static_cast<uint64_t>(num_files));
  json.field("cpu", plan.target.cpu);
  json.field("measured_on", plan.measured_on);
  json.key("programs");
  json.array();
  for (const ProgramPlan& program : plan.programs) {
    const ProgramBytes bytes = bytes_of(program);
    json.object();
    json.field("name", program.name);
    json.field("file_bytes", static_cast<uint64_t>(program.bytes.size()));
    json.field("program_bytes", program_bytes(program));
    json.field("constant_bytes", program.constants_bytes);
    json.field("arena_bytes", bytes.arena);
    json.field("state_bytes", bytes.state_32);
    json.field("instance_bytes", bytes.instance_32);
    json.field("scratch_bytes", bytes.scratch);
    json.field("stack_bytes", bytes.stack);
    json.key("methods");
    json.array();
    for (const MethodPlan& method : program.methods) json.value(method.name);
    json.end();
    json.end();
  }
  json.end();
  json.key("kernels");
  json.array();
  for (const KernelPlan& kernel : plan.kernels) json.value(kernel.name);
  json.end();
  write_list(json, "sources", plan.sources);
  write_list(json, "processor_sources", plan.target_sources);
  write_list(json, "portable_sources", plan.portable_sources);
  json.field("flash_bytes", flash_bytes(plan));
  json.end();
  return json.text() + "\n";
}

void print_text(const PackageFlags& flags, const PackagePlan& plan, size_t num_files) {
  for (const ProgramPlan& program : plan.programs) {
    const ProgramBytes bytes = bytes_of(program);
    fmt::print("{}: program {} bytes, of which {} constants, arena {}, state {}, scratch {}, stack {}\n", program.name,
               program_bytes(program), program.constants_bytes, bytes.arena, bytes.state_32, bytes.scratch,
               bytes.stack ? fmt::format("{}", *bytes.stack) : "not measured");
  }
  const size_t sources = plan.sources.size() + plan.target_sources.size();
  fmt::print("{}: {} files; {} kernels in {} sources{}{}\n", flags.folder, num_files, plan.kernels.size(), sources,
             plan.target.cpu.empty() ? "" : " for " + plan.target.cpu,
             plan.flash ? fmt::format("; flash {} bytes", *flash_bytes(plan)) : "");
  if (plan.measured_on.empty()) fmt::print(stderr, "note: stack and flash are not measured: {}\n", plan.not_measured);
}

int package_command(PackageFlags& flags) {
  PackageOptions& options = flags.options;
  if (Status status = check_folder(flags); !status.ok()) return report(status.diag());
  if (options.name.empty()) options.name = fs::absolute(flags.folder).lexically_normal().filename().string();
  if (options.name.empty()) options.name = "package";
  if (!flags.cpu.empty()) options.settings.emplace_back("cpu", flags.cpu);
  if (!flags.isa.empty()) options.settings.emplace_back("isa", flags.isa);
  options.scratch_bytes = given(flags.scratch);
  const Budgets budgets = {given(flags.max_arena), given(flags.max_file), given(flags.max_flash)};
  compiler::Result<PackagePlan> plan = plan_package(options);
  if (!plan.ok()) return report(plan.diag());
  if (Status status = check_budgets(*plan, budgets); !status.ok()) return report(status.diag());
  const std::map<std::string, std::string> files = package_files(*plan, budgets);
  if (Status status = write_files(flags.folder, files); !status.ok()) return report(status.diag());
  if (flags.json)
    std::fputs(package_json(flags, *plan, files.size()).c_str(), stdout);
  else
    print_text(flags, *plan, files.size());
  return 0;
}

}  // namespace

void add_package(CommandLine& line) {
  auto flags = std::make_shared<PackageFlags>();
  Command command = line.command("package", "Write the sources of a firmware's library from .pte programs",
                                 [flags] { return package_command(*flags); });
  command.footer(
      "Examples:\n"
      "  wick package model.pte -o firmware/model\n"
      "  wick package wake=a.pte command=b.pte -o firmware/speech --max-arena 64KB\n"
      "  make -C firmware/model");
  command
      .option("programs", flags->options.programs,
              "[NAME=]FILE.pte; NAME is the prefix of its functions, by default the name of the file")
      .takes("FILE")
      .required();
  command.option("-o,--output", flags->folder, "the folder to write").takes("DIR").required();
  command.option("--name", flags->options.name, "name of the library; default: that of the folder").takes("NAME");
  command.option("--cpu", flags->cpu, "processor; default: what the programs were compiled for").takes("NAME");
  command.option("--isa", flags->isa, "instruction set of the kernels, as for --cpu").takes("NAME");
  command
      .option("-i,--input", flags->options.inputs,
              "an .npz or .npy with the inputs of the example, for one program with one method; default: random")
      .takes("FILE")
      .one_at_a_time();
  command.option("--seed", flags->options.seed, "seed of random inputs").shows_default();
  command.option("--scratch", flags->scratch, "bytes of scratch memory; default: what a run takes").as_size();
  command
      .option("--device", flags->options.device,
              "where to measure stack and flash; default: the processor's device if it is there; none: nowhere")
      .takes("NAME");
  command.option("--max-arena", flags->max_arena, "bytes; exit code 6 if the arena of a program is larger").as_size();
  command.option("--max-file", flags->max_file, "as --max-arena, for the program's bytes").as_size();
  command.option("--max-flash", flags->max_flash, "as --max-arena, for programs, kernels and runtime").as_size();
  command.flag("--force", flags->force, "write into a folder that is not empty");
  command.flag("--json", flags->json, "print the report as JSON");
}

}  // namespace wick::cli
