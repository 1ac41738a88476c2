#include "backends/cuda/twin/build_twin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "common/text_file.h"
#include "compiler/support/file_map.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace wick {
extern const TextFile kCudaTwin[];
extern const size_t kCudaTwinCount;
}  // namespace wick

namespace wick::cuda {
namespace {

using compiler::Code;
using compiler::Descriptor;
using compiler::Diag;
using compiler::FileWriter;
using compiler::Result;
using compiler::Status;

constexpr const char* kCompilers[] = {"clang++-19", "clang++", "g++", "c++"};

/// The file that a shell would run for `name`, or "".
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (access(file.c_str(), X_OK) == 0) return file;
    if (folder.size() == rest.size()) return "";
    rest.remove_prefix(folder.size() + 1);
  }
}

Result<std::string> find_compiler() {
  const char* const chosen = std::getenv("WICK_CXX");  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> names(std::begin(kCompilers), std::end(kCompilers));
  if (chosen && *chosen) names = {chosen};
  for (const std::string& name : names) {
    if (std::string file = find_program(name); !file.empty()) return file;
  }
  std::string tried;
  for (const std::string& name : names) tried += (tried.empty() ? "" : ", ") + name;
  return Diag(Code::missing_tool, "no host C++ compiler for the twin of the CUDA kernels")
      .expected("none of " + tried, "a C++17 compiler: clang or g++")
      .with_help("install clang or g++, or name a compiler with WICK_CXX=/path/compiler");
}

bool open_pipe(Descriptor* read_end, Descriptor* write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  *read_end = Descriptor(ends[0]);
  *write_end = Descriptor(ends[1]);
  return true;
}

/// Writes all of `text`, or stops when nobody reads any more: the reader says why.
void write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::string read_file(int fd) {
  std::string text;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n = read(fd, buffer, sizeof buffer); n > 0; n = read(fd, buffer, sizeof buffer)) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

/// Runs a program with `input` on its standard input. Its messages go to `messages`. Returns its exit code.
Result<int> run_program(const std::vector<std::string>& arguments, std::string_view input, std::string* messages) {
  Descriptor read_end(-1), write_end(-1);
  const std::unique_ptr<FILE, int (*)(FILE*)> log(std::tmpfile(),
                                                  [](FILE* file) { return file ? std::fclose(file) : 0; });
  if (!open_pipe(&read_end, &write_end) || !log) {
    return Diag(Code::file_io, fmt::format("no pipe to {}: {}", arguments[0], std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(log.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(log.get()), STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, arguments[0].c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return Diag(Code::file_io, fmt::format("{} cannot be run: {}", arguments[0], std::strerror(failed)));
  read_end.close();
  void (*const before)(int) = std::signal(SIGPIPE, SIG_IGN);  // a compiler that stops early says why
  write_text(write_end.fd, input);
  std::signal(SIGPIPE, before);
  write_end.close();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  *messages = read_file(fileno(log.get()));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The command that compiles text from standard input.
std::vector<std::string> command(const std::string& compiler, const TwinOptions& options) {
  std::vector<std::string> list = {compiler,
                                   "-x",
                                   "c++",
                                   "-std=c++17",
                                   options.optimize ? "-O1" : "-O0",
                                   "-ffp-contract=off",
                                   "-fno-math-errno",
                                   "-fno-exceptions",
                                   "-fPIC",
                                   "-fvisibility=hidden",
                                   "-w"};
  if (options.sanitize) {
    for (const char* flag : {"-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined",
                             "-fno-sanitize-recover=all", "-fno-sanitize=vptr"}) {
      list.emplace_back(flag);
    }
  }
  list.emplace_back("-");
  return list;
}

/// Runs the compiler on `text`. Errors: as build_twin().
Status compile_text(std::vector<std::string> arguments, std::initializer_list<const char*> more,
                    const std::string& text) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::string messages;
  ASSIGN_OR_RETURN(const int code, run_program(arguments, text, &messages));
  if (code == 0) return {};
  const size_t error = messages.find("error");
  const size_t begin = error == std::string::npos ? 0 : messages.rfind('\n', error) + 1;
  Diag diag(Code::internal, fmt::format("{} refuses the twin of the CUDA kernels", arguments[0]));
  diag.found = messages.substr(begin, std::min(messages.find('\n', begin), messages.size()) - begin);
  return diag;
}

/// The twin's own files whose names end with one of `ends`.
std::string own_text(std::initializer_list<std::string_view> ends) {
  std::string text;
  for (size_t i = 0; i < kCudaTwinCount; ++i) {
    const std::string_view path = kCudaTwin[i].path;
    const bool wanted = std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
      return path.size() >= end.size() && path.substr(path.size() - end.size()) == end;
    });
    if (wanted) text += without_includes(kCudaTwin[i].text, Includes::quoted);
  }
  return text;
}

/// Writes the launcher and the stand-in, which are the same for all twins, as an object file. A process compiles them
/// once for each command.
Status write_launcher(const std::vector<std::string>& compile, const std::string& path) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::string> objects;
  const std::lock_guard<std::mutex> lock(mutex);
  std::string& object = objects[compile];
  if (!object.empty())
    return compiler::write_file(path, {reinterpret_cast<const uint8_t*>(object.data()), object.size()});
  RETURN_IF_ERROR(compile_text(compile, {"-c", "-o", path.c_str()}, own_text({".h", ".cpp"})));
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd >= 0) object = read_file(file.fd);
  return {};
}

}  // namespace

Result<FileWriter> begin_twin(Span<const KernelText> kernels, const std::string& path, const TwinOptions& options) {
  ASSIGN_OR_RETURN(const std::string compiler, find_compiler());
  const std::vector<std::string> compile = command(compiler, options);
  const std::string library = fmt::format("{}.{}", path, getpid()), launcher = library + ".o";
  FileWriter file = FileWriter::written(path, library);
  const FileWriter removed_at_the_end = FileWriter::written("", launcher);
  RETURN_IF_ERROR(write_launcher(compile, launcher));
  RETURN_IF_ERROR(
      compile_text(compile, {"-x", "none", launcher.c_str(), "-shared", "-Wl,--build-id=none", "-o", library.c_str()},
                   host_program(kernels, own_text({"twin_kernels.h", "fibers.h"}))));
  return file;
}

Status build_twin(Span<const KernelText> kernels, const std::string& path, const TwinOptions& options) {
  ASSIGN_OR_RETURN(FileWriter file, begin_twin(kernels, path, options));
  return file.finish();
}

bool is_twin(Span<const uint8_t> bytes) {
  constexpr std::string_view kSymbol = "wick_twin_set_order";
  constexpr uint8_t kHeads[][4] = {{0x7f, 'E', 'L', 'F'}, {0xcf, 0xfa, 0xed, 0xfe}};  // ELF, Mach-O
  const bool is_library = std::any_of(std::begin(kHeads), std::end(kHeads), [&](const auto& head) {
    return bytes.size() > sizeof head && std::equal(std::begin(head), std::end(head), bytes.begin());
  });
  return is_library && std::search(bytes.begin(), bytes.end(), kSymbol.begin(), kSymbol.end()) != bytes.end();
}

namespace {

constexpr std::string_view kVocabularyHead = "// By wick compile --emit-source.\n#pragma once\n";
constexpr std::string_view kKernelHead = "#include \"vocabulary.h\"\n\nnamespace wick_text {\n";

// If the file exists, it must begin with `head`.
Status check_replaceable(const std::string& path, std::string_view head) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  ASSIGN_OR_RETURN(const compiler::FileMap map, compiler::FileMap::open(path));
  const Span<const uint8_t> bytes = map.bytes();
  if (bytes.size() >= head.size() && std::equal(head.begin(), head.end(), bytes.begin())) return {};
  return Diag(Code::usage,
              fmt::format("--emit-source would overwrite \"{}\", which it has not written", compiler::printable(path)))
      .with_help("give it another folder");
}

}  // namespace

Status emit_source(Span<const KernelText> kernels, const std::string& folder, std::vector<FileWriter>& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Diag(Code::file_io, fmt::format("{}: {}", folder, error.message()));
  const auto write = [&](const std::string& name, std::string_view head, const std::string& rest) -> Status {
    const std::string path = folder + "/" + name, text = std::string(head) + rest;
    RETURN_IF_ERROR(check_replaceable(path, head));
    ASSIGN_OR_RETURN(FileWriter file, FileWriter::open(path, text.size()));
    RETURN_IF_ERROR(file.append({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
    RETURN_IF_ERROR(file.close());
    files.push_back(std::move(file));
    return {};
  };
  RETURN_IF_ERROR(write("vocabulary.h", kVocabularyHead, device_vocabulary()));
  for (const KernelText& kernel : kernels) {
    RETURN_IF_ERROR(write(kernel.name + ".cu", kKernelHead, kernel.text + "\n}  // namespace wick_text\n"));
  }
  return {};
}

}  // namespace wick::cuda
