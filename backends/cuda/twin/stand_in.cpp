// Takes the place of the CUDA driver: exports the functions that the delegate calls. Memory is host memory, kernels are
// those of the twin. C++17, part of the text of a twin library.
#include "backends/cuda/twin/stand_in.h"

#include "backends/cuda/twin/stand_in_nodes.h"
#include "backends/cuda/twin/stand_in_state.h"

namespace wick_stand_in {
namespace {

template <typename T>
int destroy(void* handle) {
  if (t_num_contexts == 0) return invalid_context;
  drain_all();
  if (!forget(handle)) return invalid_handle;
  delete static_cast<T*>(handle);
  return success;
}

int add_node(void** node, void* graph, void* const* after, size_t num_after, Operation operation) {
  if (!is_alive(graph)) return invalid_handle;
  std::vector<Node*>& nodes = static_cast<Graph*>(graph)->nodes;
  std::unique_ptr<Node> made(new Node);
  made->operation = std::move(operation);
  for (size_t i = 0; i < num_after; ++i) {
    size_t number = 0;
    while (number < nodes.size() && nodes[number] != after[i]) ++number;
    for (const size_t other : made->after) number = other == number ? nodes.size() : number;
    if (number == nodes.size()) return invalid_value;  // not of this graph, or named twice
    made->after.push_back(number);
  }
  *node = made.get();
  nodes.push_back(made.release());
  return success;
}

int set_node(void* exec, void* node, Operation operation) {
  if (!is_alive(exec)) return invalid_handle;
  Exec& found = *static_cast<Exec*>(exec);
  for (size_t i = 0; i < found.nodes.size(); ++i) {
    if (found.origins[i] != node) continue;
    // A driver may refuse other extents of a fill.
    const Operation& old = found.nodes[i].operation;
    if (operation.kind != old.kind || (old.kind == Operation::fill && operation.size_bytes != old.size_bytes))
      return invalid_value;
    drain_all();  // launches that wait keep their old parameters
    count(c_node_changes);
    found.nodes[i].operation = std::move(operation);
    return success;
  }
  return invalid_value;
}

int make_image(const unsigned char* image, void** handle) {
  const unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
  const int64_t architecture = setting(s_architecture);
  if (std::memcmp(image, elf, sizeof elf) == 0) {
    if (image[18] != 190) return invalid_image;
    const int64_t found = image[49];
    if (found / 10 != architecture / 10 || found > architecture) return no_binary_for_device;
  } else {
    if (setting(s_newer_ptx)) return unsupported_ptx;
    if (setting(s_no_jit)) return no_jit_compiler;
    if (!std::strstr(reinterpret_cast<const char*>(image), ".version")) return invalid_image;
  }
  LoadedImage& made = *make<LoadedImage>(handle);
  ++driver().num_images;
  for (uint32_t i = 0; i < kNumTwinKernels; ++i) made.functions.push_back({&kTwinKernels[i], kPlainSharedBytes});
  return success;
}

uint64_t live_bytes() {
  uint64_t bytes = 0;
  for (const Allocation& each : driver().memory) bytes += each.size_bytes;
  return bytes;
}

}  // namespace
}  // namespace wick_stand_in

using namespace wick_stand_in;  // NOLINT: the functions below have the driver's names

extern "C" {

void wick_twin_set(const char* name, int64_t value) {
  const Call call;
  Setting* const found = find_setting(name, std::strlen(name));
  if (found) found->value = value;
}

void wick_twin_reset() {
  const Call call;
  for (Setting& each : driver().settings) each.value = each.initial;
  driver().fault = success;
}

uint64_t wick_twin_count(const char* name) {
  const Call call;
  if (std::strcmp(name, "bytes") == 0) return live_bytes();
  if (std::strcmp(name, "objects") == 0)
    return driver().memory.size() + driver().pinned.size() + driver().handles.size() + driver().num_retained;
  if (std::strcmp(name, "images") == 0) return driver().num_images;
  if (std::strcmp(name, "stacks") == 0) return wick_twin::count_stacks();
  const Setting* const found = find_setting(name, std::strlen(name));
  return found ? static_cast<uint64_t>(found->value) : UINT64_MAX;
}

bool wick_twin_is_running() { return t_depth > 0; }

#define WICK_DRIVER_FUNCTION __attribute__((visibility("default"))) int

WICK_DRIVER_FUNCTION cuInit(unsigned) {
  const Call call;
  if (!driver().is_initialized) read_environment();
  driver().is_initialized = true;
  if (setting(s_stub)) return stub_library;
  return setting(s_no_device) ? no_device : success;
}
WICK_DRIVER_FUNCTION cuDriverGetVersion(int* version) {
  const Call call;
  *version = static_cast<int>(setting(s_driver_version));
  return success;
}
WICK_DRIVER_FUNCTION cuGetErrorName(int status, const char** name) {
  const Call call;
  static char text[32];
  std::snprintf(text, sizeof text, "error %d", status);
  *name = text;
  return success;
}
WICK_DRIVER_FUNCTION cuGetErrorString(int status, const char** text) {
  const Call call;
  *text = status == driver().fault && status != success ? driver().fault_text : "the stand-in says so";
  return success;
}
WICK_DRIVER_FUNCTION cuDeviceGetCount(int* count) {
  const Call call;
  *count = static_cast<int>(setting(s_devices));
  return success;
}
WICK_DRIVER_FUNCTION cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return success;
}
WICK_DRIVER_FUNCTION cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "twin");
  return success;
}
WICK_DRIVER_FUNCTION cuDeviceGetAttribute(int* value, int attribute, int) {
  const Call call;
  switch (attribute) {
    case 16: *value = 132; return success;
    case 75: *value = static_cast<int>(setting(s_architecture)) / 10; return success;
    case 76: *value = static_cast<int>(setting(s_architecture)) % 10; return success;
    case 97: *value = static_cast<int>(setting(s_shared_bytes)); return success;
    default: return invalid_value;
  }
}
WICK_DRIVER_FUNCTION cuDevicePrimaryCtxRetain(void** context, int) {
  const Call call;
  if (!driver().is_initialized) return not_initialized;
  ++driver().num_retained;
  *context = &g_context;
  return success;
}
WICK_DRIVER_FUNCTION cuDevicePrimaryCtxRelease_v2(int) {
  const Call call;
  if (driver().num_retained == 0) return invalid_context;
  // The context ends with its last user, and so do the faults of its kernels.
  if (--driver().num_retained > 0) return success;
  driver().fault = success;
  wick_twin::release_stacks();
  return success;
}
WICK_DRIVER_FUNCTION cuCtxPushCurrent_v2(void* context) {
  const Call call;
  if (context != &g_context || setting(s_no_push)) return invalid_context;
  ++t_num_contexts;
  return success;
}
WICK_DRIVER_FUNCTION cuCtxPopCurrent_v2(void** context) {
  const Call call;
  if (t_num_contexts == 0) return invalid_context;
  --t_num_contexts;
  *context = &g_context;
  return success;
}
WICK_DRIVER_FUNCTION cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  const Call call;
  *total_bytes = static_cast<size_t>(setting(s_memory_bytes));
  *free_bytes = *total_bytes - std::min<size_t>(*total_bytes, live_bytes());
  return state();
}
namespace {
// Aligned to kGuardBytes, as a device aligns.
bool allocate(size_t size_bytes, Allocation* made) {
  const size_t rounded = (size_bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes + 2 * kGuardBytes;
  *made = {size_bytes, Bytes(static_cast<unsigned char*>(std::aligned_alloc(kGuardBytes, rounded)))};
  if (!made->first) return false;
  std::memset(made->first.get(), kGuard, rounded);
  std::memset(made->first.get() + kGuardBytes, kPoison, size_bytes);
  return true;
}
}  // namespace

WICK_DRIVER_FUNCTION cuMemAlloc_v2(uint64_t* address, size_t size_bytes) {
  const Call call;
  if (const int status = state()) return status;
  if (size_bytes == 0) return invalid_value;
  size_t free_bytes = 0, total_bytes = 0;
  cuMemGetInfo_v2(&free_bytes, &total_bytes);
  if (comes_due(s_out_of_memory_at) || size_bytes > free_bytes) return out_of_memory;
  Allocation made;
  if (!allocate(size_bytes, &made)) return out_of_memory;
  *address = made.address();
  driver().memory.push_back(std::move(made));
  count(c_allocations);
  return success;
}
WICK_DRIVER_FUNCTION cuMemFree_v2(uint64_t address) {
  const Call call;
  if (t_num_contexts == 0) return invalid_context;
  drain_all();
  for (size_t i = 0; i < driver().memory.size(); ++i) {
    if (driver().memory[i].address() != address) continue;
    const int status = check_guards();
    driver().memory.erase(driver().memory.begin() + static_cast<std::ptrdiff_t>(i));
    return status ? status : state();
  }
  return invalid_value;
}
WICK_DRIVER_FUNCTION cuMemAllocHost_v2(void** address, size_t size_bytes) {
  const Call call;
  if (const int status = state()) return status;
  Allocation made;
  if (size_bytes == 0 || setting(s_no_pinned_memory) || !allocate(size_bytes, &made)) return out_of_memory;
  *address = at(made.address());
  driver().pinned.push_back(std::move(made));
  return success;
}
WICK_DRIVER_FUNCTION cuMemFreeHost(void* address) {
  const Call call;
  if (t_num_contexts == 0) return invalid_context;
  drain_all();
  for (size_t i = 0; i < driver().pinned.size(); ++i) {
    if (at(driver().pinned[i].address()) != address) continue;
    driver().pinned.erase(driver().pinned.begin() + static_cast<std::ptrdiff_t>(i));
    return state();
  }
  return invalid_value;
}
WICK_DRIVER_FUNCTION cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size_bytes, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_device_range(to, size_bytes)) return invalid_value;
  count(c_copies_to_device);
  Operation operation = {};
  operation.kind = Operation::upload;
  operation.to = to;
  operation.size_bytes = size_bytes;
  operation.from = reinterpret_cast<uint64_t>(from);
  if (!is_pinned(from, size_bytes)) {
    operation.bytes.reset(static_cast<unsigned char*>(std::malloc(size_bytes + 1)), std::free);
    std::memcpy(operation.bytes.get(), from, size_bytes);
  }
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size_bytes, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_device_range(from, size_bytes)) return invalid_value;
  count(c_copies_to_host);
  (void)is_pinned(to, size_bytes);
  Operation operation = {};
  operation.kind = Operation::download;
  operation.to = reinterpret_cast<uint64_t>(to);
  operation.from = from;
  operation.size_bytes = size_bytes;
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size_bytes, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  operation.kind = Operation::copy;
  operation.to = to;
  operation.from = from;
  operation.size_bytes = size_bytes;
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuMemsetD8Async(uint64_t to, unsigned char value, size_t size_bytes, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  operation.kind = Operation::fill;
  operation.to = to;
  operation.value = value;
  operation.size_bytes = size_bytes;
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  if (to % sizeof value != 0 || !is_device_range(to, count * sizeof value)) return invalid_value;
  Operation operation = {};
  operation.kind = Operation::upload;
  operation.to = to;
  operation.size_bytes = count * sizeof value;
  operation.bytes.reset(static_cast<unsigned char*>(std::malloc(operation.size_bytes + 1)), std::free);
  for (size_t i = 0; i < count; ++i) std::memcpy(operation.bytes.get() + i * sizeof value, &value, sizeof value);
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuPointerGetAttribute(void* value, int attribute, uint64_t address) {
  const Call call;
  if (const int status = state()) return status;
  count(c_pointer_checks);
  const bool is_managed = attribute == 8, is_on_device = is_device_range(address, 1);
  // A driver knows nothing about other host memory.
  if (!is_on_device && !is_inside(driver().pinned, address, 1)) return invalid_value;
  *static_cast<unsigned*>(value) = is_managed ? 0 : is_on_device ? 2 : 1;
  return success;
}
WICK_DRIVER_FUNCTION cuModuleLoadData(void** image, const void* bytes) {
  const Call call;
  if (const int status = state()) return status;
  return make_image(static_cast<const unsigned char*>(bytes), image);
}
WICK_DRIVER_FUNCTION cuModuleUnload(void* image) {
  const Call call;
  const int status = destroy<LoadedImage>(image);
  driver().num_images -= status == success ? 1 : 0;
  return status;
}
WICK_DRIVER_FUNCTION cuModuleGetFunction(void** function, void* image, const char* name) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_alive(image)) return invalid_handle;
  for (Function& each : static_cast<LoadedImage*>(image)->functions) {
    if (std::strcmp(each.kernel->name, name) != 0) continue;
    *function = &each;
    return success;
  }
  return not_found;
}
WICK_DRIVER_FUNCTION cuFuncGetAttribute(int* value, int attribute, void* function) {
  const Call call;
  if (attribute != 0 && attribute != 8) return invalid_value;
  *value = attribute == 0 ? static_cast<int>(setting(s_kernel_threads))
                          : static_cast<int>(static_cast<Function*>(function)->max_dynamic_shared_bytes);
  return state();
}
WICK_DRIVER_FUNCTION cuFuncSetAttribute(void* function, int attribute, int value) {
  const Call call;
  if (attribute != 8 || value < 0 || value > setting(s_shared_bytes)) return invalid_value;
  static_cast<Function*>(function)->max_dynamic_shared_bytes = static_cast<uint32_t>(value);
  return state();
}
WICK_DRIVER_FUNCTION cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size_bytes) {
  const Call call;
  const char* sizes = static_cast<Function*>(function)->kernel->parameter_bytes;
  if (index >= std::strlen(sizes)) return invalid_value;
  *offset = 0;
  for (size_t i = 0; i <= index; ++i) {
    *size_bytes = static_cast<size_t>(sizes[i] - '0');
    *offset = (*offset + *size_bytes - 1) / *size_bytes * *size_bytes + (i < index ? *size_bytes : 0);
  }
  return state();
}
WICK_DRIVER_FUNCTION cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                    unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                                    void** parameters, void**) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_launch(
      {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, nullptr}, &operation);
  return status ? status : enqueue(stream, std::move(operation));
}

WICK_DRIVER_FUNCTION cuStreamCreate(void** stream, unsigned) {
  const Call call;
  if (const int status = state()) return status;
  std::vector<StreamHandle*>& unused = driver().unused_handles;
  StreamHandle* const handle = unused.empty() ? new StreamHandle() : unused.back();
  if (!unused.empty()) unused.pop_back();
  handle->stream.reset(new Stream());
  streams().push_back(handle->stream);
  driver().handles.push_back(handle);
  *stream = handle;
  return success;
}
WICK_DRIVER_FUNCTION cuStreamDestroy_v2(void* stream) {
  const Call call;
  if (t_num_contexts == 0) return invalid_context;
  if (!forget(stream)) return invalid_handle;
  static_cast<StreamHandle*>(stream)->stream.reset();
  driver().unused_handles.push_back(static_cast<StreamHandle*>(stream));
  return success;
}
WICK_DRIVER_FUNCTION cuStreamSynchronize(void* stream) {
  const Call call;
  if (const int status = state()) return status;
  const std::shared_ptr<Stream> found = find_stream(stream);
  return found ? drain(*found) : invalid_handle;
}
WICK_DRIVER_FUNCTION cuStreamWaitEvent(void* stream, void* event, unsigned) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_alive(event)) return invalid_handle;
  Operation operation = {};
  operation.kind = Operation::wait;
  operation.event = static_cast<Event*>(event);
  operation.number = operation.event->recorded;
  operation.recorded_on = operation.event->stream;
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuEventCreate(void** event, unsigned flags) {
  const Call call;
  if (const int status = state()) return status;
  make<Event>(event)->has_time = (flags & 2) == 0;
  return success;
}
WICK_DRIVER_FUNCTION cuEventDestroy_v2(void* event) {
  const Call call;
  return destroy<Event>(event);
}
WICK_DRIVER_FUNCTION cuEventRecord(void* event, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_alive(event)) return invalid_handle;
  Operation operation = {};
  operation.kind = Operation::record;
  operation.event = static_cast<Event*>(event);
  operation.event->stream = find_stream(stream);
  operation.number = ++operation.event->recorded;
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuEventSynchronize(void* event) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_alive(event)) return invalid_handle;
  const Event& found = *static_cast<Event*>(event);
  return found.stream ? drain(*found.stream, &found, found.recorded) : int{success};
}
// Each event that is reached takes one tick, 1 ms.
WICK_DRIVER_FUNCTION cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  const Call call;
  if (const int status = state()) return status;
  const Event &first = *static_cast<Event*>(start), &last = *static_cast<Event*>(end);
  if (!first.has_time || !last.has_time) return invalid_handle;
  if (first.reached == 0 || first.reached != first.recorded || last.reached != last.recorded) return not_ready;
  *milliseconds = static_cast<float>(last.tick) - static_cast<float>(first.tick);
  return success;
}

WICK_DRIVER_FUNCTION cuGraphCreate(void** graph, unsigned) {
  const Call call;
  if (const int status = state()) return status;
  make<Graph>(graph);
  return success;
}
WICK_DRIVER_FUNCTION cuGraphDestroy(void* graph) {
  const Call call;
  if (is_alive(graph)) {
    for (Node* node : static_cast<Graph*>(graph)->nodes) delete node;
  }
  return destroy<Graph>(graph);
}
WICK_DRIVER_FUNCTION cuGraphAddKernelNode(void** node, void* graph, void* const* after, size_t num_after,
                                          const KernelNode* params) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_launch(*params, &operation);
  return status ? status : add_node(node, graph, after, num_after, std::move(operation));
}
WICK_DRIVER_FUNCTION cuGraphAddMemcpyNode(void** node, void* graph, void* const* after, size_t num_after,
                                          const CopyNode* params, void*) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_copy(*params, &operation);
  return status ? status : add_node(node, graph, after, num_after, std::move(operation));
}
WICK_DRIVER_FUNCTION cuGraphAddMemsetNode(void** node, void* graph, void* const* after, size_t num_after,
                                          const FillNode* params, void*) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_fill(*params, &operation);
  return status ? status : add_node(node, graph, after, num_after, std::move(operation));
}
WICK_DRIVER_FUNCTION cuGraphAddEmptyNode(void** node, void* graph, void* const* after, size_t num_after) {
  const Call call;
  if (const int status = state()) return status;
  return add_node(node, graph, after, num_after, Operation());
}
WICK_DRIVER_FUNCTION cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_alive(graph)) return invalid_handle;
  count(c_graphs);
  Exec& made = *make<Exec>(exec);
  for (const Node* node : static_cast<Graph*>(graph)->nodes) {
    made.nodes.push_back(*node);
    made.origins.push_back(node);
  }
  return success;
}
WICK_DRIVER_FUNCTION cuGraphExecDestroy(void* exec) {
  const Call call;
  return destroy<Exec>(exec);
}
WICK_DRIVER_FUNCTION cuGraphLaunch(void* exec, void* stream) {
  const Call call;
  if (const int status = state()) return status;
  if (!is_alive(exec)) return invalid_handle;
  count(c_graph_launches);
  Operation operation = {};
  operation.kind = Operation::graph;
  operation.exec = static_cast<Exec*>(exec);
  return enqueue(stream, std::move(operation));
}
WICK_DRIVER_FUNCTION cuGraphExecKernelNodeSetParams(void* exec, void* node, const KernelNode* params) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_launch(*params, &operation);
  return status ? status : set_node(exec, node, std::move(operation));
}
WICK_DRIVER_FUNCTION cuGraphExecMemcpyNodeSetParams(void* exec, void* node, const CopyNode* params, void*) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_copy(*params, &operation);
  return status ? status : set_node(exec, node, std::move(operation));
}
WICK_DRIVER_FUNCTION cuGraphExecMemsetNodeSetParams(void* exec, void* node, const FillNode* params, void*) {
  const Call call;
  if (const int status = state()) return status;
  Operation operation = {};
  const int status = make_fill(*params, &operation);
  return status ? status : set_node(exec, node, std::move(operation));
}
}
