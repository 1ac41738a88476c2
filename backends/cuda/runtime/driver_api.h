// The part of the CUDA driver's interface that the delegate uses. Numbers and layouts are fixed by the driver. C++17.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick::cuda {

using DriverStatus = int;
using DevicePtr = uint64_t;
using DeviceNumber = int;  // a handle: cuDeviceGet gives it
struct DriverContext;
struct DriverModule;
struct DriverFunction;
struct DriverStream;
struct DriverEvent;
struct DriverArray;
struct DriverGraph;
struct DriverGraphNode;
struct DriverGraphExec;

/// Status codes of calls.
constexpr DriverStatus kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kStubLibrary = 34, kNeedsNewerDriver = 35,
                       kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200, kNoBinaryForDevice = 209,
                       kInvalidPtx = 218, kNoJitCompiler = 221, kUnsupportedPtxVersion = 222, kJitDisabled = 223,
                       kNotFound = 500;

/// Attributes of a device.
constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76, kMaxSharedBytesOptIn = 97;
/// Attributes of a function.
constexpr int kFunctionMaxThreads = 0, kFunctionMaxDynamicSharedBytes = 8;
/// Attribute of a pointer, and its values.
constexpr int kPointerMemoryType = 2, kPointerIsManaged = 8;
constexpr unsigned kMemoryHost = 1, kMemoryDevice = 2;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0, kEventNoTiming = 2;

struct KernelNodeParams {
  DriverFunction* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

struct MemcpyEnd {
  size_t x_bytes, y, z, level;
  unsigned memory_type;
  void* host;
  DevicePtr device;
  DriverArray* array;
  void* reserved;
  size_t pitch, height;
};

/// The largest MemcpyEnd::pitch. 0: not given; allowed for copies of one row.
constexpr size_t kMaxPitch = INT32_MAX;

struct MemcpyParams {
  MemcpyEnd source, destination;
  size_t width_bytes, height, depth;
};
static_assert(sizeof(MemcpyParams) == 200, "as cuGraphAddMemcpyNode reads it");

struct MemsetParams {
  DevicePtr destination;
  size_t pitch;
  unsigned value;
  unsigned element_bytes;
  size_t width, height;
};
static_assert(sizeof(MemsetParams) == 40, "as cuGraphAddMemsetNode reads it");

}  // namespace wick::cuda
