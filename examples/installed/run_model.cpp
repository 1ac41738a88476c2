// Loads a program, feeds its method "forward" with zeros, and prints the shapes of what comes back.
#include <cstdio>
#include <string>
#include <vector>

#include "wick/module.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace {

std::string shape_text(const std::vector<int32_t>& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

int fail(const wick::ModuleError& error) {
  std::fprintf(stderr, "%s: %s\n", wick::error_name(error.code), error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_model MODEL.pte\n");
    return 2;
  }
  wick::ModuleOptions options;
  options.kernels = {wick::portable_kernels()};
  options.backends = {&wick::xnnpack_backend()};
  wick::ModuleError error;
  const auto module = wick::Module::load(argv[1], options, &error);
  if (!module) return fail(error);
  const wick::Method* method = module->method("forward", &error);
  if (method == nullptr) return fail(error);

  std::vector<wick::HostValue> inputs, outputs;
  for (size_t i = 0; i < method->meta().num_inputs(); ++i) {
    const wick::ValueMeta value = method->meta().input_value(i);
    wick::HostTensor tensor;
    tensor.dtype = value.tensor.dtype;
    tensor.sizes.assign(value.tensor.sizes.begin(), value.tensor.sizes.end());
    tensor.bytes.resize(value.tensor.nbytes);
    inputs.emplace_back(std::move(tensor));
  }
  if (!module->forward(inputs, &outputs, &error)) return fail(error);
  for (const wick::HostValue& output : outputs) {
    if (output.tag != wick::Tag::tensor) continue;
    std::printf("%s %s\n", wick::dtype_name(output.tensor.dtype), shape_text(output.tensor.sizes).c_str());
  }
  return 0;
}
