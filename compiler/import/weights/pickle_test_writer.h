// Writes pickles opcode by opcode, and the torch.save archives around them, for tests.
#pragma once
#include <string>
#include <vector>

#include "compiler/import/archive/archive_test_writer.h"

namespace wick::compiler::pt2::pickled {

inline std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
inline std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

// Each of these leaves one object on the stack.
inline std::string integer(int64_t value) { return "J" + little(static_cast<uint64_t>(value), 4); }
inline std::string text(const std::string& value) { return "X" + little(value.size(), 4) + value; }
inline std::string truth(bool value) { return value ? "\x88" : "\x89"; }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) { return "(" + join(items) + "t"; }
inline std::string integers(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(integer(value));
  return tuple(items);
}
/// `items`: key, value, key, value ..
inline std::string dict(const std::vector<std::string>& items) { return "}(" + join(items) + "u"; }
inline std::string call(const std::string& function, const std::vector<std::string>& arguments) {
  return function + tuple(arguments) + "R";
}
inline std::string storage(const std::string& type, const std::string& key, int64_t count) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), integer(count)}) + "Q";
}
inline std::string tensor(const std::string& storage, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, int64_t offset = 0) {
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              {storage, integer(offset), integers(sizes), integers(strides), truth(false),
               call(global("collections", "OrderedDict"), {})});
}
inline std::string int8_tensor() { return global("torchao.quantization", "Int8Tensor"); }
inline std::string subclass(const std::string& type, const std::vector<int64_t>& sizes, const std::string& state) {
  const std::string layout = call(global("torch.serialization", "_get_layout"), {text("torch.strided")});
  return call(global("torch._tensor", "_rebuild_from_type_v2"),
              {global("torch._utils", "_rebuild_wrapper_subclass"), type,
               tuple({type, global("torch", "float32"), integers(sizes), integers({2, 1}), integer(0), layout,
                      call(global("torch", "device"), {text("cpu")}), truth(false)}),
               state});
}
inline std::string pickle(const std::string& object) { return "\x80\x02" + object + "."; }

/// An archive as torch.save writes it; storages "0", "1" .. hold `data`.
inline TestZip archive(const std::string& pickle, const std::vector<std::string>& data) {
  TestZip zip;
  zip.add("archive/data.pkl", pickle).add("archive/byteorder", "little");
  for (size_t i = 0; i < data.size(); ++i) zip.add("archive/data/" + std::to_string(i), data[i]);
  return zip.add("archive/version", "3\n");
}

/// An Int8Tensor of 2x2: qdata 1 2 3 4, one scale for each row, and two attributes.
inline std::string int8_weight() {
  return pickle(subclass(int8_tensor(), {2, 2},
                         dict({text("qdata"), tensor(storage("CharStorage", "0", 4), {2, 2}, {2, 1}), text("scale"),
                               tensor(storage("FloatStorage", "1", 2), {2, 1}, {1, 1}), text("block_size"),
                               integers({1, 2}), text("dtype"), global("torch", "float32"), text("zero_point"), "N"})));
}
inline std::vector<std::string> int8_data() { return {std::string("\1\2\3\4"), std::string(8, '\x3f')}; }

/// test_archive() with `file` as its parameter w.
inline TestZip program_around(const std::string& file) {
  TestZip zip = test_archive();
  zip.at("m/data/weights/weight_0").data = file;
  std::string& config = zip.at("m/data/weights/model_weights_config.json").data;
  const std::string plain = R"("use_pickle": false)";
  config.replace(config.find(plain), plain.size(), R"("use_pickle": true)");
  return zip;
}

}  // namespace wick::compiler::pt2::pickled
