// WICK_CPU means the same to the XNNPACK library and to Wick's own kernels.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "backends/xnnpack/cpuinfo/cpuinfo.h"
#include "runtime/platform/cpu.h"

namespace wick::xnnpack {
namespace {

TEST(CpuLevel, NamesAreTheSame) {
  const char* before = getenv("WICK_CPU");
  const std::string value = before ? before : "";
  for (const char* name : {"baseline", "sse4.1", "avx", "avx2", "avx512", "native", "avx3", "", "AVX2"}) {
    setenv("WICK_CPU", name, 1);
    CpuLevel level = CpuLevel::native;
    parse_cpu_level(name, &level);
    EXPECT_EQ(static_cast<int>(wick_cpu_limit()), static_cast<int>(level)) << name;
  }
  unsetenv("WICK_CPU");
  EXPECT_EQ(wick_cpu_limit(), wick_cpu_native);
  if (before) setenv("WICK_CPU", value.c_str(), 1);
}

TEST(CpuLevel, BothSidesFindTheSameProcessor) {
  EXPECT_EQ(static_cast<int>(wick_cpu_limit()), static_cast<int>(cpu_limit()));
  const bool avx2 = cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3() && cpuinfo_has_x86_f16c();
  const bool avx512 = cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512bw() && cpuinfo_has_x86_avx512dq() &&
                      cpuinfo_has_x86_avx512vl();
  EXPECT_EQ(avx2, detect_isa_level() >= IsaLevel::avx2);
  EXPECT_EQ(avx2 && avx512, detect_isa_level() == IsaLevel::avx512);
  if (cpu_limit() < CpuLevel::native)
    EXPECT_FALSE(cpuinfo_has_x86_avx512vnni() || cpuinfo_has_x86_avxvnni() || cpuinfo_has_x86_amx_int8());
}

}  // namespace
}  // namespace wick::xnnpack
