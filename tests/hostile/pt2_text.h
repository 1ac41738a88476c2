// Exported programs written by hand: the JSON of nodes, types and signatures.
#pragma once
#include <string>
#include <vector>

#include "compiler/import/archive/archive_test_writer.h"

namespace wick::testing {

inline std::string as_int(const std::string& n) { return R"({"as_int":)" + n + "}"; }
inline std::string tensor(const std::string& name) { return R"({"as_tensor":{"name":")" + name + R"("}})"; }
inline std::string tensors(const std::vector<std::string>& names) {
  std::string out = R"({"as_tensors":[)";
  for (size_t i = 0; i < names.size(); ++i) out += (i ? "," : "") + (R"({"name":")" + names[i] + R"("})");
  return out + "]}";
}
inline std::string ints(const std::vector<std::string>& numbers) {
  std::string out = R"({"as_ints":[)";
  for (size_t i = 0; i < numbers.size(); ++i) out += (i ? "," : "") + numbers[i];
  return out + "]}";
}
/// `sizes` are JSON of SymInts.
inline std::string meta(const std::vector<std::string>& sizes, int dtype = 7) {
  std::string list, strides;
  for (size_t i = 0; i < sizes.size(); ++i) {
    list += (i ? "," : "") + sizes[i];
    strides += (i ? "," : "") + as_int("1");
  }
  return R"({"dtype":)" + std::to_string(dtype) + R"(,"sizes":[)" + list +
         R"(],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[)" + strides +
         R"(],"storage_offset":{"as_int":0},"layout":7})";
}
inline std::string expr(const std::string& text) { return R"({"as_expr":{"expr_str":")" + text + R"(","hint":null}})"; }

/// A graph being written; every value is added with its type.
struct GraphText {
  std::string inputs, outputs, nodes, types, syms;

  void input(const std::string& name, const std::string& type) {
    inputs += (inputs.empty() ? "" : ",") + tensor(name);
    value(name, type);
  }
  void value(const std::string& name, const std::string& type) {
    types += (types.empty() ? "" : ",") + ("\"" + name + "\":" + type);
  }
  /// `args` alternates names and JSON.
  void node(const std::string& target, const std::vector<std::string>& args, const std::string& name,
            const std::string& type) {
    std::string list;
    for (size_t i = 0; i + 1 < args.size(); i += 2)
      list += (i ? "," : "") + (R"({"name":")" + args[i] + R"(","arg":)" + args[i + 1] + R"(,"kind":1})");
    nodes +=
        (nodes.empty() ? "" : ",") + (R"({"target":"torch.ops.)" + target + R"(","inputs":[)" + list +
                                      R"(],"outputs":[)" + tensor(name) + R"(],"metadata":{},"name":")" + name + "\"}");
    value(name, type);
  }
  void output(const std::string& name) { outputs += (outputs.empty() ? "" : ",") + tensor(name); }
  std::string text() const {
    return R"({"inputs":[)" + inputs + R"(],"outputs":[)" + outputs + R"(],"nodes":[)" + nodes +
           R"(],"tensor_values":{)" + types + R"(},"sym_int_values":{)" + syms +
           R"(},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},"sym_float_values":{}})";
  }
};

struct ProgramText {
  GraphText graph;
  std::string ranges;
  std::vector<std::string> user_inputs, user_outputs;  // names

  void input(const std::string& name, const std::string& type) {
    graph.input(name, type);
    user_inputs.push_back(name);
  }
  void output(const std::string& name) {
    graph.output(name);
    user_outputs.push_back(name);
  }
  std::string json() const {
    std::string in, out;
    for (const std::string& name : user_inputs)
      in += (in.empty() ? "" : ",") + (R"({"user_input":{"arg":)" + tensor(name) + "}}");
    for (const std::string& name : user_outputs)
      out += (out.empty() ? "" : ",") + (R"({"user_output":{"arg":)" + tensor(name) + "}}");
    return R"({"graph_module":{"graph":)" + graph.text() + R"(,"signature":{"input_specs":[)" + in +
           R"(],"output_specs":[)" + out +
           R"(]},"module_call_graph":[],"metadata":{}},"opset_version":{"aten":10},"range_constraints":{)" + ranges +
           R"(},"schema_version":{"major":8,"minor":20},"verifiers":["TRAINING"],"torch_version":"2.15.0","guards_code":[]})";
  }
};

inline std::string pt2_of(const std::string& program_json, const std::string& weights = "",
                          const std::string& data = "") {
  compiler::pt2::TestZip zip;
  if (!data.empty()) zip.add("m/data/weights/weight_0", data);
  zip.add("m/data/weights/model_weights_config.json", R"({"config":{)" + weights + "}}");
  zip.add("m/data/constants/model_constants_config.json", R"({"config":{}})");
  zip.add("m/models/model.json", program_json);
  zip.add("m/archive_format", "pt2").add("m/archive_version", "0").add("m/byteorder", "little");
  return zip.bytes();
}

}  // namespace wick::testing
