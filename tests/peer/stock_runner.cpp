// Runs a .pte on the stock ExecuTorch runtime: the judge of what Wick writes and what Wick must run.
//
//   stock_runner M.pte [--method NAME] [--data M.ptd] {-i IN.npz -o OUT.npz}.. [--string K=TEXT].. [--repeat N]
//   [--threads N] [--cpu LEVEL]
//   stock_runner --batch LIST [--cpu LEVEL]
//   stock_runner --features [--cpu LEVEL]
//
// --cpu limits the instruction sets of stock's kernels to a level (runtime/platform/cpu.h); so does WICK_CPU.
// --features prints stock's version and the instruction sets that are left.
// --string gives the text of string input K. LIST has one program per line, M.pte, IN.npz and OUT.npz with
// tabs between: each runs in a process of its own for at most 20 seconds of processor time (and 5 minutes, should it
// hang); standard output gets one line each, "ok" or what went wrong.
//
// Each -i/-o pair is one call on the same loaded method, so state is kept from pair to pair. Inputs are in0, in1, ..;
// an input without an array is None. Arrays are row-major; they are laid out as the method's dim order asks. Outputs
// are written row-major as out0, out1, .. --repeat N repeats the last call N more times and prints JSON with times
// (first_ms: the first call of all). Exit codes: 0 ok, 1 the runtime refused or failed (its code on stderr), 2 usage.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/arrays/npz.h"
#include "runtime/platform/cpu.h"
#include "tests/peer/stock_cpu.h"

namespace executorch::extension::threadpool {
// In the library but in none of its headers.
class ThreadPool {
 public:
  size_t get_thread_count() const;
  bool _unsafe_reset_threadpool(uint32_t count);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

// Replaces the runtime's own log: only errors, without control characters.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                                        const char* message, size_t length) {
  if (level != kError && level != kFatal) return;
  for (size_t i = 0; i < length; ++i) std::fputc(message[i] >= 32 && message[i] < 127 ? message[i] : '?', stderr);
  std::fputc('\n', stderr);
}

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::MethodMeta;
using executorch::runtime::Tag;
using wick::cli::NamedArray;

struct Call {
  std::string input, output;
};

struct Options {
  std::string program, data, method = "forward";
  std::vector<Call> calls;
  std::vector<std::pair<size_t, std::string>> strings;
  std::string batch;
  int repeat = 0, threads = 0;
  wick::CpuLevel cpu = wick::cpu_limit();
  bool features = false;
};

[[noreturn]] void usage(const char* what) {
  std::fprintf(
      stderr,
      "stock_runner: %s\nusage: stock_runner M.pte [--method NAME] [--data M.ptd] {-i IN.npz -o OUT.npz}.. "
      "[--string K=TEXT].. [--repeat N] [--threads N] [--cpu LEVEL]\n       stock_runner --batch LIST [--cpu LEVEL]\n"
      "       stock_runner --features [--cpu LEVEL]\n",
      what);
  std::exit(2);
}

[[noreturn]] void fail(const char* what, Error error) {
  std::fprintf(stderr, "stock_runner: %s: error %d\n", what, static_cast<int>(error));
  std::exit(1);
}

[[noreturn]] void fail(const wick::compiler::Diag& diag) {
  std::fputs(render(diag).c_str(), stderr);
  std::exit(2);
}

// "2=relu": the text of input 2.
std::pair<size_t, std::string> parse_string(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) usage("--string takes K=TEXT");
  return {static_cast<size_t>(std::atoi(word.c_str())), word.substr(equals + 1)};
}

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) usage("an option lacks its value");
      return argv[i];
    };
    if (word == "--method")
      options.method = value();
    else if (word == "--data")
      options.data = value();
    else if (word == "-i")
      options.calls.push_back({value(), ""});
    else if (word == "-o" && !options.calls.empty())
      options.calls.back().output = value();
    else if (word == "--string")
      options.strings.push_back(parse_string(value()));
    else if (word == "--batch")
      options.batch = value();
    else if (word == "--repeat")
      options.repeat = std::atoi(value().c_str());
    else if (word == "--threads")
      options.threads = std::atoi(value().c_str());
    else if (word == "--features")
      options.features = true;
    else if (word == "--cpu") {
      wick::CpuLevel level;
      if (!wick::parse_cpu_level(value().c_str(), &level)) usage("--cpu knows no such level");
      options.cpu = std::min(options.cpu, level);
    } else if (word[0] != '-' && options.program.empty())
      options.program = word;
    else
      usage(("unknown option " + word).c_str());
  }
  if (options.program.empty() && options.batch.empty() && !options.features) usage("no program given");
  return options;
}

// Calls visit(row_major_offset, dim_order_offset) for each element, offsets in elements.
template <typename Visit>
void for_each_element(const std::vector<int64_t>& sizes, const std::vector<uint8_t>& dim_order, Visit visit) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  std::vector<int64_t> strides(sizes.size(), 1), index(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t k = sizes.size(); k-- > 0;) {
    strides[dim_order[k]] = stride;
    stride *= sizes[dim_order[k]];
  }
  for (int64_t offset = 0; offset < count; ++offset) {
    int64_t other = 0;
    for (size_t d = 0; d < sizes.size(); ++d) other += index[d] * strides[d];
    visit(offset, other);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

// Values, tensors and the memory they point to; all must outlive the call.
struct Values {
  std::vector<EValue> values;
  std::vector<TensorPtr> tensors;
  std::vector<std::vector<uint8_t>> storage;
  std::deque<executorch::aten::ArrayRef<char>> strings;
};

void add_tensor(Values& inputs, const NamedArray& array, const std::vector<uint8_t>& dim_order) {
  if (dim_order.size() != array.sizes.size())
    usage((array.name + " has a different rank than the method's input").c_str());
  const size_t element = wick::dtype_size_bytes(array.dtype);
  std::vector<uint8_t> bytes(std::max<size_t>(array.bytes.size(), 1));
  for_each_element(array.sizes, dim_order, [&](int64_t from, int64_t to) {
    std::memcpy(&bytes[to * element], &array.bytes[from * element], element);
  });
  inputs.storage.push_back(std::move(bytes));
  inputs.tensors.push_back(executorch::extension::make_tensor_ptr(
      std::vector<int32_t>(array.sizes.begin(), array.sizes.end()), inputs.storage.back().data(), dim_order, {},
      static_cast<ScalarType>(array.dtype)));
  inputs.values.emplace_back(inputs.tensors.back());
}

template <typename T>
T scalar_of(const NamedArray& array) {
  T value{};
  if (array.bytes.size() != sizeof(T)) usage((array.name + " has a different type than the method's input").c_str());
  std::memcpy(&value, array.bytes.data(), sizeof(T));
  return value;
}

void add_input(Values& inputs, const MethodMeta& meta, size_t index, const NamedArray* array) {
  const Tag tag = meta.input_tag(index).get();
  if (tag == Tag::None || array == nullptr) {
    inputs.values.emplace_back();
  } else if (tag == Tag::Tensor) {
    const auto info = meta.input_tensor_meta(index);
    const auto dims = info->dim_order();
    add_tensor(inputs, *array, std::vector<uint8_t>(dims.begin(), dims.end()));
  } else if (tag == Tag::Int) {
    inputs.values.emplace_back(scalar_of<int64_t>(*array));
  } else if (tag == Tag::Double) {
    inputs.values.emplace_back(scalar_of<double>(*array));
  } else if (tag == Tag::Bool) {
    inputs.values.emplace_back(scalar_of<bool>(*array));
  } else {
    usage("an input is neither tensor nor number");
  }
}

Values read_inputs(const std::string& path, const MethodMeta& meta, const Options& options) {
  auto arrays = wick::cli::read_arrays(path);
  if (!arrays.ok()) fail(arrays.diag());
  Values inputs;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto text =
        std::find_if(options.strings.begin(), options.strings.end(), [&](const auto& s) { return s.first == i; });
    if (text != options.strings.end()) {
      inputs.strings.emplace_back(text->second.c_str(), text->second.size());
      inputs.values.emplace_back(&inputs.strings.back());
      continue;
    }
    const std::string name = "in" + std::to_string(i);
    const auto found =
        std::find_if(arrays->begin(), arrays->end(), [&](const NamedArray& a) { return a.name == name; });
    add_input(inputs, meta, i, found == arrays->end() ? nullptr : &*found);
  }
  return inputs;
}

// Memory for outputs that the program leaves to its caller.
Values bind_outputs(Module& module, const std::string& method, const MethodMeta& meta) {
  Values outputs;
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    if (meta.output_tag(i).get() != Tag::Tensor) continue;
    const auto info = meta.output_tensor_meta(i);
    if (info->is_memory_planned()) continue;
    const auto sizes = info->sizes();
    const auto dims = info->dim_order();
    outputs.storage.emplace_back(std::max<size_t>(info->nbytes(), 1));
    outputs.tensors.push_back(executorch::extension::make_tensor_ptr(
        std::vector<int32_t>(sizes.begin(), sizes.end()), outputs.storage.back().data(),
        std::vector<uint8_t>(dims.begin(), dims.end()), {}, info->scalar_type()));
    // Refused for an output that is an input or a constant; those have memory.
    (void)module.set_output(method, EValue(outputs.tensors.back()), i);
  }
  return outputs;
}

NamedArray to_array(const Tensor& tensor) {
  NamedArray array;
  array.dtype = static_cast<wick::DType>(tensor.scalar_type());
  array.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  array.bytes.resize(tensor.nbytes());
  const size_t element = wick::dtype_size_bytes(array.dtype);
  const std::vector<uint8_t> dim_order(tensor.dim_order().begin(), tensor.dim_order().end());
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  for_each_element(array.sizes, dim_order, [&](int64_t to, int64_t from) {
    std::memcpy(&array.bytes[to * element], &data[from * element], element);
  });
  return array;
}

template <typename T>
NamedArray to_scalar_array(wick::DType dtype, T value) {
  NamedArray array;
  array.dtype = dtype;
  array.bytes.resize(sizeof(T));
  std::memcpy(array.bytes.data(), &value, sizeof(T));
  return array;
}

void write_outputs(const std::string& path, const std::vector<EValue>& values) {
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    NamedArray array;
    if (values[i].isTensor())
      array = to_array(values[i].toTensor());
    else if (values[i].isInt())
      array = to_scalar_array(wick::DType::i64, values[i].toInt());
    else if (values[i].isDouble())
      array = to_scalar_array(wick::DType::f64, values[i].toDouble());
    else if (values[i].isBool())
      array = to_scalar_array(wick::DType::boolean, values[i].toBool());
    else
      continue;
    array.name = "out" + std::to_string(i);
    arrays.push_back(std::move(array));
  }
  const auto written = wick::cli::write_arrays(path, arrays);
  if (!written.ok()) fail(written.diag());
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void time_calls(Module& module, const Options& options, const Values& inputs, double load_ms, double first_ms) {
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto result =
        module.execute(options.method, inputs.values);  // inputs anew each time: their memory may be reused
    times.push_back(milliseconds_since(start));
    if (!result.ok()) fail("execute", result.error());
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"load_ms\": %.6f, \"first_ms\": %.6f, \"repeat\": %d, \"min_ms\": %.6f, \"median_ms\": %.6f, \"max_ms\": "
      "%.6f}\n",
      load_ms, first_ms, options.repeat, times.front(), times[times.size() / 2], times.back());
}

int run(const Options& options) {
  executorch::runtime::runtime_init();
  if (options.threads > 0) {  // must come before a method is loaded
    executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(
        static_cast<uint32_t>(options.threads));
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> data_files;
  if (!options.data.empty()) data_files.push_back(options.data);
  Module module(options.program, data_files, Module::LoadMode::File);
  Error error = module.load(executorch::runtime::Program::Verification::InternalConsistency);
  if (error != Error::Ok) fail("load", error);
  error = module.load_method(options.method);
  if (error != Error::Ok) fail("load_method", error);
  const double load_ms = milliseconds_since(start);

  const auto meta = module.method_meta(options.method);
  if (!meta.ok()) fail("method_meta", meta.error());
  const Values outputs = bind_outputs(module, options.method, *meta);
  Values inputs;
  double first_ms = 0;
  for (const Call& call : options.calls) {
    inputs = read_inputs(call.input, *meta, options);
    const auto begin = std::chrono::steady_clock::now();
    const auto result = module.execute(options.method, inputs.values);
    if (&call == options.calls.data()) first_ms = milliseconds_since(begin);
    if (!result.ok()) fail("execute", result.error());
    if (!call.output.empty()) write_outputs(call.output, *result);
  }
  if (options.repeat > 0) time_calls(module, options, inputs, load_ms, first_ms);
  return 0;
}

// Runs one line of a batch in a child process; what it wrote, on one line, is the reason.
std::string run_apart(const Options& options) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no process";
  if (child == 0) {
    dup2(ends[1], 1);  // a kernel library may print what went wrong
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    const rlimit seconds = {20, 20};
    setrlimit(RLIMIT_CPU, &seconds);
    alarm(300);
    std::exit(run(options));
  }
  close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "ok";
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + ": " + text;
  return "exit code " + std::to_string(WEXITSTATUS(status)) + ": " + text;
}

int run_batch(const std::string& path) {
  std::ifstream list(path);
  Options options;
  options.calls.resize(1);
  while (std::getline(list, options.program, '\t') && std::getline(list, options.calls[0].input, '\t') &&
         std::getline(list, options.calls[0].output)) {
    std::printf("%s\n", run_apart(options).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.cpu < wick::cpu_limit()) {  // heeded while the libraries are loaded
    setenv("WICK_CPU", wick::kCpuLevelNames[static_cast<size_t>(options.cpu)], 1);
    execv("/proc/self/exe", argv);
    usage("cannot start again with another WICK_CPU");
  }
  const std::string problem = wick::peer::stock_cpu_problem();
  if (options.cpu != wick::CpuLevel::native && !problem.empty()) usage(problem.c_str());
  if (options.features) {
    std::printf("ExecuTorch %s: %s\n", WICK_STOCK_VERSION, wick::peer::stock_features().c_str());
    return 0;
  }
  return options.batch.empty() ? run(options) : run_batch(options.batch);
}
