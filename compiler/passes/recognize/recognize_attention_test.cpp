// recognize_attention over spellings of attention: each is one operator afterwards, which computes the same.
#include <cmath>
#include <limits>

#include "compiler/ir/clone.h"
#include "compiler/ops/compose.h"
#include "compiler/passes/compare_graphs.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler {
namespace {

enum class Scale : uint8_t { none, query, key, both, product, quotient, count };
enum class Mask : uint8_t {
  none,
  added,
  subtracted,
  two,
  chosen,
  filled,
  causal,
  causal_sum,
  causal_and_added,
  added_and_chosen,
  count
};
enum class Heads : uint8_t { own, expanded, grouped, flat, none, count };
enum class Casts : uint8_t { none, half, widened, wide_softmax, count };

struct Spelling {
  Scale scale = Scale::none;
  Mask mask = Mask::none;
  Heads heads = Heads::own;
  Casts casts = Casts::none;
  bool guarded = false, weights_second = false, scores_transposed = false;
  int64_t queries = 3, keys = 5;

  std::string name() const {
    return "scale " + std::to_string(static_cast<int>(scale)) + ", mask " + std::to_string(static_cast<int>(mask)) +
           ", heads " + std::to_string(static_cast<int>(heads)) + ", casts " + std::to_string(static_cast<int>(casts)) +
           (guarded ? ", guarded" : "") + (weights_second ? ", weights second" : "") +
           (scores_transposed ? ", scores transposed" : "") + ", " + std::to_string(queries) + " x " +
           std::to_string(keys);
  }
};

constexpr int64_t kBatch = 2, kHeads = 4, kKeyHeads = 2, kFeatures = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Writes the attention of a spelling as a model might.
class Writer {
 public:
  Writer(Graph& graph, const Spelling& spelling) : builder_(graph, nullptr), c(builder_), spelling_(spelling) {}

  Value* write(Value* q, Value* k, Value* v, Value* bias, Value* keep) {
    bias_ = bias, keep_ = keep;
    const DType dtype = q->dtype();
    prepare_heads(q, k, v);
    if (spelling_.casts == Casts::widened) q = wide(q), k = wide(k), v = wide(v);
    const double scale = 0.5;
    if (spelling_.scale == Scale::query) q = c.mul(q, scale);
    if (spelling_.scale == Scale::key) k = c.mul(k, scale);
    if (spelling_.scale == Scale::both) q = c.mul(q, scale), k = c.mul(k, scale);
    Value* scores = spelling_.scores_transposed ? turned(product(k, turned(q))) : product(q, turned(k));
    if (spelling_.scale == Scale::product) scores = c.mul(scores, scale);
    if (spelling_.scale == Scale::quotient) scores = c.div(scores, 1 / scale);
    Value* weights = softmax(masked(scores));
    Value* out = spelling_.weights_second ? turned(product(turned(v), turned(weights))) : product(weights, v);
    return c.b.cast(out, dtype);
  }

 private:
  Value* wide(Value* x) { return c.b.cast(x, DType::f32); }
  Value* turned(Value* x) { return c.b.transpose(x, -2, -1); }
  Value* product(Value* x, Value* y) { return c.matmul(x, y); }

  void prepare_heads(Value*& q, Value*& k, Value*& v) {
    const auto expanded = [&](Value* x) {
      Sizes sizes = x->sizes();
      sizes.insert(sizes.begin() + 2, kHeads / kKeyHeads);
      return c.b.expand(c.b.unsqueeze(x, 2), std::move(sizes));
    };
    const auto viewed = [&](Value* x, Sizes lead) {
      lead.push_back(x->sizes()[x->rank() - 2]);
      lead.push_back(x->sizes().back());
      return c.b.reshape(x, std::move(lead));
    };
    switch (spelling_.heads) {
      case Heads::expanded: k = viewed(expanded(k), {kBatch, kHeads}), v = viewed(expanded(v), {kBatch, kHeads}); break;
      case Heads::grouped:
        q = viewed(q, {kBatch, kKeyHeads, kHeads / kKeyHeads}), k = expanded(k), v = expanded(v);
        break;
      case Heads::flat:
        q = viewed(q, {kBatch * kHeads}), k = viewed(k, {kBatch * kHeads}), v = viewed(v, {kBatch * kHeads});
        break;
      default: break;
    }
  }

  Value* causal(bool shown) {
    Value* row = c.b.reshape(c.arange(spelling_.queries, DType::i64), {spelling_.queries, 1});
    return c.compare(shown ? "le" : "gt", c.arange(spelling_.keys, DType::i64), row);
  }
  Value* causal_bias(DType dtype) { return c.where(causal(true), c.b.full({}, 0.0, dtype), -kInfinity, dtype); }

  Value* masked(Value* scores) {
    const DType dtype = scores->dtype();
    Value* bias = c.b.cast(bias_, dtype);
    switch (spelling_.mask) {
      case Mask::added: return c.add(scores, bias);
      case Mask::subtracted: return c.sub(scores, bias);
      case Mask::two: return c.add(c.add(scores, bias), bias);
      case Mask::chosen: return c.where(keep_, scores, -kInfinity, dtype);
      case Mask::filled: return c.b.call("aten.masked_fill.Scalar", {scores, keep_, -100.0});
      case Mask::causal: return c.where(causal(false), -kInfinity, scores, dtype);
      case Mask::causal_sum: return c.add(scores, causal_bias(dtype));
      case Mask::causal_and_added: return c.add(c.add(scores, causal_bias(dtype)), bias);
      case Mask::added_and_chosen: return c.where(keep_, c.add(scores, bias), -kInfinity, dtype);
      default: return scores;
    }
  }

  Value* softmax(Value* scores) {
    const DType dtype = scores->dtype();
    if (spelling_.casts == Casts::wide_softmax) scores = wide(scores);
    const auto last = static_cast<int64_t>(scores->rank()) - 1;
    Value* weights = c.softmax(scores, last);
    if (spelling_.guarded) {
      Value* dead = c.logical_not(c.any(c.logical_not(c.compare("eq", scores, -kInfinity)), {last}, true));
      weights = c.where(dead, 0.0, weights, weights->dtype());
    }
    return c.b.cast(weights, dtype);
  }

  Builder builder_;
  Compose c;
  const Spelling& spelling_;
  Value *bias_ = nullptr, *keep_ = nullptr;
};

Function function_of(const Spelling& spelling) {
  const bool is_half = spelling.casts != Casts::none;
  const char* dtype = is_half ? "f16" : "f32";
  const bool shares = spelling.heads == Heads::expanded || spelling.heads == Heads::grouped;
  const auto operand = [&](const char* name, int64_t heads, int64_t length) {
    const std::string lead =
        spelling.heads == Heads::none ? "" : std::to_string(kBatch) + ", " + std::to_string(heads) + ", ";
    return "%" + std::string(name) + ": " + dtype + "[" + lead + std::to_string(length) + ", " +
           std::to_string(kFeatures) + "]";
  };
  const int64_t key_heads = shares ? kKeyHeads : kHeads;
  const std::string mask = "[" + std::to_string(spelling.queries) + ", " + std::to_string(spelling.keys) + "]";
  Function function = parse("graph f(" + operand("q", kHeads, spelling.queries) + ", " +
                            operand("k", key_heads, spelling.keys) + ", " + operand("v", key_heads, spelling.keys) +
                            ", %bias: " + dtype + mask + ", %keep: bool" + mask + ") { return %q }");
  Graph& graph = *function.graph;
  std::vector<Value*> inputs;
  for (const GraphInput& input : graph.inputs) inputs.push_back(input.value);
  graph.set_output(0, Writer(graph, spelling).write(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]));
  return function;
}

size_t count(const Graph& graph, std::string_view name) {
  const auto& nodes = graph.nodes();
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node->is(name); }));
}

PipelineOptions recognizing() {
  PipelineOptions options;
  options.target_passes = {"recognize_attention"};
  options.verify_each_pass = true;
  return options;
}

void expect_recognized(const Spelling& spelling) {
  SCOPED_TRACE(spelling.name());
  // Attention computes in f32: so does what its result is compared with.
  Spelling precise = spelling;
  if (spelling.casts != Casts::none) precise.casts = Casts::widened;
  Function written = function_of(precise), recognized = function_of(spelling);
  const Status status = run_pipeline(*recognized.graph, recognizing());
  ASSERT_TRUE(status.ok()) << render(status.diag());
  EXPECT_EQ(count(*recognized.graph, "wick.attention.default"), 1u) << to_text(*recognized.graph, "f");
  EXPECT_EQ(count(*recognized.graph, "aten._softmax.default"), 0u);
  ASSERT_TRUE(run_pass("decompose", *written.graph, {}).ok());
  ASSERT_TRUE(run_pass("decompose", *recognized.graph, {}).ok());
  const Outcome before = evaluate_outputs(*written.graph, true), after = evaluate_outputs(*recognized.graph, true);
  ASSERT_TRUE(before.status.ok()) << render(before.status.diag());
  ASSERT_TRUE(after.status.ok()) << render(after.status.diag());
  // Sums of 16 bits are rounded as the model rounds them.
  expect_same(before.outputs[0], after.outputs[0],
              spelling.casts == Casts::none || spelling.casts == Casts::widened ? 1e-5 : 5e-2);
}

// Random combinations of all choices.
TEST(RecognizeAttention, TakesEverySpelling) {
  size_t tried = 0;
  uint32_t state = 1;
  const auto choose = [&](uint32_t count) { return (state = state * 1664525u + 1013904223u) / 65536u % count; };
  constexpr int64_t kLengths[] = {3, 1, 5};
  for (int i = 0; i < 1500; ++i) {
    Spelling s;
    s.scale = static_cast<Scale>(choose(static_cast<uint32_t>(Scale::count)));
    s.mask = static_cast<Mask>(choose(static_cast<uint32_t>(Mask::count)));
    s.heads = static_cast<Heads>(choose(static_cast<uint32_t>(Heads::count)));
    s.casts = static_cast<Casts>(choose(static_cast<uint32_t>(Casts::count)));
    s.guarded = choose(2) == 1, s.weights_second = choose(4) == 0, s.scores_transposed = choose(4) == 0;
    s.queries = kLengths[choose(3)], s.keys = kLengths[choose(3)];
    expect_recognized(s);
    if (testing::Test::HasFailure()) break;
    ++tried;
  }
  EXPECT_EQ(tried, 1500u);
}

}  // namespace
}  // namespace wick::compiler
