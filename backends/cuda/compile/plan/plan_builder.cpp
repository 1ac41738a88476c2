#include "backends/cuda/compile/plan/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "backends/cuda/compile/control/plan_control.h"
#include "backends/cuda/compile/kernel/kernel_work.h"
#include "backends/cuda/compile/kernel/loop_text.h"
#include "backends/cuda/compile/sizes/formula_of.h"
#include "common/version.h"
#include "compiler/support/content_hash.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::Graph;
using compiler::SymScope;

namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

// The range of memory that a launch touches.
struct Touched {
  Space space;
  uint64_t begin, end;  // within the space; for inputs, outputs and states: their number
  bool writes;
  uint32_t in_parts = kNone;  // the buffer, if launches write different parts of it
};

class PlanBuilder {
 public:
  PlanBuilder(LoweredGraph& lowered, const Graph& graph) : lowered_(lowered), graph_(graph) {}

  BuiltPlan run() {
    plan().producer = fmt::format("wick {}", kVersion);
    collect_symbols_of_inputs();
    for (const compiler::GraphInput& input : graph_.inputs) plan().inputs.push_back(interface(*input.value));
    for (size_t i = 0; i < plan().symbols.size(); ++i) {
      const Symbol& symbol = plan().symbols[i];
      plan().inputs[symbol.input].sizes[symbol.dim] = add_formula({{FormulaOp::symbol, static_cast<int64_t>(i)}});
    }
    for (const compiler::GraphOutput& output : graph_.outputs) plan().outputs.push_back(interface(*output.value));
    for (const LoopKernel& kernel : lowered_.kernels) sources_.push_back(write_kernel(lowered_, kernel));
    place_buffers();
    add_nodes();
    for (const std::string& message : lowered_.checks) plan().checks.push_back({message});
    add_requirements();
    add_dependencies();
    for (uint32_t i = 0; i < lowered_.buffers.size(); ++i) {
      if (lowered_.buffers[i].in_parts) built_.in_parts.insert(i);
    }
    built_.in_parts.insert({plan().status_buffer, plan().counters_buffer});
    for (const compiler::Node* node : lowered_.views) built_.views.push_back(name_of(*node));
    return std::move(built_);
  }

 private:
  Plan& plan() { return built_.plan; }

  // The value of a symbol follows from the size of an input that is the symbol itself, or factor * symbol + term.
  void collect_symbols_of_inputs() {
    for (const bool lone : {true, false}) {
      for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const compiler::Sizes& sizes = graph_.inputs[i].value->sizes();
        for (size_t dim = 0; dim < sizes.size(); ++dim) {
          if (!sizes[dim].is_const() && sizes[dim].symbol_name().empty() != lone) add_symbol(sizes[dim], i, dim);
        }
      }
    }
  }
  void add_symbol(const Sym& size, size_t input, size_t dim) {
    const auto linear = linear_size(size);
    if (!linear || symbols_.count(linear->symbol)) return;
    const auto number = static_cast<int64_t>(plan().symbols.size());
    const compiler::SymRange range = SymScope::range(size);
    plan().symbols.push_back({size.text(), std::max<int64_t>(range.min, 0), range.max, static_cast<uint32_t>(input),
                              static_cast<uint32_t>(dim)});
    Formula& value = symbols_[linear->symbol];
    value = {{FormulaOp::symbol, number}};
    if (linear->factor != 1) multiples_.push_back(number);
    if (linear->factor == 1 && linear->term == 0) return;
    value.insert(value.end(), {{FormulaOp::constant, -linear->term}, {FormulaOp::add, 0}});
    value.insert(value.end(), {{FormulaOp::constant, linear->factor}, {FormulaOp::floor_divide, 0}});
  }

  uint32_t formula(const Sym& sym) { return add_formula(formula_of(sym, symbols_)); }
  uint32_t add_formula(const Formula& made) {
    std::vector<std::pair<int, int64_t>> key;
    for (const FormulaStep& step : made) key.emplace_back(static_cast<int>(step.op), step.value);
    const auto [known, fresh] = formulas_.try_emplace(std::move(key), static_cast<uint32_t>(plan().formulas.size()));
    if (fresh) plan().formulas.push_back(made);
    return known->second;
  }

  Interface interface(const compiler::Value& value) {
    Interface out;
    out.dtype = value.dtype();
    for (size_t i = 0; i < value.rank(); ++i) {
      // The program checks its sizes, but a plan must not rely on that.
      out.sizes.push_back(formula(sym_max(value.sizes()[i], 0)));
      out.dim_order.push_back(static_cast<uint8_t>(i));
    }
    return out;
  }

  // If several layers have the same requirement, only the first one's message is kept.
  void add_requirements() {
    for (const size_t i : multiples_) {
      const Symbol& symbol = plan().symbols[i];
      Requirement made;
      made.found = add_formula({{FormulaOp::symbol, static_cast<int64_t>(i)}});
      made.low = made.high = formula(graph_.inputs[symbol.input].value->sizes()[symbol.dim]);
      made.message = fmt::format("size {} of input {} of the delegate is no {}", symbol.dim, symbol.input, symbol.name);
      plan().requirements.push_back(std::move(made));
    }
    std::set<std::array<uint32_t, 5>> known;
    for (const auto& [sizes, message, mark] : lowered_.requirements) {
      Requirement made;
      if (mark != SIZE_MAX) std::tie(made.node, made.is_second) = part_at_[mark];
      made.found = formula(sizes.found);
      if (sizes.low) made.low = formula(*sizes.low);
      if (sizes.high) made.high = formula(*sizes.high);
      made.message = message;
      if (known.insert({made.found, made.low, made.high, made.node, made.is_second}).second)
        plan().requirements.push_back(std::move(made));
    }
  }

  uint64_t bytes_of(const KernelBuffer& buffer) const {
    const int64_t elements = SymScope::range(buffer.elements).max;
    if (elements == compiler::kUnbounded)
      compiler::fail(compiler::Code::unsupported_model, "cuda: a tensor's size has no upper bound");
    return static_cast<uint64_t>(elements) * dtype_size_bytes(buffer.dtype);
  }

  uint64_t bytes_of(const Interface& tensor) {
    std::vector<FormulaRange> ranges(plan().formulas.size());
    for (size_t i = 0; i < ranges.size(); ++i)
      (void)range_of(plan().formulas[i], {plan().symbols.data(), plan().symbols.size()}, &ranges[i]);
    uint64_t bytes = 0;
    (void)upper_bytes({ranges.data(), ranges.size()}, tensor, &bytes);  // check_plan() finds what is wrong
    return bytes;
  }

  std::vector<Life> find_lives() const {
    std::vector<Life> lives(lowered_.buffers.size());
    for (size_t k = 0; k < sources_.size(); ++k) {
      for (const KernelParameter& parameter : sources_[k].parameters) {
        if (parameter.kind != KernelParameter::Kind::buffer) continue;
        lives[parameter.buffer].add(k);
      }
    }
    extend_lives(lowered_.marks, lives);
    return lives;
  }

  // Largest buffers first, each at the lowest offset at which it overlaps no buffer that is in use at the same time.
  void place_in_arena(std::vector<uint32_t> in_arena, const std::vector<Life>& lives) {
    std::sort(in_arena.begin(), in_arena.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(plan().buffers[b].size_bytes, a) < std::pair(plan().buffers[a].size_bytes, b);
    });
    std::vector<uint32_t> placed;
    for (const uint32_t i : in_arena) {
      const uint64_t size = aligned(plan().buffers[i].size_bytes);
      std::vector<std::pair<uint64_t, uint64_t>> taken;
      for (const uint32_t other : placed) {
        if (lives[other].last < lives[i].first || lives[i].last < lives[other].first) continue;
        taken.emplace_back(plan().buffers[other].offset,
                           plan().buffers[other].offset + aligned(plan().buffers[other].size_bytes));
      }
      std::sort(taken.begin(), taken.end());
      uint64_t offset = 0;
      for (const auto& [begin, end] : taken) {
        if (offset + size <= begin) break;
        offset = std::max(offset, end);
      }
      plan().buffers[i].offset = offset;
      plan().arena_bytes = std::max(plan().arena_bytes, offset + size);
      placed.push_back(i);
    }
  }

  // A buffer whose bytes nobody reads or writes, such as an input of which only the sizes are used.
  static bool is_without_bytes(const KernelBuffer& buffer, const Life& life) {
    using Kind = KernelBuffer::Kind;
    const bool is_given = buffer.kind == Kind::input || buffer.kind == Kind::constant || buffer.kind == Kind::state;
    return is_given && life.first == SIZE_MAX;
  }

  void place_buffers() {
    const std::vector<Life> lives = find_lives();
    std::vector<uint32_t> in_arena;
    for (uint32_t i = 0; i < lowered_.buffers.size(); ++i) {
      const KernelBuffer& buffer = lowered_.buffers[i];
      Buffer placed;
      if (is_without_bytes(buffer, lives[i])) {
        plan().buffers.push_back(placed);  // so that the others keep their numbers
        continue;
      }
      placed.size_bytes = bytes_of(buffer);
      placed.index = buffer.index;
      switch (buffer.kind) {
        case KernelBuffer::Kind::input:
          placed.space = Space::input;
          placed.size_bytes = bytes_of(plan().inputs[buffer.index]);
          break;
        case KernelBuffer::Kind::output:
          placed.space = Space::output;
          placed.size_bytes = bytes_of(plan().outputs[buffer.index]);
          break;
        case KernelBuffer::Kind::constant:
          placed.space = Space::constant;
          placed.data = constant_key(buffer.constant);
          break;
        case KernelBuffer::Kind::state:
          placed.space = Space::state;
          placed.state = buffer.state;
          if (!buffer.constant.empty()) placed.data = constant_key(buffer.constant);
          plan().state_bytes += aligned(placed.size_bytes);
          break;
        case KernelBuffer::Kind::random:
          placed.space = Space::arena;
          placed.size_bytes = kRandomBytes;
          break;
        case KernelBuffer::Kind::arena:
          placed.space = Space::arena;
          if (lives[i].first != SIZE_MAX) in_arena.push_back(i);
          break;
      }
      plan().buffers.push_back(std::move(placed));
    }
    place_in_arena(std::move(in_arena), lives);
    if (lowered_.random != kNone) place_random();
    if (!lowered_.checks.empty()) plan().status_buffer = add_words((lowered_.checks.size() + 31) / 32);
    uint64_t counters = 0;
    for (const KernelSource& source : sources_) {
      first_counter_.push_back(counters);
      counters += static_cast<uint64_t>(SymScope::range(source.counters).max);
    }
    if (counters > 0) plan().counters_buffer = add_words(counters);
  }

  // At the end of the arena: it lives as long as the call.
  void place_random() {
    plan().random_buffer = lowered_.random;
    plan().buffers[lowered_.random].offset = plan().arena_bytes;
    plan().arena_bytes += aligned(kRandomBytes);
    Sym blocks = 0;
    for (const Sym& each : lowered_.random_blocks) blocks = blocks + each;
    plan().random_blocks = formula(blocks);
  }

  // Adds a buffer of u32 numbers that lives as long as the call.
  uint32_t add_words(uint64_t count) {
    Buffer words;
    words.space = Space::arena;
    words.size_bytes = count * 4;
    words.offset = plan().arena_bytes;
    plan().arena_bytes += aligned(words.size_bytes);
    plan().buffers.push_back(std::move(words));
    return static_cast<uint32_t>(plan().buffers.size() - 1);
  }

  std::string constant_key(const compiler::ConstantData& data) {
    built_.constants.push_back(data);
    return fmt::format("{:016x}-{}", data.hash(), data.size_bytes());
  }

  uint32_t kernel_of(const KernelSource& source, const KernelWork& work) {
    const std::string text = source.parameters_text + "\n" + source.body;
    const auto [known, fresh] = kernels_.try_emplace(text, static_cast<uint32_t>(plan().kernels.size()));
    if (!fresh) return known->second;
    NamedKernel named;
    const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    named.name = fmt::format("{}_{:08x}", source.label, static_cast<uint32_t>(compiler::content_hash(bytes)));
    named.parameters = source.parameters_text;
    named.body = source.body;
    named.threads = source.schedule.threads;
    named.has_barriers = source.has_barriers;
    Kernel kernel;
    kernel.name = named.name;
    kernel.schedule = schedule_text(source.schedule);
    kernel.arithmetic = work.uses_f64 ? Arithmetic::f64 : arithmetic_of(source.schedule);
    kernel.block = {source.schedule.threads, 1, 1};
    kernel.has_barriers = source.has_barriers;
    kernel.dynamic_shared_bytes = source.dynamic_shared_bytes;
    for (const KernelParameter& parameter : source.parameters) {
      const bool is_number =
          parameter.kind == KernelParameter::Kind::size || parameter.kind == KernelParameter::Kind::check;
      kernel.parameters.push_back(is_number ? ParameterKind::int64 : ParameterKind::pointer);
    }
    plan().kernels.push_back(std::move(kernel));
    built_.kernels.push_back(std::move(named));
    return known->second;
  }

  void add_launch(const KernelSource& source, uint64_t first_counter, const LoopKernel& loops) {
    PlanNode node;
    const KernelWork work = work_of(lowered_, loops);
    node.flops = work.flops;
    node.read_bytes = work.read_bytes;
    node.written_bytes = work.written_bytes;
    node.kernel = kernel_of(source, work);
    for (size_t i = 0; i < 3; ++i) node.grid[i] = formula(sym_max(source.grid[i], 0));
    for (const KernelParameter& parameter : source.parameters) {
      Argument argument;
      switch (parameter.kind) {
        case KernelParameter::Kind::buffer:
          argument.index = parameter.buffer;
          argument.writes = parameter.writes;
          break;
        case KernelParameter::Kind::status:
          argument.index = plan().status_buffer;
          argument.writes = true;
          break;
        case KernelParameter::Kind::counters:
          argument.index = plan().counters_buffer;
          argument.offset = formula(Sym(static_cast<int64_t>(4 * first_counter)));
          argument.writes = true;
          break;
        case KernelParameter::Kind::check:
          argument.kind = ParameterKind::int64;
          argument.index = formula(Sym(int64_t{parameter.buffer}));
          break;
        case KernelParameter::Kind::size:
          argument.kind = ParameterKind::int64;
          argument.index = formula(Sym::symbol(parameter.size));
          break;
      }
      node.arguments.push_back(argument);
    }
    if (!loops.nodes.empty()) {
      node.debug_handle = static_cast<uint32_t>(built_.node_of_handle.size());
      built_.node_of_handle.push_back(loops.nodes[0]);
    }
    plan().nodes.push_back(std::move(node));
    StepNotes notes;
    for (const compiler::Node* each : loops.nodes) notes.nodes.push_back(name_of(*each));
    for (const compiler::Node* each : loops.inlined) notes.inlined.push_back(name_of(*each));
    notes.why = loops.why;
    for (const auto& [buffer, bytes] : work.written) {
      if (lowered_.buffers[buffer].kind == KernelBuffer::Kind::state)
        notes.state_bytes.emplace_back(lowered_.buffers[buffer].state, bytes);
    }
    built_.notes.push_back(std::move(notes));
  }

  // The launches, and the conditions and loops around them.
  void add_nodes() {
    size_t m = 0;
    for (size_t k = 0; k <= sources_.size(); ++k) {
      for (; m < lowered_.marks.size() && lowered_.marks[m].at == k; ++m) add_mark(m);
      if (k < sources_.size()) add_launch(sources_[k], first_counter_[k], lowered_.kernels[k]);
    }
  }

  void add_mark(size_t index) {
    using Kind = ControlMark::Kind;
    const ControlMark& mark = lowered_.marks[index];
    const auto here = static_cast<uint32_t>(plan().nodes.size());
    const bool begins = mark.kind == Kind::choose || mark.kind == Kind::loop || mark.kind == Kind::repeat;
    if (begins) {
      open_.push_back(here);
      PlanNode node;
      node.kind = mark.kind == Kind::choose ? NodeKind::choose
                  : mark.kind == Kind::loop ? NodeKind::loop
                                            : NodeKind::repeat;
      if (mark.kind == Kind::repeat) node.size = formula(sym_max(mark.rounds, 0));
      node.debug_handle = static_cast<uint32_t>(built_.node_of_handle.size());
      built_.node_of_handle.push_back(mark.node);
      plan().nodes.push_back(std::move(node));
      built_.notes.push_back({{name_of(*mark.node)}, {}, "the host reads its condition, or counts its rounds", {}});
    }
    part_at_[index] = {open_.back(), mark.kind == Kind::otherwise || mark.kind == Kind::body};
    PlanNode& node = plan().nodes[open_.back()];
    if (mark.kind == Kind::choose || mark.kind == Kind::body) {
      Argument condition;
      condition.index = mark.condition;
      node.arguments = {condition};
    }
    if (mark.kind == Kind::otherwise || mark.kind == Kind::body) node.first_end = here;
    if (mark.kind == Kind::end) {
      node.second_end = here;
      if (node.kind == NodeKind::repeat) node.first_end = here;
      open_.pop_back();
    }
  }

  std::vector<Touched> touched_by(const PlanNode& node) {
    std::vector<Touched> out;
    for (const Argument& argument : node.arguments) {
      if (argument.kind != ParameterKind::pointer) continue;
      const Buffer& buffer = plan().buffers[argument.index];
      if (buffer.space == Space::constant) continue;
      const bool is_state = buffer.space == Space::state;
      const bool numbered = buffer.space == Space::input || buffer.space == Space::output || is_state;
      const uint64_t begin = is_state ? argument.index : numbered ? buffer.index : buffer.offset;
      // Launches only set bits of the status, in any order, and each has its own counters.
      const bool shared = argument.index == plan().status_buffer || argument.index == plan().counters_buffer;
      const bool writes = argument.writes && !shared;
      const bool in_parts = argument.index < lowered_.buffers.size() && lowered_.buffers[argument.index].in_parts;
      out.push_back({buffer.space, begin, numbered ? begin + 1 : begin + std::max<uint64_t>(buffer.size_bytes, 1),
                     writes, in_parts ? argument.index : kNone});
    }
    return out;
  }

  // A node comes after the earlier nodes whose memory it shares, if one of the two writes it. Dependencies that others
  // imply are not listed.
  void add_dependencies() {
    std::vector<std::vector<Touched>> touched;
    std::vector<std::vector<bool>> before;  // before[j][i]: i is done when j begins
    for (const PlanNode& node : plan().nodes) touched.push_back(touched_by(node));
    // The memory that is touched inside a condition or loop counts as touched by it.
    for (size_t i = touched.size(); i-- > 0;) {
      for (size_t k = i + 1; k < plan().nodes[i].second_end; ++k)
        touched[i].insert(touched[i].end(), touched[k].begin(), touched[k].end());
    }
    const std::vector<uint32_t> parts = parts_of(plan().nodes);
    for (size_t j = 0; j < plan().nodes.size(); ++j) {
      before.emplace_back(j, false);
      for (size_t i = j; i-- > 0;) {
        if (parts[i] != parts[j] || before[j][i] || !conflict(touched[i], touched[j])) continue;
        plan().nodes[j].after.push_back(static_cast<uint32_t>(i));
        before[j][i] = true;
        for (size_t k = 0; k < i; ++k) before[j][k] = before[j][k] || before[i][k];
      }
      std::sort(plan().nodes[j].after.begin(), plan().nodes[j].after.end());
    }
  }
  static bool conflict(const std::vector<Touched>& a, const std::vector<Touched>& b) {
    for (const Touched& x : a) {
      for (const Touched& y : b) {
        if (x.writes && y.writes && x.in_parts != kNone && x.in_parts == y.in_parts) continue;
        if (x.space == y.space && (x.writes || y.writes) && x.begin < y.end && y.begin < x.end) return true;
      }
    }
    return false;
  }

  LoweredGraph& lowered_;
  const Graph& graph_;
  BuiltPlan built_;
  std::vector<KernelSource> sources_;
  std::vector<uint64_t> first_counter_;                  // of each source
  std::vector<uint32_t> open_;                           // conditions and loops
  std::map<size_t, std::pair<uint32_t, bool>> part_at_;  // by mark: the node, and whether it is its second part
  SymbolFormulas symbols_;
  std::vector<size_t> multiples_;  // symbols of the plan; those of the graph follow from them by a division
  std::map<std::vector<std::pair<int, int64_t>>, uint32_t> formulas_;
  std::map<std::string, uint32_t, std::less<>> kernels_;
};

}  // namespace

std::optional<LinearSize> linear_size(const Sym& size) {
  std::set<std::string, std::less<>> names;
  collect_symbols(size, names);
  if (names.size() != 1) return std::nullopt;
  const std::string& name = *names.begin();
  const auto term = evaluate(size, {{name, 0}}), next = evaluate(size, {{name, 1}});
  int64_t factor = 0;
  if (!term || !next || __builtin_sub_overflow(*next, *term, &factor) || factor < 1) return std::nullopt;
  if (!(Sym(factor) * Sym::symbol(name) + Sym(*term) == size)) return std::nullopt;
  return LinearSize{name, factor, *term};
}

BuiltPlan build_plan(LoweredGraph& lowered, const Graph& graph) { return PlanBuilder(lowered, graph).run(); }

}  // namespace wick::cuda
