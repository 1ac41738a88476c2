// Conditions and loops inside delegates.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

class CudaControl : public CudaLower {
 protected:
  static HostTensor flag(bool value) {
    HostTensor out;
    out.dtype = DType::boolean;
    out.bytes = {static_cast<uint8_t>(value)};
    return out;
  }
  static HostTensor integer(int64_t value) {
    HostTensor out;
    out.dtype = DType::i64;
    out.bytes.resize(8);
    std::memcpy(out.bytes.data(), &value, 8);
    return out;
  }
  size_t count(NodeKind kind) const {
    size_t found = 0;
    for (const PlanNode& node : plan_.nodes) found += node.kind == kind;
    return found;
  }
  /// Several calls of one module: the first ones make the graphs of the parts, later ones replay them.
  void expect_like_portable_again_and_again(const std::vector<std::vector<HostValue>>& calls) {
    CompileResult ignored;
    const std::vector<uint8_t> portable = program_of(text_, "portable", {}, &ignored);
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&cuda_backend()};
    options.device = "cuda-twin=" + twin();
    ModuleError error;
    const auto module = wick::Module::load({program_.data(), program_.size()}, options, &error);
    ASSERT_TRUE(module) << error.message;
    for (const auto& inputs : calls) {
      const auto want = outputs_of(portable, inputs, "");
      std::vector<HostValue> got;
      ASSERT_TRUE(module->forward(inputs, &got, &error)) << error.message;
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(got[i].tensor.sizes, want[i].tensor.sizes);
        EXPECT_EQ(got[i].tensor.bytes, want[i].tensor.bytes) << "output " << i;
      }
    }
  }
};

// Each round finds the counters of blocks at 0.
TEST_F(CudaControl, SplitSumsInALoopAreRight) {
  compile(R"(graph f(%p: bool[], %x: f32[16, 520], %w: f32[520, 520]) {
  const %zero: i64[] = [0]
  %i: i64[], %y: f32[16, 520] = higher_order.while_loop([%zero, %x], [%w]) graph (%i: i64[], %v: f32[16, 520], %u: f32[520, 520]) {
    %go: bool[] = aten.lt.Scalar(%i, 3)
    return %go
  } graph (%i: i64[], %v: f32[16, 520], %u: f32[520, 520]) {
    %next: i64[] = aten.add.Scalar(%i, 1)
    %a: f32[16, 520] = aten.linear(%v, %u)
    %h: f32[16, 520] = aten.tanh(%a)
    return %next, %h
  }
  %r: f32[16, 520] = higher_order.cond(%p, [%y, %w]) graph (%v: f32[16, 520], %u: f32[520, 520]) {
    %a: f32[16, 520] = aten.linear(%v, %u)
    return %a
  } graph (%v: f32[16, 520], %u: f32[520, 520]) {
    %n: f32[16, 520] = aten.neg(%v)
    return %n
  }
  return %r
})");
  EXPECT_NE(plan_.counters_buffer, kNone);
  EXPECT_EQ(count(NodeKind::fill), 0u);
  expect_like_portable({flag(true), numbers(DType::f32, {16, 520}, 1), numbers(DType::f32, {520, 520}, 2)}, 1e-4);
}

TEST_F(CudaControl, ACondIsPartOfItsDelegate) {
  compile(R"(graph f(%p: bool[], %x: f32[4, 6]) {
  %a: f32[4, 6] = aten.neg(%x)
  %r: f32[4, 6], %s: f32[6, 4] = higher_order.cond(%p, [%a, %x]) graph (%u: f32[4, 6], %v: f32[4, 6]) {
    %b: f32[4, 6] = aten.mul.Tensor(%u, %v)
    %t: f32[6, 4] = aten.t(%u)
    return %b, %t
  } graph (%u: f32[4, 6], %v: f32[4, 6]) {
    %c: f32[4, 6] = aten.add.Tensor(%u, 0.5)
    %t: f32[6, 4] = aten.view(%c, [6, 4])
    return %v, %t
  }
  %y: f32[4, 6] = aten.sub.Tensor(%r, %a)
  return %y, %s
})");
  EXPECT_EQ(count(NodeKind::choose), 1u);
  const HostTensor x = numbers(DType::f32, {4, 6}, 1), z = numbers(DType::f32, {4, 6}, 2);
  expect_like_portable_again_and_again({{flag(true), x}, {flag(false), x}, {flag(false), z}, {flag(true), z}});
  for (const bool taken : {false, true}) expect_like_portable({flag(taken), x}, 0);
}

// A branch reads a view of an outer value, and returns a view (V10).
TEST_F(CudaControl, ViewsCrossTheBordersOfBranches) {
  compile(R"(graph f(%p: bool[], %x: f32[6, 8]) {
  %s: f32[2, 8] = aten.slice.Tensor(%x, 0, 1, 3)
  %t: f32[8, 2] = aten.t(%s)
  %r: f32[8, 2] = higher_order.cond(%p, [%t]) graph (%u: f32[8, 2]) {
    return %u
  } graph (%u: f32[8, 2]) {
    %v: f32[8, 2] = aten.flip(%u, [0])
    return %v
  }
  %y: f32[2, 8] = aten.t(%r)
  return %y
})");
  const HostTensor x = numbers(DType::f32, {6, 8}, 1);
  expect_like_portable_again_and_again({{flag(true), x}, {flag(false), x}});
}

TEST_F(CudaControl, ConditionsMayBeNestedAndComputed) {
  compile(R"(graph f(%x: f32[32]) {
  %sum: f32[] = aten.sum(%x)
  %p: bool[] = aten.gt.Scalar(%sum, 0.0)
  %r: f32[32] = higher_order.cond(%p, [%x, %sum]) graph (%u: f32[32], %t: f32[]) {
    %q: bool[] = aten.gt.Scalar(%t, 2.0)
    %i: f32[32] = higher_order.cond(%q, [%u]) graph (%w: f32[32]) {
      %a: f32[32] = aten.mul.Tensor(%w, 4.0)
      return %a
    } graph (%w: f32[32]) {
      %b: f32[32] = aten.mul.Tensor(%w, 0.5)
      return %b
    }
    %k: f32[32] = aten.add.Tensor(%i, %u)
    return %k
  } graph (%u: f32[32], %t: f32[]) {
    %n: f32[32] = aten.sub.Tensor(%u, %t)
    return %n
  }
  return %r
})");
  EXPECT_EQ(count(NodeKind::choose), 2u);
  std::vector<std::vector<HostValue>> calls;
  for (uint64_t seed = 1; seed < 8; ++seed) calls.push_back({numbers(DType::f32, {32}, seed)});
  expect_like_portable_again_and_again(calls);
}

// Carried values that are exchanged, one that stays, and one that is written in place.
TEST_F(CudaControl, AWhileLoopCarriesItsValues) {
  compile(R"(graph f(%n: i64[], %x: f32[3, 4], %y: f32[3, 4], %w: f32[4, 4]) {
  const %one: i64[] = [1]
  %b: f32[3, 4] = aten.mul.Tensor(%y, 0.5)
  %i: i64[], %r: f32[3, 4], %s: f32[3, 4], %k: f32[3, 4] = higher_order.while_loop([%n, %x, %b, %y], [%w, %y]) graph (%c: i64[], %u: f32[3, 4], %v: f32[3, 4], %z: f32[3, 4], %m: f32[4, 4], %e: f32[3, 4]) {
    %p: bool[] = aten.gt.Scalar(%c, 0)
    return %p
  } graph (%c: i64[], %u: f32[3, 4], %v: f32[3, 4], %z: f32[3, 4], %m: f32[4, 4], %e: f32[3, 4]) {
    %d: i64[] = aten.sub.Scalar(%c, 1)
    %g: f32[3, 4] = aten.mm(%u, %m)
    %h: f32[3, 4] = aten.add.Tensor(%g, %e)
    return %d, %v, %h, %z
  }
  %q: f32[3, 4] = aten.add.Tensor(%r, %s)
  return %q, %s, %k, %i
})");
  EXPECT_EQ(count(NodeKind::loop), 1u);
  std::vector<std::vector<HostValue>> calls;
  for (const int64_t rounds : {0, 1, 2, 5}) {
    calls.push_back({integer(rounds), numbers(DType::f32, {3, 4}, 1), numbers(DType::f32, {3, 4}, 2),
                     numbers(DType::f32, {4, 4}, 3)});
  }
  expect_like_portable_again_and_again(calls);
}

// Values that every round reads share no memory with temporaries of the rounds. Counters of blocks begin at 0.
TEST_F(CudaControl, RoundsOfALoopFindWhatTheyReadAsItWas) {
  compile(R"(graph f(%n: i64[], %x: f32[8, 2048], %w: f32[16, 2048], %v: f32[2048, 16]) {
  %a: f32[8, 2048] = aten.exp(%x)
  %zero: f32[8, 16] = aten.full([8, 16], 0.0)
  %i: i64[], %r: f32[8, 16], %s: f32[8, 2048] = higher_order.while_loop([%n, %zero, %x], [%a, %w, %v]) graph (%c: i64[], %t: f32[8, 16], %u: f32[8, 2048], %e: f32[8, 2048], %m: f32[16, 2048], %o: f32[2048, 16]) {
    %p: bool[] = aten.gt.Scalar(%c, 0)
    return %p
  } graph (%c: i64[], %t: f32[8, 16], %u: f32[8, 2048], %e: f32[8, 2048], %m: f32[16, 2048], %o: f32[2048, 16]) {
    %d: i64[] = aten.sub.Scalar(%c, 1)
    %g: f32[8, 2048] = aten.mul.Tensor(%u, %e)
    %l: f32[8, 16] = aten.linear(%g, %m)
    %k: f32[8, 16] = aten.add.Tensor(%l, %t)
    %b: f32[8, 2048] = aten.mul.Tensor(%u, 0.5)
    return %d, %k, %b
  }
  return %r
})");
  for (const int64_t rounds : {1, 3}) {
    expect_like_portable({integer(rounds), numbers(DType::f32, {8, 2048}, 1), numbers(DType::f32, {16, 2048}, 2),
                          numbers(DType::f32, {2048, 16}, 3)},
                         1e-5);
  }
}

TEST_F(CudaControl, AScanStacksItsRoundsAndCarries) {
  compile(R"(graph f(%h: f32[4], %x: f32[5, 3, 4], %w: f32[4]) {
  %c: f32[4], %y: f32[5, 3] = higher_order.scan([%h], [%x], [%w]) graph (%u: f32[4], %e: f32[3, 4], %m: f32[4]) {
    %a: f32[3, 4] = aten.mul.Tensor(%e, %u)
    %s: f32[3] = aten.sum.dim_IntList(%a, [1])
    %t: f32[4] = aten.sum.dim_IntList(%e, [0])
    %n: f32[4] = aten.add.Tensor(%t, %m)
    return %n, %s
  }
  return %y, %c
})");
  EXPECT_EQ(count(NodeKind::repeat), 1u);
  expect_like_portable({numbers(DType::f32, {4}, 1), numbers(DType::f32, {5, 3, 4}, 2), numbers(DType::f32, {4}, 3)},
                       1e-6);
}

TEST_F(CudaControl, AMapOfUnknownLength) {
  compile(R"(graph f(%x: f32[s0, 6], %w: f32[6]) {
  range s0: 1..9
  %y: f32[s0, 6] = higher_order.map_impl([%x], [%w]) graph (%e: f32[6], %m: f32[6]) {
    %a: f32[6] = aten.mul.Tensor(%e, %m)
    %b: f32[6] = aten.flip(%a, [0])
    return %b
  }
  return %y
})");
  std::vector<std::vector<HostValue>> calls;
  for (const int32_t size : {1, 9, 4, 4})
    calls.push_back({numbers(DType::f32, {size, 6}, 1), numbers(DType::f32, {6}, 2)});
  expect_like_portable_again_and_again(calls);
}

// An index out of bounds ends the call when the next condition is read. This loop would not end otherwise.
TEST_F(CudaControl, AWrongIndexInALoopFailsTheCall) {
  compile(R"(graph f(%i: i64[1], %t: f32[4]) {
  %r: i64[1] = higher_order.while_loop([%i], [%t]) graph (%c: i64[1], %m: f32[4]) {
    %g: f32[1] = aten.index_select(%m, 0, %c)
    %p: bool[1] = aten.ge.Scalar(%g, 0.0)
    return %p
  } graph (%c: i64[1], %m: f32[4]) {
    %d: i64[1] = aten.add.Scalar(%c, 1)
    return %d
  }
  return %r
})");
  HostTensor index = integer(1), table;
  index.sizes = {1};
  table.dtype = DType::f32;
  table.sizes = {4};
  table.bytes.resize(16);
  expect_error({index, table}, "an index is out of bounds");
}

TEST_F(CudaControl, RandomNumbersInABranchStayOutside) {
  const auto outside = outside_of(R"(graph f(%p: bool[], %x: f32[4]) {
  %r: f32[4] = higher_order.cond(%p, [%x]) graph (%u: f32[4]) {
    %a: f32[4] = aten.rand([4], f32)
    %b: f32[4] = aten.add.Tensor(%a, %u)
    return %b
  } graph (%u: f32[4]) {
    %c: f32[4] = aten.neg(%u)
    return %c
  }
  return %r
})");
  bool found = false;
  for (const auto& [op, reason] : outside) {
    found = found || reason.find("how many random numbers it draws depends on data") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace wick::cuda
