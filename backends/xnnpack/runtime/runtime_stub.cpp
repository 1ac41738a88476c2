// The delegate of a build without the library: says so.
#include "backends/xnnpack/payload/payload.h"
#include "wick/xnnpack_backend.h"

namespace wick {
namespace {

Error init(BackendInit& context, Span<const uint8_t>, void**) {
  if (context.text()) {
    context.text()->append(
        "this build of Wick has no XNNPACK library; configure with -DWICK_XNNPACK=ON (or system), or compile the "
        "program "
        "with --backend portable");
  }
  return Error::DelegateInvalidCompatibility;
}
void execute(KernelContext& context, void*, Span<EValue*>) {
  context.fail(Error::NotSupported, "this build of Wick has no XNNPACK library");
}

constexpr Backend kBackend = {xnnpack::kBackendId, init, execute, nullptr};

}  // namespace

const Backend& xnnpack_backend() { return kBackend; }
bool has_xnnpack_library() { return false; }
bool xnnpack_has_all_kernels() { return false; }

}  // namespace wick
