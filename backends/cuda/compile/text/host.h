// The vocabulary of kernels on the host: the names of device.h, implemented by the fibers of twin/fibers.h.
#define WICK_FUNCTION inline
#ifdef __clang__
#define WICK_UNROLL _Pragma("unroll")
#else
#define WICK_UNROLL
#endif
#define WICK_NO_UNROLL
#define WICK_UNROLL_BY_2
#define WICK_UNROLL_BY_4
#define WICK_KERNEL(name, threads) static void name
#define WICK_KERNEL_BLOCKS(name, threads, blocks) static void name
#define WICK_SHARED(type, name, count)    \
  static const char wick_site_##name = 0; \
  type(&name)[count] = *static_cast<type(*)[count]>(wick_twin::shared_memory(&wick_site_##name, sizeof(type[count])))
#define WICK_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(wick_twin::dynamic_shared_memory())
#define WICK_SWIZZLED_SHARED(type, name) WICK_DYNAMIC_SHARED(type, name)

namespace wick_text {
namespace {

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

/// Calls a kernel with parameters as the driver gets them: pointers to their values.
template <typename... P, size_t... kIndex>
WICK_FUNCTION void call_unpacked(void (*kernel)(P...), void* const* parameters, std::index_sequence<kIndex...>) {
  kernel(*static_cast<std::remove_const_t<P>*>(parameters[kIndex])...);
}
template <typename... P>
WICK_FUNCTION void call_kernel(void (*kernel)(P...), void* const* parameters) {
  call_unpacked(kernel, parameters, std::index_sequence_for<P...>());
}

/// A digit for the size of each parameter.
template <typename... P>
const char* parameter_bytes(void (*)(P...)) {
  static const char text[] = {static_cast<char>('0' + sizeof(P))..., 0};
  return text;
}

WICK_FUNCTION u32 thread_x() { return wick_twin::current.thread.x; }
WICK_FUNCTION u32 thread_y() { return wick_twin::current.thread.y; }
WICK_FUNCTION u32 thread_z() { return wick_twin::current.thread.z; }
WICK_FUNCTION u32 block_x() { return wick_twin::current.block.x; }
WICK_FUNCTION u32 block_y() { return wick_twin::current.block.y; }
WICK_FUNCTION u32 block_z() { return wick_twin::current.block.z; }
WICK_FUNCTION u32 grid_x() { return wick_twin::current.grid.x; }
WICK_FUNCTION u32 grid_y() { return wick_twin::current.grid.y; }
WICK_FUNCTION u32 grid_z() { return wick_twin::current.grid.z; }
WICK_FUNCTION u32 threads_x() { return wick_twin::current.threads.x; }
WICK_FUNCTION u32 threads_y() { return wick_twin::current.threads.y; }
WICK_FUNCTION u32 threads_z() { return wick_twin::current.threads.z; }
WICK_FUNCTION u32 lane() { return wick_twin::current.number % 32; }

WICK_FUNCTION void block_barrier(int line = __builtin_LINE()) { wick_twin::block_wait("block_barrier", line); }
WICK_FUNCTION bool block_any(bool predicate, int line = __builtin_LINE()) {
  return wick_twin::block_any(predicate, line);
}
WICK_FUNCTION void warp_barrier(int line = __builtin_LINE()) { wick_twin::warp_wait("warp_barrier", line); }

/// The value that lane `from` passes to the same operation; the own value if there is no such lane.
template <typename T>
WICK_FUNCTION T exchange(const char* operation, int line, T value, u32 from) {
  void* const slots = wick_twin::exchange(operation, line, &value, sizeof value);
  if (from < 32) __builtin_memcpy(&value, static_cast<char*>(slots) + from * wick_twin::kSlotBytes, sizeof value);
  return value;
}
template <typename T>
WICK_FUNCTION T shuffle_xor(T value, u32 mask, int line = __builtin_LINE()) {
  return exchange("shuffle_xor", line, value, lane() ^ mask);
}
template <typename T>
WICK_FUNCTION T shuffle_down(T value, u32 delta, int line = __builtin_LINE()) {
  return exchange("shuffle_down", line, value, lane() + delta);
}
template <typename T>
WICK_FUNCTION T shuffle_up(T value, u32 delta, int line = __builtin_LINE()) {
  return exchange("shuffle_up", line, value, lane() - delta);
}
template <typename T>
WICK_FUNCTION T shuffle(T value, u32 from, int line = __builtin_LINE()) {
  return exchange("shuffle", line, value, from % 32);
}
WICK_FUNCTION u32 ballot(bool predicate, int line = __builtin_LINE()) {
  const void* const slots = wick_twin::exchange("ballot", line, &predicate, sizeof predicate);
  u32 mask = 0;
  for (u32 i = 0; i < 32; ++i) {
    mask |= static_cast<u32>(*(static_cast<const bool*>(slots) + i * wick_twin::kSlotBytes)) << i;
  }
  return mask;
}

template <typename T>
WICK_FUNCTION T atomic_add(T* at, T value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <typename T>
WICK_FUNCTION T atomic_min(T* at, T value) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < old && !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <typename T>
WICK_FUNCTION T atomic_max(T* at, T value) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value > old && !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <typename T>
WICK_FUNCTION T atomic_or(T* at, T value) {
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <typename T>
WICK_FUNCTION T atomic_exchange_if(T* at, T expected, T value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
WICK_FUNCTION void global_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

WICK_FUNCTION void grid_wait() {}
WICK_FUNCTION void grid_launch_dependents() {}

struct alignas(16) Words4 {
  u32 at[4];
};
struct alignas(8) Words2 {
  u32 at[2];
};
/// Reports an unaligned address: a device would fault.
WICK_FUNCTION void check_alignment(const void* at, u64 bytes, int line) {
  if (reinterpret_cast<u64>(at) % bytes != 0) wick_twin::report_misaligned(bytes, line);
}
WICK_FUNCTION Words4 load_words4(const void* from, int line = __builtin_LINE()) {
  check_alignment(from, 16, line);
  Words4 words;
  __builtin_memcpy(&words, from, 16);
  return words;
}
WICK_FUNCTION Words4 load_words4_once(const void* from, int line = __builtin_LINE()) { return load_words4(from, line); }
WICK_FUNCTION Words4 load_shared_words4(const void* shared, int line = __builtin_LINE()) {
  return load_words4(shared, line);
}
WICK_FUNCTION Words2 load_words2(const void* from, int line = __builtin_LINE()) {
  check_alignment(from, 8, line);
  Words2 words;
  __builtin_memcpy(&words, from, 8);
  return words;
}
WICK_FUNCTION void store_words4(void* to, Words4 words, int line = __builtin_LINE()) {
  check_alignment(to, 16, line);
  __builtin_memcpy(to, &words, 16);
}
WICK_FUNCTION void store_words2(void* to, Words2 words, int line = __builtin_LINE()) {
  check_alignment(to, 8, line);
  __builtin_memcpy(to, &words, 8);
}

WICK_FUNCTION void cp_async16(void* shared, const void* global, u32 bytes_valid = 16, int line = __builtin_LINE()) {
  check_alignment(shared, 16, line);
  check_alignment(global, 16, line);
  wick_twin::copy_async(shared, global, 16, bytes_valid);
}
WICK_FUNCTION void cp_async4(void* shared, const void* global, u32 bytes_valid = 4, int line = __builtin_LINE()) {
  check_alignment(shared, 4, line);
  check_alignment(global, 4, line);
  wick_twin::copy_async(shared, global, 4, bytes_valid);
}
WICK_FUNCTION void cp_async_commit() { wick_twin::copy_async_commit(); }
template <int kPending>
WICK_FUNCTION void cp_async_wait() {
  wick_twin::copy_async_wait(kPending);
}

WICK_FUNCTION u32 bits_of(f32 value) { return wick::bits_from_float(value); }
WICK_FUNCTION f32 f32_of_bits(u32 bits) { return wick::float_from_bits(bits); }
WICK_FUNCTION u64 bits_of(f64 value) { return wick::math::bits_of(value); }
WICK_FUNCTION f64 f64_of_bits(u64 bits) { return wick::math::double_of(bits); }
WICK_FUNCTION f32 f32_of_f16_bits(u16 bits) { return wick::Half::to_float(bits); }
WICK_FUNCTION u16 f16_bits_of(f32 value) { return wick::Half::from_float(value); }
WICK_FUNCTION u16 bf16_bits_of(f32 value) { return wick::BFloat16::from_float(value); }
WICK_FUNCTION u32 f16_pair(f32 low, f32 high) { return f16_bits_of(low) | static_cast<u32>(f16_bits_of(high)) << 16; }
WICK_FUNCTION u32 bf16_pair(f32 low, f32 high) {
  return bf16_bits_of(low) | static_cast<u32>(bf16_bits_of(high)) << 16;
}

WICK_FUNCTION u32 and_or(u32 a, u32 b, u32 c) { return (a & b) | c; }
WICK_FUNCTION u32 select_bytes(u32 a, u32 b, u32 selector) {
  const u64 bytes = static_cast<u64>(b) << 32 | a;
  u32 out = 0;
  for (u32 i = 0; i < 32; i += 8) out |= static_cast<u32>(bytes >> 8 * (selector >> i / 2 & 7) & 255u) << i;
  return out;
}
WICK_FUNCTION u32 high_product(u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(a) * b >> 32); }
WICK_FUNCTION u64 high_product(u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64); }
WICK_FUNCTION u32 count_bits(u32 x) { return static_cast<u32>(__builtin_popcount(x)); }
WICK_FUNCTION u32 leading_zeros(u32 x) { return x == 0 ? 32u : static_cast<u32>(__builtin_clz(x)); }

WICK_FUNCTION f32 fused_multiply_add(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
WICK_FUNCTION f64 fused_multiply_add(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
WICK_FUNCTION i32 dot_i8(u32 a, u32 b, i32 c) {
  u32 sum = static_cast<u32>(c);
  for (int i = 0; i < 32; i += 8) sum += static_cast<u32>(static_cast<i8>(a >> i) * static_cast<i8>(b >> i));
  return static_cast<i32>(sum);
}

#define WICK_HOST_FUNCTION(name)                                    \
  WICK_FUNCTION f32 name(f32 x) { return wick::math::name##_f(x); } \
  WICK_FUNCTION f64 name(f64 x) { return wick::math::name(x); }
WICK_HOST_FUNCTION(exp)
WICK_HOST_FUNCTION(expm1)
WICK_HOST_FUNCTION(log)
WICK_HOST_FUNCTION(log2)
WICK_HOST_FUNCTION(log10)
WICK_HOST_FUNCTION(log1p)
WICK_HOST_FUNCTION(sin)
WICK_HOST_FUNCTION(cos)
WICK_HOST_FUNCTION(tan)
WICK_HOST_FUNCTION(asin)
WICK_HOST_FUNCTION(acos)
WICK_HOST_FUNCTION(atan)
WICK_HOST_FUNCTION(sinh)
WICK_HOST_FUNCTION(cosh)
WICK_HOST_FUNCTION(tanh)
WICK_HOST_FUNCTION(asinh)
WICK_HOST_FUNCTION(acosh)
WICK_HOST_FUNCTION(atanh)
WICK_HOST_FUNCTION(erf)
WICK_HOST_FUNCTION(erfc)
WICK_HOST_FUNCTION(lgamma)
WICK_HOST_FUNCTION(floor)
WICK_HOST_FUNCTION(ceil)
WICK_HOST_FUNCTION(trunc)
#undef WICK_HOST_FUNCTION
WICK_FUNCTION f64 exp2(f64 x) { return wick::math::pow(2.0, x); }
WICK_FUNCTION f32 exp2(f32 x) { return static_cast<f32>(exp2(static_cast<f64>(x))); }
WICK_FUNCTION f32 exp2_approximate(f32 x) { return x < -126.0f ? 0.0f : exp2(x); }
WICK_FUNCTION f32 max_nan(f32 a, f32 b) { return a != a || a > b ? a : b; }
WICK_FUNCTION f32 sqrt(f32 x) { return wick::math::sqrt(x); }
WICK_FUNCTION f64 sqrt(f64 x) { return wick::math::sqrt(x); }
WICK_FUNCTION f32 pow(f32 x, f32 y) { return wick::math::pow_f(x, y); }
WICK_FUNCTION f64 pow(f64 x, f64 y) { return wick::math::pow(x, y); }
WICK_FUNCTION f32 atan2(f32 y, f32 x) { return wick::math::atan2_f(y, x); }
WICK_FUNCTION f64 atan2(f64 y, f64 x) { return wick::math::atan2(y, x); }
WICK_FUNCTION f32 fmod(f32 x, f32 y) { return wick::math::fmod_f(x, y); }
WICK_FUNCTION f64 fmod(f64 x, f64 y) { return wick::math::fmod(x, y); }
WICK_FUNCTION f32 copysign(f32 x, f32 sign) { return wick::math::copy_sign_f(x, sign); }
WICK_FUNCTION f64 copysign(f64 x, f64 sign) { return wick::math::copy_sign(x, sign); }
WICK_FUNCTION f32 round(f32 x) { return wick::math::round_even_f(x); }
WICK_FUNCTION f64 round(f64 x) { return wick::math::round_even(x); }
WICK_FUNCTION f64 hypot(f64 x, f64 y) {
  const f64 a = wick::math::abs(x), b = wick::math::abs(y), large = a > b ? a : b, small = a > b ? b : a;
  if (a == wick::math::kInfinity || b == wick::math::kInfinity) return wick::math::kInfinity;
  if (!(large > 0) || large != large || small != small) return large + small;
  const f64 ratio = small / large;
  return large * sqrt(1 + ratio * ratio);
}
WICK_FUNCTION f32 hypot(f32 x, f32 y) { return static_cast<f32>(hypot(static_cast<f64>(x), static_cast<f64>(y))); }

}  // namespace
}  // namespace wick_text
