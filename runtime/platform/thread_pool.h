// Parallelism over operating system threads. Hosted.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "wick/kernel.h"

namespace wick {

/// `num_threads` threads, the caller's included. Workers wait actively for a short while after each job, then sleep.
/// One caller at a time; a call from inside a body runs on the calling thread.
class ThreadPool final : public Parallelism {
 public:
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const override { return static_cast<int>(workers_.size()) + 1; }
  void parallel_for(int64_t count, int64_t grain, Body body, void* state) override;

 private:
  struct Job {
    Body body;
    void* state;
    int64_t count;
    int64_t chunk;
  };
  void work();
  void run_chunks();

  std::vector<std::thread> workers_;
  Job job_ = {};
  std::atomic<int64_t> next_chunk_{0};
  std::atomic<uint64_t> generation_{0};  // a new number: a new job
  std::atomic<int> busy_{0};             // workers that have not finished the job
  std::atomic<bool> stop_{false};
  std::atomic<bool> running_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace wick
