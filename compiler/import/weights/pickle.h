// Python pickles as plain data: objects are recorded; nothing is imported, called or executed.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler::pt2 {

/// One object of a pickle. It refers to others by their index; references may form cycles.
struct PickleObject {
  enum class Kind : uint8_t {
    none,
    boolean,   // integer
    integer,   // integer
    real,      // real
    string,    // text
    tuple,     // items
    list,      // items
    dict,      // items: key, value, key, value ..
    global,    // text: module, name
    call,      // items: the callable (a global), its arguments (a tuple)
    instance,  // items: the class (a global), arguments of its constructor (a tuple), then its state, if it has one
    stored,    // items: the id of an object that lies outside the pickle
  };
  Kind kind = Kind::none;
  int64_t integer = 0;
  double real = 0;
  std::string_view text, name;
  std::vector<uint32_t> items;
};

struct Pickle {
  std::vector<PickleObject> objects;
  uint32_t root = 0;
  const PickleObject& operator[](uint32_t index) const { return objects[index]; }
};

/// Reads a pickle of protocol 2 to 5 with the opcodes that torch.save writes. Texts point into `bytes`. `is_known` must
/// accept every global. Memory: at most 128 bytes for each byte of the pickle, which has at most 256 KiB. Time is
/// linear: no object is copied or expanded. Errors: corrupt_file; limit; unsupported_model for another global, named in
/// the message.
Result<Pickle> read_pickle(Span<const uint8_t> bytes, bool (*is_known)(std::string_view module, std::string_view name));

}  // namespace wick::compiler::pt2
