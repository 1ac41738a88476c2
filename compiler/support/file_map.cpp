#include "compiler/support/file_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wick::compiler {
namespace {

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  /// Closes now. False with errno set if that fails (delayed write errors show up here).
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string help_for(int error) {
  switch (error) {
    case ENOENT: return "check the spelling of the path and that its folder exists";
    case EACCES:
    case EPERM: return "check the permissions of the file and its folder";
    case ENOSPC:
    case EDQUOT: return "free some space, or write to another disk";
    case EISDIR: return "name a file, not a folder";
    default: return "check the path and the disk it is on";
  }
}

Diag io_error(const char* verb, const std::string& path, int error) {
  return Diag(Code::file_io, std::string("cannot ") + verb + " \"" + printable(path) + "\": " + std::strerror(error))
      .at_file(path)
      .with_help(help_for(error));
}

bool write_all(int fd, Span<const uint8_t> bytes) {
  // Larger writes make Linux take larger pieces of untouched memory for its copy, which cost several times as much.
  constexpr size_t kMaxChunkBytes = size_t{64} << 10;
  for (size_t done = 0; done < bytes.size();) {
    const size_t chunk = bytes.size() - done < kMaxChunkBytes ? bytes.size() - done : kMaxChunkBytes;
    const ssize_t written = ::write(fd, bytes.data() + done, chunk);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

Status write_directly(const std::string& path, Span<const uint8_t> bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return io_error("open", path, errno);
  if (!write_all(file.get(), bytes) || !file.close()) return io_error("write", path, errno);
  return {};
}

// Creates a file beside `path` that did not exist before; `name` gets its path. Returns the descriptor or -1.
int create_beside(const std::string& path, std::string* name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    *name = path + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int fd = ::open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

FileMap::FileMap(FileMap&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

void FileMap::release(Span<const uint8_t> range) const {
  const auto begin = reinterpret_cast<uintptr_t>(range.data()), map = reinterpret_cast<uintptr_t>(bytes_.data());
  if (begin < map || begin - map > bytes_.size() || range.size() > bytes_.size() - (begin - map)) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t first = (begin + page - 1) / page * page, end = (begin + range.size()) / page * page;
  if (first < end) ::madvise(const_cast<uint8_t*>(bytes_.data()) + (first - map), end - first, MADV_DONTNEED);
}

Result<FileMap> FileMap::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return io_error("open", path, errno);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return io_error("read", path, errno);
  if (S_ISDIR(info.st_mode)) return io_error("read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Diag(Code::file_io, "cannot read \"" + printable(path) + "\": it is not a regular file")
        .at_file(path)
        .with_help("copy the data to a file first");
  }
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return FileMap({});
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (map == MAP_FAILED) return io_error("map", path, errno);
  return FileMap({static_cast<const uint8_t*>(map), size});
}

Status write_file(const std::string& path, Span<const uint8_t> bytes) {
  return write_file(path, std::vector<Span<const uint8_t>>{bytes});
}

Status write_file(const std::string& path, const std::vector<Span<const uint8_t>>& pieces) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return io_error("write", path, EISDIR);
    for (Span<const uint8_t> piece : pieces) RETURN_IF_ERROR(write_directly(path, piece));
    return {};
  }
  std::string temporary;
  Descriptor file(create_beside(path, &temporary));
  if (file.get() < 0) return io_error("write", path, errno);
  bool written = true;
  for (Span<const uint8_t> piece : pieces) written = written && write_all(file.get(), piece);
  if (!written || !file.close() || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return io_error("write", path, error);
  }
  return {};
}

}  // namespace wick::compiler
