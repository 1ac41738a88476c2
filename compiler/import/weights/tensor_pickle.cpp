#include "compiler/import/weights/tensor_pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "common/checked.h"
#include "compiler/import/damage.h"
#include "compiler/import/weights/pickle.h"
#include "compiler/import/weights/tensor_extent.h"
#include "wick/tensor.h"

namespace wick::compiler::pt2 {
namespace {

using Kind = PickleObject::Kind;

// --- what a pickle may name ---

struct StorageType {
  std::string_view name;
  DType dtype;
};
constexpr StorageType kStorageTypes[] = {
    {"BFloat16Storage", DType::bf16}, {"BoolStorage", DType::boolean}, {"ByteStorage", DType::u8},
    {"CharStorage", DType::i8},       {"DoubleStorage", DType::f64},   {"FloatStorage", DType::f32},
    {"HalfStorage", DType::f16},      {"IntStorage", DType::i32},      {"LongStorage", DType::i64},
    {"ShortStorage", DType::i16},
};

struct DtypeName {
  std::string_view name;
  DType dtype;
};
constexpr DtypeName kDtypes[] = {
    {"bfloat16", DType::bf16},      {"bool", DType::boolean}, {"float16", DType::f16},
    {"float32", DType::f32},        {"float64", DType::f64},  {"float8_e4m3fn", DType::f8e4m3fn},
    {"float8_e5m2", DType::f8e5m2}, {"int16", DType::i16},    {"int32", DType::i32},
    {"int64", DType::i64},          {"int8", DType::i8},      {"uint16", DType::u16},
    {"uint32", DType::u32},         {"uint64", DType::u64},   {"uint8", DType::u8},
};
// Dtypes that weights are quantized to; no tensor has such elements.
constexpr std::string_view kNarrowDtypes[] = {"int1",  "int2",  "int3",  "int4",  "int5",  "int6",  "int7",
                                              "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7"};

struct Global {
  std::string_view module, name;
};
constexpr Global kTorch[] = {
    {"collections", "OrderedDict"},
    {"torch", "Size"},
    {"torch", "device"},
    {"torch._tensor", "_rebuild_from_type_v2"},
    {"torch._utils", "_rebuild_parameter"},
    {"torch._utils", "_rebuild_parameter_with_state"},
    {"torch._utils", "_rebuild_tensor_v2"},
    {"torch._utils", "_rebuild_tensor_v3"},
    {"torch._utils", "_rebuild_wrapper_subclass"},
    {"torch.serialization", "_get_layout"},
    {"torch.storage", "UntypedStorage"},
};

// torchao's tensor classes whose state holds exactly their attributes, and the classes that describe them. Their
// modules differ between releases.
constexpr std::string_view kSubclasses[] = {
    "AffineQuantizedTensor",           "Int8Tensor",         "IntxUnpackedToInt8Tensor",
    "LinearActivationQuantizedTensor", "PlainAQTTensorImpl", "QDQTensorImpl",
};
constexpr std::string_view kDescriptions[] = {
    "IntxUnpackedToInt8TensorActivationQuantization",
    "MappingType",
    "PerAxis",
    "PerGroup",
    "PerRow",
    "PerTensor",
    "PerToken",
    "PlainLayout",
    "QDQLayout",
    "QuantizeTensorToInt8Kwargs",
    "ZeroPointDomain",
    "_int8_asymm_per_token_quant",
    "_int8_symm_per_token_quant",
    "_int8_symm_per_token_reduced_range_quant",
    "_int8_symm_per_token_reduced_range_quant_noop_decode",
};

template <typename Table, typename Name>
bool has(const Table& table, Name name) {
  return std::find(std::begin(table), std::end(table), name) != std::end(table);
}
template <typename Row, size_t N>
const Row* row_of(const Row (&table)[N], std::string_view name) {
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Row& row) { return row.name == name; });
  return found == std::end(table) ? nullptr : found;
}

bool is_torchao(std::string_view module) { return module == "torchao" || module.starts_with("torchao."); }

bool is_known(std::string_view module, std::string_view name) {
  for (const Global& global : kTorch) {
    if (global.module == module && global.name == name) return true;
  }
  if (module == "torch") return row_of(kStorageTypes, name) || row_of(kDtypes, name) || has(kNarrowDtypes, name);
  return is_torchao(module) && (has(kSubclasses, name) || has(kDescriptions, name));
}

[[noreturn]] void unsupported(std::string message) { fail(Code::unsupported_model, std::move(message)); }

// --- from objects to tensors ---

class Builder {
 public:
  Builder(const std::vector<Entry>& files, const Pickle& pickle, std::string_view path_name)
      : files_(files), pickle_(pickle), path_name_(path_name) {}

  uint64_t expanded() const { return expanded_; }

  // The tensor that `index` describes; is_param stays as it is.
  void tensor(uint32_t index, Payload& out) {
    if (++depth_ > kMaxDepth) fail_corrupt("a pickled tensor holds others more than eight deep");
    const PickleObject& call = pickle_[index];
    const std::string_view name = callable(call);
    const std::vector<uint32_t>& arguments = arguments_of(call);
    if (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") {
      tensor(argument(arguments, 0), out);
    } else if (name == "_rebuild_tensor_v2") {
      plain_tensor(arguments, 6, std::nullopt, out);
    } else if (name == "_rebuild_tensor_v3") {
      const std::string_view dtype = pickle_[argument(arguments, 6)].name;
      const DtypeName* row = row_of(kDtypes, dtype);
      if (!row) unsupported(fmt::format("a pickled tensor of dtype {}", printable(dtype)));
      plain_tensor(arguments, 7, row->dtype, out);
    } else if (name == "_rebuild_from_type_v2") {
      subclass(arguments, out);
    } else {
      fail_corrupt("a pickle holds no tensor");
    }
    --depth_;
  }

 private:
  static constexpr int kMaxDepth = 8;
  static constexpr size_t kMaxAttributes = 1024, kMaxTextBytes = 256;

  std::string_view callable(const PickleObject& call) const {
    return call.kind == Kind::call ? pickle_[call.items[0]].name : std::string_view();
  }
  const std::vector<uint32_t>& arguments_of(const PickleObject& call) const {
    if (call.kind != Kind::call) fail_corrupt("a pickle holds no tensor");
    return pickle_[call.items[1]].items;
  }
  uint32_t argument(const std::vector<uint32_t>& arguments, size_t i) const {
    if (i >= arguments.size()) fail_corrupt("a pickled tensor lacks an argument");
    return arguments[i];
  }
  int64_t integer(uint32_t index) const {
    if (pickle_[index].kind != Kind::integer || pickle_[index].integer < 0)
      fail_corrupt("a pickled tensor has something else for a size, stride or offset");
    return pickle_[index].integer;
  }
  // A tuple of integers, or torch.Size of one.
  std::vector<int64_t> integers(uint32_t index) const {
    if (callable(pickle_[index]) == "Size") index = argument(arguments_of(pickle_[index]), 0);
    if (pickle_[index].kind != Kind::tuple && pickle_[index].kind != Kind::list)
      fail_corrupt("a pickled tensor has something else for a size, stride or offset");
    if (pickle_[index].items.size() > kMaxRank)
      fail(Code::limit, fmt::format("a pickled tensor has {} dimensions; at most {} are read",
                                    pickle_[index].items.size(), kMaxRank));
    std::vector<int64_t> out;
    for (const uint32_t item : pickle_[index].items) out.push_back(integer(item));
    return out;
  }
  std::string_view text(uint32_t index) const {
    if (pickle_[index].kind != Kind::string) fail_corrupt("a pickled tensor has something else for a name");
    return pickle_[index].text;
  }

  // ("storage", type, key, location, number of elements); untyped ones count bytes.
  void storage(uint32_t index, std::optional<DType> dtype, Payload& out) const {
    if (pickle_[index].kind != Kind::stored) fail_corrupt("a pickled tensor has no storage");
    const std::vector<uint32_t>& id = pickle_[pickle_[index].items[0]].items;
    if (id.size() != 5 || text(id[0]) != "storage") fail_corrupt("a pickle refers to something that is not a storage");
    const std::string_view type = pickle_[id[1]].name;
    const StorageType* typed = row_of(kStorageTypes, type);
    if (!typed && (type != "UntypedStorage" || !dtype))
      unsupported(fmt::format("a pickled tensor with the storage {}", printable(type)));
    out.dtype = dtype ? *dtype : typed->dtype;
    const std::string name = fmt::format("data/{}", text(id[2]));
    const auto file = std::lower_bound(files_.begin(), files_.end(), name,
                                       [](const Entry& entry, const std::string& n) { return entry.name < n; });
    if (file == files_.end() || file->name != name)
      fail_corrupt(fmt::format("a pickled tensor's storage \"{}\" is not there", printable(name)));
    const uint64_t item = typed ? dtype_size_bytes(typed->dtype) : 1;
    uint64_t size = 0;
    if (!checked_mul<uint64_t>(static_cast<uint64_t>(integer(id[4])), item, &size) || size != file->data.size())
      fail_corrupt(fmt::format("a pickled tensor's storage has {} bytes instead of {} elements of {} bytes",
                               file->data.size(), integer(id[4]), item));
    out.bytes = file->data;
    out.path_name = fmt::format("{}/{}", path_name_, name);
  }

  // (storage, offset, sizes, strides, requires_grad, hooks, ..); `metadata` is where a dictionary may follow.
  void plain_tensor(const std::vector<uint32_t>& arguments, size_t metadata, std::optional<DType> dtype, Payload& out) {
    storage(argument(arguments, 0), dtype, out);
    out.kind = Payload::Kind::tensor;
    out.storage_offset = integer(argument(arguments, 1));
    out.sizes = integers(argument(arguments, 2));
    out.strides = integers(argument(arguments, 3));
    out.requires_grad = pickle_[argument(arguments, 4)].integer != 0;
    if (metadata < arguments.size() && !pickle_[arguments[metadata]].items.empty())
      unsupported("a pickled tensor is a conjugate or a negative view");
    if (out.sizes.size() != out.strides.size())
      fail_corrupt("a pickled tensor has a different number of strides than of sizes");
    uint64_t expanded = 0;
    throw_if_error(check_extent(out, &expanded));
    if (!checked_add<uint64_t>(expanded_, expanded, &expanded_)) fail(Code::limit, "a pickled tensor is too large");
  }

  // (_rebuild_wrapper_subclass, class, (class, dtype, sizes, strides, offset, layout, device, requires_grad), state)
  void subclass(const std::vector<uint32_t>& arguments, Payload& out) {
    const std::string_view function = pickle_[argument(arguments, 0)].name;
    const PickleObject& type = pickle_[argument(arguments, 1)];
    const bool known = type.kind == Kind::global && is_torchao(type.text) && has(kSubclasses, type.name);
    if (function != "_rebuild_wrapper_subclass" || !known)
      unsupported(fmt::format("its pickle rebuilds {}.{} with {}, which Wick does not know", printable(type.text),
                              printable(type.name), printable(function)));
    const std::vector<uint32_t>& outside = pickle_[argument(arguments, 2)].items;
    const DtypeName* dtype = row_of(kDtypes, pickle_[argument(outside, 1)].name);
    if (!dtype) unsupported("a tensor subclass without a dtype");
    out.kind = Payload::Kind::subclass;
    out.dtype = dtype->dtype;
    out.sizes = integers(argument(outside, 2));
    auto made = std::make_shared<Subclass>();
    made->class_name = std::string(type.name);
    attributes(argument(arguments, 3), "", *made);
    out.subclass = std::move(made);
  }

  // Reads a state key by key. Entries that are not data are left out.
  void attributes(uint32_t state, const std::string& prefix, Subclass& out) {
    if (pickle_[state].kind != Kind::dict) fail_corrupt("a pickled object's state is not a dictionary");
    const std::vector<uint32_t>& items = pickle_[state].items;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      // Objects may be shared, so a small pickle can describe a large tree.
      if (++attributes_ > kMaxAttributes) fail(Code::limit, "a pickled tensor has too many attributes");
      if (pickle_[items[i]].kind != Kind::string || pickle_[items[i]].text.size() > kMaxTextBytes) continue;
      const std::string key = prefix + std::string(pickle_[items[i]].text);
      if (out.tensors.count(key) || out.attributes.count(key))
        fail_corrupt(fmt::format("a pickled object has two attributes \"{}\"", printable(key)));
      attribute(items[i + 1], key, out);
    }
  }

  void attribute(uint32_t index, const std::string& key, Subclass& out) {
    const PickleObject& value = pickle_[index];
    switch (value.kind) {
      case Kind::boolean: out.attributes[key] = value.integer != 0; return;
      case Kind::integer: out.attributes[key] = value.integer; return;
      case Kind::string:
        if (value.text.size() <= kMaxTextBytes) out.attributes[key] = std::string(value.text);
        return;
      case Kind::global: out.attributes[key] = std::string(value.name); return;
      case Kind::tuple:
      case Kind::list:
        if (is_integers(value)) out.attributes[key] = integers_of(value);
        return;
      case Kind::instance:  // a record: its class, and its fields behind a dot
        out.attributes[key] = std::string(pickle_[value.items[0]].name);
        if (value.items.size() == 2) return;
        if (++depth_ > kMaxDepth) fail_corrupt("a pickled tensor holds objects more than eight deep");
        attributes(value.items[2], key + ".", out);
        --depth_;
        return;
      case Kind::call: return made(index, key, out);
      default: return;
    }
  }

  bool is_integers(const PickleObject& list) const {
    return list.items.size() <= kMaxRank && std::all_of(list.items.begin(), list.items.end(), [&](uint32_t item) {
             return pickle_[item].kind == Kind::integer;
           });
  }
  std::vector<int64_t> integers_of(const PickleObject& list) const {
    std::vector<int64_t> out;
    for (const uint32_t item : list.items) out.push_back(pickle_[item].integer);
    return out;
  }

  // The result of a call: a tensor, a torch.Size or an enumerator (its value). Any other result is left out: plain data
  // cannot express it.
  void made(uint32_t index, const std::string& key, Subclass& out) {
    const std::string_view name = callable(pickle_[index]);
    if (name.starts_with("_rebuild_")) return tensor(index, out.tensors[key]);
    const std::vector<uint32_t>& arguments = arguments_of(pickle_[index]);
    if (name == "Size") {
      out.attributes[key] = integers(index);
    } else if (arguments.size() == 1 && pickle_[arguments[0]].kind != Kind::call) {
      attribute(arguments[0], key, out);
    }
  }

  const std::vector<Entry>& files_;
  const Pickle& pickle_;
  std::string_view path_name_;
  uint64_t expanded_ = 0;
  int depth_ = 0;
  size_t attributes_ = 0;
};

Payload read_payload(Span<const uint8_t> zip, std::string_view path_name, uint64_t* expanded) {
  const std::vector<Entry> files = value_or_throw(read_stored_zip(zip));
  const auto find = [&](std::string_view name) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const Entry& entry) { return entry.name == name; });
    return file == files.end() ? nullptr : &*file;
  };
  const Entry *order = find("byteorder"), *data = find("data.pkl");
  if (order && std::string_view(reinterpret_cast<const char*>(order->data.data()), order->data.size()) != "little")
    unsupported("a pickled tensor of a big-endian machine");
  if (!data) fail_corrupt("the archive of a pickled tensor has no data.pkl");
  const Pickle pickle = value_or_throw(read_pickle(data->data, is_known));
  Builder builder(files, pickle, path_name);
  Payload out;
  builder.tensor(pickle.root, out);
  *expanded = builder.expanded();
  return out;
}

}  // namespace

Status read_tensor_pickle(Span<const uint8_t> zip, Payload& out, uint64_t* expanded) {
  return catch_failure([&] {
    Payload payload = read_payload(zip, out.path_name, expanded);
    payload.is_param = out.is_param;
    if (payload.kind == Payload::Kind::subclass) payload.path_name = out.path_name;
    out = std::move(payload);
  });
}

}  // namespace wick::compiler::pt2
