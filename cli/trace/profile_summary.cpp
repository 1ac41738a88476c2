#include "cli/trace/profile_summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

/// A module and those below it, in the order of execution.
struct Branch {
  std::string name;
  double self_ms = 0, ms = 0;
  std::vector<Branch> below;

  Branch& child(const std::string& child_name) {
    for (Branch& each : below) {
      if (each.name == child_name) return each;
    }
    below.push_back({child_name, 0, 0, {}});
    return below.back();
  }
  double add_up() {
    ms = self_ms;
    for (Branch& each : below) ms += each.add_up();
    return ms;
  }
};

void list_branch(const Branch& branch, const std::string& path, std::string label, int depth,
                 std::vector<ModuleTime>* rows) {
  const Branch* at = &branch;
  std::string whole = path;
  // A module whose whole time is that of one module below it has no row. The method always has one.
  while (depth > 0 && at->below.size() == 1 && at->self_ms == 0) {
    at = &at->below[0];
    label += "." + at->name;
    whole += "." + at->name;
  }
  rows->push_back({whole, std::move(label), depth, at->ms, at->self_ms});
  for (const Branch& each : at->below)
    list_branch(each, whole.empty() ? each.name : whole + "." + each.name, each.name, depth + 1, rows);
}

}  // namespace

std::vector<ModuleTime> module_times(const std::vector<Step>& steps) {
  Branch root;
  for (const Step& step : steps) {
    Branch* at = &root;
    const std::string& path = step.place.module;
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      at = &at->child(path.substr(begin, end - begin));
      begin = end + 1;
    }
    at->self_ms += step.ms;
  }
  root.add_up();
  std::vector<ModuleTime> rows;
  list_branch(root, "", "", 0, &rows);
  return rows;
}

std::vector<OperatorTime> operator_times(const std::vector<Step>& steps) {
  std::map<std::pair<std::string, std::string>, OperatorTime> by_name;
  for (const Step& step : steps) {
    OperatorTime& time = by_name[{step.op, step.library}];
    time.op = step.op;
    time.library = step.library;
    ++time.count;
    time.ms += step.ms;
  }
  std::vector<OperatorTime> times;
  for (auto& [name, time] : by_name) times.push_back(std::move(time));
  std::stable_sort(times.begin(), times.end(),
                   [](const OperatorTime& a, const OperatorTime& b) { return a.ms > b.ms; });
  return times;
}

std::string chrome_trace(const std::string& method, const std::vector<Step>& steps) {
  compiler::JsonWriter json;
  json.object();
  json.field("displayTimeUnit", "ms");
  json.key("traceEvents");
  json.array();
  json.object();
  json.field("name", "process_name");
  json.field("ph", "M");
  json.field("pid", 1);
  json.key("args");
  json.object();
  json.field("name", "wick: " + method);
  json.end();
  json.end();
  for (const Step& step : steps) {
    const bool is_whole = step.delegate >= 0 && step.op.front() == '(';  // holds the operators inside
    json.object();
    json.field("name", is_whole ? "delegate " + std::to_string(step.delegate) : step.op);
    json.field("cat", step.delegate >= 0 ? "delegate" : "kernel");
    json.field("ph", "X");
    json.field("pid", 1);
    json.field("tid", 1);
    json.field("ts", step.start_ms * 1000);
    json.field("dur", step.shown_ms * 1000);
    json.key("args");
    json.object();
    json.field("module", step.place.module);
    json.field("source", step.place.source);
    json.field("library", step.library);
    json.end();
    json.end();
  }
  json.end();
  json.end();
  return json.text();
}

}  // namespace wick::cli
