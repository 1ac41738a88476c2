// Programs (.pte), external data (.ptd) and IR text that mean harm.
#include <gtest/gtest.h>

#include "schema/bundled_program_generated.h"
#include "schema/flat_tensor_generated.h"
#include "schema/test_program_builder.h"
#include "tests/hostile/hostile_case.h"
#include "tests/hostile/run_wick.h"

namespace wick::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using schema::TestProgram;

std::string text_of(const schema::AlignedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The tables of a program, without header.
std::string finish(FlatBufferBuilder& builder, Offset<pte::Program> root) {
  pte::FinishProgramBuffer(builder, root);
  std::string file(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  file.resize(std::max<size_t>(file.size(), 64));
  return file;
}

template <typename T>
using Offsets = std::vector<Offset<T>>;

// One method around the parts that matter.
struct Plan {
  FlatBufferBuilder builder;
  Offsets<pte::EValue> values;
  Offsets<pte::Chain> chains;
  Offsets<pte::Operator> operators;
  Offsets<pte::BackendDelegate> delegates;
  Offsets<pte::NonConstBufferDevice> devices;
  std::vector<int32_t> inputs, outputs;
  std::vector<int64_t> arenas = {0};
  std::string name = "forward";

  Offset<pte::EValue> integer(int64_t n) {
    return pte::CreateEValue(builder, pte::KernelTypes::Int, pte::CreateInt(builder, n).Union());
  }
  Offset<pte::Chain> chain(const Offsets<pte::Instruction>& instructions) {
    const std::vector<int32_t> none;
    return pte::CreateChainDirect(builder, &none, &none, &instructions);
  }
  Offset<pte::ExecutionPlan> plan() {
    if (chains.empty()) chains.push_back(chain({}));
    return pte::CreateExecutionPlanDirect(builder, name.c_str(), 0, &values, &inputs, &outputs, &chains, &operators,
                                          &delegates, &arenas, devices.empty() ? nullptr : &devices);
  }
  std::string file() { return file({plan()}); }
  std::string file(const Offsets<pte::ExecutionPlan>& plans) {
    return finish(builder, pte::CreateProgramDirect(builder, 0, &plans));
  }
};

void run_cases(const std::vector<HostileCase>& cases) {
  for (const HostileCase& test : cases) {
    expect_harmless(test);
    // The tools that describe a program read more of it.
    for (const char* command : {"inspect", "explain", "ops", "run"}) {
      if (!test.command.empty()) break;
      HostileCase other = test;
      other.command = {command, "@"};
      other.exit_codes = {0, 2, 3, 4};
      other.says = "";
      expect_harmless(other);
    }
  }
}

TEST(HostileProgram, ManyOfOneThingTakeLinearTimeAndMemory) {
  run_cases({
      {"values.pte",
       [] {
         Plan plan;
         for (int i = 0; i < 250'000; ++i) plan.values.push_back(plan.integer(i));
         return plan.file();
       },
       {0},
       ""},
      {"shared_value.pte",
       [] {
         Plan plan;
         plan.values.assign(2'000'000, plan.integer(1));
         return plan.file();
       },
       {0, 4},
       ""},
      {"chains.pte",
       [] {
         Plan plan;
         plan.chains.assign(1'000'000, plan.chain({}));
         return plan.file();
       },
       {0, 4},
       ""},
      {"methods.pte",
       [] {
         Plan plan;
         const auto one = plan.plan();
         return plan.file(Offsets<pte::ExecutionPlan>(1'000'000, one));
       },
       {4},
       "method"},
      {"operators.pte",
       [] {
         Plan plan;
         const auto op = pte::CreateOperatorDirect(plan.builder, "aten::nothing", "out");
         plan.operators.assign(2'000'000, op);
         return plan.file();
       },
       {4},
       ""},
      {"instructions.pte",
       [] {
         Plan plan;
         plan.values.push_back(plan.integer(1));
         const auto move = pte::CreateInstruction(plan.builder, pte::InstructionArguments::MoveCall,
                                                  pte::CreateMoveCall(plan.builder, 0, 0).Union());
         plan.chains.push_back(plan.chain(Offsets<pte::Instruction>(1'500'000, move)));
         return plan.file();
       },
       {0, 4},
       ""},
      {"shared_arguments.pte",
       [] {
         Plan plan;
         plan.values.push_back(plan.integer(1));
         plan.operators.push_back(pte::CreateOperatorDirect(plan.builder, "aten::add", "out"));
         const std::vector<int32_t> args(10'000, 0);
         const auto call = pte::CreateInstruction(plan.builder, pte::InstructionArguments::KernelCall,
                                                  pte::CreateKernelCallDirect(plan.builder, 0, &args).Union());
         plan.chains.push_back(plan.chain(Offsets<pte::Instruction>(10'000, call)));
         return plan.file();
       },
       {4},
       "more items"},
      {"shared_list.pte",
       [] {
         Plan plan;
         plan.values.push_back(plan.integer(1));
         const std::vector<int64_t> items(100'000, 0);
         const auto list = pte::CreateEValue(plan.builder, pte::KernelTypes::IntList,
                                             pte::CreateIntListDirect(plan.builder, &items).Union());
         plan.values.insert(plan.values.end(), 100'000, list);
         return plan.file();
       },
       {4},
       "more items"},
      {"arenas.pte",
       [] {
         Plan plan;
         plan.arenas.assign(1'000'000, 16);
         return plan.file();
       },
       {4},
       "arenas"},
      {"devices.pte",
       [] {
         Plan plan;
         plan.arenas.assign(4000, 16);
         plan.devices.assign(1'000'000, pte::CreateNonConstBufferDevice(plan.builder, 1));
         return plan.file();
       },
       {4},
       "device"},
      {"delegates.pte",
       [] {
         Plan plan;
         const auto where = pte::CreateBackendDelegateDataReference(plan.builder, pte::DataLocation::INLINE, 0);
         const std::vector<uint8_t> bytes(16, 1);
         const auto one = pte::CreateBackendDelegateDirect(plan.builder, "Nothing", where);
         plan.delegates.assign(1'000'000, one);
         const Offsets<pte::BackendDelegateInlineData> payloads = {
             pte::CreateBackendDelegateInlineDataDirect(plan.builder, &bytes)};
         const Offsets<pte::ExecutionPlan> plans = {plan.plan()};
         return finish(plan.builder, pte::CreateProgramDirect(plan.builder, 0, &plans, nullptr, &payloads));
       },
       {4},
       ""},
  });
}

// Sets, suites and values that are stated once and named many times.
TEST(HostileBundle, SharedTablesTakeLinearTime) {
  const auto bundle = [](size_t suites, size_t sets, size_t values, int32_t elements = 4,
                         const std::string& method = "forward") {
    return [=] {
      FlatBufferBuilder builder;
      const std::vector<int32_t> sizes = {elements};
      const std::vector<uint8_t> data(sizeof(float) * static_cast<size_t>(elements)), order = {0};
      const auto tensor = bpte::CreateTensorDirect(builder, static_cast<int8_t>(DType::f32), &sizes, &data, &order);
      const Offsets<bpte::Value> value_list(values,
                                            bpte::CreateValue(builder, bpte::ValueUnion::Tensor, tensor.Union()));
      const Offsets<bpte::BundledMethodTestCase> set_list(
          sets, bpte::CreateBundledMethodTestCaseDirect(builder, &value_list, &value_list));
      const Offsets<bpte::BundledMethodTestSuite> suite_list(
          suites, bpte::CreateBundledMethodTestSuiteDirect(builder, method.c_str(), &set_list));
      const schema::AlignedBytes inner = TestProgram().build();
      const auto all = builder.CreateVector(suite_list);
      builder.ForceVectorAlignment(inner.size(), 1, 32);
      const auto program = builder.CreateVector(inner.data(), inner.size());
      bpte::FinishBundledProgramBuffer(builder, bpte::CreateBundledProgram(builder, 2, all, program));
      return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
    };
  };
  const std::string name(1 << 20, 'm');
  run_cases({
      {"values.bpte", bundle(1, 1, 100'000), {0, 4}, ""},
      {"sets.bpte", bundle(1, 100'000, 1), {0, 4}, ""},
      {"suites.bpte", bundle(100'000, 1, 1), {0, 4}, ""},
      {"all.bpte", bundle(1000, 1000, 1000), {4}, "corrupt"},
      {"run.bpte", bundle(1, 1, 1), {4}, "does not fit", {"run", "@", "--testset"}},
      {"tensors.bpte", bundle(1, 1, 100'000, 1 << 22), {4}, "more bytes than"},
      {"tensors_run.bpte", bundle(1, 1, 100'000, 1 << 22), {4}, "more bytes than", {"run", "@", "--testset"}},
      {"many_suites.bpte", bundle(1'000'000, 0, 0, 4, "m"), {0}},
      {"many_suites_json.bpte", bundle(500'000, 0, 0, 4, "m"), {0}, "", {"inspect", "--json", "@"}},
      {"names.bpte", bundle(100'000, 0, 0, 4, name), {4}, "more bytes than"},
      {"names_json.bpte", bundle(100'000, 0, 0, 4, name), {4}, "more bytes than", {"inspect", "--json", "@"}},
      {"names_run.bpte", bundle(1, 100'000, 0, 4, name), {4}, "more bytes than", {"run", "@", "--testset"}},
  });
}

// Attention over a cache that the application installs in its runtime.
TEST(HostileProgram, OperatorsOnStateOfTheRuntimeAreRefusedWithAWayOut) {
  const auto make = [] {
    TestProgram program;
    const int32_t q = program.planned(DType::f32, {1, 2, 1, 4}), out = program.planned(DType::f32, {1, 2, 1, 4});
    const int32_t position = program.planned(DType::i64, {1, 1});
    program.call(program.op("kvcache::update_and_attend", "out"),
                 {q, q, q, position, program.integer(0), program.real(0.5), program.integer(6), out, out});
    return text_of(program.build());
  };
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", "@"}, {"verify", "@"}, {"ops", "@", "--emit-table", scratch_path("table.cpp")}})
    expect_harmless({"cache.pte", make, {4}, "export the caches as mutable buffers", command});
}

// A program of a newer version is refused for what it says more, but not for the version alone.
TEST(HostileProgram, FieldsOfNewerVersionsAreRefused) {
  const auto program_of = [](uint32_t version, bool field) {
    return [=] {
      Plan plan;
      const Offsets<pte::ExecutionPlan> plans = {plan.plan()};
      const auto list = plan.builder.CreateVector(plans);
      const flatbuffers::uoffset_t start = plan.builder.StartTable();
      plan.builder.AddElement<uint32_t>(pte::Program::VT_VERSION, version, 0);
      plan.builder.AddOffset(pte::Program::VT_EXECUTION_PLAN, list);
      if (field) plan.builder.AddElement<double>(pte::Program::VT_NAMED_DATA + 2, 0.5, 0);
      return finish(plan.builder, Offset<pte::Program>(plan.builder.EndTable(start)));
    };
  };
  for (const uint32_t version : {0u, 1u, 4'000'000'000u}) {
    const std::string number = std::to_string(version);
    expect_harmless(
        {"field.pte", program_of(version, true), {4}, "fields of a newer version of the format (it states " + number});
    const Outcome outcome = run_wick({"verify", made_file("version.pte", program_of(version, false))});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.output.find("note: the program states version " + number) != std::string::npos, version != 0)
        << outcome.output;
  }
}

TEST(HostileProgram, ArenasBeyondTheLimitAreRefused) {
  const auto arena = [](int64_t bytes) {
    return [bytes] {
      TestProgram program;
      program.arena_sizes = {0, bytes};
      return text_of(program.build());
    };
  };
  run_cases({
      {"arena_2_60.pte", arena(int64_t{1} << 60), {3}, "--limit arena-bytes"},
      {"arena_max.pte", arena(INT64_MAX), {3}, "--limit arena-bytes"},
      {"arena_20g.pte", arena(int64_t{20} << 30), {3}, "--limit arena-bytes"},
      {"arena_negative.pte", arena(-1), {4}, "negative"},
      {"arena_allowed.pte", arena(int64_t{18} << 30), {0, 3}, "", {"verify", "@", "--limit", "arena-bytes=32G"}},
      {"output.pte",
       [] {
         TestProgram program;
         program.outputs = {program.tensor({.dtype = DType::u8, .sizes = {INT32_MAX}})};
         program.outputs.resize(20, program.outputs[0]);
         return text_of(program.build());
       },
       {3, 4},
       ""},
  });
}

TEST(HostileProgram, EndlessLoopsEnd) {
  run_cases({
      {"jump_to_itself.pte",
       [] {
         TestProgram program;
         program.jump_false(program.boolean(false), 0);
         return text_of(program.build());
       },
       {4},
       "--limit instructions=N",
       {"run", "@"}},
      {"jump_in_circles.pte",
       [] {
         TestProgram program;
         const int32_t no = program.boolean(false), x = program.planned(DType::f32, {256});
         program.move(x, x);
         program.jump_false(no, 0);
         return text_of(program.build());
       },
       {4},
       "--limit instructions=N",
       {"run", "@"}},
  });
}

std::string data_file(size_t count, bool sorted, bool overlap, bool equal) {
  FlatBufferBuilder builder;
  Offsets<ptd::NamedData> entries;
  Offsets<ptd::DataSegment> segments;
  for (size_t i = 0; i < count; ++i) {
    const size_t k = equal ? 0 : sorted ? i : count - i;
    char key[32];
    std::snprintf(key, sizeof key, "k%08zu", k);
    entries.push_back(ptd::CreateNamedDataDirect(builder, key, static_cast<uint32_t>(i)));
    segments.push_back(ptd::CreateDataSegment(builder, overlap ? i : i * 16, 16));
  }
  ptd::FinishFlatTensorBuffer(builder, ptd::CreateFlatTensorDirect(builder, 0, &segments, &entries));
  std::string file(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  file.insert(8, 48, '\0');
  const auto put = [&](size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
  };
  uint32_t root;
  memcpy(&root, file.data(), 4);
  put(0, root + 48, 4);
  const uint64_t tables = file.size(), base = (tables + 15) / 16 * 16, bytes = count * 16;
  file.replace(8, 4, "FH01");
  put(12, 40, 4);
  put(16, 48, 8);
  put(24, tables - 48, 8);
  put(32, base, 8);
  put(40, bytes, 8);
  file.resize(base + bytes);
  return file;
}

TEST(HostileData, KeysAndSegmentsAreChecked) {
  const std::vector<std::string> verify = {"verify", "@"};
  run_cases({
      {"sorted.ptd", [] { return data_file(100'000, true, false, false); }, {0}, "", verify},
      {"unsorted.ptd", [] { return data_file(1'000, false, false, false); }, {0}, "", verify},
      {"many_unsorted.ptd", [] { return data_file(100'000, false, false, false); }, {4}, "not sorted", verify},
      {"equal_keys.ptd", [] { return data_file(1'000, true, false, true); }, {4}, "twice", verify},
      // Entries may share bytes, as tied weights do.
      {"overlapping.ptd", [] { return data_file(1'000, true, true, false); }, {0}, "", verify},
      {"empty.ptd", [] { return std::string(); }, {4}, "", verify},
  });
}

TEST(HostileProgram, ManyExternalTensorsAreFoundInTime) {
  const std::string data = made_file("weights.ptd", [] { return data_file(100'000, true, false, false); });
  run_cases({
      {"external.pte",
       [] {
         TestProgram program;
         for (int i = 0; i < 50'000; ++i) {
           char key[32];
           std::snprintf(key, sizeof key, "k%08d", i);
           program.tensor({.dtype = DType::u8, .sizes = {16}, .external = true, .name = key});
         }
         return text_of(program.build());
       },
       {0, 3, 4},
       "",
       {"verify", "@", "--data", data},
       uint64_t{64} << 20},
  });
}

std::string repeat(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(HostileIr, TextOfAnyShapeIsReadOrRefused) {
  const std::string head = "graph(%x: f32[4]) {\n";
  run_cases({
      {"nested_graphs.ir",
       [=] { return head + repeat("%r = aten.relu(%x) graph(%x: f32[4]) {", 200'000); },
       {4},
       "IR text",
       {"verify", "@"}},
      {"deep_expression.ir",
       [=] { return "graph(%x: f32[" + repeat("(", 5'000'000) + "]) {"; },
       {3, 4},
       "",
       {"verify", "@"}},
      {"deep_max.ir",
       [=] { return "graph(%x: f32[" + repeat("max(1, ", 1'000'000) + "]) {"; },
       {3, 4},
       "",
       {"verify", "@"}},
      {"minus.ir", [=] { return "graph(%x: f32[" + repeat("-", 5'000'000) + "1]) {"; }, {3, 4}, "", {"verify", "@"}},
      {"method_plans.ir",
       [=] {
         std::string text = head;
         for (int i = 0; i < 20'000; ++i)
           text += "%v" + std::to_string(i) + " = aten.relu(%" + (i ? "v" + std::to_string(i - 1) : "x") + ")\n";
         return text + "return %v19999 }";
       },
       {0},
       "",
       {"opt", "@"},
       uint64_t{256} << 20},
      {"constants.ir",
       [=] { return head + repeat("const %c: f32[25000000]\n", 100) + "return %x }"; },
       {3, 4},
       "",
       {"verify", "@"},
       uint64_t{1} << 30},
      {"big_constant.ir",
       [=] { return head + "const %c: f32[3000000000]\nreturn %x }"; },
       {3, 4},
       "",
       {"verify", "@"},
       uint64_t{100} << 20},
      {"dim_order.ir",
       [] { return "graph(%x: f32[2,2]{7,7}) { %r = aten.relu(%x) return %r }"; },
       {3, 4},
       "",
       {"verify", "@"}},
      {"cycle.ir",
       [=] { return head + "%a = aten.relu(%b) %b = aten.relu(%a) return %b }"; },
       {4},
       "",
       {"verify", "@"}},
      {"fold.ir",
       [] { return "graph() { %z = aten.full([100000000], 1.0) %s = aten.sum(%z) return %s }"; },
       {0, 3, 4},
       "",
       {"opt", "@"},
       uint64_t{1} << 30},
      {"spaces.ir", [] { return std::string(10'000'000, ' '); }, {4}, "", {"verify", "@"}},
      {"comment.ir", [] { return std::string(10'000'000, '#'); }, {4}, "", {"verify", "@"}},
      {"string.ir",
       [=] { return head + "%r = aten.relu(%x) @ \"" + repeat("\\x41", 2'500'000); },
       {4},
       "",
       {"verify", "@"}},
      {"bytes.ir", [] { return std::string(1'000'000, '\0'); }, {4}, "", {"verify", "@"}},
  });
}

}  // namespace
}  // namespace wick::testing
