// State of the stand-in for the CUDA driver: memory, streams, graphs, and the faults that it was asked for. C++17, part
// of the text of a twin library, which is compiled often: plain types, few templates.
//
// It is as strict as a driver may be. Work on a stream begins only when somebody waits for it, even if the stream has
// been destroyed. Nodes of a graph run in the last order that their dependencies allow. Memory starts as NaN, and bytes
// around each allocation are watched.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/twin/stand_in.h"
#include "backends/cuda/twin/twin_kernels.h"

namespace wick_stand_in {

enum Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  stub_library = 34,
  no_device = 100,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_device = 209,
  no_jit_compiler = 221,
  unsupported_ptx = 222,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_failed = 719,
};

constexpr size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xa5, kPoison = 0xff;  // NaN in every floating dtype
constexpr uint32_t kPlainSharedBytes = 48 << 10, kMaxSharedBytes = 227 << 10;

struct Free {
  void operator()(unsigned char* memory) const { std::free(memory); }
};
using Bytes = std::unique_ptr<unsigned char, Free>;

/// `first` points to a guard, `size_bytes` bytes, and another guard.
struct Allocation {
  uint64_t size_bytes;
  Bytes first;
  uint64_t address() const { return reinterpret_cast<uint64_t>(first.get() + kGuardBytes); }
};

struct Function {
  const wick_twin::TwinKernel* kernel;
  uint32_t max_dynamic_shared_bytes;
};
struct LoadedImage {
  std::vector<Function> functions;  // never grows: functions are handles
};

struct Stream;
struct Exec;
struct Event {
  std::shared_ptr<Stream> stream;
  uint64_t recorded, reached;  // how many recordings were asked for, and how many have run
  uint64_t tick;
  bool has_time;
};

/// An operation on a stream or in a graph.
struct Operation {
  enum Kind { nothing, upload, download, copy, fill, launch, record, wait, graph } kind;
  uint64_t to, from, size_bytes;  // copies and fills; upload: `bytes` holds what is copied, unless it is pinned
  unsigned char value;
  std::shared_ptr<unsigned char> bytes;
  Function* function;  // launch
  wick_twin::Dim3 grid, block;
  uint32_t shared_bytes;
  std::vector<uint64_t> numbers;  // parameters: up to 8 bytes each
  Event* event;                   // record, wait: `number` of its recordings
  uint64_t number;
  std::shared_ptr<Stream> recorded_on;  // wait
  Exec* exec;
};

/// Operations of a stream. They run even if callers have destroyed the stream.
struct Stream {
  std::vector<Operation> waiting;
  size_t next;  // the first that has not run
};
/// The handle that callers have of a stream. A new stream may reuse the handle of one that was destroyed.
struct StreamHandle {
  std::shared_ptr<Stream> stream;
};
struct Node {
  Operation operation;
  std::vector<size_t> after;
};
struct Graph {
  std::vector<Node*> nodes;
};
struct Exec {
  std::vector<Node> nodes;
  std::vector<const Node*> origins;
};

/// A number that tests may change, or a count.
struct Setting {
  const char* name;
  int64_t initial, value;
};
enum SettingIndex {
  s_stub,
  s_no_device,
  s_driver_version,
  s_devices,
  s_architecture,
  s_shared_bytes,
  s_kernel_threads,
  s_memory_bytes,
  s_newer_ptx,
  s_no_jit,
  s_out_of_memory_at,
  s_launch_fails_at,
  s_illegal_address_at,
  s_graph_in_order,
  s_no_pinned_memory,
  s_no_push,
  c_allocations,
  c_launches,
  c_copies,
  c_copies_to_device,
  c_copies_to_host,
  c_pinned_copies,
  c_graphs,
  c_graph_launches,
  c_node_changes,
  c_pointer_checks,
  num_settings,
};

struct Driver {
  std::recursive_mutex mutex;
  Setting settings[num_settings] = {
      {"stub", 0, 0},
      {"no_device", 0, 0},
      {"driver_version", 13000, 13000},
      {"devices", 2, 2},
      {"architecture", 90, 90},
      {"shared_bytes", kMaxSharedBytes, kMaxSharedBytes},
      {"kernel_threads", 1024, 1024},
      {"memory_bytes", int64_t{1} << 30, int64_t{1} << 30},
      {"newer_ptx", 0, 0},
      {"no_jit", 0, 0},
      {"out_of_memory_at", 0, 0},
      {"launch_fails_at", 0, 0},
      {"illegal_address_at", 0, 0},
      {"graph_in_order", 0, 0},
      {"no_pinned_memory", 0, 0},
      {"no_push", 0, 0},
      {"allocations", 0, 0},
      {"launches", 0, 0},
      {"copies", 0, 0},
      {"copies_to_device", 0, 0},
      {"copies_to_host", 0, 0},
      {"pinned_copies", 0, 0},
      {"graphs", 0, 0},
      {"graph_launches", 0, 0},
      {"node_changes", 0, 0},
      {"pointer_checks", 0, 0},
  };
  std::vector<Allocation> memory, pinned;
  std::vector<void*> handles;  // of the objects that are alive
  std::vector<StreamHandle*> unused_handles;
  uint64_t num_images = 0;
  std::shared_ptr<Stream> default_stream{new Stream()};
  int fault = success;  // sticky
  char fault_text[512] = "";
  uint64_t num_retained = 0, ticks = 0;
  bool is_initialized = false;
};

inline Driver& driver() {
  static Driver* the_driver = new Driver;  // delegates may be destroyed after static objects
  return *the_driver;
}

inline thread_local int t_depth = 0;
inline thread_local int t_num_contexts = 0;  // on the thread's stack of contexts
inline char g_context;

/// One call of the driver.
struct Call {
  Call() {
    driver().mutex.lock();
    ++t_depth;
  }
  ~Call() {
    --t_depth;
    driver().mutex.unlock();
  }
};

inline int64_t setting(SettingIndex index) { return driver().settings[index].value; }
inline void count(SettingIndex index) { ++driver().settings[index].value; }
inline Setting* find_setting(const char* name, size_t size) {
  for (Setting& each : driver().settings) {
    if (std::strlen(each.name) == size && std::memcmp(each.name, name, size) == 0) return &each;
  }
  return nullptr;
}

/// Counts down to the call that fails.
inline bool comes_due(SettingIndex index) {
  int64_t& value = driver().settings[index].value;
  return value > 0 && --value == 0;
}

inline void read_environment() {
  const char* text = std::getenv("WICK_TWIN");
  while (text && *text) {
    const size_t name = std::strcspn(text, "=,"), end = std::strcspn(text, ",");
    Setting* const found = find_setting(text, name);
    if (found && text[name] == '=') found->value = std::atoll(text + name + 1);
    text += end + (text[end] == ',');
  }
}

inline int set_fault(int status, const char* first, const char* second = "", const char* third = "") {
  if (driver().fault == success) {
    driver().fault = status;
    std::snprintf(driver().fault_text, sizeof driver().fault_text, "%s%s%s", first, second, third);
  }
  return driver().fault;
}

/// The error that a call which needs a context returns at once; `success`: it may go on.
inline int state() {
  if (!driver().is_initialized) return not_initialized;
  if (t_num_contexts == 0) return invalid_context;
  return driver().fault;
}

template <typename T>
T* make(void** handle) {
  T* const made = new T();
  driver().handles.push_back(made);
  *handle = made;
  return made;
}
inline bool is_alive(const void* handle) {
  return std::find(driver().handles.begin(), driver().handles.end(), handle) != driver().handles.end();
}
/// Returns false if the object is not alive.
inline bool forget(const void* handle) {
  const auto found = std::find(driver().handles.begin(), driver().handles.end(), handle);
  if (found == driver().handles.end()) return false;
  driver().handles.erase(found);
  return true;
}

inline int check_guards() {
  unsigned char guard[kGuardBytes];
  std::memset(guard, kGuard, sizeof guard);
  for (const Allocation& each : driver().memory) {
    const unsigned char* end = each.first.get() + kGuardBytes + each.size_bytes;
    if (std::memcmp(each.first.get(), guard, sizeof guard) == 0 && std::memcmp(end, guard, sizeof guard) == 0) continue;
    char size[64];
    std::snprintf(size, sizeof size, "%llu were written", static_cast<unsigned long long>(each.size_bytes));
    return set_fault(illegal_address, "bytes beside an allocation of ", size);
  }
  return driver().fault;
}

/// Whether [address, address + size) lies inside one allocation.
inline bool is_inside(const std::vector<Allocation>& memory, uint64_t address, uint64_t size_bytes) {
  for (const Allocation& each : memory) {
    if (address < each.address() || address - each.address() > each.size_bytes) continue;
    return size_bytes <= each.size_bytes - (address - each.address());
  }
  return false;
}
inline bool is_device_range(uint64_t address, uint64_t size_bytes) {
  return is_inside(driver().memory, address, size_bytes);
}
/// The device accesses pinned memory when a copy runs, other host memory when the copy is asked for.
inline bool is_pinned(const void* address, uint64_t size_bytes) {
  const bool pinned = is_inside(driver().pinned, reinterpret_cast<uint64_t>(address), size_bytes);
  if (pinned) count(c_pinned_copies);
  return pinned;
}

inline void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

inline int run_launch(const Operation& launch) {
  count(c_launches);
  if (comes_due(s_launch_fails_at)) return set_fault(launch_failed, "asked for");
  if (comes_due(s_illegal_address_at)) return set_fault(illegal_address, "asked for");
  std::vector<const void*> parameters;
  for (const uint64_t& number : launch.numbers) parameters.push_back(&number);
  const char* wrong = wick_twin::twin_launch(*launch.function->kernel, launch.grid, launch.block, launch.shared_bytes,
                                             const_cast<void* const*>(parameters.data()));
  return wrong ? set_fault(launch_failed, launch.function->kernel->name, ": ", wrong) : success;
}

int run(const Operation& operation);

/// Runs the nodes in the last order that dependencies allow: among those that are ready, the one added last.
inline int run_graph(const std::vector<Node>& nodes) {
  std::vector<char> done(nodes.size());
  const bool in_order = setting(s_graph_in_order) != 0;
  for (size_t number = 0; number < nodes.size(); ++number) {
    size_t next = nodes.size();
    for (size_t i = 0; i < nodes.size() && !(in_order && next != nodes.size()); ++i) {
      bool is_ready = !done[i];
      for (const size_t earlier : nodes[i].after) is_ready = is_ready && done[earlier];
      if (is_ready) next = i;
    }
    done[next] = 1;
    const int status = run(nodes[next].operation);
    if (status != success) return status;
  }
  return success;
}

/// Runs the operations that wait on a stream; if `event` is not null, only up to its recording number `number`.
inline int drain(Stream& stream, const Event* event = nullptr, uint64_t number = 0) {
  while (stream.next < stream.waiting.size() && !(event && event->reached >= number)) {
    const Operation operation = std::move(stream.waiting[stream.next++]);
    run(operation);
  }
  if (stream.next == stream.waiting.size()) {
    stream.waiting.clear();
    stream.next = 0;
  }
  return check_guards();
}

inline int run(const Operation& o) {
  if (driver().fault != success) return driver().fault;
  switch (o.kind) {
    case Operation::nothing: return success;
    case Operation::upload: std::memcpy(at(o.to), o.bytes ? o.bytes.get() : at(o.from), o.size_bytes); return success;
    case Operation::download: std::memcpy(at(o.to), at(o.from), o.size_bytes); return success;
    case Operation::copy:
      count(c_copies);
      if (!is_device_range(o.to, o.size_bytes) || !is_device_range(o.from, o.size_bytes))
        return set_fault(illegal_address, "a copy leaves its allocation");
      std::memcpy(at(o.to), at(o.from), o.size_bytes);
      return success;
    case Operation::fill:
      if (!is_device_range(o.to, o.size_bytes)) return set_fault(illegal_address, "a fill leaves its allocation");
      std::memset(at(o.to), o.value, o.size_bytes);
      return success;
    case Operation::launch: return run_launch(o);
    case Operation::record:
      o.event->reached = o.number;
      o.event->tick = ++driver().ticks;
      return success;
    case Operation::wait:  // for the recording that was the last one when it was asked for
      return o.recorded_on ? drain(*o.recorded_on, o.event, o.number) : int{success};
    case Operation::graph: return run_graph(o.exec->nodes);
  }
  return invalid_value;
}

inline std::shared_ptr<Stream> find_stream(void* stream) {
  if (!stream) return driver().default_stream;
  return is_alive(stream) ? static_cast<StreamHandle*>(stream)->stream : nullptr;
}

inline int enqueue(void* stream, Operation operation) {
  const std::shared_ptr<Stream> found = find_stream(stream);
  if (!found) return invalid_handle;
  found->waiting.push_back(std::move(operation));
  return success;
}

/// All streams: those that are alive, and destroyed ones with operations that wait.
inline std::vector<std::shared_ptr<Stream>>& streams() {
  static auto* all = new std::vector<std::shared_ptr<Stream>>;
  return *all;
}

inline void drain_all() {
  std::vector<std::shared_ptr<Stream>>& all = streams();
  for (size_t i = 0; i < all.size(); ++i) drain(*all[i]);
  drain(*driver().default_stream);
  const auto is_gone = [](const std::shared_ptr<Stream>& stream) { return stream.use_count() == 1; };
  all.erase(std::remove_if(all.begin(), all.end(), is_gone), all.end());
}

}  // namespace wick_stand_in
