#include "cli/call_options.h"

#include <fmt/format.h>

namespace wick::cli {

SessionOptions CallOptions::session() const {
  SessionOptions session;
  session.data_paths = data;
  session.num_threads = threads;
  session.seed = seed;
  session.max_unbounded_bytes = max_memory;
  session.device = device;
  session.allow_device_code = !no_device_code;
  return session;
}

std::vector<std::string> CallOptions::files() const {
  std::vector<std::string> all = {program};
  all.insert(all.end(), inputs.begin(), inputs.end());
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

Option add_call_options(Command command, CallOptions& options, const std::string& purpose) {
  Option program = command.option("program", options.program, "the .pte to " + purpose).takes("FILE");
  command.option("--method", options.method, "the method of the .pte; default: 'forward', or the only one")
      .takes("NAME");
  command.option("-i,--input", options.inputs, "an .npz or .npy with inputs; may repeat. Default: random inputs")
      .takes("FILE")
      .one_at_a_time();
  command.option("--seed", options.seed, "seed of random inputs and random operators").shows_default();
  command.option("--data", options.data, "a .ptd file with weights of the .pte; may repeat")
      .takes("FILE")
      .one_at_a_time();
  command
      .option("--max-memory", options.max_memory,
              "bytes, or such as 256KB, that values without an upper bound may take together")
      .as_size();
  command.flag("--no-device-code", options.no_device_code,
               "refuse programs that hold machine code for a device: nobody can check what it does");
  return program;
}

void add_device_option(Command command, std::string& device, const std::string& purpose) {
  std::string devices;
  for (const device::DeviceRow& row : device::device_table()) devices += (devices.empty() ? "" : ", ") + row.name;
  command.option("--device", device, "where to " + purpose + ": " + devices).takes("NAME").shows_default();
}

void add_threads_option(Command command, CallOptions& options) {
  command
      .option("--threads", options.threads,
              "number of threads; default: WICK_NUM_THREADS, else one per physical core that this process may use")
      .in_range(1, 256);
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
