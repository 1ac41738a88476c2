#include "tests/interop/stock_verdict.h"

namespace wick::interop {
namespace {

using Kind = Testimony::Kind;

constexpr CpuLevel kLowerLevels[] = {CpuLevel::avx512, CpuLevel::avx2, CpuLevel::avx, CpuLevel::sse4_1,
                                     CpuLevel::baseline};

// "avx" is no word of "avx2 avx512f".
bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    const size_t end = at + word.size();
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

Verdict judge(const Witnesses& witnesses) {
  const Testimony wick = witnesses.wick();
  if (wick.kind == Kind::differs) return {true, "so does Wick's runtime: " + wick.what};
  std::string last;
  for (const CpuLevel level : kLowerLevels) {
    const Testimony stock = witnesses.stock(level);
    if (stock.kind == Kind::agrees)
      return {false, std::string("agrees up to ") + kCpuLevelNames[static_cast<size_t>(level)]};
    if (stock.kind == Kind::differs) {
      last = stock.what;
      continue;
    }
    const Testimony rough = witnesses.roughly();
    if (rough.kind == Kind::agrees) return {false, "agrees roughly; " + stock.what};
    return {true, rough.what + "; " + stock.what};
  }
  return {true, "at no level does stock agree; at baseline: " + last};
}

const KnownDifference* find_known(const std::vector<KnownDifference>& table, std::string_view op,
                                  std::string_view dtype, std::string_view features) {
  for (const KnownDifference& known : table) {
    if (known.op == op && (known.dtype.empty() || known.dtype == dtype) &&
        (known.feature.empty() || has_word(features, known.feature)))
      return &known;
  }
  return nullptr;
}

}  // namespace wick::interop
