#include "compiler/support/file_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace wick::compiler {
namespace {

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

// Writes all of `bytes` to a file or a device.
bool write_all(int fd, Span<const uint8_t> bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

// Allocates the blocks of a file of that size now, which costs less than doing it block by block. A file system that
// cannot do that is no error. The size of the file still grows as it is written: after a crash the file is short, not
// full of zeros.
bool reserve_blocks(int fd, uint64_t size_bytes) {
#if defined(__linux__)
  constexpr uint64_t kWorthwhileBytes = 1 << 20;
  if (size_bytes >= kWorthwhileBytes && ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_bytes)) != 0)
    return errno != ENOSPC && errno != EDQUOT;
#endif
  return true;
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
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return io_error("open", path, errno);
  struct stat info = {};
  if (::fstat(file.fd, &info) != 0) return io_error("read", path, errno);
  if (S_ISDIR(info.st_mode)) return io_error("read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Diag(Code::file_io, "cannot read \"" + printable(path) + "\": it is not a regular file")
        .at_file(path)
        .with_help("copy the data to a file first");
  }
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return FileMap({});
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (map == MAP_FAILED) return io_error("map", path, errno);
  return FileMap({static_cast<const uint8_t*>(map), size});
}

Descriptor::~Descriptor() {
  if (fd >= 0) ::close(fd);
}

bool Descriptor::close() { return ::close(std::exchange(fd, -1)) == 0; }

FileWriter::FileWriter(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(fd) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      waiting_(std::move(other.waiting_)) {}

FileWriter::~FileWriter() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<FileWriter> FileWriter::open(const std::string& path, uint64_t size_bytes) {
  struct stat info = {};
  const bool device = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (device && S_ISDIR(info.st_mode)) return io_error("write", path, EISDIR);
  std::string temporary;
  FileWriter out(path, "", device ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : create_beside(path, &temporary));
  if (out.file_.fd < 0) return io_error(device ? "open" : "write", path, errno);
  out.temporary_ = std::move(temporary);
  if (!device && !reserve_blocks(out.file_.fd, size_bytes)) return io_error("write", path, errno);
  return out;
}

Status FileWriter::append(Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t room = kBlockBytes - waiting_.size();
    const Span<const uint8_t> part = bytes.subspan(0, std::min(room, bytes.size()));
    bytes = bytes.subspan(part.size(), bytes.size() - part.size());
    if (part.size() == kBlockBytes) {  // a whole block, and waiting_ is empty
      if (!write_all(file_.fd, part)) return io_error("write", path_, errno);
      continue;
    }
    waiting_.insert(waiting_.end(), part.begin(), part.end());
    if (waiting_.size() == kBlockBytes) RETURN_IF_ERROR(write_waiting());
  }
  return {};
}

Status FileWriter::write_waiting() {
  if (!write_all(file_.fd, {waiting_.data(), waiting_.size()})) return io_error("write", path_, errno);
  waiting_.clear();
  return {};
}

Status FileWriter::close() {
  RETURN_IF_ERROR(write_waiting());
  if (file_.fd >= 0 && !file_.close()) return io_error("write", path_, errno);  // delayed write errors show up here
  return {};
}

Status FileWriter::finish() {
  RETURN_IF_ERROR(close());
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error("write", path_, errno);
  temporary_.clear();
  return {};
}

Status finish_all(std::vector<FileWriter>& files) {
  for (FileWriter& file : files) RETURN_IF_ERROR(file.close());
  for (FileWriter& file : files) RETURN_IF_ERROR(file.finish());
  return {};
}

Status write_file(const std::string& path, Span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(FileWriter file, FileWriter::open(path, bytes.size()));
  RETURN_IF_ERROR(file.append(bytes));
  return file.finish();
}

}  // namespace wick::compiler
