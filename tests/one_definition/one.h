// Not part of any build: what scripts/check_one_definition.py has to find, and what it has to leave alone.
#pragma once

namespace sample {

class Declared;

struct Storage {
  struct Item {};
  ~Storage();
};

inline int twice(int x) { return 2 * x; }
inline int once(int x) { return x; }

namespace {
struct Private {};
constexpr int kShared = 1;
int triple(int x) { return 3 * x; }
int half(const Declared& declared) { return 0; }
int quarter(const Declared& declared, int times) { return 0; }
}  // namespace

}  // namespace sample

namespace sample::one {
namespace {
struct Apart {};
}  // namespace
}  // namespace sample::one
