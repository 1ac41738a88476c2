// Whose fault is it when a program's numbers on stock are not eager's? Stock's libraries choose kernels by the
// processor they find, and a kernel for new instructions may round or reduce its arguments in its own way. That says
// nothing of our program, and a test of it must not depend on the processor. So witnesses are asked: Wick's runtime on
// the same file, and stock with fewer instruction sets.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/cpu.h"

namespace wick::interop {

/// An answer of a witness about the same file and inputs.
struct Testimony {
  enum class Kind { agrees, differs, unavailable } kind = Kind::agrees;
  std::string what;  // how it differs, or why the witness is not available
};

struct Witnesses {
  /// Wick's runtime: does it give what eager gives?
  std::function<Testimony()> wick;
  /// Stock whose kernels use no instruction set above a level.
  std::function<Testimony(CpuLevel)> stock;
  /// Asked where stock cannot be limited: are stock's numbers within kGenerous times the tolerance?
  std::function<Testimony()> roughly;
};
inline constexpr double kGenerous = 64;

struct Verdict {
  bool program_is_wrong = false;
  std::string why;  // "stock agrees up to avx2", "Wick's runtime: .."
};

/// Of a program that runs on stock and puts out the right shapes but other numbers:
///   - the program is wrong if Wick's runtime computes other numbers, too;
///   - it is right if stock agrees with eager at any lower level: then the kernels of this processor differ;
///   - it is wrong if stock agrees at no level, which is the same on every processor.
Verdict judge(const Witnesses& witnesses);

/// Differences that are known: of an operator, in results of a dtype ("": any), of kernels that need a feature ("": on
/// any processor).
struct KnownDifference {
  std::string_view op, dtype, feature, where;
};

/// The row of `table` that says so of an operator, its result's dtype and what `stock_runner --features` printed.
const KnownDifference* find_known(const std::vector<KnownDifference>& table, std::string_view op,
                                  std::string_view dtype, std::string_view features);

}  // namespace wick::interop
