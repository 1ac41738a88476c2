#include "tests/peer/stock_cpu.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include "runtime/platform/cpu.h"

extern "C" bool cpuinfo_initialize(void);

namespace wick::peer {
namespace {

// One byte, 0 or 1, for each feature of the processor, in the order of cpuinfo's table for x86-64.
constexpr size_t kTableBytes = 85;

struct Feature {
  size_t offset;
  const char* name;
  CpuLevel level;  // the first that has it
  bool (*on_this_processor)();
};

// The compiler wants a literal.
#define FEATURE(offset, name, level, compiler_name) \
  {offset, name, CpuLevel::level, [] { return __builtin_cpu_supports(compiler_name) != 0; }}
constexpr Feature kFeatures[] = {
    FEATURE(17, "ssse3", sse4_1, "ssse3"),
    FEATURE(18, "sse4.1", sse4_1, "sse4.1"),
    FEATURE(22, "avx", avx, "avx"),
    FEATURE(24, "fma3", avx2, "fma"),
    FEATURE(27, "f16c", avx2, "f16c"),
    FEATURE(28, "avx2", avx2, "avx2"),
    FEATURE(29, "avx512f", avx512, "avx512f"),
    FEATURE(33, "avx512dq", avx512, "avx512dq"),
    FEATURE(34, "avx512bw", avx512, "avx512bw"),
    FEATURE(35, "avx512vl", avx512, "avx512vl"),
    FEATURE(37, "avx512vbmi", native, "avx512vbmi"),
    FEATURE(41, "avx512vnni", native, "avx512vnni"),
    FEATURE(42, "avx512bf16", native, "avx512bf16"),
    FEATURE(75, "gfni", native, "gfni"),
    // Compilers of today do not know these by name; without a check of their own.
    {23, "avxvnni", CpuLevel::native, nullptr},
    {43, "avx512fp16", CpuLevel::native, nullptr},
    {47, "avx10.1", CpuLevel::native, nullptr},
    {48, "avx10.2", CpuLevel::native, nullptr},
    {49, "amx_bf16", CpuLevel::native, nullptr},
    {50, "amx_tile", CpuLevel::native, nullptr},
    {51, "amx_int8", CpuLevel::native, nullptr},
    {52, "amx_fp16", CpuLevel::native, nullptr},
    {53, "avx_vnni_int8", CpuLevel::native, nullptr},
    {54, "avx_vnni_int16", CpuLevel::native, nullptr},
};
#undef FEATURE

struct Table {
  uint8_t* bytes = nullptr;
  const char* problem = nullptr;
};

Table find_table() {
  void* bytes = dlsym(RTLD_DEFAULT, "cpuinfo_isa");
  Dl_info info;
  ElfW(Sym)* symbol = nullptr;
  if (!bytes || !dladdr1(bytes, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) || !symbol ||
      symbol->st_size != kTableBytes)
    return {nullptr, "stock's table of processor features is not the known one"};
  Table table{static_cast<uint8_t*>(bytes), nullptr};
  __builtin_cpu_init();
  for (const Feature& feature : kFeatures) {
    const uint8_t byte = table.bytes[feature.offset];
    if (byte > 1 || (feature.on_this_processor && feature.on_this_processor() != (byte == 1)))
      return {nullptr, "stock's table of processor features says otherwise than the compiler's library"};
  }
  return table;
}

// Of the first call, which fills the table in; it comes while libraries are loaded.
Table limited_table() {
  Table table = find_table();
  for (const Feature& feature : kFeatures) {
    if (table.bytes && feature.level > cpu_limit()) table.bytes[feature.offset] = 0;
  }
  return table;
}

const Table& table() {
  static const Table table = limited_table();
  return table;
}

}  // namespace

std::string stock_cpu_problem() { return table().problem ? table().problem : ""; }

std::string stock_features() {
  if (!table().bytes) return "unknown";
  std::string text;
  for (const Feature& feature : kFeatures) {
    if (table().bytes[feature.offset]) text += (text.empty() ? "" : " ") + std::string(feature.name);
  }
  return text.empty() ? "baseline" : text;
}

}  // namespace wick::peer

// In front of the one that stock's libraries bring.
extern "C" bool cpuinfo_initialize(void) {
  const auto stocks = reinterpret_cast<bool (*)()>(dlsym(RTLD_NEXT, "cpuinfo_initialize"));
  const bool ok = stocks && stocks();
  wick::peer::table();
  return ok;
}
