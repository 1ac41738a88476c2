// Where the library's kernels deviate from eager: at NaN, at infinities, near the largest float.
#pragma once
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// How results deviate from eager's. Subnormals are no part of it: the library treats them as zero in every operator
/// (refuse_small_numbers()).
struct Deviation {
  const char* text;  // what the user should know
  /// For elements that are not finite in eager, or that come from an operand that is not finite:
  bool nan = false;       // another number than NaN
  bool infinity = false;  // another number than an infinity
  /// Elements that are finite in eager differ if an operand has infinities, or if it has NaN.
  bool finite_of_infinity = false, finite_of_nan = false;
};

// The kernels of products and sums end with a clamp to +-infinity, which on some instruction sets loses NaN.
inline constexpr Deviation kProduct{"NaN may come out as infinity", true};
inline constexpr Deviation kWindow{"NaN may come out as infinity, and infinity may become NaN outside its window", true,
                                   true, true, true};
inline constexpr Deviation kHalfRoot{"infinity becomes NaN, and NaN may be dropped", true};
inline constexpr Deviation kSigmoid{"the largest numbers may become NaN", true};
inline constexpr Deviation kQuantize{"NaN becomes the largest number instead of zero", true};
inline constexpr Deviation kDropsNan{"the library's kernel may drop NaN", true};
inline constexpr Deviation kSign{"NaN may stay NaN, or become a number other than zero", true, false, false, true};
inline constexpr Deviation kSaturates{"infinity becomes the largest number", true, true};

inline constexpr Deviation kExponential{"results beyond 2^127 may become infinity"};
inline constexpr Deviation kLogSumExp{"NaN may come out as infinity", true};
inline constexpr Deviation kLength{"NaN may be dropped, or hide an infinity", true, false, false, true};
inline constexpr Deviation kStep{"infinity may become NaN, or NaN a number", true, true};
inline constexpr Deviation kLargeAngle{"numbers beyond 1e6 give other results with newer releases of the library"};
inline constexpr Deviation kOverflow{"finite where eager overflows"};

inline constexpr Deviation kResize{"NaN and infinity spread to neighbouring pixels", true, true, true, true};

/// The deviation of a node that the backend takes, or null.
const Deviation* deviation(const compiler::Node& node);

/// Why a node deviates from eager although the inputs of the graph and its result are finite: the model makes
/// infinities or NaN itself and hides them afterwards. "" if it does not deviate.
std::string refuse_deviation(const compiler::Node& node, const Deviation& deviation,
                             const compiler::ValueRanges& ranges);

/// Why the node has to keep subnormals (numbers below 2^-126), which the library flushes to 0: the model computes them
/// from ordinary numbers and distinguishes them from 0. "" if it does not have to.
std::string refuse_small_numbers(const compiler::Node& node, const compiler::ValueRanges& ranges);

/// How the sign of a zero in a result compares with eager's.
enum class ZeroSign : uint8_t {
  kept,
  lost_from_operands,  // differs only where an operand is -0
  lost,                // differs for ordinary operands, too
};

/// Why the sign of zeros in the node's result matters and may differ from eager's, or "".
std::string refuse_zero_sign(const compiler::Node& node, const compiler::ValueRanges& ranges, ZeroSign sign);

}  // namespace wick::xnnpack
