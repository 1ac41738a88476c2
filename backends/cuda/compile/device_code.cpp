#include "backends/cuda/compile/device_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backends/cuda/compile/report.h"
#include "backends/cuda/compile/text/program.h"
#include "backends/cuda/nvrtc/compile.h"
#include "backends/cuda/twin/build_twin.h"
#include "compiler/support/content_hash.h"

namespace wick::cuda {

using compiler::Code;
using compiler::Delegate;
using compiler::Diag;
using compiler::Result;
using compiler::Status;
using compiler::TargetContext;
using compiler::TargetOptions;

namespace {

// "sm_90,ptx" as architectures; "none": no device code.
Result<std::vector<Architecture>> architectures(const TargetOptions& options) {
  const Span<const Architecture> defaults = default_architectures(), all = known_architectures();
  std::string_view list = options.setting(kGpuOption);
  if (list.empty()) return std::vector<Architecture>(defaults.begin(), defaults.end());
  std::vector<Architecture> out;
  if (list == "none") return out;
  for (bool more = true; more;) {
    const size_t end = list.find(',');
    more = end != std::string_view::npos;
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(more ? end + 1 : list.size());
    const auto found = std::find_if(all.begin(), all.end(), [&](const Architecture& one) {
      return architecture_name(one) == name || (one.is_ptx && name == "ptx");
    });
    if (found == all.end()) {
      return Diag(Code::usage, fmt::format("there is no architecture '{}'", compiler::printable(std::string(name))))
          .with_help("--gpu takes sm_80, sm_90, sm_90a, sm_100, sm_120, ptx, separated by commas, or none");
    }
    if (std::find(out.begin(), out.end(), *found) == out.end()) out.push_back(*found);
  }
  return out;
}

KernelText text_of(const NamedKernel& kernel) {
  KernelText text;
  text.name = kernel.name;
  text.text =
      fmt::format("WICK_KERNEL({}, {})({}) {{\n{}}}\n", kernel.name, kernel.threads, kernel.parameters, kernel.body);
  text.has_barriers = kernel.has_barriers;
  return text;
}

// A module without code: the header of a cubin, or a line of PTX. Only a twin library takes it.
std::vector<uint8_t> empty_module(Architecture architecture) {
  if (architecture.is_ptx) return {'/', '/', 0};
  std::vector<uint8_t> bytes(64);
  const uint8_t head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::copy(std::begin(head), std::end(head), bytes.begin());
  bytes[18] = 190;  // machine: CUDA
  // Flags: the architecture, at both places where readers look for it.
  bytes[48] = bytes[49] = static_cast<uint8_t>(architecture.number);
  return bytes;
}

void add_module(Architecture architecture, std::vector<uint8_t> bytes, Plan& plan, Delegate& delegate) {
  auto owned = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  const Span<const uint8_t> span(owned->data(), owned->size());
  const std::string key = fmt::format("{:016x}-{}", compiler::content_hash(span), span.size());
  plan.modules.push_back({architecture.number, architecture.is_ptx, key, architecture.is_exact});
  delegate.constants.push_back({key, compiler::ConstantData(span, owned)});
  delegate.constants.back().is_code = true;
}

// Notes kernels that would differ if all device code were for sm_90a.
void note_missing_warpgroups(const std::vector<Architecture>& wanted, const Plan& plan, Delegate& delegate) {
  const bool has_exact =
      std::any_of(wanted.begin(), wanted.end(), [](const Architecture& one) { return one.is_exact; });
  const auto tiles = std::count_if(plan.kernels.begin(), plan.kernels.end(), [](const Kernel& kernel) {
    return kernel.arithmetic == Arithmetic::matrix_f16 && kernel.schedule.starts_with("matrix tiles");
  });
  if (!has_exact || wanted.size() == 1 || tiles == 0) return;
  delegate.notes.push_back(fmt::format(
      "{} kernel{} of matmuls and convolutions for sm_90a {} those for sm_90, without wgmma: all targets of a "
      "program share their kernels. --gpu sm_90a, with no other target, makes kernels of its own",
      tiles, tiles == 1 ? "" : "s", tiles == 1 ? "is" : "are"));
}

}  // namespace

bool compiles_for_warpgroups(const TargetOptions& options) {
  const auto list = architectures(options);
  return list.ok() && list->size() == 1 && list->front().is_exact;
}

Status check_settings(const TargetOptions& options) {
  const auto list = architectures(options);
  return list.ok() ? Status() : Status(list.diag());
}

Status add_device_code(const BuiltPlan& built, const TargetContext& context, Plan& plan, Delegate& delegate) {
  auto kept = std::make_shared<Kept>();
  for (const NamedKernel& kernel : built.kernels) kept->kernels.push_back(text_of(kernel));
  kept->steps = built.notes;
  kept->views = built.views;
  const std::vector<KernelText>& kernels = kept->kernels;
  delegate.kept = kept;
  ASSIGN_OR_RETURN(const std::vector<Architecture> wanted, architectures(context.options));
  note_missing_warpgroups(wanted, plan, delegate);
  if (context.for_report || wanted.empty()) {
    const std::vector<Architecture> named = wanted.empty() ? std::vector<Architecture>{{90}} : wanted;
    for (const Architecture architecture : named) add_module(architecture, empty_module(architecture), plan, delegate);
    return {};
  }
  ASSIGN_OR_RETURN(std::vector<DeviceCode> code,
                   compile_device_code({kernels.data(), kernels.size()}, {wanted.data(), wanted.size()}));
  for (DeviceCode& module : code) add_module(module.architecture, std::move(module.bytes), plan, delegate);
  plan.driver_version = 13000;
  return {};
}

Status write_files(const std::vector<const Delegate*>& delegates, const TargetContext& context,
                   std::vector<compiler::FileWriter>& files) {
  const std::string twin(context.options.setting(kTwinOption)), folder(context.options.setting(kEmitSourceOption));
  if (twin.empty() && folder.empty()) return {};
  std::map<std::string, KernelText> by_name;
  for (const Delegate* delegate : delegates) {
    for (const KernelText& kernel : static_cast<const Kept*>(delegate->kept.get())->kernels)
      by_name.emplace(kernel.name, kernel);
  }
  std::vector<KernelText> kernels;
  for (const auto& [name, kernel] : by_name) kernels.push_back(kernel);
  if (!folder.empty()) RETURN_IF_ERROR(emit_source({kernels.data(), kernels.size()}, folder, files));
  if (twin.empty()) return {};
  ASSIGN_OR_RETURN(compiler::FileWriter library, begin_twin({kernels.data(), kernels.size()}, twin));
  files.push_back(std::move(library));
  return {};
}

}  // namespace wick::cuda
