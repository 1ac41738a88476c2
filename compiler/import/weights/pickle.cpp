#include "compiler/import/weights/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "compiler/import/damage.h"

namespace wick::compiler::pt2 {
namespace {

using Kind = PickleObject::Kind;
using IsKnown = bool (*)(std::string_view module, std::string_view name);

constexpr size_t kMaxBytes = size_t{256} << 10;

enum Opcode : uint8_t {
  kMark = '(',
  kEmptyTuple = ')',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kPersistentId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kNewObject = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

class Reader {
 public:
  Reader(Span<const uint8_t> bytes, IsKnown is_known) : bytes_(bytes), is_known_(is_known) {}

  Pickle read() {
    if (bytes_.size() > kMaxBytes)
      fail(Code::limit, fmt::format("a pickle of {} bytes; at most {} are read", bytes_.size(), kMaxBytes));
    if (take_byte() != kProto) fail_corrupt("a pickle starts without its protocol");
    const uint8_t protocol = take_byte();
    if (protocol < 2 || protocol > 5)
      fail(Code::unsupported_model, fmt::format("a pickle of protocol {}; 2 to 5 are read", protocol));
    for (;;) {
      const uint8_t opcode = take_byte();
      if (opcode == kStop) break;
      if (!read_value(opcode) && !read_container(opcode) && !read_memo(opcode) && !read_object(opcode))
        fail_corrupt(fmt::format("a pickle has the opcode 0x{:02x}, which torch.save does not write", opcode));
    }
    if (stack_.size() != 1 || !marks_.empty()) fail_corrupt("a pickle does not end with one object");
    if (at_ != bytes_.size()) fail_corrupt("a pickle has bytes after its end");
    pickle_.root = stack_[0];
    return std::move(pickle_);
  }

 private:
  // --- bytes ---

  Span<const uint8_t> take(uint64_t count) {
    if (count > bytes_.size() - at_) fail_corrupt("a pickle is cut short");
    const Span<const uint8_t> taken = bytes_.subspan(at_, static_cast<size_t>(count));
    at_ += static_cast<size_t>(count);
    return taken;
  }
  uint8_t take_byte() { return take(1)[0]; }
  uint64_t take_number(size_t count) {  // little-endian
    const Span<const uint8_t> taken = take(count);
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | taken[i];
    return value;
  }
  std::string_view take_text(uint64_t count) {
    const Span<const uint8_t> taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::string_view take_line() {
    size_t end = at_;
    while (end < bytes_.size() && bytes_[end] != '\n') ++end;
    const std::string_view line = take_text(end - at_);
    take(1);
    return line;
  }
  int64_t take_long() {  // two's complement in the fewest bytes
    const size_t count = take_byte();
    if (count > 8) fail_corrupt("a pickle has an integer of more than 64 bits");
    if (count == 0) return 0;
    const uint64_t value = take_number(count);
    const auto unused = static_cast<unsigned>(64 - 8 * count);
    return static_cast<int64_t>(value << unused) >> unused;
  }

  // --- the stack ---

  PickleObject& push(Kind kind) {
    stack_.push_back(static_cast<uint32_t>(pickle_.objects.size()));
    pickle_.objects.emplace_back();
    pickle_.objects.back().kind = kind;
    return pickle_.objects.back();
  }
  void push_integer(Kind kind, int64_t value) { push(kind).integer = value; }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  uint32_t pop() {
    if (stack_.size() <= floor()) fail_corrupt("a pickle takes more objects than it has made");
    const uint32_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<uint32_t> pop_many(size_t count) {
    if (stack_.size() - floor() < count) fail_corrupt("a pickle takes more objects than it has made");
    std::vector<uint32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) fail_corrupt("a pickle takes objects up to a mark that it has not set");
    std::vector<uint32_t> items = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleObject& top(Kind kind) {
    if (stack_.size() <= floor() || pickle_.objects[stack_.back()].kind != kind)
      fail_corrupt("a pickle adds to an object of a different kind");
    return pickle_.objects[stack_.back()];
  }
  void add(Kind kind, const std::vector<uint32_t>& items) {
    if (kind == Kind::dict && items.size() % 2 != 0) fail_corrupt("a pickle has a key without a value");
    PickleObject& container = top(kind);
    container.items.insert(container.items.end(), items.begin(), items.end());
  }
  void check(uint32_t index, Kind kind) const {
    if (pickle_.objects[index].kind != kind) fail_corrupt("a pickle builds an object from unsuitable parts");
  }

  // --- opcodes, by family; false: the opcode belongs to another family ---

  bool read_value(uint8_t opcode) {
    switch (opcode) {
      case kNone: push(Kind::none); return true;
      case kTrue:
      case kFalse: push_integer(Kind::boolean, opcode == kTrue); return true;
      case kBinInt: push_integer(Kind::integer, static_cast<int32_t>(take_number(4))); return true;
      case kBinInt1: push_integer(Kind::integer, take_byte()); return true;
      case kBinInt2: push_integer(Kind::integer, static_cast<int64_t>(take_number(2))); return true;
      case kLong1: push_integer(Kind::integer, take_long()); return true;
      case kBinFloat: {
        uint64_t bits = 0;  // big-endian
        for (const uint8_t byte : take(8)) bits = bits << 8 | byte;
        push(Kind::real).real = std::bit_cast<double>(bits);
        return true;
      }
      case kBinUnicode: {
        const std::string_view text = take_text(take_number(4));
        push(Kind::string).text = text;
        return true;
      }
      case kShortBinUnicode: {
        const std::string_view text = take_text(take_byte());
        push(Kind::string).text = text;
        return true;
      }
      default: return false;
    }
  }

  void push_tuple(std::vector<uint32_t> items) { push(Kind::tuple).items = std::move(items); }

  bool read_container(uint8_t opcode) {
    switch (opcode) {
      case kMark: marks_.push_back(stack_.size()); return true;
      case kEmptyTuple: push(Kind::tuple); return true;
      case kEmptyList: push(Kind::list); return true;
      case kEmptyDict: push(Kind::dict); return true;
      case kTuple: push_tuple(pop_to_mark()); return true;
      case kTuple1: push_tuple(pop_many(1)); return true;
      case kTuple2: push_tuple(pop_many(2)); return true;
      case kTuple3: push_tuple(pop_many(3)); return true;
      case kAppend: add(Kind::list, pop_many(1)); return true;
      case kAppends: add(Kind::list, pop_to_mark()); return true;
      case kSetItem: add(Kind::dict, pop_many(2)); return true;
      case kSetItems: add(Kind::dict, pop_to_mark()); return true;
      default: return false;
    }
  }

  // Entries are numbered in the order in which they are stored.
  void put(uint64_t entry) {
    if (stack_.size() <= floor()) fail_corrupt("a pickle stores an object that it has not made");
    if (entry > memo_.size()) fail_corrupt(fmt::format("a pickle stores memo entry {} before {}", entry, memo_.size()));
    if (entry == memo_.size()) memo_.push_back(0);
    memo_[static_cast<size_t>(entry)] = stack_.back();
  }
  void get(uint64_t entry) {
    if (entry >= memo_.size()) fail_corrupt(fmt::format("a pickle reads memo entry {} of {}", entry, memo_.size()));
    stack_.push_back(memo_[static_cast<size_t>(entry)]);
  }
  bool read_memo(uint8_t opcode) {
    switch (opcode) {
      case kBinPut: put(take_byte()); return true;
      case kLongBinPut: put(take_number(4)); return true;
      case kMemoize: put(memo_.size()); return true;
      case kBinGet: get(take_byte()); return true;
      case kLongBinGet: get(take_number(4)); return true;
      case kFrame: take(8); return true;  // a hint for reading ahead
      default: return false;
    }
  }

  void push_global(std::string_view module, std::string_view name) {
    if (!is_known_(module, name)) {
      fail(Code::unsupported_model,
           fmt::format("its pickle names {}.{}, which Wick does not know", printable(module), printable(name)));
    }
    PickleObject& global = push(Kind::global);
    global.text = module;
    global.name = name;
  }
  void push_made(Kind kind) {
    std::vector<uint32_t> parts = pop_many(2);
    check(parts[0], Kind::global);
    check(parts[1], Kind::tuple);
    push(kind).items = std::move(parts);
  }
  bool read_object(uint8_t opcode) {
    switch (opcode) {
      case kGlobal: {
        const std::string_view module = take_line();
        push_global(module, take_line());
        return true;
      }
      case kStackGlobal: {
        const std::vector<uint32_t> names = pop_many(2);
        for (const uint32_t name : names) check(name, Kind::string);
        push_global(pickle_[names[0]].text, pickle_[names[1]].text);
        return true;
      }
      case kReduce: push_made(Kind::call); return true;
      case kNewObject: push_made(Kind::instance); return true;
      case kBuild: {
        const uint32_t state = pop();
        PickleObject& object = top(Kind::instance);
        if (object.items.size() != 2) fail_corrupt("a pickle gives an object a second state");
        object.items.push_back(state);
        return true;
      }
      case kPersistentId: {
        const std::vector<uint32_t> id = pop_many(1);
        push(Kind::stored).items = id;
        return true;
      }
      default: return false;
    }
  }

  Span<const uint8_t> bytes_;
  IsKnown is_known_;
  size_t at_ = 0;
  Pickle pickle_;
  std::vector<uint32_t> stack_, memo_;
  std::vector<size_t> marks_;  // sizes of the stack
};

}  // namespace

Result<Pickle> read_pickle(Span<const uint8_t> bytes, IsKnown is_known) {
  Pickle pickle;
  RETURN_IF_ERROR(catch_failure([&] { pickle = Reader(bytes, is_known).read(); }));
  return pickle;
}

}  // namespace wick::compiler::pt2
