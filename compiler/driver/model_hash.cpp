#include "compiler/driver/model_hash.h"

#include <string>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

void add_text(const std::string& text, ContentHash& hash) {
  hash.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

void add_bytes(const Graph& graph, const std::function<void(Span<const uint8_t>)>& release, ContentHash& hash) {
  for (const auto& values : {graph.constants(), graph.states()}) {
    for (const Value* value : values) {
      const uint64_t number = value->data.hash();
      uint8_t bytes[8];
      for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(number >> 8 * i);
      hash.add({bytes, sizeof bytes});
      if (release && !value->data.computed()) release(value->data.bytes());
    }
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) add_bytes(*inner, release, hash);
  }
}

}  // namespace

void add_to_hash(const Function& function, const std::function<void(Span<const uint8_t>)>& release, ContentHash& hash) {
  PrintOptions options;
  options.origins = false;
  add_text(to_text(*function.graph, function.name, options), hash);
  add_bytes(*function.graph, release, hash);
}

}  // namespace wick::compiler
