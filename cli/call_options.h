// Options of run, bench and compare: the program, its method and inputs.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/program/program_inputs.h"
#include "cli/program/program_session.h"
#include "runtime/module/host_tensor.h"

namespace wick::cli {

struct CallOptions {
  std::string program, method;
  std::vector<std::string> inputs, data;
  uint64_t seed = 0;
  int threads = 0;
  uint64_t max_memory = ModuleOptions().max_unbounded_bytes;
  std::string device = device::kHost;
  bool no_device_code = false;

  SessionOptions session() const;
  /// The files that these options name.
  std::vector<std::string> files() const;
};

/// Adds the program as positional argument, which is returned, and --method, -i, --seed, --data, --max-memory.
/// `purpose` ends "the .pte to ..".
Option add_call_options(Command command, CallOptions& options, const std::string& purpose);
/// Adds --device. `purpose` as above, without its object: "run".
void add_device_option(Command command, std::string& device, const std::string& purpose);
void add_threads_option(Command command, CallOptions& options);

/// The arrays of -i bound to the inputs of `method`, or random values if there is no -i.
compiler::Result<std::vector<HostValue>> call_inputs(const MethodMeta& method, const MethodFacts& facts,
                                                     const CallOptions& options);

/// Passes the inputs to the method. Inputs that have no memory in the method are not copied: `views`, which is
/// replaced, must outlive the run. Errors: usage.
compiler::Status set_inputs(Method& method, const std::vector<HostValue>& values, std::deque<InputView>* views);

}  // namespace wick::cli
