#include "compiler/support/content_hash.h"

#include <algorithm>
#include <cstring>

namespace wick::compiler {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;

uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Four multiply-and-fold lanes over 32 bytes a step.
void add_steps(const uint8_t* bytes, size_t steps, uint64_t* lanes) {
  uint64_t sums[4] = {lanes[0], lanes[1], lanes[2], lanes[3]};
  for (; steps > 0; --steps, bytes += 32) {
    for (size_t i = 0; i < 4; ++i) {
      uint64_t word;
      memcpy(&word, bytes + 8 * i, 8);
      sums[i] = fold(sums[i] ^ word, kMultiplier + 2 * i);
    }
  }
  std::copy_n(sums, 4, lanes);
}

}  // namespace

void ContentHash::add(Span<const uint8_t> bytes) {
  const size_t waiting = size_bytes_ % kStepBytes;
  size_bytes_ += bytes.size();
  if (waiting > 0) {
    const size_t taken = std::min(kStepBytes - waiting, bytes.size());
    std::copy_n(bytes.data(), taken, waiting_ + waiting);
    bytes = bytes.subspan(taken, bytes.size() - taken);
    if (waiting + taken < kStepBytes) return;
    add_steps(waiting_, 1, lanes_);
  }
  const size_t steps = bytes.size() / kStepBytes;
  add_steps(bytes.data(), steps, lanes_);
  std::copy(bytes.begin() + steps * kStepBytes, bytes.end(), waiting_);
}

uint64_t ContentHash::value() const {
  uint64_t hash = size_bytes_;
  for (size_t i = 0; i < size_bytes_ % kStepBytes; ++i) hash = fold(hash ^ waiting_[i], kMultiplier);
  for (const uint64_t lane : lanes_) hash = fold(hash ^ lane, kMultiplier);
  return hash;
}

uint64_t content_hash(Span<const uint8_t> bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace wick::compiler
