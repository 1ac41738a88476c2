// A plugin for QEMU (interface 1) that counts the instructions an Arm M-profile core executes.
//
// Arguments: out=FD, a file descriptor that receives a record {u64 instructions, u64 weighted cycles} whenever the
// program executes the no-operation of a snapshot; limit=N, the number of instructions that may follow the no-operation
// that begins a request (0: no limit). Above it QEMU ends with status kOverBudgetStatus.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "devices/plugin/counter_exit.h"
#include "devices/plugin/thumb.h"
#include "devices/protocol.h"

// QEMU's interface, as far as it is used here. QEMU defines these functions.
extern "C" {
struct qemu_plugin_tb;
struct qemu_plugin_insn;
using PluginId = uint64_t;
__attribute__((visibility("default"))) extern int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(PluginId id, const void* info, int argc, char** argv);
void qemu_plugin_register_vcpu_tb_trans_cb(PluginId id, void (*translated)(PluginId, qemu_plugin_tb*));
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* block, size_t index);
const void* qemu_plugin_insn_data(const qemu_plugin_insn* instruction);
size_t qemu_plugin_insn_size(const qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* instruction, void (*executed)(unsigned core, void* data),
                                            int flags, void* data);
void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn* instruction, int operation, void* counter,
                                                uint64_t addend);
int qemu_plugin_version = 1;
}

namespace wick::device {
namespace {

constexpr int kNoRegisters = 0, kAdd = 0;  // flags of a callback, operation of an inline count

struct Counters {
  uint64_t instructions, weighted_cycles;
};
// The code that QEMU translates increments them.
Counters counters;
std::atomic<uint64_t> request_begin{0};
uint64_t limit = 0;
int out = -1;

bool is_over_budget() {
  const uint64_t now = __atomic_load_n(&counters.instructions, __ATOMIC_RELAXED);
  return limit != 0 && now > request_begin + limit;
}

void end_if_over_budget() {
  if (is_over_budget()) _exit(kOverBudgetStatus);
}

void begin_request(unsigned, void*) { request_begin = counters.instructions; }

void take_snapshot(unsigned, void*) {
  end_if_over_budget();
  if (out >= 0 && write(out, &counters, sizeof counters) != static_cast<ssize_t>(sizeof counters)) _exit(1);
}

void count(PluginId, qemu_plugin_tb* block) {
  const size_t size = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < size; ++i) {
    qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    uint16_t halves[2] = {};
    const size_t size_bytes = qemu_plugin_insn_size(instruction);
    memcpy(halves, qemu_plugin_insn_data(instruction), size_bytes < sizeof halves ? size_bytes : sizeof halves);
    if (halves[0] == WICK_DEVICE_BUDGET)
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, begin_request, kNoRegisters, nullptr);
    if (halves[0] == WICK_DEVICE_SNAPSHOT)
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, take_snapshot, kNoRegisters, nullptr);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, kAdd, &counters.instructions, 1);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, kAdd, &counters.weighted_cycles,
                                               thumb::weight(halves[0], halves[1]));
  }
}

// Ends QEMU for code that exceeds the limit and never reaches a snapshot.
void watch_budget() {
  constexpr useconds_t kInterval_us = 10'000;
  for (;;) {
    usleep(kInterval_us);
    end_if_over_budget();
  }
}

}  // namespace
}  // namespace wick::device

int qemu_plugin_install(PluginId id, const void*, int argc, char** argv) {
  using namespace wick::device;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "out=", 4) == 0) out = atoi(argv[i] + 4);
    if (strncmp(argv[i], "limit=", 6) == 0) limit = strtoull(argv[i] + 6, nullptr, 10);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, count);
  if (limit != 0) std::thread(watch_budget).detach();
  return 0;
}
