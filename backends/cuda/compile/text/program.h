// Assembles programs for NVRTC and for a host compiler: the vocabulary that kernels are written in, and kernels. C++20.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/span.h"

namespace wick::cuda {

/// One kernel: WICK_KERNEL(name, threads)(parameters) { .. }, preceded by functions and types of its own. Their names
/// must be unique, because all kernels of a program share one namespace.
struct KernelText {
  std::string name;  // an identifier
  std::string text;
  bool has_barriers = false;  // calls anything that waits for other threads: barriers, shuffles, mma, cp_async ..
};

/// The text before the kernels, for NVRTC.
std::string device_vocabulary();
/// The device vocabulary and the kernels, for NVRTC. Lines of a kernel count from 1 in "name.cu".
std::string device_program(Span<const KernelText> kernels);
/// The same for a host C++17 compiler, with the table of kernels that twin/twin_kernels.h declares. `launcher`: what
/// that header and twin/fibers.h declare.
std::string host_program(Span<const KernelText> kernels, const std::string& launcher);

/// `text` without #pragma once and without #include lines: those of quoted files, or all.
enum class Includes { quoted, all };
std::string without_includes(std::string_view text, Includes which);

}  // namespace wick::cuda
