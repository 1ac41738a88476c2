#include "devices/qemu/qemu_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "compiler/support/limits.h"
#include "devices/plugin/counter_exit.h"

extern char** environ;

namespace wick::device {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;

constexpr size_t kMaxMessageBytes = 4096;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Pipe {
  Descriptor reader, writer;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Diag(Code::file_io, fmt::format("cannot make a pipe: {}", strerror(errno)));
  Pipe result;
  result.reader = Descriptor(ends[0]);
  result.writer = Descriptor(ends[1]);
  return result;
}

/// In options of QEMU a comma is written twice.
std::string escaped(const std::string& value) {
  std::string text;
  for (char c : value) text.append(c == ',' ? 2 : 1, c);
  return text;
}

std::string path_of(int fd) { return fmt::format("/dev/fd/{}", fd); }

/// While it lives, writing to a process that has ended is an error, not a signal.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~NoPipeSignal() { sigaction(SIGPIPE, &before_, nullptr); }
  NoPipeSignal(const NoPipeSignal&) = delete;

 private:
  struct sigaction before_ = {};
};

Result<pid_t> spawn(const std::vector<std::string>& words, const std::vector<int>& inherited, int output) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  // Duplicated onto itself, so that the child keeps it.
  for (int fd : inherited) posix_spawn_file_actions_adddup2(&actions, fd, fd);
  pid_t child = -1;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Diag(Code::file_io, fmt::format("cannot start {}: {}", words[0], strerror(error)));
  return child;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Descriptor> temporary_file(Span<const uint8_t> bytes) {
  std::FILE* file = std::tmpfile();
  Descriptor result(file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1);
  bool ok = result.get() >= 0 && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int error = errno;
  if (file && std::fclose(file) != 0 && ok) {
    error = errno;
    ok = false;
  }
  if (ok) return result;
  return Diag(Code::file_io, fmt::format("cannot write a temporary file: {}", strerror(error)));
}

Result<std::unique_ptr<QemuProcess>> QemuProcess::start(const Board& board, const BoardFiles& files) {
  std::unique_ptr<QemuProcess> process(new QemuProcess);
  ASSIGN_OR_RETURN(Pipe requests, make_pipe());
  ASSIGN_OR_RETURN(Pipe replies, make_pipe());
  ASSIGN_OR_RETURN(Pipe faults, make_pipe());
  process->counts_ = std::tmpfile();
  process->messages_ = std::tmpfile();
  if (!process->counts_ || !process->messages_)
    return Diag(Code::file_io, fmt::format("cannot make a temporary file: {}", strerror(errno)));
  std::vector<int> inherited = {requests.reader.get(), replies.writer.get(), faults.writer.get()};
  std::vector<std::string> words = {files.qemu,
                                    "-M",
                                    board.machine,
                                    "-nographic",
                                    "-monitor",
                                    "none",
                                    "-serial",
                                    "none",
                                    "-kernel",
                                    files.runner,
                                    "-semihosting-config",
                                    fmt::format("enable=on,target=native,arg=wick,arg={},arg={},arg={}",
                                                path_of(inherited[0]), path_of(inherited[1]), path_of(inherited[2]))};
  if (!files.counter.empty()) {
    inherited.push_back(fileno(process->counts_));
    words.insert(words.end(), {"-plugin", fmt::format("file={},out={},limit={}", escaped(files.counter),
                                                      inherited.back(), compiler::limits().device_instructions)});
  }
  ASSIGN_OR_RETURN(process->child_, spawn(words, inherited, fileno(process->messages_)));
  fcntl(requests.writer.get(), F_SETFL, O_NONBLOCK);
  process->requests_ = std::move(requests.writer);
  process->replies_ = std::move(replies.reader);
  process->faults_ = std::move(faults.reader);
  return process;
}

QemuProcess::~QemuProcess() {
  requests_.close();
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  if (counts_) std::fclose(counts_);
  if (messages_) std::fclose(messages_);
}

bool QemuProcess::send(const std::vector<uint8_t>& bytes) {
  struct stat facts = {};
  counts_begin_ = fstat(fileno(counts_), &facts) == 0 ? static_cast<size_t>(facts.st_size) : 0;
  const NoPipeSignal quiet;
  deadline_s_ = now_s() + static_cast<double>(compiler::limits().device_seconds);
  for (size_t done = 0; done < bytes.size();) {
    if (!wait_for(requests_.get(), POLLOUT)) return false;
    const ssize_t count = write(requests_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (count > 0) done += static_cast<size_t>(count);
  }
  return true;
}

bool QemuProcess::wait_for(int fd, short events) {
  for (;;) {
    const double left_ms = (deadline_s_ - now_s()) * 1000;
    pollfd wait = {fd, events, 0};
    const int ready = left_ms <= 0 ? 0 : poll(&wait, 1, static_cast<int>(std::min(left_ms + 1, 1e9)));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    timed_out_ = ready == 0;
    return false;
  }
}

bool QemuProcess::receive(void* out, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    if (!wait_for(replies_.get(), POLLIN)) return false;
    const ssize_t count = read(replies_.get(), static_cast<uint8_t*>(out) + done, size_bytes - done);
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) done += static_cast<size_t>(count);
  }
  return true;
}

void QemuProcess::finish() {
  if (child_ <= 0) return;
  requests_.close();
  if (timed_out_) kill(child_, SIGKILL);
  while (waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  over_budget_ = WIFEXITED(status_) && WEXITSTATUS(status_) == kOverBudgetStatus;
  FaultReport report;
  if (read(faults_.get(), &report, sizeof report) == static_cast<ssize_t>(sizeof report)) fault_ = report;
  char buffer[kMaxMessageBytes];
  if (std::fseek(messages_, 0, SEEK_SET) != 0) return;
  text_.assign(buffer, std::fread(buffer, 1, sizeof buffer, messages_));
}

std::string QemuProcess::end_text() const {
  std::string text = WIFEXITED(status_) ? fmt::format("QEMU ended with status {}", WEXITSTATUS(status_))
                                        : fmt::format("QEMU was ended by signal {}", WTERMSIG(status_));
  if (!text_.empty()) text += ": " + compiler::printable(text_, 500);
  return text;
}

std::vector<Snapshot> QemuProcess::snapshots() const {
  struct stat facts = {};
  if (fstat(fileno(counts_), &facts) != 0) return {};
  std::vector<Snapshot> result((static_cast<size_t>(facts.st_size) - counts_begin_) / sizeof(Snapshot));
  const ssize_t size_bytes = static_cast<ssize_t>(result.size() * sizeof(Snapshot));
  if (pread(fileno(counts_), result.data(), result.size() * sizeof(Snapshot), static_cast<off_t>(counts_begin_)) !=
      size_bytes)
    result.clear();
  return result;
}

}  // namespace wick::device
