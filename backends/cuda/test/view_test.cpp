// Views, outputs and partitions: what is read in place, and what is copied. Statements V1 to V13, M3, M8 of
// docs/cuda_proofs.md.

#include <algorithm>
#include <cmath>

#include "backends/cuda/test/lower_test_support.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/support/processor_time.h"
#include "wick/program.h"

namespace wick::cuda {
namespace {

class CudaViews : public CudaLower {
 protected:
  static std::vector<uint8_t> payload_of(const std::string& text) {
    CompileResult result;
    (void)program_of(text, "cuda", {{"gpu", "none"}}, &result);
    if (result.method_plans.empty() || result.method_plans[0].delegates.size() != 1) return {};
    return result.method_plans[0].delegates[0]->payload;
  }

  // Compiles a graph that may have nodes outside of delegates.
  void compile_any(const std::string& text) {
    text_ = text;
    ++twins_;
    program_ = program_of(text, "cuda", {{"gpu", "none"}, {"twin", twin()}}, &result_);
    ASSERT_FALSE(program_.empty());
  }

  // Outputs may be empty.
  void expect_same_bytes_as_portable(const std::vector<HostValue>& inputs) {
    CompileResult ignored;
    const auto want = outputs_of(program_of(text_, "portable", {}, &ignored), inputs, "");
    const auto got = outputs_of(program_, inputs, "cuda-twin=" + twin());
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].tensor.sizes, want[i].tensor.sizes) << "output " << i;
      EXPECT_EQ(got[i].tensor.bytes, want[i].tensor.bytes) << "output " << i;
    }
  }
};

// V1
TEST_F(CudaViews, BothSpellingsOfAViewGiveTheSameBytes) {
  struct Pair {
    const char *view, *overload, *arguments, *sizes;
  };
  constexpr Pair kPairs[] = {
      {"slice", ".Tensor", ", 0, 1, 3", "2, 8"},
      {"select", ".int", ", 0, 1", "8"},
      {"view", "", ", [8, 6]", "8, 6"},
      {"permute", "", ", [1, 0]", "8, 6"},
      {"transpose", ".int", ", 0, 1", "8, 6"},
      {"t", "", "", "8, 6"},
      {"expand", "", ", [2, 6, 8]", "2, 6, 8"},
      {"unsqueeze", "", ", 1", "6, 1, 8"},
      {"diagonal", "", ", 1, 0, 1", "6"},
      {"unfold", "", ", 1, 3, 2", "6, 3, 3"},
      {"as_strided", "", ", [2, 3], [4, 1], 5", "2, 3"},
  };
  for (const Pair& pair : kPairs) {
    const auto text = [&](const char* suffix) {
      return fmt::format(
          "graph f(%x: f32[6, 8]) {{\n  %v: f32[{3}] = aten.{0}{4}{1}(%x{2})\n  %y: f32[{3}] = aten.exp(%v)\n  return "
          "%y\n}}",
          pair.view, pair.overload, pair.arguments, pair.sizes, suffix);
    };
    EXPECT_EQ(without_model(payload_of(text(""))), without_model(payload_of(text("_copy")))) << pair.view;
  }
}

// A chain of views as lines of IR. Sets `sizes` to those of the last one.
std::string random_chain(const std::string& name, uint64_t seed, size_t length, std::vector<int64_t>* sizes) {
  std::string text, at = "%x";
  uint64_t next = 0;
  const auto random = [&](uint64_t below) { return static_cast<int64_t>(philox4x32(seed, next++).words[0] % below); };
  const auto list = [](const std::vector<int64_t>& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); };
  for (size_t i = 0; i < length; ++i) {
    std::vector<int64_t>& s = *sizes;
    const int64_t dim = random(s.size());
    std::string call;
    switch (random(7)) {
      case 0: {
        std::vector<int64_t> order(s.size()), permuted;
        for (size_t d = 0; d < s.size(); ++d) order[d] = static_cast<int64_t>((d + 1) % s.size());
        for (const int64_t from : order) permuted.push_back(s[static_cast<size_t>(from)]);
        s = permuted;
        call = fmt::format("permute({}, {})", at, list(order));
        break;
      }
      case 1: {
        int64_t& size = s[static_cast<size_t>(dim)];
        const int64_t start = random(static_cast<uint64_t>(size)), step = 1 + random(2);
        call = fmt::format("slice.Tensor({}, {}, {}, {}, {})", at, dim, start, size, step);
        size = (size - start + step - 1) / step;
        break;
      }
      case 2:
        if (s.size() < 2) continue;
        call =
            fmt::format("select.int({}, {}, {})", at, dim, random(static_cast<uint64_t>(s[static_cast<size_t>(dim)])));
        s.erase(s.begin() + dim);
        break;
      case 3:
        if (s.size() > 4) continue;
        call = fmt::format("unsqueeze({}, {})", at, dim);
        s.insert(s.begin() + dim, 1);
        break;
      case 4: {
        int64_t count = 1;
        for (const int64_t size : s) count *= size;
        s = count % 2 == 0 ? std::vector<int64_t>{2, count / 2} : std::vector<int64_t>{count};
        call = fmt::format("view({}, {})", at, list(s));
        break;
      }
      case 5:
        if (s.size() > 4) continue;
        s.insert(s.begin(), 3);
        call = fmt::format("expand({}, {})", at, list(s));
        break;
      default: {
        int64_t& size = s[static_cast<size_t>(dim)];
        if (size < 2 || s.size() > 4) continue;
        call = fmt::format("unfold({}, {}, 2, 1)", at, dim);
        size -= 1;
        s.push_back(2);
      }
    }
    const std::string result = fmt::format("%{}_{}", name, i);
    text += fmt::format("  {}: f32{} = aten.{}\n", result, list(s), call);
    at = result;
  }
  return text + fmt::format("  %{}: f32{} = aten.neg({})\n", name, list(*sizes), at);
}

// V2
TEST_F(CudaViews, RandomChainsOfViewsAreReadWithoutCopies) {
  constexpr size_t kChains = 16;
  std::string text = "graph f(%x: f32[4, 6, 8]) {\n", results;
  for (uint64_t i = 0; i < kChains; ++i) {
    std::vector<int64_t> sizes = {4, 6, 8};
    const std::string name = fmt::format("y{}", i);
    text += random_chain(name, 100 + i, 6, &sizes);
    results += fmt::format("{}%{}", i == 0 ? "" : ", ", name);
  }
  compile(text + "  return " + results + "\n}");
  EXPECT_EQ(launches(), kChains - 2);  // two pairs have equal sizes
  EXPECT_EQ(plan_.arena_bytes, 0u);
  expect_same_bytes_as_portable({numbers(DType::f32, {4, 6, 8}, 1)});
}

// V2: the other views, also those with several results.
TEST_F(CudaViews, EachViewIsReadWithoutACopy) {
  const std::vector<std::vector<std::string>> views = {
      // the results' sizes, then the node
      {"2, 6, 8", "aten.narrow(%x, 0, 1, 2)"},
      {"4, 48", "aten.flatten.using_ints(%x, 1, 2)"},
      {"4, 2, 3, 8", "aten.unflatten.int(%x, 1, [2, 3])"},
      {"6, 8, 4", "aten.movedim.int(%x, 0, 2)"},
      {"4, 6, 8", "aten.squeeze.dim(%u, 1)"},
      {"4, 6, 5", "4, 6, 3", "aten.split_with_sizes(%x, [5, 3], 2)"},
      {"4, 4, 8", "4, 2, 8", "aten.split.Tensor(%x, 4, 1)"},
      {"4, 3, 8", "4, 3, 8", "aten.chunk(%x, 2, 1)"},
      {"6, 8", "6, 8", "6, 8", "6, 8", "aten.unbind.int(%x)"},
      {"6, 4", "aten.diagonal(%x, 0, 0, 2)"},
      {"3, 5", "aten.as_strided(%x, [3, 5], [2, 7], 4)"},
      {"4, 6, 8", "aten.detach(%x)"},
      {"4, 6, 8", "aten.alias(%x)"},
  };
  std::string text = "graph f(%x: f32[4, 6, 8]) {\n  %u: f32[4, 1, 6, 8] = aten.unsqueeze(%x, 1)\n", read, results;
  size_t count = 0;
  for (const std::vector<std::string>& view : views) {
    for (size_t i = 0; i + 1 < view.size(); ++i, ++count) {
      text += fmt::format("{}%v{}: f32[{}]", i == 0 ? "  " : ", ", count, view[i]);
      read += fmt::format("  %y{0}: f32[{1}] = aten.neg(%v{0})\n", count, view[i]);
      results += fmt::format("{}%y{}", count == 0 ? "" : ", ", count);
    }
    text += " = " + view.back() + "\n";
  }
  compile(text + read + "  return " + results + "\n}");
  EXPECT_EQ(plan_.arena_bytes, 0u);
  expect_same_bytes_as_portable({numbers(DType::f32, {4, 6, 8}, 1)});
}

// V3: views that only regroup the elements of a matmul leave no divisions in its stores, in whatever order they do it.
TEST_F(CudaViews, ViewsThatOnlyRegroupLeaveNoDivisions) {
  const auto divisions_with = [&](const std::string& views, const std::string& last) {
    const std::string text = "graph f(%x: f32[128, 64]) {\n  const %w: f32[64, 96] = ...\n" +
                             ("  %y: f32[128, 96] = aten.mm(%x, %w)\n" + views) + "  %z = aten.relu(" + last +
                             ")\n  return %z\n}";
    EXPECT_FALSE(program_of(text, "cuda", {{"gpu", "none"}}, &result_).empty()) << text;
    size_t count = 0;
    for (const char* sign : {" / ", " % "}) {
      const std::string kernel = kernel_text(0);
      for (size_t at = kernel.find(sign); at != std::string::npos; at = kernel.find(sign, at + 1)) ++count;
    }
    return count;
  };
  const size_t without = divisions_with("", "%y");
  const std::vector<std::vector<std::string>> chains = {
      {"4, 32, 12, 8", "128, 96"},
      {"8, 16, 96"},
      {"12288", "6, 2048", "2, 3, 2048"},
      {"2, 8, 8, 96", "2, 64, 96", "128, 4, 24", "32, 4, 96"},
      {"64, 192"},
      {"256, 48", "16, 16, 48"},
      {"3, 4096", "3, 4, 1024"},
      {"1, 128, 2, 48", "16, 2, 4, 96"},
  };
  for (const std::vector<std::string>& chain : chains) {
    std::string views, last = "%y";
    for (size_t i = 0; i < chain.size(); ++i) {
      views += fmt::format("  %v{0}: f32[{1}] = aten.view({2}, [{1}])\n", i, chain[i], last);
      last = fmt::format("%v{}", i);
    }
    EXPECT_EQ(divisions_with(views, last), without) << fmt::format("{}", fmt::join(chain, "; ")) << kernel_text(0);
  }
  // Heads keep two divisions: one for the head of a column, one for the batch of a row.
  const char* const heads =
      "  %v: f32[4, 32, 12, 8] = aten.view(%y, [4, 32, 12, 8])\n"
      "  %h: f32[4, 12, 32, 8] = aten.permute(%v, [0, 2, 1, 3])\n"
      "  %b: f32[48, 32, 8] = aten.view(%h, [48, 32, 8])\n";
  EXPECT_LE(divisions_with(heads, "%b"), without + 2) << kernel_text(0);
}

// V3, V13: if strides cannot express a view, its readers compute the indices. Nothing is copied for it.
TEST_F(CudaViews, AReshapeWithoutStridesIsIndexArithmeticOfItsReader) {
  compile(R"(graph f(%x: f32[6, 8], %w: f32[8, 20]) {
  %t: f32[8, 6] = aten.permute(%x, [1, 0])
  %v: f32[48] = aten.view(%t, [48])
  %y: f32[48] = aten.neg(%v)
  %u: f32[20, 8] = aten.permute(%w, [1, 0])
  %z: f32[6, 20] = aten.linear(%x, %u)
  return %y, %z
})");
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(plan_.arena_bytes, 0u);
  expect_like_portable({numbers(DType::f32, {6, 8}, 1), numbers(DType::f32, {8, 20}, 2)}, 1e-6);
}

// If a node reads a result through a view, it becomes part of the kernel before it, whatever the sizes of the view are.
TEST_F(CudaViews, AViewOfAnUnfinishedResultDoesNotEndItsKernel) {
  struct Case {
    const char *makes, *sizes, *moves, *moved;
  };
  constexpr Case kCases[] = {
      {"aten.mm(%m, %w)", "10, 36", "aten.view(%p{0}, [2, 5, 36])", "2, 5, 36"},
      {"aten.mm(%m, %w)", "10, 36", "aten.view(%p{0}, [2, 5, 3, 12])", "2, 5, 3, 12"},
      {"aten.mm(%m, %w)", "10, 36", "aten.view(%p{0}, [360])", "360"},
      {"aten.mm(%m, %w)", "10, 36", "aten.view(%p{0}, [2, 6, 30])", "2, 6, 30"},
      {"aten.addmm(%c, %m, %w)", "10, 36", "aten.view(%p{0}, [5, 2, 36])", "5, 2, 36"},
      {"aten.linear(%x, %u)", "2, 5, 36", "aten.view(%p{0}, [10, 36])", "10, 36"},
      {"aten.linear(%x, %u)", "2, 5, 36", "aten.view(%p{0}, [2, 5, 9, 4])", "2, 5, 9, 4"},
      {"aten.bmm(%x, %v)", "2, 5, 36", "aten.view(%p{0}, [2, 5, 6, 6])", "2, 5, 6, 6"},
      {"aten.bmm(%x, %v)", "2, 5, 36", "aten.permute(%p{0}, [2, 0, 1])", "36, 2, 5"},
      {"aten.bmm(%x, %v)", "2, 5, 36", "aten.flip(%p{0}, [1, 2])", "2, 5, 36"},
      {"aten.convolution(%j, %f, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)", "1, 4, 4, 4",
       "aten.pixel_unshuffle(%p{0}, 2)", "1, 16, 2, 2"},
      {"aten.convolution(%i, %f, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)", "1, 4, 3, 3",
       "aten.pixel_shuffle(%p{0}, 2)", "1, 1, 6, 6"},
      {"aten.sum.dim_IntList(%x, [2], false)", "2, 5", "aten.view(%p{0}, [5, 2])", "5, 2"},
      {"aten._softmax(%x, 2, false)", "2, 5, 24", "aten.view(%p{0}, [4, 60])", "4, 60"},
  };
  const auto graph_of = [](const std::string& nodes, const std::string& results) {
    return "graph f(%m: f32[10, 24], %x: f32[2, 5, 24], %w: f32[24, 36], %u: f32[36, 24], %v: f32[2, 24, 36], "
           "%c: f32[36], %i: f32[1, 8, 3, 3], %j: f32[1, 8, 4, 4], %f: f32[4, 8, 1, 1]) {\n" +
           nodes + "  return " + results + "\n}";
  };
  std::string all, results;
  for (size_t i = 0; i < std::size(kCases); ++i) {
    const Case& c = kCases[i];
    SCOPED_TRACE(std::string(c.makes) + ", " + c.moves);
    const std::string moves = fmt::format(fmt::runtime(c.moves), i);
    const std::string nodes = fmt::format(
        "  %p{0}: f32[{1}] = {2}\n  %q{0}: f32[{3}] = {4}\n  %a{0}: f32[{3}] = aten.relu(%q{0})\n"
        "  %y{0}: f32[{3}] = aten.add.Scalar(%a{0}, {0})\n",
        i, c.sizes, c.makes, c.moved, moves);
    const std::string result = fmt::format("%y{}", i);
    const std::vector<uint8_t> payload = payload_of(graph_of(nodes, result));
    ASSERT_EQ(read_plan({payload.data(), payload.size()}, &plan_, nullptr), Error::Ok);
    EXPECT_EQ(launches(), 1u);
    all += nodes;
    results += (i ? ", " : "") + result;
  }
  compile(graph_of(all, results));
  expect_like_portable(
      {numbers(DType::f32, {10, 24}, 1), numbers(DType::f32, {2, 5, 24}, 2), numbers(DType::f32, {24, 36}, 3),
       numbers(DType::f32, {36, 24}, 4), numbers(DType::f32, {2, 24, 36}, 5), numbers(DType::f32, {36}, 6),
       numbers(DType::f32, {1, 8, 3, 3}, 7), numbers(DType::f32, {1, 8, 4, 4}, 8),
       numbers(DType::f32, {4, 8, 1, 1}, 9)},
      1e-5);
}

// V7: each output is written once, in the caller's layout.
TEST_F(CudaViews, OutputsMayBeViewsOfInputsOfOutputsAndEachOther) {
  compile(R"(graph f(%x: f32[6, 8]) {
  %a: f32[2, 8] = aten.slice.Tensor(%x, 0, 1, 3)
  %b: f32[8, 6] = aten.permute(%x, [1, 0])
  %y: f32[6, 8] = aten.abs(%x)
  %c: f32[8] = aten.select.int(%y, 0, 2)
  return %a, %b, %y, %c, %y
})");
  expect_same_bytes_as_portable({numbers(DType::f32, {6, 8}, 1)});
  for (const Buffer& buffer : plan_.buffers) EXPECT_NE(buffer.space, Space::arena);
}

// V8: a pointwise operator writes its result into its part of the cat.
TEST_F(CudaViews, ProducersOfACatWriteIntoIt) {
  compile(R"(graph f(%x: f32[6, 8], %y: f32[6, 4]) {
  %a: f32[6, 8] = aten.sin(%x)
  %b: f32[6, 4] = aten.neg(%y)
  %c: f32[6, 12] = aten.cat([%a, %b], 1)
  return %c
})");
  EXPECT_EQ(launches(), 1u);
  expect_like_portable({numbers(DType::f32, {6, 8}, 1), numbers(DType::f32, {6, 4}, 2)}, 1e-6);
}

struct JoinCase {
  const char* name;
  const char* text;
  std::vector<HostTensor> inputs;
  size_t launches;
  size_t in_arena = 0;  // number of buffers in the arena
};

// V8: reductions and matmuls store their results in their part of the cat, along any dimension.
TEST_F(CudaViews, ResultsOfReductionsAndProductsAreStoredInTheirPartOfACat) {
  const auto f32 = [](const std::vector<int32_t>& sizes, uint64_t seed) { return numbers(DType::f32, sizes, seed); };
  const std::vector<JoinCase> cases = {
      {"sums by dimension 0",
       R"(graph f(%x: f32[6, 40], %y: f32[4, 300]) {
  %a: f32[6] = aten.sum.dim_IntList(%x, [1])
  %b: f32[4] = aten.amax(%y, [1])
  %c: f32[10] = aten.cat([%a, %b], 0)
  return %c
})",
       {f32({6, 40}, 1), f32({4, 300}, 2)},
       2},
      {"tiles and a matvec by the last dimension",
       R"(graph f(%x: f32[40, 32], %v: f32[32, 24], %w: f32[32, 3]) {
  %a: f32[40, 24] = aten.mm(%x, %v)
  %r: f32[40, 24] = aten.relu(%a)
  %b: f32[40, 3] = aten.mm(%x, %w)
  %c: f32[40, 27] = aten.cat([%r, %b], 1)
  return %c
})",
       {f32({40, 32}, 1), f32({32, 24}, 2), f32({32, 3}, 3)},
       2},
      {"convolutions by channels, and a part that is an input",
       R"(graph f(%x: f32[2, 16, 9, 9], %v: f32[24, 16, 3, 3], %w: f32[16, 16, 1, 1]) {
  %a: f32[2, 24, 9, 9] = aten.convolution(%x, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %b: f32[2, 16, 9, 9] = aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %c: f32[2, 56, 9, 9] = aten.cat([%a, %x, %b], 1)
  return %c
})",
       {f32({2, 16, 9, 9}, 1), f32({24, 16, 3, 3}, 2), f32({16, 16, 1, 1}, 3)},
       3},
      {"a norm and a softmax, through views and a cat in a cat",
       R"(graph f(%x: f32[2, 3, 64]) {
  %a: f32[2, 3, 64] = aten.layer_norm(%x, [64], none, none, 0.001, false)
  %p: f32[3, 2, 64] = aten.permute(%a, [1, 0, 2])
  %b: f32[2, 3, 64] = aten._softmax(%x, 2, false)
  %q: f32[3, 2, 64] = aten.permute(%b, [1, 0, 2])
  %s: f32[2, 3] = aten.sum.dim_IntList(%x, [2])
  %t: f32[3, 2] = aten.permute(%s, [1, 0])
  %u: f32[3, 2, 1] = aten.unsqueeze(%t, 2)
  %c: f32[3, 2, 128] = aten.cat([%p, %q], 2)
  %d: f32[3, 2, 129] = aten.cat([%c, %u], 2)
  %e: f32[6, 129] = aten.view(%d, [6, 129])
  return %e
})",
       {f32({2, 3, 64}, 1)},
       3},
      {"parts that others read too, and one twice",
       R"(graph f(%x: f32[20, 32], %w: f32[32, 20]) {
  %a: f32[20, 20] = aten.mm(%x, %w)
  %b: f32[20] = aten.sum.dim_IntList(%a, [1])
  %k: f32[20, 1] = aten.unsqueeze(%b, 1)
  %c: f32[20, 42] = aten.cat([%a, %k, %a, %k], 1)
  %d: f32[20] = aten.amax(%x, [1])
  %e: f32[20] = aten.mul.Tensor(%b, %d)
  return %c, %e
})",
       {f32({20, 32}, 1), f32({32, 20}, 2)},
       3,
       2},
      {"a region of rows that are replaced",
       R"(graph f(%x: f32[12, 40], %y: f32[3, 40]) {
  %a: f32[3, 40] = aten._softmax(%y, 1, false)
  %b: f32[12, 40] = aten.slice_scatter(%x, %a, 0, 2, 11, 3)
  %m: f32[40] = aten.amax(%y, [0])
  %c: f32[12, 40] = aten.select_scatter(%x, %m, 0, 7)
  return %b, %c
})",
       {f32({12, 40}, 1), f32({3, 40}, 2)},
       3},
  };
  for (const JoinCase& each : cases) {
    SCOPED_TRACE(each.name);
    compile(each.text);
    EXPECT_EQ(launches(), each.launches);
    size_t in_arena = 0;
    for (const Buffer& buffer : plan_.buffers) in_arena += buffer.space == Space::arena && buffer.size_bytes > 0;
    EXPECT_EQ(in_arena, each.in_arena);
    std::vector<HostValue> inputs;
    for (const HostTensor& input : each.inputs) inputs.push_back({input});
    expect_like_portable(inputs, 1e-6);
  }
}

// The same with sizes known only at run time. Parts that do not depend on each other may run at the same time.
TEST_F(CudaViews, PartsOfACatMayHaveSizesOfRunTime) {
  compile(R"(graph f(%x: f32[s0, 32], %y: f32[s1, 32], %w: f32[32, 24]) {
  range s0: 1..64
  range s1: 0..9
  %a: f32[s0, 24] = aten.mm(%x, %w)
  %b: f32[s1, 24] = aten.mm(%y, %w)
  %c: f32[s0 + s1, 24] = aten.cat([%a, %b], 0)
  return %c
})");
  EXPECT_EQ(launches(), 2u);
  for (const PlanNode& node : plan_.nodes) EXPECT_TRUE(node.after.empty());
  for (const int32_t rows : {1, 40}) {
    for (const int32_t more : {0, 5})
      expect_like_portable(
          {numbers(DType::f32, {rows, 32}, 1), numbers(DType::f32, {more, 32}, 2), numbers(DType::f32, {32, 24}, 3)},
          1e-6);
  }
}

// An inner cat of which only some parts are computed here is itself a part of the outer cat.
TEST_F(CudaViews, PartsOfOuterTensorsMayBeCopiesOfInnerOnes) {
  const std::vector<HostTensor> inputs = {numbers(DType::f32, {5, 8}, 1), numbers(DType::f32, {3, 6}, 2),
                                          numbers(DType::f32, {8, 6}, 3), numbers(DType::f32, {12, 6}, 4)};
  compile(R"(graph f(%x: f32[5, 8], %y: f32[3, 6], %w: f32[8, 6], %z: f32[12, 6]) {
  %a: f32[5, 6] = aten.mm(%x, %w)
  %i: f32[8, 6] = aten.cat([%a, %y], 0)
  %s: f32[5, 1] = aten.sum.dim_IntList(%x, [1], true)
  %t: f32[5, 6] = aten.expand(%s, [5, 6])
  %c: f32[13, 6] = aten.cat([%i, %t], 0)
  %r: f32[8] = aten.sum.dim_IntList(%i, [1])
  return %c, %r
})");
  expect_like_portable({inputs.begin(), inputs.end()}, 1e-6);
  compile(R"(graph f(%x: f32[5, 8], %y: f32[3, 6], %w: f32[8, 6], %z: f32[12, 6]) {
  %a: f32[5, 6] = aten.mm(%x, %w)
  %i: f32[8, 6] = aten.cat([%a, %y], 0)
  %c: f32[11, 6] = aten.cat([%i, %y], 0)
  %d: f32[8, 12] = aten.cat([%i, %i], 1)
  return %c, %d
})");
  expect_like_portable({inputs.begin(), inputs.end()}, 1e-6);
  compile(R"(graph f(%x: f32[5, 8], %y: f32[3, 6], %w: f32[8, 6], %z: f32[12, 6]) {
  %a: f32[5, 6] = aten.mm(%x, %w)
  %i: f32[12, 6] = aten.slice_scatter(%z, %a, 0, 0, 5)
  %o: f32[30, 6] = aten.full([30, 6], 1.0)
  %k: f32[30, 6] = aten.slice_scatter(%o, %i, 0, 2, 14)
  return %i, %k
})");
  expect_like_portable({inputs.begin(), inputs.end()}, 1e-6);
}

TEST_F(CudaViews, TensorsWithoutElementsHaveViews) {
  compile(R"(graph f(%x: f32[3, 0, 2], %y: f32[3]) {
  %r: f32[3, 0, 2] = aten.roll(%x, [1, 2], [1, 0])
  %a: f32[3, 0, 2] = aten.roll(%x, [1], [])
  %u: f32[3, 0, 2, 1] = aten.view(%r, [3, 0, 2, 1])
  %s: f32[3] = aten.sum.dim_IntList(%r, [1, 2])
  %t: f32[3] = aten.add.Tensor(%s, %y)
  return %u, %a, %t
})");
  expect_bits_of_portable({numbers(DType::f32, {3, 0, 2}, 1), numbers(DType::f32, {3}, 2)});
}

// If a map reads all elements of a cat, the cat is part of its kernel and needs no copy, but its other parts need a
// launch.
TEST_F(CudaViews, ACatThatBecomesPartOfItsReaderStaysWhole) {
  const std::string text = R"(graph f(%x: f32[20, 32], %y: f32[20, 4]) {
  %a: f32[20] = aten.sum.dim_IntList(%x, [1])
  %b: f32[20, 1] = aten.unsqueeze(%a, 1)
  %c: f32[20, 5] = aten.cat([%b, %y], 1)
  %d: f32[20, 5] = aten.neg(%c)
  return %c, %d
})";
  compile(text);
  EXPECT_EQ(launches(), 2u);
  expect_like_portable({numbers(DType::f32, {20, 32}, 1), numbers(DType::f32, {20, 4}, 2)}, 1e-6);
}

// V10, M3: a node that stays on the CPU has a delegate before it and one after it. A view is passed between them.
TEST_F(CudaViews, ViewsCrossTheBordersOfPartitions) {
  compile_any(R"(graph f(%x: f32[4, 4]) {
  %a: f32[4, 4] = aten.abs(%x)
  %t: f32[4, 4] = aten.permute(%a, [1, 0])
  %h: i16[4, 8] = aten.view.dtype(%t, i16)
  %d: f32[4, 4] = aten.view.dtype(%h, f32)
  %s: f32[4, 4] = aten.add.Tensor(%t, %d)
  %u: f32[4, 4] = aten.permute(%s, [1, 0])
  %y: f32[4, 4] = aten.neg(%u)
  return %y
})");
  EXPECT_EQ(result_.methods[0].delegates, 2u);
  expect_same_bytes_as_portable({numbers(DType::f32, {4, 4}, 1)});
  // M1: each plan names its method.
  for (uint32_t i = 0; i < 2; ++i) {
    const auto& payload = result_.method_plans[0].delegates[i]->payload;
    ASSERT_EQ(read_plan({payload.data(), payload.size()}, &plan_, nullptr), Error::Ok);
    EXPECT_EQ(plan_.method, "forward");
    EXPECT_EQ(plan_.partition, i);
  }
}

// A value that passes from one delegate to the next stays on the device. If the node outside reads it too, it is copied
// once.
TEST_F(CudaViews, WhatPassesFromDelegateToDelegateStaysOnTheDevice) {
  compile_any(R"(graph f(%x: f32[4, 4]) {
  %a: f32[4, 4] = aten.abs(%x)
  %e: f32[4, 4] = aten.neg(%a)
  %s: f32[4, 4] = aten.sqrt(%a)
  %w: c64[4, 4] = aten.complex(%e, %e)
  %b: c64[4, 4] = aten.sin(%w)
  %v: f32[4, 4, 2] = aten.view_as_real(%b)
  %d: f32[4, 4] = aten.select.int(%v, 2, 0)
  %y: f32[4, 4] = aten.add.Tensor(%s, %d)
  %z: f32[4, 4] = aten.mul.Tensor(%e, %y)
  return %z
})");
  EXPECT_EQ(result_.methods[0].delegates, 2u);
  const compiler::MethodPlan& plan = result_.method_plans[0];
  std::vector<std::string> between;
  for (const compiler::Storage& storage : plan.storages) {
    if (storage.on_device) between.push_back(storage.label);
  }
  EXPECT_EQ(between.size(), 2u);  // a second storage for e, and s
  EXPECT_EQ(plan.device_arena_bytes, 128u);
  expect_same_bytes_as_portable({numbers(DType::f32, {4, 4}, 1)});
  void* const library = dlopen(twin().c_str(), RTLD_NOW);  // the library that has run
  ASSERT_NE(library, nullptr);
  const auto count = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(library, "wick_twin_count"));
  EXPECT_EQ(count("copies_to_device"), 2u) << "x and b";
  EXPECT_EQ(count("copies_to_host"), 2u) << "w and z";
}

// V11
TEST_F(CudaViews, BoundsOfSlicesAreClamped) {
  std::string text = "graph f(%x: f32[7]) {\n", results;
  size_t count = 0;
  for (const int64_t start : {-9, -7, -2, 0, 3, 6, 7, 9}) {
    for (const int64_t end : {-8, -3, 2, 7, 100}) {
      const int64_t step = 1 + static_cast<int64_t>(count % 3);
      const auto clamped = [](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + 7 : bound, 0, 7); };
      const int64_t size = std::max<int64_t>((clamped(end) - clamped(start) + step - 1) / step, 0);
      text += fmt::format(
          "  %s{0}: f32[{1}] = aten.slice.Tensor(%x, 0, {2}, {3}, {4})\n  %y{0}: f32[{1}] = aten.neg(%s{0})\n", count,
          size, start, end, step);
      results += fmt::format("{}%y{}", count == 0 ? "" : ", ", count);
      ++count;
    }
  }
  compile_any(text + "  return " + results + "\n}");  // empty slices stay on the CPU
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  expect_same_bytes_as_portable({numbers(DType::f32, {7}, 1)});
}

// Negative bounds, and bounds behind the end, for a size that is known at run time.
TEST_F(CudaViews, BoundsOfSlicesOfRunTimeAreClamped) {
  std::string text = "graph f(%x: f32[s0]) {\n  range s0: 1..9\n", results;
  size_t count = 0;
  for (const int64_t start : {-9, -5, -1, 0}) {
    text += fmt::format("  %s{0} = aten.slice.Tensor(%x, 0, {1}, 9223372036854775807)\n  %y{0} = aten.neg(%s{0})\n",
                        count, start);
    results += fmt::format("{}%y{}", count == 0 ? "" : ", ", count);
    ++count;
  }
  compile(text + "  return " + results + "\n}");
  for (const int size : {1, 4, 5, 6, 9}) expect_same_bytes_as_portable({numbers(DType::f32, {size}, 1)});
}

// M8
TEST(CudaPartition, AGraphWithoutNodesMakesNoDelegateAndRefusalsHaveReasons) {
  CompileResult result;
  ASSERT_FALSE(program_of("graph f(%x: f32[6, 8]) {\n  return %x\n}", "cuda", {{"gpu", "none"}}, &result).empty());
  EXPECT_EQ(result.methods[0].delegates, 0u);
  ASSERT_FALSE(program_of(R"(graph f(%x: f32[4, 4]) {
  %d: i16[4, 8] = aten.view.dtype(%x, i16)
  return %d
})",
                          "cuda", {{"gpu", "none"}}, &result)
                   .empty());
  EXPECT_EQ(result.methods[0].delegates, 0u);
  ASSERT_EQ(result.methods[0].outside.size(), 1u);
  EXPECT_NE(result.methods[0].outside[0].reason, "");
}

// The CPU time of this thread, in seconds, to compile a chain of `num_nodes` nodes: the least of three runs.
double seconds_to_compile_chain(int num_nodes) {
  std::string text = "graph f(%x0: f32[4]) {\n";
  for (int i = 0; i < num_nodes; ++i) text += fmt::format("  %x{} = aten.{}(%x{})\n", i + 1, i % 2 ? "relu" : "neg", i);
  text += fmt::format("  return %x{}\n}}", num_nodes);
  double least = INFINITY;
  for (int round = 0; round < 3; ++round) {
    CompileResult result;
    const double start = wick::testing::processor_seconds();
    EXPECT_FALSE(program_of(text, "cuda", {{"gpu", "none"}}, &result).empty());
    least = std::min(least, wick::testing::processor_seconds() - start);
    EXPECT_EQ(result.methods[0].delegates, 1u);
    EXPECT_TRUE(result.methods[0].outside.empty());
  }
  return least;
}

// If each node looked at all others, eight times the nodes would take 64 times the time.
TEST(CudaPartition, TakesTimeThatGrowsWithTheGraphOnly) {
  const double few = seconds_to_compile_chain(500), many = seconds_to_compile_chain(4'000);
  EXPECT_LT(many, 32 * few);
}

// The host can reorder elements as fast as it could send them to the device. A view of a buffer on the device is
// another case.
TEST(CudaPartition, ViewsAloneStayOnTheHost) {
  const auto program = [](const std::string& last) {
    return "graph f(%x: f32[4, 6]) {\n  %a: f32[6, 4] = aten.permute(%x, [1, 0])\n  %b: f32[2, 12] = aten.view(%a, [2, "
           "12])\n" +
           last + "\n}";
  };
  const auto views = outside_of(program("  return %b"));
  ASSERT_EQ(views.size(), 2u);
  for (const auto& [op, reason] : views)
    EXPECT_EQ(reason, "the partition holds only views: bringing their elements to the device would save nothing") << op;
  EXPECT_TRUE(outside_of(program("  %y: f32[2, 12] = aten.relu(%b)\n  return %y")).empty());
  EXPECT_TRUE(outside_of(R"(graph f(%x: f32[4]) {
  state %cache: f32[4, 4] "cache"
  %row: f32[4] = aten.select.int(%cache, 0, 1)
  return %row
})")
                  .empty());
}

// M4: constants that two methods share are in the file once.
TEST(CudaPartition, MethodsWithEqualWeightsShareThemInTheFile) {
  const auto fixture = testing::expand_fixture("tests/fixtures/models/tcn.wfix.gz");
  ASSERT_TRUE(fixture.ok());
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cuda", {{"gpu", "none"}});
  size_t blobs[2] = {};
  for (const size_t methods : {1u, 2u}) {
    std::vector<compiler::CompileBytes> inputs;
    for (size_t i = 0; i < methods; ++i) inputs.push_back({fmt::format("method{}", i), "tcn.pt2", bytes});
    const auto compiled = compiler::compile(inputs, options);
    ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    const std::vector<uint8_t> file = compiled->program.pte.join();
    const auto program = wick::Program::load({file.data(), file.size()});
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(program->num_methods(), methods);
    blobs[methods - 1] = program->num_named_data();
  }
  EXPECT_GT(blobs[0], 2u);
  EXPECT_EQ(blobs[1], blobs[0]);
}

}  // namespace
}  // namespace wick::cuda
