#include "backends/xnnpack/runtime/xnn/operator_times.h"

namespace wick::xnnpack {
namespace {

/// A part of the library's name for operators that execute such nodes; "" where there are several.
const char* word_for(NodeType type) {
  switch (type) {
    case NodeType::fully_connected: return "Fully Connected";
    case NodeType::batch_matrix_multiply: return "Batch Matrix Multiply";
    case NodeType::conv_2d:
    case NodeType::depthwise_conv_2d: return "Convolution";
    case NodeType::conv_transpose_2d: return "Deconvolution";
    case NodeType::softmax: return "Softmax";
    case NodeType::static_transpose: return "Transpose";
    case NodeType::static_slice: return "Slice";
    case NodeType::static_constant_pad: return "Constant Pad";
    case NodeType::max_pooling_2d:
    case NodeType::avg_pooling_2d:
    case NodeType::arg_max_pooling_2d: return "Pooling";
    case NodeType::static_resize_bilinear_2d: return "Resize";
    case NodeType::copy:
    case NodeType::static_reshape: return "Copy";
    case NodeType::add:
    case NodeType::subtract:
    case NodeType::multiply:
    case NodeType::div:
    case NodeType::minimum:
    case NodeType::maximum: return "Binary Elementwise";
    case NodeType::clamp:
    case NodeType::gelu:
    case NodeType::sigmoid:
    case NodeType::tanh:
    case NodeType::exp: return "Unary Elementwise";
    default: return "";
  }
}

bool may_execute(const std::string& name, NodeType type) { return name.find(word_for(type)) != std::string::npos; }

bool is_mergeable(NodeType type) {
  return type == NodeType::clamp || type == NodeType::static_constant_pad || type == NodeType::copy;
}

bool read_names(xnn_runtime_t runtime, std::vector<std::string>* names) {
  size_t count = 0, size_bytes = 0;
  if (xnn_get_runtime_profiling_info(runtime, xnn_profile_info_num_operators, sizeof count, &count, &size_bytes) !=
      xnn_status_success) {
    return false;
  }
  if (count == 0) return true;
  if (xnn_get_runtime_profiling_info(runtime, xnn_profile_info_operator_name, 0, nullptr, &size_bytes) !=
      xnn_status_out_of_memory) {
    return false;
  }
  std::vector<char> text(size_bytes);
  if (xnn_get_runtime_profiling_info(runtime, xnn_profile_info_operator_name, text.size(), text.data(), &size_bytes) !=
      xnn_status_success) {
    return false;
  }
  std::string name;
  for (const char c : text) {
    if (c != '\0') {
      name += c;
      continue;
    }
    names->push_back(std::move(name));
    name.clear();
  }
  return names->size() == count;
}

}  // namespace

std::vector<uint32_t> match_operators(const std::vector<NodeType>& nodes, const std::vector<std::string>& operators) {
  const size_t count = nodes.size();
  if (operators.size() > count) return {};
  const size_t surplus = count - operators.size();
  // fits[i * width + k]: nodes i .. match operators i - k .., after k nodes were merged.
  const size_t width = surplus + 1;
  std::vector<bool> fits((count + 1) * width);
  fits[count * width + surplus] = true;
  const auto is_match = [&](size_t i, size_t k) {
    return i >= k && i - k < operators.size() && may_execute(operators[i - k], nodes[i]) && fits[(i + 1) * width + k];
  };
  for (size_t i = count; i-- > 0;) {
    for (size_t k = 0; k <= surplus; ++k) {
      fits[i * width + k] = is_match(i, k) || (k < surplus && is_mergeable(nodes[i]) && fits[(i + 1) * width + k + 1]);
    }
  }
  std::vector<uint32_t> matches;
  const bool is_known = fits[0];
  for (size_t i = 0, k = 0; i < count; ++i) {
    if (!is_known && surplus != 0) return {};
    if (!is_known || is_match(i, k)) {
      matches.push_back(static_cast<uint32_t>(i));
    } else {
      ++k;
    }
  }
  return matches;
}

bool OperatorTimes::init(xnn_runtime_t runtime, const std::vector<PayloadNode>& nodes) {
  runtime_ = runtime;
  std::vector<std::string> names;
  if (!read_names(runtime, &names)) return false;
  std::vector<NodeType> types;
  for (const PayloadNode& node : nodes) types.push_back(node.type);
  const std::vector<uint32_t> matches = match_operators(types, names);
  for (size_t i = 0; i < names.size(); ++i) {
    const PayloadNode* node = i < matches.size() ? &nodes[matches[i]] : nullptr;
    operators_.push_back(
        {std::move(names[i]), node ? name_of(node->type) : "", node ? node->debug_handle : UINT32_MAX});
  }
  times_us_.resize(operators_.size());
  return true;
}

void OperatorTimes::report(const Tracer& tracer) {
  if (times_us_.empty()) return;
  size_t size_bytes = 0;
  if (xnn_get_runtime_profiling_info(runtime_, xnn_profile_info_operator_timing, times_us_.size() * sizeof times_us_[0],
                                     times_us_.data(), &size_bytes) != xnn_status_success) {
    return;
  }
  uint64_t start_ns = 0;
  for (size_t i = 0; i < operators_.size(); ++i) {
    const Operator& each = operators_[i];
    const uint64_t duration_ns = times_us_[i] * 1000;
    tracer.delegate_event(tracer.state, {each.kind, each.name.c_str(), each.debug_handle, start_ns, duration_ns});
    start_ns += duration_ns;
  }
}

}  // namespace wick::xnnpack
