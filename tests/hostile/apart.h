// Work that may crash or hang, in processes of its own. C++20.
#pragma once
#include <cstddef>
#include <functional>
#include <new>
#include <string>

namespace wick::testing {

/// Memory that a process and its children share, with a `T` in it.
void* take_shared_memory(size_t bytes);
void give_back_shared_memory(void* memory, size_t bytes);

template <typename T>
class SharedWithChildren {
 public:
  SharedWithChildren() : memory_(take_shared_memory(sizeof(T))), value_(new(memory_) T) {}
  ~SharedWithChildren() { give_back_shared_memory(memory_, sizeof(T)); }
  SharedWithChildren(const SharedWithChildren&) = delete;
  SharedWithChildren& operator=(const SharedWithChildren&) = delete;
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  void* memory_;
  T* value_;
};

/// What a process is at, for the message if it crashes.
struct Progress {
  char text[400] = "";
  void say(const std::string& what) { text[what.copy(text, sizeof text - 1)] = 0; }
};

/// Calls `run` for each index below `count` in a process of its own. A crash of one, or `max_seconds` of processor
/// time, fails the current test with `name` of the index and what it said last; the next still gets its turn.
void run_apart(size_t count, long max_seconds, const std::function<std::string(size_t)>& name,
               const std::function<void(size_t, Progress&)>& run);

}  // namespace wick::testing
