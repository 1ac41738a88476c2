// Part of the build: packs the sources that packages are made of into one object.
//   embed_sources LIST OUT.cpp     LIST: lines "path in the tree<TAB>file"
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

int fail(const std::string& what) {
  std::fprintf(stderr, "embed_sources: %s\n", what.c_str());
  return 1;
}

bool read_file(const std::string& path, std::string* out) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return false;
  out->assign(std::istreambuf_iterator<char>(stream), {});
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string list;
  if (argc != 3 || !read_file(argv[1], &list)) return fail("usage: embed_sources LIST OUT.cpp");
  std::map<std::string, std::string> files;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    if (!read_file(line.substr(tab + 1), &files[line.substr(0, tab)]))
      return fail("cannot read " + line.substr(tab + 1));
  }
  std::string all;
  for (const auto& [path, text] : files) all += path + '\0' + std::to_string(text.size()) + '\0' + text;
  uLongf size = compressBound(all.size());
  std::vector<Bytef> packed(size);
  if (compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(all.data()), all.size(), Z_BEST_COMPRESSION) !=
      Z_OK)
    return fail("zlib failed");
  std::string out =
      "// Made by embed_sources.\n#include \"cli/package/embedded_sources.h\"\n\nnamespace wick::cli {\n\n";
  out +=
      "const size_t kPackedSize = " + std::to_string(size) + ", kUnpackedSize = " + std::to_string(all.size()) + ";\n";
  out += "const unsigned char kPackedSources[] = {";
  for (uLongf i = 0; i < size; ++i) {
    if (i % 32 == 0) out += '\n';
    out += std::to_string(packed[i]) + ',';
  }
  out += "};\n\n}  // namespace wick::cli\n";
  std::ofstream stream(argv[2], std::ios::binary);
  stream << out;
  return stream.good() ? 0 : fail(std::string("cannot write ") + argv[2]);
}
