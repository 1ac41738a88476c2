#include "devices/instruction_place.h"

#include <fmt/format.h>

namespace wick::device {

std::string operator_text(const OperatorName& op) {
  const std::string name = op.overload[0] == '\0' ? op.name : fmt::format("{}.{}", op.name, op.overload);
  return compiler::printable(name);
}

compiler::Where instruction_source(const MethodMeta& method, size_t chain, size_t instruction) {
  compiler::Where where;
  const size_t count = method.num_frames(chain, instruction);
  const bool is_check = method.check_message(chain, instruction) != nullptr;  // whose first frame is not a place
  if (count == (is_check ? 1u : 0u)) return where;
  const FrameMeta frame = method.frame(chain, instruction, count - 1);
  where.module = frame.name;
  const std::string_view file = frame.filename;
  const size_t slash = file.find_last_of("/\\");
  if (!file.empty())
    where.source = fmt::format("{}:{}", file.substr(slash == std::string_view::npos ? 0 : slash + 1), frame.line);
  return where;
}

std::string instruction_text(const MethodMeta& method, size_t chain, size_t instruction) {
  const InstructionMeta meta = method.instruction(chain, instruction);
  std::string op;
  if (meta.kind == InstructionKind::kernel) op = operator_text(method.op(meta.target));
  if (meta.kind == InstructionKind::delegate) op = compiler::printable(method.delegate(meta.target).id);
  return fmt::format("method '{}', instruction {}, {}", compiler::printable(method.name()), instruction, op);
}

}  // namespace wick::device
