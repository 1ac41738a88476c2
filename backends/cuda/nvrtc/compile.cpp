#include "backends/cuda/nvrtc/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <thread>

#include "backends/cuda/nvrtc/library.h"

namespace wick::cuda {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

// The default ones are first.
constexpr Architecture kArchitectures[] = {{80}, {90}, {100}, {120}, {90, true}, {90, false, true}};
constexpr size_t kNumDefault = 5;

/// A program of NVRTC; destroyed with its owner.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& text) : nvrtc_(nvrtc) {
    result_ = nvrtc.create(&program_, text.c_str(), "kernels.cu", 0, nullptr, nullptr);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (program_) nvrtc_.destroy(&program_);
  }

  bool compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    if (result_ == 0) result_ = nvrtc_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
    return result_ == 0;
  }
  std::string log() const {
    size_t size = 0;
    if (!program_ || nvrtc_.log_size(program_, &size) != 0 || size == 0) return "";
    std::string text(size, 0);
    if (nvrtc_.log(program_, text.data()) != 0) return "";
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }
  bool code(bool ptx, std::vector<uint8_t>* bytes) {
    size_t size = 0;
    result_ = ptx ? nvrtc_.ptx_size(program_, &size) : nvrtc_.cubin_size(program_, &size);
    if (result_ != 0) return false;
    bytes->resize(size);
    char* const to = reinterpret_cast<char*>(bytes->data());
    result_ = ptx ? nvrtc_.ptx(program_, to) : nvrtc_.cubin(program_, to);
    return result_ == 0;
  }
  std::string failure() const { return nvrtc_.error_name(result_); }

 private:
  const Nvrtc& nvrtc_;
  Nvrtc::Program program_ = nullptr;
  int result_ = 0;
};

/// Line `number` (from 1) of a text.
std::string line_of(std::string_view text, size_t number) {
  for (; number > 1 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return std::string(text.substr(0, text.find('\n')));
}

/// If a message names a place "kernel.cu(line): error", adds that line of the kernel.
Diag refusal(const std::string& log, Architecture architecture, Span<const KernelText> kernels) {
  Diag diag(Code::internal,
            fmt::format("NVRTC refuses the text of the kernels for {}", architecture_name(architecture)));
  const size_t error = log.find(": error");
  const size_t begin = error == std::string::npos ? 0 : log.rfind('\n', error) + 1;
  diag.found = log.substr(begin, std::min(log.find('\n', begin), log.size()) - begin);
  for (const KernelText& kernel : kernels) {
    const std::string place = kernel.name + ".cu(";
    if (diag.found.rfind(place, 0) != 0) continue;
    size_t line = 0;
    std::from_chars(diag.found.data() + place.size(), diag.found.data() + diag.found.size(), line);
    diag.notes.push_back(fmt::format("line {} of kernel {}: {}", line, kernel.name, line_of(kernel.text, line)));
  }
  return diag;
}

std::vector<std::string> option_list(Architecture architecture, const DeviceOptions& options) {
  std::vector<std::string> list = {
      fmt::format("--gpu-architecture={}_{}{}", architecture.is_ptx ? "compute" : "sm", architecture.number,
                  architecture.is_exact ? "a" : ""),
      "--std=c++17",
      "--device-as-default-execution-space",
      "--fmad=false",        // a * b + c rounds as on the host
      "--disable-warnings",  // kernels use a part of the vocabulary
  };
  if (!architecture.is_ptx) list.emplace_back("--ptxas-options=-v");
  if (options.line_info) list.emplace_back("--generate-line-info");
  return list;
}

Status compile_text(const Nvrtc& nvrtc, Span<const KernelText> kernels, const DeviceOptions& options,
                    DeviceCode* code) {
  Program program(nvrtc, device_program(kernels));
  if (!program.compile(option_list(code->architecture, options))) {
    const std::string log = program.log();
    if (!log.empty()) return refusal(log, code->architecture, kernels);
    return Diag(Code::internal,
                fmt::format("NVRTC fails for {}: {}", architecture_name(code->architecture), program.failure()));
  }
  if (!program.code(code->architecture.is_ptx, &code->bytes)) {
    return Diag(Code::internal, fmt::format("NVRTC gives no code: {}", program.failure()));
  }
  if (!code->architecture.is_ptx) code->resources = read_resources(program.log());
  return {};
}

/// The kernel with as many registers as one block alone on a multiprocessor can have. Unchanged if its text gives a
/// number of blocks.
KernelText with_all_registers(const KernelText& kernel) {
  const std::string plain = fmt::format("WICK_KERNEL({},", kernel.name);
  const size_t begin = kernel.text.find(plain), end = kernel.text.find(')', begin);
  KernelText changed = kernel;
  if (begin == std::string::npos || end == std::string::npos) return changed;
  const std::string threads = kernel.text.substr(begin + plain.size(), end - begin - plain.size());
  changed.text.replace(begin, end + 1 - begin, fmt::format("WICK_KERNEL_BLOCKS({},{}, 1)", kernel.name, threads));
  return changed;
}

/// The compiler sometimes spills registers so that more blocks fit. Kernels that spill are compiled again.
Status compile_one(const Nvrtc& nvrtc, Span<const KernelText> kernels, const DeviceOptions& options, DeviceCode* code) {
  RETURN_IF_ERROR(compile_text(nvrtc, kernels, options, code));
  std::vector<KernelText> changed(kernels.begin(), kernels.end());
  bool again = false;
  for (KernelText& kernel : changed) {
    const auto spills = [&](const KernelResources& row) { return row.name == kernel.name && row.spill_bytes != 0; };
    if (std::none_of(code->resources.begin(), code->resources.end(), spills)) continue;
    const std::string before = kernel.text;
    kernel = with_all_registers(kernel);
    again |= kernel.text != before;
  }
  return again ? compile_text(nvrtc, {changed.data(), changed.size()}, options, code) : Status();
}

Status check_architectures(const Nvrtc& nvrtc, Span<const Architecture> wanted) {
  int count = 0;
  std::vector<int> known;
  if (nvrtc.num_architectures(&count) == 0) known.resize(static_cast<size_t>(count));
  if (known.empty() || nvrtc.architectures(known.data()) != 0) return Diag(Code::internal, "NVRTC lists no targets");
  for (const Architecture& architecture : wanted) {
    if (std::find(known.begin(), known.end(), static_cast<int>(architecture.number)) != known.end()) continue;
    std::string list;
    for (const int number : known) list += (list.empty() ? "" : ", ") + std::to_string(number);
    return Diag(Code::usage,
                fmt::format("NVRTC {}.{} has no target {}", nvrtc.major, nvrtc.minor, architecture_name(architecture)))
        .expected(std::to_string(architecture.number), "one of " + list);
  }
  return {};
}

/// The number in front of `unit` in a line of the log.
uint32_t number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  uint32_t number = 0;
  std::from_chars(line.data() + begin, line.data() + at, number);
  return number;
}

}  // namespace

Span<const Architecture> default_architectures() { return {kArchitectures, kNumDefault}; }
Span<const Architecture> known_architectures() { return kArchitectures; }

std::string architecture_name(Architecture architecture) {
  return fmt::format("{}_{}{}", architecture.is_ptx ? "ptx" : "sm", architecture.number,
                     architecture.is_exact ? "a" : "");
}

std::string resource_table(Span<const DeviceCode> codes) {
  std::string table;
  for (const DeviceCode& code : codes) {
    for (const KernelResources& kernel : code.resources) {
      table += fmt::format("{:<7} {}: {} registers, {} shared, {} stack, {} spilled\n",
                           architecture_name(code.architecture), kernel.name, kernel.registers,
                           kernel.static_shared_bytes, kernel.stack_bytes, kernel.spill_bytes);
    }
  }
  return table;
}

std::vector<KernelResources> read_resources(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<KernelResources> table;
  bool in_entry = false;  // functions that are not inlined have lines of their own
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (const size_t entry = line.find(kEntry); entry != std::string_view::npos) {
      const std::string_view rest = line.substr(entry + kEntry.size());
      table.push_back({std::string(rest.substr(0, rest.find('\'')))});
      in_entry = true;
      continue;
    }
    if (const size_t of = line.find("Function properties for "); of != std::string_view::npos) {
      in_entry = !table.empty() && line.substr(of + 24) == table.back().name;
    }
    if (table.empty()) continue;
    KernelResources& kernel = table.back();
    if (line.find(" bytes stack frame") != std::string_view::npos) {
      // Spills of functions that the kernel calls count for the kernel.
      kernel.spill_bytes += number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
      if (in_entry) kernel.stack_bytes = number_before(line, " bytes stack frame");
    } else if (line.find("Used ") != std::string_view::npos) {
      kernel.registers = number_before(line, " registers");
      kernel.static_shared_bytes = number_before(line, " bytes smem");
      kernel.stack_bytes = std::max(kernel.stack_bytes, number_before(line, " bytes cumulative stack size"));
    }
  }
  std::sort(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

Result<std::vector<DeviceCode>> compile_device_code(Span<const KernelText> kernels,
                                                    Span<const Architecture> architectures,
                                                    const DeviceOptions& options) {
  ASSIGN_OR_RETURN(const Nvrtc* library, nvrtc());
  RETURN_IF_ERROR(check_architectures(*library, architectures));
  std::vector<DeviceCode> codes(architectures.size());
  std::vector<Status> statuses(architectures.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i].architecture = architectures[i];
    threads.emplace_back([&, i] { statuses[i] = compile_one(*library, kernels, options, &codes[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& status : statuses) RETURN_IF_ERROR(std::move(status));
  return codes;
}

}  // namespace wick::cuda
