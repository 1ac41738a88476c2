#include "devices/plugin/thumb.h"

#include <gtest/gtest.h>

namespace wick::device::thumb {
namespace {

struct Case {
  const char* text;
  uint16_t first, second;
  unsigned weight;
};

// Encodings as LLVM's assembler gives them.
constexpr Case kCases[] = {
    {"add r0, r1", 0x4408, 0, 1},
    {"ldrd r0, r1, [r2]", 0xe9d2, 0x0100, 1},
    {"smlad r0, r1, r2, r3", 0xfb21, 0x3002, 1},
    {"dlstp.8 lr, r0", 0xf000, 0xe001, 1},
    {"letp lr, #-8", 0xf01f, 0xc005, 1},
    {"vctp.8 r0", 0xf000, 0xe801, 1},
    {"vadd.f32 s0, s1, s2", 0xee30, 0x0a81, 1},
    {"vadd.f16 s0, s1, s2", 0xee30, 0x0981, 1},
    {"vfma.f64 d0, d1, d2", 0xeea1, 0x0b02, 1},
    {"vldr s0, [r0]", 0xed90, 0x0a00, 1},
    {"vldr.16 s0, [r0]", 0xed90, 0x0900, 1},
    {"vpush {d8-d15}", 0xed2d, 0x8b10, 1},
    {"vmov r0, r1, d0", 0xec51, 0x0b10, 1},
    {"vmov.u8 r0, q0[1]", 0xeed0, 0x0b30, 1},
    {"vmrs apsr_nzcv, fpscr", 0xeef1, 0xfa10, 1},
    {"vrinta.f32 s0, s1", 0xfeb8, 0x0a60, 1},
    {"vmaxnm.f32 s0, s1, s2", 0xfe80, 0x0a81, 1},
    {"vdup.8 q0, r0", 0xeee0, 0x0b10, 2},
    {"vdup.32 q7, lr", 0xeeae, 0xeb10, 2},
    {"vadd.i8 q0, q1, q2", 0xef02, 0x0844, 2},
    {"vmladava.s8 r0, q0, q1", 0xeef0, 0x0f22, 2},
    {"vmul.i8 q0, q1, r0", 0xee03, 0x1e60, 2},
    {"vcadd.f32 q0, q1, q2, #90", 0xfc92, 0x0844, 2},
    {"vpst", 0xfe71, 0x0f4d, 2},
    {"vldrb.u8 q0, [r0]", 0xed90, 0x1e00, 2},
    {"vldrb.u16 q7, [r7, #3]", 0xfd97, 0xee83, 2},
    {"vldrb.s32 q0, [r0], #4", 0xecb0, 0x0f04, 2},
    {"vldrw.u32 q0, [r1], #16", 0xecb1, 0x1f04, 2},
    {"vstrb.16 q3, [r3]", 0xed83, 0x6e80, 2},
    {"vld20.8 {q0, q1}, [r0]", 0xfc90, 0x1e00, 2},
    {"vst20.16 {q0, q1}, [r0]", 0xfc80, 0x1e80, 2},
    {"vldrb.u8 q0, [r0, q1]", 0xfc90, 0x0e02, 16},
    {"vldrb.s16 q0, [r0, q1]", 0xec90, 0x0e82, 8},
    {"vldrb.u32 q7, [r0, q1]", 0xfc90, 0xef02, 4},
    {"vldrh.u16 q0, [r0, q1, uxtw #1]", 0xfc90, 0x0e93, 8},
    {"vldrh.s32 q0, [r0, q1]", 0xec90, 0x0f12, 4},
    {"vldrw.u32 q0, [r0, q1, uxtw #2]", 0xfc90, 0x0f43, 4},
    {"vldrd.u64 q0, [r0, q1]", 0xfc90, 0x0fd2, 2},
    {"vldrw.u32 q0, [q1, #-4]!", 0xfd32, 0x1e01, 4},
    {"vldrd.u64 q0, [q1, #8]", 0xfd92, 0x1f01, 2},
    {"vstrb.8 q0, [r0, q1]", 0xec80, 0x0e02, 16},
    {"vstrh.32 q0, [r0, q1, uxtw #1]", 0xec80, 0x0f13, 4},
    {"vstrw.32 q0, [q1, #4]!", 0xfda2, 0x1e01, 4},
    {"vstrd.64 q0, [q1, #-8]!", 0xfd22, 0x1f01, 2},
};

TEST(Thumb, InstructionsWeighWhatTheirKindTakes) {
  for (const Case& each : kCases) EXPECT_EQ(weight(each.first, each.second), each.weight) << each.text;
}

}  // namespace
}  // namespace wick::device::thumb
