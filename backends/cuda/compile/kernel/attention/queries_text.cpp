// Attention in one pass over keys and values, with a running maximum and sum (Dao et al., FlashAttention).
#include <fmt/format.h>

#include "backends/cuda/compile/kernel/attention/attention.h"
#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {
namespace {

// A block computes the results of one query. Its warps share the keys, and each lane scores one key at a time; then the
// lanes of a warp share the features of the result.
constexpr uint32_t kThreadsOfBlock = kThreadsOfQuery, kWarps = kThreadsOfBlock / 32;

class AttentionWriter : public KernelWriter {
 public:
  AttentionWriter(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule)
      : KernelWriter(graph, kernel),
        schedule_(schedule),
        attention_(*kernel.attention),
        features_(most(attention_.feature)) {
    for (const Loop& loop : kernel.columns) results_ = results_ * most(loop);
  }

  KernelSource run() {
    block_.indent = "  ";
    block_.line("const idx i = static_cast<idx>(block_x());");
    write_split(block_, kernel_.rows, "i");
    write_query();
    write_keys();
    write_results();
    source_.schedule = schedule_;
    source_.has_barriers = true;
    source_.grid[0] = extent_of(kernel_.rows);
    return finish(block_.text, attention_.key.extent);
  }

 private:
  static uint32_t most(const Loop& loop) { return static_cast<uint32_t>(compiler::SymScope::range(loop.extent).max); }
  std::string result_text(ExpressionPtr reduced) const override { return reduced->buffer == 0 ? "result" : "product"; }
  uint32_t per_lane() const { return (results_ + 31) / 32; }

  Scope inner(const char* indent, std::initializer_list<const Loop*> loops) {
    Scope scope;
    scope.outer = &block_;
    scope.indent = indent;
    for (const Loop* loop : loops) scope.symbols.insert(std::string(loop->variable.symbol_name()));
    return scope;
  }

  void write_query() {
    block_.line(fmt::format("WICK_SHARED(f32, query, {});", features_));
    Scope load = inner("    ", {&attention_.feature});
    load.line(fmt::format("query[d] = {};", value(load, attention_.query)));
    block_.line(fmt::format("for (idx d = static_cast<idx>(thread_x()); d < {}; d += {}) {{",
                            text(attention_.feature.extent), kThreadsOfBlock));
    block_.text += load.text;
    block_.line("}");
    block_.line("block_barrier();");
  }

  void write_keys() {
    const std::string keys = text(attention_.key.extent);
    block_.line("f32 largest = -infinity(0.0f), total = 0.0f;");
    block_.line(fmt::format("f32 acc[{}] = {{}};", per_lane()));
    Scope score = inner("      ", {&attention_.key});
    Scope product = inner("        ", {&attention_.key, &attention_.feature});
    product.outer = &score;
    const std::string element = value(product, attention_.key_element);
    product.line(fmt::format("product = fused_multiply_add(query[d], {}, product);", element));
    score.line("f32 product = 0.0f;");
    score.line(fmt::format("for (idx d = 0; d < {}; ++d) {{", text(attention_.feature.extent)));
    score.text += product.text;
    score.line("}");
    score.has_results = true;
    score.line(fmt::format("score = {};", value(score, attention_.score)));
    block_.line(fmt::format("for (idx first = static_cast<idx>(thread_x() / 32 * 32); first < {}; first += {}) {{",
                            keys, kThreadsOfBlock));
    block_.line("  f32 score = -infinity(0.0f);");
    block_.line("  {");
    block_.line("    const idx j = first + static_cast<idx>(lane());");
    block_.line(fmt::format("    if (j < {}) {{", keys));
    block_.text += score.text;
    block_.line("    }");
    block_.line("  }");
    block_.line("  const f32 now = maximum(largest, warp_reduce<Maximum>(score));");
    // All keys so far are masked: the differences below would be NaN.
    block_.line("  if (now == -infinity(0.0f)) continue;");
    block_.line("  const f32 weight = exp(score - now), shrink = exp(largest - now);");
    block_.line("  largest = now;");
    block_.line("  total = total * shrink + warp_reduce<Sum>(weight);");
    block_.line(fmt::format("  for (u32 e = 0; e < {}; ++e) acc[e] *= shrink;", per_lane()));
    write_values(keys);
    block_.line("}");
  }

  void write_values(const std::string& keys) {
    Scope add = inner("        ", {&attention_.key});
    for (const Loop& loop : kernel_.columns) add.symbols.insert(std::string(loop.variable.symbol_name()));
    write_split(add, kernel_.columns, "column");
    add.line(fmt::format("acc[e] = fused_multiply_add(of_key, {}, acc[e]);", value(add, attention_.value)));
    block_.line(fmt::format("  for (u32 key = 0; key < 32 && first + static_cast<idx>(key) < {}; ++key) {{", keys));
    block_.line("    const idx j = first + static_cast<idx>(key);");
    block_.line("    const f32 of_key = shuffle(weight, key);");
    block_.line(fmt::format("    for (u32 e = 0; e < {}; ++e) {{", per_lane()));
    block_.line("      const idx column = static_cast<idx>(lane() + 32 * e);");
    block_.line(fmt::format("      if (column < {}) {{", text(extent_of(kernel_.columns))));
    block_.text += add.text;
    block_.line("      }");
    block_.line("    }");
    block_.line("  }");
  }

  void write_results() {
    block_.line(fmt::format("WICK_SHARED(f32, parts, {});", kWarps * results_));
    block_.line(fmt::format("WICK_SHARED(f32, bounds, {});", 2 * kWarps));
    block_.line("const u32 warp = thread_x() / 32;");
    block_.line(fmt::format("for (u32 e = 0; e < {}; ++e) {{", per_lane()));
    block_.line(fmt::format("  if (lane() + 32 * e < {0}) parts[warp * {0} + lane() + 32 * e] = acc[e];", results_));
    block_.line("}");
    block_.line("if (lane() == 0) {");
    block_.line("  bounds[warp] = largest;");
    block_.line(fmt::format("  bounds[{} + warp] = total;", kWarps));
    block_.line("}");
    block_.line("block_barrier();");
    block_.line("f32 most = bounds[0], sum = 0.0f;");
    block_.line(fmt::format("for (u32 w = 1; w < {}; ++w) most = maximum(most, bounds[w]);", kWarps));
    block_.line(
        fmt::format("for (u32 w = 0; w < {0}; ++w) sum += bounds[w] == -infinity(0.0f) ? 0.0f : bounds[{0} + w] * "
                    "exp(bounds[w] - most);",
                    kWarps));
    Scope result = inner("  ", {});
    result.indent = "    ";
    for (const Loop& loop : kernel_.columns) result.symbols.insert(std::string(loop.variable.symbol_name()));
    result.has_results = true;
    write_split(result, kernel_.columns, "column");
    result.line("f32 joined = 0.0f;");
    result.line(fmt::format("for (u32 w = 0; w < {}; ++w) {{", kWarps));
    result.line(fmt::format(
        "  if (bounds[w] != -infinity(0.0f)) joined += parts[w * {} + column] * exp(bounds[w] - most);", results_));
    result.line("}");
    result.line(
        fmt::format("const f32 result = most == -infinity(0.0f) ? {} : joined / sum;", empty_row_text(kernel_)));
    for (const auto* stores : {&kernel_.row_stores, &kernel_.column_stores}) {
      for (const Store& store : *stores) write_store(result, store, "");
    }
    block_.line(fmt::format("for (idx column = static_cast<idx>(thread_x()); column < {}; column += {}) {{",
                            text(extent_of(kernel_.columns)), kThreadsOfBlock));
    block_.text += result.text;
    block_.line("}");
  }

  const Schedule schedule_;
  const Attention& attention_;
  const uint32_t features_;
  uint32_t results_ = 1;
  Scope block_;
};

}  // namespace

KernelSource write_attention_of_query(LoweredGraph& graph, const LoopKernel& kernel, const Schedule& schedule) {
  return AttentionWriter(graph, kernel, schedule).run();
}

}  // namespace wick::cuda
