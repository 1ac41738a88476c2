#include <math.h>
#include <string.h>

#include <memory>
#include <new>
#include <string>

#include "tests/toy_backend/payload.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {
namespace {

struct State {
  Payload payload;
  std::vector<const float*> constants;
  std::vector<std::vector<float>> results;  // of the nodes
  bool strict = false;
};

Error load(BackendInit& context, Span<const uint8_t> bytes, State& state) {
  if (!read_payload(bytes, &state.payload)) return Error::InvalidProgram;
  const Payload& payload = state.payload;
  const uint64_t result_bytes = uint64_t{payload.num_elements} * sizeof(float);
  if (!context.take_heap(result_bytes * payload.nodes.size())) return Error::DelegateMemoryAllocationFailed;
  for (uint32_t i = 0; i < payload.num_constants; ++i) {
    const auto data = context.named_data(("toy." + std::to_string(i)).c_str());
    if (!data.ok()) return data.error();
    if (data->size() != result_bytes) return Error::InvalidProgram;
    state.constants.push_back(reinterpret_cast<const float*>(data->data()));
  }
  for (size_t i = 0; i < context.num_specs(); ++i) {
    const CompileSpec spec = context.spec(i);
    if (strcmp(spec.key, kMode.name) == 0) state.strict = std::string(spec.value.begin(), spec.value.end()) == "strict";
  }
  state.results.assign(payload.nodes.size(), std::vector<float>(payload.num_elements));
  return Error::Ok;
}

Error init(BackendInit& context, Span<const uint8_t> bytes, void** handle) {
  auto state = std::make_unique<State>();
  const Error error = load(context, bytes, *state);
  if (error == Error::Ok) *handle = state.release();
  return error;
}

bool check_arguments(KernelContext& context, const Payload& payload, Span<EValue*> args) {
  if (args.size() != payload.num_inputs + payload.outputs.size()) {
    context.fail(Error::InvalidProgram, "toy: a different number of arguments than the payload has");
    return false;
  }
  for (const EValue* arg : args) {
    if (arg->tag == Tag::tensor && arg->tensor->dtype == DType::f32 && arg->tensor->numel == payload.num_elements &&
        is_contiguous(*arg->tensor))
      continue;
    context.fail(Error::InvalidArgument, "toy: an argument is not a f32 tensor of the payload's size");
    return false;
  }
  return true;
}

void execute(KernelContext& context, void* handle, Span<EValue*> args) {
  State& state = *static_cast<State*>(handle);
  const Payload& payload = state.payload;
  if (!check_arguments(context, payload, args)) return;
  std::vector<const float*> values;
  for (uint32_t i = 0; i < payload.num_inputs; ++i) values.push_back(args[i]->tensor->as<const float>());
  values.insert(values.end(), state.constants.begin(), state.constants.end());
  for (size_t n = 0; n < payload.nodes.size(); ++n) {
    const PayloadNode& node = payload.nodes[n];
    for (uint32_t i = 0; i < payload.num_elements; ++i) {
      const float a = values[node.a][i], b = values[node.b][i];
      const float y = node.kind == Kind::add ? a + b : a * b;
      if (state.strict && !std::isfinite(y)) return context.fail(Error::InvalidArgument, "toy: a value is not finite");
      state.results[n][i] = y;
    }
    values.push_back(state.results[n].data());
  }
  for (size_t i = 0; i < payload.outputs.size(); ++i) {
    Tensor& out = *args[payload.num_inputs + i]->tensor;
    if (out.numel > 0) memcpy(out.data, values[payload.outputs[i]], out.nbytes());
  }
}

void destroy(void* handle) { delete static_cast<State*>(handle); }

constexpr Backend kDelegates = {kBackendId, init, execute, destroy};

}  // namespace

const Backend& delegates() { return kDelegates; }

}  // namespace wick::toy
