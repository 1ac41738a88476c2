// Sizes known only at run time.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

using CudaSizes = CudaLower;
using Nodes = std::vector<std::pair<std::string, std::string>>;  // operators, and why they stay outside

TEST_F(CudaSizes, APositionIsInsideIfWhatItMeetsTellsItsSize) {
  compile(R"(graph f(%x: f32[2, s0, s0]) {
  range s0: 1..64
  %a: i64[s0] = aten.arange.start_step(0, s0, 1)
  %r: i64[s0, 1] = aten.unsqueeze(%a, 1)
  %m: bool[s0, s0] = aten.le.Tensor(%a, %r)
  %f: f32[s0, s0] = aten.full([s0, s0], -2.0)
  %y: f32[2, s0, s0] = aten.where.self(%m, %x, %f)
  return %y
})");
  for (const int size : {1, 5, 64}) expect_bits_of_portable({numbers(DType::f32, {2, size, size}, 1)});
}

TEST_F(CudaSizes, TensorsWithoutElementsAreInside) {
  compile(R"(graph f(%x: f32[2, 0, 8], %k: f32[2, 3, 8], %w: f32[4, 8]) {
  %e: f32[2, 0, 8] = aten.exp(%x)
  %c: f32[2, 3, 8] = aten.cat([%e, %k], 1)
  %s: f32[2, 8] = aten.sum.dim_IntList(%e, [1])
  %l: f32[2, 0, 4] = aten.linear(%x, %w)
  return %e, %c, %s, %l
})");
  HostTensor none;
  none.dtype = DType::f32;
  none.sizes = {2, 0, 8};
  expect_bits_of_portable({none, numbers(DType::f32, {2, 3, 8}, 1), numbers(DType::f32, {4, 8}, 2)});
}

TEST_F(CudaSizes, ImagesWithoutElementsStayOutside) {
  const auto outside = outside_of(R"(graph f(%x: f32[0, 1, 4, 4], %y: f32[3]) {
  %p: f32[0, 1, 2, 2] = aten.avg_pool2d(%x, [2, 2], [2, 2])
  %z: f32[3] = aten.exp(%y)
  return %p, %z
})");
  EXPECT_EQ(outside, (Nodes{{"aten.avg_pool2d.default", "a tensor is empty"}}));
}

// Bounds that are negative, or may be, for sizes from 0 to all.
TEST_F(CudaSizes, SlicesFromANegativeSize) {
  compile(R"(graph f(%x: f32[3, s0], %n: f32[s1]) {
  range s0: 1..16
  range s1: 0..8
  %a: f32[3, s0 + -1*s1] = aten.slice.Tensor(%x, 1, 0, -1*s1)
  %b: f32[3] = aten.sum.dim_IntList(%a, [1])
  %c: f32[3, where(lt(-1*s1, 0), min(s0, s1), s0)] = aten.slice.Tensor(%x, 1, -1*s1, 9223372036854775807)
  %d: f32[3] = aten.sum.dim_IntList(%c, [1])
  %e: f32[3, where(lt(-1*s1, 0), min(s0, s1), s0)] = aten._softmax(%c, 1, false)
  %g: f32[3] = aten.amax(%e, [1])
  return %b, %d, %g
})");
  for (const int n : {1, 2, 3, 4, 7, 8})
    expect_like_portable({numbers(DType::f32, {3, 16}, 1), numbers(DType::f32, {n}, 2)}, 1e-6);
}

// Nobody reads the elements of %x. Its sizes are used, but it is not copied to the device.
TEST_F(CudaSizes, SizesOfInputsThatNoKernelReadsAreKnown) {
  compile(R"(graph f(%x: f32[s0, 3, 2 * s1], %y: f32[3]) {
  range s0: 2..9
  range s1: 1..5
  %f: f32[s0, 3] = aten.full([s0, 3], 1.5, f32)
  %z: f32[s0, 3] = aten.mul.Tensor(%f, %y)
  %a: i64[s1] = aten.arange(s1)
  return %z, %a
})");
  expect_bits_of_portable({numbers(DType::f32, {2, 3, 2}, 1), numbers(DType::f32, {3}, 2)});
  expect_bits_of_portable({numbers(DType::f32, {7, 3, 10}, 1), numbers(DType::f32, {3}, 2)});
  void* const library = dlopen(twin().c_str(), RTLD_NOW);  // the library that has run
  ASSERT_NE(library, nullptr);
  const auto count = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(library, "wick_twin_count"));
  const uint64_t copies = count("copies_to_device");
  outputs_of(program_, {numbers(DType::f32, {7, 3, 10}, 1), numbers(DType::f32, {3}, 2)}, "cuda-twin=" + twin());
  EXPECT_EQ(count("copies_to_device"), copies + 1) << "of y";
  dlclose(library);
}

// As models with windows and chunks write it: a length padded to a multiple, divided by the number of blocks.
TEST_F(CudaSizes, RowsThatArePaddedToWholeBlocksAreInside) {
  compile(R"(graph f(%x: f32[s0, 4]) {
  range s0: 1..64
  %p: f32[s0 + mod(-1*s0, 5), 4] = aten.constant_pad_nd(%x, [0, 0, 0, mod(5 + -1*mod(s0, 5), 5)], 0.0)
  %b: f32[floordiv(s0 + mod(-1*s0, 5), 5), floordiv(s0 + mod(-1*s0, 5), floordiv(s0 + mod(-1*s0, 5), 5)), 4] = aten.view(%p, [floordiv(s0 + mod(-1*s0, 5), 5), floordiv(s0 + mod(-1*s0, 5), floordiv(s0 + mod(-1*s0, 5), 5)), 4])
  %m: f32[floordiv(s0 + mod(-1*s0, 5), 5), 4] = aten.amax(%b, [1])
  %y: f32[floordiv(s0 + mod(-1*s0, 5), 5), 4] = aten.abs(%m)
  return %y
})");
  EXPECT_TRUE(plan_.requirements.empty());
  expect_bits_of_portable({numbers(DType::f32, {1, 4}, 1)});
  expect_bits_of_portable({numbers(DType::f32, {5, 4}, 2)});
  expect_bits_of_portable({numbers(DType::f32, {13, 4}, 3)});
}

TEST_F(CudaSizes, SizesOfInputsThatDelegatesDoNotTakeStayOutside) {
  const auto outside = outside_of(R"(graph f(%z: c64[s0], %y: f32[3]) {
  range s0: 2..9
  %f: f32[s0] = aten.full([s0], 1.5, f32)
  %e: f32[3] = aten.exp(%y)
  return %f, %e
})");
  EXPECT_EQ(outside, (Nodes{{"aten.full.default", "the size s0 is none of its inputs"}}));
}

// Only %w determines a size of %x, and nobody needs %w.
TEST_F(CudaSizes, InputsWithSizesThatNobodyTellsStayOutside) {
  const auto outside = outside_of(R"(graph f(%x: f32[s0, s0 * s1], %w: f32[s1], %y: f32[3]) {
  range s0: 2..9
  range s1: 2..9
  %f: f32[s0] = aten.full([s0], 1.5, f32)
  %e: f32[3] = aten.exp(%y)
  return %f, %e
})");
  EXPECT_EQ(outside, (Nodes{{"aten.full.default", "the size s0 is none of its inputs"}}));
}

TEST_F(CudaSizes, MoreElementsThanARowHasFailTheCall) {
  compile(R"(graph f(%x: f32[2, s0], %n: f32[s1]) {
  range s0: 1..100
  range s1: 1..100
  %v: f32[2, s1], %i: i64[2, s1] = aten.topk(%x, s1)
  %y: f32[2, s1] = aten.add.Tensor(%v, %n)
  return %y
})");
  expect_bits_of_portable({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {7}, 2)});
  expect_bits_of_portable({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {50}, 2)});
  expect_error({numbers(DType::f32, {2, 50}, 1), numbers(DType::f32, {51}, 2)}, "k is larger than the dimension");
}

// Several symbols for sizes that may agree or not.
TEST_F(CudaSizes, AViewThatKeepsItsElementsIsInsideAndAnotherOneFailsTheCall) {
  compile(R"(graph f(%x: f32[s0, 6], %z: f32[s1, 4]) {
  range s0: 1..16
  range s1: 1..24
  %v: f32[s1, 4] = aten.view(%x, [s1, 4])  @ "block.flat" "model.py:7"
  %y: f32[s1, 4] = aten.add.Tensor(%v, %z)
  return %y
})");
  expect_bits_of_portable({numbers(DType::f32, {2, 6}, 1), numbers(DType::f32, {3, 4}, 2)});
  expect_bits_of_portable({numbers(DType::f32, {16, 6}, 3), numbers(DType::f32, {24, 4}, 4)});
  expect_error({numbers(DType::f32, {2, 6}, 1), numbers(DType::f32, {2, 4}, 2)},
               "aten.view.default: the number of elements changes at block.flat (model.py:7): 12, wanted 8");
}

TEST_F(CudaSizes, SizesThatBroadcastAreInside) {
  compile(R"(graph f(%x: f32[s0, 4], %z: f32[s1, 4], %u: f32[s2, 4]) {
  range s0: 1..16
  range s1: 1..16
  range s2: 1..16
  %y: f32[s0, 4] = aten.add.Tensor(%x, %z)
  %e: f32[s2, 4] = aten.expand(%y, [s2, 4])
  %o: f32[s2, 4] = aten.mul.Tensor(%e, %u)
  return %o
})");
  const auto rows = [](int32_t count, uint64_t seed) { return numbers(DType::f32, {count, 4}, seed); };
  for (const int32_t x : {1, 5}) {
    for (const int32_t z : {1, x}) expect_bits_of_portable({rows(x, 1), rows(z, 2), rows(5, 3)});
  }
  expect_error({rows(5, 1), rows(3, 2), rows(5, 3)}, "aten.add.Tensor: the sizes of its operands do not broadcast");
  expect_error({rows(5, 1), rows(1, 2), rows(6, 3)}, "aten.expand.default: the sizes of its operands do not broadcast");
}

TEST_F(CudaSizes, MasksIndicesAndValuesThatBroadcastAreInside) {
  compile(R"(graph f(%x: f32[9, 4], %i: i64[s0], %j: i64[s1], %v: f32[s2, 4], %q: f32[1, 2, 6, 8], %m: f32[s3, 9]) {
  range s0: 1..16
  range s1: 1..16
  range s2: 1..16
  range s3: 1..6
  %k: f32[1, 2, 9, 8] = aten.full([1, 2, 9, 8], 0.5)
  %e: f32[s0] = aten.index.Tensor(%x, [%i, %j])
  %p: f32[9, 4] = aten.index_put(%x, [%i], %v)
  %a: f32[1, 2, 6, 8] = aten.scaled_dot_product_attention(%q, %k, %k, %m)
  return %e, %p, %a
})");
  const auto run = [&](int32_t i, int32_t j, int32_t v, int32_t m) {
    const auto places = [](int32_t count, int64_t most) {
      std::vector<int64_t> values;
      for (int32_t at = 0; at < count; ++at) values.push_back(at % most);
      return integers(values, {count});
    };
    return std::vector<HostValue>{numbers(DType::f32, {9, 4}, 2),
                                  places(i, 9),
                                  places(j, 4),
                                  numbers(DType::f32, {v, 4}, 3),
                                  numbers(DType::f32, {1, 2, 6, 8}, 4),
                                  numbers(DType::f32, {m, 9}, 5)};
  };
  for (const int32_t count : {1, 7}) expect_like_portable(run(7, count, count, count == 1 ? 1 : 6), 1e-5);
  expect_error(run(7, 3, 7, 6), "aten.index.Tensor: the sizes of its operands do not broadcast");
  expect_error(run(7, 7, 3, 6), "aten.index_put.default: the sizes of its operands do not broadcast");
  expect_error(run(7, 7, 7, 4), "the sizes of its operands do not broadcast");
}

TEST_F(CudaSizes, AKernelThatMayNotFitIsInside) {
  compile(R"(graph f(%x: f32[1, 3, s0], %w: f32[4, 3, 5]) {
  range s0: 0..64
  %y: f32[1, 4, s0 + -4] = aten.convolution(%x, %w, none, [1], [0], [1], false, [0], 1)
  %r: f32[1, 4, s0 + 2] = aten.reflection_pad1d(%y, [3, 3])
  %f: f32[1, 4] = aten.select.int(%r, 2, -9)
  return %r, %f
})");
  const auto call = [](int32_t size) {
    return std::vector<HostValue>{numbers(DType::f32, {1, 3, size}, 1), numbers(DType::f32, {4, 3, 5}, 2)};
  };
  for (const int32_t size : {8, 31, 64}) expect_like_portable(call(size), 1e-6);
  expect_error(call(4), "aten.convolution.default: the kernel is larger than the padded input");
  expect_error(call(7), "aten.reflection_pad1d.default: it pads by more than it mirrors: 3, wanted at most 2");
}

// Sizes that the model states must be those that follow; otherwise kernels would read outside their operands.
TEST_F(CudaSizes, StatedSizesAreChecked) {
  compile(R"(graph f(%x: f32[s0], %z: f32[s1]) {
  range s0: 1..16
  range s1: 1..32
  %c: f32[s1] = aten.cat([%x, %x])
  %y: f32[s1] = aten.mul.Tensor(%c, %z)
  return %y
})");
  expect_bits_of_portable({numbers(DType::f32, {3}, 1), numbers(DType::f32, {6}, 2)});
  expect_error({numbers(DType::f32, {3}, 1), numbers(DType::f32, {7}, 2)},
               "aten.cat.default: a size of the result is not the one that the model states: 6, wanted 7");
}

TEST_F(CudaSizes, SizesOfInputsAreMultiplesWhereTheModelSaysSo) {
  compile(R"(graph f(%x: f32[4*s0 + 2]) {
  range s0: 1..16
  %y: f32[4*s0 + 2] = aten.neg(%x)
  return %y
})");
  expect_bits_of_portable({numbers(DType::f32, {10}, 1)});
  expect_error({numbers(DType::f32, {11}, 1)}, "size 0 of input 0 of the delegate is no 4*s0 + 2: 11, wanted 10");
}

TEST_F(CudaSizes, MatmulsAreInsideIfTheirSizesMayAgree) {
  compile(R"(graph f(%a: f32[s0, s1], %b: f32[s2, 8]) {
  range s0: 1..20
  range s1: 1..20
  range s2: 1..20
  %y: f32[s0, 8] = aten.mm(%a, %b)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {17, 9}, 1), numbers(DType::f32, {9, 8}, 2)}, 1e-6);
  expect_error({numbers(DType::f32, {17, 9}, 1), numbers(DType::f32, {10, 8}, 2)},
               "aten.mm.default: the sizes of its operands do not agree: 9, wanted 10");
}

// A branch that does not run has no requirements.
TEST_F(CudaSizes, BranchesAskForTheirSizesWhenTheyRun) {
  compile(R"(graph f(%p: bool[], %x: f32[s0, 6], %z: f32[s1, 4]) {
  range s0: 1..16
  range s1: 1..24
  %y: f32[s1, 4] = higher_order.cond(%p, [%x, %z]) graph (%u: f32[s0, 6], %v: f32[s1, 4]) {
    %w: f32[s1, 4] = aten.view(%u, [s1, 4])  @ "block.flat" "model.py:7"
    return %w
  } graph (%u: f32[s0, 6], %v: f32[s1, 4]) {
    %w: f32[s1, 4] = aten.exp(%v)
    return %w
  }
  return %y
})");
  const auto call = [](bool first, int32_t x, int32_t z) {
    HostTensor flag;
    flag.dtype = DType::boolean;
    flag.bytes = {static_cast<uint8_t>(first)};
    return std::vector<HostValue>{flag, numbers(DType::f32, {x, 6}, 1), numbers(DType::f32, {z, 4}, 2)};
  };
  expect_bits_of_portable(call(true, 2, 3));
  expect_like_portable(call(false, 2, 3), 1e-6);
  expect_like_portable(call(false, 2, 5), 1e-6);
  expect_error(call(true, 2, 5),
               "aten.view.default: the number of elements changes at block.flat (model.py:7): 12, wanted 20");
}

TEST_F(CudaSizes, LoopsAskForTheirSizesInTheFirstRound) {
  compile(R"(graph f(%n: i64[], %x: f32[s0, 4], %z: f32[s1, 4], %r: f32[s2, 4], %q: f32[3, s0, 4]) {
  range s0: 1..16
  range s1: 1..16
  range s2: 1..16
  %i: i64[], %y: f32[s0, 4] = higher_order.while_loop([%n, %x], [%z]) graph (%k: i64[], %u: f32[s0, 4], %v: f32[s1, 4]) {
    %c: bool[] = aten.gt.Scalar(%k, 0)
    return %c
  } graph (%k: i64[], %u: f32[s0, 4], %v: f32[s1, 4]) {
    %m: i64[] = aten.sub.Tensor(%k, 1)
    %w: f32[s0, 4] = aten.add.Tensor(%u, %v)
    return %m, %w
  }
  %s: f32[3, s0, 4] = higher_order.map_impl([%q], [%r]) graph (%u: f32[s0, 4], %v: f32[s2, 4]) {
    %w: f32[s0, 4] = aten.mul.Tensor(%u, %v)
    return %w
  }
  return %y, %s
})");
  const auto call = [](int64_t rounds, int32_t z, int32_t r) {
    HostTensor count;
    count.dtype = DType::i64;
    count.bytes.resize(8);
    std::memcpy(count.bytes.data(), &rounds, 8);
    return std::vector<HostValue>{count, numbers(DType::f32, {5, 4}, 1), numbers(DType::f32, {z, 4}, 2),
                                  numbers(DType::f32, {r, 4}, 3), numbers(DType::f32, {3, 5, 4}, 4)};
  };
  expect_bits_of_portable(call(3, 5, 5));
  expect_bits_of_portable(call(3, 1, 1));
  expect_bits_of_portable(call(0, 3, 5));
  expect_error(call(1, 3, 5), "aten.add.Tensor: the sizes of its operands do not broadcast: 3, wanted 5");
  expect_error(call(0, 3, 2), "aten.mul.Tensor: the sizes of its operands do not broadcast: 2, wanted 5");
}

// Expressions that a plan cannot compute.
TEST_F(CudaSizes, DivisorsThatMayBeZeroStayOutside) {
  const auto outside = outside_of(R"(graph f(%x: f32[s0, 6], %z: f32[s1, 4]) {
  range s0: 0..16
  range s1: 0..24
  %q: f32[s1, floordiv(6*s0, s1)] = aten.view(%x, [s1, floordiv(6*s0, s1)])
  return %q
})");
  std::string all;
  for (const auto& [op, reason] : outside) all += op + ": " + reason + "\n";
  EXPECT_EQ(all, "aten.view.default: a size is divided by a number that may be 0\n");
}

}  // namespace
}  // namespace wick::cuda
