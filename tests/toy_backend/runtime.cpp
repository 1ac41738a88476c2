#include <math.h>
#include <string.h>

#include <string>

#include "backends/delegate_table.h"
#include "tests/toy_backend/payload.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {
namespace {

class Delegate {
 public:
  Error load(BackendInit& context, Span<const uint8_t> bytes);
  void execute(KernelContext& context, Span<EValue*> args);

 private:
  bool check_arguments(KernelContext& context, Span<EValue*> args) const;

  Payload payload_;
  std::vector<std::vector<float>> results_;  // of the nodes
  std::vector<const float*> values_;         // of a call: inputs, constants, results
  bool strict_ = false;
};

Error Delegate::load(BackendInit& context, Span<const uint8_t> bytes) {
  if (!read_payload(bytes, &payload_)) return Error::InvalidProgram;
  const uint64_t result_bytes = uint64_t{payload_.num_elements} * sizeof(float);
  if (!context.take_heap(result_bytes * payload_.nodes.size())) return Error::DelegateMemoryAllocationFailed;
  values_.assign(payload_.num_inputs, nullptr);
  for (const uint64_t hash : payload_.constants) {
    const auto data = context.named_data(constant_name(hash).c_str());
    if (!data.ok()) return data.error();
    if (data->size() != result_bytes) return Error::InvalidProgram;
    values_.push_back(reinterpret_cast<const float*>(data->data()));
  }
  for (size_t i = 0; i < context.num_specs(); ++i) {
    const CompileSpec spec = context.spec(i);
    if (strcmp(spec.key, kMode.name) == 0) strict_ = std::string(spec.value.begin(), spec.value.end()) == "strict";
  }
  results_.assign(payload_.nodes.size(), std::vector<float>(payload_.num_elements));
  for (const std::vector<float>& result : results_) values_.push_back(result.data());
  return Error::Ok;
}

bool Delegate::check_arguments(KernelContext& context, Span<EValue*> args) const {
  if (args.size() != payload_.num_inputs + payload_.outputs.size()) {
    context.fail(Error::InvalidProgram, "toy: a different number of arguments than the payload has");
    return false;
  }
  for (const EValue* arg : args) {
    if (arg->tag == Tag::tensor && arg->tensor->dtype == DType::f32 && arg->tensor->numel == payload_.num_elements &&
        is_contiguous(*arg->tensor))
      continue;
    context.fail(Error::InvalidArgument, "toy: an argument is not a f32 tensor of the payload's size");
    return false;
  }
  return true;
}

void Delegate::execute(KernelContext& context, Span<EValue*> args) {
  if (!check_arguments(context, args)) return;
  for (uint32_t i = 0; i < payload_.num_inputs; ++i) values_[i] = args[i]->tensor->as<const float>();
  for (size_t n = 0; n < payload_.nodes.size(); ++n) {
    const PayloadNode& node = payload_.nodes[n];
    for (uint32_t i = 0; i < payload_.num_elements; ++i) {
      const float a = values_[node.a][i], b = values_[node.b][i];
      const float y = node.kind == Kind::add ? a + b : a * b;
      if (strict_ && !std::isfinite(y)) return context.fail(Error::InvalidArgument, "toy: a value is not finite");
      results_[n][i] = y;
    }
  }
  for (size_t i = 0; i < payload_.outputs.size(); ++i) {
    Tensor& out = *args[payload_.num_inputs + i]->tensor;
    if (out.numel > 0) memcpy(out.data, values_[payload_.outputs[i]], out.nbytes());
  }
}

constexpr Backend kDelegates = delegate_table<Delegate>(kBackendId);

}  // namespace

const Backend& delegates() { return kDelegates; }

}  // namespace wick::toy
