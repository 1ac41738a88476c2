// Mutable buffers in the memory of delegates: what a call writes, who sees it, who shares it. Statements V4 to V6, M1,
// M5, X2, X3 of docs/cuda_proofs.md.
#include <algorithm>

#include "backends/cuda/test/state/state_test_support.h"

namespace wick::cuda {
namespace {

// V6: planned bytes and written bytes are those of the rows, not of the cache.
TEST_F(CudaState, AWriteTouchesTheseRowsOnly) {
  struct Write {
    const char *inputs, *line;
    std::vector<HostValue> values;
  };
  const HostValue rows = numbers(DType::f32, {1, 4, 2, 8}, 3), row = numbers(DType::f32, {1, 4, 8}, 4);
  const std::vector<Write> writes = {
      {"%x: f32[1, 4, 2, 8]", "%k: f32[1, 4, 64, 8] = aten.slice_scatter(%cache, %x, 2, 10, 12)", {rows}},
      {"%x: f32[1, 4, 8]", "%k: f32[1, 4, 64, 8] = aten.select_scatter(%cache, %x, 2, -3)", {row}},
      {"%x: f32[1, 4, 2, 8], %at: i64[2]",
       "%k: f32[1, 4, 64, 8] = aten.index_put(%cache, [none, none, %at], %x)",
       {rows, integers({63, 5}, {2})}},
      {"%x: f32[1, 4, 2, 8], %at: i64[2]",
       "%k: f32[1, 4, 64, 8] = aten.index_copy(%cache, 2, %at, %x)",
       {rows, integers({7, 7}, {2})}},
      {"%x: f32[1, 4, 1, 8], %at: i64[1]",
       "%k: f32[1, 4, 64, 8] = aten.index_copy(%cache, 2, %at, %x)",
       {numbers(DType::f32, {1, 4, 1, 8}, 5), integers({9}, {1})}},
  };
  std::vector<std::string> methods;
  for (const Write& write : writes) {
    const auto number = methods.size();
    methods.push_back(
        fmt::format("graph m{0}({1}) {{ state %cache: f32[1, 4, 64, 8] \"cache.{0}\" = ...\n  {2}\n"
                    "  %s: f32[1, 4, 8] = aten.sum.dim_IntList(%k, [2])\n  update %cache = %k\n  return %s\n}}",
                    number, write.inputs, write.line));
  }
  compile_state(methods);
  std::vector<Call> calls;
  for (size_t i = 0; i < writes.size(); ++i) {
    const Write& write = writes[i];
    SCOPED_TRACE(write.line);
    ASSERT_EQ(result_.methods[i].delegates, 1u);
    const Plan plan = plan_of(i);
    EXPECT_EQ(states_of(plan), std::vector<std::string>{fmt::format("cache.{}", i)});
    EXPECT_EQ(plan.inputs.size(), write.values.size());
    EXPECT_EQ(plan.outputs.size(), 1u);
    EXPECT_EQ(plan.state_bytes, 4u * 64 * 8 * 4);
    EXPECT_LT(plan.arena_bytes, 4096u);
    const uint64_t moved = write.values[0].tensor.bytes.size();
    EXPECT_EQ(written_bytes(plan), moved + 4 * 8 * 4);  // and those of the sum
    calls.insert(calls.end(), 2, {fmt::format("m{}", i), write.values});
  }
  expect_like_portable_after(calls);
}

// V4, V5
TEST_F(CudaState, ReadsOfTheOldVersionSeeTheOldDataAndOtherRowsAreNotCopied) {
  const auto graph = [](const char* read) {
    return fmt::format(R"(graph a(%x: f32[4, 8]) {{
  state %cache: f32[16, 8] "cache" = ...
  %k: f32[16, 8] = aten.slice_scatter(%cache, %x, 0, 4, 8)
  %old: f32[2, 8] = aten.slice.Tensor(%cache, 0, {}, 1)
  %e: f32[2, 8] = aten.exp(%old)
  %new: f32[4, 8] = aten.slice.Tensor(%k, 0, 4, 8, 1)
  %s: f32[8] = aten.sum.dim_IntList(%new, [0])
  %y: f32[2, 8] = aten.mul.Tensor(%e, %s)
  update %cache = %k
  return %y
}})",
                       read);
  };
  const std::vector<Call> calls = {{"a", {numbers(DType::f32, {4, 8}, 1)}}, {"a", {numbers(DType::f32, {4, 8}, 2)}}};
  compile_state({graph("0, 2")});
  const size_t disjoint = plan_of(0).nodes.size();
  expect_like_portable_after(calls);
  compile_state({graph("5, 7")});
  EXPECT_EQ(plan_of(0).nodes.size(), disjoint + 1);
  expect_like_portable_after(calls);
}

// A value is read from a region, written over the same region, and read once more: it must be computed from the old
// elements.
TEST_F(CudaState, WhatReplacesTheElementsItIsReadFromIsReadLaterToo) {
  const HostValue x = numbers(DType::f32, {4}, 1);
  for (const char* value : {"aten.mul.Tensor(%row, 0.5)", "aten.view(%row, [4])"}) {
    SCOPED_TRACE(value);
    compile_state({fmt::format(R"(graph a(%x: f32[4]) {{
  state %acc: f32[2, 4] "acc" = [1, 2, 3, 4, 5, 6, 7, 8]
  %row: f32[4] = aten.select.int(%acc, 0, 1)
  %y: f32[4] = {}
  %k: f32[2, 4] = aten.select_scatter(%acc, %y, 0, 1)
  %z: f32[4] = aten.add.Tensor(%y, %x)
  update %acc = %k
  return %y, %z
}})",
                               value)});
    expect_like_portable_after({{"a", {x}}, {"a", {x}}, {"a", {x}}});
  }
}

TEST_F(CudaState, WritesThroughViewsOfOneBufferForAllLayersAreInPlace) {
  compile_state({R"(graph a(%x: f32[2, 1, 8], %at: i64[1]) {
  state %cache: f32[3, 2, 64, 8] "cache" = ...
  %layer: f32[2, 64, 8] = aten.select.int(%cache, 0, 1)
  %w: f32[2, 64, 8] = aten.index_put(%layer, [none, %at], %x)
  %k: f32[3, 2, 64, 8] = aten.select_scatter(%cache, %w, 0, 1)
  %layer_2: f32[2, 64, 8] = aten.select.int(%k, 0, 2)
  %part: f32[2, 4, 8] = aten.slice.Tensor(%layer_2, 1, 8, 12, 1)
  %p: f32[2, 4, 8] = aten.add.Tensor(%part, %x)
  %w_2: f32[2, 64, 8] = aten.slice_scatter(%layer_2, %p, 1, 8, 12)
  %k_2: f32[3, 2, 64, 8] = aten.select_scatter(%k, %w_2, 0, 2)
  %s: f32[3, 2, 8] = aten.sum.dim_IntList(%k_2, [2])
  update %cache = %k_2
  return %s
})"});
  EXPECT_EQ(written_bytes(plan_of(0)), (2u * 8 + 2 * 4 * 8 + 3 * 2 * 8) * 4);
  const HostValue x = numbers(DType::f32, {2, 1, 8}, 1);
  expect_like_portable_after({{"a", {x, integers({3}, {1})}}, {"a", {x, integers({60}, {1})}}});
}

// Between writes a version may be viewed in other sizes. A reader of an older version, in any sizes, sees that version.
TEST_F(CudaState, WritesToABufferInOtherSizesAreInPlace) {
  compile_state({R"(graph a(%x: f32[2, 1, 8], %at: i64[1], %s: f32[8]) {
  state %cache: f32[1, 2, 64, 8] "cache" = ...
  %heads: f32[2, 64, 8] = aten.view(%cache, [2, 64, 8])
  %w: f32[2, 64, 8] = aten.index_put(%heads, [none, %at], %x)
  %flat: f32[1024] = aten.view(%w, [1024])
  %w_2: f32[1024] = aten.slice_scatter(%flat, %s, 0, 16, 24)
  %k: f32[1, 2, 64, 8] = aten.view(%w_2, [1, 2, 64, 8])
  %rows: f32[128, 8] = aten.view(%cache, [128, 8])
  %old: f32[1, 8] = aten.slice.Tensor(%rows, 0, 2, 3)
  %older: f32[8] = aten.slice.Tensor(%flat, 0, 16, 24)
  %sum: f32[1, 2, 8] = aten.sum.dim_IntList(%k, [2])
  %y: f32[1, 8] = aten.add.Tensor(%old, %older)
  update %cache = %k
  return %sum, %y
})"});
  EXPECT_LE(written_bytes(plan_of(0)), (2u * 8 + 8 + 2 * 8 + 3 * 8) * 4);
  const HostValue x = numbers(DType::f32, {2, 1, 8}, 1), s = numbers(DType::f32, {8}, 2);
  expect_like_portable_after({{"a", {x, integers({2}, {1}), s}}, {"a", {x, integers({60}, {1}), s}}});
}

// If rows are written to one place, a reader gets the last one from memory, not those that threads have computed.
TEST_F(CudaState, WhatIsReadBackIsTheLastOfTheRowsThatWereWrittenThere) {
  compile_state({R"(graph a(%c: f32[4, 8], %x: f32[3, 8], %at: i64[3]) {
  state %s: f32[4, 8] "s" = ...
  %r: i64[3, 1] = aten.reshape(%at, [3, 1])
  %i: i64[3, 8] = aten.expand(%r, [3, 8])
  %p: f32[4, 8] = aten.index_put(%c, [%at], %x)
  %a: f32[3, 8] = aten.index.Tensor(%p, [%at])
  %p_2: f32[4, 8] = aten.index_put(%c, [%at], %x, true)
  %a_2: f32[3, 8] = aten.index.Tensor(%p_2, [%at])
  %p_3: f32[4, 8] = aten.index_copy(%c, 0, %at, %x)
  %a_3: f32[3, 8] = aten.index_select(%p_3, 0, %at)
  %p_4: f32[4, 8] = aten.scatter.src(%c, 0, %i, %x)
  %a_4: f32[3, 8] = aten.gather(%p_4, 0, %i)
  %p_5: f32[4, 8] = aten.scatter_add(%c, 0, %i, %x)
  %a_5: f32[3, 8] = aten.gather(%p_5, 0, %i)
  %p_6: f32[4, 8] = aten.index_put(%s, [%at], %x)
  %a_6: f32[3, 8] = aten.index.Tensor(%p_6, [%at])
  %y: f32[3, 8] = aten.mul.Tensor(%a, 2)
  %y_2: f32[3, 8] = aten.mul.Tensor(%a_2, 2)
  %y_3: f32[3, 8] = aten.mul.Tensor(%a_3, 2)
  %y_4: f32[3, 8] = aten.mul.Tensor(%a_4, 2)
  %y_5: f32[3, 8] = aten.mul.Tensor(%a_5, 2)
  %y_6: f32[3, 8] = aten.mul.Tensor(%a_6, 2)
  update %s = %p_6
  return %y, %y_2, %y_3, %y_4, %y_5, %y_6
})"});
  const HostValue c = numbers(DType::f32, {4, 8}, 1), x = numbers(DType::f32, {3, 8}, 2);
  expect_like_portable_after({{"a", {c, x, integers({1, 1, 2}, {3})}}, {"a", {c, x, integers({3, 0, 3}, {3})}}});
}

// A buffer that moves by one row, two that are exchanged, a counter, and one that takes an input.
TEST_F(CudaState, NewValuesOfWholeBuffersComeAfterAllReads) {
  compile_state({R"(graph a(%x: f32[1, 8]) {
  state %window: f32[4, 8] "window" = ...
  state %even: f32[1, 8] "even" = ...
  state %odd: f32[1, 8] "odd" = [1, 2, 3, 4, 5, 6, 7, 8]
  state %count: i64[] "count" = [40]
  state %last: f32[1, 8] "last" = ...
  %kept: f32[3, 8] = aten.slice.Tensor(%window, 0, 1, 4, 1)
  %next: f32[4, 8] = aten.cat([%kept, %x], 0)
  %n: i64[] = aten.add.Tensor(%count, 1)
  %e: f32[1, 8] = aten.add.Tensor(%odd, %x)
  %o: f32[1, 8] = aten.mul.Tensor(%even, %last)
  %s: f32[8] = aten.sum.dim_IntList(%next, [0])
  %y: f32[8] = aten.mul.Tensor(%s, %n)
  update %window = %next
  update %even = %e
  update %odd = %o
  update %count = %n
  update %last = %x
  return %y, %n, %o, %window
})"});
  EXPECT_EQ(result_.methods[0].delegates, 1u);
  EXPECT_EQ(plan_of(0).inputs.size(), 1u);
  std::vector<Call> calls;
  for (uint64_t i = 1; i <= 5; ++i) calls.push_back({"a", {numbers(DType::f32, {1, 8}, i)}});
  expect_like_portable_after(calls);
}

// Initial zeros take no bytes in the file; other initial values are constants.
TEST_F(CudaState, BeginsAsTheModelSays) {
  compile_state({R"(graph a(%x: f32[4]) {
  state %zero: f32[4] "zero" = [0, 0, 0, 0]
  state %some: f32[4] "some" = [1, 2, 3, 4]
  %z: f32[4] = aten.add.Tensor(%zero, %x)
  %s: f32[4] = aten.mul.Tensor(%some, %z)
  update %zero = %z
  update %some = %s
  return %s
})"});
  for (const Buffer& buffer : plan_of(0).buffers) {
    if (buffer.space == Space::state) {
      EXPECT_EQ(buffer.data.empty(), buffer.state == "zero");
    }
  }
  const auto& constants = result_.method_plans[0].delegates[0]->constants;
  EXPECT_EQ(std::count_if(constants.begin(), constants.end(), [](const auto& each) { return !each.is_code; }), 1);
  const Call call = {"a", {numbers(DType::f32, {4}, 1)}};
  expect_like_portable_after({call, call, call});
}

// --- several methods, several delegates ---

constexpr char kPrefill[] = R"(graph prefill(%x: f32[1, 2, 3, 8], %at: i64[3]) {
  state %keys: f32[1, 2, 16, 8] "layer.keys" = ...
  %k: f32[1, 2, 16, 8] = aten.index_put(%keys, [none, none, %at], %x)
  %s: f32[1, 2, 8] = aten.sum.dim_IntList(%k, [2])
  update %keys = %k
  return %s
})";
constexpr char kDecode[] = R"(graph decode(%x: f32[1, 2, 1, 8], %at: i64[1]) {
  state %keys: f32[1, 2, 16, 8] "layer.keys" = ...
  %k: f32[1, 2, 16, 8] = aten.index_put(%keys, [none, none, %at], %x)
  %m: f32[1, 2, 8] = aten.amax(%k, [2])
  update %keys = %k
  return %m
})";
Call prefill(uint64_t seed) { return {"prefill", {numbers(DType::f32, {1, 2, 3, 8}, seed), integers({0, 1, 2}, {3})}}; }
Call decode(uint64_t seed, int64_t at) {
  return {"decode", {numbers(DType::f32, {1, 2, 1, 8}, seed), integers({at}, {1})}};
}

// M1, M5
TEST_F(CudaState, MethodsShareBuffersByNameWithoutAnOption) {
  compile_state({kPrefill, kDecode});
  expect_like_portable_after({prefill(1), decode(2, 3), decode(3, 4), prefill(4), decode(5, 5)});
}

// M5
TEST_F(CudaState, InterleavedSessionsGiveWhatTheyGiveAlone) {
  compile_state({kPrefill, kDecode});
  const std::vector<Call> calls[2] = {{prefill(1), decode(2, 3), decode(3, 4)},
                                      {prefill(7), decode(8, 9), decode(9, 1)}};
  std::vector<std::vector<uint8_t>> alone[2];
  for (size_t s = 0; s < 2; ++s) {
    const auto module = on_twin();
    for (const Call& call : calls[s]) alone[s].push_back(outputs(*module, call)[0].tensor.bytes);
  }
  const std::unique_ptr<wick::Module> sessions[2] = {on_twin(), on_twin()};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t s = 0; s < 2; ++s)
      EXPECT_EQ(outputs(*sessions[s], calls[s][i])[0].tensor.bytes, alone[s][i]) << "session " << s << ", call " << i;
  }
}

// A method that only reads a buffer that another one writes must not read the constant of its own file.
TEST_F(CudaState, AMethodThatOnlyReadsABufferSeesWhatTheOtherWrites) {
  compile_state({kPrefill, R"(graph look(%x: f32[8]) {
  const %keys: f32[1, 2, 16, 8] "layer.keys" = ...
  %y: f32[1, 2, 16, 8] = aten.mul.Tensor(%keys, %x)
  return %y
})"});
  EXPECT_EQ(states_of(plan_of(1)), std::vector<std::string>{"layer.keys"});
  const auto module = on_twin();
  const Call look = {"look", {numbers(DType::f32, {8}, 5)}};
  const auto has_numbers = [&] {
    const HostTensor seen = outputs(*module, look)[0].tensor;
    bool found = false;
    for (size_t i = 0; i < seen.bytes.size() / sizeof(float); ++i) found = found || element(seen, i) != 0;
    return found;
  };
  EXPECT_FALSE(has_numbers());
  (void)outputs(*module, prefill(1));
  EXPECT_TRUE(has_numbers());
}

// Also if the write is part of the kernel that computes the rows, or if the bad index is that of a row that is read.
TEST_F(CudaState, AWriteWithABadIndexIsNotDone) {
  struct Write {
    std::vector<int32_t> sizes;
    const char* lines;
  };
  const std::vector<Write> writes = {
      {{1, 8}, "%n: f32[4, 8] = aten.index_put(%s, [%at], %x)"},
      {{1, 8}, "%n: f32[4, 8] = aten.index_put(%s, [%at], %x, true)"},
      {{1, 8}, "%n: f32[4, 8] = aten.index_copy(%s, 0, %at, %x)"},
      {{1, 8},
       "%r: i64[1, 1] = aten.reshape(%at, [1, 1])\n  %i: i64[1, 8] = aten.expand(%r, [1, 8])\n"
       "  %n: f32[4, 8] = aten.scatter.src(%s, 0, %i, %x)"},
      {{5, 8}, "%e: f32[1, 8] = aten.embedding(%x, %at)\n  %n: f32[4, 8] = aten.slice_scatter(%s, %e, 0, 0, 1)"},
      {{8, 16},
       "%l: f32[8] = aten.sum.dim_IntList(%x, [1])\n  %r: f32[1, 8] = aten.reshape(%l, [1, 8])\n"
       "  %n: f32[4, 8] = aten.index_put(%s, [%at], %r)"},
      // The following are not writes in place.
      {{1, 8}, "%m: f32[4, 8] = aten.mul.Tensor(%s, 2)\n  %n: f32[4, 8] = aten.index_put(%m, [%at], %x)"},
      {{2, 8},
       "%m: f32[4, 8] = aten.mul.Tensor(%s, 2)\n"
       "  %n: f32[4, 8] = higher_order.scan([%m], [%x], [%at]) graph (%c: f32[4, 8], %e: f32[8], %i: i64[1]) {\n"
       "    %v: f32[1, 8] = aten.view(%e, [1, 8])\n    %d: f32[4, 8] = aten.index_put(%c, [%i], %v)\n"
       "    return %d\n  }"},
      {{8, 1},
       "%t: f32[8, 4] = aten.permute(%s, [1, 0])\n  %p: f32[8, 4] = aten.index_put(%t, [none, %at], %x)\n"
       "  %n: f32[4, 8] = aten.permute(%p, [1, 0])"},
      {{2, 8},
       "%w: f32[1, 8] = aten.slice.Tensor(%x, 0, 1, 2)\n  %h: f32[2, 8] = aten.index_put(%x, [%at], %w)\n"
       "  %n: f32[4, 8] = aten.slice_scatter(%s, %h, 0, 1, 3)"},
  };
  for (const auto& [sizes, lines] : writes) {
    SCOPED_TRACE(lines);
    compile_state({fmt::format("graph a(%x: f32[{}, {}], %at: i64[1]) {{\n  state %s: f32[4, 8] \"s\" = ...\n  {}\n"
                               "  update %s = %n\n  return 0\n}}",
                               sizes[0], sizes[1], lines),
                   "graph look() {\n  state %s: f32[4, 8] \"s\" = ...\n  %y: f32[4, 8] = aten.add.Tensor(%s, 1)\n"
                   "  update %s = %s\n  return %y\n}"});
    const auto module = on_twin();
    const HostTensor rows = numbers(DType::f32, sizes, 3);
    const auto first = outputs(*module, {"look", {}})[0].tensor.bytes;
    (void)outputs(*module, {"a", {rows, integers({0}, {1})}});
    const auto before = outputs(*module, {"look", {}})[0].tensor.bytes;
    EXPECT_NE(before, first);
    for (const int64_t bad : {int64_t{5}, int64_t{-9}, int64_t{1} << 32}) {
      std::vector<HostValue> out;
      ModuleError error;
      const HostTensor others = numbers(DType::f32, sizes, 4);
      EXPECT_FALSE(module->execute("a", {others, integers({bad}, {1})}, &out, &error));
      EXPECT_NE(error.message.find("out of bounds"), std::string::npos) << error.message;
      EXPECT_EQ(outputs(*module, {"look", {}})[0].tensor.bytes, before) << bad;
    }
  }
}

TEST_F(CudaState, AMethodThatClearsBuffersNeedsNoNodes) {
  compile_state({kPrefill, kDecode, R"(graph reset() {
  state %keys: f32[1, 2, 16, 8] "layer.keys" = ...
  const %zero: f32[1, 2, 16, 8] = ...
  update %keys = %zero
  return 0
})"});
  EXPECT_EQ(reason_outside(2, "layer.keys"), "held");
  const auto module = on_twin();
  const auto first = outputs(*module, decode(1, 3))[0].tensor.bytes;
  (void)outputs(*module, prefill(1));
  EXPECT_NE(outputs(*module, decode(1, 3))[0].tensor.bytes, first);
  (void)outputs(*module, {"reset", {}});
  EXPECT_EQ(outputs(*module, decode(1, 3))[0].tensor.bytes, first);
}

TEST_F(CudaState, BuffersThatDifferAreKeptApart) {
  const std::string other = R"(graph b(%x: f32[4]) {
  state %s: f32[4] "s" = [1, 1, 1, 1]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  update %s = %n
  return %n
})";
  std::string first = other;
  first.replace(first.find("graph b"), 7, "graph a").replace(first.find("[1, 1, 1, 1]"), 12, "[0, 0, 0, 0]");
  compile_state({first, other});
  EXPECT_EQ(states_of(plan_of(0)), std::vector<std::string>{"s"});
  EXPECT_EQ(states_of(plan_of(1)), std::vector<std::string>{"s@b"});
  ASSERT_FALSE(result_.methods[1].notes.empty());
  EXPECT_NE(result_.methods[1].notes[0].find("method 'a' has another dtype, shape or initial value"),
            std::string::npos);
  const auto module = on_twin();
  const HostValue x = numbers(DType::f32, {4}, 1);
  const auto a = outputs(*module, {"a", {x}})[0], b = outputs(*module, {"b", {x}})[0];
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(element(b.tensor, i), element(a.tensor, i) + 1);
}

TEST_F(CudaState, SoAreEqualOnesOfSeveralModels) {
  const std::string b = R"(graph b(%x: f32[4]) {
  state %s: f32[4] "s" = [1, 1, 1, 1]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  update %s = %n
  return %n
})";
  std::string a = b;
  a.replace(a.find("graph b"), 7, "graph a");
  const std::string look = R"(graph look(%x: f32[4]) {
  const %s: f32[4] "s" = [1, 1, 1, 1]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  return %n
})";
  std::vector<Call> calls;
  for (uint64_t i = 0; i < 6; ++i)
    calls.push_back({i % 3 == 0 ? "a" : i % 3 == 1 ? "look" : "b", {numbers(DType::f32, {4}, i + 1)}});
  compile_state({a, b, look}, "cuda", false);
  EXPECT_EQ(states_of(plan_of(0)), std::vector<std::string>{"s"});
  EXPECT_EQ(states_of(plan_of(1)), std::vector<std::string>{"s@b"});
  EXPECT_TRUE(states_of(plan_of(2)).empty());
  expect_like_portable_after(calls);
}

TEST_F(CudaState, SoIsAConstantOfOtherContents) {
  compile_state({R"(graph a(%x: f32[4]) {
  state %s: f32[4] "s" = [0, 0, 0, 0]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  update %s = %n
  return %n
})",
                 R"(graph b(%x: f32[4]) {
  const %s: f32[4] "s" = [1, 1, 1, 1]
  %n: f32[4] = aten.add.Tensor(%s, %x)
  return %n
})"});
  EXPECT_TRUE(states_of(plan_of(1)).empty());
  ASSERT_FALSE(result_.methods[1].notes.empty());
  EXPECT_NE(result_.methods[1].notes[0].find("method 'b' reads its own buffer 's', which does not change"),
            std::string::npos);
  const Call change = {"a", {numbers(DType::f32, {4}, 1)}}, look = {"b", {numbers(DType::f32, {4}, 2)}};
  expect_like_portable_after({look, change, look});
}

// Reinterpreting elements as 16 bits has no kernel, so what it reads must be memory of the program.
TEST_F(CudaState, ABufferThatIsUsedOutsideStaysOutside) {
  compile_state({R"(graph a(%x: f32[2, 2]) {
  state %read: f32[2, 2] "read" = ...
  state %inside: f32[2, 2] "inside" = ...
  %h: i16[2, 4] = aten.view.dtype(%read, i16)
  %r: f32[2, 2] = aten.view.dtype(%h, f32)
  %n: f32[2, 2] = aten.add.Tensor(%read, %x)
  %i: f32[2, 2] = aten.add.Tensor(%inside, %n)
  %y: f32[2, 2] = aten.mul.Tensor(%i, %r)
  update %read = %n
  update %inside = %i
  return %y
})"});
  EXPECT_NE(reason_outside(0, "read").find("reads it outside of delegates"), std::string::npos)
      << reason_outside(0, "read");
  EXPECT_EQ(reason_outside(0, "inside"), "held");
  const Call call = {"a", {numbers(DType::f32, {2, 2}, 1)}};
  expect_like_portable_after({call, call, call});
}

// All methods see a buffer in the same memory.
TEST_F(CudaState, ABufferThatOneMethodUsesOutsideIsNobodys) {
  compile_state({R"(graph count(%x: f32[2, 2]) {
  state %pairs: f32[2, 2] "pairs" = ...
  %n: f32[2, 2] = aten.add.Tensor(%pairs, %x)
  update %pairs = %n
  return %n
})",
                 R"(graph look(%x: f32[2, 2]) {
  const %pairs: f32[2, 2] "pairs" = ...
  %h: i16[2, 4] = aten.view.dtype(%pairs, i16)
  %r: f32[2, 2] = aten.view.dtype(%h, f32)
  %y: f32[2, 2] = aten.add.Tensor(%r, %x)
  return %y
})"});
  EXPECT_NE(reason_outside(0, "pairs").find("method 'look' does not: "), std::string::npos)
      << reason_outside(0, "pairs");
  EXPECT_TRUE(states_of(plan_of(0)).empty());
}

// The second delegate changes buffers that the first one reads. A third value passes from one to the other.
TEST_F(CudaState, SeveralDelegatesOfAMethodShareBuffers) {
  compile_state({R"(graph a(%x: f32[2, 2]) {
  state %both: f32[2, 2] "both" = ...
  state %early: f32[2, 2] "early" = ...
  %a: f32[2, 2] = aten.add.Tensor(%x, %both)
  %n: f32[2, 2] = aten.add.Tensor(%early, 1)
  %h: i16[2, 4] = aten.view.dtype(%a, i16)
  %r: f32[2, 2] = aten.view.dtype(%h, f32)
  %b: f32[2, 2] = aten.add.Tensor(%r, %both)
  %o: f32[2, 2] = aten.mul.Tensor(%b, %early)
  update %both = %b
  update %early = %n
  return %o
})"});
  EXPECT_EQ(result_.methods[0].delegates, 2u);
  EXPECT_EQ(reason_outside(0, "both"), "held");
  EXPECT_EQ(reason_outside(0, "early"), "held");
  const Call call = {"a", {numbers(DType::f32, {2, 2}, 1)}};
  expect_like_portable_after({call, call, call, call});
}

// --- any order of reads and writes ---

// Nodes NAMEp .. that read two rows of `of`, or their halves.
std::string rows_of(const std::string& of, size_t from, const std::string& name, bool halves) {
  const std::string rows =
      fmt::format("  {0}r: f32[2, 4] = aten.slice.Tensor({1}, 0, {2}, {3}, 1)\n", name, of, from, from + 2);
  const char* const makes = halves ? "aten.mul.Tensor({0}r, 0.5)" : "aten.view({0}r, [2, 4])";
  return rows + fmt::format("  {}p: f32[2, 4] = {}\n", name, fmt::format(fmt::runtime(makes), name));
}

std::string random_program(uint64_t seed) {
  uint64_t next = 0;
  const auto random = [&](uint64_t below) { return philox4x32(seed, next++).words[0] % below; };
  std::string text = fmt::format(
      "graph m{0}(%x: f32[8, 4], %at: i64[2]) {{\n  state %s0: f32[8, 4] \"s{0}\" = ...\n"
      "  state %t0: f32[8, 4] \"t{0}\" = ...\n",
      seed);
  std::vector<std::string> values = {"%x", "%s0", "%t0"};
  std::string sources;  // rows to be read at the end, whatever happens to their source in between
  size_t num_sources = 0;
  std::string state[2] = {"%s0", "%t0"};
  for (size_t i = 0; i < 14; ++i) {
    const std::string name = fmt::format("%v{}", i), any = values[random(values.size())],
                      other = values[random(values.size())];
    const size_t from = random(6), which = random(2);
    const size_t to = random(2) ? from : 6 - from;
    std::string& written = state[which];
    const uint64_t kind = random(6);
    switch (kind) {
      case 0: text += fmt::format("  {}: f32[8, 4] = aten.add.Tensor({}, {})\n", name, any, other); break;
      case 1:
        text += rows_of(random(2) ? any : written, from, name, random(2) == 0);
        text +=
            fmt::format("  {0}: f32[8, 4] = aten.slice_scatter({1}, {0}p, 0, {2}, {3})\n", name, written, to, to + 2);
        written = name;
        break;
      case 2:
        text += fmt::format("  {0}p: f32[8] = aten.select.int({1}, 1, {2})\n", name, any, from % 4);
        text += fmt::format("  {0}: f32[8, 4] = aten.select_scatter({1}, {0}p, 1, {2})\n", name, written, which + 1);
        written = name;
        break;
      case 3:
        text += rows_of(any, from, name, random(2) == 0);
        text += fmt::format("  {0}: f32[8, 4] = aten.index_put({1}, [%at], {0}p{2})\n", name, written,
                            random(2) ? ", true" : "");
        written = name;
        break;
      case 4:
        text += fmt::format("  {0}c: f32[8, 4] = aten.clamp({1}, -4, 4)\n", name, any);
        text +=
            fmt::format("  {0}q: f32[4, 4] = aten.slice.Tensor({0}c, 0, {1}, {2}, 1)\n", name, from % 4, from % 4 + 4);
        text += fmt::format("  {0}: f32[8, 4] = aten.cat([{0}q, {0}q], 0)\n", name);
        break;
      default:
        text += fmt::format("  {0}r: f32[8, 1] = aten.amax({1}, [1], true)\n", name, any);
        text += fmt::format("  {0}: f32[8, 4] = aten.sub.Tensor({1}, {0}r)\n", name, other);
        break;
    }
    values.push_back(name);
    if ((kind != 1 && kind != 3) || random(2)) continue;
    sources += fmt::format("{}{}p", num_sources++ == 0 ? "" : ", ", name);
  }
  const std::string last = values.back();
  if (num_sources > 0) text += fmt::format("  %e: f32[{}, 4] = aten.cat([{}], 0)\n", 2 * num_sources, sources);
  text += fmt::format("  update %s0 = {}\n  update %t0 = {}\n  return {}, {}, {}{}\n}}", state[0],
                      random(3) ? state[1] : last, last, values[values.size() / 2], values[3 + random(4)],
                      num_sources > 0 ? ", %e" : "");
  return text;
}

TEST_F(CudaState, RandomReadsAndWritesGiveWhatTheyGiveInOrder) {
  std::vector<std::string> methods;
  std::vector<Call> calls;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    methods.push_back(random_program(seed));
    for (uint64_t i = 0; i < 3; ++i) {
      calls.push_back({fmt::format("m{}", seed),
                       {numbers(DType::f32, {8, 4}, 10 * seed + i),
                        integers({static_cast<int64_t>(i), static_cast<int64_t>(7 - 2 * i)}, {2})}});
    }
  }
  compile_state(methods);
  ASSERT_FALSE(program_.empty());
  size_t in_place = 0;
  for (size_t i = 0; i < methods.size(); ++i) in_place += states_of(plan_of(i)).size();
  expect_like_portable_after(calls);
  EXPECT_GE(in_place, 10u);
}

}  // namespace
}  // namespace wick::cuda
