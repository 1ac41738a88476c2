// Checks everything that executing a plan relies on.
#include <algorithm>
#include <set>
#include <utility>

#include "backends/cuda/payload/plan.h"
#include "common/checked.h"

namespace wick::cuda {
namespace {

class Checker {
 public:
  Checker(const Plan& plan, ErrorText* text) : plan_(plan), text_(text) {}

  Error run() {
    if (!numbers() || !interfaces(plan_.inputs, "input") || !interfaces(plan_.outputs, "output") || !symbols() ||
        !requirements() || !buffers() || !status() || !random() || !counters() || !modules() || !kernels()) {
      return Error::InvalidProgram;
    }
    return nodes() ? Error::Ok : Error::InvalidProgram;
  }

 private:
  template <typename... Parts>
  bool wrong(const char* what, size_t index, Parts... parts) {
    if (text_) text_->append("the plan's ", what, " ", static_cast<uint64_t>(index), ": ", parts...);
    return false;
  }
  template <typename... Parts>
  bool wrong_plan(Parts... parts) {
    if (text_) text_->append("the plan: ", parts...);
    return false;
  }

  bool numbers();
  bool interfaces(const std::vector<Interface>& list, const char* what);
  bool symbols();
  bool buffers();
  bool buffer(size_t index, const Buffer& buffer);
  bool state();
  bool arguments();
  bool requirements();
  bool status();
  bool random();
  bool counters();
  bool lies_alone(uint32_t index, const char* what);
  bool modules();
  bool kernels();
  bool nodes();
  bool node(size_t index, const PlanNode& node);
  bool control(size_t index, const PlanNode& node);
  bool launch(size_t index, const PlanNode& node);
  bool transfer(size_t index, const PlanNode& node);
  bool argument(size_t index, size_t number, const Argument& argument, FormulaRange size);
  bool may_overlap(const PlanNode& copy) const;
  bool formula(uint32_t index, int64_t low, int64_t high) const {
    return index < ranges_.size() && ranges_[index].low >= low && ranges_[index].high <= high;
  }

  const Plan& plan_;
  ErrorText* text_;
  std::vector<FormulaRange> ranges_;
  std::vector<uint32_t> parts_;  // for each node, the part of a condition or loop that contains it
};

bool Checker::numbers() {
  for (size_t i = 0; i < plan_.symbols.size(); ++i) {
    const Symbol& symbol = plan_.symbols[i];
    if (symbol.min < 0 || symbol.max < symbol.min || symbol.max > INT32_MAX) {
      return wrong("symbol", i, "its range is ", symbol.min, " to ", symbol.max, ", wanted one within 0 to 2^31 - 1");
    }
  }
  ranges_.resize(plan_.formulas.size());
  for (size_t i = 0; i < plan_.formulas.size(); ++i) {
    const char* found = range_of(plan_.formulas[i], {plan_.symbols.data(), plan_.symbols.size()}, &ranges_[i]);
    if (found) return wrong("formula", i, "it has ", found);
  }
  return true;
}

bool Checker::interfaces(const std::vector<Interface>& list, const char* what) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Interface& tensor = list[i];
    if (dtype_size_bytes(tensor.dtype) == 0) return wrong(what, i, "an unknown dtype");
    const size_t rank = tensor.sizes.size();
    if (rank > kMaxRank) return wrong(what, i, "rank ", static_cast<uint64_t>(rank), ", wanted at most 8");
    std::vector<uint8_t> order = tensor.dim_order;
    std::sort(order.begin(), order.end());
    bool is_permutation = order.size() == rank;
    for (size_t k = 0; is_permutation && k < rank; ++k) is_permutation = order[k] == k;
    if (!is_permutation) return wrong(what, i, "its dim order is no permutation of its dimensions");
    uint64_t bytes = 0;
    if (!upper_bytes({ranges_.data(), ranges_.size()}, tensor, &bytes)) {
      return wrong(what, i, "a size that is no formula or may be negative, or 2^31 elements or more");
    }
  }
  return true;
}

bool Checker::symbols() {
  for (size_t i = 0; i < plan_.symbols.size(); ++i) {
    const Symbol& symbol = plan_.symbols[i];
    if (symbol.input >= plan_.inputs.size() || symbol.dim >= plan_.inputs[symbol.input].sizes.size()) {
      return wrong("symbol", i, "it is no size of an input");
    }
    const Formula& size = plan_.formulas[plan_.inputs[symbol.input].sizes[symbol.dim]];
    if (size.size() != 1 || size[0].op != FormulaOp::symbol || size[0].value != static_cast<int64_t>(i)) {
      return wrong("symbol", i, "it is size ", symbol.dim, " of input ", symbol.input,
                   ", whose formula is another one");
    }
  }
  return true;
}

bool Checker::buffer(size_t i, const Buffer& buffer) {
  if (buffer.space > Space::output) return wrong("buffer", i, "an unknown space");
  if (buffer.size_bytes > kMaxBytes) return wrong("buffer", i, buffer.size_bytes, " bytes, wanted at most 2^46");
  const bool is_argument = buffer.space == Space::input || buffer.space == Space::output;
  if (buffer.space == Space::arena) {
    if (buffer.offset % kBufferAlignment != 0) {
      return wrong("buffer", i, "offset ", buffer.offset, ", wanted a multiple of 256");
    }
    if (!range_fits(buffer.offset, buffer.size_bytes, plan_.arena_bytes)) {
      return wrong("buffer", i, buffer.size_bytes, " bytes at offset ", buffer.offset, " of an arena of ",
                   plan_.arena_bytes);
    }
  } else if (buffer.offset != 0) {
    return wrong("buffer", i, "it has an offset outside the arena");
  }
  if (!is_argument && buffer.index != 0) return wrong("buffer", i, "it has an index and is no argument");
  if ((buffer.space == Space::constant) == buffer.data.empty() && buffer.space != Space::state) {
    return wrong("buffer", i, buffer.data.empty() ? "a constant without data" : "data that nothing reads");
  }
  if ((buffer.space == Space::state) == buffer.state.empty()) {
    return wrong("buffer", i, buffer.state.empty() ? "a state without a name" : "it has a name and is no state");
  }
  if (!is_argument) return true;
  const std::vector<Interface>& list = buffer.space == Space::input ? plan_.inputs : plan_.outputs;
  if (buffer.index >= list.size()) return wrong("buffer", i, "argument ", buffer.index, " does not exist");
  uint64_t bytes = 0;
  (void)upper_bytes({ranges_.data(), ranges_.size()}, list[buffer.index], &bytes);  // checked above
  if (bytes != buffer.size_bytes) {
    return wrong("buffer", i, buffer.size_bytes, " bytes, wanted ", bytes, " as the argument has");
  }
  return true;
}

bool Checker::buffers() {
  if (plan_.arena_bytes > kMaxBytes)
    return wrong_plan("an arena of ", plan_.arena_bytes, " bytes, wanted at most 2^46");
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (!buffer(i, plan_.buffers[i])) return false;
  }
  return arguments() && state();
}

bool Checker::arguments() {
  std::vector<bool> inputs(plan_.inputs.size()), outputs(plan_.outputs.size());
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.space != Space::input && buffer.space != Space::output) continue;
    std::vector<bool>& has_buffer = buffer.space == Space::input ? inputs : outputs;
    if (has_buffer[buffer.index]) return wrong("buffer", i, "an argument that another buffer is already");
    has_buffer[buffer.index] = true;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) return wrong("output", i, "it has no buffer");
  }
  return true;
}

bool Checker::state() {
  uint64_t bytes = 0;
  std::set<std::string> names;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.space != Space::state) continue;
    if (!names.insert(buffer.state).second) return wrong("buffer", i, "a state that another buffer is already");
    bytes += (buffer.size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    if (bytes > kMaxBytes) return wrong_plan("more than 2^46 bytes of state");
  }
  if (bytes != plan_.state_bytes) {
    return wrong_plan("state_bytes is ", plan_.state_bytes, ", wanted ", bytes, ", what its buffers take");
  }
  return true;
}

bool Checker::requirements() {
  for (size_t i = 0; i < plan_.requirements.size(); ++i) {
    const Requirement& each = plan_.requirements[i];
    const auto is_bound = [&](uint32_t index) { return index == kNone || index < ranges_.size(); };
    if (each.found >= ranges_.size() || !is_bound(each.low) || !is_bound(each.high)) {
      return wrong("requirement", i, "its number or a bound is no formula");
    }
    if (each.low == kNone && each.high == kNone) return wrong("requirement", i, "it has no bounds");
    const bool is_of_part = each.node != kNone;
    if (is_of_part && (each.node >= plan_.nodes.size() || !is_control(plan_.nodes[each.node].kind))) {
      return wrong("requirement", i, "its node is no condition or loop");
    }
    if (each.is_second && (!is_of_part || plan_.nodes[each.node].kind == NodeKind::repeat)) {
      return wrong("requirement", i, "it belongs to a part that its node does not have");
    }
  }
  return true;
}

bool Checker::status() {
  if (plan_.checks.empty() != (plan_.status_buffer == kNone)) {
    return wrong_plan(plan_.checks.empty() ? "status words without checks" : "checks without status words");
  }
  if (plan_.checks.empty()) return true;
  if (plan_.status_buffer >= plan_.buffers.size()) return wrong_plan("its status words lie in no buffer");
  const Buffer& words = plan_.buffers[plan_.status_buffer];
  const uint64_t wanted = (uint64_t{plan_.checks.size()} + 31) / 32 * sizeof(uint32_t);
  if (words.space != Space::arena || words.size_bytes != wanted) {
    return wrong_plan("its status words are not ", wanted, " bytes of the arena");
  }
  return lies_alone(plan_.status_buffer, "the status words");
}

// Whether an arena buffer shares no byte with other buffers.
bool Checker::lies_alone(uint32_t index, const char* what) {
  const Buffer& words = plan_.buffers[index];
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& other = plan_.buffers[i];
    if (i == index || other.space != Space::arena) continue;
    if (other.offset < words.offset + words.size_bytes && words.offset < other.offset + other.size_bytes) {
      return wrong("buffer", i, "it lies over ", what);
    }
  }
  return true;
}

bool Checker::random() {
  if ((plan_.random_buffer == kNone) != (plan_.random_blocks == kNone)) {
    return wrong_plan("random numbers without ", plan_.random_buffer == kNone ? "a buffer" : "a number of blocks");
  }
  if (plan_.random_buffer == kNone) return true;
  if (plan_.random_buffer >= plan_.buffers.size() || plan_.random_buffer == plan_.status_buffer) {
    return wrong_plan("the state of its random numbers lies in no buffer");
  }
  const Buffer& words = plan_.buffers[plan_.random_buffer];
  if (words.space != Space::arena || words.size_bytes != kRandomBytes) {
    return wrong_plan("the state of its random numbers is not ", kRandomBytes, " bytes of the arena");
  }
  if (!formula(plan_.random_blocks, 0, INT64_MAX)) {
    return wrong_plan("how many random numbers it draws is no formula or may be negative");
  }
  return lies_alone(plan_.random_buffer, "the state of the random numbers");
}

bool Checker::counters() {
  if (plan_.counters_buffer == kNone) return true;
  if (plan_.counters_buffer >= plan_.buffers.size() || plan_.counters_buffer == plan_.status_buffer ||
      plan_.counters_buffer == plan_.random_buffer) {
    return wrong_plan("its counts of blocks lie in no buffer");
  }
  const Buffer& words = plan_.buffers[plan_.counters_buffer];
  if (words.space != Space::arena || words.size_bytes % sizeof(uint32_t) != 0) {
    return wrong_plan("its counts of blocks are not words of 4 bytes of the arena");
  }
  return lies_alone(plan_.counters_buffer, "the counts of blocks");
}

bool Checker::modules() {
  std::set<std::array<uint32_t, 3>> known;
  for (size_t i = 0; i < plan_.modules.size(); ++i) {
    const Module& module = plan_.modules[i];
    if (module.architecture < 50 || module.architecture > 255) {
      return wrong("module", i, "architecture ", module.architecture, ", wanted 50 to 255");
    }
    if (module.data.empty()) return wrong("module", i, "it has no data");
    if (module.is_ptx && module.is_exact) return wrong("module", i, "PTX for one capability alone");
    if (!known.insert({module.architecture, module.is_ptx, module.is_exact}).second) {
      return wrong("module", i, "an architecture that another module is for already");
    }
  }
  return true;
}

bool Checker::kernels() {
  if (!plan_.kernels.empty() && plan_.modules.empty()) return wrong_plan("kernels without a module");
  for (size_t i = 0; i < plan_.kernels.size(); ++i) {
    const Kernel& kernel = plan_.kernels[i];
    if (kernel.name.empty() || kernel.name.find('\0') != std::string::npos) return wrong("kernel", i, "it has no name");
    const uint64_t x = kernel.block[0], y = kernel.block[1], z = kernel.block[2];
    if (x == 0 || y == 0 || z == 0 || x > kMaxBlockThreads || y > kMaxBlockThreads || z > kMaxBlockDepth ||
        x * y * z > kMaxBlockThreads) {
      return wrong("kernel", i, "a block of ", x, " x ", y, " x ", z, " threads, wanted 1 to 1024, and 64 in z");
    }
    if (kernel.dynamic_shared_bytes > kMaxSharedBytes) {
      return wrong("kernel", i, kernel.dynamic_shared_bytes, " bytes of shared memory, wanted at most ",
                   kMaxSharedBytes);
    }
    if (kernel.arithmetic > Arithmetic::matrix_warpgroup) return wrong("kernel", i, "arithmetic of an unknown kind");
    uint64_t bytes = 0;
    for (const ParameterKind kind : kernel.parameters) {
      if (kind > ParameterKind::int64) return wrong("kernel", i, "a parameter of an unknown kind");
      const uint64_t size = kind == ParameterKind::int32 ? 4 : 8;
      bytes = (bytes + size - 1) / size * size + size;
    }
    if (bytes > kMaxParameterBytes) {
      return wrong("kernel", i, bytes, " bytes of parameters, wanted at most ", kMaxParameterBytes);
    }
  }
  return true;
}

// `size`: the range of the bytes that a copy or fill accesses; {0, 0} for a kernel, whose accesses are not checked.
bool Checker::argument(size_t index, size_t number, const Argument& argument, FormulaRange size) {
  const auto bad = [&](auto... parts) {
    return wrong("node", index, "argument ", static_cast<uint64_t>(number), ": ", parts...);
  };
  if (argument.kind != ParameterKind::pointer && (argument.offset != kNone || argument.writes)) {
    return bad("a number with an offset, or one that is written");
  }
  if (argument.kind == ParameterKind::int64) return formula(argument.index, INT64_MIN, INT64_MAX) || bad("no formula");
  if (argument.kind == ParameterKind::int32) {
    return formula(argument.index, INT32_MIN, INT32_MAX) || bad("no formula, or one that int32 does not hold");
  }
  if (argument.kind != ParameterKind::pointer) return bad("an unknown kind");
  if (argument.index >= plan_.buffers.size()) return bad("no buffer");
  const Buffer& buffer = plan_.buffers[argument.index];
  if (argument.writes && (buffer.space == Space::constant || buffer.space == Space::input)) {
    return bad("it writes to ", buffer.space == Space::constant ? "a constant" : "an input");
  }
  if (argument.writes && argument.index == plan_.random_buffer) return bad("it writes to the random numbers' state");
  if (argument.index == plan_.counters_buffer && plan_.nodes[index].kind != NodeKind::launch) {
    return bad("counts of blocks, which only kernels read and write");
  }
  FormulaRange end = size;
  if (argument.offset != kNone) {
    if (!formula(argument.offset, 0, INT64_MAX)) return bad("an offset that is no formula or may be negative");
    if (!checked_add(end.high, ranges_[argument.offset].high, &end.high)) return bad("an offset that overflows");
  }
  if (static_cast<uint64_t>(end.high) <= buffer.size_bytes) return true;
  return bad("it may reach byte ", end.high, " of a buffer of ", buffer.size_bytes);
}

bool Checker::launch(size_t index, const PlanNode& node) {
  if (node.kernel >= plan_.kernels.size()) return wrong("node", index, "no kernel");
  const Kernel& kernel = plan_.kernels[node.kernel];
  for (size_t k = 0; k < node.grid.size(); ++k) {
    if (!formula(node.grid[k], 0, k == 0 ? kMaxGridX : kMaxGridYZ)) {
      return wrong("node", index, "a grid of more blocks than a device takes, or of fewer than 0");
    }
  }
  if (node.size != kNone || node.value != 0) return wrong("node", index, "a launch with a size or a value");
  if (node.arguments.size() != kernel.parameters.size()) {
    return wrong("node", index, static_cast<uint64_t>(node.arguments.size()), " arguments, wanted ",
                 static_cast<uint64_t>(kernel.parameters.size()));
  }
  for (size_t k = 0; k < node.arguments.size(); ++k) {
    if (node.arguments[k].kind != kernel.parameters[k]) {
      return wrong("node", index, "argument ", static_cast<uint64_t>(k), " is of another kind than the parameter");
    }
    if (!argument(index, k, node.arguments[k], {})) return false;
  }
  return true;
}

bool Checker::transfer(size_t index, const PlanNode& node) {
  if (node.kernel != 0 || node.grid != std::array<uint32_t, 3>{}) {
    return wrong("node", index, "a copy or fill with a kernel or a grid");
  }
  if (node.arguments.size() != (node.kind == NodeKind::copy ? 2 : 1)) {
    return wrong("node", index, "another number of arguments than a copy or fill has");
  }
  if (!formula(node.size, 0, INT64_MAX)) return wrong("node", index, "a size that is no formula or may be negative");
  if (node.kind == NodeKind::copy && node.value != 0) return wrong("node", index, "a copy with a value");
  for (size_t k = 0; k < node.arguments.size(); ++k) {
    const Argument& each = node.arguments[k];
    if (each.kind != ParameterKind::pointer || each.writes != (k == 0)) {
      return wrong("node", index, "a copy or fill writes to its first argument, a pointer, and reads a pointer");
    }
    if (!argument(index, k, each, ranges_[node.size])) return false;
  }
  if (node.kind == NodeKind::copy && may_overlap(node)) return wrong("node", index, "a copy may overlap what it reads");
  return true;
}

// Decided by bounds of both ranges of bytes, so that calls need no check. Offsets and sizes are within their buffers.
bool Checker::may_overlap(const PlanNode& copy) const {
  const int64_t size = ranges_[copy.size].high;
  const Argument &to = copy.arguments[0], &from = copy.arguments[1];
  const Buffer &to_buffer = plan_.buffers[to.index], &from_buffer = plan_.buffers[from.index];
  const bool share_memory = to_buffer.space == Space::arena && from_buffer.space == Space::arena;
  if (size == 0 || (to.index != from.index && !share_memory)) return false;
  // The range of the first byte, counted in the memory that both share.
  const auto begins = [&](const Argument& end, const Buffer& buffer) {
    const FormulaRange offset = end.offset == kNone ? FormulaRange{} : ranges_[end.offset];
    const int64_t begin = static_cast<int64_t>(buffer.offset);
    return FormulaRange{begin + offset.low, begin + offset.high};
  };
  const FormulaRange a = begins(to, to_buffer), b = begins(from, from_buffer);
  return a.low < b.high + size && b.low < a.high + size;
}

bool Checker::control(size_t index, const PlanNode& node) {
  if (node.kernel != 0 || node.grid != std::array<uint32_t, 3>{} || node.value != 0) {
    return wrong("node", index, "a condition or loop with a kernel, a grid or a value");
  }
  if (node.kind == NodeKind::repeat) {
    if (!node.arguments.empty() || node.second_end != node.first_end) {
      return wrong("node", index, "a loop of known length with arguments or a second part");
    }
    return formula(node.size, 0, INT32_MAX) ||
           wrong("node", index, "a number of rounds that is no formula, or not in 0 to 2^31 - 1");
  }
  if (node.size != kNone) return wrong("node", index, "a condition with a size");
  if (node.arguments.size() != 1 || node.arguments[0].kind != ParameterKind::pointer || node.arguments[0].writes) {
    return wrong("node", index, "a condition has one argument, a pointer, and only reads it");
  }
  return argument(index, 0, node.arguments[0], {1, 1});
}

// Checks the nodes in order, and the parts that they belong to.
bool Checker::nodes() {
  struct Part {
    size_t end, depth;
    uint32_t number;
  };
  std::vector<Part> open = {{plan_.nodes.size(), 0, 0}};
  uint32_t count = 1;
  for (size_t i = 0; i < plan_.nodes.size(); ++i) {
    while (open.back().end == i) open.pop_back();
    const Part part = open.back();
    const PlanNode& each = plan_.nodes[i];
    parts_.push_back(part.number);
    if (!node(i, each)) return false;
    if (!is_control(each.kind)) continue;
    if (each.first_end <= i || each.second_end < each.first_end || each.second_end > part.end) {
      return wrong("node", i, "its parts end at nodes ", each.first_end, " and ", each.second_end,
                   ", wanted later ones up to ", static_cast<uint64_t>(part.end));
    }
    if (part.depth == kMaxNesting) return wrong("node", i, "conditions and loops are nested too deeply, more than 16");
    open.push_back({each.second_end, part.depth + 1, count++});
    open.push_back({each.first_end, part.depth + 1, count++});
  }
  return true;
}

bool Checker::node(size_t index, const PlanNode& node) {
  if (node.kind > NodeKind::repeat) return wrong("node", index, "an unknown kind");
  if (!is_control(node.kind) && (node.first_end != 0 || node.second_end != 0)) {
    return wrong("node", index, "it has parts and is no condition or loop");
  }
  for (size_t k = 0; k < node.after.size(); ++k) {
    if (node.after[k] >= index) return wrong("node", index, "it waits for node ", node.after[k], ", which comes later");
    if (k != 0 && node.after[k] <= node.after[k - 1]) {
      return wrong("node", index, "the nodes that it waits for are not in ascending order");
    }
    if (parts_[node.after[k]] != parts_[index]) {
      return wrong("node", index, "it waits for node ", node.after[k], " of another part of a condition or loop");
    }
  }
  if (is_control(node.kind)) return control(index, node);
  return node.kind == NodeKind::launch ? launch(index, node) : transfer(index, node);
}

}  // namespace

Error check_plan(const Plan& plan, ErrorText* text) { return Checker(plan, text).run(); }

}  // namespace wick::cuda
