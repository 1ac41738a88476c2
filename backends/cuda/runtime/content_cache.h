// A cache of objects made from bytes: users of equal bytes share one object. C++17.
#pragma once
#include <string.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "wick/span.h"

namespace wick::cuda {

/// Bytes are compared completely; names play no part. An object lives as long as it has users. Thread-safe.
template <typename Value>
class ContentCache {
  struct Entry {
    Value value;
    // The bytes of each user: they stay in memory as long as the user lives, so they can be compared with.
    std::vector<Span<const uint8_t>> users;
  };

 public:
  /// One user's hold on an object. Must end before the cache does.
  class Use {
   public:
    Use() = default;
    Use(ContentCache* cache, std::shared_ptr<Entry> entry, Span<const uint8_t> bytes)
        : cache_(cache), entry_(std::move(entry)), bytes_(bytes) {}
    Use(Use&& other) noexcept { *this = std::move(other); }
    Use& operator=(Use&& other) noexcept {
      std::swap(cache_, other.cache_);
      std::swap(entry_, other.entry_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Use() {
      if (entry_) cache_->release(entry_, bytes_);
    }
    const Value& operator*() const { return entry_->value; }
    const Value* operator->() const { return &entry_->value; }

   private:
    ContentCache* cache_ = nullptr;
    std::shared_ptr<Entry> entry_;
    Span<const uint8_t> bytes_;
  };

  /// The object for `bytes`, which must stay in place while the use lives. If there is none, `make(Value*)` makes it.
  /// False if that returns false.
  template <typename Make>
  bool find(Span<const uint8_t> bytes, Use* use, Make make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto range = entries_.equal_range(bytes.size());
    for (auto it = range.first; it != range.second; ++it) {
      const std::shared_ptr<Entry>& entry = it->second;
      if (!same_bytes(entry->users.front(), bytes)) continue;
      entry->users.push_back(bytes);
      *use = Use(this, entry, bytes);
      return true;
    }
    auto entry = std::make_shared<Entry>();
    if (!make(&entry->value)) return false;
    entry->users.push_back(bytes);
    entries_.emplace(bytes.size(), entry);
    *use = Use(this, std::move(entry), bytes);
    return true;
  }

 private:
  static bool same_bytes(Span<const uint8_t> a, Span<const uint8_t> b) {
    return a.size() == b.size() && (a.data() == b.data() || a.empty() || memcmp(a.data(), b.data(), a.size()) == 0);
  }
  void release(std::shared_ptr<Entry>& entry, Span<const uint8_t> bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& users = entry->users;
    users.erase(std::find_if(users.begin(), users.end(), [&](const Span<const uint8_t>& user) {
      return user.data() == bytes.data() && user.size() == bytes.size();
    }));
    if (users.empty()) {
      const auto range = entries_.equal_range(bytes.size());
      for (auto it = range.first; it != range.second; ++it) {
        if (it->second != entry) continue;
        entries_.erase(it);
        break;
      }
    }
    entry.reset();  // under the lock, so that an object for equal bytes is made only after this one's memory is free
  }

  std::mutex mutex_;
  std::multimap<size_t, std::shared_ptr<Entry>> entries_;
};

}  // namespace wick::cuda
