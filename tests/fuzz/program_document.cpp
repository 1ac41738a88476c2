#include "tests/fuzz/program_document.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler/import/archive/archive_test_writer.h"
#include "compiler/import/program/exported_program.h"
#include "wick/dtype.h"

namespace wick::fuzz {
namespace {

using Kind = JsonTree::Kind;

JsonTree object() {
  JsonTree tree;
  tree.kind = Kind::object;
  return tree;
}

std::optional<JsonTree> entry(const compiler::pt2::Archive& archive, const std::string& name) {
  const compiler::pt2::Entry* found = archive.find(name);
  if (!found) return std::nullopt;
  return parse_json({reinterpret_cast<const char*>(found->data.data()), found->data.size()});
}

void strip_metadata(JsonTree& tree) {
  for (size_t i = 0; i < tree.items.size(); ++i) {
    if (i < tree.keys.size() && tree.keys[i] == "metadata")
      tree.items[i] = object();
    else
      strip_metadata(tree.items[i]);
  }
}

// The numbers of a list of {"as_int": n}.
std::vector<uint64_t> literals(const JsonTree* list) {
  std::vector<uint64_t> out;
  for (const JsonTree& item : list ? list->items : std::vector<JsonTree>()) {
    const JsonTree* number = item.find("as_int");
    out.push_back(number ? static_cast<uint64_t>(number->integer) : 0);
  }
  return out;
}

// Element sizes by the schema's numbers.
uint64_t element_bytes(int64_t dtype) {
  static constexpr uint8_t kBytes[] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 2};
  return dtype >= 0 && dtype < static_cast<int64_t>(sizeof kBytes) ? kBytes[dtype] : 8;
}

std::string payload(const JsonTree& config) {
  const JsonTree* meta = config.find("tensor_meta");
  if (!meta) return std::string(16, '\1');
  const JsonTree* dtype = meta->find("dtype");
  const JsonTree* offset = meta->find("storage_offset");
  const auto sizes = literals(meta->find("sizes")), strides = literals(meta->find("strides"));
  uint64_t last = offset && offset->find("as_int") ? static_cast<uint64_t>(offset->find("as_int")->integer) : 0;
  for (size_t i = 0; i < sizes.size() && i < strides.size(); ++i) last += (sizes[i] - 1) * strides[i];
  const int64_t type = dtype ? dtype->integer : 7;
  const uint64_t item = element_bytes(type);
  const uint64_t count = std::min(last + 1, kMaxPayloadBytes / item);
  std::string bytes(count * item, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const float small = static_cast<float>(static_cast<int>(i % 17) - 8) / 8;
    const double wide = small;
    const uint16_t half = 0x3c00;
    if (type == 7) memcpy(&bytes[i * 4], &small, 4);
    if (type == 8) memcpy(&bytes[i * 8], &wide, 8);
    if (type == 6 || type == 13) memcpy(&bytes[i * 2], &half, 2);
    if (type <= 5 || type == 12) bytes[i * item] = static_cast<char>(type == 12 ? i % 2 : i % 3);
  }
  return bytes;
}

void add_payloads(const JsonTree* configs, const std::string& folder, compiler::pt2::TestZip& zip) {
  const JsonTree* config = configs ? configs->find("config") : nullptr;
  std::map<std::string, std::string> payloads;
  for (const JsonTree& each : config ? config->items : std::vector<JsonTree>()) {
    const JsonTree* path = each.find("path_name");
    if (!path || path->kind != Kind::string || path->string.empty() || path->string.size() > 100) continue;
    std::string bytes = payload(each);
    std::string& kept = payloads[path->string];
    if (bytes.size() > kept.size()) kept = std::move(bytes);
  }
  for (auto& [name, bytes] : payloads) zip.add("m/data/" + folder + "/" + name, std::move(bytes));
}

// --- mutation ---

struct Place {
  JsonTree* tree;
  std::string_view key;  // of the nearest object field
};

void collect(JsonTree& tree, std::string_view key, std::vector<Place>& places) {
  places.push_back({&tree, key});
  for (size_t i = 0; i < tree.items.size(); ++i)
    collect(tree.items[i], tree.kind == Kind::object ? std::string_view(tree.keys[i]) : key, places);
}

JsonTree text(std::string value) {
  JsonTree tree;
  tree.kind = Kind::string;
  tree.string = std::move(value);
  return tree;
}

const std::vector<std::string>& targets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const char* name : {"_operator.add", "_operator.mul", "_operator.floordiv", "_operator.mod", "_operator.lt",
                             "torch.sym_max", "torch.sym_not", "math.ceil"})
      out.push_back(name);
    return out;
  }();
  return names;
}

const char* const kExpressions[] = {
    "Symbol('s0', positive=True, integer=True)",
    "Add(Symbol('s0', integer=True), Integer(-1))",
    "Mul(Integer(4), Symbol('s1', integer=True))",
    "FloorDiv(Symbol('s0', integer=True), Integer(0))",
    "Pow(Integer(9), Integer(9999999))",
    "Mod(Symbol('s0', integer=True), Symbol('s1', integer=True))",
    "Max(Integer(1), Symbol('u0', integer=True))",
    "Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u0', integer=True), Integer(1))))",
    "Integer(9223372036854775807)",
    "Mul(Integer(9223372036854775807), Symbol('s0', integer=True))",
    "int_oo",
    "Symbol('u0', integer=True)",
};

// Another alternative of a union: the key changes, and its value to what fits that key elsewhere or to something small.
void change_union(JsonTree& tree, const std::vector<Place>& places, Random& random) {
  const Place& other = places[random.below(places.size())];
  if (other.tree->kind == Kind::object && other.tree->keys.size() == 1 && other.tree->keys[0].starts_with("as_")) {
    const JsonTree copy = *other.tree;
    tree = copy;
    return;
  }
  static const char* const kKeys[] = {
      "as_none",      "as_int",     "as_bool",        "as_float",  "as_string", "as_ints",     "as_sym_int",
      "as_tensor",    "as_tensors", "as_scalar_type", "as_floats", "as_expr",   "as_sym_ints", "as_optional_tensors",
      "as_sym_float", "as_sym_bool"};
  tree.keys[0] = kKeys[random.below(std::size(kKeys))];
}

void change_string(JsonTree& tree, std::string_view key, const std::vector<Place>& places, Random& random) {
  if (key == "expr_str" && random.one_in(2)) {
    tree.string = kExpressions[random.below(std::size(kExpressions))];
    return;
  }
  if (key == "target" && random.one_in(8)) {
    tree.string = targets()[random.below(targets().size())];
    return;
  }
  for (int tries = 0; tries < 200; ++tries) {
    const Place& other = places[random.below(places.size())];
    if (other.tree->kind != Kind::string || (other.key != key && tries < 150)) continue;
    const std::string copy = other.tree->string;
    tree.string = copy;
    return;
  }
}

void change_json_list(JsonTree& tree, const std::vector<Place>& places, std::string_view key, Random& random) {
  std::vector<JsonTree>& items = tree.items;
  const size_t at = random.below(items.size());
  switch (random.below(6)) {
    case 0:
      if (!items.empty()) items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      if (!items.empty()) items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), JsonTree(items[at]));
      return;
    case 2:
      if (!items.empty()) std::swap(items[at], items[random.below(items.size())]);
      return;
    case 3: items.clear(); return;
    case 4: std::reverse(items.begin(), items.end()); return;
    default: break;
  }
  for (int tries = 0; tries < 100; ++tries) {
    const Place& other = places[random.below(places.size())];
    if (other.tree->kind != Kind::list || other.key != key || other.tree->items.empty()) continue;
    const JsonTree copy = other.tree->items[random.below(other.tree->items.size())];
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), copy);
    return;
  }
}

void change_object(JsonTree& tree, const std::vector<Place>& places, Random& random) {
  if (tree.keys.empty()) return;
  if (tree.keys.size() == 1 && tree.keys[0].starts_with("as_")) return change_union(tree, places, random);
  const size_t at = random.below(tree.keys.size());
  if (random.one_in(3)) {
    tree.keys.erase(tree.keys.begin() + static_cast<std::ptrdiff_t>(at));
    tree.items.erase(tree.items.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  for (int tries = 0; tries < 100; ++tries) {
    const Place& other = places[random.below(places.size())];
    const JsonTree* same = other.tree->kind == Kind::object ? other.tree->find(tree.keys[at]) : nullptr;
    if (!same || same == &tree.items[at]) continue;
    const JsonTree copy = *same;
    tree.items[at] = copy;
    return;
  }
}

void mutate_once(JsonTree& document, Random& random) {
  std::vector<Place> places;
  collect(document, "", places);
  const Place place = places[random.below(places.size())];
  JsonTree& tree = *place.tree;
  switch (tree.kind) {
    case Kind::null: tree = text("x"); return;
    case Kind::boolean: tree.boolean = !tree.boolean; return;
    case Kind::integer: tree.integer = random.number(tree.integer); return;
    case Kind::real: {
      static constexpr double kEdges[] = {0, -0.0, 1, -1, 0.5, 1e-320, 1e308, -1e308, 1e10, 2147483648.0};
      tree.real = kEdges[random.below(std::size(kEdges))];
      return;
    }
    case Kind::string: return change_string(tree, place.key, places, random);
    case Kind::list: return change_json_list(tree, places, place.key, random);
    case Kind::object: return change_object(tree, places, random);
  }
}

}  // namespace

std::optional<JsonTree> document_of(const compiler::pt2::Archive& archive) {
  const auto names = compiler::pt2::model_names(archive);
  if (!names.ok() || names->size() != 1) return std::nullopt;
  const std::string& name = names->front();
  auto program = entry(archive, "models/" + name + ".json");
  auto weights = entry(archive, "data/weights/" + name + "_weights_config.json");
  auto constants = entry(archive, "data/constants/" + name + "_constants_config.json");
  if (!program || !weights || !constants) return std::nullopt;
  strip_metadata(*program);
  JsonTree document = object();
  document.keys = {"program", "weights", "constants"};
  document.items = {std::move(*program), std::move(*weights), std::move(*constants)};
  return document;
}

std::string archive_of(const JsonTree& document) {
  compiler::pt2::TestZip zip;
  const auto text_of = [&](const char* key) {
    const JsonTree* part = document.find(key);
    return part ? part->text() : std::string("null");
  };
  add_payloads(document.find("weights"), "weights", zip);
  zip.add("m/data/weights/model_weights_config.json", text_of("weights"));
  add_payloads(document.find("constants"), "constants", zip);
  zip.add("m/data/constants/model_constants_config.json", text_of("constants"));
  zip.add("m/models/model.json", text_of("program"));
  zip.add("m/archive_format", "pt2").add("m/archive_version", "0").add("m/byteorder", "little");
  return zip.bytes();
}

void mutate(JsonTree& document, Random& random) {
  for (size_t count = 1 + random.below(4); count > 0; --count) mutate_once(document, random);
}

}  // namespace wick::fuzz
