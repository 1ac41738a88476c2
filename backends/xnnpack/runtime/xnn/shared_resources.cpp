#include "backends/xnnpack/runtime/xnn/shared_resources.h"

#include <iterator>
#include <map>
#include <mutex>

namespace wick::xnnpack {

std::shared_ptr<pthreadpool> shared_pool(int num_threads) {
  if (num_threads <= 1) return nullptr;
  struct Pools {
    std::mutex mutex;
    std::map<int, std::weak_ptr<pthreadpool>> by_size;
  };
  static Pools* pools = new Pools;  // users may be destroyed after static objects
  const std::lock_guard<std::mutex> lock(pools->mutex);
  std::weak_ptr<pthreadpool>& known = pools->by_size[num_threads];
  std::shared_ptr<pthreadpool> pool = known.lock();
  if (!pool) {
    pthreadpool* made = pthreadpool_create(static_cast<size_t>(num_threads));
    if (!made) return nullptr;
    pool = std::shared_ptr<pthreadpool>(made, pthreadpool_destroy);
    known = pool;
  }
  return pool;
}

std::shared_ptr<xnn_workspace> shared_workspace(const void* instance) {
  struct Workspaces {
    std::mutex mutex;
    std::map<const void*, std::weak_ptr<xnn_workspace>> by_instance;
  };
  static Workspaces* workspaces = new Workspaces;
  const std::lock_guard<std::mutex> lock(workspaces->mutex);
  auto& all = workspaces->by_instance;
  for (auto entry = all.begin(); entry != all.end();)
    entry = entry->second.expired() ? all.erase(entry) : std::next(entry);
  const auto known = all.find(instance);
  if (instance && known != all.end()) {
    if (std::shared_ptr<xnn_workspace> workspace = known->second.lock()) return workspace;
  }
  xnn_workspace_t made = nullptr;
  if (xnn_create_workspace(&made) != xnn_status_success) return nullptr;
  std::shared_ptr<xnn_workspace> workspace(made, xnn_release_workspace);
  if (instance) all[instance] = workspace;
  return workspace;
}

}  // namespace wick::xnnpack
