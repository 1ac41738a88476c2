#include "backends/compile_table.h"

#define WICK_BACKEND(name)               \
  namespace wick::name {                 \
  extern const compiler::Target kTarget; \
  }
#include "backends/backends.inc"

namespace wick::compiler {

Span<const Target* const> known_targets() {
#define WICK_BACKEND(name) &name::kTarget,
  static constexpr const Target* kTargets[] = {
#include "backends/backends.inc"
  };
  static const bool ready = [] {
    for (const Target* target : kTargets) add_ops(target->kernels.ops);
    return true;
  }();
  return ready ? Span<const Target* const>(kTargets) : Span<const Target* const>();
}

}  // namespace wick::compiler
