#include "runtime/platform/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wick {
namespace {

constexpr int kSpins = 4000;

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  for (int i = 1; i < num_threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    ++generation_;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work() {
  uint64_t seen = 0;
  for (;;) {
    for (int i = 0; i < kSpins && generation_.load(std::memory_order_acquire) == seen; ++i) pause_briefly();
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stop_) return;
    run_chunks();
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

void ThreadPool::run_chunks() {
  for (;;) {
    const int64_t begin = next_chunk_.fetch_add(1, std::memory_order_relaxed) * job_.chunk;
    if (begin >= job_.count) return;
    const int64_t rest = job_.count - begin;
    job_.body(job_.state, begin, begin + (rest < job_.chunk ? rest : job_.chunk));
  }
}

void ThreadPool::parallel_for(int64_t count, int64_t grain, Body body, void* state) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (workers_.empty() || count <= grain || running_.exchange(true)) {
    body(state, 0, count);
    return;
  }
  // A few chunks per thread balance chunks of different cost.
  const int64_t parts = static_cast<int64_t>(num_threads()) * 4;
  const int64_t even = count / parts + (count % parts != 0 ? 1 : 0);
  job_ = {body, state, count, even < grain ? grain : even};
  next_chunk_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  run_chunks();
  for (int i = 0; busy_.load(std::memory_order_acquire) != 0; ++i) {
    if (i < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  running_.store(false);
}

}  // namespace wick
