#include "cli/package/package_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/command.h"
#include "cli/package/embedded_sources.h"
#include "cli/package/source_graph.h"
#include "cli/program/operator_facts.h"
#include "cli/program/program_report.h"
#include "compiler/driver/compile.h"
#include "compiler/support/file_map.h"
#include "runtime/exec/shared_arena.h"
#include "runtime/firmware/packaged_method.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

struct LimitRow {
  const char *name, *signature, *function;
};
constexpr LimitRow kLimitRows[] = {
#define KERNEL(name, signature, function) {name, signature, "wick::kernels::" #function},
#include "runtime/exec/prim_list.inc"
#include "runtime/kernels/kernel_list.inc"
#undef KERNEL
};

// The functions that the files of a package call, besides kernels, and headers that they include.
const std::vector<std::string> kLoadingApi = {"wick::PackagedProgram::load", "wick::PackagedMethod::load",
                                              "wick::PackagedMethod::run", "wick::Program::method",
                                              "runtime/exec/method_layout.h"};
const std::vector<std::string> kTablesApi = {"wick::FixedMethod::load", "wick::FixedMethod::run", "common/digest.h"};

Status refuse(const std::string& path, const Program& program) {
  std::string delegates;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const MethodMeta meta = program.method(i);
    for (size_t k = 0; k < meta.num_delegates(); ++k) {
      const std::string id = compiler::printable(meta.delegate(k).id);
      if (delegates.find(id) == std::string::npos) delegates += (delegates.empty() ? "" : ", ") + id;
    }
    if (const size_t count = meta.num_unbounded(); count != 0) {
      return Diag(Code::incompatible_file,
                  fmt::format("{} value{} of method '{}' ha{} no upper bound, and a firmware has no allocator", count,
                              count == 1 ? "" : "s", compiler::printable(meta.name()), count == 1 ? "s" : "ve"))
          .at_file(path)
          .with_help("give sizes a bound: wick compile --max-size N");
    }
    for (size_t k = 0; k < meta.num_values(); ++k) {
      if (meta.tag(k) != Tag::tensor || !meta.value(k).tensor.external) continue;
      return Diag(Code::incompatible_file, "the program keeps weights in a .ptd file, which a firmware cannot read")
          .at_file(path)
          .with_help("compile it without --external-weights");
    }
  }
  if (delegates.empty()) return {};
  return Diag(Code::incompatible_file, fmt::format("the program has delegates ({}), which no package holds", delegates))
      .at_file(path)
      .with_help(
          "compile it for kernels: --backend portable, or a backend of the processor's own (wick compile --help)");
}

MethodPlan plan_method(const ProgramPlan& program, const MethodMeta& meta, bool alone, bool shares) {
  MethodPlan plan;
  plan.name = meta.name();
  plan.prefix = alone ? program.name : program.name + "_" + c_identifier(plan.name);
  plan.objects = count_objects(meta);
  plan.arena_bytes = packaged_arena_bytes(meta, shares);
  plan.state_bytes_32 = method_bytes(plan.objects, k32BitObjectSizes);
  plan.state_bytes_64 = method_bytes(plan.objects, kObjectSizes);
  return plan;
}

// Turns the methods into tables if none of them changes at run time.
void plan_tables(ProgramPlan* plan) {
  const Program program = Program::checked_before({plan->bytes.data(), plan->bytes.size()});
  auto methods = plan_fixed_methods(program);
  if (!methods) return;
  FixedProgram& fixed = plan->fixed.emplace();
  fixed.first_byte = first_constant_byte(*methods, plan->bytes.size());
  fixed.methods = std::move(*methods);
  for (size_t i = 0; i < plan->methods.size(); ++i) {
    const uint64_t tensors = fixed.methods[i].tensors.size(), values = tensors + fixed.methods[i].constants.size();
    plan->methods[i].state_bytes_32 = values * 16 + tensors * 28;  // an EValue; a Tensor
    plan->methods[i].state_bytes_64 = values * 24 + tensors * 56;
    std::vector<std::string>& operators = fixed.operators.emplace_back();
    for (size_t k = 0; k < program.method(i).num_operators(); ++k)
      operators.push_back(operator_text(program.method(i).op(k)));
  }
}

Result<ProgramPlan> plan_program(const std::string& argument, const PackageOptions& options) {
  auto [name, path] = split_method(argument);
  if (argument.find('=') == std::string::npos) name = std::filesystem::path(path).stem().string();
  SessionOptions session_options;
  session_options.num_threads = 1;
  session_options.max_isa = IsaLevel::baseline;
  session_options.seed = options.seed;
  ASSIGN_OR_RETURN(Session session, Session::open(path, session_options));
  const Program& program = session.program();
  RETURN_IF_ERROR(refuse(path, program));
  ProgramPlan plan;
  plan.name = c_identifier(name);
  plan.path = path;
  plan.bytes.assign(program.file().begin(), program.file().end());
  plan.constants_bytes = constant_bytes(program);
  const bool shares = shares_arena(program);
  if (shares) plan.shared_bytes = program.method(0).arena_bytes(kSharedArena);
  std::set<std::string> prefixes;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const MethodMeta meta = program.method(i);
    ASSIGN_OR_RETURN(const MethodFacts facts, read_facts(meta));
    MethodPlan method = plan_method(plan, meta, program.num_methods() == 1, shares);
    if (!prefixes.insert(method.prefix).second) {
      return Diag(Code::usage, fmt::format("two methods would have functions of the name '{}'", method.prefix))
          .at_file(path);
    }
    describe_ports(meta, facts, &method);
    plan.methods.push_back(std::move(method));
  }
  RETURN_IF_ERROR(measure_on_host(session, options, &plan));
  plan_tables(&plan);
  return plan;
}

// The facts of wick.prepared_for of all programs. Facts with the same key must agree.
Result<std::string> common_facts(const std::vector<ProgramPlan>& programs) {
  std::map<std::string, std::pair<std::string, std::string>> found;  // key -> value, program
  std::string all;
  for (const ProgramPlan& plan : programs) {
    ASSIGN_OR_RETURN(Session session, Session::open(plan.path, {}));
    const auto facts = session.program().find_named_data(kPreparedForKey);
    if (!facts.ok()) continue;
    std::string_view rest(reinterpret_cast<const char*>(facts->data()), facts->size());
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string value(word.substr(equals + 1));
      const auto [entry, fresh] = found.emplace(word.substr(0, equals), std::pair(value, plan.path));
      if (fresh) all += fmt::format("{}{}", all.empty() ? "" : " ", word);
      if (entry->second.first == value) continue;
      return Diag(Code::usage, "the programs were prepared for different processors")
          .expected(fmt::format("{} ({})", compiler::printable(word), plan.path),
                    fmt::format("{}={} ({})", compiler::printable(entry->first),
                                compiler::printable(entry->second.first), entry->second.second));
    }
  }
  return all;
}

// Loading binds every operator that a method lists, whether an instruction calls it or not.
Status find_kernels(PackagePlan* plan) {
  std::set<std::string> names;
  for (const ProgramPlan& program : plan->programs) {
    ASSIGN_OR_RETURN(Session session, Session::open(program.path, {}));
    for (size_t i = 0; i < session.program().num_methods(); ++i) {
      const MethodMeta meta = session.program().method(i);
      for (size_t k = 0; k < meta.num_operators(); ++k) names.insert(operator_text(meta.op(k)));
    }
  }
  Diag missing(Code::incompatible_file, "Wick has no kernel for some operators");
  for (const std::string& name : names) {
    const auto same = [&](const auto& each) { return name == each.name; };
    const auto row = std::find_if(std::begin(kLimitRows), std::end(kLimitRows), same);
    const auto of_backend = std::find_if(plan->target.kernels.begin(), plan->target.kernels.end(), same);
    if (of_backend != plan->target.kernels.end()) {
      plan->kernels.push_back({name, of_backend->signature, of_backend->function, of_backend->portable, true});
    } else if (row != std::end(kLimitRows)) {
      plan->kernels.push_back({name, row->signature, row->function, row->function, false});
    } else {
      missing.notes.push_back(compiler::printable(name));
      if (missing.help.empty()) missing.help = way_around(name);
    }
  }
  if (!missing.notes.empty()) return missing;
  const bool of_backend =
      std::any_of(plan->kernels.begin(), plan->kernels.end(), [](const auto& k) { return k.of_backend; });
  if (!of_backend || !plan->target.cpu.empty()) return {};
  return Diag(Code::usage, "the programs do not say which processor they are for").with_help("give it with --cpu");
}

Status find_sources(PackagePlan* plan) {
  const SourceGraph graph(embedded_sources());
  std::vector<std::string> target;
  if (plan->loads()) target = kLoadingApi;
  if (plan->has_tables()) target.insert(target.end(), kTablesApi.begin(), kTablesApi.end());
  std::vector<std::string> portable = target;
  for (const KernelPlan& kernel : plan->kernels) {
    target.push_back(kernel.function);
    portable.push_back(kernel.portable);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> of_target, graph.files_for(target));
  ASSIGN_OR_RETURN(const std::vector<std::string> of_portable, graph.files_for(portable));
  std::set<std::string> all(of_target.begin(), of_target.end());
  all.insert(of_portable.begin(), of_portable.end());
  for (const std::string& path : all) {
    const bool first = std::binary_search(of_target.begin(), of_target.end(), path);
    const bool second = std::binary_search(of_portable.begin(), of_portable.end(), path);
    if (!path.ends_with(".cpp"))
      plan->headers.push_back(path);
    else
      (first && second ? plan->sources : first ? plan->target_sources : plan->portable_sources).push_back(path);
  }
  return {};
}

}  // namespace

Result<PackagePlan> plan_package(const PackageOptions& options) {
  PackagePlan plan;
  plan.name = c_identifier(options.name);
  std::set<std::string> names;
  for (const std::string& argument : options.programs) {
    ASSIGN_OR_RETURN(ProgramPlan program, plan_program(argument, options));
    if (!names.insert(program.name).second) {
      return Diag(Code::usage, fmt::format("two programs have the name '{}'", program.name))
          .with_help("name them: wick package first=A.pte second=B.pte ..");
    }
    plan.programs.push_back(std::move(program));
  }
  for (const std::string& name : names) {
    if (names.count(name + "_instance") == 0) continue;
    return Diag(Code::usage, fmt::format("the handle of '{0}' has the name of the program '{0}_instance'", name))
        .with_help("name them: wick package first=A.pte second=B.pte ..");
  }
  ASSIGN_OR_RETURN(const std::string facts, common_facts(plan.programs));
  ASSIGN_OR_RETURN(plan.target, compiler::firmware_target(options.settings, facts));
  RETURN_IF_ERROR(find_kernels(&plan));
  RETURN_IF_ERROR(find_sources(&plan));
  RETURN_IF_ERROR(measure_on_device(options, &plan));
  return plan;
}

}  // namespace wick::cli
