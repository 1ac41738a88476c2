// The protocol between the tool and a device: two streams of little-endian fields, requests and replies. C++17,
// freestanding.
//
// A request is u32 Request, u64 bytes that follow, and by kind:
//
//   load   u32 kProtocolVersion, u64 seed, u64 max_instructions, u32 traced?, u32 count, paths: the .pte, then .ptd
//          files. Without tracing nothing runs between kernels, and a fault cannot name its instruction
//   call   string method, u32 Watch, u32 count, values
//
// A string is u32 bytes and the bytes. A value is u32 tag and, by tag: tensor: u32 dtype, u32 rank, i32 sizes[rank],
// u8 dim_order[rank], u32 bytes, the elements in the order of memory; integer, boolean: i64; real: f64; string: string.
// A request has one or more replies, each u32 Reply and fields. The last one ends the request:
//
//   loaded    ends load: u32 bytes of memory
//   step      u32 chain, u32 instruction: that instruction has run (Watch::steps, Watch::results)
//     results   after a step: u32 count, the tensors that the instruction wrote, without tags
//   done      ends call: u32 load stack, u32 execution stack, u32 temp, u32 method arena, u32 count, values
//   failed    ends any: u32 ErrorKind, u32 Error, string message, u32 in an instruction?, u32 chain, u32 instruction,
//             u32 count, {u32 dtype, u32 rank, i32 sizes[rank]} of its tensors
//
// A fault ends the device. It writes u32 words to a third stream: those of FaultReport.
#pragma once
#include <stdint.h>

#include "devices/board/fault.h"
#include "devices/watch.h"

namespace wick::device {

constexpr uint32_t kProtocolVersion = 1;
constexpr uint32_t kMaxTextBytes = 4096;  // limit of a path, a name, a message or a string value

enum class Request : uint32_t { load = 1, call = 2 };
enum class Reply : uint32_t { failed = 0, loaded = 1, step = 2, results = 3, done = 4 };

enum class Phase : uint32_t { idle, loading_program, loading_method, setting_inputs, executing };

struct FaultReport {
  Phase phase = Phase::idle;
  uint32_t in_instruction = 0, chain = 0, instruction = 0;
  board::Fault fault;
};

// No-operations that the instruction counter recognizes.
/// Marks the start of a request: its instruction budget counts from here.
#define WICK_DEVICE_BUDGET 0x46db  // mov r11, r11
/// Records the counts at this moment.
#define WICK_DEVICE_SNAPSHOT 0x46d2  // mov r10, r10

}  // namespace wick::device
