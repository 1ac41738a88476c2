#include "compiler/plan/input_numbers.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

constexpr int64_t kMaxInputElements = 64;

// The positions of those elements of the input that a value holds, in row-major order; [] if they are unknown.
using Places = std::vector<size_t>;

std::optional<int64_t> known(const Node& node, std::string_view name, int64_t otherwise) {
  if (node.is_none(name)) return otherwise;
  const Sym number = node.integer(name);
  return number.is_const() ? std::optional(number.value()) : std::nullopt;
}

// The positions in a slice or element of a vector.
Places picked(const Node& node, const Places& from) {
  const auto size = static_cast<int64_t>(from.size());
  const auto wrapped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  if (node.is(Movement::select)) {
    const auto at = known(node, "index", 0);
    return at && wrapped(*at) < size ? Places{from[static_cast<size_t>(wrapped(*at))]} : Places();
  }
  const auto start = known(node, "start", 0), end = known(node, "end", size), step = known(node, "step", 1);
  if (!start || !end || !step || *step < 1) return {};
  Places out;
  const int64_t stop = wrapped(*end);
  for (int64_t at = wrapped(*start); at < stop; at += std::min(*step, stop - at))
    out.push_back(from[static_cast<size_t>(at)]);
  return out;
}

class Search {
 public:
  explicit Search(InputNumbers* found) : found_(*found) {}

  // Follows conversions and views, without recursion because a file may chain any number of them.
  void follow(const Value& input, Places held) {
    std::vector<Holder> left;
    left.push_back({&input, std::move(held)});
    while (!left.empty()) {
      const Holder holder = std::move(left.back());
      left.pop_back();
      for (const Node* user : holder.value->users()) {
        note_index(*user, *holder.value);
        if (user->is("aten._local_scalar_dense.default")) {
          note_number(holder.places, user->result()->type.expr);
        } else if (keeps_integers(*user)) {
          left.push_back({user->result(), places_in(*user, holder.places)});
        }
      }
    }
  }

 private:
  struct Holder {
    const Value* value;
    Places places;
  };

  static bool keeps_integers(const Node& node) {
    if (node.results().size() != 1 || !node.result()->type.is_tensor() || !is_integral(node.result()->dtype()))
      return false;
    return node.is("aten._to_copy.default") || node.op->has(kView);
  }

  static Places places_in(const Node& node, const Places& places) {
    if (node.is("aten._to_copy.default") || node.is(Movement::view)) return places;
    const bool of_vector = node.operands()[0]->rank() == 1;
    return of_vector && (node.is(Movement::select) || node.is(Movement::slice)) ? picked(node, places) : Places();
  }

  void note_number(const Places& places, const Sym& number) {
    if (places.size() != 1 || number.is_const()) return;
    found_.elements.resize(std::max(found_.elements.size(), places[0] + 1));
    found_.elements[places[0]] = number;
  }

  void note_bound(const Sym& size) {
    if (size.is(0) || (size.is_const() && size.value() < 0)) return;
    const bool is_less =
        !found_.below.is(0) && found_.below.is_const() && (!size.is_const() || found_.below.value() <= size.value());
    if (!is_less) found_.below = size;
  }

  // All schemas call arguments that hold indices `index` or `indices`. `dim` is the dimension that they index.
  void note_index(const Node& node, const Value& value) {
    const Schema& schema = *node.op->parsed;
    for (size_t i = 1; i < schema.args.size(); ++i) {
      if (schema.args[i].name != "index" && schema.args[i].name != "indices") continue;
      const Arg& indices = node.arg(i);
      const Value* source = node.tensor_or_null(0);
      if (!source || source->rank() == 0) return;
      if (indices.is<Values>()) {
        const Values& list = indices.as<Values>();
        for (size_t d = 0; d < std::min(list.size(), source->rank()); ++d) {
          if (list[d] == &value) note_bound(source->sizes()[d]);
        }
      } else if (indices.is<Value*>() && indices.as<Value*>() == &value) {
        const auto dim = schema.find("dim") >= 0 ? known(node, "dim", 0) : 0;
        if (dim) note_bound(source->sizes()[static_cast<size_t>(wrap_dim(*dim, source->rank()))]);
      }
    }
  }

  InputNumbers& found_;
};

}  // namespace

InputNumbers numbers_in(const Value& input) {
  InputNumbers found;
  if (!input.type.is_tensor() || !is_integral(input.dtype())) return found;
  const Sym count = numel(input.sizes());
  Places places;
  const bool is_small = input.rank() <= 1 && count.is_const() && count.value() <= kMaxInputElements;
  for (int64_t i = 0; is_small && i < count.value(); ++i) places.push_back(static_cast<size_t>(i));
  Search(&found).follow(input, std::move(places));
  return found;
}

}  // namespace wick::compiler
