#include <gtest/gtest.h>

#include "backends/cuda/payload/plan_test_support.h"

namespace wick::cuda {
namespace {

std::string refusal(const Plan& plan) {
  char buffer[300];
  ErrorText text(buffer);
  const Error error = check_plan(plan, &text);
  if (error == Error::Ok) return "";
  EXPECT_EQ(error, Error::InvalidProgram);
  EXPECT_EQ(check_plan(plan, nullptr), error);
  return text.size() ? text.c_str() : "no text";
}

// A change of a plan, and the message of the refusal; "": the plan is accepted.
struct Change {
  const char* text;
  void (*make)(Plan&);
};

void expect(Span<const Change> changes, const Plan& sound = some_plan()) {
  for (size_t i = 0; i < changes.size(); ++i) {
    Plan plan = sound;
    changes[i].make(plan);
    const std::string text = refusal(plan);
    if (*changes[i].text == 0) {
      EXPECT_EQ(text, "") << "change " << i;
    } else {
      EXPECT_NE(text.find(changes[i].text), std::string::npos) << "change " << i << ": " << text;
    }
  }
}

// Adds a formula.
uint32_t number(Plan& plan, int64_t value) {
  plan.formulas.push_back({constant(value)});
  return static_cast<uint32_t>(plan.formulas.size()) - 1;
}
uint32_t number_of(Plan& plan, Formula formula) {
  plan.formulas.push_back(std::move(formula));
  return static_cast<uint32_t>(plan.formulas.size()) - 1;
}

// Numbers of the buffers of some_plan.
constexpr size_t kInput = 0, kOutput = 1, kWeight = 2, kState = 3, kTemp = 4, kStatus = 5;
constexpr size_t kCopy = 0, kFill = 1, kLaunch = 2;

TEST(CudaPlanCheck, ThePlanOfTheseTestsIsAccepted) {
  EXPECT_EQ(refusal(some_plan()), "");
  EXPECT_EQ(refusal(Plan()), "");
}

TEST(CudaPlanCheck, SymbolsAreSizesOfInputs) {
  const Change changes[] = {
      {"", [](Plan& p) { p.symbols[0].min = 0; }},
      {"symbol 0: its range is -1 to 64", [](Plan& p) { p.symbols[0].min = -1; }},
      {"", [](Plan& p) { p.symbols[0].min = 64; }},
      {"symbol 0: its range is 65 to 64", [](Plan& p) { p.symbols[0].min = 65; }},
      {"symbol 0: its range is 1 to 2147483648", [](Plan& p) { p.symbols[0].max = int64_t{1} << 31; }},
      {"symbol 0: it is no size of an input", [](Plan& p) { p.symbols[0].input = 1; }},
      {"symbol 0: it is no size of an input", [](Plan& p) { p.symbols[0].dim = 2; }},
      {"symbol 0: it is size 1 of input 0, whose formula is another one", [](Plan& p) { p.symbols[0].dim = 1; }},
  };
  expect(changes);
}

// some_plan with random numbers for at most 64 * 8 elements.
void add_random(Plan& p) {
  p.random_buffer = static_cast<uint32_t>(p.buffers.size());
  Buffer words;
  words.size_bytes = kRandomBytes;
  words.offset = p.arena_bytes;
  p.arena_bytes += kBufferAlignment;
  p.buffers.push_back(words);
  p.random_blocks = number_of(p, {symbol(0), constant(2), op(FormulaOp::multiply)});
}

// some_plan with a condition around its last node, which is node number 4 then, inside a loop of 3 rounds.
void add_control(Plan& p) {
  PlanNode repeat, choose;
  repeat.kind = NodeKind::repeat;
  repeat.size = number(p, 3);
  repeat.first_end = repeat.second_end = 6;
  repeat.after = {2};
  choose.kind = NodeKind::choose;
  choose.arguments = {reads(kTemp)};
  choose.first_end = choose.second_end = 6;
  p.nodes[3].after = {};
  p.nodes.insert(p.nodes.begin() + 3, {repeat, choose});
}
constexpr size_t kRepeat = 3, kChoose = 4, kInside = 5;

void requirement_of_part(Plan& p, uint32_t node, bool is_second) {
  p = plan_with_requirements();
  add_control(p);
  p.requirements[0].node = node;
  p.requirements[0].is_second = is_second;
}

TEST(CudaPlanCheck, PartsOfConditionsAndLoopsLieInsideEachOther) {
  const Change changes[] = {
      {"", add_control},
      {"", [](Plan& p) { add_control(p), p.nodes[kChoose].kind = NodeKind::loop; }},
      {"", [](Plan& p) { add_control(p), p.nodes[kChoose].first_end = 5; }},
      {"node 4: its parts end at nodes 4 and 6", [](Plan& p) { add_control(p), p.nodes[kChoose].first_end = 4; }},
      {"node 4: its parts end at nodes 6 and 5", [](Plan& p) { add_control(p), p.nodes[kChoose].second_end = 5; }},
      {"node 4: its parts end at nodes 6 and 7, wanted later ones up to 6",
       [](Plan& p) { add_control(p), p.nodes[kChoose].second_end = 7; }},
      {"node 4: its parts end at nodes 6 and 6, wanted later ones up to 5",
       [](Plan& p) { add_control(p), p.nodes[kRepeat].first_end = p.nodes[kRepeat].second_end = 5; }},
      {"node 3: a loop of known length with arguments or a second part",
       [](Plan& p) { add_control(p), p.nodes[kRepeat].first_end = 5; }},
      {"node 3: a loop of known length with arguments",
       [](Plan& p) { add_control(p), p.nodes[kRepeat].arguments = {reads(kTemp)}; }},
      {"node 3: a number of rounds", [](Plan& p) { add_control(p), p.nodes[kRepeat].size = kNone; }},
      {"node 3: a number of rounds", [](Plan& p) { add_control(p), p.nodes[kRepeat].size = number(p, -1); }},
      {"node 4: a condition with a size", [](Plan& p) { add_control(p), p.nodes[kChoose].size = 0; }},
      {"node 4: a condition has one argument", [](Plan& p) { add_control(p), p.nodes[kChoose].arguments.clear(); }},
      {"node 4: a condition has one argument",
       [](Plan& p) { add_control(p), p.nodes[kChoose].arguments = {writes(kTemp)}; }},
      {"node 4: a condition has one argument",
       [](Plan& p) { add_control(p), p.nodes[kChoose].arguments = {int32(0)}; }},
      {"node 4: argument 0: no buffer", [](Plan& p) { add_control(p), p.nodes[kChoose].arguments = {reads(99)}; }},
      {"node 4: argument 0: it may reach byte 257 of a buffer of 256",
       [](Plan& p) { add_control(p), p.nodes[kChoose].arguments = {reads(kWeight, number(p, 256))}; }},
      {"node 4: a condition or loop with a kernel", [](Plan& p) { add_control(p), p.nodes[kChoose].grid[0] = 1; }},
      {"node 5: it waits for node 2 of another part", [](Plan& p) { add_control(p), p.nodes[kInside].after = {2}; }},
      {"node 5: it waits for node 4 of another part", [](Plan& p) { add_control(p), p.nodes[kInside].after = {4}; }},
      {"node 5: it has parts and is no condition or loop",
       [](Plan& p) { add_control(p), p.nodes[kInside].second_end = 6; }},
      {"node 5: an unknown kind", [](Plan& p) { add_control(p), p.nodes[kInside].kind = static_cast<NodeKind>(6); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, ConditionsAreNestedSixteenDeepAtMost) {
  for (const uint32_t depth : {16u, 17u}) {
    Plan plan = some_plan();
    PlanNode choose;
    choose.kind = NodeKind::choose;
    choose.arguments = {reads(kTemp)};
    choose.first_end = choose.second_end = 4 + depth;
    for (uint32_t i = 0; i < depth; ++i) plan.nodes.push_back(choose);
    EXPECT_EQ(refusal(plan),
              depth == 16 ? "" : "the plan's node 20: conditions and loops are nested too deeply, more than 16");
  }
}

TEST(CudaPlanCheck, RandomNumbersHaveAStateThatOnlyTheRuntimeWrites) {
  const Change changes[] = {
      {"", add_random},
      {"random numbers without a number of blocks", [](Plan& p) { add_random(p), p.random_blocks = kNone; }},
      {"random numbers without a buffer", [](Plan& p) { add_random(p), p.random_buffer = kNone; }},
      {"the state of its random numbers lies in no buffer", [](Plan& p) { add_random(p), p.random_buffer = 99; }},
      {"the state of its random numbers lies in no buffer", [](Plan& p) { add_random(p), p.random_buffer = kStatus; }},
      {"the state of its random numbers is not 16 bytes of the arena",
       [](Plan& p) { add_random(p), p.random_buffer = kTemp; }},
      {"the state of its random numbers is not 16 bytes of the arena",
       [](Plan& p) { add_random(p), p.random_buffer = kWeight; }},
      {"the state of its random numbers is not 16 bytes of the arena",
       [](Plan& p) { add_random(p), p.buffers.back().size_bytes = 8; }},
      {"how many random numbers it draws is no formula or may be negative",
       [](Plan& p) { add_random(p), p.random_blocks = 99; }},
      {"how many random numbers it draws is no formula or may be negative",
       [](Plan& p) { add_random(p), p.random_blocks = number(p, -1); }},
      {"buffer 4: it lies over the state of the random numbers",
       [](Plan& p) { add_random(p), p.buffers.back().offset = 0; }},
      {"node 0: argument 0: it writes to the random numbers' state",
       [](Plan& p) {
         add_random(p);
         p.nodes[kCopy].arguments[0] = writes(p.random_buffer);
         p.nodes[kCopy].size = number(p, 0);
       }},
      {"",
       [](Plan& p) {
         add_random(p);
         p.nodes[kLaunch].arguments[0] = reads(p.random_buffer);
       }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, RequirementsAreFormulasWithBounds) {
  const Change changes[] = {
      {"", [](Plan& p) { p = plan_with_requirements(); }},
      {"requirement 0: its number or a bound is no formula",
       [](Plan& p) { p = plan_with_requirements(), p.requirements[0].found = kNone; }},
      {"requirement 0: its number or a bound is no formula",
       [](Plan& p) { p = plan_with_requirements(), p.requirements[0].low = 99; }},
      {"requirement 2: its number or a bound is no formula",
       [](Plan& p) {
         p = plan_with_requirements();
         p.requirements[2].high = static_cast<uint32_t>(p.formulas.size());
       }},
      {"requirement 1: it has no bounds", [](Plan& p) { p = plan_with_requirements(), p.requirements[1].low = kNone; }},
      {"requirement 0: its node is no condition or loop",
       [](Plan& p) { p = plan_with_requirements(), p.requirements[0].node = 0; }},
      {"requirement 0: its node is no condition or loop",
       [](Plan& p) { p = plan_with_requirements(), p.requirements[0].node = 99; }},
      {"", [](Plan& p) { requirement_of_part(p, kRepeat, false); }},
      {"", [](Plan& p) { requirement_of_part(p, kChoose, true); }},
      {"requirement 0: it belongs to a part that its node does not have",
       [](Plan& p) { requirement_of_part(p, kRepeat, true); }},
      {"requirement 0: it belongs to a part that its node does not have",
       [](Plan& p) { p = plan_with_requirements(), p.requirements[0].is_second = true; }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, FormulasAreCheckedOverTheRangeOfTheirSymbols) {
  const Change changes[] = {
      {"formula 6: it has another number of results", [](Plan& p) { p.formulas[6].clear(); }},
      {"formula 2: it has a symbol that does not exist", [](Plan& p) { p.formulas[2][0].value = 1; }},
      {"formula 3: it has a divisor that may be 0", [](Plan& p) { p.formulas[3][3].value = 0; }},
      {"formula 2: it has a result that int64 does not hold", [](Plan& p) { p.formulas[2][1].value = INT64_MAX; }},
      {"formula 2: it has an operation with a number that nothing reads", [](Plan& p) { p.formulas[2][2].value = 1; }},
      {"formula 2: it has an unknown operation", [](Plan& p) { p.formulas[2][2].op = static_cast<FormulaOp>(99); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, ArgumentsOfTheDelegateAreTensors) {
  const Change changes[] = {
      {"input 0: an unknown dtype", [](Plan& p) { p.inputs[0].dtype = static_cast<DType>(99); }},
      {"output 0: an unknown dtype", [](Plan& p) { p.outputs[0].dtype = static_cast<DType>(-1); }},
      {"input 0: its dim order is no permutation", [](Plan& p) { p.inputs[0].dim_order = {0, 0}; }},
      {"input 0: its dim order is no permutation", [](Plan& p) { p.inputs[0].dim_order = {0}; }},
      {"input 0: its dim order is no permutation", [](Plan& p) { p.inputs[0].dim_order = {1, 2}; }},
      {"", [](Plan& p) { p.inputs[0].dim_order = {1, 0}; }},
      {"input 0: a size that is no formula", [](Plan& p) { p.inputs[0].sizes[1] = 99; }},
      {"output 0: a size that is no formula", [](Plan& p) { p.outputs[0].sizes[1] = number(p, -1); }},
      {"",
       [](Plan& p) {
         p.outputs[0].sizes = {number(p, 0), number(p, 7)};
         p.outputs[0].dim_order = {0, 1};
         p.buffers[kOutput].size_bytes = 0;
         p.nodes[kLaunch].arguments[2] = writes(kTemp);
       }},
      {"output 0: a size that is no formula", [](Plan& p) { p.outputs[0].sizes[1] = number(p, int64_t{1} << 31); }},
      {"output 0: a size that is no formula or may be negative, or 2^31 elements",
       [](Plan& p) { p.outputs[0].sizes[1] = number(p, 1 << 25); }},
      {"",
       [](Plan& p) {  // 64 * (2^25 - 1) elements
         p.outputs[0].sizes[1] = number(p, (1 << 25) - 1);
         p.buffers[kOutput].size_bytes = uint64_t{256} * ((1 << 25) - 1);
       }},
      {"",
       [](Plan& p) {
         p.outputs[0].sizes.assign(8, number(p, 1));
         p.outputs[0].dim_order = {0, 1, 2, 3, 4, 5, 6, 7};
         p.buffers[kOutput].size_bytes = 4;
       }},
      {"output 0: rank 9", [](Plan& p) { p.outputs[0].sizes.assign(9, number(p, 1)); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, BuffersLieInTheirSpaces) {
  const Change changes[] = {
      {"buffer 4: an unknown space", [](Plan& p) { p.buffers[kTemp].space = static_cast<Space>(5); }},
      {"buffer 4: 4608 bytes at offset 0 of an arena of 4352", [](Plan& p) { p.buffers[kTemp].size_bytes = 4608; }},
      {"", [](Plan& p) { p.arena_bytes = 4100; }},
      {"buffer 5: 4 bytes at offset 4096 of an arena of 4099", [](Plan& p) { p.arena_bytes = 4099; }},
      {"buffer 5: offset 4100, wanted a multiple of 256", [](Plan& p) { p.buffers[kStatus].offset = 4100; }},
      {"buffer 5: 4 bytes at offset 4352", [](Plan& p) { p.buffers[kStatus].offset = 4352; }},
      {"buffer 2: it has an offset outside the arena", [](Plan& p) { p.buffers[kWeight].offset = 256; }},
      {"buffer 3: it has an offset outside the arena", [](Plan& p) { p.buffers[kState].offset = 256; }},
      {"", [](Plan& p) { p.buffers[kWeight].size_bytes = kMaxBytes; }},
      {"buffer 2: 70368744177665 bytes", [](Plan& p) { p.buffers[kWeight].size_bytes = kMaxBytes + 1; }},
      {"an arena of 70368744177665 bytes", [](Plan& p) { p.arena_bytes = kMaxBytes + 1; }},
      {"buffer 2: it has an index and is no argument", [](Plan& p) { p.buffers[kWeight].index = 1; }},
      {"buffer 2: a constant without data", [](Plan& p) { p.buffers[kWeight].data.clear(); }},
      {"buffer 4: data that nothing reads", [](Plan& p) { p.buffers[kTemp].data = "x"; }},
      {"", [](Plan& p) { p.buffers[kState].data.clear(); }},
      {"buffer 3: a state without a name", [](Plan& p) { p.buffers[kState].state.clear(); }},
      {"buffer 0: it has a name and is no state", [](Plan& p) { p.buffers[kInput].state = "x"; }},
      {"buffer 0: argument 1 does not exist", [](Plan& p) { p.buffers[kInput].index = 1; }},
      {"buffer 1: argument 1 does not exist", [](Plan& p) { p.buffers[kOutput].index = 1; }},
      {"buffer 0: 2044 bytes, wanted 2048", [](Plan& p) { p.buffers[kInput].size_bytes = 2044; }},
      {"buffer 1: 2052 bytes, wanted 2048", [](Plan& p) { p.buffers[kOutput].size_bytes = 2052; }},
      {"buffer 6: an argument that another buffer is already", [](Plan& p) { p.buffers.push_back(p.buffers[kInput]); }},
      {"output 1: it has no buffer", [](Plan& p) { p.outputs.push_back(p.outputs[0]); }},
      {"", [](Plan& p) { p.inputs.push_back(p.outputs[0]); }},
      {"state_bytes is 513, wanted 512", [](Plan& p) { p.state_bytes = 513; }},
      {"state_bytes is 512, wanted 768", [](Plan& p) { p.buffers[kState].size_bytes = 513; }},
      {"buffer 6: a state that another buffer is already", [](Plan& p) { p.buffers.push_back(p.buffers[kState]); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, StatusWordsBelongToTheChecksAlone) {
  const Change changes[] = {
      {"checks without status words", [](Plan& p) { p.status_buffer = kNone; }},
      {"status words without checks", [](Plan& p) { p.checks.clear(); }},
      {"its status words lie in no buffer", [](Plan& p) { p.status_buffer = 6; }},
      {"its status words are not 4 bytes of the arena", [](Plan& p) { p.status_buffer = kWeight; }},
      {"", [](Plan& p) { p.checks.resize(32); }},
      {"its status words are not 8 bytes of the arena", [](Plan& p) { p.checks.resize(33); }},
      {"buffer 4: it lies over the status words", [](Plan& p) { p.buffers[kTemp].size_bytes = 4097; }},
      {"buffer 5: 5 bytes", [](Plan& p) { p.arena_bytes = 4100, p.buffers[kStatus].size_bytes = 5; }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, CountsOfBlocksBelongToKernelsAlone) {
  Plan plan = some_plan();
  Buffer counts;
  counts.size_bytes = 8;
  counts.offset = plan.arena_bytes;
  plan.arena_bytes += kBufferAlignment;
  plan.counters_buffer = static_cast<uint32_t>(plan.buffers.size());
  plan.buffers.push_back(counts);
  const Change changes[] = {
      {"", [](Plan& p) { p.nodes[kLaunch].arguments[2].index = 6; }},
      {"its counts of blocks lie in no buffer", [](Plan& p) { p.counters_buffer = 7; }},
      {"its counts of blocks lie in no buffer", [](Plan& p) { p.counters_buffer = p.status_buffer; }},
      {"not words of 4 bytes of the arena", [](Plan& p) { p.counters_buffer = kWeight; }},
      {"not words of 4 bytes of the arena", [](Plan& p) { p.buffers[6].size_bytes = 7; }},
      {"buffer 4: it lies over the counts of blocks", [](Plan& p) { p.buffers[6].offset = 0; }},
      {"node 0: argument 0: counts of blocks", [](Plan& p) { p.nodes[kCopy].arguments[0].index = 6; }},
      {"node 1: argument 0: counts of blocks", [](Plan& p) { p.nodes[kFill].arguments[0].index = 6; }},
  };
  expect(changes, plan);
}

TEST(CudaPlanCheck, KernelsKeepToTheLimitsOfDevices) {
  const Change changes[] = {
      {"module 0: architecture 49", [](Plan& p) { p.modules[0].architecture = 49; }},
      {"", [](Plan& p) { p.modules[0].architecture = 50; }},
      {"", [](Plan& p) { p.modules[0].architecture = 255; }},
      {"module 0: architecture 256", [](Plan& p) { p.modules[0].architecture = 256; }},
      {"module 1: it has no data", [](Plan& p) { p.modules[1].data.clear(); }},
      {"", [](Plan& p) { p.modules[1].architecture = 90; }},
      {"module 2: an architecture that another", [](Plan& p) { p.modules.push_back(p.modules[0]); }},
      {"", [](Plan& p) { p.modules.push_back({90, false, "code.90a", true}); }},
      {"module 3: an architecture that another", [](Plan& p) { p.modules.resize(4, {90, false, "code.90a", true}); }},
      {"module 1: PTX for one capability alone", [](Plan& p) { p.modules[1].is_exact = true; }},
      {"kernels without a module", [](Plan& p) { p.modules.clear(); }},
      {"kernel 0: it has no name", [](Plan& p) { p.kernels[0].name.clear(); }},
      {"kernel 0: it has no name", [](Plan& p) { p.kernels[0].name[2] = 0; }},
      {"", [](Plan& p) { p.kernels[0].block = {1024, 1, 1}; }},
      {"kernel 0: a block of 1025 x 1 x 1", [](Plan& p) { p.kernels[0].block = {1025, 1, 1}; }},
      {"", [](Plan& p) { p.kernels[0].block = {1, 1024, 1}; }},
      {"kernel 0: a block of 1 x 1025 x 1", [](Plan& p) { p.kernels[0].block = {1, 1025, 1}; }},
      {"", [](Plan& p) { p.kernels[0].block = {4, 4, 64}; }},
      {"kernel 0: a block of 1 x 1 x 65", [](Plan& p) { p.kernels[0].block = {1, 1, 65}; }},
      {"kernel 0: a block of 33 x 32 x 1", [](Plan& p) { p.kernels[0].block = {33, 32, 1}; }},
      {"kernel 0: a block of 0 x 1 x 1", [](Plan& p) { p.kernels[0].block = {0, 1, 1}; }},
      {"kernel 0: a block of 1 x 1 x 0", [](Plan& p) { p.kernels[0].block = {1, 1, 0}; }},
      {"", [](Plan& p) { p.kernels[0].dynamic_shared_bytes = 232448; }},
      {"kernel 0: 232449 bytes of shared memory", [](Plan& p) { p.kernels[0].dynamic_shared_bytes = 232449; }},
      {"", [](Plan& p) { p.kernels[0].arithmetic = Arithmetic::matrix_warpgroup; }},
      {"kernel 0: arithmetic of an unknown kind",
       [](Plan& p) { p.kernels[0].arithmetic = static_cast<Arithmetic>(5); }},
      {"kernel 0: a parameter of an unknown kind",
       [](Plan& p) { p.kernels[0].parameters[0] = static_cast<ParameterKind>(3); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, KernelsHaveAtMostFourThousandBytesOfParameters) {
  for (const size_t count : {512u, 513u}) {
    Plan plan = some_plan();
    plan.kernels[0].parameters.assign(count, ParameterKind::pointer);
    plan.nodes[kLaunch].arguments.assign(count, reads(kWeight));
    EXPECT_EQ(refusal(plan), count == 512 ? "" : "the plan's kernel 0: 4104 bytes of parameters, wanted at most 4096");
    plan.kernels[0].parameters[0] = ParameterKind::int32;  // takes 8 bytes before a pointer
    plan.nodes[kLaunch].arguments[0] = int32(0);
    EXPECT_EQ(refusal(plan).empty(), count == 512);
  }
}

TEST(CudaPlanCheck, GridsKeepToTheLimitsOfDevices) {
  const Change changes[] = {
      {"node 2: no kernel", [](Plan& p) { p.nodes[kLaunch].kernel = 1; }},
      {"", [](Plan& p) { p.nodes[kLaunch].grid[0] = number(p, INT32_MAX); }},
      {"node 2: a grid of more", [](Plan& p) { p.nodes[kLaunch].grid[0] = number(p, int64_t{1} << 31); }},
      {"", [](Plan& p) { p.nodes[kLaunch].grid[1] = number(p, 65535); }},
      {"node 2: a grid of more", [](Plan& p) { p.nodes[kLaunch].grid[1] = number(p, 65536); }},
      {"", [](Plan& p) { p.nodes[kLaunch].grid[2] = number(p, 0); }},
      {"node 2: a grid of more", [](Plan& p) { p.nodes[kLaunch].grid[2] = number(p, 65536); }},
      {"node 2: a grid of more", [](Plan& p) { p.nodes[kLaunch].grid[2] = number(p, -1); }},
      {"node 2: a grid of more", [](Plan& p) { p.nodes[kLaunch].grid[2] = 99; }},
      {"node 2: a launch with a size", [](Plan& p) { p.nodes[kLaunch].size = 0; }},
      {"node 2: a launch with a size", [](Plan& p) { p.nodes[kLaunch].value = 1; }},
      {"node 2: 4 arguments, wanted 5", [](Plan& p) { p.nodes[kLaunch].arguments.pop_back(); }},
      {"node 2: argument 3 is of another kind", [](Plan& p) { p.nodes[kLaunch].arguments[3] = int64(0); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, ArgumentsLieInTheirBuffers) {
  const Change changes[] = {
      {"node 2: argument 0: no buffer", [](Plan& p) { p.nodes[kLaunch].arguments[0].index = 6; }},
      {"node 2: argument 3: no formula", [](Plan& p) { p.nodes[kLaunch].arguments[3].index = 99; }},
      {"node 2: argument 4: no formula", [](Plan& p) { p.nodes[kLaunch].arguments[4].index = 99; }},
      {"", [](Plan& p) { p.nodes[kLaunch].arguments[3].index = number(p, INT32_MIN); }},
      {"node 2: argument 3: a number with an offset", [](Plan& p) { p.nodes[kLaunch].arguments[3].offset = 0; }},
      {"node 2: argument 4: a number with an offset, or one that is written",
       [](Plan& p) { p.nodes[kLaunch].arguments[4].writes = true; }},
      {"int32 does not hold", [](Plan& p) { p.nodes[kLaunch].arguments[3].index = number(p, int64_t{1} << 31); }},
      {"int32 does not hold", [](Plan& p) { p.nodes[kLaunch].arguments[3].index = number(p, INT32_MIN - int64_t{1}); }},
      {"node 2: argument 0: it writes to a constant", [](Plan& p) { p.nodes[kLaunch].arguments[0].writes = true; }},
      {"node 2: argument 1: it writes to an input", [](Plan& p) { p.nodes[kLaunch].arguments[1] = writes(kInput); }},
      {"", [](Plan& p) { p.nodes[kLaunch].arguments[1] = writes(kState); }},
      {"", [](Plan& p) { p.nodes[kLaunch].arguments[1].offset = number(p, 4096); }},
      {"argument 1: it may reach byte 4097 of a buffer of 4096",
       [](Plan& p) { p.nodes[kLaunch].arguments[1].offset = number(p, 4097); }},
      {"argument 1: an offset that is no formula or may be negative",
       [](Plan& p) { p.nodes[kLaunch].arguments[1].offset = number(p, -1); }},
      {"argument 1: an offset that is no formula", [](Plan& p) { p.nodes[kLaunch].arguments[1].offset = 99; }},
      {"argument 1: it may reach byte 4160 of a buffer of 4096",
       [](Plan& p) {
         p.nodes[kLaunch].arguments[1].offset = number_of(p, {symbol(0), constant(65), op(FormulaOp::multiply)});
       }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, CopiesAndFillsStayInTheirBuffers) {
  const Change changes[] = {
      {"node 0: an unknown kind", [](Plan& p) { p.nodes[kCopy].kind = static_cast<NodeKind>(6); }},
      {"node 0: a copy or fill with a kernel", [](Plan& p) { p.nodes[kCopy].kernel = 1; }},
      {"node 0: a copy or fill with a kernel or a grid", [](Plan& p) { p.nodes[kCopy].grid[2] = 1; }},
      {"node 0: another number of arguments", [](Plan& p) { p.nodes[kCopy].arguments.pop_back(); }},
      {"node 1: another number of arguments", [](Plan& p) { p.nodes[kFill].arguments.push_back(reads(kTemp)); }},
      {"node 0: a size that is no formula", [](Plan& p) { p.nodes[kCopy].size = kNone; }},
      {"node 0: a size that is no formula or may be negative", [](Plan& p) { p.nodes[kCopy].size = number(p, -1); }},
      {"node 0: a copy with a value", [](Plan& p) { p.nodes[kCopy].value = 1; }},
      {"", [](Plan& p) { p.nodes[kFill].value = 255; }},
      {"node 0: a copy or fill writes to its first", [](Plan& p) { p.nodes[kCopy].arguments[0].writes = false; }},
      {"node 0: a copy or fill writes to its first", [](Plan& p) { p.nodes[kCopy].arguments[1].writes = true; }},
      {"node 1: a copy or fill writes to its first", [](Plan& p) { p.nodes[kFill].arguments[0] = int64(0); }},
      {"node 1: argument 0: it writes to a constant", [](Plan& p) { p.nodes[kFill].arguments[0].index = kWeight; }},
      {"", [](Plan& p) { p.nodes[kFill].arguments[0].index = kOutput; }},
      {"", [](Plan& p) { p.nodes[kCopy].arguments[0].offset = number(p, 2048); }},
      {"node 0: argument 0: it may reach byte 4097 of a buffer of 4096",
       [](Plan& p) { p.nodes[kCopy].arguments[0].offset = number(p, 2049); }},
      {"node 0: argument 1: it may reach byte 2049 of a buffer of 2048",
       [](Plan& p) { p.nodes[kCopy].size = number(p, 2049); }},
      {"node 0: argument 0: an offset that overflows",
       [](Plan& p) { p.nodes[kCopy].arguments[0].offset = number(p, INT64_MAX); }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, CopiesDoNotOverlapWhatTheyRead) {
  // Node 0 copies 32 to 2048 bytes to byte 1024 of the 4096 bytes of the first arena buffer.
  const Change changes[] = {
      {"",
       [](Plan& p) {
         p.nodes[kCopy].arguments[1] = reads(kTemp, number(p, 0)), p.nodes[kCopy].size = number(p, 1024);
       }},
      {"node 0: a copy may overlap what it reads",
       [](Plan& p) {
         p.nodes[kCopy].arguments[1] = reads(kTemp, number(p, 1)), p.nodes[kCopy].size = number(p, 1024);
       }},
      {"node 0: a copy may overlap what it reads", [](Plan& p) { p.nodes[kCopy].arguments[1] = reads(kTemp); }},
      {"", [](Plan& p) { p.nodes[kCopy].arguments[1] = reads(kTemp), p.nodes[kCopy].size = number(p, 0); }},
      {"",
       [](Plan& p) {
         p.nodes[kCopy].arguments[1] = reads(kTemp), p.nodes[kCopy].arguments[0].offset = number(p, 2048);
       }},
      // Two buffers of the arena in the same memory.
      {"node 0: a copy may overlap what it reads",
       [](Plan& p) {
         p.buffers.push_back(p.buffers[kTemp]);
         p.nodes[kCopy].arguments[1] = reads(static_cast<uint32_t>(p.buffers.size() - 1));
       }},
  };
  expect(changes);
}

TEST(CudaPlanCheck, NodesWaitForEarlierOnes) {
  const Change changes[] = {
      {"node 2: it waits for node 2, which comes later", [](Plan& p) { p.nodes[kLaunch].after = {0, 2}; }},
      {"node 0: it waits for node 0", [](Plan& p) { p.nodes[kCopy].after = {0}; }},
      {"node 2: the nodes that it waits for are not in ascending order",
       [](Plan& p) { p.nodes[kLaunch].after = {1, 0}; }},
      {"node 2: the nodes that it waits for are not in ascending order",
       [](Plan& p) { p.nodes[kLaunch].after = {1, 1}; }},
      {"", [](Plan& p) { p.nodes[kLaunch].after.clear(); }},
  };
  expect(changes);
}

}  // namespace
}  // namespace wick::cuda
