// Writes kernels whose blocks call a function of the vocabulary for each row.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/lines/lines.h"

namespace wick::cuda {
namespace {

class BlockCallWriter : public KernelWriter {
 public:
  using KernelWriter::KernelWriter;

  KernelSource write() {
    const BlockCall& call = *kernel_.call;
    source_.schedule.kind = ScheduleKind::block_per_row;
    source_.schedule.threads = call.threads;
    source_.has_barriers = call.waits;
    source_.grid[0] = extent_of(kernel_.rows);
    Scope row;
    row.indent = "  ";
    row.line("const idx i = static_cast<idx>(block_x());");
    write_split(row, kernel_.rows, "i");
    if (call.has_shared)
      row.line(fmt::format("WICK_SHARED(Positioned<f64>, shared, {});", std::max(call.threads / 32, 1u)));
    std::string arguments;
    for (const BlockCall::Place& place : call.places) {
      const std::string offset = value(row, place.offset);
      arguments +=
          fmt::format("{}{} + {}", arguments.empty() ? "" : ", ", parameter(place.buffer, place.writes), offset);
    }
    if (call.has_shared) arguments += ", shared";
    for (const ExpressionPtr number : call.numbers) {
      const std::string held = value(row, number);
      arguments += is_real(number->type) ? ", " + held : fmt::format(", static_cast<i64>({})", held);
    }
    row.line(fmt::format("{}<{}>({});", call.function, call.threads, arguments));
    return finish(row.text, extent_of(kernel_.rows));
  }

 private:
  std::string result_text(ExpressionPtr) const override { return ""; }
};

}  // namespace

KernelSource write_block_call(LoweredGraph& graph, const LoopKernel& kernel) {
  return BlockCallWriter(graph, kernel).write();
}

}  // namespace wick::cuda
