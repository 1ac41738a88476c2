// check_payload: the walk over the nodes.
#include "backends/xnnpack/payload/payload_check.h"

#include <string.h>

namespace wick::xnnpack {

Error NodeCheck::set(uint32_t id, Dims dims) {
  if (dims.size() > kMaxRank) return fail("a result of rank ", static_cast<uint64_t>(dims.size()), ", above 6");
  for (uint32_t dim : dims) {
    if (dim == 0 && !takes_empty_) return fail("a result without elements");
  }
  if (count_of(dims) >= kMaxElements) return fail("a result of 2^31 elements or more");
  dims_[id] = static_cast<Dims&&>(dims);
  return Error::Ok;
}

Error NodeCheck::same_types(uint32_t allowed) {
  const size_t count = num_inputs(node.type);
  for (size_t i = 0; i < count; ++i) {
    if (!(allowed & bit_of(input(i).type))) return fail("input ", node.inputs[i], " is ", name_of(input(i).type));
    if (input(i).type != output().type) {
      return fail("input ", node.inputs[i], " is ", name_of(input(i).type), " and the output ", name_of(output().type));
    }
  }
  return Error::Ok;
}

Error NodeCheck::same_quantization(size_t i) {
  if (equal_quantization(input(i).quantization, output().quantization)) return Error::Ok;
  return fail("input ", node.inputs[i], " and the output differ in scale or zero point");
}

Error NodeCheck::rank_is(size_t i, size_t rank) {
  if (dims(i).size() == rank) return Error::Ok;
  return fail("input ", node.inputs[i], " has rank ", static_cast<uint64_t>(dims(i).size()), ", not ",
              static_cast<uint64_t>(rank));
}

namespace {

enum class State : uint8_t { unwritten, written };

class Walk {
 public:
  Walk(const Payload& payload, std::vector<Dims>* dims, ErrorText* text)
      : payload_(payload), dims_(*dims), text_(text), states_(payload.values.size(), State::unwritten) {}

  Error run(const std::vector<Dims>* input_dims) {
    for (size_t i = 0; i < payload_.values.size(); ++i) {
      const PayloadValue& value = payload_.values[i];
      dims_.push_back(value.dims);
      if (value.constant != 0 || value.is_input) states_[i] = State::written;
    }
    Error error = input_dims ? set_inputs(*input_dims) : Error::Ok;
    for (size_t i = 0; error == Error::Ok && i < payload_.nodes.size(); ++i) error = node(i);
    return error == Error::Ok ? outputs(!input_dims) : error;
  }

 private:
  Error set_inputs(const std::vector<Dims>& input_dims);
  Error node(size_t index);
  Error write(NodeCheck& check, uint32_t id);
  Error outputs(bool declared);

  const Payload& payload_;
  std::vector<Dims>& dims_;
  ErrorText* text_;
  std::vector<State> states_;
};

Error Walk::set_inputs(const std::vector<Dims>& input_dims) {
  if (input_dims.size() != payload_.input_ids.size()) {
    return refuse(text_, static_cast<uint64_t>(input_dims.size()), " inputs for a payload with ",
                  static_cast<uint64_t>(payload_.input_ids.size()));
  }
  for (size_t i = 0; i < input_dims.size(); ++i) {
    const Dims& given = input_dims[i];
    const uint64_t index = i;
    if (given.size() != payload_.values[payload_.input_ids[i]].dims.size()) {
      return refuse(text_, "input ", index, " has a different rank than the payload says");
    }
    for (uint32_t dim : given) {
      if (dim == 0) return refuse(text_, "input ", index, " has no elements");
    }
    if (count_of(given) >= kMaxElements) return refuse(text_, "input ", index, " has 2^31 elements or more");
    dims_[payload_.input_ids[i]] = given;
  }
  return Error::Ok;
}

Error Walk::write(NodeCheck& check, uint32_t id) {
  if (states_[id] == State::written) return check.fail("value ", id, " is written although it has its contents");
  states_[id] = State::written;
  return Error::Ok;
}

Error Walk::node(size_t index) {
  NodeCheck check(payload_, index, &dims_, text_);
  const PayloadNode& node = check.node;
  const NodeRow& row = row_of(node.type);
  for (size_t i = 0; i < row.num_inputs; ++i) {
    if (!check.has_input(i)) continue;
    if (states_[node.inputs[i]] == State::unwritten)
      return check.fail("value ", node.inputs[i], " is read before it is written");
  }
  if (node.flags & ~row.flags) return check.fail("flags ", node.flags, " have no meaning");
  if (!(node.output_min <= node.output_max)) return check.fail("the output's bounds are not a range");
  Error error = write(check, node.output);
  if (error == Error::Ok && node.type == NodeType::arg_max_pooling_2d) error = write(check, node.output_index);
  return error == Error::Ok ? row.check(check) : error;
}

Error Walk::outputs(bool declared) {
  for (uint32_t id : payload_.output_ids) {
    if (states_[id] == State::unwritten) return refuse(text_, "output value ", id, " is never written");
    const Dims& found = dims_[id];
    const Dims& said = payload_.values[id].dims;
    if (declared ? found != said : found.size() != said.size()) {
      return refuse(text_, "output value ", id, " gets other sizes than the payload says");
    }
  }
  return Error::Ok;
}

}  // namespace

Error check_payload(const Payload& payload, const std::vector<Dims>* input_dims, std::vector<Dims>* dims,
                    ErrorText* text) {
  dims->clear();
  Error error = check_indices(payload, text);
  if (error == Error::Ok) error = check_values(payload, text);
  return error == Error::Ok ? Walk(payload, dims, text).run(input_dims) : error;
}

}  // namespace wick::xnnpack
