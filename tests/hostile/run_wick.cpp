#include "tests/hostile/run_wick.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/support/scratch_folder.h"

namespace wick::testing {
namespace {

void limit(int resource, rlim_t value) {
  const rlimit limits = {value, value};
  (void)setrlimit(resource, &limits);
}

[[noreturn]] void become_wick(const std::vector<std::string>& args, int output) {
  (void)dup2(output, 1);
  (void)dup2(output, 2);
  limit(RLIMIT_CORE, 0);
#ifdef WICK_SANITIZED
  limit(RLIMIT_CPU, 120);
#else
  limit(RLIMIT_CPU, 30);
  limit(RLIMIT_AS, rlim_t{24} << 30);
#endif
  std::vector<char*> argv = {const_cast<char*>(WICK_BINARY)};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  execv(WICK_BINARY, argv.data());
  _exit(127);
}

std::string read_file(const std::string& path, size_t most) {
  std::string text(most, '\0');
  FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return {};
  text.resize(std::fread(text.data(), 1, most, file));
  std::fclose(file);
  return text;
}

}  // namespace

std::string scratch_path(const std::string& name) {
  static const ScratchFolder folder;
  return folder.file(name);
}

uint64_t file_bytes(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

Outcome run_wick(const std::vector<std::string>& args) {
  const std::string output = scratch_path("output.txt");
  const int file = open(output.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  const pid_t child = fork();
  if (child == 0) become_wick(args, file);
  int status = 0;
  rusage usage = {};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  close(file);
  Outcome outcome;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  outcome.seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.output = read_file(output, 1 << 16);
  return outcome;
}

std::string made_file(const std::string& name, const std::function<std::string()>& make) {
  const std::string path = scratch_path(name);
  const pid_t child = fork();
  if (child == 0) {
    const std::string bytes = make();
    FILE* file = std::fopen(path.c_str(), "wb");
    const bool good = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    _exit(good && std::fclose(file) == 0 ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "cannot make %s\n", path.c_str());
    std::abort();
  }
  return path;
}

}  // namespace wick::testing
