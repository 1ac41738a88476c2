#include "cli/explain/print_delegate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/text/table.h"
#include "compiler/support/diag.h"

namespace wick::cli {
namespace {

using compiler::DelegateReport;
using compiler::DelegateStep;
using compiler::JsonWriter;
using compiler::NodeName;
using compiler::printable;
using compiler::printable_sentence;

// "24 x 1 x 1", without the ones at the end.
std::string extent_text(const std::array<std::string, 3>& extent) {
  if (extent[0].empty()) return "";
  size_t count = 3;
  while (count > 1 && extent[count - 1] == "1") --count;
  return printable(fmt::format("{}", fmt::join(extent.begin(), extent.begin() + count, " x ")));
}

// "aten.add.Tensor" -> "add"
std::string short_name(const std::string& op) {
  const size_t begin = op.find('.') + 1;
  return op.substr(begin, op.find('.', begin) - begin);
}

// "linear + gelu, 3 inlined"
std::string nodes_text(const DelegateStep& step) {
  std::vector<std::string> names;
  for (const NodeName& node : step.nodes) {
    if (!node.op.empty()) names.push_back(short_name(node.op));
  }
  std::string text = printable(fmt::format("{}", fmt::join(names, " + ")), 60);
  if (!step.inlined.empty()) text += fmt::format("{}{} inlined", text.empty() ? "" : ", ", step.inlined.size());
  return text;
}

size_t launches_of(const DelegateReport& report) {
  return static_cast<size_t>(std::count_if(report.steps.begin(), report.steps.end(),
                                           [](const DelegateStep& step) { return !step.schedule.empty(); }));
}

size_t kernels_of(const DelegateReport& report) {
  std::set<std::string> names;
  for (const DelegateStep& step : report.steps) {
    if (!step.schedule.empty()) names.insert(step.kernel);
  }
  return names.size();
}

// Exact to the thousandth of a nanosecond: sums do not depend on how a processor rounds them.
double rounded_us(double us) { return std::round(us * 1e6) / 1e6; }

void write_node_names(const char* key, const std::vector<NodeName>& nodes, JsonWriter& json) {
  json.key(key);
  json.array();
  for (const NodeName& node : nodes) {
    json.object();
    json.field("op", node.op);
    json.field("module", node.module);
    json.field("source", node.source);
    json.end();
  }
  json.end();
}

void write_extent(const char* key, const std::array<std::string, 3>& extent, JsonWriter& json) {
  json.key(key);
  json.array();
  for (const std::string& size : extent) {
    if (!size.empty()) json.value(size);
  }
  json.end();
}

void write_step(const DelegateStep& step, JsonWriter& json) {
  json.object();
  json.field("kernel", step.kernel);
  json.field("schedule", step.schedule);
  write_node_names("nodes", step.nodes, json);
  write_node_names("inlined", step.inlined, json);
  json.field("why", step.why);
  write_extent("grid", step.grid, json);
  write_extent("block", step.block, json);
  json.field("flops", step.flops);
  json.field("read_bytes", step.read_bytes);
  json.field("written_bytes", step.written_bytes);
  json.field("time_us", rounded_us(step.time_us));
  json.field("bound", step.bound);
  json.end();
}

void print_device_buffers(const DelegateReport& report) {
  if (report.buffers.empty()) return;
  Table table({"state", ">bytes", ">written in a call"});
  for (const compiler::DelegateBuffer& buffer : report.buffers) {
    table.row({printable(buffer.name, 60), fmt::format("{}", buffer.size_bytes),
               buffer.written_bytes ? fmt::format("{}", *buffer.written_bytes) : ""});
  }
  fmt::print("{}", table.text());
}

void write_device_buffers(const DelegateReport& report, JsonWriter& json) {
  json.key("states");
  json.array();
  for (const compiler::DelegateBuffer& buffer : report.buffers) {
    json.object();
    json.field("name", buffer.name);
    json.field("bytes", buffer.size_bytes);
    json.field("written_bytes", buffer.written_bytes);
    json.end();
  }
  json.end();
}

}  // namespace

void print_delegate(size_t index, const DelegateReport& report) {
  const auto launches = launches_of(report), kernels = kernels_of(report);
  fmt::print("{}", heading(fmt::format("delegate {}: {}{} of {}{}, predicted {:.1f} us on {}", index, launches,
                                       launches == 1 ? " launch" : " launches", kernels,
                                       kernels == 1 ? " kernel" : " kernels", report.time_us(), report.device)));
  Table table({">", "kernel", "schedule", "nodes", "grid", "block", ">read", ">written", ">FLOP", ">us", "bound by",
               "why it ends here", "source", "module"});
  for (size_t i = 0; i < report.steps.size(); ++i) {
    const DelegateStep& step = report.steps[i];
    const NodeName none, &node = step.nodes.empty() ? none : step.nodes[0];
    table.row({fmt::format("{}", i), printable(step.kernel, 60), printable(step.schedule, 40), nodes_text(step),
               extent_text(step.grid), extent_text(step.block), fmt::format("{}", step.read_bytes),
               fmt::format("{}", step.written_bytes), fmt::format("{}", step.flops),
               fmt::format("{:.1f}", step.time_us), step.bound, printable_sentence(step.why),
               printable(node.source, 60), printable(node.module, 60)});
  }
  fmt::print("{}", table.text());
  fmt::print("  {:.1f} us of kernels, {:.1f} us between them; {} bytes of weights, {} of arena, {} of state\n",
             report.time_us() - report.gap_us * static_cast<double>(report.steps.size()),
             report.gap_us * static_cast<double>(report.steps.size()), report.weight_bytes, report.arena_bytes,
             report.state_bytes);
  if (!report.producer.empty()) {
    fmt::print("  method '{}', partition {} of model {}, by {}\n", printable(report.method, 60), report.partition,
               report.model, printable(report.producer, 40));
  }
  print_device_buffers(report);
  if (!report.views.empty()) fmt::print("  {} nodes are views of tensors in memory\n", report.views.size());
  if (!report.symbols.empty())
    fmt::print("  numbers at the upper bounds of {}\n", printable(fmt::format("{}", fmt::join(report.symbols, ", "))));
}

void write_delegates(const MethodExplained& method, JsonWriter& json) {
  json.key("delegate_reports");
  json.array();
  for (const auto& [index, report] : method.delegate_reports) {
    json.object();
    json.field("delegate", static_cast<uint64_t>(index));
    json.field("method", report.method);
    json.field("partition", report.partition);
    json.field("model", report.model);
    json.field("producer", report.producer);
    json.field("device", report.device);
    json.field("launches", static_cast<uint64_t>(launches_of(report)));
    json.field("kernels", static_cast<uint64_t>(kernels_of(report)));
    json.field("time_us", rounded_us(report.time_us()));
    json.field("gap_us", report.gap_us);
    json.field("weight_bytes", report.weight_bytes);
    json.field("arena_bytes", report.arena_bytes);
    json.field("state_bytes", report.state_bytes);
    json.key("symbols");
    json.array();
    for (const std::string& symbol : report.symbols) json.value(symbol);
    json.end();
    json.key("steps");
    json.array();
    for (const DelegateStep& step : report.steps) write_step(step, json);
    json.end();
    write_node_names("views", report.views, json);
    write_device_buffers(report, json);
    json.end();
  }
  json.end();
}

}  // namespace wick::cli
