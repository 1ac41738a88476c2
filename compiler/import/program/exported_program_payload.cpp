#include <fmt/format.h>

#include "common/checked.h"
#include "compiler/import/program/exported_program_reader.h"
#include "compiler/import/weights/tensor_extent.h"
#include "compiler/import/weights/tensor_pickle.h"
#include "compiler/support/limits.h"
#include "wick/tensor.h"

namespace wick::compiler::pt2 {
namespace {

struct PayloadMeta {
  std::string path_name;
  bool is_param = false;
  bool use_pickle = false;
  std::optional<TensorMeta> tensor_meta;
};

Status read(const Json& at, PayloadMeta& out) {
  return Fields(at)
      .required("path_name", out.path_name)
      .required("is_param", out.is_param)
      .required("use_pickle", out.use_pickle)
      .optional("tensor_meta", out.tensor_meta)
      .done();
}

Status literals(const Json& at, const std::vector<SymInt>& symbols, std::vector<int64_t>& out) {
  out.reserve(symbols.size());
  for (const SymInt& symbol : symbols) {
    if (!symbol.is_literal()) return at.corrupt("a stored tensor has a symbolic shape");
    if (symbol.value < 0)
      return at.corrupt(fmt::format("a stored tensor has a negative size or stride, {}", symbol.value));
    out.push_back(symbol.value);
  }
  return {};
}

// Adds the path of this value to a failure's message.
Status at_place(const Json& at, Status status) {
  if (!status.ok()) status.diag().message = at.path() + ": " + status.diag().message;
  return status;
}

Status fill_tensor(const Json& at, const TensorMeta& meta, Payload& out, uint64_t* expanded) {
  if (meta.layout != Layout::strided) {
    return at.error(Code::unsupported_model, "the tensor is sparse or in a private layout").with_help("store it dense");
  }
  if (meta.sizes.size() != meta.strides.size())
    return at.corrupt("the tensor has a different number of strides than of sizes");
  if (meta.sizes.size() > kMaxRank) {
    return at.error(Code::limit,
                    fmt::format("the tensor has {} dimensions; at most {} are read", meta.sizes.size(), kMaxRank));
  }
  if (!meta.storage_offset.is_literal() || meta.storage_offset.value < 0) {
    return at.corrupt("the tensor's storage offset is symbolic or negative");
  }
  out.dtype = meta.dtype;
  out.requires_grad = meta.requires_grad;
  out.storage_offset = meta.storage_offset.value;
  RETURN_IF_ERROR(literals(at, meta.sizes, out.sizes));
  RETURN_IF_ERROR(literals(at, meta.strides, out.strides));
  return at_place(at, check_extent(out, expanded));
}

class PayloadReader {
 public:
  PayloadReader(const Archive& archive, std::string_view folder, const ReadOptions& options,
                std::vector<std::string>& unchecked)
      : archive_(archive),
        folder_(fmt::format("data/{}/", folder)),
        tensor_prefix_(folder == "weights" ? "weight_" : "tensor_"),
        check_crc_(options.check_payload_crc),
        unchecked_(unchecked) {}

  Status read_one(const Json& at, Payload& out) {
    PayloadMeta meta;
    RETURN_IF_ERROR(read(at, meta));
    RETURN_IF_ERROR(locate(at, meta.path_name, out));
    out.is_param = meta.is_param;
    if (meta.path_name.starts_with("custom_obj_") || meta.path_name.starts_with("opaque_obj_")) {
      out.kind = Payload::Kind::object;
      return {};
    }
    if (!meta.path_name.starts_with(tensor_prefix_)) return unknown_alternative(at, meta.path_name);
    uint64_t expanded = 0;
    if (meta.use_pickle) {
      RETURN_IF_ERROR(read_pickled(at, out, &expanded));
    } else {
      if (!meta.tensor_meta) return at.corrupt("the field \"tensor_meta\" is missing");
      RETURN_IF_ERROR(fill_tensor(at, *meta.tensor_meta, out, &expanded));
    }
    // Overlapping strides (an expanded tensor) let few bytes stand for many.
    if (!checked_add<uint64_t>(expanded_bytes_, expanded, &expanded_bytes_) ||
        expanded_bytes_ > limits().expanded_bytes) {
      return over_limit(&Limits::expanded_bytes,
                        at.path() + ": the stored tensors stand for too many bytes that are not in the file")
          .note("a tensor expanded in forward() instead of stored expanded takes no memory");
    }
    return {};
  }

 private:
  Status locate(const Json& at, const std::string& path_name, Payload& out) {
    if (path_name.find('/') != std::string::npos) return at.corrupt("the path_name leaves its folder");
    const Entry* entry = archive_.find(folder_ + path_name);
    if (!entry) return at.corrupt(fmt::format("the archive has no entry \"{}{}\"", folder_, printable(path_name)));
    out.path_name = path_name;
    out.bytes = entry->data;
    if (!seen_.emplace(path_name, true).second || !check_crc_) return {};
    if (!entry->has_crc()) unchecked_.push_back(std::string(entry->name));
    return archive_.check_crc(*entry);
  }

  // Names may share a payload, so each pickle is read once. A pickle that Wick cannot read is an error only where it is
  // used.
  Status read_pickled(const Json& at, Payload& out, uint64_t* expanded) {
    const auto seen = pickles_.find(out.path_name);
    if (seen == pickles_.end()) {
      Payload payload = out;
      Status status = read_tensor_pickle(out.bytes, payload, expanded);
      if (!status.ok() && status.diag().code != Code::unsupported_model) return at_place(at, std::move(status));
      if (!status.ok()) {
        payload.kind = Payload::Kind::subclass;
        payload.refusal = status.diag().message;
      }
      pickles_[out.path_name] = std::move(payload);
    }
    const bool is_param = out.is_param;
    out = pickles_.at(out.path_name);
    out.is_param = is_param;
    return {};
  }

  const Archive& archive_;
  const std::string folder_;
  const std::string_view tensor_prefix_;
  const bool check_crc_;
  std::vector<std::string>& unchecked_;
  Map<bool> seen_;
  Map<Payload> pickles_;  // by path
  uint64_t expanded_bytes_ = 0;
};

}  // namespace

Status read_payloads(const Archive& archive, std::string_view model_name, std::string_view folder,
                     const ReadOptions& options, Map<Payload>& out, std::vector<std::string>& unchecked) {
  const std::string name = fmt::format("data/{}/{}_{}_config.json", folder, model_name, folder);
  const Entry* entry = archive.find(name);
  if (!entry) {
    return Diag(Code::corrupt_file, fmt::format("the archive has no entry \"{}\"", printable(name)))
        .with_help("save the model again with torch 2.9 or later");
  }
  RETURN_IF_ERROR(archive.check_crc(*entry));
  if (!entry->has_crc()) unchecked.push_back(name);
  const std::string shown = printable(name);
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(entry->data, shown));
  const Json root = document.root();
  simdjson::dom::object object;
  simdjson::dom::element config;
  if (root.element().get(object) != simdjson::SUCCESS || object.at_key("config").get(config) != simdjson::SUCCESS) {
    return root.corrupt("the field \"config\" is missing");
  }
  const Json at(config, root, "config");
  if (config.get(object) != simdjson::SUCCESS) return at.wrong_type("an object");
  PayloadReader reader(archive, folder, options, unchecked);
  for (const simdjson::dom::key_value_pair field : object) {
    RETURN_IF_ERROR(reader.read_one(Json(field.value, at, field.key), out[std::string(field.key)]));
  }
  return {};
}

}  // namespace wick::compiler::pt2
