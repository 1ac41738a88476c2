// Writes small zip archives for tests, as torch does or with one error.
#pragma once
#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wick/span.h"

namespace wick::compiler::pt2 {

/// One archive entry and what may be wrong with it.
struct TestEntry {
  std::string name;
  std::string data;
  uint16_t method = 0;
  uint16_t flags = 0x0808;
  bool has_crc = true;
  std::string local_name;  // "" = name
};

struct TestZip {
  std::vector<TestEntry> entries;
  bool zip64_end = true;
  bool zip64_sizes = false;  // sizes and offsets in zip64 fields, as for entries above 4 GiB
  std::string comment;

  TestZip& add(std::string name, std::string data) {
    TestEntry entry;
    entry.name = std::move(name);
    entry.data = std::move(data);
    entries.push_back(std::move(entry));
    return *this;
  }
  TestEntry& at(const std::string& name) {
    for (TestEntry& entry : entries) {
      if (entry.name == name) return entry;
    }
    return entries.at(entries.size());  // throws: the test named no entry
  }
  TestZip& remove(const std::string& name) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].name == name) entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return *this;
  }

  std::string bytes() const {
    std::string out, directory;
    for (const TestEntry& entry : entries) {
      const uint64_t offset = out.size(), size = entry.data.size();
      const auto* data = reinterpret_cast<const Bytef*>(entry.data.data());
      const uint64_t crc = entry.has_crc ? crc32_z(0, data, entry.data.size()) : 0;
      const std::string& local = entry.local_name.empty() ? entry.name : entry.local_name;
      put(out, {{0x04034b50, 4},
                {0, 2},
                {entry.flags, 2},
                {entry.method, 2},
                {0, 4},
                {0, 4},
                {0, 4},
                {0, 4},
                {local.size(), 2}});
      const uint64_t padding = (64 - (out.size() + 2 + local.size() + 4) % 64) % 64;
      put(out, {{padding + 4, 2}});
      out += local;
      put(out, {{0x4246, 2}, {padding, 2}});
      out += std::string(padding, 'Z') + entry.data;
      put(out, {{0x08074b50, 4}, {crc, 4}, {size, 4}, {size, 4}});
      const uint64_t field = zip64_sizes ? 0xffffffff : 0;
      put(directory, {{0x02014b50, 4},
                      {0, 4},
                      {entry.flags, 2},
                      {entry.method, 2},
                      {0, 4},
                      {crc, 4},
                      {field ? field : size, 4},
                      {field ? field : size, 4},
                      {entry.name.size(), 2},
                      {field ? 28u : 0u, 2},
                      {0, 2},
                      {0, 2},
                      {0, 2},
                      {0, 4},
                      {field ? field : offset, 4}});
      directory += entry.name;
      if (field) put(directory, {{1, 2}, {24, 2}, {size, 8}, {size, 8}, {offset, 8}});
    }
    const uint64_t start = out.size(), count = entries.size();
    out += directory;
    if (zip64_end) {
      const uint64_t end64 = out.size();
      put(out, {{0x06064b50, 4},
                {44, 8},
                {0x31e, 2},
                {45, 2},
                {0, 4},
                {0, 4},
                {count, 8},
                {count, 8},
                {directory.size(), 8},
                {start, 8}});
      put(out, {{0x07064b50, 4}, {0, 4}, {end64, 8}, {1, 4}});
    }
    put(out, {{0x06054b50, 4},
              {0, 2},
              {0, 2},
              {count, 2},
              {count, 2},
              {directory.size(), 4},
              {start, 4},
              {comment.size(), 2}});
    return out + comment;
  }

 private:
  static void put(std::string& out, const std::vector<std::pair<uint64_t, int>>& fields) {
    for (const auto& [value, count] : fields) {
      for (int i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i));
    }
  }
};

inline Span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// The JSON of `y = relu(linear(x, w)) + b` with a [s, 2] input; `w` is a parameter, `b` a buffer, `c` an unused
/// constant.
inline std::string test_program_json() {
  const auto meta = [](const std::string& sizes, const std::string& strides) {
    return R"({"dtype": 7, "sizes": [)" + sizes +
           R"(], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [)" + strides +
           R"(], "storage_offset": {"as_int": 0}, "layout": 7})";
  };
  const std::string dynamic =
      R"json({"as_expr": {"expr_str": "Symbol('s7', positive=True, integer=True)", "hint": {"as_int": 4}}}, {"as_int": 2})json";
  const std::string row = R"({"as_int": 2}, {"as_int": 1})", x = meta(dynamic, row);
  return R"({"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "b_b"}}, {"as_tensor": {"name": "c_c"}}, {"as_tensor": {"name": "x"}}],
"outputs": [{"as_tensor": {"name": "add"}}],
"nodes": [
{"target": "torch.ops.aten.linear.default", "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, {"name": "weight", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "linear"}}],
 "metadata": {"nn_module_stack": "L__self__,,m.Net;L__self__fc,fc,torch.nn.modules.linear.Linear", "stack_trace": "File \"/home/u/m.py\", line 12, in forward\n    return self.fc(x)\nFile \"/v/torch/nn/modules/linear.py\", line 9, in forward\n    return F.linear(x)\n"}, "is_hop_single_tensor_return": null, "name": "linear"},
{"target": "torch.ops.aten.add.Tensor", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}, "kind": 1}, {"name": "other", "arg": {"as_tensor": {"name": "b_b"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}, "is_hop_single_tensor_return": null, "name": "add"}],
"tensor_values": {"p_w": )" +
         meta(R"({"as_int": 2}, {"as_int": 2})", row) + R"(, "b_b": )" + meta(R"({"as_int": 2})", R"({"as_int": 1})") +
         R"(, "c_c": )" + meta(R"({"as_int": 3}, {"as_int": 2})", R"({"as_int": 0}, {"as_int": 1})") + R"(, "x": )" +
         x + R"(, "linear": )" + x + R"(, "add": )" + x + R"(},
"sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}},
"signature": {"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}, {"buffer": {"arg": {"name": "b_b"}, "buffer_name": "b", "persistent": true}}, {"tensor_constant": {"arg": {"name": "c_c"}, "tensor_constant_name": "c"}}, {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
"output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}]},
"module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "[1, I]", "out_spec": "[1, O]", "forward_arg_names": ["x"]}}, {"fqn": "fc", "signature": null}], "metadata": {}, "treespec_namedtuple_fields": {}},
"opset_version": {"aten": 10}, "range_constraints": {"s7": {"min_val": 2, "max_val": null}}, "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.15.0", "guards_code": []})";
}

inline std::string test_payload_json(const std::string& path, bool is_param, const std::string& sizes,
                                     const std::string& strides, int offset = 0) {
  return R"({"path_name": ")" + path + R"(", "is_param": )" + (is_param ? "true" : "false") +
         R"(, "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [)" + sizes +
         R"(], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [)" + strides +
         R"(], "storage_offset": {"as_int": )" + std::to_string(offset) + R"(}, "layout": 7}})";
}

/// A complete archive around test_program_json(), under the folder "m".
inline TestZip test_archive() {
  const std::string two = R"({"as_int": 2})", one = R"({"as_int": 1})";
  TestZip zip;
  zip.add("m/data/weights/weight_0", std::string(16, '\1'));
  zip.add("m/data/weights/weight_1", std::string(12, '\2'));
  zip.add("m/data/weights/model_weights_config.json",
          R"({"config": {"w": )" + test_payload_json("weight_0", true, two + ", " + two, two + ", " + one) +
              R"(, "b": )" + test_payload_json("weight_1", false, two, one, 1) + "}}");
  zip.add("m/data/constants/tensor_0", std::string(8, '\3'));
  zip.add(
      "m/data/constants/model_constants_config.json",
      R"({"config": {"c": )" +
          test_payload_json("tensor_0", false, R"({"as_int": 3}, {"as_int": 2})", R"({"as_int": 0}, {"as_int": 1})") +
          "}}");
  zip.add("m/models/model.json", test_program_json());
  zip.add("m/data/sample_inputs/model.pt", "");
  zip.add("m/archive_format", "pt2").add("m/archive_version", "0");
  zip.add("m/.data/version", "6\n").add("m/byteorder", "little");
  return zip;
}

}  // namespace wick::compiler::pt2
