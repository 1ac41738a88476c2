// A pass, as a row of a table.
#pragma once
#include <cstdint>
#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/support/result.h"

namespace wick::compiler {

struct PipelineOptions;  // pipeline.h

enum class Changed : bool { no = false, yes = true };

enum class Phase : uint8_t {
  recognize,  // once, before all others, if in PipelineOptions::target_passes: put together what the file took apart
  prepare,    // once
  optimize,   // in order, in rounds until one changes nothing; such rounds run again after phase target
  target,     // once, if in PipelineOptions::target_passes: make forms that only some backends want
  last,       // once, after all others, if in PipelineOptions::target_passes: no general pass sees the result
};

/// Limits of a backend that shared passes respect.
struct TargetFacts {
  size_t max_rank = 6;                 // of a tensor
  size_t max_unknown_view_sizes = 1;   // sizes of a view's result that are known only at run time
  int64_t max_transform_points = 512;  // of a Fourier transform that becomes matmuls, of up to 512 points each
  /// Complex numbers become pairs even between operators that know only complex numbers.
  bool takes_parts_of_complex = false;
};

/// Whether a pass keeps NaN and infinities.
enum class NonFinite : uint8_t {
  kept,
  may_change,  // its contract says where; left out with PipelineOptions::strict_nan
};

struct Pass {
  std::string_view name;  // also the function, its file and its test
  Result<Changed> (*run)(Graph& graph, const PipelineOptions& options);
  Phase phase;
  std::string_view why_here;
  NonFinite non_finite = NonFinite::kept;
};

/// A Pass::run for a pass that needs the target's limits; defined beside PipelineOptions.
template <Result<Changed> (*pass)(Graph&, const TargetFacts&)>
Result<Changed> run_for_target(Graph& graph, const PipelineOptions& options);

/// A Pass::run for a pass that needs only the graph.
template <Result<Changed> (*pass)(Graph&)>
Result<Changed> run_simple(Graph& graph, const PipelineOptions&) {
  return pass(graph);
}

}  // namespace wick::compiler
