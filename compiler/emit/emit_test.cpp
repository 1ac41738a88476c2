// Delegates in the file: written, read back by the runtime's checked reader.
#include "compiler/emit/emit.h"

#include <gtest/gtest.h>
#include <string.h>
#include <unistd.h>

#include <cmath>

#include "compiler/ir/text/text.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/support/file_map.h"
#include "wick/program.h"

namespace wick::compiler {
namespace {

// The bytes of another constant, row by row.
class Rows final : public ComputedRows {
 public:
  Rows(ConstantData data, size_t row_bytes)
      : ComputedRows(data.size_bytes() / row_bytes, row_bytes, 1), data_(std::move(data)) {}
  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    data_.read(first * row_bytes(), num_rows * row_bytes(), out);
  }

 private:
  const ConstantData data_;
};

ConstantData data_of(std::vector<uint8_t> bytes) {
  auto owned = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  return {Span<const uint8_t>(owned->data(), owned->size()), owned};
}

std::vector<uint8_t> floats(std::initializer_list<float> values) {
  std::vector<uint8_t> out(values.size() * 4);
  memcpy(out.data(), values.begin(), out.size());
  return out;
}

Delegate delegate(std::vector<uint8_t> payload, std::vector<NamedConstant> constants = {}) {
  Delegate out;
  out.id = "B";
  out.payload = std::move(payload);
  out.constants = std::move(constants);
  auto origin = std::make_shared<Origin>();
  origin->module = "net.head";
  origin->source = "m.py:7";
  out.origins = {origin, nullptr, origin};
  out.output_origins = {origin};
  out.num_nodes = 3;
  return out;
}

MethodPlan plan_of(const std::string& text, const std::vector<Delegate>& delegates) {
  auto function = parse_graph(text);
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  EXPECT_EQ(function->graph->delegates.size(), delegates.size());
  for (size_t i = 0; i < delegates.size(); ++i)
    function->graph->delegates[i] = std::make_shared<const Delegate>(delegates[i]);
  auto plan = linearize(*function, {});
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : render(plan.diag()));
  plan_memory(*plan);
  return std::move(*plan);
}

// One delegate over %x and one kernel with a constant of four floats 1 2 3 4.
MethodPlan small(const std::string& name, const Delegate& item) {
  return plan_of("graph " + name + R"((%x: f32[4]) {
    const %w: f32[4] "w" = [1.0, 2.0, 3.0, 4.0]
    delegate "B" 1
    %a: f32[4] = wick.call_delegate([%x], 0)
    %b: f32[4] = aten.add.Tensor(%a, %w)
    return %b
  })",
                 {item});
}

// The bytes, at a multiple of 16, with their reader.
struct Loaded {
  std::vector<uint8_t> storage;
  Span<const uint8_t> file;
  explicit Loaded(const FilePieces& pieces) : storage(pieces.size_bytes + 16) {
    uint8_t* at = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16;
    const std::vector<uint8_t> bytes = pieces.join();
    memcpy(at, bytes.data(), bytes.size());
    file = {at, bytes.size()};
  }
  Program program() const {
    char buffer[200] = "";
    ErrorText text(buffer, sizeof buffer);
    LoadOptions options;
    options.text = &text;
    auto loaded = Program::load(file, options);
    EXPECT_TRUE(loaded.ok()) << buffer;
    return *loaded;
  }
};

EmittedProgram emitted(const std::vector<MethodPlan>& methods, bool external = false) {
  EmitOptions options;
  options.external_weights = external;
  auto program = emit(methods, options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : render(program.diag()));
  return program.ok() ? std::move(*program) : EmittedProgram{};
}

std::vector<uint8_t> bytes_of(Span<const uint8_t> span) { return {span.begin(), span.end()}; }

TEST(Emit, ADelegateIsReadBack) {
  const std::vector<uint8_t> payload = {1, 2, 3, 4, 5}, named = floats({5, 6});
  const EmittedProgram out = emitted({small("forward", delegate(payload, {{"key", data_of(named)}}))});
  const Loaded file(out.pte);
  const Program program = file.program();
  const MethodMeta method = program.method(0);
  ASSERT_EQ(method.num_delegates(), 1u);
  EXPECT_STREQ(method.delegate(0).id, "B");
  EXPECT_EQ(method.delegate(0).num_specs, 0u);
  EXPECT_EQ(bytes_of(method.delegate(0).payload), payload);
  EXPECT_EQ((method.delegate(0).payload.data() - program.file().data()) % 16, 0);
  const InstructionMeta call = method.instruction(0, 0);
  EXPECT_EQ(call.kind, InstructionKind::delegate);
  EXPECT_EQ(call.target, 0u);
  EXPECT_EQ(call.args.size(), 2u);
  const auto found = program.find_named_data("key");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(bytes_of(*found), named);
  EXPECT_EQ((found->data() - program.file().data()) % 16, 0);
}

TEST(Emit, ValuesOnADeviceLieInAnArenaOfTheirOwn) {
  Delegate item = delegate({1});
  item.device = {1, "toy:0"};
  const EmittedProgram out = emitted({plan_of(R"(graph f(%x: f32[4]) {
    delegate "B" 1
    delegate "B" 1
    %a: f32[4], %b: f32[4] = wick.call_delegate([%x], 0)
    %c: f32[4] = wick.call_delegate([%a], 1)
    return %c, %b
  })",
                                              {item, item})});
  const Loaded loaded(out.pte);
  const Program program = loaded.program();
  const MethodMeta method = program.method(0);
  ASSERT_EQ(method.num_arenas(), 2u);
  EXPECT_EQ(method.arena_device(0), 0);
  EXPECT_EQ(method.arena_device(1), 1);
  EXPECT_EQ(method.arena_bytes(1), 16u);
  const InstructionMeta call = method.instruction(0, 0);
  EXPECT_EQ(method.value(static_cast<size_t>(call.args[0])).tensor.device_type, 0);
  const TensorMeta between = method.value(static_cast<size_t>(call.args[1])).tensor;
  EXPECT_EQ(between.device_type, 1);
  EXPECT_EQ(between.arena, 1u);
  EXPECT_EQ(method.value(static_cast<size_t>(call.args[2])).tensor.device_type, 0);
  ASSERT_EQ(method.delegate(0).num_specs, 1u);
  EXPECT_STREQ(method.compile_spec(0, 0).key, "target_device");
  EXPECT_EQ(bytes_of(method.compile_spec(0, 0).value), (std::vector<uint8_t>{'t', 'o', 'y', ':', '0'}));
}

TEST(Emit, EqualBytesAreStoredOnceOverDelegatesMethodsAndConstants) {
  const std::vector<uint8_t> weights = floats({1, 2, 3, 4}), other = floats({7, 8, 9});
  const Delegate a = delegate({1}, {{"w", data_of(weights)}, {"o", data_of(other)}});
  const Delegate b = delegate({2}, {{"w", data_of(weights)}, {"also o", data_of(other)}});
  const EmittedProgram out = emitted({small("first", a), small("second", b)});
  const Loaded file(out.pte);
  const Program program = file.program();
  const auto w = program.find_named_data("w"), o = program.find_named_data("o"),
             also = program.find_named_data("also o");
  ASSERT_TRUE(w.ok() && o.ok() && also.ok());
  EXPECT_EQ(bytes_of(*w), weights);
  EXPECT_EQ(bytes_of(*o), other);
  EXPECT_EQ(o->data(), also->data());
  // The constant of both methods is the same range of the file.
  const MethodMeta method = program.method(1);
  for (size_t i = 0; i < method.num_values(); ++i) {
    if (method.tag(i) != Tag::tensor || method.value(i).tensor.storage != wick::Storage::constant) continue;
    EXPECT_EQ(method.value(i).tensor.bytes.data(), w->data());
  }
  EXPECT_EQ(out.constant_bytes, weights.size() + other.size());
}

TEST(Emit, SegmentsAreInTheOrderOfTheirOffsets) {
  const Delegate item = delegate({1, 2}, {{"w", data_of(floats({1, 2, 3, 4}))}, {"o", data_of(floats({9}))}});
  const EmittedProgram out = emitted({small("forward", item)});
  const Loaded file(out.pte);
  const Program program = file.program();
  for (size_t i = 1; i < program.num_segments(); ++i)
    EXPECT_LE(program.segment(i - 1).data(), program.segment(i).data()) << i;
}

TEST(Emit, EqualPayloadsAreOneSegment) {
  const EmittedProgram out = emitted({small("first", delegate({1, 2})), small("second", delegate({1, 2}))});
  const Loaded file(out.pte);
  const Program program = file.program();
  EXPECT_EQ(program.method(0).delegate(0).payload.data(), program.method(1).delegate(0).payload.data());
}

TEST(Emit, ExternalWeightsTakeNamedConstantsByTheirKey) {
  const std::vector<uint8_t> weights = floats({1, 2, 3, 4}), other = floats({7, 8});
  const Delegate item = delegate({1}, {{"w key", data_of(weights)}, {"o key", data_of(other)}});
  const EmittedProgram out = emitted({small("forward", item)}, true);
  const Loaded pte(out.pte), ptd(out.ptd);
  EXPECT_FALSE(pte.program().find_named_data("w key").ok());
  const auto map = DataMap::load(ptd.file);
  ASSERT_TRUE(map.ok());
  const auto w = map->find("w key"), o = map->find("o key"), tensor = map->find("w");
  ASSERT_TRUE(w.ok() && o.ok() && tensor.ok());
  EXPECT_FALSE(w->is_tensor);
  EXPECT_EQ(bytes_of(w->bytes), weights);
  EXPECT_EQ(bytes_of(o->bytes), other);
  EXPECT_EQ(w->bytes.data(), tensor->bytes.data());
}

// A constant's bytes are in its dim order, which the .ptd states beside its sizes.
TEST(Emit, TensorsHaveTheDimOrdersOfTheirTypes) {
  const MethodPlan method = plan_of(R"(graph forward(%x: f32[1, 2, 1, 3]) {
    const %w: f32[1, 2, 1, 3]{0,2,3,1} "w" = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    %a: f32[1, 2, 1, 3]{0,2,3,1} = aten.add.Tensor(%x, %w)
    %b: f32[1, 2, 1, 3] = aten.relu(%a)
    return %b
  })",
                                    {});
  for (const bool external : {false, true}) {
    SCOPED_TRACE(external);
    const EmittedProgram out = emitted({method}, external);
    const Loaded file(out.pte);
    const Program program = file.program();
    std::vector<std::vector<uint8_t>> orders;
    for (size_t i = 0; i < program.method(0).num_values(); ++i) {
      if (program.method(0).value(i).tag != Tag::tensor) continue;
      orders.push_back(bytes_of(program.method(0).value(i).tensor.dim_order));
    }
    const std::vector<uint8_t> nchw = {0, 1, 2, 3}, nhwc = {0, 2, 3, 1};
    EXPECT_EQ(orders, (std::vector<std::vector<uint8_t>>{nchw, nhwc, nhwc, nchw}));
    if (!external) continue;
    const Loaded ptd(out.ptd);
    const auto map = DataMap::load(ptd.file);
    ASSERT_TRUE(map.ok());
    const auto w = map->find("w");
    ASSERT_TRUE(w.ok());
    EXPECT_EQ(bytes_of(w->dim_order), nhwc);
  }
}

TEST(Emit, OneKeyForTwoContentsIsABug) {
  const Delegate a = delegate({1}, {{"k", data_of(floats({1}))}}), b = delegate({2}, {{"k", data_of(floats({2}))}});
  const auto program = emit({small("first", a), small("second", b)}, {});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.diag().code, Code::internal);
}

TEST(Emit, MetadataNamesTheNodesOfAPayload) {
  const MethodPlan method = small("forward", delegate({1}, {{"k", data_of(floats({1}))}}));
  EXPECT_NE(
      metadata_json({&method}).find(
          R"("delegates":[{"nodes":3,"named_data":["k"],"node_places":[0,-1,0],"output_places":[0]}],"places":[{"module":"net.head","source":"m.py:7"}])"),
      std::string::npos)
      << metadata_json({&method});
}

TEST(Emit, NumbersKeepTheSignOfZero) {
  const EmittedProgram program = emitted({plan_of(R"(graph f(%x: f32[2]) {
    %a: f32[2] = aten.mul.Scalar(%x, 0.0)
    %b: f32[2] = aten.mul.Scalar(%a, -0.0)
    return %b
  })",
                                                  {})});
  const Loaded file(program.pte);
  const Program loaded = file.program();
  const MethodMeta method = loaded.method(0);
  std::vector<bool> negative;
  for (uint32_t i = 0; i < method.num_values(); ++i) {
    const ValueMeta value = method.value(i);
    if (value.tag == Tag::real) negative.push_back(std::signbit(value.real));
  }
  EXPECT_EQ(negative, (std::vector<bool>{false, true}));
}

TEST(Emit, TheSameProgramGivesTheSameBytes) {
  const Delegate item = delegate({1}, {{"b", data_of(floats({1}))}, {"a", data_of(floats({2}))}});
  EXPECT_EQ(emitted({small("forward", item)}).pte.join(), emitted({small("forward", item)}).pte.join());
}

TEST(Emit, ComputedConstantsAreWrittenAsThoseInMemory) {
  std::vector<uint8_t> large(1'000'000);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<uint8_t>(i % 253);
  const ConstantData weights = data_of(floats({1, 2, 3, 4})), other = data_of(large);
  const auto rows = [](const ConstantData& data, size_t row_bytes) {
    return ConstantData(std::make_shared<const Rows>(data, row_bytes), {});
  };
  const Delegate stored = delegate({1}, {{"w", weights}, {"o", other}, {"same", other}});
  const Delegate computed = delegate({1}, {{"w", rows(weights, 4)}, {"o", rows(other, 200)}, {"same", rows(other, 8)}});
  const EmittedProgram wanted = emitted({small("forward", stored)}), found = emitted({small("forward", computed)});
  EXPECT_EQ(found.constant_bytes, wanted.constant_bytes);
  EXPECT_EQ(found.pte.join(), wanted.pte.join());
  const std::string path = testing::TempDir() + "wick_emit_test_" + std::to_string(::getpid()) + ".pte";
  ASSERT_TRUE(write_pieces(path, found.pte).ok());
  EXPECT_EQ(bytes_of(FileMap::open(path)->bytes()), wanted.pte.join());
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace wick::compiler
