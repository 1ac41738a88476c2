// Semihosting, the services of a debugger or QEMU for a bare board: files of the host, text, the exit status. C++17,
// freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick::board {

enum class FileMode : uint32_t { read = 1, write = 5 };
constexpr int kNoFile = -1;

/// kNoFile if the host cannot open it.
int open_file(const char* path, FileMode mode);
void close_file(int file);
/// -1 if the host cannot tell the size.
long file_size_bytes(int file);
/// Returns the number of bytes read: those available now, at least one unless the file has ended.
size_t read_some(int file, void* out, size_t size_bytes);
/// False if the file ends before `size_bytes`.
bool read_all(int file, void* out, size_t size_bytes);
bool write_all(int file, const void* bytes, size_t size_bytes);
void print(const char* text);
/// The program's arguments, separated by blanks. False if they do not fit.
bool command_line(char* out, size_t capacity);
/// Ends the emulation or debugging session.
[[noreturn]] void exit(int status);

}  // namespace wick::board
