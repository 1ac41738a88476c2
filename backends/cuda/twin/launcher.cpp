// Runs kernels on the host: each thread of a block is a fiber that runs until it waits. C++17, part of the text of a
// twin library.
#include <pthread.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "backends/cuda/twin/fiber_switch.h"
#include "backends/cuda/twin/fibers.h"

namespace wick_twin {

Current current;

namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kMaxOrderedBlocks = uint64_t{1} << 24;  // more run in ascending order
constexpr int kPoison = 0xff;                              // NaN in every floating dtype
constexpr size_t kGuardBytes = 64;
constexpr unsigned char kGuard = 0xa5;

enum class State : uint8_t { ready, waits_for_warp, waits_for_block, done };

struct Copy {
  void* to;
  const void* from;
  uint32_t size_bytes, valid_bytes, group;
};

struct Fiber {
  Place place;
  State state = State::ready;
  const char* operation = "";  // where it waits
  int line = 0;
  uint32_t number = 0;
  uint32_t exchanges = 0, warp_waits = 0;
  uint32_t group = 0;  // number of the group of asynchronous copies that is being filled
  std::vector<Copy> copies;
};

/// The thread that wrote a byte of shared memory since the last barrier of the block.
struct Writer {
  uint32_t number = UINT32_MAX, warp_waits = 0;
};

struct Region {
  const void* site = nullptr;
  size_t size_bytes = 0;
  std::vector<unsigned char> memory;  // guard, bytes, guard
  uint64_t block = 0;                 // the block for which it was filled with NaN
  std::vector<unsigned char> seen;    // check_writes: the bytes when the last thread stopped
  std::vector<Writer> writers;

  unsigned char* bytes() { return memory.data() + kGuardBytes; }
  const unsigned char* bytes() const { return memory.data() + kGuardBytes; }
};

struct Slots {
  alignas(16) char lanes[2][kWarp * kSlotBytes];
};

enum Order : uint32_t { ascending, descending, shuffled };

struct Settings {
  uint32_t order = ascending;
  uint64_t seed = 0;
  bool check_writes = false;
};

struct Launch {
  const TwinKernel* kernel = nullptr;
  void* const* parameters = nullptr;
  uint32_t num_threads = 0, dynamic_shared_bytes = 0;
  uint64_t block_number = 0;  // counts from 1
  uint64_t random = 0;
  bool fibers = false;
  std::vector<Fiber> threads;
  std::vector<Slots> slots;
  std::vector<Region> regions;
  std::vector<uint32_t> block_order, warp_order, lane_order;
  bool any = false, any_result = false;  // of block_any()
  Place scheduler;
  Fiber* running = nullptr;
};

// Not std::mutex: its header is a large part of what a twin compiles.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct Lock {
  Lock() { pthread_mutex_lock(&mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex); }
};

Settings settings;
Launch launch;
Stacks stacks;
char error[512];  // "" while nothing is wrong

uint64_t next_random() {  // splitmix64
  uint64_t z = launch.random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void make_order(uint32_t count, std::vector<uint32_t>* order) {
  order->resize(count);
  for (uint32_t i = 0; i < count; ++i) (*order)[i] = settings.order == descending ? count - 1 - i : i;
  if (settings.order != shuffled) return;
  for (uint32_t i = count; i > 1; --i) std::swap((*order)[i - 1], (*order)[next_random() % i]);
}

Dim3 thread_of(uint32_t number) {
  const Dim3 size = current.threads;
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

/// Keeps the first report.
__attribute__((format(printf, 1, 2))) void set_error(const char* format, ...) {
  if (error[0]) return;
  const Dim3 block = current.block;
  const int n = std::snprintf(error, sizeof error, "kernel %s, block (%u, %u, %u): ", launch.kernel->name, block.x,
                              block.y, block.z);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error + n, sizeof error - static_cast<size_t>(n), format, arguments);
  va_end(arguments);
}

struct ThreadText {
  char text[48];
  explicit ThreadText(uint32_t number) {
    const Dim3 thread = thread_of(number);
    std::snprintf(text, sizeof text, "thread (%u, %u, %u)", thread.x, thread.y, thread.z);
  }
};

void set_current(const Fiber& fiber) {
  current.number = fiber.number;
  current.thread = thread_of(fiber.number);
}

/// Returns to the scheduler. Without fibers there is none, and the thread goes on.
void stop(State state) {
  if (!launch.fibers) return;
  Fiber& self = *launch.running;
  self.state = state;
  switch_place(self.place, launch.scheduler);
}

bool may_wait(const char* operation, int line) {
  if (launch.fibers) return true;
  set_error("%s waits at %s, line %d, but the kernel is said to have no barriers", ThreadText(current.number).text,
            operation, line);
  return false;
}

void wait(State state, const char* operation, int line) {
  launch.running->operation = operation;
  launch.running->line = line;
  stop(state);
}

void fiber_entry() {
  arrive(launch.scheduler);
  launch.kernel->call(launch.parameters);
  stop(State::done);
}

// ---- shared memory

Region* find_region(const void* site, size_t size_bytes) {
  for (Region& region : launch.regions) {
    if (region.site == site) return &region;
  }
  launch.regions.emplace_back();
  Region& region = launch.regions.back();
  region.site = site;
  region.size_bytes = size_bytes;
  region.memory.resize(size_bytes + 2 * kGuardBytes);
  return &region;
}

void poison(Region* region) {
  region->block = launch.block_number;
  std::memset(region->memory.data(), kGuard, region->memory.size());
  std::memset(region->bytes(), kPoison, region->size_bytes);
  if (!settings.check_writes) return;
  region->seen.assign(region->size_bytes, kPoison);
  region->writers.assign(region->size_bytes, Writer());
}

bool guards_hold(const Region& region) {
  const unsigned char* const guards[] = {region.memory.data(), region.bytes() + region.size_bytes};
  for (const unsigned char* guard : guards) {
    for (size_t i = 0; i < kGuardBytes; ++i) {
      if (guard[i] != kGuard) return false;
    }
  }
  return true;
}

/// Whether two threads wrote with no barrier between: none of the warp (one of the block forgets the first writer).
bool conflict(const Writer& first, const Writer& second) {
  if (first.number == UINT32_MAX || first.number == second.number) return false;
  return first.number / kWarp != second.number / kWarp || first.warp_waits == second.warp_waits;
}

/// Finds what `writer` changed since the last thread stopped.
void note_writes(const Writer& writer) {
  for (Region& region : launch.regions) {
    if (region.block != launch.block_number) continue;
    const unsigned char* const now = region.bytes();
    for (size_t i = 0; i < region.size_bytes; ++i) {
      if (now[i] == region.seen[i]) continue;
      region.seen[i] = now[i];
      if (conflict(region.writers[i], writer)) {
        set_error("%s and %s write the same shared memory without a barrier between, %zu bytes into an array of %zu",
                  ThreadText(region.writers[i].number).text, ThreadText(writer.number).text, i, region.size_bytes);
      }
      region.writers[i] = writer;
    }
  }
}

// ---- scheduling

uint32_t first_of_warp(uint32_t warp) { return warp * kWarp; }
uint32_t lanes_of_warp(uint32_t warp) { return std::min(kWarp, launch.num_threads - warp * kWarp); }

/// Whether threads [first, first + count) all wait in `state` at one place.
bool all_wait(uint32_t first, uint32_t count, State state) {
  const Fiber& leader = launch.threads[first];
  for (uint32_t i = first; i < first + count; ++i) {
    const Fiber& fiber = launch.threads[i];
    if (fiber.state != state || fiber.line != leader.line || std::strcmp(fiber.operation, leader.operation) != 0) {
      return false;
    }
  }
  return true;
}

void set_ready(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) launch.threads[i].state = State::ready;
}

void describe(const Fiber& fiber, char* text, size_t size) {
  const ThreadText thread(fiber.number);
  if (fiber.state == State::done) {
    std::snprintf(text, size, "%s has returned", thread.text);
  } else {
    std::snprintf(text, size, "%s waits at %s, line %d", thread.text, fiber.operation, fiber.line);
  }
}

/// Names two threads that do not wait at the same place.
void report_divergence() {
  const Fiber* waiting = nullptr;
  for (const Fiber& fiber : launch.threads) {
    if (fiber.state != State::done && (!waiting || fiber.state == State::waits_for_warp)) waiting = &fiber;
    if (waiting && waiting->state == State::waits_for_warp) break;
  }
  const bool warp = waiting->state == State::waits_for_warp;
  const Fiber* other = nullptr;
  for (const Fiber& fiber : launch.threads) {
    if (warp && fiber.number / kWarp != waiting->number / kWarp) continue;
    if (fiber.state != waiting->state || fiber.line != waiting->line ||
        std::strcmp(fiber.operation, waiting->operation) != 0) {
      other = &fiber;
      break;
    }
  }
  char one[160], two[160] = "";
  describe(*waiting, one, sizeof one);
  if (other) describe(*other, two, sizeof two);
  set_error("threads of a %s diverge: %s, %s", warp ? "warp" : "block", one, two);
}

void run_thread(Fiber& fiber) {
  const Writer writer{fiber.number, fiber.warp_waits};
  launch.running = &fiber;
  set_current(fiber);
  switch_place(launch.scheduler, fiber.place);
  if (settings.check_writes) note_writes(writer);
}

/// Runs the lanes of a warp until each has returned, waits for the block, or waits for lanes that do neither.
void run_warp(uint32_t warp) {
  const uint32_t first = first_of_warp(warp), count = lanes_of_warp(warp);
  bool ran = true;
  while (ran && !error[0]) {
    ran = false;
    make_order(count, &launch.lane_order);
    for (const uint32_t lane : launch.lane_order) {
      Fiber& fiber = launch.threads[first + lane];
      if (fiber.state != State::ready) continue;
      run_thread(fiber);
      if (error[0]) return;
      ran = true;
    }
    if (all_wait(first, count, State::waits_for_warp)) set_ready(first, count);
  }
}

bool block_done() {
  for (const Fiber& fiber : launch.threads) {
    if (fiber.state != State::done) return false;
  }
  return true;
}

void pass_block_barrier() {
  launch.any_result = launch.any;
  launch.any = false;
  for (Region& region : launch.regions) std::fill(region.writers.begin(), region.writers.end(), Writer());
  set_ready(0, launch.num_threads);
}

/// Runs each warp as far as it gets before the next one. So a missing wait for another warp shows.
void run_fibers() {
  const uint32_t num_warps = (launch.num_threads + kWarp - 1) / kWarp;
  for (uint32_t i = 0; i < launch.num_threads; ++i) {
    Fiber& fiber = launch.threads[i];
    fiber.state = State::ready;
    fiber.number = i;
    fiber.exchanges = fiber.warp_waits = fiber.group = 0;
    fiber.copies.clear();
    stacks.begin(i, fiber.place, fiber_entry);
  }
  while (!block_done()) {
    make_order(num_warps, &launch.warp_order);
    for (const uint32_t warp : launch.warp_order) {
      run_warp(warp);
      if (error[0]) return;
    }
    if (all_wait(0, launch.num_threads, State::waits_for_block)) {
      pass_block_barrier();
    } else if (!block_done()) {
      return report_divergence();
    }
  }
}

void run_plain() {
  make_order(launch.num_threads, &launch.lane_order);
  for (const uint32_t i : launch.lane_order) {
    current.number = i;
    current.thread = thread_of(i);
    launch.kernel->call(launch.parameters);
    if (error[0]) return;
  }
}

void run_block(uint64_t index) {
  const Dim3 grid = current.grid;
  current.block = {static_cast<uint32_t>(index % grid.x), static_cast<uint32_t>(index / grid.x % grid.y),
                   static_cast<uint32_t>(index / grid.x / grid.y)};
  ++launch.block_number;
  launch.any = false;
  launch.fibers ? run_fibers() : run_plain();
  for (const Region& region : launch.regions) {
    if (region.block == launch.block_number && !guards_hold(region)) {
      set_error("a write outside a shared array of %zu bytes", region.size_bytes);
    }
  }
}

bool begin_launch(const TwinKernel& kernel, Dim3 grid, Dim3 block, uint32_t dynamic_shared_bytes,
                  void* const* parameters) {
  error[0] = 0;
  current = {};
  current.grid = grid;
  current.threads = block;
  launch.kernel = &kernel;
  launch.parameters = parameters;
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  launch.fibers = kernel.has_barriers;
  launch.random = settings.seed;
  launch.regions.clear();
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads || block.z > 64 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.x > INT32_MAX || grid.y > UINT16_MAX || grid.z > UINT16_MAX) {
    set_error("no launch of %u x %u x %u blocks of %u x %u x %u threads", grid.x, grid.y, grid.z, block.x, block.y,
              block.z);
    return false;
  }
  launch.num_threads = static_cast<uint32_t>(threads);
  if (!launch.fibers) return true;
  launch.threads.resize(launch.num_threads);
  launch.slots.resize((launch.num_threads + kWarp - 1) / kWarp);
  if (stacks.reserve(launch.num_threads)) return true;
  set_error("no memory for the threads' stacks");
  return false;
}

}  // namespace

void block_wait(const char* operation, int line) {
  if (may_wait(operation, line)) wait(State::waits_for_block, operation, line);
}

bool block_any(bool predicate, int line) {
  if (predicate) launch.any = true;
  block_wait("block_any", line);
  return launch.any_result;
}

void warp_wait(const char* operation, int line) {
  if (!may_wait(operation, line)) return;
  if (launch.num_threads % kWarp != 0) {
    set_error("%s in a block of %u threads, no multiple of %u", operation, launch.num_threads, kWarp);
    return stop(State::done);
  }
  wait(State::waits_for_warp, operation, line);
  ++launch.running->warp_waits;
}

void* exchange(const char* operation, int line, const void* value, size_t value_bytes) {
  static Slots nothing;
  if (!launch.fibers) {
    may_wait(operation, line);
    return nothing.lanes[0];
  }
  Fiber& self = *launch.running;
  // Two sets of slots, used in turns: a lane that is ahead fills the other set while other lanes still read this one.
  char* const slots = launch.slots[self.number / kWarp].lanes[self.exchanges++ % 2];
  std::memcpy(slots + self.number % kWarp * kSlotBytes, value, value_bytes);
  warp_wait(operation, line);
  return slots;
}

void* shared_memory(const void* site, size_t size_bytes) {
  Region* const region = find_region(site, size_bytes);
  if (region->block != launch.block_number) poison(region);
  return region->bytes();
}

void* dynamic_shared_memory() { return shared_memory(&launch, launch.dynamic_shared_bytes); }
uint32_t dynamic_shared_bytes() { return launch.dynamic_shared_bytes; }

void copy_async(void* shared, const void* global, uint32_t size_bytes, uint32_t valid_bytes) {
  if (!launch.fibers) {
    may_wait("cp_async", 0);
    return;
  }
  std::memset(shared, kPoison, size_bytes);
  Fiber& self = *launch.running;
  self.copies.push_back({shared, global, size_bytes, std::min(size_bytes, valid_bytes), self.group});
}

void copy_async_commit() {
  if (launch.fibers) ++launch.running->group;
}

void copy_async_wait(uint32_t pending_groups) {
  if (!launch.fibers) return;
  Fiber& self = *launch.running;
  size_t landed = 0;
  for (; landed < self.copies.size(); ++landed) {
    const Copy& copy = self.copies[landed];
    if (copy.group + pending_groups >= self.group) break;
    std::memset(copy.to, 0, copy.size_bytes);
    std::memcpy(copy.to, copy.from, copy.valid_bytes);
  }
  self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<std::ptrdiff_t>(landed));
}

void report_misaligned(uint64_t size_bytes, int line) {
  set_error("%s accesses %u bytes at an address that is no multiple of it, line %d", ThreadText(current.number).text,
            static_cast<unsigned>(size_bytes), line);
  stop(State::done);
}

void report_product(const char* what, int line) {
  set_error("a matrix instruction of %s %s, line %d", ThreadText(current.number).text, what, line);
  stop(State::done);
}

const char* twin_launch(const TwinKernel& kernel, Dim3 grid, Dim3 block, uint32_t dynamic_shared_bytes,
                        void* const* parameters) {
  const Lock lock;
  if (!begin_launch(kernel, grid, block, dynamic_shared_bytes, parameters)) return error;
  const uint64_t count = uint64_t{grid.x} * grid.y * grid.z;
  if (count <= kMaxOrderedBlocks) make_order(static_cast<uint32_t>(count), &launch.block_order);
  for (uint64_t i = 0; i < count && !error[0]; ++i) run_block(count <= kMaxOrderedBlocks ? launch.block_order[i] : i);
  launch.regions.clear();
  return error[0] ? error : nullptr;
}

void release_stacks() {
  const Lock lock;
  stacks.release();
}
size_t count_stacks() {
  const Lock lock;
  return stacks.count();
}

}  // namespace wick_twin

extern "C" {
void wick_twin_set_order(uint32_t order, uint64_t seed) {
  wick_twin::settings.order = order;
  wick_twin::settings.seed = seed;
}
void wick_twin_check_writes(bool on) { wick_twin::settings.check_writes = on; }
const char* wick_twin_launch(const char* kernel, const uint32_t* grid, const uint32_t* block,
                             uint32_t dynamic_shared_bytes, void* const* parameters) {
  for (uint32_t i = 0; i < kNumTwinKernels; ++i) {
    if (std::strcmp(kTwinKernels[i].name, kernel) != 0) continue;
    return wick_twin::twin_launch(kTwinKernels[i], {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]},
                                  dynamic_shared_bytes, parameters);
  }
  return "no kernel of that name";
}
}
