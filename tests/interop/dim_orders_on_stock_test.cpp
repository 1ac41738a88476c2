// A program whose intermediates are channels last, on the stock runtime. Skipped where that cannot be had.
#include <gtest/gtest.h>
#include <string.h>

#include "compiler/emit/emit.h"
#include "compiler/ir/text/text.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"
#include "tests/interop/stock_peer.h"
#include "tests/support/scratch_folder.h"

namespace wick::interop {
namespace {

// As compiler/layout writes it: copies at the borders, a constant permuted at compile time, pointwise kernels between.
constexpr char kText[] = R"(graph forward(%x: f32[1, 2, 2, 2]) {
  const %w: f32[1, 2, 2, 2]{0,2,3,1} = [10.0, 50.0, 20.0, 60.0, 30.0, 70.0, 40.0, 80.0]
  %a: f32[1, 2, 2, 2]{0,2,3,1} = dim_order_ops._to_dim_order_copy(%x, none, none, none, none, false, [0, 2, 3, 1])
  %b: f32[1, 2, 2, 2]{0,2,3,1} = aten.add.Tensor(%a, %w)
  %c: f32[1, 2, 2, 2]{0,2,3,1} = aten.mul.Tensor(%b, %a)
  %d: f32[1, 2, 2, 2]{0,2,3,1} = aten.relu(%c)
  %e: f32[1, 2, 2, 2] = dim_order_ops._to_dim_order_copy(%d, none, none, none, none, false, [0, 1, 2, 3])
  return %e
})";

compiler::Result<compiler::FilePieces> program() {
  ASSIGN_OR_RETURN(const compiler::Function function, compiler::parse_graph(kText));
  compiler::LinearizeOptions options;
  options.stock_only = true;
  ASSIGN_OR_RETURN(compiler::MethodPlan plan, compiler::linearize(function, options));
  compiler::plan_memory(plan);
  RETURN_IF_ERROR(compiler::verify_plan(plan));
  std::vector<compiler::MethodPlan> methods;
  methods.push_back(std::move(plan));
  ASSIGN_OR_RETURN(const compiler::EmittedProgram emitted, compiler::emit(methods, {}));
  return emitted.pte;
}

TEST(DimOrdersOnStock, ChannelsLastIntermediatesRun) {
  std::string why;
  const auto peer = StockPeer::find(WICK_PEER_FOLDER, &why);
  if (!peer) GTEST_SKIP() << why;
  const auto file = program();
  ASSERT_TRUE(file.ok()) << compiler::render(file.diag());
  const testing::ScratchFolder scratch;
  const std::string pte = scratch.file("channels_last.pte");
  ASSERT_TRUE(compiler::write_pieces(pte, *file).ok());
  const std::vector<float> x = {1, 2, 3, 4, -51, -6, -7, -8}, wanted = {11, 44, 99, 176, 51, 0, 0, 0};
  cli::NamedArray input = {"in0", DType::f32, {1, 2, 2, 2}, std::vector<uint8_t>(32)};
  memcpy(input.bytes.data(), x.data(), 32);
  const StockPeer::Run run = peer->run(pte, "forward", {{input}}, scratch.path());
  ASSERT_TRUE(run.ok) << run.message;
  ASSERT_EQ(run.outputs.size(), 1u);
  ASSERT_EQ(run.outputs[0].size(), 1u);
  std::vector<float> got(8);
  ASSERT_EQ(run.outputs[0][0].bytes.size(), 32u);
  memcpy(got.data(), run.outputs[0][0].bytes.data(), 32);
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace wick::interop
