// The other half.
#pragma once

namespace sample {

class Declared;

class Storage final {
  struct Item {};
};

inline int twice(int x) { return x + x; }
inline int once(double x) {
  struct Private {};
  return static_cast<int>(x);
}

namespace {
struct Private {};
}  // namespace

}  // namespace sample
