// Prints a plan for reading and comparing. Bytes of names that are not printable become '?'.
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {
namespace {

std::string printable(const std::string& text) {
  std::string out = text;
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}
std::string quoted(const std::string& text) { return "\"" + printable(text) + "\""; }
std::string number(uint64_t value) { return std::to_string(value); }

const char* sign_of(FormulaOp op) {
  switch (op) {
    case FormulaOp::add: return " + ";
    case FormulaOp::multiply: return " * ";
    case FormulaOp::floor_divide: return " // ";
    case FormulaOp::modulo: return " % ";
    case FormulaOp::equal: return " == ";
    case FormulaOp::not_equal: return " != ";
    case FormulaOp::less: return " < ";
    case FormulaOp::less_equal: return " <= ";
    case FormulaOp::logical_and: return " and ";
    case FormulaOp::logical_or: return " or ";
    default: return nullptr;
  }
}

std::string schedule_text(const Kernel& kernel) {
  const char* const units[] = {"f32", "f64", "matrix f16", "matrix TF32", "warpgroup f16"};
  return kernel.schedule.empty()
             ? ""
             : ", " + printable(kernel.schedule) + " in " + units[static_cast<size_t>(kernel.arithmetic)];
}

class Writer {
 public:
  explicit Writer(const Plan& plan) : plan_(plan) {}
  std::string run();
  std::string infix(const Formula& formula) const;

 private:
  void line(const std::string& text) { out_ += text + "\n"; }
  std::string leaf(const FormulaStep& step) const;
  std::string formula(uint32_t index) const;
  std::string buffer(uint32_t index) const;
  std::string argument(const Argument& argument) const;
  void interfaces(const char* what, const std::vector<Interface>& list);
  void buffers();
  void code();
  void node(size_t index);

  const Plan& plan_;
  std::string out_;
};

std::string Writer::leaf(const FormulaStep& step) const {
  return step.op == FormulaOp::constant ? std::to_string(step.value)
                                        : printable(plan_.symbols[static_cast<size_t>(step.value)].name);
}

// Evaluates the formula with texts as the numbers on the stack.
std::string Writer::infix(const Formula& formula) const {
  std::vector<std::string> stack;
  const auto pop = [&] {
    std::string top = std::move(stack.back());
    stack.pop_back();
    return top;
  };
  for (const FormulaStep& step : formula) {
    if (step.op == FormulaOp::constant || step.op == FormulaOp::symbol) {
      stack.push_back(leaf(step));
    } else if (step.op == FormulaOp::logical_not) {
      stack.back() = "not " + stack.back();
    } else if (step.op == FormulaOp::select) {
      const std::string no = pop(), yes = pop();
      stack.back() = "(" + stack.back() + " ? " + yes + " : " + no + ")";
    } else {
      const std::string right = pop();
      const char* sign = sign_of(step.op);
      const char* name = step.op == FormulaOp::minimum ? "min" : "max";
      stack.back() = sign ? "(" + stack.back() + sign + right + ")" : name + ("(" + stack.back() + ", " + right + ")");
    }
  }
  return stack.back();
}

// Long formulas are printed once, in a list of their own.
std::string Writer::formula(uint32_t index) const {
  return plan_.formulas[index].size() == 1 ? leaf(plan_.formulas[index][0]) : "f" + number(index);
}

std::string Writer::buffer(uint32_t index) const { return "b" + number(index); }

std::string Writer::argument(const Argument& argument) const {
  if (argument.kind == ParameterKind::int32) return "i32 " + formula(argument.index);
  if (argument.kind == ParameterKind::int64) return "i64 " + formula(argument.index);
  return (argument.writes ? "out " : "") + buffer(argument.index) +
         (argument.offset == kNone ? "" : "[" + formula(argument.offset) + "]");
}

void Writer::interfaces(const char* what, const std::vector<Interface>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    std::string text = std::string(what) + " " + number(i) + ": " + dtype_name(list[i].dtype) + "[";
    bool is_contiguous = true;
    std::string order;
    for (size_t d = 0; d < list[i].sizes.size(); ++d) {
      text += (d ? ", " : "") + formula(list[i].sizes[d]);
      order += (d ? "," : "") + number(list[i].dim_order[d]);
      is_contiguous = is_contiguous && list[i].dim_order[d] == d;
    }
    line(text + "]" + (is_contiguous ? "" : "{" + order + "}"));
  }
}

void Writer::buffers() {
  for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& each = plan_.buffers[i];
    std::string text = buffer(i) + ": ";
    switch (each.space) {
      case Space::constant: text += "constant " + quoted(each.data); break;
      case Space::state:
        text += "state " + quoted(each.state) + (each.data.empty() ? ", zeros" : ", " + quoted(each.data));
        break;
      case Space::arena: text += "arena + " + number(each.offset); break;
      case Space::input: text += "input " + number(each.index); break;
      case Space::output: text += "output " + number(each.index); break;
    }
    line(text + ", " + number(each.size_bytes) + " bytes" +
         (i == plan_.status_buffer     ? ", status words"
          : i == plan_.counters_buffer ? ", counts of blocks"
                                       : ""));
  }
}

void Writer::code() {
  for (const Module& module : plan_.modules) {
    line("module " + std::string(module.is_ptx ? "ptx " : "sm_") + number(module.architecture) +
         (module.is_exact ? "a " : " ") + quoted(module.data));
  }
  for (size_t i = 0; i < plan_.kernels.size(); ++i) {
    const Kernel& kernel = plan_.kernels[i];
    std::string parameters;
    for (const ParameterKind kind : kernel.parameters) {
      parameters += parameters.empty() ? "" : ", ";
      parameters += kind == ParameterKind::pointer ? "pointer" : kind == ParameterKind::int32 ? "i32" : "i64";
    }
    line("k" + number(i) + ": " + printable(kernel.name) + "(" + parameters + "), block " + number(kernel.block[0]) +
         " x " + number(kernel.block[1]) + " x " + number(kernel.block[2]) +
         (kernel.dynamic_shared_bytes ? ", " + number(kernel.dynamic_shared_bytes) + " bytes shared" : "") +
         (kernel.has_barriers ? ", barriers" : "") + schedule_text(kernel));
  }
}

void Writer::node(size_t index) {
  const PlanNode& node = plan_.nodes[index];
  std::string text = "n" + number(index) + ": ";
  std::string arguments;
  for (const Argument& each : node.arguments) arguments += (arguments.empty() ? "" : ", ") + argument(each);
  switch (node.kind) {
    case NodeKind::launch:
      text += printable(plan_.kernels[node.kernel].name) + "<" + formula(node.grid[0]) + ", " + formula(node.grid[1]) +
              ", " + formula(node.grid[2]) + ">(" + arguments + ")";
      break;
    case NodeKind::copy: text += "copy(" + arguments + ", " + formula(node.size) + " bytes)"; break;
    case NodeKind::fill:
      text += "fill(" + arguments + ", " + formula(node.size) + " bytes, value " + number(node.value) + ")";
      break;
    case NodeKind::choose:
      text += "if (" + arguments + ") up to n" + number(node.first_end) + ", else up to n" + number(node.second_end);
      break;
    case NodeKind::loop:
      text += "up to n" + number(node.first_end) + ", while (" + arguments + ") up to n" + number(node.second_end);
      break;
    case NodeKind::repeat: text += formula(node.size) + " times up to n" + number(node.first_end); break;
  }
  for (size_t i = 0; i < node.after.size(); ++i) text += (i ? ", n" : " after n") + number(node.after[i]);
  if (node.debug_handle != kNone) text += "  # " + number(node.debug_handle);
  line(text);
}

std::string Writer::run() {
  line("plan " + quoted(plan_.method) + " partition " + number(plan_.partition) + " of model " +
       model_text(plan_.model) + ", by " + quoted(plan_.producer) + ", driver " + number(plan_.driver_version) +
       ", arena " + number(plan_.arena_bytes) + " bytes, state " + number(plan_.state_bytes) + " bytes");
  for (const Symbol& symbol : plan_.symbols) {
    line(printable(symbol.name) + ": " + std::to_string(symbol.min) + ".." + std::to_string(symbol.max) + ", size " +
         number(symbol.dim) + " of input " + number(symbol.input));
  }
  for (size_t i = 0; i < plan_.formulas.size(); ++i) {
    if (plan_.formulas[i].size() != 1) line("f" + number(i) + " = " + infix(plan_.formulas[i]));
  }
  interfaces("input", plan_.inputs);
  interfaces("output", plan_.outputs);
  buffers();
  code();
  if (plan_.random_buffer != kNone) {
    line("random b" + number(plan_.random_buffer) + ", " + formula(plan_.random_blocks) + " blocks a call");
  }
  for (size_t i = 0; i < plan_.nodes.size(); ++i) node(i);
  for (size_t i = 0; i < plan_.checks.size(); ++i) {
    line("check " + number(i) + ": " + quoted(plan_.checks[i].message));
  }
  for (const Requirement& each : plan_.requirements) {
    const std::string where =
        each.node == kNone ? "" : "n" + number(each.node) + (each.is_second ? ", second part, " : ", first part, ");
    line(where + "requires " + (each.low == kNone ? "" : formula(each.low) + " <= ") + formula(each.found) +
         (each.high == kNone ? "" : " <= " + formula(each.high)) + ", else " + quoted(each.message));
  }
  return std::move(out_);
}

}  // namespace

std::string model_text(uint64_t model) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; model >>= 4) text[i] = "0123456789abcdef"[model & 15];
  return text;
}

std::string plan_text(const Plan& plan) { return Writer(plan).run(); }

std::string formula_text(const Plan& plan, uint32_t formula) { return Writer(plan).infix(plan.formulas[formula]); }

}  // namespace wick::cuda
