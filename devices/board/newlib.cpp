// Passes the output of newlib's printf to the host. All other system calls of newlib fail (nosys.specs).
#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

#include "devices/board/semihosting.h"

// Text is written line by line.
extern "C" int _isatty(int) { return 1; }
extern "C" int _fstat(int, struct stat* status) {
  status->st_mode = S_IFCHR;
  return 0;
}

extern "C" int _write(int file, const char* bytes, int size) {
  constexpr int kOutput = 1, kErrors = 2;
  if (file != kOutput && file != kErrors) {
    errno = EBADF;
    return -1;
  }
  // The host takes text up to a NUL.
  char line[128];
  constexpr int kMost = static_cast<int>(sizeof line) - 1;
  const int count = size < kMost ? size : kMost;
  for (int i = 0; i < count; ++i) line[i] = bytes[i];
  line[count] = '\0';
  wick::board::print(line);
  return count;
}
