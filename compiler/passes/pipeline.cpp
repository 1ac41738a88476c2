#include "compiler/passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/ir/text/text.h"
#include "compiler/passes/passes.h"
#include "compiler/quantize/fold_quantization.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr int kMaxRounds = 16;

Result<Changed> run_decompose(Graph& graph, const PipelineOptions& options) {
  bool changed = false;
  RETURN_IF_ERROR(decompose(graph, options.keep, &changed));
  return Changed(changed);
}

Result<Changed> run_fold_constants(Graph& graph, const PipelineOptions& options) {
  return fold_constants(graph, options.fold, options.release);
}

Result<Changed> run_fold_quantization(Graph& graph, const PipelineOptions& options) {
  bool changed = false;
  RETURN_IF_ERROR(catch_failure([&] { changed = fold_quantization(graph, options.takes_quantized); }));
  return Changed(changed);
}

Result<Changed> run_unfold_quantization(Graph& graph, const PipelineOptions&) {
  bool changed = false;
  RETURN_IF_ERROR(catch_failure([&] { changed = unfold_quantization(graph); }));
  return Changed(changed);
}

constexpr Pass kPasses[] = {
    {"recognize_quantization", recognize_quantization, Phase::recognize,
     "before decompose and the folds, which would turn the integers into floats"},
    {"respell_dequantized", run_simple<respell_dequantized>, Phase::recognize,
     "after recognize_quantization, which makes some of the nodes that dequantize; before decompose, which guards std "
     "against squares that overflow"},
    {"gather_quantized", run_simple<gather_quantized>, Phase::prepare,
     "before decompose, which splits up the operators that dequantize a table"},
    {"fit_numbers", run_simple<fit_numbers>, Phase::prepare,
     "before decompose, which turns numbers into tensors and other numbers"},
    {"widen_numbers", run_simple<widen_numbers>, Phase::prepare,
     "before decompose: eager rounds the result of an operator to complex halves, not what its parts give"},
    {"decompose", run_decompose, Phase::prepare,
     "before all others but two: every later pass sees only primitives and the composites that a backend asked for"},
    {"widen_numbers", run_simple<widen_numbers>, Phase::prepare, "once more, for the parts of composites"},
    {"fit_numbers", run_simple<fit_numbers>, Phase::prepare, "once more, for the parts of composites"},
    {"round_numbers", run_simple<round_numbers>, Phase::prepare,
     "after decompose, which adds numbers too, and before anything computes with them"},
    {"dead_code", run_simple<dead_code>, Phase::prepare,
     "before any pattern counts readers: leftovers of the exporter must not keep values alive"},
    {"canonicalize", run_simple<canonicalize>, Phase::optimize,
     "first in a round: one form for each meaning keeps the later patterns short"},
    {"merge_views", run_simple<merge_views>, Phase::optimize,
     "after canonicalize, which turns permutes and selects that move nothing into views"},
    {"sink_transposes", run_simple<sink_transposes>, Phase::optimize,
     "after merge_views, so that each chain of permutes is one permute"},
    {"fold_constants", run_fold_constants, Phase::optimize,
     "after the passes that move permutes towards constants, before those that need constant weights"},
    {"simplify_pointwise", run_simple<simplify_pointwise>, Phase::optimize,
     "after fold_constants, which turns masks and conditions into constants that this pass can read"},
    {"fold_batch_norm", run_simple<fold_batch_norm>, Phase::optimize,
     "after fold_constants: transposed weights are constants by then"},
    {"common_subexpressions", run_simple<common_subexpressions>, Phase::optimize,
     "last but one: nodes that differed only in form are equal now"},
    {"dead_code", run_simple<dead_code>, Phase::optimize, "last: the next round counts readers"},
    {"recognize_attention", recognize_attention, Phase::target,
     "early in its phase: other passes change masks, factors and matmuls, which this one looks for",
     NonFinite::may_change},
    {"complex_as_pairs", run_for_target<complex_as_pairs>, Phase::target,
     "early in its phase: the later passes know only floats"},
    {"recognize_linears", recognize_linears, Phase::target,
     "after recognize_attention, which looks for products; before the passes that look for linears"},
    {"recognize_norms", run_simple<recognize_norms>, Phase::target, "before the folds, which look for norms"},
    {"additive_masks", run_simple<additive_masks>, Phase::target,
     "before the folds: a guard between two matmuls reads the scores and would block them", NonFinite::may_change},
    {"signed_elements", run_simple<signed_elements>, Phase::last,
     "before fold_quantization, which asks what the backend takes", NonFinite::may_change},
    {"fold_quantization", run_fold_quantization, Phase::last,
     "the passes above know floats between nodes that quantize and dequantize"},
    {"unfold_quantization", run_unfold_quantization, Phase::last, "takes fold_quantization back"},
};

// The first row that `is_it`, of `own` and then of the table; null: none. A pass may have a row in several phases.
template <typename Predicate>
const Pass* find_row(Span<const Pass> own, const Predicate& is_it) {
  for (const Span<const Pass> table : {own, pass_table()}) {
    const auto found = std::find_if(table.begin(), table.end(), is_it);
    if (found != table.end()) return found;
  }
  return nullptr;
}

const Pass* find_pass(std::string_view name, Span<const Pass> own) {
  return find_row(own, [&](const Pass& pass) { return pass.name == name; });
}

Diag no_such_pass(std::string_view name, Span<const Pass> own) {
  std::string known;
  std::vector<std::string_view> names;
  for (const Span<const Pass> table : {pass_table(), own}) {
    for (const Pass& pass : table) {
      if (std::find(names.begin(), names.end(), pass.name) != names.end()) continue;
      names.push_back(pass.name);
      known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
    }
  }
  return Diag(Code::usage, fmt::format("there is no pass '{}'", printable(name))).with_help("the passes are " + known);
}

Status verify_after(std::string_view name, const Graph& graph) {
  Status status = verify(graph);
  if (!status.ok()) status.diag().notes.push_back(fmt::format("found after: {}", name));
  return status;
}

class Runner {
 public:
  Runner(Graph& graph, const PipelineOptions& options) : graph_(graph), options_(options) {}

  Status run() {
    for (const std::string& name : options_.skip) {
      if (!is_known(name) && !is_elsewhere(name)) return no_such_pass(name, options_.own_passes);
    }
    if (!options_.stop_after.empty() && !is_known(options_.stop_after))
      return no_such_pass(options_.stop_after, options_.own_passes);
    for (const std::string_view name : options_.target_passes) {
      const Pass* pass = find_pass(name, options_.own_passes);
      if (!pass || (pass->phase != Phase::target && pass->phase != Phase::recognize && pass->phase != Phase::last))
        return Diag(Code::internal, fmt::format("'{}' is not a pass of phase recognize, target or last", name));
    }
    RETURN_IF_ERROR(run_phases());
    return options_.verify_each_pass ? Status() : verify_after("the last pass", graph_);
  }

 private:
  Status run_phases() {
    // Writes quantization as nodes if an earlier run or the text had folded it: the passes below know only operators on
    // numbers.
    RETURN_IF_ERROR(catch_failure([&] { unfold_quantization(graph_); }));
    RETURN_IF_ERROR(run_named(Phase::recognize));
    RETURN_IF_ERROR(run_phase(Phase::prepare, 1));
    RETURN_IF_ERROR(optimize());
    changed_ = Changed::no;
    RETURN_IF_ERROR(run_named(Phase::target));
    if (changed_ == Changed::yes) RETURN_IF_ERROR(optimize());
    return run_named(Phase::last);
  }

  // Runs the passes of the phase that the options name.
  Status run_named(Phase phase) {
    for (const std::string_view name : options_.target_passes) {
      const Pass* pass =
          find_row(options_.own_passes, [&](const Pass& row) { return row.name == name && row.phase == phase; });
      const bool wanted = pass && (!options_.strict_nan || pass->non_finite == NonFinite::kept);
      if (wanted) RETURN_IF_ERROR(run_row(*pass, 1));
    }
    return run_extra(phase, 1);
  }

  // Runs rounds of phase optimize until one changes nothing.
  Status optimize() {
    for (int round = 1; round <= kMaxRounds && !stopped_; ++round) {
      changed_ = Changed::no;
      RETURN_IF_ERROR(run_phase(Phase::optimize, round_ += 1));
      if (changed_ == Changed::no) break;
    }
    return {};
  }

  Status run_phase(Phase phase, int round) {
    for (const Pass& pass : kPasses) {
      if (pass.phase == phase) RETURN_IF_ERROR(run_row(pass, round));
    }
    return run_extra(phase, round);
  }

  Status run_row(const Pass& pass, int round) {
    return run_unless_skipped(pass.name, round, [&] { return pass.run(graph_, options_); });
  }

  Status run_extra(Phase phase, int round) {
    for (const ExtraPass& pass : options_.extra) {
      if (pass.phase != phase) continue;
      const Pass* known = pass.run ? nullptr : find_pass(pass.name, options_.own_passes);
      if (!pass.run && !known) continue;  // of another backend
      RETURN_IF_ERROR(run_unless_skipped(pass.name, round,
                                         [&] { return known ? known->run(graph_, options_) : pass.run(graph_); }));
    }
    return {};
  }

  bool is_known(std::string_view name) const {
    return find_pass(name, options_.own_passes) ||
           std::any_of(options_.extra.begin(), options_.extra.end(),
                       [&](const ExtraPass& pass) { return pass.name == name; });
  }

  bool is_elsewhere(std::string_view name) const {
    return std::find(options_.elsewhere.begin(), options_.elsewhere.end(), name) != options_.elsewhere.end();
  }

  template <typename Run>
  Status run_unless_skipped(std::string_view name, int round, const Run& run) {
    if (stopped_) return {};
    if (std::find(options_.skip.begin(), options_.skip.end(), name) == options_.skip.end())
      RETURN_IF_ERROR(run_one(name, round, run));
    stopped_ = name == options_.stop_after;
    return {};
  }

  template <typename Run>
  Status run_one(std::string_view name, int round, const Run& run) {
    if (options_.on_begin) options_.on_begin(name);
    const auto start = std::chrono::steady_clock::now();
    Result<Changed> changed = run();
    if (!changed.ok()) {
      changed.diag().notes.push_back(fmt::format("in the pass {}", name));
      return std::move(changed.diag());
    }
    const auto time = std::chrono::steady_clock::now() - start;
    if (options_.timings) {
      const auto time_ns = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
      options_.timings->push_back({std::string(name), round, time_ns, *changed});
    }
    if (*changed == Changed::no) return {};
    changed_ = Changed::yes;
    if (options_.verify_each_pass) RETURN_IF_ERROR(verify_after(name, graph_));
    if (options_.on_changed) options_.on_changed(name, graph_);
    return {};
  }

  Graph& graph_;
  const PipelineOptions& options_;
  Changed changed_ = Changed::no;
  bool stopped_ = false;
  int round_ = 0;  // of phase optimize
};

}  // namespace

Span<const Pass> pass_table() { return {kPasses, std::size(kPasses)}; }

Result<Changed> run_pass(std::string_view name, Graph& graph, const PipelineOptions& options) {
  const Pass* pass = find_pass(name, options.own_passes);
  if (!pass) return no_such_pass(name, options.own_passes);
  ASSIGN_OR_RETURN(const Changed changed, pass->run(graph, options));
  RETURN_IF_ERROR(verify_after(name, graph));
  return changed;
}

Status run_pipeline(Graph& graph, const PipelineOptions& options) { return Runner(graph, options).run(); }

}  // namespace wick::compiler
