// The other half.
#pragma once

#include "three.h"

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
constexpr int kShared[] = {1}, kOwn = 2;
int triple(double x) { return static_cast<int>(3 * x); }
}  // namespace

}  // namespace sample

namespace sample::two {
namespace {
struct Apart {};
}  // namespace
}  // namespace sample::two
