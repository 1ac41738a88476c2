#include "devices/board/semihosting.h"

#include <string.h>

namespace wick::board {
namespace {

enum Operation : uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kWriteText = 0x04,
  kWrite = 0x05,
  kRead = 0x06,
  kLength = 0x0C,
  kCommandLine = 0x15,
  kExitExtended = 0x20,
};
constexpr uint32_t kApplicationExit = 0x20026;

int32_t call(Operation operation, const void* block) {
  register uint32_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = block;
  asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory", "cc");
  return static_cast<int32_t>(r0);
}

uint32_t address(const void* p) { return reinterpret_cast<uint32_t>(p); }

}  // namespace

int open_file(const char* path, FileMode mode) {
  const uint32_t block[] = {address(path), static_cast<uint32_t>(mode), static_cast<uint32_t>(strlen(path))};
  return call(kOpen, block);
}

void close_file(int file) {
  const uint32_t block[] = {static_cast<uint32_t>(file)};
  call(kClose, block);
}

long file_size_bytes(int file) {
  const uint32_t block[] = {static_cast<uint32_t>(file)};
  return call(kLength, block);
}

size_t read_some(int file, void* out, size_t size_bytes) {
  const uint32_t block[] = {static_cast<uint32_t>(file), address(out), size_bytes};
  const int32_t left = call(kRead, block);
  return left < 0 || static_cast<size_t>(left) > size_bytes ? 0 : size_bytes - static_cast<size_t>(left);
}

bool read_all(int file, void* out, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    const size_t count = read_some(file, static_cast<uint8_t*>(out) + done, size_bytes - done);
    if (count == 0) return false;
    done += count;
  }
  return true;
}

bool write_all(int file, const void* bytes, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    const uint32_t block[] = {static_cast<uint32_t>(file), address(bytes) + done, size_bytes - done};
    const int32_t left = call(kWrite, block);
    if (left < 0 || static_cast<size_t>(left) >= size_bytes - done) return false;
    done = size_bytes - static_cast<size_t>(left);
  }
  return true;
}

void print(const char* text) { call(kWriteText, text); }

bool command_line(char* out, size_t capacity) {
  uint32_t block[] = {address(out), capacity};
  return call(kCommandLine, block) == 0;
}

void exit(int status) {
  const uint32_t block[] = {kApplicationExit, static_cast<uint32_t>(status)};
  for (;;) call(kExitExtended, block);
}

}  // namespace wick::board
