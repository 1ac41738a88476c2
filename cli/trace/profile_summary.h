// Times of steps, summed by module and operator, and as a trace.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/program/program_metadata.h"

namespace wick::cli {

/// Something that took time: a kernel, an operator inside a delegate, or the rest of a delegate.
struct Step {
  std::string op;       // "aten::embedding.out", "fully_connected", "(rest of the delegate)"
  std::string library;  // what executed it in a delegate: "Fully Connected (NC, F32) GEMM"; "" outside
  PlaceFacts place;     // "" where the file says nothing
  int64_t delegate = -1;
  double start_ms = 0;  // in the run that the trace shows
  double ms = 0;        // median over runs
  double shown_ms = 0;  // in the run that the trace shows
};

struct ModuleTime {
  std::string module;  // whole path; "" for the method itself
  std::string label;   // the path without that of the parent row
  int depth = 0;
  double ms = 0;  // including the modules below it
  double self_ms = 0;
};

struct OperatorTime {
  std::string op, library;
  uint64_t count = 0;
  double ms = 0;
};

/// The hierarchy of modules in execution order, parents first. A module that only holds one other module is merged with
/// it. The first row is the whole method.
std::vector<ModuleTime> module_times(const std::vector<Step>& steps);
/// By operator and executor, slowest first.
std::vector<OperatorTime> operator_times(const std::vector<Step>& steps);

/// The Trace Event format that Chrome and Perfetto show, of one run.
std::string chrome_trace(const std::string& method, const std::vector<Step>& steps);

}  // namespace wick::cli
