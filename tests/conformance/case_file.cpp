#include "tests/conformance/case_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/import/program/exported_program_reader.h"
#include "tests/support/wanted_part.h"

namespace wick::conformance {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;
using compiler::pt2::Fields;
using compiler::pt2::Json;
using compiler::pt2::JsonDocument;

Result<std::string> unpack(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return Diag(Code::file_io, "cannot open " + path);
  std::string text;
  char block[1 << 16];
  int size = 0;
  while ((size = gzread(file, block, sizeof(block))) > 0) text.append(block, static_cast<size_t>(size));
  gzclose(file);
  if (size < 0) return Diag(Code::corrupt_file, "cannot unpack " + path);
  return text;
}

Status read_base64(const Json& at, std::vector<uint8_t>& out) {
  std::string text;
  RETURN_IF_ERROR(read(at, text));
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return at.corrupt("is not a base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<uint8_t>(bits >> count));
  }
  return {};
}

struct Base64 {
  std::vector<uint8_t> bytes;
};
Status read(const Json& at, Base64& out) { return read_base64(at, out.bytes); }

Status read(const Json& at, CaseTensor& out) {
  std::string dtype;
  std::vector<int64_t> sizes;
  std::optional<Base64> data;
  std::optional<int64_t> offset;
  std::optional<bool> conjugated;
  RETURN_IF_ERROR(Fields(at)
                      .required("dtype", dtype)
                      .required("sizes", sizes)
                      .required("strides", out.strides)
                      .optional("data", data)
                      .optional("offset", offset)
                      .optional("conj", conjugated)
                      .done());
  if (!dtype_from_name(dtype.data(), dtype.size(), &out.value.dtype)) return at.corrupt("names no dtype");
  out.value.sizes.assign(sizes.begin(), sizes.end());
  if (data) out.value.bytes = std::move(data->bytes);
  out.offset = offset.value_or(0);
  out.conjugated = conjugated.value_or(false);
  return {};
}

Status read(const Json& at, Expected& out) {
  ASSIGN_OR_RETURN(const compiler::pt2::Alternative one, read_union(at));
  const Json value(one.value, at, one.key);
  if (one.key == "tensor") {
    out.kind = Expected::Kind::tensor;
    return read(value, out.tensors.emplace_back());
  }
  if (one.key == "tensors") {
    out.kind = Expected::Kind::tensors;
    return compiler::pt2::read_list(value, out.tensors,
                                    [](const Json& item, CaseTensor& tensor) { return read(item, tensor); });
  }
  if (one.key == "none") return {};
  out.kind = Expected::Kind::number;
  out.number.tag = one.key == "int" ? Tag::integer : one.key == "float" ? Tag::real : Tag::boolean;
  if (one.key == "int") return compiler::pt2::read(value, out.number.integer);
  if (one.key == "float") return compiler::pt2::read(value, out.number.real);
  return compiler::pt2::read(value, out.number.boolean);
}

Status read(const Json& at, compiler::pt2::NamedArgument& out) {
  return Fields(at).required("name", out.name).required("arg", out.arg).done();
}

using Named = std::vector<std::pair<std::string, CaseTensor>>;
Status read_tensors(const Json& at, std::string_view key, Named& out) {
  simdjson::dom::object object;
  if (at.element()[key].get(object) != simdjson::SUCCESS) return {};
  for (const simdjson::dom::key_value_pair field : object) {
    out.emplace_back(std::string(field.key), CaseTensor());
    RETURN_IF_ERROR(read(Json(field.value, at, field.key), out.back().second));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : a.first < b.first;
  });
  return {};
}

template <typename T>
Status read_optional_list(const Json& at, std::string_view key, std::vector<T>& out) {
  simdjson::dom::element element;
  if (at.element()[key].get(element) != simdjson::SUCCESS) return {};
  return compiler::pt2::read_list(Json(element, at, key), out,
                                  [](const Json& item, T& value) { return read(item, value); });
}

Result<Case> read_case(const std::string& line) {
  ASSIGN_OR_RETURN(const JsonDocument document,
                   JsonDocument::parse({reinterpret_cast<const uint8_t*>(line.data()), line.size()}, "case"));
  const Json root = document.root();
  Case out;
  std::optional<bool> shape_only;
  std::optional<std::string> text;
  RETURN_IF_ERROR(Fields(root)
                      .required("op", out.op)
                      .optional("error", out.error)
                      .optional("shape_only", shape_only)
                      .optional("case", text)
                      .optional("never", out.never)
                      .done());
  out.text = text.value_or("");
  out.shape_only = shape_only.value_or(false);
  if (out.op.starts_with("torch.ops.")) out.op.erase(0, 10);
  RETURN_IF_ERROR(read_optional_list(root, "inputs", out.inputs));
  simdjson::dom::element inputs;
  if (root.element()["inputs"].get(inputs) == simdjson::SUCCESS) out.arguments = simdjson::minify(inputs);
  RETURN_IF_ERROR(read_tensors(root, "tensors", out.tensors));
  RETURN_IF_ERROR(read_tensors(root, "mutated", out.mutated));
  RETURN_IF_ERROR(read_optional_list(root, "expect", out.expect));
  RETURN_IF_ERROR(read_optional_list(root, "shares", out.shares));
  return out;
}

}  // namespace

bool is_part_wanted() { return std::getenv("WICK_CASES_PART"); }  // NOLINT(concurrency-mt-unsafe)

Result<std::vector<Case>> read_cases(const std::string& folder, const std::string& family) {
  const std::optional<testing::Part> part = testing::wanted_part();
  if (!part) return compiler::Diag(compiler::Code::usage, "WICK_CASES_PART is not like 3/16, or there is no such part");
  ASSIGN_OR_RETURN(const std::string text, unpack(fmt::format("{}/{}.cases.gz", folder, family)));
  std::vector<Case> cases;
  size_t number = 0, index = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || !part->has(index++)) continue;
    auto one = read_case(line);
    if (!one.ok()) return std::move(one.diag()).note(fmt::format("{} line {}", family, number));
    one->family = family;
    one->line = number;
    cases.push_back(std::move(*one));
  }
  return cases;
}

Result<std::map<std::string, std::vector<Case>>> first_cases(const std::string& folder, size_t most) {
  std::map<std::string, std::vector<Case>> out;
  for (const char* family : kFamilies) {
    ASSIGN_OR_RETURN(std::vector<Case> cases, read_cases(folder, family));
    for (Case& test : cases) {
      std::vector<Case>& list = out[test.op];
      if (!test.error && list.size() < most) list.push_back(std::move(test));
    }
  }
  return out;
}

}  // namespace wick::conformance
