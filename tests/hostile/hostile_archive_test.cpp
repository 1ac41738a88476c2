// Archives (.pt2, .npz) and arrays (.npy) that mean harm.
#include <gtest/gtest.h>
#include <zlib.h>

#include "compiler/import/archive/archive_test_writer.h"
#include "compiler/import/weights/pickle_test_writer.h"
#include "tests/hostile/hostile_case.h"

namespace wick::testing {
namespace {

using compiler::pt2::test_archive;
using compiler::pt2::TestZip;

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i)) : 0;
  return out;
}

std::string npy(const std::string& shape, const std::string& data, const std::string& dtype = "|u1") {
  std::string header = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  return "\x93NUMPY" + std::string("\x01\x00", 2) + little(header.size(), 2) + header + data;
}

/// An entry as its records say it, true or not.
struct Entry {
  std::string name, data;
  bool deflated = false;
  uint64_t claimed_bytes = UINT64_MAX;  // unpacked; default: the truth
  int64_t offset = -1;                  // of its local header; default: the truth
};

std::string deflate_raw(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zip(const std::vector<Entry>& entries, uint64_t count = UINT64_MAX) {
  std::string out, directory;
  for (const Entry& entry : entries) {
    const std::string packed = entry.deflated ? deflate_raw(entry.data) : entry.data;
    const uint64_t unpacked = entry.claimed_bytes == UINT64_MAX ? entry.data.size() : entry.claimed_bytes;
    const auto* bytes = reinterpret_cast<const Bytef*>(entry.data.data());
    const std::string common = little(20, 2) + little(0, 2) + little(entry.deflated ? 8 : 0, 2) + little(0, 4) +
                               little(crc32_z(0, bytes, entry.data.size()), 4) + little(packed.size(), 4) +
                               little(unpacked, 4) + little(entry.name.size(), 2) + little(0, 2);
    const uint64_t offset = entry.offset < 0 ? out.size() : static_cast<uint64_t>(entry.offset);
    if (entry.offset < 0) out += "PK\x03\x04" + common + entry.name + packed;
    directory += "PK\x01\x02" + little(20, 2) + common + little(0, 6) + little(0, 4) + little(offset, 4) + entry.name;
  }
  const uint64_t shown = count == UINT64_MAX ? entries.size() : count;
  return out + directory + "PK\x05\x06" + little(0, 4) + little(shown, 2) + little(shown, 2) +
         little(directory.size(), 4) + little(out.size(), 4) + little(0, 2);
}

void run_cases(const std::vector<HostileCase>& cases) {
  for (const HostileCase& test : cases) expect_harmless(test);
}

TEST(HostileArray, HeadersAreChecked) {
  run_cases({
      {"huge_shape.npy", [] { return npy("(9223372036854775807, 9223372036854775807)", ""); }, {3, 4}, ""},
      {"terabytes.npy", [] { return npy("(1099511627776,)", "abc"); }, {3, 4}, ""},
      {"long_header.npy", [] { return npy("(" + std::string(60'000, ' ') + "1,)", "a"); }, {0, 4}, ""},
      {"many_dims.npy",
       [] {
         std::string shape = "(";
         for (int i = 0; i < 10'000; ++i) shape += "1,";
         return npy(shape + ")", "a");
       },
       {4},
       ""},
      {"nested_header.npy", [] { return npy(std::string(20'000, '('), "a"); }, {4}, ""},
      {"objects.npy", [] { return npy("(1,)", "cos\nsystem\n(S'true'\ntR.", "|O"); }, {4}, ""},
      {"cut.npy", [] { return npy("(100,)", "a").substr(0, 20); }, {4}, ""},
  });
}

TEST(HostileArray, BombsAreRefused) {
  const uint64_t gigabyte = uint64_t{1} << 30;
  run_cases({
      {"bomb.npz",
       [] { return zip({{"x.npy", npy("(200000000,)", std::string(200'000'000, '\0')), true}}); },
       {0},
       "",
       {},
       gigabyte},
      {"lower_limit.npz",
       [] { return zip({{"x.npy", npy("(200000000,)", std::string(200'000'000, '\0')), true}}); },
       {3},
       "--limit unpacked-bytes",
       {"verify", "@", "--limit", "unpacked-bytes=100M"}},
      {"many_bombs.npz",
       [] {
         // 60 entries of 100 MB, told by a few packed bytes each.
         std::vector<Entry> entries;
         const std::string bytes = npy("(100000000,)", std::string(100'000'000, '\0'));
         for (int i = 0; i < 60; ++i) entries.push_back({"x" + std::to_string(i) + ".npy", "", true});
         entries[0].data = bytes;
         for (int i = 1; i < 60; ++i) entries[static_cast<size_t>(i)].claimed_bytes = 100'000'000;
         return zip(entries);
       },
       {3, 4},
       ""},
      {"nested.npz", [] { return zip({{"x.npy", zip({{"y.npy", npy("(1,)", "a")}})}}); }, {4}, ""},
      {"lie.npz", [] { return zip({{"x.npy", npy("(1,)", "a"), true, 4'000'000'000}}); }, {3, 4}, ""},
  });
}

TEST(HostileArray, DirectoriesAreChecked) {
  const std::string one = npy("(1,)", "a");
  run_cases({
      {"equal_names.npz", [=] { return zip({{"x.npy", one}, {"x.npy", one}}); }, {4}, "two entries have the name"},
      {"overlap.npz", [=] { return zip({{"x.npy", one}, {"x.npy", one, false, UINT64_MAX, 0}}); }, {4}, ""},
      {"count.npz", [=] { return zip({{"x.npy", one}}, 60'000); }, {4}, "entries"},
      {"nul.npz", [=] { return zip({{std::string("x\0.npy", 6), one}}); }, {0, 4}, ""},
      {"parent.npz", [=] { return zip({{"../../x.npy", one}}); }, {0, 4}, ""},
      {"other.npz", [=] { return zip({{"x.exe", one}}); }, {4}, ""},
      {"many.npz",
       [=] {
         std::vector<Entry> entries;
         for (int i = 0; i < 40'000; ++i) entries.push_back({std::to_string(i) + ".npy", one});
         return zip(entries);
       },
       {0},
       ""},
      {"zip64.npz",
       [=] {
         std::string file = zip({{"x.npy", one}});
         const std::string end = file.substr(file.size() - 22);
         const uint64_t at = file.size() - 22;
         file = file.substr(0, at) + "PK\x06\x06" + little(44, 8) + little(0, 12) + little(UINT64_MAX, 8) +
                little(UINT64_MAX, 8) + little(UINT64_MAX, 8) + little(UINT64_MAX - 10, 8) + "PK\x06\x07" +
                little(0, 4) + little(at, 8) + little(1, 4) + end;
         return file;
       },
       {4},
       ""},
  });
}

TEST(HostileArchive, DirectoriesAreChecked) {
  const auto with = [](auto change) {
    return [change] {
      TestZip zip = test_archive();
      change(zip);
      return zip.bytes();
    };
  };
  run_cases({
      {"good.pt2", with([](TestZip&) {}), {0}, ""},
      {"parent.pt2", with([](TestZip& zip) { zip.add("m/../../x", "a"); }), {4}, ".."},
      {"absolute.pt2", with([](TestZip& zip) { zip.add("/etc/passwd", "a"); }), {4}, "absolute"},
      {"nul.pt2", with([](TestZip& zip) { zip.add(std::string("m/x\0y", 5), "a"); }), {4}, "control"},
      {"twice.pt2", with([](TestZip& zip) { zip.add("m/byteorder", "little"); }), {4}, "two entries"},
      {"local_name.pt2", with([](TestZip& zip) { zip.at("m/byteorder").local_name = "m/byteordex"; }), {4}, "local"},
      {"encrypted.pt2", with([](TestZip& zip) { zip.at("m/byteorder").flags |= 1; }), {4}, "encrypted"},
      {"packed.pt2", with([](TestZip& zip) { zip.at("m/byteorder").method = 8; }), {4}, "compressed"},
      {"other_folder.pt2", with([](TestZip& zip) { zip.add("n/x", "a"); }), {4}, "not in the archive's folder"},
      {"long_name.pt2", with([](TestZip& zip) { zip.add("m/" + std::string(60'000, 'x'), ""); }), {4}, "too long"},
      {"many.pt2",
       with([](TestZip& zip) {
         for (int i = 0; i < 60'000; ++i) zip.add("m/extra/" + std::to_string(i), "");
       }),
       {0},
       ""},
      {"comment.pt2", with([](TestZip& zip) { zip.comment = std::string(60'000, 'P'); }), {0, 4}, ""},
      {"two_ends.pt2",
       with([](TestZip& zip) { zip.comment = "PK\x05\x06" + std::string(18, '\0'); }),
       {4},
       "end record"},
      {"empty.pt2", [] { return std::string(); }, {4}, "empty"},
      {"cut.pt2", [] { return test_archive().bytes().substr(0, 3000); }, {4}, ""},
      {"directory_offset.pt2",
       [] {
         std::string file = test_archive().bytes();
         file[file.size() - 6] = static_cast<char>(file[file.size() - 6] + 1);
         return file;
       },
       {4},
       "end record"},
  });
}

// Parameter w is the torch.save archive around the object that `opcodes` make.
std::string pickled_program(const std::string& opcodes, const std::vector<std::string>& data = {}) {
  namespace pickled = compiler::pt2::pickled;
  return pickled::program_around(pickled::archive(pickled::pickle(opcodes), data).bytes()).bytes();
}
std::string times(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(HostileArchive, PicklesAreDataAndBounded) {
  namespace pickled = compiler::pt2::pickled;
  const auto weight = [](const std::string& state) { return pickled::subclass(pickled::int8_tensor(), {2, 2}, state); };
  const std::string huge(8, '\xff');
  const std::vector<HostileCase> cases = {
      {"names_system.pt2",
       [=] { return pickled_program(pickled::call(pickled::global("os", "system"), {pickled::text("ls")})); },
       {3},
       "names os.system"},
      {"deep_lists.pt2", [=] { return pickled_program(times("]", 100'000) + times("a", 99'999)); }, {4}, "no tensor"},
      {"many_marks.pt2", [=] { return pickled_program(times("(", 200'000)); }, {4}, "does not end with one object"},
      {"doubling_tuples.pt2",
       [=] {
         return pickled_program("N" + times("q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "\x86", 40'000));
       },
       {4},
       "no tensor"},
      {"long_pickle.pt2", [=] { return pickled_program(times("N", 4'000'000)); }, {3, 4}, "at most 262144"},
      {"many_attributes.pt2",
       [=] {
         std::vector<std::string> items;
         for (int i = 0; i < 20'000; ++i) items.insert(items.end(), {pickled::text(std::to_string(i)), "K\1"});
         return pickled_program(weight(pickled::dict(items)));
       },
       {3, 4},
       ""},
      {"huge_storage.pt2",
       [=] {
         const std::string id = pickled::tuple({pickled::text("storage"), pickled::global("torch", "FloatStorage"),
                                                pickled::text("0"), pickled::text("cpu"), "\x8a\x08" + huge}) +
                                "Q";
         return pickled_program(weight(pickled::dict({pickled::text("qdata"), pickled::tensor(id, {2}, {1})})),
                                {"abcd"});
       },
       {4},
       "size, stride or offset"},
  };
  for (const HostileCase& test : cases) expect_harmless(test);
}

}  // namespace
}  // namespace wick::testing
