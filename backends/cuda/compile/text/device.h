// The vocabulary of kernels on a device: what NVRTC provides, under names that host.h defines too. Compiled with
// --device-as-default-execution-space, so no function carries __device__.
#define WICK_DEVICE 1
#define WICK_FUNCTION __forceinline__
#define WICK_UNROLL _Pragma("unroll")
#define WICK_NO_UNROLL _Pragma("unroll 1")
#define WICK_UNROLL_BY_2 _Pragma("unroll 2")
#define WICK_UNROLL_BY_4 _Pragma("unroll 4")
/// Begins a kernel for blocks of at most `threads` threads.
#define WICK_KERNEL(name, threads) extern "C" __global__ __launch_bounds__(threads) void name
/// The same; limits the registers of a thread so that `blocks` blocks fit on a multiprocessor.
#define WICK_KERNEL_BLOCKS(name, threads, blocks) extern "C" __global__ __launch_bounds__(threads, blocks) void name
/// An array that the threads of a block share. `count` elements, 16-byte aligned.
#define WICK_SHARED(type, name, count) __shared__ __align__(16) type name[count]
/// The same with a size that the launch chooses. A kernel has at most one.
#define WICK_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char wick_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(wick_dynamic_shared)
/// The same, 1024-byte aligned, for tiles that a warpgroup's instructions read.
#define WICK_SWIZZLED_SHARED(type, name)                                  \
  extern __shared__ __align__(1024) unsigned char wick_swizzled_shared[]; \
  type* const name = reinterpret_cast<type*>(wick_swizzled_shared)

// For the text of common/: compiler builtins that NVRTC has under other names.
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000ull)
#define __builtin_nan(payload) __builtin_bit_cast(double, 0x7ff8000000000000ull)
#define __builtin_sqrt(x) __dsqrt_rn(x)
#define __builtin_sqrtf(x) __fsqrt_rn(x)

namespace wick {
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
}  // namespace wick

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

WICK_FUNCTION u32 thread_x() { return threadIdx.x; }
WICK_FUNCTION u32 thread_y() { return threadIdx.y; }
WICK_FUNCTION u32 thread_z() { return threadIdx.z; }
WICK_FUNCTION u32 block_x() { return blockIdx.x; }
WICK_FUNCTION u32 block_y() { return blockIdx.y; }
WICK_FUNCTION u32 block_z() { return blockIdx.z; }
/// Blocks of the launch.
WICK_FUNCTION u32 grid_x() { return gridDim.x; }
WICK_FUNCTION u32 grid_y() { return gridDim.y; }
WICK_FUNCTION u32 grid_z() { return gridDim.z; }
/// Threads of a block.
WICK_FUNCTION u32 threads_x() { return blockDim.x; }
WICK_FUNCTION u32 threads_y() { return blockDim.y; }
WICK_FUNCTION u32 threads_z() { return blockDim.z; }
/// The thread's number in its warp. Threads are counted x first.
WICK_FUNCTION u32 lane() {
  u32 number;
  asm("mov.u32 %0, %%laneid;" : "=r"(number));
  return number;
}

/// All threads of the block must reach the same barrier.
WICK_FUNCTION void block_barrier() { __syncthreads(); }
/// Like block_barrier(); returns whether `predicate` holds for any thread.
WICK_FUNCTION bool block_any(bool predicate) { return __syncthreads_or(predicate) != 0; }
/// All threads of the warp must reach the same barrier. This holds for all functions of a warp below.
WICK_FUNCTION void warp_barrier() { __syncwarp(0xffffffffu); }

/// The value of another lane: lane ^ mask, lane + delta, lane - delta, or lane `from`. If there is no such lane, the
/// own value. T: i32, u32, i64, u64, f32, f64.
template <typename T>
WICK_FUNCTION T shuffle_xor(T value, u32 mask) {
  return __shfl_xor_sync(0xffffffffu, value, static_cast<int>(mask));
}
template <typename T>
WICK_FUNCTION T shuffle_down(T value, u32 delta) {
  return __shfl_down_sync(0xffffffffu, value, delta);
}
template <typename T>
WICK_FUNCTION T shuffle_up(T value, u32 delta) {
  return __shfl_up_sync(0xffffffffu, value, delta);
}
template <typename T>
WICK_FUNCTION T shuffle(T value, u32 from) {
  return __shfl_sync(0xffffffffu, value, static_cast<int>(from));
}
/// Bit i: does the predicate hold for lane i?
WICK_FUNCTION u32 ballot(bool predicate) { return __ballot_sync(0xffffffffu, predicate); }

/// Atomic, on global or shared memory. Returns the old value. T: i32, u32, i64, u64.
WICK_FUNCTION i32 atomic_add(i32* at, i32 value) { return atomicAdd(at, value); }
WICK_FUNCTION u32 atomic_add(u32* at, u32 value) { return atomicAdd(at, value); }
WICK_FUNCTION u64 atomic_add(u64* at, u64 value) { return atomicAdd(at, value); }
WICK_FUNCTION i64 atomic_add(i64* at, i64 value) {
  return static_cast<i64>(atomicAdd(reinterpret_cast<u64*>(at), static_cast<u64>(value)));
}
WICK_FUNCTION i32 atomic_min(i32* at, i32 value) { return atomicMin(at, value); }
WICK_FUNCTION u32 atomic_min(u32* at, u32 value) { return atomicMin(at, value); }
WICK_FUNCTION i64 atomic_min(i64* at, i64 value) { return atomicMin(at, value); }
WICK_FUNCTION u64 atomic_min(u64* at, u64 value) { return atomicMin(at, value); }
WICK_FUNCTION i32 atomic_max(i32* at, i32 value) { return atomicMax(at, value); }
WICK_FUNCTION u32 atomic_max(u32* at, u32 value) { return atomicMax(at, value); }
WICK_FUNCTION i64 atomic_max(i64* at, i64 value) { return atomicMax(at, value); }
WICK_FUNCTION u64 atomic_max(u64* at, u64 value) { return atomicMax(at, value); }
WICK_FUNCTION u32 atomic_or(u32* at, u32 value) { return atomicOr(at, value); }
WICK_FUNCTION u64 atomic_or(u64* at, u64 value) { return atomicOr(at, value); }
/// Writes `value` if *at is `expected`. Returns the old value.
WICK_FUNCTION u32 atomic_exchange_if(u32* at, u32 expected, u32 value) { return atomicCAS(at, expected, value); }
WICK_FUNCTION u64 atomic_exchange_if(u64* at, u64 expected, u64 value) { return atomicCAS(at, expected, value); }
/// This thread's writes before the fence are visible to other blocks before its writes after the fence.
WICK_FUNCTION void global_fence() { __threadfence(); }

/// In a dependent launch, grid_wait() waits until the previous kernel is done, and grid_launch_dependents() lets the
/// next kernel start early. Below sm_90 both do nothing: kernels run one after the other.
WICK_FUNCTION void grid_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
WICK_FUNCTION void grid_launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct alignas(16) Words4 {
  u32 at[4];
};
struct alignas(8) Words2 {
  u32 at[2];
};
/// Aligned loads and stores of 16 and 8 bytes. `line` is for reports on the host.
WICK_FUNCTION Words4 load_words4(const void* from, int line = 0) {
  const uint4 words = *static_cast<const uint4*>(from);
  return {{words.x, words.y, words.z, words.w}};
}
WICK_FUNCTION Words2 load_words2(const void* from, int line = 0) {
  const uint2 words = *static_cast<const uint2*>(from);
  return {{words.x, words.y}};
}
WICK_FUNCTION void store_words4(void* to, Words4 words, int line = 0) {
  *static_cast<uint4*>(to) = make_uint4(words.at[0], words.at[1], words.at[2], words.at[3]);
}
WICK_FUNCTION void store_words2(void* to, Words2 words, int line = 0) {
  *static_cast<uint2*>(to) = make_uint2(words.at[0], words.at[1]);
}

/// Loads 16 bytes that nobody writes and that are read once: they are not kept in the L1 cache. The load is issued at
/// this place of the program.
WICK_FUNCTION Words4 load_words4_once(const void* from, int line = 0) {
  Words4 words;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.at[0]), "=r"(words.at[1]), "=r"(words.at[2]), "=r"(words.at[3])
               : "l"(from));
  return words;
}

WICK_FUNCTION u32 shared_address(const void* shared) { return static_cast<u32>(__cvta_generic_to_shared(shared)); }
/// 2^x by the device's own instruction: the error is at most 2 units in the last place, and results below 2^-126 are 0.
WICK_FUNCTION f32 exp2_approximate(f32 x) {
  f32 power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
/// The larger value; NaN if either is NaN. For zeros of different sign, either of them.
WICK_FUNCTION f32 max_nan(f32 a, f32 b) {
  f32 larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
/// An aligned load of 16 bytes from shared memory, always one instruction. NVVM's vectorizer may split a plain load so
/// that a part is loaded twice. Whether it does depends on addresses in its own memory, so that code would differ by
/// run.
WICK_FUNCTION Words4 load_shared_words4(const void* shared, int line = 0) {
  Words4 words;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.at[0]), "=r"(words.at[1]), "=r"(words.at[2]), "=r"(words.at[3])
               : "r"(shared_address(shared))
               : "memory");
  return words;
}
/// Starts to copy 16 bytes from global to shared memory, both aligned: `bytes_valid` (at most 16) bytes, then zeros.
/// They arrive by cp_async_wait(); other threads need a barrier too.
WICK_FUNCTION void cp_async16(void* shared, const void* global, u32 bytes_valid = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
               "r"(bytes_valid)
               : "memory");
}
/// The same for 4 bytes.
WICK_FUNCTION void cp_async4(void* shared, const void* global, u32 bytes_valid = 4) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global),
               "r"(bytes_valid)
               : "memory");
}
/// Makes a group of the copies started since the last one.
WICK_FUNCTION void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the last kPending groups of this thread are under way.
template <int kPending>
WICK_FUNCTION void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

WICK_FUNCTION u32 bits_of(f32 value) { return __float_as_uint(value); }
WICK_FUNCTION f32 f32_of_bits(u32 bits) { return __uint_as_float(bits); }
WICK_FUNCTION u64 bits_of(f64 value) { return static_cast<u64>(__double_as_longlong(value)); }
WICK_FUNCTION f64 f64_of_bits(u64 bits) { return __longlong_as_double(static_cast<i64>(bits)); }
WICK_FUNCTION f32 f32_of_f16_bits(u16 bits) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
WICK_FUNCTION u16 f16_bits_of(f32 value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
WICK_FUNCTION u16 bf16_bits_of(f32 value) {
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
/// Two floats rounded to nearest even, `low` in the lower half.
WICK_FUNCTION u32 f16_pair(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
WICK_FUNCTION u32 bf16_pair(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// (a & b) | c, as one instruction.
WICK_FUNCTION u32 and_or(u32 a, u32 b, u32 c) {
  u32 bits;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(bits) : "r"(a), "r"(b), "r"(c));
  return bits;
}
/// Hexadecimal digit i of `selector` chooses byte i of the result among eight bytes: 0 to 3 are those of a, from the
/// lowest, 4 to 7 those of b.
WICK_FUNCTION u32 select_bytes(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }
WICK_FUNCTION u32 high_product(u32 a, u32 b) { return __umulhi(a, b); }
WICK_FUNCTION u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
WICK_FUNCTION u32 count_bits(u32 x) { return static_cast<u32>(__popc(x)); }
/// The number of zeros above the most significant set bit; 32 if none is set.
WICK_FUNCTION u32 leading_zeros(u32 x) { return static_cast<u32>(__clz(static_cast<int>(x))); }

/// a * b + c rounded once.
WICK_FUNCTION f32 fused_multiply_add(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
WICK_FUNCTION f64 fused_multiply_add(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
/// c + the sum of a[i] * b[i] over the four bytes.
WICK_FUNCTION i32 dot_i8(u32 a, u32 b, i32 c) { return __dp4a(static_cast<i32>(a), static_cast<i32>(b), c); }

#define WICK_DEVICE_FUNCTION(name)                       \
  WICK_FUNCTION f32 name(f32 x) { return ::name##f(x); } \
  WICK_FUNCTION f64 name(f64 x) { return ::name(x); }
WICK_DEVICE_FUNCTION(exp)
WICK_DEVICE_FUNCTION(exp2)
WICK_DEVICE_FUNCTION(expm1)
WICK_DEVICE_FUNCTION(log)
WICK_DEVICE_FUNCTION(log2)
WICK_DEVICE_FUNCTION(log10)
WICK_DEVICE_FUNCTION(log1p)
WICK_DEVICE_FUNCTION(sin)
WICK_DEVICE_FUNCTION(cos)
WICK_DEVICE_FUNCTION(tan)
WICK_DEVICE_FUNCTION(asin)
WICK_DEVICE_FUNCTION(acos)
WICK_DEVICE_FUNCTION(atan)
WICK_DEVICE_FUNCTION(sinh)
WICK_DEVICE_FUNCTION(cosh)
WICK_DEVICE_FUNCTION(tanh)
WICK_DEVICE_FUNCTION(asinh)
WICK_DEVICE_FUNCTION(acosh)
WICK_DEVICE_FUNCTION(atanh)
WICK_DEVICE_FUNCTION(erf)
WICK_DEVICE_FUNCTION(erfc)
WICK_DEVICE_FUNCTION(lgamma)
WICK_DEVICE_FUNCTION(sqrt)
WICK_DEVICE_FUNCTION(floor)
WICK_DEVICE_FUNCTION(ceil)
WICK_DEVICE_FUNCTION(trunc)
#undef WICK_DEVICE_FUNCTION
#define WICK_DEVICE_FUNCTION(name)                                 \
  WICK_FUNCTION f32 name(f32 x, f32 y) { return ::name##f(x, y); } \
  WICK_FUNCTION f64 name(f64 x, f64 y) { return ::name(x, y); }
WICK_DEVICE_FUNCTION(pow)
WICK_DEVICE_FUNCTION(atan2)
WICK_DEVICE_FUNCTION(hypot)
WICK_DEVICE_FUNCTION(fmod)
WICK_DEVICE_FUNCTION(copysign)
#undef WICK_DEVICE_FUNCTION
/// To the nearest integer, ties to even.
WICK_FUNCTION f32 round(f32 x) { return ::rintf(x); }
WICK_FUNCTION f64 round(f64 x) { return ::rint(x); }

}  // namespace
}  // namespace wick_text
