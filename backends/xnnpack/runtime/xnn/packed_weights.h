// Weights in the library's own layout, made once per process and shared by all delegates that hold the same ones.
// C++17.
#pragma once
#include <xnnpack.h>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/runtime/xnn/library_memory.h"
#include "wick/span.h"

namespace wick::xnnpack {

/// Everything that the packed form of a filter and its bias depends on: bytes, and the rest as text. The spans must
/// stay valid while the PackedWeights that describe them live.
struct WeightsSource {
  std::string parameters;
  Span<const uint8_t> filter, bias, filter_scales, bias_scales;
};

/// The packed weights of one delegate: a cache, as the library sees it. Must outlive the library's runtime.
/// Weights are the same if parameters, the library's own seed and all bytes are equal, wherever they lie; their packed
/// form lives as long as a delegate that uses it. Threads may use different objects at the same time.
class PackedWeights {
 public:
  PackedWeights();
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  /// Makes the packed form of (filter, bias) shareable. A pair that is described twice in different ways is not shared.
  void describe(const WeightsSource& source);
  /// About how many bytes all packed forms will take, before the first is made.
  void expect(size_t size_bytes) { memory_ = BlockSource(size_bytes); }
  /// All packed forms have been made.
  void finish() { memory_.trim(); }
  xnn_weights_cache_t provider() { return &provider_; }

  struct Packed;

 private:
  size_t look_up(const xnn_weights_cache_look_up_key& key);
  void* reserve(size_t size_bytes);  // zeroed: our build of the library counts on it
  // Searches the blocks of all delegates. Requires: the store is locked.
  static std::shared_ptr<Packed> find_block(uint32_t seed, const WeightsSource& source);
  size_t insert(const xnn_weights_cache_look_up_key& key, void* packed);
  const WeightsSource* find_source(const xnn_weights_cache_look_up_key& key) const;

  xnn_weights_cache_provider provider_;
  // By address of filter and bias; null: described in different ways.
  std::map<std::pair<const void*, const void*>, std::unique_ptr<WeightsSource>> sources_;
  BlockSource memory_{0};
  std::list<std::shared_ptr<Packed>> blocks_;  // in use here, and those being filled
};

}  // namespace wick::xnnpack
