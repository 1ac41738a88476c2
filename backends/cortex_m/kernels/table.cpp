// The kernels for the instruction set that this build is for: WICK_CORTEX_M_ISA is mve, dsp, scalar or, on hosts,
// reference.
#include "wick/cortex_m_backend.h"

#define WICK_SELECT_reference(mve, dsp, scalar) reference
#define WICK_SELECT_mve(mve, dsp, scalar) mve
#define WICK_SELECT_dsp(mve, dsp, scalar) dsp
#define WICK_SELECT_scalar(mve, dsp, scalar) scalar
#define WICK_SELECT_OF(isa) WICK_SELECT_##isa
#define WICK_SELECT(isa, ...) WICK_SELECT_OF(isa)(__VA_ARGS__)

namespace wick {
namespace cortex_m {
#define KERNEL(name, signature, function, ...)            \
  namespace WICK_SELECT(WICK_CORTEX_M_ISA, __VA_ARGS__) { \
  void function(KernelContext&, Span<EValue*>);           \
  }
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
}  // namespace cortex_m

namespace {
constexpr Kernel kRows[] = {
#define KERNEL(name, signature, function, ...) \
  {name, signature, cortex_m::WICK_SELECT(WICK_CORTEX_M_ISA, __VA_ARGS__)::function},
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
};
}  // namespace

#define WICK_FACT_reference "cortex_m.isa=mve cortex_m.isa=dsp cortex_m.isa=scalar"
#define WICK_FACT_mve "cortex_m.isa=mve"
#define WICK_FACT_dsp "cortex_m.isa=dsp"
#define WICK_FACT_scalar "cortex_m.isa=scalar"
#define WICK_FACT_OF(isa) WICK_FACT_##isa
#define WICK_FACT(isa) WICK_FACT_OF(isa)

// On hosts, the references run programs that are prepared for any instruction set.
KernelTable cortex_m_kernels() { return {Span<const Kernel>(kRows), WICK_FACT(WICK_CORTEX_M_ISA)}; }

}  // namespace wick
