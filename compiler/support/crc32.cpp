#include "compiler/support/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wick::compiler {
namespace {

uint32_t continued(uint32_t crc, Span<const uint8_t> bytes) {
  return static_cast<uint32_t>(::crc32_z(crc, bytes.data(), bytes.size()));
}

#if defined(__x86_64__)

#define WICK_CARRYLESS __attribute__((target("sse2,pclmul"), always_inline)) inline

WICK_CARRYLESS __m128i load(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

// `sum`, a polynomial of degree below 128, times x^n modulo the checksum's, plus `next`. The two factors are
// x^(n + 32) and x^(n - 32), reflected and shifted by one, for the low and the high half.
WICK_CARRYLESS __m128i folded(__m128i sum, __m128i factors, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(sum, factors, 0x00), high = _mm_clmulepi64_si128(sum, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Folds four sums side by side, each over 16 of every 64 bytes. `bytes`: at least 64. At the end 16 bytes remain that
// have the checksum of all whole blocks; zlib finishes them and the rest.
// Source: Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009.
__attribute__((target("sse2,pclmul"))) uint32_t crc32_carryless(Span<const uint8_t> bytes) {
  const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i sums[4];
  for (size_t i = 0; i < 4; ++i) sums[i] = load(bytes.data() + 16 * i);
  sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(-1));  // the checksum starts with all ones
  size_t at = 64;
  for (; at + 64 <= bytes.size(); at += 64) {
    for (size_t i = 0; i < 4; ++i) sums[i] = folded(sums[i], by_64, load(bytes.data() + at + 16 * i));
  }
  for (size_t i = 1; i < 4; ++i) sums[i] = folded(sums[i - 1], by_16, sums[i]);
  for (; at + 16 <= bytes.size(); at += 16) sums[3] = folded(sums[3], by_16, load(bytes.data() + at));
  alignas(16) uint8_t rest[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(rest), sums[3]);
  // zlib takes and returns inverted checksums: the value for all ones means that nothing was added yet.
  return continued(continued(0xffffffffu, {rest, sizeof rest}), bytes.subspan(at, bytes.size() - at));
}

#endif

}  // namespace

uint32_t crc32(Span<const uint8_t> bytes) {
#if defined(__x86_64__)
  if (bytes.size() >= 64 && __builtin_cpu_supports("pclmul")) return crc32_carryless(bytes);
#endif
  return continued(0, bytes);
}

}  // namespace wick::compiler
