#include "cli/call_options.h"

#include <fmt/format.h>

namespace wick::cli {

SessionOptions CallOptions::session() const {
  SessionOptions session;
  session.data_paths = data;
  session.num_threads = threads;
  session.seed = seed;
  return session;
}

void add_call_options(CLI::App& command, CallOptions& options, const std::string& purpose) {
  command.add_option("program", options.program, "the .pte to " + purpose)->required();
  command.add_option("--method", options.method, "the method of the .pte; default: 'forward', or the only one");
  command.add_option("-i,--input", options.inputs, "an .npz or .npy with inputs; may repeat. Default: random inputs")
      ->allow_extra_args(false);
  command.add_option("--seed", options.seed, "of random inputs and random operators")->capture_default_str();
  command.add_option("--data", options.data, "a .ptd file with weights of the .pte; may repeat")
      ->allow_extra_args(false);
}

void add_threads_option(CLI::App& command, CallOptions& options) {
  command
      .add_option("--threads", options.threads,
                  "default: WICK_NUM_THREADS, else the physical cores that this process may use")
      ->check(CLI::Range(1, 256));
}

compiler::Status set_inputs(Method& method, const std::vector<HostValue>& values, std::deque<InputView>* views) {
  views->clear();
  for (size_t i = 0; i < values.size(); ++i) {
    Error error = Error::Ok;
    if (values[i].tag == Tag::tensor) {
      error = method.set_input(
          i, views->emplace_back(values[i].tensor, method.meta().input_value(i).tensor.dim_order).tensor());
    } else {
      EValue value;
      error = to_value(values[i], &value) ? method.set_input(i, value) : Error::InvalidArgument;
    }
    if (error != Error::Ok)
      return compiler::Diag(compiler::Code::usage,
                            fmt::format("input {} does not fit: {}", i, method.last_error().message));
  }
  return {};
}

compiler::Result<std::vector<HostValue>> call_inputs(const MethodMeta& method, const MethodFacts& facts,
                                                     const CallOptions& options) {
  if (options.inputs.empty()) return random_inputs(method, facts, options.seed);
  ASSIGN_OR_RETURN(std::vector<InputFile> files, read_input_files(options.inputs));
  return bind_inputs(method, facts, std::move(files));
}

}  // namespace wick::cli
