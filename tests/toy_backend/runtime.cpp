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
  std::vector<const float*> constants_;
  std::vector<std::vector<float>> results_;  // of the nodes
  bool strict_ = false;
};

Error Delegate::load(BackendInit& context, Span<const uint8_t> bytes) {
  if (!read_payload(bytes, &payload_)) return Error::InvalidProgram;
  const uint64_t result_bytes = uint64_t{payload_.num_elements} * sizeof(float);
  if (!context.take_heap(result_bytes * payload_.nodes.size())) return Error::DelegateMemoryAllocationFailed;
  for (uint32_t i = 0; i < payload_.num_constants; ++i) {
    const auto data = context.named_data(("toy." + std::to_string(i)).c_str());
    if (!data.ok()) return data.error();
    if (data->size() != result_bytes) return Error::InvalidProgram;
    constants_.push_back(reinterpret_cast<const float*>(data->data()));
  }
  for (size_t i = 0; i < context.num_specs(); ++i) {
    const CompileSpec spec = context.spec(i);
    if (strcmp(spec.key, kMode.name) == 0) strict_ = std::string(spec.value.begin(), spec.value.end()) == "strict";
  }
  results_.assign(payload_.nodes.size(), std::vector<float>(payload_.num_elements));
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
  std::vector<const float*> values;
  for (uint32_t i = 0; i < payload_.num_inputs; ++i) values.push_back(args[i]->tensor->as<const float>());
  values.insert(values.end(), constants_.begin(), constants_.end());
  for (size_t n = 0; n < payload_.nodes.size(); ++n) {
    const PayloadNode& node = payload_.nodes[n];
    for (uint32_t i = 0; i < payload_.num_elements; ++i) {
      const float a = values[node.a][i], b = values[node.b][i];
      const float y = node.kind == Kind::add ? a + b : a * b;
      if (strict_ && !std::isfinite(y)) return context.fail(Error::InvalidArgument, "toy: a value is not finite");
      results_[n][i] = y;
    }
    values.push_back(results_[n].data());
  }
  for (size_t i = 0; i < payload_.outputs.size(); ++i) {
    Tensor& out = *args[payload_.num_inputs + i]->tensor;
    if (out.numel > 0) memcpy(out.data, values[payload_.outputs[i]], out.nbytes());
  }
}

constexpr Backend kDelegates = delegate_table<Delegate>(kBackendId);

}  // namespace

const Backend& delegates() { return kDelegates; }

}  // namespace wick::toy
