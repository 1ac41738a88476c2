#include "compiler/ops/limits/unknown_ops.h"

namespace wick::compiler {
namespace {

struct WayOut {
  std::string_view prefix;
  const char* help;
};
constexpr WayOut kWaysOut[] = {
    {"aten.linalg_eig.", "eigenvalues of symmetric and Hermitian matrices: torch.linalg.eigh"},
    {"aten.linalg_eigvals.", "eigenvalues of symmetric and Hermitian matrices: torch.linalg.eigvalsh"},
    {"aten.chalf.", "convert with x.to(torch.complex32)"},
    {"aten.segment_reduce.", "torch.scatter_reduce with the number of the segment of each row"},
    {"aten.resize_.", "it leaves new elements undefined: make a new tensor, or take a view of the old one"},
    {"torch._functorch.predispatch.",
     "torch.vmap is exported unchanged: save ep.run_decompositions(), which writes the batched operators instead"},
};

}  // namespace

const char* way_out(std::string_view name) {
  for (const WayOut& way : kWaysOut) {
    if (name.starts_with(way.prefix)) return way.help;
  }
  return nullptr;
}

}  // namespace wick::compiler
