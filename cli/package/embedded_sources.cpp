#include "cli/package/embedded_sources.h"

#include <zlib.h>

#include "compiler/support/failure.h"

namespace wick::cli {
namespace {

SourceTree unpack() {
  std::string all(kUnpackedSize, '\0');
  uLongf size = all.size();
  if (uncompress(reinterpret_cast<Bytef*>(all.data()), &size, kPackedSources, kPackedSize) != Z_OK)
    compiler::fail(compiler::Code::internal, "the sources in the tool do not unpack");
  SourceTree tree;
  for (size_t at = 0; at < all.size();) {
    const std::string path = all.c_str() + at;
    const std::string count = all.c_str() + at + path.size() + 1;
    at += path.size() + count.size() + 2;
    const size_t bytes = std::stoul(count);
    tree.emplace(path, all.substr(at, bytes));
    at += bytes;
  }
  return tree;
}

}  // namespace

const SourceTree& embedded_sources() {
  static const SourceTree tree = unpack();
  return tree;
}

}  // namespace wick::cli
